"""Colourings: which columns, or rows, of a sparse matrix can be computed together.

Columns of one colour have no row in common, rows of one colour no column.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.errors import user_error
from wengert.structure.incidence import csr_array
from wengert.structure.ordering import order_by_colors, vertex_orders
from wengert.structure.patterns import Pattern
from wengert.structure.recovery import Recovery, count_colors, recover_by_substitution, recover_directly
from wengert.structure.symmetric import best_coloring, color_acyclic, color_star

WAYS = ("auto", "column", "row", "bidirectional", "symmetric", "star", "acyclic")


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
        return count_colors(self.columns)

    @property
    def row_colors(self) -> int:
        """The number of products from the left: backward passes."""
        return count_colors(self.rows)

    @property
    def number(self) -> int:
        """The number of products."""
        return self.column_colors + self.row_colors

    @property
    def colors(self) -> np.ndarray:
        """The colours of the columns, or of the rows where those are coloured."""
        return self.rows if self.kind == "row" else self.columns

    def recovery(self, pattern: Pattern) -> Recovery:
        """How the entries of a pattern are recovered from the products; an error where they cannot be."""
        if (self.columns.size, self.rows.size) != (pattern.shape[1], pattern.shape[0]):
            raise user_error(
                ValueError,
                f"A colouring of {self.rows.size} rows and {self.columns.size} columns was given for {pattern!r}",
            )
        if self.kind in ("star", "acyclic"):
            found = recover_by_substitution(pattern, self.columns)
        else:
            found = recover_directly(pattern, self.columns, self.rows)
        if found is None:
            raise user_error(
                ValueError,
                f"This {self.kind} colouring does not tell all entries of {pattern!r} apart",
                "Colour that pattern: color(pattern).",
            )
        return found

    def verify(self, pattern: Pattern) -> bool:
        """Whether all entries of a pattern can be recovered from the products."""
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
        """Read a colouring that `save` has written."""
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
        return color_symmetric(pattern, by)
    m, n = pattern.shape
    forward = pattern.matrix
    backward = forward.T.tocsr()
    if by == "column":
        return Coloring("column", color_columns(forward), no_colors(m))
    if by == "row":
        return Coloring("row", no_colors(n), color_columns(backward))
    found = Coloring("column", color_columns(forward), no_colors(m))
    if by == "auto" and not has_equal_entries(forward, backward):
        rows = Coloring("row", no_colors(n), color_columns(backward))
        found = rows if rows.number < found.number else found
    limit = found.number if by == "auto" else m + n + 1
    for split in (
        *bidirectional_colorings(forward, limit),
        *[(columns, rows) for rows, columns in bidirectional_colorings(backward, limit)],
    ):
        both = Coloring("bidirectional", *split)
        if both.number < limit:
            found, limit = both, both.number
    return (
        found if found.kind == "bidirectional" or by == "auto" else Coloring("bidirectional", found.columns, found.rows)
    )


def has_equal_entries(x: csr_array, y: csr_array) -> bool:
    """Whether two patterns are one, so that they have one colouring."""
    return np.array_equal(x.indptr, y.indptr) and np.array_equal(x.indices, y.indices)


def no_colors(n: int) -> np.ndarray:
    """The colours of rows, or columns, that are not computed."""
    return np.full(n, -1)


def color_symmetric(pattern: Pattern, by: str) -> Coloring:
    """The colouring of a symmetric pattern."""
    m, n = pattern.shape
    if m != n or not pattern.symmetric:
        pattern = Pattern(pattern, symmetric=True)
    off = pattern.rows != pattern.cols
    neighbours = row_lists(
        pattern.cols[off], np.concatenate([[0], np.cumsum(np.bincount(pattern.rows[off], minlength=n))])
    )
    if not pattern.nnz:
        return Coloring("star" if by != "acyclic" else by, no_colors(n), no_colors(n))
    stars = Coloring("star", best_coloring(color_star, neighbours, 3), no_colors(n)) if by != "acyclic" else None
    if stars is not None and (by == "star" or stars.number < 4):
        return stars  # fewer than two colours saved are not worth a round of substitution
    trees = Coloring("acyclic", best_coloring(color_acyclic, neighbours, 2), no_colors(n))
    if stars is None or (
        trees.number < stars.number
        and recover_by_substitution(pattern, trees.columns, stars.number - trees.number) is not None
    ):
        return trees  # the products that it saves are worth the rounds of substitution
    return stars


def color_columns(matrix: csr_array) -> np.ndarray:
    """Colours for the columns of a matrix so that no row has one colour twice; -1 for empty columns."""
    n = matrix.shape[1]
    rows = np.diff(matrix.indptr)
    least = int(rows.max(initial=0))
    columns = matrix.tocsc()
    columns.sort_indices()
    of_columns = row_lists(columns.indices, columns.indptr)
    degrees = np.asarray(matrix.T.astype(np.int64) @ (rows - 1))
    graph = None
    if degrees.sum() <= machine.current.max_conflicts_of_ordered_coloring:
        conflicts = (columns.T.tocsr() @ matrix.tocsc()).tocsr()
        graph = row_lists(conflicts.indices, conflicts.indptr)
        graph = [[j for j in near if j != i] for i, near in enumerate(graph)]
    found: list[int] | None = None
    for order in vertex_orders(degrees, graph):
        colors = color_greedily(order, of_columns, matrix.shape[0])
        found = colors if found is None else min(found, colors, key=lambda c: max(c, default=-1))
        if max(found, default=-1) < least:
            break
    assert found is not None
    for i in range(machine.current.improvements_of_column_coloring):
        if max(found, default=-1) < least:
            break
        found = min(found, color_greedily(order_by_colors(found, bool(i % 2)), of_columns, matrix.shape[0]), key=max)
    return np.where(np.diff(columns.indptr) > 0, found, -1) if n else no_colors(0)


def color_greedily(order: Sequence[int], lists: Sequence[Sequence[int]], count: int) -> list[int]:
    """Give each vertex the first colour that is free in all of its `count` lists.

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


def bidirectional_colorings(matrix: csr_array, limit: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Colourings of columns and of the densest rows together.

    They are made for those numbers of dense rows that could need fewer than `limit` colours.
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
        if threshold - 1 + fullest >= limit:  # at least a colour for each entry of the fullest row and column
            continue
        rows = no_colors(m)
        rows[dense] = color_columns(matrix[dense].T.tocsr())
        found.append((color_columns(matrix[~dense]), rows))
    return found


def row_lists(indices: np.ndarray, indptr: np.ndarray) -> list[list[int]]:
    """The rows of a sparse matrix as lists of column numbers."""
    flat, bounds = indices.tolist(), indptr.tolist()
    return [flat[i:j] for i, j in zip(bounds[:-1], bounds[1:], strict=True)]
