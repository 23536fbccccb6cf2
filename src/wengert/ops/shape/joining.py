"""Arrays made of several others, or of one many times over: stacked, tiled, padded, filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import mul
from typing import Any, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert.core.array import Array, implements
from wengert.core.errors import refuse_out, user_error
from wengert.core.facts import MOVES, PART, Facts
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.infer import example_of
from wengert.core.kinds import case, linear, nondifferentiable, shift_axis
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.shape.casting import astype, cast, to
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import broadcast_arrays, broadcast_to, extents, reshape

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "column_stack", "dstack", "empty_like", "full_like", "hstack", "kron",
    "meshgrid", "ones_like", "pad", "stack", "tile", "unstack", "vstack", "zeros_like",
]  # fmt: skip


def _unstack_impl(x: Any, axis: int) -> tuple:
    lead = (slice(None),) * axis
    return tuple(x[(*lead, i)] for i in range(x.shape[axis]))


def _fill_slices(slices: Sequence[Any], whole: Spec, axis: int) -> list:
    """The cotangents of all slices, zeros for those without one."""
    shape = whole.shape[:axis] + whole.shape[axis + 1 :]
    xp = numpy_of(*slices)
    return [xp.zeros(shape, whole.dtype) if t is None else t for t in slices]


def _inside(widths: tuple[tuple[int, int], ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(before, before + n) for (before, _), n in zip(widths, shape, strict=True))


def _padded_shape(shape: tuple[int, ...], widths: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    return tuple([before + n + after for (before, after), n in zip(widths, shape, strict=True)])


def _in_zeros(x: Any, pad_width: tuple[tuple[int, int], ...]) -> np.ndarray:
    padded = np.zeros(_padded_shape(x.shape, pad_width), x.dtype)
    padded[_inside(pad_width, x.shape)] = x
    return padded


def _stacked(*arrays: Spec, axis: int) -> Spec:
    """The spec of a stack; where shapes do not fit, NumPy's error."""
    examples = list(map(example_of, arrays))
    shape, *others = {x.shape for x in examples}
    if others:
        return Spec.of(np.stack(examples, axis))
    axis = normalize_axis_index(axis, len(shape) + 1)
    return Spec((*shape[:axis], len(arrays), *shape[axis:]), np.result_type(*[x.dtype for x in arrays]))


_stack = linear(
    "stack",
    lambda *arrays, axis: np.stack(arrays, axis),
    inputs=("*arrays",),
    vjp=lambda t, axis: _unstack(t, axis=axis),
    batch=shift_axis,
    spec=_stacked,
    cases=(case((2, 3), (2, 3), axis=0), case((), (), (), axis=0), case((2, 3), axis=2), case((0,), (0,), axis=1)),
    facts=MOVES,
)
_unstack: Callable = linear(
    "unstack",
    _unstack_impl,
    lambda t, x_spec, axis: _stack(*_fill_slices(t, x_spec, axis), axis=axis),
    outputs=0,  # as many as there are slices
    batch=shift_axis,
    cases=(case((3, 2), axis=0), case((2, 3), axis=1), case((2,), axis=0)),
    facts=PART,
)
_pad = linear(
    "pad",
    _in_zeros,
    lambda t, x_spec, pad_width: t[_inside(pad_width, x_spec.shape)],
    batch=lambda pad_width: {"pad_width": ((0, 0), *pad_width)},
    spec=lambda x, pad_width: Spec(_padded_shape(example_of(x).shape, pad_width), x.dtype),
    cases=(case((2, 3), pad_width=((1, 0), (2, 3))), case((), pad_width=()), case((0,), pad_width=((1, 2),))),
    facts=MOVES,
)
_full_like = nondifferentiable(
    "full_like",
    lambda x, fill_value, dtype, order, shape: np.full_like(x, fill_value, dtype=dtype, order=order, shape=shape),
    2,
    inputs=("x", "fill_value"),
    takes_params=True,
    cases=(case((2, 3), (), dtype=None, order="K", shape=None), case((), (3,), dtype=None, order="K", shape=(2, 3))),
    reason="the result has the shape and dtype of x, and none of its numbers",
    filled_in=True,
    facts=Facts(moves=True, cost=1, exact=True),
)


def _at_least(arys: tuple, ndim: int, shape: Any) -> Any:
    arrays = tuple(a if a.ndim >= ndim else reshape(a, shape(a.shape)) for a in map(as_operand, arys))
    return arrays[0] if len(arrays) == 1 else arrays


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one axis.

    >>> atleast_1d(3.0)
    array([3.])
    """
    return _at_least(arys, 1, lambda shape: (1,))


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two axes; new ones are in front.

    >>> atleast_2d([1.0, 2.0]).shape
    (1, 2)
    """
    return _at_least(arys, 2, lambda shape: (1,) * (2 - len(shape)) + shape)


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    """Arrays with at least three axes; a vector becomes the middle one.

    >>> atleast_3d([1.0, 2.0]).shape
    (1, 2, 1)
    """
    return _at_least(arys, 3, lambda shape: (*((1,) * (2 - len(shape)) + shape), 1))


@implements(np.stack)
def stack(
    arrays: Any, /, axis: int = 0, out: None = None, *, dtype: Any = None, casting: Any = "same_kind", **foreign: Never
) -> Any:
    """Join arrays of one shape along a new axis.

    >>> stack([[1, 2], [3, 4]], axis=1).tolist()
    [[1, 3], [2, 4]]
    """
    if foreign:
        refuse_keywords(foreign)
    refuse_out(out)
    parts = [as_operand(a) for a in arrays]
    if not parts:
        raise user_error(ValueError, "Need at least one array to stack")
    if dtype is not None:
        parts = [cast(a, dtype, casting) for a in parts]
    return _stack(*parts, axis=normalize_axis_index(axis, parts[0].ndim + 1))


@implements(np.unstack)
def unstack(x: Any, /, *, axis: int = 0, **foreign: Never) -> tuple:
    """The slices of an array along an axis, as a tuple.

    >>> unstack([[1, 2], [3, 4]])
    (array([1, 2]), array([3, 4]))
    """
    if foreign:
        refuse_keywords(foreign)
    x = as_operand(x)
    return _unstack(x, axis=normalize_axis_index(axis, x.ndim))


def _each_array(at_least: Any, tup: Any) -> list:
    return [at_least(a) for a in tup]


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Arrays joined along the first axis; vectors become rows.

    >>> vstack([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return concatenate(_each_array(atleast_2d, tup), 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """Arrays joined along the second axis, vectors along their only one.

    >>> hstack([[1, 2], [3]])
    array([1, 2, 3])
    """
    parts = _each_array(atleast_1d, tup)
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    """Arrays joined along a third axis.

    >>> dstack([[1, 2], [3, 4]]).shape
    (1, 2, 2)
    """
    return concatenate(_each_array(atleast_3d, tup), 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix, or matrices side by side.

    >>> column_stack([[1, 2], [3, 4]]).tolist()
    [[1, 3], [2, 4]]
    """
    return concatenate([a if a.ndim > 1 else reshape(a, (-1, 1)) for a in map(as_operand, tup)], 1)


def _interleave(outer: tuple[int, ...], inner: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for pair in zip(outer, inner, strict=True) for n in pair)


def _leading_ones(shape: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return (1,) * (ndim - len(shape)) + shape


@implements(np.tile)
def tile(A: Any, /, reps: Any) -> Any:
    """An array repeated along its axes.

    >>> tile([1, 2], 2)
    array([1, 2, 1, 2])
    """
    A, reps = as_operand(A), extents(reps)
    ndim = max(A.ndim, len(reps))
    shape, reps = _leading_ones(A.shape, ndim), _leading_ones(reps, ndim)
    blocks = broadcast_to(reshape(A, _interleave((1,) * ndim, shape)), _interleave(reps, shape))
    return reshape(blocks, tuple(map(mul, reps, shape)))


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: every element of `a` times the whole of `b`.

    >>> kron([1, 10], [[1, 2]]).tolist()
    [[1, 2, 10, 20]]
    """
    a, b = as_operand(a), as_operand(b)
    ndim = max(a.ndim, b.ndim)
    outer, inner = _leading_ones(a.shape, ndim), _leading_ones(b.shape, ndim)
    ones = (1,) * ndim
    blocks = multiply(reshape(a, _interleave(outer, ones)), reshape(b, _interleave(ones, inner)))
    return reshape(blocks, tuple(map(mul, outer, inner)))


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple:
    """The coordinates of the points of a grid, an array for each axis.

    >>> [x.tolist() for x in meshgrid([1, 2], [3, 4])]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    if indexing not in ("xy", "ij"):
        raise user_error(ValueError, "Valid values for `indexing` are 'xy' and 'ij'")
    axes = list(range(len(xi)))
    if indexing == "xy":
        axes[:2] = axes[:2][::-1]
    ones = (1,) * len(xi)
    grids = tuple(reshape(x, (*ones[:i], -1, *ones[i + 1 :])) for i, x in zip(axes, map(as_operand, xi), strict=True))
    return grids if sparse else broadcast_arrays(*grids)


STATISTICS: dict[str, Callable] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """An array with a border: zeros (also for mode="empty"), other constants, or a continuation of its elements.

    >>> pad([1, 2, 3], (2, 1), mode="reflect").tolist()
    [3, 2, 1, 2, 3, 2]
    """
    array = as_operand(array)
    if not isinstance(array, Array):
        return np.pad(array, pad_width, mode, **kwargs)
    if callable(mode) or kwargs.get("reflect_type", "even") != "even":
        what = "a function as mode" if callable(mode) else "reflect_type='odd'"
        raise user_error(NotImplementedError, f"pad has no derivative for {what}", "Build the border with concatenate.")
    np.pad(np.ones((1,) * array.ndim), 0, mode, **kwargs)  # NumPy's own errors for wrong options
    widths = _pad_widths(pad_width, array.ndim)
    if mode == "empty" or (mode == "constant" and not np.any(kwargs.get("constant_values", 0))):
        return _pad(array, pad_width=widths)
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        if not array.shape[axis] and mode != "constant":
            raise user_error(ValueError, f"Can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        if mode in ("edge", "reflect", "symmetric", "wrap"):
            array = array[(*(slice(None),) * axis, np.pad(np.arange(array.shape[axis]), (before, after), mode))]
        else:
            border = [_border(array, axis, width, side, mode, kwargs) for side, width in enumerate((before, after))]
            array = concatenate([border[0], array, border[1]], axis)
    return array


def _pad_widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, dict):
        by_axis = {normalize_axis_index(axis, ndim): width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(by_axis.get(i, 0), 2) for i in range(ndim)] or 0
    pad_width = np.asarray(pad_width)
    if pad_width.dtype.kind != "i":
        raise user_error(TypeError, "`pad_width` must be of integral type")
    if (pad_width < 0).any():
        raise user_error(ValueError, "Index can't contain negative values")
    return tuple(map(tuple, np.broadcast_to(pad_width, (ndim, 2)).tolist()))


def _border(array: Any, axis: int, width: int, side: int, mode: str, options: dict[str, Any]) -> Any:
    """The padding before (side 0) or after (side 1) the elements along an axis, if it is computed, not copied."""
    lead, length, trail = array.shape[:axis], array.shape[axis], array.shape[axis + 1 :]
    shape = (*lead, width, *trail)

    def option(name: str, default: Any) -> Any:
        return np.broadcast_to(np.asarray(options.get(name, default)), (array.ndim, 2))[axis, side]

    def entries(number: int) -> Any:
        return array[(*(slice(None),) * axis, slice(number) if side == 0 else slice(length - number, None))]

    if mode == "constant":
        return full_like(array, option("constant_values", 0), shape=shape)
    if mode == "linear_ramp":
        ramp = numpy_of(array).arange(width) / max(width, 1)
        ramp = (ramp if side == 0 else ramp[::-1]).reshape(-1, *(1,) * len(trail))
        if array.dtype.kind in "fc":
            ramp = ramp.astype(array.dtype)
        border = entries(1) * ramp + option("end_values", 0) * (1 - ramp)
    else:
        number = option("stat_length", None)
        chosen = entries(length if number is None else min(int(number), length))
        border = broadcast_to(STATISTICS[mode](chosen, axis=axis, keepdims=True), shape)
    if array.dtype.kind in "iu":
        border = (np.floor if mode == "linear_ramp" else np.rint)(border)
    return astype(border, array.dtype)


@implements(np.full_like)
def full_like(
    a: Any,
    /,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """An array like `a`, filled with a number. A gradient flows to `fill_value`, none to `a`.

    >>> full_like([[1.0, 2.0]], 7).tolist()
    [[7.0, 7.0]]
    """
    a, fill_value = as_operand(a), as_operand(fill_value)
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    shape = a.shape if shape is None else extents(shape)
    made = (
        broadcast_to(astype(fill_value, dtype), shape)
        if isinstance(fill_value, Array)
        else _full_like(a, fill_value, dtype=dtype, order=order, shape=shape)
    )
    return made if device is None else to(made, device)


@implements(np.zeros_like)
def zeros_like(
    a: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """An array of zeros with the shape and dtype of another.

    >>> zeros_like([1.0, 2.0])
    array([0., 0.])
    """
    return full_like(a, 0, dtype, order, subok, shape, device=device)


@implements(np.ones_like)
def ones_like(
    a: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """An array of ones with the shape and dtype of another.

    >>> ones_like([1.0, 2.0])
    array([1., 1.])
    """
    return full_like(a, 1, dtype, order, subok, shape, device=device)


@implements(np.empty_like)
def empty_like(
    prototype: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    """An array like `prototype`. Its numbers are zeros, so that a program gives the same result each time.

    >>> empty_like([1.0, 2.0])
    array([0., 0.])
    """
    return full_like(prototype, 0, dtype, order, subok, shape, device=device)
