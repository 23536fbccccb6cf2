"""Reading the source: Python's statements on traced values become operations that hold their bodies."""
