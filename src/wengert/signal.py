"""`wg.signal`: convolution in any number of dimensions. That of rows is `wg.convolve` and `wg.correlate`, as in NumPy."""

from wengert.ops.convolution import convolution, convolve2d

__all__ = ["convolution", "convolve2d"]
