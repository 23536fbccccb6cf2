"""`wg.signal`: convolution and correlation in any number of dimensions, with channels or without, by the names of
`scipy.signal`.
"""

from wengert.ops.signal.convolution import convolution
from wengert.ops.signal.filtering import convolve, convolve2d, correlate

__all__ = ["convolution", "convolve", "convolve2d", "correlate"]
