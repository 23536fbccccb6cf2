"""Fourier transforms: `autograd.numpy.fft`."""

import numpy as np

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import wrap_namespace
from wengert.compat.differences import without

__all__ = [*np.fft.__all__]

wrap_namespace(vars(np.fft), globals())

MIRRORS = "numpy.fft"
"""The module whose names are here."""

__getattr__ = without(__name__, ABSENT)
