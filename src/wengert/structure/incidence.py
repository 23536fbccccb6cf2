"""Sets of indices, one for each element of an array, and how operations combine them.

A family of sets is a sparse matrix of truth values: a row for each element, a column for each index. What an operation
does to sets is a product with another such matrix, which says of what elements of its operand an element of its result
is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack  # type: ignore[import-untyped]  # SciPy brings no types along

Shape = tuple[int, ...]
Sets: TypeAlias = csr_array
"""A row of indices for each element of an array, in the order of its flattened elements."""


def numbered(shape: Shape, start: int = 0) -> np.ndarray:
    """An array that has in each place the number of the place."""
    return np.arange(start, start + math.prod(shape)).reshape(shape)


def unit(n: int) -> Sets:
    """Each element depends on itself."""
    return csr_array((np.ones(n, bool), np.arange(n), np.arange(n + 1)), shape=(n, n))


def none(elements: int, n: int) -> Sets:
    """No element depends on anything."""
    return csr_array((elements, n), dtype=bool)


def taken(places: np.ndarray, count: int) -> Sets:
    """The matrix of an operation that takes each element from one place of `count`, or from nowhere (-1)."""
    places = places.reshape(-1)
    found = places >= 0
    starts = np.concatenate([[0], np.cumsum(found)])
    return csr_array((np.ones(starts[-1], bool), places[found], starts), shape=(places.size, count))


def pairs(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Sets:
    """The matrix with these entries."""
    return csr_array((np.ones(rows.size, bool), (rows.reshape(-1), columns.reshape(-1))), shape=shape)


def moved(sets: Sets, places: np.ndarray) -> Sets:
    """The sets of a result each of whose elements comes from one place of the operand, or from nowhere (-1)."""
    size = sets.shape[0]
    if places.size == size and (places.reshape(-1) == np.arange(size)).all():
        return sets
    return taken(places, size) @ sets


def grouped(sets: Sets, groups: np.ndarray, count: int) -> Sets:
    """The union of the sets of each group, given the group of each element (-1: of none)."""
    return taken(groups, count).T.tocsr() @ sets


def union(families: Sequence[Sets]) -> Sets:
    """Element by element."""
    total = families[0]
    for sets in families[1:]:
        total = total + sets
    return total


def one_after_the_other(families: Sequence[Sets]) -> Sets:
    """The sets of several arrays as those of one."""
    return vstack(families, format="csr") if len(families) > 1 else families[0]


def everything(sets: Sets, elements: int) -> Sets:
    """Each element of a result depends on all that any element of the operand depends on."""
    whole = grouped(sets, np.zeros(sets.shape[0], int), 1)
    return moved(whole, np.zeros(elements, int)) if elements != 1 else whole


def along(shape: Shape, axes: Sequence[int]) -> np.ndarray:
    """For each element, the number of its line along some axes: elements with the other coordinates in common have one
    number.
    """
    kept = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return np.broadcast_to(numbered(kept), shape)
