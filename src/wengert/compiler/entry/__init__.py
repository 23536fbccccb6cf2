"""The loaded program, and the call from Python: arguments, results, captured tensors, and calls back to Python."""
