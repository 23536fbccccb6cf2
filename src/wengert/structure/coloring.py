"""Colourings: which columns, or rows, of a sparse matrix can be computed together, because they have no row, or column,
in common.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.structure.compression import Recovery, direct, substituted
from wengert.structure.incidence import csr_array
from wengert.structure.ordering import by_classes, orders
from wengert.structure.patterns import Pattern
from wengert.structure.symmetric import acyclic, best, star

WAYS = ("auto", "column", "row", "bidirectional", "symmetric", "star", "acyclic")
LARGEST_GRAPH = 400_000
"""How many conflicts of columns are written down, to order columns by them."""
IMPROVEMENTS = 8


class Coloring:
    """A colour for each column and each row that is computed; -1 for one that is not.

    `number` is how many products there are.

    `kind` is "column", "row", "bidirectional", "star" or "acyclic"; the colours of columns and of rows are counted from
    0 each.

    >>> import wengert as wg
    >>> coloring = wg.color(wg.sparsity(lambda x: x[1:] - x[:-1], np.ones(5)))
    >>> coloring.number
    2
    """

    __slots__ = ("columns", "kind", "rows")

    def __init__(self, kind: str, columns: Sequence[int] | np.ndarray, rows: Sequence[int] | np.ndarray):
        self.kind = kind
        self.columns, self.rows = np.asarray(columns, np.int64), np.asarray(rows, np.int64)

    @property
    def column_colors(self) -> int:
        """The number of products with vectors from the right: forward passes."""
        return int(self.columns.max(initial=-1)) + 1

    @property
    def row_colors(self) -> int:
        """The number of products from the left: walks back."""
        return int(self.rows.max(initial=-1)) + 1

    @property
    def number(self) -> int:
        return self.column_colors + self.row_colors

    @property
    def colors(self) -> np.ndarray:
        """The colours of the columns, or of the rows where those are coloured."""
        return self.rows if self.kind == "row" else self.columns

    def recovery(self, pattern: Pattern) -> Recovery:
        """How the entries of a pattern are found from the products; an error where they cannot be."""
        if (self.columns.size, self.rows.size) != (pattern.shape[1], pattern.shape[0]):
            raise user_error(
                ValueError,
                f"A colouring of {self.rows.size} rows and {self.columns.size} columns was given for {pattern!r}",
            )
        found = substituted(pattern, self) if self.kind in ("star", "acyclic") else direct(pattern, self)
        if found is None:
            raise user_error(
                ValueError,
                f"This {self.kind} colouring does not tell all entries of {pattern!r} apart",
                "Colour that pattern: color(pattern).",
            )
        return found

    def verify(self, pattern: Pattern) -> bool:
        """Whether all entries of a pattern can be found from the products."""
        try:
            recovery = self.recovery(pattern)
        except ValueError:
            return False
        return self.kind != "star" or recovery.rounds <= 1

    def save(self, path: str | os.PathLike) -> None:
        """Write it to a file, for `Coloring.load`."""
        with open(path, "wb") as file:
            np.savez_compressed(file, kind=self.kind, columns=self.columns, rows=self.rows)

    @staticmethod
    def load(path: str | os.PathLike) -> Coloring:
        with np.load(path) as file:
            return Coloring(str(file["kind"]), file["columns"], file["rows"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Coloring):
            return NotImplemented
        return (
            self.kind == other.kind
            and np.array_equal(self.columns, other.columns)
            and np.array_equal(self.rows, other.rows)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays, and is compared by them

    def __repr__(self) -> str:
        count = f"{self.column_colors} + {self.row_colors}" if self.kind == "bidirectional" else str(self.number)
        return f"<{self.kind} colouring, {count} colours>"


def color(pattern: Any, by: str = "auto") -> Coloring:
    """Colour a pattern: few colours, so that few products give all entries.

    By "column", products from the right (forward mode); by "row", from the left (reverse mode); "bidirectional" takes
    the densest rows or columns apart. "symmetric" uses that a Hessian has each entry twice: the better of "star" and
    "acyclic". "auto" is "symmetric" for the pattern of a Hessian, otherwise the fewest of columns, rows and both.
    Several orders are tried.

    >>> color(Pattern(np.tri(50) - np.tri(50, k=-2)), by="column")
    <column colouring, 2 colours>
    """
    if by not in WAYS:
        raise user_error(ValueError, f"color: by={by!r}", f"Choose one of {', '.join(map(repr, WAYS))}.")
    pattern = pattern if isinstance(pattern, Pattern) else Pattern(pattern)
    if by in ("symmetric", "star", "acyclic") or (by == "auto" and pattern.symmetric):
        return symmetric(pattern, by)
    m, n = pattern.shape
    forward = pattern.matrix
    backward = forward.T.tocsr()
    if by == "column":
        return Coloring("column", apart(forward), unused(m))
    if by == "row":
        return Coloring("row", unused(n), apart(backward))
    found = Coloring("column", apart(forward), unused(m))
    if by == "auto":
        rows = Coloring("row", unused(n), apart(backward))
        found = rows if rows.number < found.number else found
    limit = found.number if by == "auto" else m + n + 1
    for split in (*splits(forward, limit), *[(columns, rows) for rows, columns in splits(backward, limit)]):
        both = Coloring("bidirectional", *split)
        if both.number < limit:
            found, limit = both, both.number
    return (
        found if found.kind == "bidirectional" or by == "auto" else Coloring("bidirectional", found.columns, found.rows)
    )


def unused(n: int) -> np.ndarray:
    return np.full(n, -1)


def symmetric(pattern: Pattern, by: str) -> Coloring:
    """The colouring of a symmetric pattern."""
    m, n = pattern.shape
    if m != n or not pattern.symmetric:
        pattern = Pattern(pattern, symmetric=True)
    off = pattern.rows != pattern.cols
    neighbours = lists(pattern.cols[off], np.concatenate([[0], np.cumsum(np.bincount(pattern.rows[off], minlength=n))]))
    if not pattern.nnz:
        return Coloring("star" if by != "acyclic" else by, unused(n), unused(n))
    stars = Coloring("star", best(star, neighbours, 3), unused(n)) if by != "acyclic" else None
    if stars is not None and (by == "star" or stars.number < 4):
        return stars  # fewer than two colours saved are not worth a round of substitution
    trees = Coloring("acyclic", best(acyclic, neighbours, 2), unused(n))
    if stars is None or (
        trees.number < stars.number and substituted(pattern, trees, stars.number - trees.number) is not None
    ):
        return trees  # the products that it saves are worth the rounds of substitution
    return stars


def apart(matrix: csr_array) -> np.ndarray:
    """Colours for the columns of a matrix such that no row has one colour twice; -1 for empty columns."""
    n = matrix.shape[1]
    rows = np.diff(matrix.indptr)
    least = int(rows.max(initial=0))
    columns = matrix.tocsc()
    columns.sort_indices()
    of_columns = lists(columns.indices, columns.indptr)
    degrees = np.asarray(matrix.T.astype(np.int64) @ (rows - 1))
    graph = None
    if degrees.sum() <= LARGEST_GRAPH:
        conflicts = (columns.T.tocsr() @ matrix.tocsc()).tocsr()
        graph = lists(conflicts.indices, conflicts.indptr)
        graph = [[j for j in near if j != i] for i, near in enumerate(graph)]
    found: list[int] | None = None
    for order in orders(degrees, graph):
        colors = greedy(order, of_columns, matrix.shape[0])
        found = colors if found is None else min(found, colors, key=lambda c: max(c, default=-1))
        if max(found, default=-1) < least:
            break
    assert found is not None
    for i in range(IMPROVEMENTS):
        if max(found, default=-1) < least:
            break
        found = min(found, greedy(by_classes(found, bool(i % 2)), of_columns, matrix.shape[0]), key=max)
    return np.where(np.diff(columns.indptr) > 0, found, -1) if n else unused(0)


def greedy(order: Sequence[int], lists: Sequence[Sequence[int]], count: int) -> list[int]:
    """Each vertex gets the first colour that is free in all of its `count` lists.

    The colours used in a list are the bits of a number.
    """
    used = [0] * count
    colors = [0] * len(lists)
    for v in order:
        taken = 0
        for i in lists[v]:
            taken |= used[i]
        bit = ~taken & (taken + 1)
        for i in lists[v]:
            used[i] |= bit
        colors[v] = bit.bit_length() - 1
    return colors


def splits(matrix: csr_array, limit: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Colourings of columns and of the densest rows together, for those numbers of dense rows that could do with fewer
    than `limit`.
    """
    m = matrix.shape[0]
    sizes = np.diff(matrix.indptr)
    candidates = []
    for threshold in np.unique(sizes)[:-1]:
        dense = sizes > threshold
        candidates.append((threshold + 1, int(dense.sum()), dense))
    candidates.sort(key=lambda candidate: candidate[0] + candidate[1])
    found = []
    for threshold, _, dense in candidates[:4]:
        fullest = int(np.bincount(matrix[dense].indices, minlength=1).max())
        if (
            threshold - 1 + fullest >= limit
        ):  # a colour for each entry of the fullest row that is left, and of the fullest column
            continue
        rows = unused(m)
        rows[dense] = apart(matrix[dense].T.tocsr())
        found.append((apart(matrix[~dense]), rows))
    return found


def lists(indices: np.ndarray, indptr: np.ndarray) -> list[list[int]]:
    """The rows of a sparse matrix as lists of places."""
    flat, bounds = indices.tolist(), indptr.tolist()
    return [flat[i:j] for i, j in zip(bounds[:-1], bounds[1:], strict=True)]
