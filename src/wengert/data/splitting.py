"""Disjoint parts of the data, such as those for training and for validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.data.sources import ArraySource
from wengert.random.generator import default_rng


def split(data: Any, fractions: Sequence[float], rng: Any = None, shuffle: bool = True) -> tuple[Any, ...]:
    """Parts of an array, or of a tree of arrays of the same length, each with its fraction of the samples.

    Samples are drawn by `rng` (a seed or a generator); without `shuffle`, they stay in order.

    >>> train, test = split(np.arange(10), (0.8, 0.2), rng=0)
    >>> len(train), test
    (8, array([1, 8]))
    """
    source = ArraySource(data)
    n = source.length
    total = sum(fractions)
    if any(f <= 0 for f in fractions) or not np.isclose(total, 1.0):
        raise user_error(
            ValueError,
            f"The fractions {tuple(fractions)} are not parts of a whole: their sum is {total:g}",
            "Use positive fractions with the sum 1.",
        )
    ends = [round(n * float(end)) for end in np.cumsum(fractions)]
    starts = [0, *ends[:-1]]
    if any(start == end for start, end in zip(starts, ends, strict=True)):
        raise user_error(ValueError, f"A part of {n:,} samples would be empty", "Use larger fractions, or more data.")
    if not shuffle:
        return tuple(source.take(slice(start, end)) for start, end in zip(starts, ends, strict=True))
    order = default_rng(rng).numpy.permutation(n)
    return tuple(source.take(np.sort(order[start:end])) for start, end in zip(starts, ends, strict=True))
