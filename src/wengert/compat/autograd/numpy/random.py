"""Random numbers: `autograd.numpy.random`, NumPy's own module, with its global generator."""

import numpy as np

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import wrap_namespace
from wengert.compat.differences import without

__all__ = [*np.random.__all__]

wrap_namespace(vars(np.random), globals())

MIRRORS = "numpy.random"
"""The module whose names are here."""

__getattr__ = without(__name__, ABSENT)
