"""Tables: constant arrays that are made when a program is loaded, rather than stored with it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

_TABLES: weakref.WeakValueDictionary[Any, np.ndarray] = weakref.WeakValueDictionary()
"""The tables that loaded programs use."""


class Table(NamedTuple):
    """An array as a recipe: a function and its arguments. It is small on disk, whatever the size of the array.

    The array is made when a program is loaded, once for all programs that use it.
    """

    make: Callable[..., np.ndarray]
    arguments: tuple

    @property
    def value(self) -> Table:
        """What stands for the array in a program."""
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        key = (self.make.__name__, self.arguments)
        found = _TABLES.get(key)
        if found is None:
            found = _TABLES[key] = align_array(self.make(*self.arguments))
        return found


ALIGNMENT = 64
"""The addresses of tables are multiples of so many bytes, of which no vector has more."""


def align_array(array: np.ndarray) -> np.ndarray:
    """The array if its address is aligned, else a copy."""
    if array.ctypes.data % ALIGNMENT == 0:
        return array
    out = aligned_empty(array.shape, array.dtype)
    out[...] = array
    return out


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Memory for an array, at an address that is aligned."""
    nbytes = prod(shape) * dtype.itemsize
    memory = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + nbytes].view(dtype).reshape(shape)
