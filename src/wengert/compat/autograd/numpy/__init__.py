"""NumPy, differentiable: `autograd.numpy`. On plain arrays its functions are NumPy's own."""

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy import fft, linalg, numpy_boxes, numpy_vjps, numpy_vspaces, numpy_wrapper, random
from wengert.compat.autograd.numpy.numpy_wrapper import *  # noqa: F403  # NumPy's names
from wengert.compat.differences import without

__all__ = ["fft", "linalg", "numpy_boxes", "numpy_vjps", "numpy_vspaces", "numpy_wrapper", "random"]
__all__ += numpy_wrapper.__all__

MIRRORS = "numpy"
"""The module whose names are here."""

__getattr__ = without(__name__, ABSENT)
