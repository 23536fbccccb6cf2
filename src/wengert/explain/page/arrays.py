"""Arrays as the page draws them: their shape, and their elements, or the means of blocks of a large array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.explain.tables.numbers import plain_value

WHOLE = 256
"""The most elements of an array that the page has in full."""
BLOCKS = 16
"""How many blocks a larger array has along an axis of its picture."""
MOST_NUMBERS = 100_000
"""The most elements on one page. Arrays beyond them have their shape only."""


class ArrayColumns:
    """Makes the entries of arrays, as long as there is space for their numbers."""

    def __init__(self) -> None:
        self.left = MOST_NUMBERS

    def entry(self, x: Any) -> dict[str, Any] | None:
        """The shape, the rows and columns of its picture, and the numbers in it; None if it is no array.

        >>> ArrayColumns().entry(np.arange(4.0).reshape(2, 2))
        {'shape': [2, 2], 'grid': [2, 2], 'numbers': [0.0, 1.0, 2.0, 3.0]}
        """
        x = plain_value(x)
        if not isinstance(x, np.ndarray) or not x.ndim or x.dtype.kind not in "biuf":
            return None
        found: dict[str, Any] = {"shape": list(x.shape)}
        if not x.size:
            return found
        grid = picture_grid(x)
        if x.size > WHOLE:
            found["size"] = x.size
            grid = block_means(grid)
        if grid.size > self.left:
            return found
        self.left -= grid.size
        return found | {"grid": list(grid.shape), "numbers": [short_number(n) for n in grid.ravel().tolist()]}


def picture_grid(x: np.ndarray) -> np.ndarray:
    """An array as a matrix: a vector is a row, and further axes stand below one another."""
    x = x.astype(float)
    return x[None] if x.ndim == 1 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def block_means(grid: np.ndarray) -> np.ndarray:
    """At most `BLOCKS` rows and columns, each element the mean of a block."""
    for axis in (0, 1):
        length = grid.shape[axis]
        if length > BLOCKS:
            starts = np.linspace(0, length, BLOCKS, endpoint=False).astype(int)
            counts = np.diff([*starts, length])
            with np.errstate(all="ignore"):
                grid = np.add.reduceat(grid, starts, axis) / np.expand_dims(counts, 1 - axis)
    return grid


def short_number(x: float) -> float | None:
    """A number to five digits; None if it is not finite."""
    return float(f"{x:.5g}") if math.isfinite(x) else None
