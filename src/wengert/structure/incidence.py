"""Sets of indices, one for each element of an array, and how operations combine them.

A family of sets is a sparse matrix of booleans: a row for each element, a column for each index. An operation on sets
is a product with another such matrix, which says on which elements of the operand an element of the result depends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack

Shape = tuple[int, ...]
Sets: TypeAlias = csr_array
"""A row of indices for each element of an array, in the order of its flattened elements."""


def number_elements(shape: Shape, start: int = 0) -> np.ndarray:
    """An array that has at each index the number of that element."""
    return np.arange(start, start + math.prod(shape)).reshape(shape)


def identity_sets(n: int) -> Sets:
    """Each element depends on itself."""
    return csr_array((np.ones(n, bool), np.arange(n), np.arange(n + 1)), shape=(n, n))


def no_sets(elements: int, n: int) -> Sets:
    """No element depends on anything."""
    return csr_array((elements, n), dtype=bool)


def selection_matrix(sources: np.ndarray, count: int) -> Sets:
    """The matrix of an operation that takes each element from one of `count` sources, or from none (-1)."""
    sources = sources.reshape(-1)
    found = sources >= 0
    starts = np.concatenate([[0], np.cumsum(found)])
    return csr_array((np.ones(starts[-1], bool), sources[found], starts), shape=(sources.size, count))


def entries_matrix(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Sets:
    """The matrix with these entries."""
    return csr_array((np.ones(rows.size, bool), (rows.reshape(-1), columns.reshape(-1))), shape=shape)


def move_sets(sets: Sets, sources: np.ndarray) -> Sets:
    """The sets of a result each of whose elements comes from one element of the operand, or from none (-1)."""
    size = sets.shape[0]
    if sources.size == size and (sources.reshape(-1) == np.arange(size)).all():
        return sets
    return selection_matrix(sources, size) @ sets


def group_sets(sets: Sets, groups: np.ndarray, count: int) -> Sets:
    """The union of the sets of each group, given the group of each element (-1: of none)."""
    return selection_matrix(groups, count).T.tocsr() @ sets


def unite_sets(families: Sequence[Sets]) -> Sets:
    """The unions, element by element."""
    total = families[0]
    for sets in families[1:]:
        total = total + sets
    return total


def stack_sets(families: Sequence[Sets]) -> Sets:
    """The sets of several arrays as those of one."""
    return vstack(families, format="csr") if len(families) > 1 else families[0]


def spread_to_all(sets: Sets, elements: int) -> Sets:
    """Each element of a result depends on all that any element of the operand depends on."""
    whole = group_sets(sets, np.zeros(sets.shape[0], int), 1)
    return move_sets(whole, np.zeros(elements, int)) if elements != 1 else whole


def line_numbers(shape: Shape, axes: Sequence[int]) -> np.ndarray:
    """For each element, the number of its line along some axes: elements that differ only along these share one."""
    kept = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return np.broadcast_to(number_elements(kept), shape)
