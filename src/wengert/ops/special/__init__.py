"""Special functions, by SciPy."""
