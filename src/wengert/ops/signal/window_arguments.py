"""The arguments that say how windows lie in arrays: numbers for each axis, and how much is added around them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from wengert.core.errors import user_error

Numbers = int | Sequence[int]
Lengths = tuple[int, ...]
Widths = tuple[tuple[int, int], ...]


def reach(size: Sequence[int], dilation: Lengths) -> Lengths:
    """How far a window extends, with the gaps between its elements.

    >>> reach((3, 2), (1, 4))
    (3, 5)
    """
    return tuple([(n - 1) * d + 1 for n, d in zip(size, dilation, strict=True)])


def each_axis(value: Numbers, ndim: int, name: str, least: int = 1) -> Lengths:
    """One number for each axis; `name` is for the message.

    >>> each_axis(3, 2, "stride")
    (3, 3)
    """
    lengths = tuple(map(index, value)) if isinstance(value, Sequence | np.ndarray) else (index(value),) * ndim
    if len(lengths) != ndim or min(lengths) < least:
        kind = "positive number" if least else "number from 0"
        raise user_error(ValueError, f"{name}={value!r} for {ndim} axes", f"Give one {kind}, or one for each axis.")
    return lengths


def padding_widths(padding: int | str | Sequence[Any], extents: Lengths) -> Widths:
    """How many elements are added before and after each axis, for windows that extend so far.

    >>> padding_widths("same", (3, 4))
    ((1, 1), (1, 2))
    """
    ndim = len(extents)
    if padding == "valid":
        return ((0, 0),) * ndim
    if padding == "same":
        return tuple([((n - 1) // 2, n // 2) for n in extents])
    if isinstance(padding, str):
        raise user_error(
            ValueError, f"padding={padding!r}", "Give 'valid', 'same', a number, or numbers for each axis."
        )
    given = [padding] * ndim if not isinstance(padding, Sequence) else list(padding)
    pairs = [(index(p), index(p)) if not isinstance(p, Sequence) else (index(p[0]), index(p[1])) for p in given]
    if len(pairs) != ndim or min(map(min, pairs)) < 0:
        raise user_error(
            ValueError,
            f"padding={padding!r} for {ndim} axes",
            "Give one number of zeros, one, or a pair for each axis.",
        )
    return tuple(pairs)
