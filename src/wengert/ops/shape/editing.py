"""Arrays with parts inserted, deleted or replaced, and arrays made of blocks or by a function of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from wengert.core.array import Array, implements
from wengert.core.errors import TrackedValueError, refuse_out, user_error
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import remainder
from wengert.ops.elementwise.choices import clip
from wengert.ops.elementwise.predicates import less, logical_or
from wengert.ops.indexing.index_arrays import known_numbers
from wengert.ops.indexing.subscripts import getitem
from wengert.ops.indexing.taking import argwhere, put, take, take_along_axis
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import stack, unstack
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import (
    broadcast_arrays,
    broadcast_to,
    expand_dims,
    extents,
    moveaxis,
    ravel,
    reshape,
    transpose,
)

__all__ = [
    "append", "apply_along_axis", "apply_over_axes", "block", "choose", "delete", "fill_diagonal", "insert", "resize",
    "rollaxis", "trim_zeros",
]  # fmt: skip

# Elements inserted and deleted


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Values appended to an array, along an axis or flattened.

    >>> append([1, 2], [[3], [4]])
    array([1, 2, 3, 4])
    """
    return concatenate([as_operand(arr), as_operand(values)], axis)


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """An array with values inserted before the indices `obj`, along an axis or flattened.

    >>> insert([1.0, 2.0, 3.0], [1, 3], [8.0, 9.0])
    array([1., 8., 2., 3., 9.])
    """
    arr, axis = _line(arr, axis)
    values = numpy_of(arr).asarray(values) if isinstance(values, int | float | complex) else as_operand(values)
    indices, n = _plain_indices(obj), arr.shape[axis]
    if isinstance(values, Array) and values.dtype.kind in "fc" and arr.dtype.kind not in "fc":
        raise user_error(
            TypeError,
            f"A {values.dtype} value put into an array of dtype {arr.dtype} would be rounded and lose its gradient",
            "Make the array floating-point first: x = x.astype(float).",
        )
    count = np.insert(np.arange(n), indices, 0).size - n
    if count == 1:  # then as many as there are values
        values = reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape)
        values = values if np.ndim(indices) or isinstance(indices, slice) else moveaxis(values, 0, axis)
        count = values.shape[axis]
    new = broadcast_to(astype(values, arr.dtype, copy=False), (*arr.shape[:axis], count, *arr.shape[axis + 1 :]))
    order = np.insert(np.arange(n), indices, np.arange(n, n + count))
    return take(concatenate([arr, new], axis), order, axis)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """An array without the elements at the indices `obj`, along an axis or flattened.

    >>> delete([1.0, 2.0, 3.0], 1)
    array([1., 3.])
    """
    arr, axis = _line(arr, axis)
    return take(arr, np.delete(np.arange(arr.shape[axis]), _plain_indices(obj)), axis)


def _line(arr: Any, axis: int | None) -> tuple[Any, int]:
    arr = as_operand(arr)
    return (ravel(arr), 0) if axis is None else (arr, normalize_axis_index(axis, arr.ndim))


def _plain_indices(obj: Any) -> Any:
    return (
        known_numbers(obj, "The shape of an array with elements inserted or deleted") if isinstance(obj, Array) else obj
    )


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """An array of another size, with the elements of the old one repeated as often as needed.

    >>> resize([1, 2], 5)
    array([1, 2, 1, 2, 1])
    """
    flat, shape = ravel(as_operand(a)), extents(new_shape)
    if any(n < 0 for n in shape):
        raise user_error(ValueError, f"all elements of `new_shape` must be non-negative, and it is {shape}")
    size = prod(shape)
    if not flat.size:
        return numpy_of(flat).zeros(shape, flat.dtype)
    return reshape(getitem(flat, np.arange(size) % flat.size), shape)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Any:
    """An array without the zeros at its front, its back, or both, along all axes or the given ones.

    >>> trim_zeros([0, 1, 2, 0])
    [1, 2]
    """
    x, sides = as_operand(filt), trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise user_error(ValueError, f"`trim` is 'f', 'b' or 'fb', and not {trim!r}")
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    indices = known_numbers(argwhere(x), "The shape of what trim_zeros leaves")
    key = [slice(None)] * x.ndim
    for i in axes:
        first, last = (indices[:, i].min(), indices[:, i].max() + 1) if len(indices) else (0, 0)
        key[i] = slice(
            int(first) if "f" in sides or not len(indices) else None,
            int(last) if "b" in sides or not len(indices) else None,
        )
    return filt[key[0]] if isinstance(filt, list | tuple) and len(key) == 1 else getitem(x, tuple(key))


# Blocks


@implements(np.block)
def block(arrays: Any) -> Any:
    """An array of blocks, given as nested lists.

    The innermost lists are joined along the last axis, those around them along the one before, and so on.

    >>> block([[np.eye(2), np.zeros((2, 1))], [1.0, 2.0, 3.0]])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 2., 3.]])
    """
    depth, ndim = _depth(arrays)
    ndim = max(depth, ndim)

    def join(part: Any, level: int) -> Any:
        if isinstance(part, list):
            return concatenate([join(p, level - 1) for p in part], -level)
        x = as_operand(part)
        return reshape(x, (1,) * (ndim - x.ndim) + x.shape)

    whole = join(arrays, depth)
    return whole if depth else whole.copy()


def _depth(part: Any) -> tuple[int, int]:
    """The depth of the nested lists, which must be the same everywhere, and the largest number of axes of a block."""
    if isinstance(part, tuple):
        raise user_error(TypeError, "block takes lists of blocks, and got a tuple", "Write [...] instead of (...).")
    if not isinstance(part, list):
        return 0, as_operand(part).ndim
    inside = [_depth(p) for p in part]
    if len({depth for depth, _ in inside}) != 1:
        raise user_error(ValueError, f"The lists of block are {('empty' if not inside else 'not nested equally deep')}")
    return inside[0][0] + 1, max(ndim for _, ndim in inside)


# Choices and axes


@implements(np.choose)
def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """Elements chosen from several arrays: a holds the number of the array for each element.

    >>> choose([0, 1, 0], [[1.0, 2.0, 3.0], 9.0])
    array([1., 9., 3.])
    """
    refuse_out(out)
    choices = [as_operand(c) for c in (unstack(choices) if isinstance(choices, Array) else choices)]
    number, *choices = broadcast_arrays(as_operand(a), *choices)
    if number.dtype.kind not in "iub":
        raise user_error(TypeError, f"choose needs integers to choose by, and got {number.dtype}")
    number = astype(number, np.intp, copy=False)
    if mode == "raise":
        _refuse_outside(number, len(choices))
    elif mode not in ("wrap", "clip"):
        raise user_error(ValueError, f"mode must be 'raise', 'wrap' or 'clip', not {mode!r}")
    else:
        number = remainder(number, len(choices)) if mode == "wrap" else clip(number, 0, len(choices) - 1)
    return take_along_axis(stack(choices), expand_dims(number, 0), 0)[0]


def _refuse_outside(number: Any, n: int) -> None:
    try:
        outside = bool(logical_or(less(number, 0), less(n - 1, number)).any())
    except TrackedValueError:  # the numbers are not known
        return
    if outside:
        raise user_error(
            ValueError,
            f"There are {n} choices, numbered from 0, and another one is chosen",
            "Use mode='wrap' or 'clip'.",
        )


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write to the main diagonal, in place; with `wrap`, it starts again below itself in a tall matrix.

    >>> x = np.zeros((2, 2))
    >>> fill_diagonal(x, 5.0)
    >>> x.tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """
    if a.ndim < 2:
        raise user_error(ValueError, f"fill_diagonal needs at least two axes, and got shape {a.shape}")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise user_error(
            ValueError, f"fill_diagonal of more than two axes needs them equally long, and got shape {a.shape}"
        )
    step = sum(prod(a.shape[i:]) for i in range(1, a.ndim)) + 1
    end = a.size if wrap or a.ndim > 2 else a.shape[1] * a.shape[1]
    put(a, np.arange(0, min(end, a.size), step), val)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """An axis moved in front of the axis `start`; `moveaxis` is easier to read.

    >>> rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = as_operand(a)
    axis = normalize_axis_index(axis, a.ndim)
    if not -a.ndim <= start <= a.ndim:
        raise user_error(np.exceptions.AxisError, f"`start` must be between {-a.ndim} and {a.ndim}, and is {start}")
    start += a.ndim if start < 0 else 0
    axes = [i for i in range(a.ndim) if i != axis]
    axes.insert(start - (axis < start), axis)
    return transpose(a, axes)


# Functions of lines


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The results of a function of each row along an axis, in place of the rows; `wg.vmap` calls it once for all.

    >>> apply_along_axis(lambda line: line[:2] * 10, 0, np.eye(3)).tolist()
    [[10.0, 0.0, 0.0], [0.0, 10.0, 0.0]]
    """
    arr = as_operand(arr)
    axis = normalize_axis_index(axis, arr.ndim)
    lines = moveaxis(arr, axis, -1)
    if not prod(lines.shape[:-1]):
        raise user_error(ValueError, f"Cannot apply_along_axis when any iteration dimensions are 0, as in {arr.shape}")
    results = [as_operand(func1d(line, *args, **kwargs)) for line in unstack(reshape(lines, (-1, lines.shape[-1])))]
    inner = results[0].shape
    whole = reshape(stack(results), (*lines.shape[:-1], *inner))
    return moveaxis(whole, range(arr.ndim - 1, whole.ndim), range(axis, axis + len(inner)))


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable, a: Any, axes: Any) -> Any:
    """A function of an array and an axis, such as `sum`, applied for one axis after the other.

    The axes stay, of length one.

    >>> apply_over_axes(np.sum, np.ones((2, 3)), [0, 1])
    array([[6.]])
    """
    value = as_operand(a)
    ndim = value.ndim
    for axis in extents(axes):
        axis = normalize_axis_index(index(axis), ndim)
        result = as_operand(func(value, axis))
        value = result if result.ndim == ndim else expand_dims(result, axis)
        if value.ndim != ndim:
            raise user_error(
                ValueError, f"A function for apply_over_axes keeps an axis or sums over it; it gave {result.shape}"
            )
    return value
