"""The order in which partial results are added: a tree over the shards, fixed by their number and by their results.

Neighbours are added in groups, from left to right, and so are the sums of groups. The order does not depend on who
adds, nor when, so the rounding of a sum does not, either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.spec import Spec

Partial = list[Any]
"""The results of one shard, or the sums of those of several."""


def fan_in_of(specs: Sequence[Spec]) -> int:
    """How many partial results of these specs are added at once."""
    now = machine.current
    return max(2, now.large_partial_sums_added_at_once if is_large(specs) else now.partial_sums_added_at_once)


def is_large(specs: Sequence[Spec]) -> bool:
    """Whether partial results of these specs take long to send."""
    return sum([spec.nbytes for spec in specs]) >= machine.current.min_bytes_of_large_partial_sum


def tree_levels(count: int, fan_in: int) -> Iterator[list[range]]:
    """The groups of each level, as ranges of the results of the level below; the last level has one group.

    >>> list(tree_levels(5, 2))
    [[range(0, 2), range(2, 4), range(4, 5)], [range(0, 2), range(2, 3)], [range(0, 2)]]
    """
    while count > 1:
        groups = [range(i, min(i + fan_in, count)) for i in range(0, count, fan_in)]
        yield groups
        count = len(groups)


class TreeSum:
    """Adds partial results that arrive in the order of the shards, keeping few of them."""

    def __init__(self, fan_in: int, transfer: str | None):
        self.fan_in, self.transfer, self.levels = fan_in, transfer, list[list[Partial]]()

    def add(self, partial: Partial, level: int = 0) -> None:
        """Take the next result of a level; a full group goes to the next level as one."""
        if level == len(self.levels):
            self.levels.append([])
        group = self.levels[level]
        group.append(partial)
        if len(group) == self.fan_in:
            self.levels[level] = []
            self.add(add_partials(group, self.transfer), level + 1)

    def total(self) -> Partial:
        """The sum of all."""
        level = 0
        while True:
            group, is_last = self.levels[level], level == len(self.levels) - 1
            if is_last and len(group) == 1:
                return group[0]
            if group:
                self.levels[level] = []
                self.add(add_partials(group, self.transfer), level + 1)
            level += 1


def add_partials(partials: Sequence[Partial], transfer: str | None) -> Partial:
    """The sums of some partial results, added from left to right in their full precision."""
    if len(partials) == 1:
        return partials[0]
    sums = []
    for terms in zip(*partials, strict=True):
        wide = np.result_type(terms[0], np.float64) if is_rounded(terms[0], transfer) else None
        total = terms[0] if wide is None else terms[0].astype(wide)
        for term in terms[1:]:
            total = total + term
        sums.append(total)
    return round_partial(sums, transfer)


def is_rounded(x: Any, transfer: str | None) -> bool:
    """Whether a result travels in single precision; single numbers, such as the value of a loss, do not."""
    return transfer is not None and np.ndim(x) > 0 and x.dtype.kind in "fc"


def round_partial(partial: Iterable[Any], transfer: str | None) -> Partial:
    """A partial result as it travels."""
    return [
        x.astype(np.complex64 if x.dtype.kind == "c" else np.float32, copy=False) if is_rounded(x, transfer) else x
        for x in partial
    ]


def restore_partial(partial: Sequence[Any], specs: Sequence[Spec]) -> Partial:
    """A partial result with the dtypes that it had before it travelled; NumPy scalars where there are no axes."""
    return [np.asarray(x).astype(spec.dtype, copy=False)[()] for x, spec in zip(partial, specs, strict=True)]
