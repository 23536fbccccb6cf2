"""Mathematical functions on vectors, written once for every width and both precisions: at most 2 ulp, special values as
in NumPy.
"""
