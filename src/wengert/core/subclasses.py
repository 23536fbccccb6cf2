"""Subclasses of NumPy's array that compute otherwise than arrays do: they are refused, since their meaning would be
lost without a word.

Others, such as `np.memmap` and subclasses of the user's own, are taken for the arrays that they are.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from wengert.core.errors import user_error


def is_masked(x: Any) -> bool:
    masked = sys.modules.get("numpy.ma")  # where nobody has imported it, nothing is
    return masked is not None and isinstance(x, masked.MaskedArray)


def refuse_subclass(x: Any) -> None:
    """Raise for an array with a mask, which would be dropped, and for a matrix, whose `*` is another operation."""
    if x.__class__ is np.ndarray or not isinstance(x, np.ndarray):
        return
    if is_masked(x):
        raise user_error(
            TypeError,
            "A masked array is no array of numbers: its mask would be ignored",
            "Pass x.filled(value), or the array x.data and the mask as arguments of their own.",
        )
    if isinstance(x, np.matrix):
        raise user_error(
            TypeError,
            "A np.matrix multiplies otherwise than arrays do",
            "Pass np.asarray(x), and write x @ y for products.",
        )
