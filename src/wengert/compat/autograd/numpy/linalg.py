"""Linear algebra: `autograd.numpy.linalg`."""

from typing import Any

import numpy as np

import wengert as wg
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import wrap_namespace
from wengert.compat.differences import without
from wengert.core.array import Array

__all__ = [*np.linalg.__all__]

wrap_namespace(vars(np.linalg), globals())

MIRRORS = "numpy.linalg"
"""The module whose names are here."""

__getattr__ = without(__name__, ABSENT)


def cholesky(a: Any, **kwargs: Any) -> Any:
    """The lower triangular L with `L L^T = a`. Its derivative is that of a symmetric argument, and symmetric.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    if not isinstance(a, Array) or a.dtype.kind == "c":
        return np.linalg.cholesky(a, **kwargs)
    transposed = lambda x: wg.swapaxes(x, -1, -2)
    numbers = wg.stop_gradient(a)
    lower = wg.tril(numbers) + transposed(wg.tril(numbers, -1))  # what NumPy reads
    change = 0.5 * (a - numbers)  # zero, with the derivative of the symmetric part
    return wg.linalg.cholesky(lower + change + transposed(change), **kwargs)
