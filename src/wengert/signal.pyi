# Written by tools/stubs.py.

from wengert.ops.signal.convolution import convolution as convolution
from wengert.ops.signal.convolution import convolution_transpose as convolution_transpose
from wengert.ops.signal.filtering import convolve as convolve
from wengert.ops.signal.filtering import convolve2d as convolve2d
from wengert.ops.signal.filtering import correlate as correlate

__all__: list[str]
