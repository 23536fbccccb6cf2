"""The windows of signals as columns of matrices: one row for each element of a window, one column for each position."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert.core import machine
from wengert.core.levels import numpy_of
from wengert.ops.signal.window_arguments import Lengths, Widths, reach


class ColumnLayout(NamedTuple):
    """How windows lie in one channel: a row of `room` elements that begins with the padded signal.

    With steps of 1, all positions of an element of the window are one contiguous part of that row, which is fast to
    copy, if positions between the end of one line and the start of the next count as well. So the `lattice` of
    positions is wider than the result, `positions`, unless that would be many more.
    """

    interior: tuple[slice, ...]
    padded: Lengths
    size: Lengths
    positions: Lengths
    lattice: Lengths
    room: int
    shape: Lengths
    steps: Lengths

    def signals(self, rows: np.ndarray) -> np.ndarray:
        """A view: the signals in rows (batch, channels, room)."""
        whole = rows[..., : math.prod(self.padded)].reshape(*rows.shape[:2], *self.padded)
        key: Any = (..., *self.interior)
        return whole[key]

    def windows(self, rows: np.ndarray) -> np.ndarray:
        """A view: for each element of a window, its positions in the rows. They overlap."""
        item = rows.itemsize
        strides = (*rows.strides[:2], *[step * item for step in self.steps])
        shape = (*rows.shape[:2], *self.shape)
        if isinstance(rows, np.ndarray):  # much faster than `as_strided`
            return np.ndarray(shape, rows.dtype, rows, 0, strides)
        windows: Any = numpy_of(rows).lib.stride_tricks.as_strided(rows, shape, strides)
        return windows

    def columns(self, x: np.ndarray, groups: int) -> np.ndarray:
        """(batch, groups, elements of a window with its channels, positions)."""
        rows = numpy_of(x).zeros((*x.shape[:2], self.room), x.dtype)
        self.signals(rows)[...] = x
        return self.windows(rows).reshape(x.shape[0], groups, -1, math.prod(self.lattice))

    def spread(self, t: np.ndarray, groups: int) -> np.ndarray:
        """Results as rows, with zeros for the positions that only the lattice has."""
        if self.lattice != self.positions:
            wide = numpy_of(t).zeros((*t.shape[:2], *self.lattice), t.dtype)
            self.crop(wide)[...] = t
            t = wide
        return t.reshape(t.shape[0], groups, t.shape[1] // groups, -1)

    def crop(self, wide: np.ndarray) -> np.ndarray:
        """A view: the positions of the result among those of the lattice."""
        key: Any = (..., *[slice(n) for n in self.positions])
        return wide[key]

    def parts(self, x: np.ndarray) -> list[slice]:
        """Parts of a batch of signals, each of as many as `block_bytes_of_window_columns` has room for."""
        batch, channels = x.shape[:2]
        bytes_of_one = channels * math.prod(self.size) * math.prod(self.lattice) * x.itemsize
        together = max(1, machine.current.block_bytes_of_window_columns // max(1, bytes_of_one))
        return [slice(i, i + together) for i in range(0, batch, together)]


@lru_cache(256)
def column_layout(lengths: Lengths, size: Lengths, stride: Lengths, padding: Widths, dilation: Lengths) -> ColumnLayout:
    """The layout of all windows of a size in signals of these lengths.

    >>> column_layout((4,), (2,), (1,), ((1, 1),), (1,)).positions
    (5,)
    """
    padded = tuple([n + before + after for n, (before, after) in zip(lengths, padding, strict=True)])
    positions = tuple([(n - r) // s + 1 for n, r, s in zip(padded, reach(size, dilation), stride, strict=True)])
    lines = [math.prod(padded[i + 1 :]) for i in range(len(padded))]
    lattice, grid, steps = positions, positions, [s * line for s, line in zip(stride, lines, strict=True)]
    wide = (positions[0], *padded[1:])
    if max(stride) == 1 and math.prod(wide) <= 1.3 * math.prod(positions):
        lattice, grid, steps = wide, (math.prod(wide),), [1]
    shape, steps = (*size, *grid), [d * line for d, line in zip(dilation, lines, strict=True)] + steps
    last = sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
    interior = tuple([slice(before, before + n) for n, (before, _) in zip(lengths, padding, strict=True)])
    room = max(math.prod(padded), last + 1)
    return ColumnLayout(interior, padded, size, positions, lattice, room, shape, tuple(steps))
