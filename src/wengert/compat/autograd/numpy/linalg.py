"""Linear algebra: `autograd.numpy.linalg`."""

import numpy as np

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import wrap_namespace
from wengert.compat.differences import without

__all__ = [*np.linalg.__all__]

wrap_namespace(vars(np.linalg), globals())

__getattr__ = without(__name__, ABSENT)
