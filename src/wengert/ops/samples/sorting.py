"""Sorting: no gradient flows through the order, and gradients follow the elements that are sorted."""

from __future__ import annotations

from operator import index
from typing import Any, NamedTuple, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert.core.array import Array, implements
from wengert.core.errors import user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.infer import keep_shape
from wengert.core.kinds import case, nondifferentiable, shift_axis
from wengert.core.large_arrays import for_sorting
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.ops.indexing.subscripts import getitem
from wengert.ops.indexing.taking import permute, take_along_axis
from wengert.ops.shape.joining import unstack
from wengert.ops.shape.rearranging import flip
from wengert.ops.shape.reshaping import reshape

__all__ = ["argpartition", "argsort", "lexsort", "partition", "searchsorted", "sort", "topk"]

ORDER = "the result is integer indices"

_argsort = nondifferentiable(
    "argsort", for_sorting(np.argsort), takes_params=True, batch=shift_axis, spec=keep_shape(np.argsort),
    cases=(case((4, 3), axis=0, kind=None), case((0,), axis=0, kind="stable")), reason=ORDER,
)  # fmt: skip


def positions_of(kth: int | tuple[int, ...], n: int) -> np.ndarray:
    """Positions in a row of n elements, each once and in order."""
    return np.unique(np.asarray(kth, np.intp).ravel() % max(n, 1))


def _partition_order(x: Any, kth: int | tuple[int, ...], axis: int, kind: str) -> Any:
    """The order of a partition in which all elements between those at `kth` stay in theirs.

    NumPy's own order depends on the processor.
    """
    return order_of_partition(x, np.partition(x, kth, axis, kind), kth, axis)  # type: ignore[call-overload]  # it is NumPy's only kind


def order_of_partition(x: Any, ordered: Any, kth: int | tuple[int, ...], axis: int) -> Any:
    """That order, given the array after a partition."""
    side = numpy_of(x).zeros(x.shape, np.uint16)
    for k in positions_of(kth, x.shape[axis]).tolist():
        before, own = _split_at(x, np.take(ordered, [k], axis), k, axis)
        side += ~before
        side += ~(before | own)
    return np.argsort(side, axis, kind="stable")


def _split_at(x: Any, value: Any, k: int, axis: int) -> tuple[Any, Any]:
    """What is before position k of a stable order, where the `value` is, and which element is there."""
    if x.dtype.kind == "c":  # with several kinds of NaN
        rank = np.argsort(np.argsort(x, axis, kind="stable"), axis)
        return rank < k, rank == k
    is_less = (x < value) | ((value != value) & (x == x))  # NaNs are equal, and last
    is_equal = ~is_less & ~((x > value) | ((x != x) & (value == value)))
    rank = np.cumsum(is_equal, axis) + (np.sum(is_less, axis, keepdims=True) - 1)
    return is_less | (is_equal & (rank < k)), is_equal & (rank == k)


_argpartition = nondifferentiable(
    "argpartition", _partition_order, takes_params=True, batch=shift_axis,
    cases=(case((5, 2), kth=(1, 3), axis=0, kind="introselect"),), reason=ORDER,
)  # fmt: skip
_searchsorted = nondifferentiable(
    "searchsorted", np.searchsorted, 2, takes_params=True, spec=keep_shape(np.searchsorted, operand=1),
    cases=(case(np.array([-1.0, 0.0, 1.0]), (4,), side="left"), case(np.array([0.0, 0.0]), (), side="right")),
    reason=ORDER,
)  # fmt: skip


def _line(a: Any, axis: int | None, order: Any) -> tuple[Any, int]:
    """The array and the axis to sort along, flattened if the axis is None."""
    if order is not None:
        raise user_error(ValueError, "Cannot specify order when the array has no fields")
    a = as_operand(a)
    if axis is None:
        return reshape(a, (-1,)), 0
    return a, normalize_axis_index(axis, a.ndim)


def _at_least_a_row(a: Any) -> Any:
    """A number as a vector: NumPy does not sort numbers, but gives their order as [0]."""
    a = as_operand(a)
    return a if a.ndim else reshape(a, (1,))


def _kind(kind: str | None, stable: bool | None) -> str | None:
    if stable is not None and kind is not None:
        raise user_error(
            ValueError, "`kind` and `stable` parameters can't be provided at the same time", "Use only one of them."
        )
    return "stable" if kind is None and stable in (None, True) else kind


@implements(np.sort)
def sort(
    a: Any,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
    **foreign: Never,
) -> Any:
    """A sorted copy.

    Each element's gradient goes back to where it came from; among equal ones the order is that of `argsort`.

    >>> sort([3.0, 1.0, 2.0])
    array([1., 2., 3.])
    """
    if foreign:
        refuse_keywords(foreign)
    a, axis = _line(a, axis, order)
    if isinstance(a, Array):
        return permute(a, _order(a, axis, _kind(kind, stable), descending), axis)
    ascending = np.sort(a, axis, kind, stable=stable)  # type: ignore[arg-type]  # any kind, checked by NumPy
    return np.flip(ascending, axis) if descending else ascending


@implements(np.argsort)
def argsort(
    a: Any,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
    **foreign: Never,
) -> Any:
    """The indices that sort an array.

    Equal elements stay in their order, unless a `kind` is chosen or `stable=False`.

    >>> argsort([3.0, 1.0, 2.0])
    array([1, 2, 0])
    """
    if foreign:
        refuse_keywords(foreign)
    a, axis = _line(_at_least_a_row(a), axis, order)
    return _order(a, axis, _kind(kind, stable), descending)


def _order(a: Any, axis: int, kind: str | None, descending: bool) -> Any:
    if not descending:
        return _argsort(a, axis=axis, kind=kind)
    # Turned around before and after, so that equal elements keep their order.
    return a.shape[axis] - 1 - flip(_argsort(flip(a, axis), axis=axis, kind=kind), axis)


@implements(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None) -> Any:
    """A copy with the elements `kth` where sorting would put them, smaller ones before and larger ones behind.

    What is between them is in no order that is specified.

    >>> float(partition([3.0, 1.0, 2.0], 0)[0])
    1.0
    """
    a, axis = _line(a, axis, order)
    kth = _integers_of(kth)
    if isinstance(a, Array):
        return permute(a, _argpartition(a, kth=kth, axis=axis, kind=kind), axis)
    return np.partition(a, kth, axis, kind)  # type: ignore[call-overload]  # it is NumPy's only kind


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None) -> Any:
    """The indices that partition an array; between the elements `kth`, indices rise.

    >>> int(argpartition([3.0, 1.0, 2.0], 0)[0])
    1
    """
    a, axis = _line(_at_least_a_row(a), axis, order)
    return _argpartition(a, kth=_integers_of(kth), axis=axis, kind=kind)


def _integers_of(kth: Any) -> int | tuple[int, ...]:
    """One integer, or several, as Python's."""
    kth = np.asarray(kth)
    return tuple(kth.tolist()) if kth.ndim else kth.item()


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, /, side: str = "left", sorter: Any = None) -> Any:
    """The indices at which v would have to be inserted to keep a sorted.

    >>> searchsorted([1.0, 2.0, 3.0], [1.5, 9.0])
    array([1, 3])
    """
    a = as_operand(a)
    return _searchsorted(a if sorter is None else getitem(a, as_operand(sorter)), as_operand(v), side=side)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The indices that sort by several keys, the last of which counts most.

    >>> lexsort(([2, 1, 0], [5, 3, 5]))
    array([1, 2, 0])
    """
    rows = [as_operand(key) for key in (unstack(keys) if isinstance(keys, Array) else keys)]
    if not rows:
        raise user_error(TypeError, "Need sequence of keys with len > 0 in lexsort")
    order = argsort(rows[0], axis)
    for key in rows[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order


class TopK(NamedTuple):
    """The largest or smallest elements, and their indices."""

    values: Any
    indices: Any


def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> TopK:
    """The k largest elements along an axis, the largest first, and their indices; or the smallest, the smallest first.

    Among equal elements, the first ones are taken, in their order. Each gradient goes back to the element.

    >>> topk([3.0, 1.0, 4.0, 1.5], 2)
    TopK(values=array([4., 3.]), indices=array([2, 0]))
    """
    x = as_operand(x)
    axis, k = normalize_axis_index(axis, x.ndim), index(k)
    if not 0 <= k <= x.shape[axis]:
        raise user_error(ValueError, f"topk has k={k}, along an axis of length {x.shape[axis]}", "Choose a smaller k.")
    whole, n = (slice(None),) * axis, x.shape[axis]
    if largest:  # turned around before and after, so that equal elements keep their order
        last = getitem(_argsort(flip(x, axis), axis=axis, kind="stable"), (*whole, slice(n - k, n)))
        indices = n - 1 - flip(last, axis)
    else:
        indices = getitem(_argsort(x, axis=axis, kind="stable"), (*whole, slice(k)))
    return TopK(take_along_axis(x, indices, axis), indices)
