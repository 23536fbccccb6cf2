"""Subclasses of NumPy's array that compute differently from arrays: they raise an error.

Others, such as `np.memmap` and the user's own subclasses, are treated as arrays.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from wengert.core.errors import user_error


def is_masked(x: Any) -> bool:
    """Whether x is a masked array."""
    masked = sys.modules.get("numpy.ma")  # if it was never imported, x is not
    return masked is not None and isinstance(x, masked.MaskedArray)


def refuse_subclass(x: Any) -> None:
    """Raise for a masked array, whose mask would be lost, and for a matrix, whose `*` is the matrix product."""
    if x.__class__ is np.ndarray or not isinstance(x, np.ndarray):
        return
    if is_masked(x):
        raise user_error(
            TypeError,
            "A masked array was passed: its mask would be ignored",
            "Pass x.filled(value), or pass the array x.data and the mask separately.",
        )
    if isinstance(x, np.matrix):
        raise user_error(
            TypeError,
            "A np.matrix was passed: its `*` is not that of arrays",
            "Pass np.asarray(x), and write x @ y for products.",
        )
