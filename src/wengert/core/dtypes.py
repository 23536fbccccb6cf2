"""Types of numbers, as the array API standard names and asks about them: NumPy's own, so that both mean the same.

>>> result_type(float32, 1.0)
dtype('float32')
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import (
    bool,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    uint8,
    uint16,
    uint32,
    uint64,
)

from wengert.core.array import Array

__all__ = [
    "bool", "can_cast", "complex128", "complex64", "e", "finfo", "float32", "float64", "iinfo", "inf", "int16",
    "int32", "int64", "int8", "isdtype", "nan", "newaxis", "pi", "result_type", "uint16", "uint32", "uint64", "uint8",
]  # fmt: skip

e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi


def _of(x: Any) -> Any:
    """The dtype of an array, anything else as it is."""
    return x.dtype if isinstance(x, Array | np.ndarray | np.generic) else x


class finfo:
    """What a floating-point type can hold, as Python numbers: `bits`, `eps`, `max`, `min`, `smallest_normal`, `dtype`.

    >>> finfo(float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any, /):
        found = np.finfo(_of(type))
        self.dtype, self.bits = found.dtype, int(found.bits)
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.smallest_normal = float(found.smallest_normal)

    def __repr__(self) -> str:
        return f"finfo(dtype={self.dtype}, eps={self.eps}, max={self.max}, smallest_normal={self.smallest_normal})"


class iinfo:
    """What an integer type can hold: `bits`, `max`, `min`, `dtype`.

    >>> iinfo(int8).max
    127
    """

    def __init__(self, type: Any, /):
        found = np.iinfo(_of(type))
        self.dtype, self.bits, self.max, self.min = found.dtype, int(found.bits), int(found.max), int(found.min)

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype}, min={self.min}, max={self.max})"


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether a type, or the type of an array, can be cast to another without a loss of information.

    >>> can_cast(np.float32, np.float64), can_cast(np.float64, np.int64)
    (True, False)
    """
    return np.can_cast(_of(from_), to)


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The type of a result of operations on these arrays, types and Python numbers.

    >>> result_type(np.float32, np.float64)
    dtype('float64')
    """
    return np.result_type(*map(_of, arrays_and_dtypes))
