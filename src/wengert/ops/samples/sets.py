"""Sets of numbers: no gradient flows through the search for unique elements, but through the elements."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert.core.array import implements
from wengert.core.infer import data_dependent_shape
from wengert.core.kinds import case, nondifferentiable
from wengert.core.primitive import as_operand
from wengert.ops.indexing.subscripts import getitem
from wengert.ops.indexing.taking import take
from wengert.ops.samples.histograms import COUNTS
from wengert.ops.samples.sorting import argsort, searchsorted, sort
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape

__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
]  # fmt: skip


_UNIQUE = {"axis": None, "equal_nan": True}
_first_indices = nondifferentiable(
    "unique_indices",
    lambda x, axis, equal_nan: np.unique(x, return_index=True, axis=axis, equal_nan=equal_nan)[1],
    params=_UNIQUE,
    spec=data_dependent_shape("the set of the elements of an array"),
    reason="the result is integer indices",
)
_inverse = nondifferentiable(
    "unique_inverse",
    lambda x, axis, equal_nan: np.unique(x, return_inverse=True, axis=axis, equal_nan=equal_nan)[1],
    params=_UNIQUE,
    reason="the result is integer indices",
)
_multiplicities = nondifferentiable(
    "unique_counts",
    lambda x, axis, equal_nan: np.unique(x, return_counts=True, axis=axis, equal_nan=equal_nan)[1],
    params=_UNIQUE,
    spec=data_dependent_shape("the set of the elements of an array"),
    reason=COUNTS,
)
_isin = nondifferentiable(
    "isin",
    lambda x, y, invert: np.isin(x, y, invert=invert),
    2,
    takes_params=True,
    cases=(case(np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([1.0, 3.0]), invert=False), case((), (2,), invert=True)),
    reason="the result is a boolean",
)


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements of an array, sorted. The gradient of each goes to its first occurrence.

    >>> unique([3.0, 1.0, 3.0])
    array([1., 3.])
    """
    ar = as_operand(ar)
    axis = None if axis is None else normalize_axis_index(axis, ar.ndim)
    indices = _first_indices(ar, axis=axis, equal_nan=equal_nan)
    out = [take(ar, indices, axis)]
    out += [indices] if return_index else []
    out += [_inverse(ar, axis=axis, equal_nan=equal_nan)] if return_inverse else []
    out += [_multiplicities(ar, axis=axis, equal_nan=equal_nan)] if return_counts else []
    return out[0] if len(out) == 1 else tuple(out)


class UniqueAll(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    values: Any
    inverse_indices: Any


@implements(np.unique_all)
def unique_all(x: Any, /) -> UniqueAll:
    """The distinct elements, the first index of each, the inverse indices, and the counts; NaNs are distinct.

    >>> unique_all([3, 1, 3]).counts
    array([1, 2])
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct elements, and how often each occurs; NaNs are distinct.

    >>> unique_counts([3, 1, 3]).counts
    array([1, 2])
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct elements, and the index among them of each element; NaNs are distinct.

    >>> unique_inverse([3, 1, 3]).inverse_indices
    array([1, 0, 1])
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_values)
def unique_values(x: Any, /) -> Any:
    """The distinct elements, sorted; NaNs are distinct.

    >>> unique_values([3, 1, 3])
    array([1, 3])
    """
    return unique(x, equal_nan=False)


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, /, assume_unique: bool = False, invert: bool = False, *, kind: str | None = None
) -> Any:
    """Whether each element is one of the others.

    >>> isin([1, 2, 3], [2, 5])
    array([False,  True, False])
    """
    return _isin(as_operand(element), as_operand(test_elements), invert=invert)


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    """The distinct elements of both arrays, sorted.

    >>> union1d([3, 1], [1, 2])
    array([1, 2, 3])
    """
    return unique(concatenate([ar1, ar2], None))


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements that both arrays have, sorted; their gradient goes to the first array.

    >>> intersect1d([3, 1, 2], [2, 3, 5])
    array([2, 3])
    """
    sets = _set(ar1, assume_unique), _set(ar2, assume_unique)
    x, y = sets[0][0], sets[1][0]
    common = sort(getitem(x, isin(x, y)))
    if not return_indices:
        return common
    orders = argsort(x), argsort(y)
    found = [
        getitem(order, searchsorted(getitem(s, order), common)) for (s, _), order in zip(sets, orders, strict=True)
    ]
    return common, getitem(sets[0][1], found[0]), getitem(sets[1][1], found[1])


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements of the first array that are not in the second, sorted unless `assume_unique`.

    >>> setdiff1d([3, 1, 2], [2])
    array([1, 3])
    """
    x = _set(ar1, assume_unique)[0]
    return getitem(x, isin(x, ar2, invert=True))


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements that are in only one of two arrays, sorted.

    >>> setxor1d([3, 1, 2], [2, 5])
    array([1, 3, 5])
    """
    x, y = _set(ar1, assume_unique)[0], _set(ar2, assume_unique)[0]
    return sort(concatenate([getitem(x, isin(x, y, invert=True)), getitem(y, isin(y, x, invert=True))]))


def _set(x: Any, assume_unique: bool) -> tuple[Any, Any]:
    """The distinct elements in one vector, and their first indices in the array."""
    x = reshape(as_operand(x), (-1,))
    return (x, np.arange(x.size)) if assume_unique else unique(x, return_index=True)
