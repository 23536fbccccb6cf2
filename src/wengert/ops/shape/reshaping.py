"""Operations that change the shape: reshape, transpose, broadcast.

Each is linear, and its transpose moves the numbers back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from operator import index
from typing import Any, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from wengert.core import machine
from wengert.core.array import Array, implements
from wengert.core.errors import user_error
from wengert.core.facts import VIEW
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.kinds import case, linear, shift_axes
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "expand_dims", "matrix_transpose", "moveaxis",
    "permute_dims", "ravel", "reshape", "squeeze", "swapaxes", "transpose",
]  # fmt: skip

Axes = int | Sequence[int]


def _with_axes(x: Any, axis: tuple[int, ...]) -> Any:
    x = as_operand(x)
    shape = list(x.shape)
    for i in sorted(axis):
        shape.insert(i, 1)
    return x.reshape(shape)


def _stretch(x: Any, shape: tuple[int, ...]) -> np.ndarray:
    """`np.broadcast_to`; a few numbers are copied, which is faster than a view."""
    if math.prod(shape) > machine.current.max_elements_of_copied_broadcast or np.ndim(x) > len(shape):
        return np.broadcast_to(x, shape)
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


_reshape: Callable = linear(
    "reshape",
    lambda x, shape: x.reshape(shape),
    lambda t, x_spec: _reshape(t, shape=x_spec.shape),
    batch=lambda shape, n: {"shape": (n, *shape)},
    cases=(
        case((2, 3), shape=(6,)),
        case((), shape=(1, 1)),
        case((2, 0), shape=(0, 3)),
        case((2, 3, 4), shape=(4, 1, 6)),
    ),
    facts=VIEW,
)
_expand_dims = linear(
    "expand_dims",
    _with_axes,
    lambda t, x_spec: _reshape(t, shape=x_spec.shape),
    batch=shift_axes,
    cases=(case((2, 3), axis=(1,)), case((), axis=(0, 1)), case((2, 3), axis=(3, 0))),
    facts=VIEW,
)
_transpose: Callable = linear(
    "transpose",
    lambda x, axes: x.transpose(axes),
    lambda t, axes: _transpose(t, axes=tuple(map(axes.index, range(len(axes))))),
    batch=lambda axes: {"axes": (0, *[i + 1 for i in axes])},
    spec=lambda x, axes: Spec(tuple([x.shape[i] for i in axes]), x.dtype),
    cases=(case((2, 3), axes=(1, 0)), case((), axes=()), case((2, 0), axes=(1, 0)), case((2, 3, 4), axes=(1, 2, 0))),
    facts=VIEW,
)
_broadcast_to = linear(
    "broadcast_to",
    _stretch,
    lambda t: t,
    conforms=True,
    cases=(case((1, 3), shape=(2, 2, 3)), case((), shape=(2, 3)), case((3, 1), shape=(3, 0)), case((2,), shape=(2,))),
    facts=VIEW,
)


def extents(shape: Any) -> tuple[int, ...]:
    """A shape, or one length, as a tuple of Python integers."""
    return tuple(map(index, shape)) if np.iterable(shape) else (index(shape),)


@implements(np.reshape)
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Any:
    """The same numbers in another shape; one length may be -1.

    `copy` is for plain arrays: the numbers of a value are never overwritten.

    >>> reshape([[1, 2], [3, 4]], -1, order="F").tolist()
    [1, 3, 2, 4]
    """
    if order not in ("C", "F"):
        raise user_error(
            ValueError, f"order={order!r} depends on how an array lies in memory", "Use order='C' or order='F'."
        )
    a, shape = as_operand(a), extents(shape)
    if not isinstance(a, Array) and copy is not None:
        return np.reshape(a, shape, order, copy=copy)
    if order == "F":
        return transpose(reshape(transpose(a), shape[::-1]))
    if -1 in shape:
        rest = -prod(shape)
        if rest > 0 and a.size % rest == 0:
            shape = tuple(a.size // rest if n == -1 else n for n in shape)
    return _reshape(a, shape=shape)


@implements(np.ravel)
def ravel(a: Any, order: Any = "C") -> Any:
    """The elements of an array in one vector.

    >>> ravel([[1, 2], [3, 4]])
    array([1, 2, 3, 4])
    """
    return reshape(a, -1, order)


def along(a: Any, axis: int | None) -> tuple[Any, int]:
    """An array and one of its axes; flattened if the axis is None or the array is a single number."""
    a = as_operand(a)
    axis = None if axis is None else normalize_axis_index(axis, a.ndim or 1)
    return (ravel(a), 0) if axis is None or not a.ndim else (a, axis)


@implements(np.squeeze)
def squeeze(a: Any, /, axis: Axes | None = None, **foreign: Never) -> Any:
    """An array without its axes of length one, all or the given ones.

    >>> squeeze([[1.0, 2.0]])
    array([1., 2.])
    """
    if foreign:
        refuse_keywords(foreign)
    a = as_operand(a)
    if axis is None:
        return _reshape(a, shape=tuple(n for n in a.shape if n != 1))
    if not a.ndim and axis in (0, -1):
        return a
    axes = normalize_axis_tuple(axis, a.ndim)
    if any(a.shape[i] != 1 for i in axes):
        raise user_error(
            ValueError, f"Cannot squeeze the axes {axes} out of the shape {a.shape}", "Only axes of length 1 can go."
        )
    return _reshape(a, shape=tuple(n for i, n in enumerate(a.shape) if i not in axes))


@implements(np.expand_dims)
def expand_dims(a: Any, /, axis: Axes = 0, **foreign: Never) -> Any:
    """An array with new axes of length one.

    >>> expand_dims([1.0, 2.0], 0).shape
    (1, 2)
    """
    if foreign:
        refuse_keywords(foreign)
    if isinstance(axis, int) and -3 < axis < 0 and a.__class__ is np.ndarray and a.ndim:  # much faster than to reshape
        return a[..., None] if axis == -1 else a[..., None, :]
    a = as_operand(a)
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    return _expand_dims(a, axis=normalize_axis_tuple(axes, a.ndim + len(axes)))


@implements(np.transpose)
def transpose(a: Any, /, axes: Sequence[int] | None = None) -> Any:
    """An array with its axes in another order, reversed if none is given.

    >>> transpose([[1, 2], [3, 4]]).tolist()
    [[1, 3], [2, 4]]
    """
    a = as_operand(a)
    if axes is None:
        return _transpose(a, axes=tuple(range(a.ndim))[::-1])
    if len(axes) != a.ndim:
        raise user_error(
            ValueError, f"axes={tuple(axes)} do not match an array of shape {a.shape}", "Name each axis once."
        )
    return _transpose(a, axes=normalize_axis_tuple(axes, a.ndim))


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged.

    >>> matrix_transpose([[1, 2], [3, 4]]).tolist()
    [[1, 3], [2, 4]]
    """
    x = as_operand(x)
    if x.ndim < 2:
        raise user_error(ValueError, f"matrix_transpose needs at least two axes, got the shape {x.shape}")
    return swapaxes(x, -1, -2)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int, **foreign: Never) -> Any:
    """An array with two axes exchanged.

    >>> swapaxes([[1, 2], [3, 4]], 0, 1).tolist()
    [[1, 3], [2, 4]]
    """
    if foreign:
        refuse_keywords(foreign)
    a = as_operand(a)
    axes = list(range(a.ndim))
    i, j = normalize_axis_index(axis1, a.ndim), normalize_axis_index(axis2, a.ndim)
    axes[i], axes[j] = j, i
    return _transpose(a, axes=tuple(axes))


@implements(np.moveaxis)
def moveaxis(a: Any, /, source: Axes, destination: Axes) -> Any:
    """An array with some axes moved to other positions.

    >>> moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = as_operand(a)
    sources = normalize_axis_tuple(source, a.ndim, "source")
    targets = normalize_axis_tuple(destination, a.ndim, "destination")
    if len(sources) != len(targets):
        raise user_error(ValueError, "`source` and `destination` arguments must have the same number of elements")
    axes = [i for i in range(a.ndim) if i not in sources]
    for target, i in sorted(zip(targets, sources, strict=True)):
        axes.insert(target, i)
    return _transpose(a, axes=tuple(axes))


@implements(np.broadcast_to)
def broadcast_to(array: Any, /, shape: Any, subok: bool = False) -> Any:
    """An array broadcast to a shape.

    >>> broadcast_to([1, 2], (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return _broadcast_to(as_operand(array), shape=extents(shape))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a result of operations on arrays of these shapes.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return np.broadcast_shapes(*shapes)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple:
    """Arrays broadcast to their common shape.

    >>> [x.tolist() for x in broadcast_arrays([1, 2], [[3], [4]])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    arrays = [as_operand(a) for a in args]
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    return tuple(_broadcast_to(a, shape=shape) for a in arrays)


# Other names

permute_dims = transpose
