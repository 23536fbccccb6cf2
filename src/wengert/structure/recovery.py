"""From few products to all entries: how the entries of a sparse matrix are recovered from its compressed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _scatter, getitem
from wengert.ops.shape.rearranging import concatenate
from wengert.structure.patterns import Pattern

SUMMED = Index((Hole.ARRAY,), True)


class Round(NamedTuple):
    """Entries that are found together.

    Each is the sum at `source` among the products, less the entries of earlier rounds in that sum. The entries of this
    round with the numbers `used` are in sums of later rounds, whose numbers, counted from the next round on, are
    `sums`.
    """

    source: np.ndarray
    used: np.ndarray
    sums: np.ndarray


class Recovery(NamedTuple):
    """How entries are found: one round after the other, and then put in order.

    None stands for an order that is right already, or for a source that is all products in their order.
    """

    source: np.ndarray | None
    steps: Sequence[Round] = ()
    order: np.ndarray | None = None

    @property
    def rounds(self) -> int:
        """1 where each entry is read from the products as it is, more where others are subtracted first."""
        return max(len(self.steps), 1)

    def entries(self, products: Any) -> Any:
        """The entries of the pattern, from products flattened to one vector.

        These are operations of the table, on values of any mode.
        """
        if not self.steps:
            return products if self.source is None else getitem(products, self.source)
        parts: list[Any] = []
        known: Any = None  # the entries of earlier rounds in the sums of later ones
        for i, step in enumerate(self.steps):
            found = getitem(products, step.source)
            if known is not None:
                found, known = found - known[: step.source.size], known[step.source.size :]
            parts.append(found)
            if i + 1 < len(self.steps):
                count = sum(later.source.size for later in self.steps[i + 1 :])
                added = _scatter(getitem(found, step.used), step.sums, key=SUMMED, shape=(count,))
                known = added if known is None else known + added
        return getitem(concatenate(parts), self.order)


def count_colors(colors: np.ndarray) -> int:
    """The number of colours, which are counted from 0; -1 is none."""
    return int(colors.max(initial=-1)) + 1


def recover_directly(pattern: Pattern, column_colors: np.ndarray, row_colors: np.ndarray) -> Recovery | None:
    """Each entry by itself: in the product of its column, or of its row. None where some entry is not alone in any."""
    (m, n), rows, columns = pattern.shape, pattern.rows, pattern.cols.astype(np.int64)
    by_column, by_row = column_colors[columns], row_colors[rows]
    start = count_colors(column_colors) * m
    size = start + count_colors(row_colors) * n
    in_columns, in_rows = by_column * m + rows, start + by_row * n + columns
    alone_in_column, alone_in_row = find_alone(in_columns, by_column >= 0, size), find_alone(in_rows, by_row >= 0, size)
    if not (alone_in_column | alone_in_row).all():
        return None
    return read_directly(np.where(alone_in_row, in_rows, in_columns), size)


def read_directly(sums: np.ndarray, size: int) -> Recovery:
    """Each entry is read from one of `size` sums."""
    return Recovery(None if sums.size == size and (sums == np.arange(size)).all() else sums)


def find_alone(sums: np.ndarray, counted: np.ndarray, size: int) -> np.ndarray:
    """Which of the entries that are counted are the only one in their sum."""
    found = np.zeros(sums.size, bool)
    found[counted] = np.bincount(sums[counted], minlength=size)[sums[counted]] == 1
    return found


def recover_by_substitution(pattern: Pattern, colors: np.ndarray, limit: int | None = None) -> Recovery | None:
    """The entries of a symmetric matrix, in rounds.

    The first round finds entries that are alone in a sum, the next those that are alone once these are subtracted, and
    so on. An entry below the diagonal is the same number as its mirror image, which is in another sum. None where some
    entry is never alone, or where that takes more rounds than `limit`.
    """
    n = pattern.shape[0]
    rows, columns = pattern.rows.astype(np.int64), pattern.cols.astype(np.int64)
    if (colors[columns] < 0).any():
        return None
    upper = rows <= columns
    i, j = rows[upper], columns[upper]
    # (i, j) is in the sum of row i over the colour of j, (j, i) in the other
    here, there = colors[j] * n + i, colors[i] * n + j
    off = np.nonzero(i != j)[0]
    size = n * count_colors(colors)
    left = np.bincount(here, minlength=size) + np.bincount(there[off], minlength=size)
    total = np.zeros(size, np.int64)  # of the numbers of the entries in a sum: if one is left, its number
    np.add.at(total, here, np.arange(i.size))
    np.add.at(total, there[off], off)
    alone = np.nonzero(left == 1)[0]
    numbers = [np.arange(0)]
    sources: list[np.ndarray] = []
    targets: list[np.ndarray] = []
    while alone.size and (limit is None or len(sources) < limit):
        solved, first = np.unique(total[alone], return_index=True)
        source = alone[first]
        target = np.where(source == here[solved], there[solved], here[solved])
        numbers.append(solved)
        sources.append(source)
        targets.append(target)
        other = target != source
        for sums, entries in ((source, solved), (target[other], solved[other])):
            np.subtract.at(left, sums, 1)
            np.subtract.at(total, sums, entries)
        alone = np.unique(target[left[target] == 1])
    order = np.concatenate(numbers)
    if order.size < i.size:
        return None
    found = np.empty(i.size, np.int64)
    found[order] = np.arange(i.size)
    order = found[np.searchsorted(i * n + j, np.minimum(rows, columns) * n + np.maximum(rows, columns))]
    if len(sources) <= 1:
        return read_directly(sources[0][order] if sources else order, size)
    return Recovery(None, link_rounds(sources, targets, size), order)


def link_rounds(sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], size: int) -> list[Round]:
    """The rounds, each with the later sums that its entries are in."""
    number = np.full(size, -1)
    number[np.concatenate(sources)] = np.arange(sum(source.size for source in sources))
    steps, end = [], 0
    for source, target in zip(sources, targets, strict=True):
        end += source.size
        used = np.nonzero(number[target] >= end)[0]
        steps.append(Round(source, used, number[target[used]] - end))
    return steps
