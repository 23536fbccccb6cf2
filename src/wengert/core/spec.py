"""Spec: the shape and dtype of an array."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Spec"]


PLAIN = {np.ndarray, bool, int, float, complex, *np.sctypeDict.values()}
"""Classes of arrays and numbers that need no conversion, and are leaves of trees; most constants have one of these."""

UNKNOWN = -1
"""The length of a sequence with as many slices as a loop with a condition makes steps."""


class Spec(NamedTuple):
    """Shape and dtype of an array.

    >>> Spec.of(np.ones((2, 3)))
    f64[2,3]
    """

    shape: tuple[int, ...]
    dtype: np.dtype

    @classmethod
    def of(cls, value: Any) -> Spec:
        """The spec of an array, a value of any mode, or a Python scalar."""
        try:
            return tuple.__new__(cls, (value.shape, value.dtype))  # hot: half the time of cls(...)
        except AttributeError:
            array = np.asarray(value)
            return cls(array.shape, array.dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        kind = "bool" if self.dtype.kind == "b" else f"{self.dtype.kind}{8 * self.dtype.itemsize}"
        return f"{kind}[{','.join(['?' if n == UNKNOWN else str(n) for n in self.shape])}]"
