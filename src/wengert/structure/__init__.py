"""Structure of derivatives: what is zero, what need not be a matrix.

Loaded when it is first asked for, because it brings SciPy along.
"""
