"""Mathematical functions on vectors of any width, in both precisions: errors below 2 ulp, special values of NumPy."""
