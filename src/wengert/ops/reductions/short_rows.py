"""Sums and extremes along short rows, and sums of rows, where NumPy's inner loops take long to begin.

The bits are those of NumPy, which adds fewer than eight numbers one after the other, to zero. It adds rows to each
other in the same way, as `np.einsum` does, in a quarter to the whole of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core import machine, native

LONGEST = 7
"""The most numbers that `np.add.reduce` adds one after the other; of more, it adds eight parts side by side."""
ADD: Callable[..., Any] = np.add.reduce
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


class Limits:
    """Sizes of the machine record that every sum asks for.

    From `rows` elements on rows are added here, and from `large` on the next backward pass is told of a large array.
    Rows of up to `width` elements are added to each other, if there are `count` of them.
    """

    rows = large = width = count = 0

    def read_record(self) -> None:
        """Read them."""
        now = machine.current
        self.rows, self.large = now.min_elements_of_short_rows, now.min_elements_of_native_function
        self.width, self.count = now.max_elements_of_short_inner_loop, now.min_rows_added_together


LIMITS = Limits()
machine.on_change(LIMITS.read_record)
LIMITS.read_record()


def has_short_rows(x: Any, axis: tuple[int, ...]) -> bool:
    """Whether an array has many short rows, along which it is reduced."""
    return (
        x.size >= LIMITS.rows
        and x.__class__ is np.ndarray
        and x.ndim > 1
        and 1 <= x.shape[-1] <= LONGEST
        and axis in ((x.ndim - 1,), (-1,))
        and x.dtype in FLOATS
    )


def adds_rows(x: Any, axis: tuple[int, ...]) -> bool:
    """Whether many short rows, which are neighbours, are added to each other: along adjacent axes but the last one."""
    last = x.shape[-1] if x.ndim > 1 else 0
    if not 1 < last <= LIMITS.width or x.size < LIMITS.count * last or not axis or axis[-1] == x.ndim - 1:
        return False
    width = math.prod(x.shape[axis[-1] + 1 :])
    return (
        x.__class__ is np.ndarray
        and axis[0] >= 0
        and width <= LIMITS.width
        and x.size >= LIMITS.count * width
        and axis == tuple(range(axis[0], axis[-1] + 1))
        and x.dtype in FLOATS
        and x.flags.c_contiguous
    )


def add_rows(x: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    """The sums along these axes, as `np.einsum` adds them."""
    lead, row = x.shape[: axis[0]], x.shape[axis[-1] + 1 :]
    rows = x.reshape(math.prod(lead), -1, math.prod(row))
    out = np.einsum("ij->j", rows[0]) if len(rows) == 1 else np.einsum("ijk->ik", rows)
    return out.reshape(lead + row)


def add_along(x: Any, axis: tuple[int, ...], keepdims: bool = False) -> Any:
    """The sums of `np.add.reduce`.

    >>> add_along(np.ones((200, 3)), (1,))[:2]
    array([3., 3.])
    """
    if x.size < LIMITS.rows:
        return ADD(x, axis, None, None, keepdims)
    if x.size >= LIMITS.large:
        native.met_large = True
    if adds_rows(x, axis):
        out = add_rows(x, axis)
        if np.isfinite(out).all():
            return np.expand_dims(out, axis) if keepdims else out
    if not has_short_rows(x, axis):
        return ADD(x, axis, None, None, keepdims)  # which warns of what is not finite
    return _fold(np.add, x[..., 0] + x.dtype.type(0.0), x, keepdims)


def largest_along(x: Any, axis: tuple[int, ...]) -> Any:
    """The largest numbers along axes, which remain with length one, as floats; -inf where there are none."""
    if not has_short_rows(x, axis):
        x = x if x.dtype.kind == "f" else x * 1.0  # integers have no infinity
        return np.maximum.reduce(x, axis, keepdims=True, initial=-np.inf)
    return _fold(np.maximum, np.maximum(x[..., 0], -np.inf), x, keepdims=True)


def _fold(combine: Callable[..., Any], out: np.ndarray, x: np.ndarray, keepdims: bool) -> np.ndarray:
    for k in range(1, x.shape[-1]):
        combine(out, x[..., k], out=out)
    return out[..., None] if keepdims else out
