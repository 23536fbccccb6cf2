"""NumPy's functions that select elements or write to them, by indices or by conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert.core.array import implements
from wengert.core.errors import refuse_out, user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.infer import data_dependent_shape
from wengert.core.kinds import case, describe, nondifferentiable
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import remainder
from wengert.ops.elementwise.choices import clip, where
from wengert.ops.elementwise.predicates import logical_not, logical_or
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import gather, getitem, set_at
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import unstack, zeros_like
from wengert.ops.shape.reshaping import along, broadcast_to, reshape

__all__ = [
    "argwhere", "compress", "copyto", "extract", "flatnonzero", "nonzero", "piecewise", "place", "put",
    "put_along_axis", "putmask", "select", "take", "take_along_axis",
]  # fmt: skip


def _within(indices: Any, n: int, mode: str) -> Any:
    """Indices of an axis of length n as `mode` wants them; "raise" leaves it to the indexing."""
    indices = as_operand(indices)
    if indices.dtype.kind == "b" or indices.size == 0:
        indices = astype(indices, np.intp)
    if mode == "wrap":
        return remainder(indices, n)
    if mode == "clip":
        return clip(indices, 0, n - 1)
    if mode != "raise":
        raise user_error(ValueError, f"mode must be 'raise', 'wrap' or 'clip', not {mode!r}")
    return indices


@implements(np.take)
def take(
    a: Any, /, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise", **foreign: Never
) -> Any:
    """The elements, or slices along an axis, at these indices.

    >>> take([1.0, 2.0, 3.0], [2, 0])
    array([3., 1.])
    """
    if foreign:
        refuse_keywords(foreign)
    refuse_out(out)
    a, axis = along(a, axis)
    return getitem(a, (slice(None),) * axis + (_within(indices, a.shape[axis], mode),))


def key_along(shape: tuple[int, ...], indices: Any, axis: int) -> tuple:
    """The key that selects `indices` along an axis, line by line."""
    if indices.dtype.kind not in "iu":
        raise user_error(IndexError, "`indices` must be an integer array")
    if len(shape) != indices.ndim:
        raise user_error(ValueError, "`indices` and `arr` must have the same number of dimensions")
    axis = normalize_axis_index(axis, len(shape))
    return tuple(
        [
            indices if i == axis else np.arange(n).reshape((-1,) + (1,) * (len(shape) - 1 - i))
            for i, n in enumerate(shape)
        ]
    )


@implements(np.take_along_axis)
def take_along_axis(arr: Any, /, indices: Any, axis: int | None = -1, **foreign: Never) -> Any:
    """The elements at `indices` along an axis, row by row; for the results of `argsort` and `argmax`.

    >>> take_along_axis(np.array([[3.0, 1.0]]), np.array([[1, 0]]), axis=1)
    array([[1., 3.]])
    """
    if foreign:
        refuse_keywords(foreign)
    arr = as_operand(arr)
    if axis is None:
        arr, axis = reshape(arr, (-1,)), 0
    return getitem(arr, key_along(arr.shape, as_operand(indices), axis))


def permute(x: Any, indices: Any, axis: int) -> Any:
    """`take_along_axis` where no row takes an element twice, so that the transpose is an assignment."""
    return gather(x, *key_along(x.shape, indices, axis), key=Index((Hole.ARRAY,) * x.ndim))


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Write at `indices` along an axis, line by line, in place.

    >>> x = np.zeros((2, 2))
    >>> put_along_axis(x, np.array([[1], [0]]), 5.0, axis=1)
    >>> x.tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    if axis is None:
        arr[...] = reshape(
            set_at(reshape(arr, (-1,)), key_along((arr.size,), as_operand(indices), 0), values), arr.shape
        )
    else:
        arr[key_along(arr.shape, as_operand(indices), axis)] = values


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: None = None) -> Any:
    """The elements, or slices along an axis, where a boolean vector is true.

    >>> compress([True, False, True], [1.0, 2.0, 3.0])
    array([1., 3.])
    """
    return take(a, flatnonzero(condition), axis, out)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """The elements where the condition is true, in one vector.

    >>> extract([True, False, True], [1.0, 2.0, 3.0])
    array([1., 3.])
    """
    return take(arr, flatnonzero(condition))


argwhere = implements(np.argwhere)(
    nondifferentiable(
        "argwhere",
        np.argwhere,
        spec=data_dependent_shape("the list of indices of nonzero elements"),
        cases=(case((3, 2)), case(())),
        reason="the result is a list of integer indices",
    )
)


@implements(np.nonzero)
def nonzero(a: Any, /) -> tuple:
    """The indices of the elements that are not zero, an array for each axis; no gradient flows through them.

    >>> nonzero([0.0, 3.0, 4.0])
    (array([1, 2]),)
    """
    a = as_operand(a)
    if a.ndim == 0:
        raise user_error(
            ValueError, "Calling nonzero on 0d arrays is not allowed", "Use np.atleast_1d(scalar).nonzero() instead."
        )
    rows = argwhere(a)
    return tuple([getitem(rows, (slice(None), i)) for i in range(a.ndim)])


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    """The indices of the elements that are not zero, in the flattened array.

    >>> flatnonzero([[0, 3], [4, 0]])
    array([1, 2])
    """
    return nonzero(reshape(as_operand(a), (-1,)))[0]


@implements(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice for the first condition that is true, element by element.

    >>> select([[True, False], [True, True]], [[1, 2], [3, 4]])
    array([1, 4])
    """
    if len(condlist) != len(choicelist):
        raise user_error(ValueError, "List of cases must be same length as list of conditions")
    if not condlist:
        raise user_error(ValueError, "Select with an empty condition list is not possible")
    for i, condition in enumerate(condlist):
        if as_operand(condition).dtype.kind != "b":
            raise user_error(TypeError, f"Invalid entry {i} in condlist: should be boolean ndarray")
    out = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        out = where(condition, choice, out)
    return out


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """One function (or number) for each condition, called on the part of x where it is true.

    The last one, if left over, elsewhere.

    >>> piecewise(np.array([-1.0, 2.0]), [np.array([True, False])], [0.0, lambda x: x**2])
    array([0., 4.])
    """
    x = as_operand(x)
    if np.isscalar(condlist) or (x.ndim and not as_operand(condlist[0]).ndim):
        condlist = [condlist]
    conditions = [astype(as_operand(c), bool) for c in condlist]
    if len(funclist) == len(conditions) + 1:
        anywhere = conditions[0]
        for condition in conditions[1:]:
            anywhere = logical_or(anywhere, condition)
        conditions.append(logical_not(anywhere))
    if len(funclist) != len(conditions):
        raise user_error(
            ValueError,
            f"With {len(condlist)} condition(s), either {len(condlist)} or {len(condlist) + 1} functions are expected",
        )
    out = zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            out = set_at(out, condition, function)
        elif (part := getitem(x, condition)).size:
            out = set_at(out, condition, function(part, *args, **kw))
    return out


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write at indices of the flattened array, in place; v is repeated as often as needed.

    >>> x = np.zeros(3)
    >>> put(x, [0, 2], [1.0, 2.0])
    >>> x
    array([1., 0., 2.])
    """
    ind = reshape(_within(ind, a.size, mode), (-1,))
    if ind.size and as_operand(v).size:
        a[...] = reshape(set_at(reshape(a, (-1,)), ind, _cycle(v, ind.size)), a.shape)


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write the first values, repeated as often as needed, where the mask is true, in place.

    >>> x = np.zeros(3)
    >>> place(x, [True, False, True], [1.0, 2.0])
    >>> x
    array([1., 0., 2.])
    """
    key = reshape(astype(as_operand(mask), bool), arr.shape)
    count = getitem(arr, key).size
    if count and not as_operand(vals).size:
        raise user_error(ValueError, "Cannot insert from an empty array")
    if count:
        arr[key] = _cycle(vals, count)


@implements(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write, where the mask is true, the value at the same index, in place.

    Values are repeated as often as needed.

    >>> x = np.zeros(3)
    >>> putmask(x, [True, False, True], [1.0, 2.0, 3.0])
    >>> x
    array([1., 0., 3.])
    """
    if a.size and as_operand(values).size:
        a[...] = where(reshape(as_operand(mask), a.shape), reshape(_cycle(values, a.size), a.shape), a)


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write src, broadcast, into dst where a mask is true, in place.

    >>> x = np.zeros(3)
    >>> copyto(x, 1.0, where=[True, False, True])
    >>> x
    array([1., 0., 1.])
    """
    src = as_operand(src)
    if not np.can_cast(src.dtype, dst.dtype, casting):  # type: ignore[arg-type]  # any casting rule, checked by NumPy
        raise user_error(
            TypeError, f"Cannot cast array data from {src.dtype!r} to {dst.dtype!r} according to the rule {casting!r}"
        )
    if where is True:
        dst[...] = src
    else:
        mask = broadcast_to(as_operand(where), dst.shape)
        dst[mask] = getitem(broadcast_to(src, dst.shape), mask)


def _cycle(v: Any, count: int) -> Any:
    """The first `count` elements of v, repeated as often as needed."""
    v = reshape(as_operand(v), (-1,))
    return v if v.size == count else getitem(v, np.arange(count) % v.size)


class Flat:
    """`x.flat`: the elements in one row, to read, to iterate over, and to assign to, which changes x."""

    __slots__ = ("x",)

    def __init__(self, x: Any):
        self.x = x

    def __len__(self) -> int:
        return self.x.size

    def __iter__(self) -> Iterator:
        return iter(unstack(reshape(self.x, (-1,))))

    def __getitem__(self, key: Any) -> Any:
        return getitem(reshape(self.x, (-1,)), key)

    def __setitem__(self, key: Any, v: Any) -> None:
        indices = np.arange(self.x.size)[key]
        if indices.size:
            put(self.x, indices, v)


describe(
    {
        argwhere: "The indices of the elements that are not 0, one row for each. "
        ">>> argwhere([[0, 3], [4, 0]]).tolist() -> [[0, 1], [1, 0]]"
    }
)
