"""Reductions, along any axes.

The rule of a `reduction` sees the cotangent and the output with the reduced axes put back, so it is written as for one element.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from wengert.core.array import UFUNC_METHODS, implements
from wengert.core.errors import user_line
from wengert.core.kinds import case, linear, nondifferentiable, reduction
from wengert.core.primitive import operand
from wengert.ops.elementwise import absolute, exp, sqrt, square, where
from wengert.ops.predicates import STEPS, TRUTH, isfinite, isnan
from wengert.ops.shape import astype, broadcast_to, expand_dims, moveaxis, reshape

Axis = int | tuple[int, ...] | None

CASES = (
    case((2, 3), axis=(0,), keepdims=False),
    case((2, 3, 2), axis=(0, 2), keepdims=False),
    case((2, 3), axis=(0, 1), keepdims=True),
    case((), axis=(), keepdims=False),
)
EMPTY = case((0, 3), axis=(0,), keepdims=False)


def axes_of(x: Any, axis: Axis) -> tuple[int, ...]:
    """The reduced axes as a sorted tuple of non-negative numbers."""
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(sorted(normalize_axis_tuple(axis, x.ndim)))


def count_along(x: Any, axes: tuple[int, ...]) -> int:
    """The number of elements that are reduced to one."""
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return count


# Sums and means. A sum of integers, or with a dtype, is promoted first, as NumPy does.


def _stretch(t: Any, shape: tuple[int, ...], axis: tuple[int, ...], keepdims: bool) -> Any:
    return broadcast_to(t if keepdims or not axis else expand_dims(t, axis), shape)


_sum = linear(
    "sum",
    lambda x, axis, keepdims: np.add.reduce(x, axis, keepdims=keepdims),
    lambda t, x_spec, axis, keepdims: _stretch(t, x_spec.shape, axis, keepdims),
    cases=(*CASES, EMPTY),
)


@implements(np.sum)
def sum(a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """The sum of the elements, over all axes or the given ones."""
    a = operand(a)
    return _sum(a if dtype is None else astype(a, dtype), axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.mean)
def mean(a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """The arithmetic mean."""
    a = operand(a)
    return sum(a, axis, dtype, keepdims=keepdims) / count_along(a, axes_of(a, axis))


@implements(np.average)
def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The weighted mean; differentiable in the weights too."""
    a = operand(a)
    if weights is None:
        result, total = mean(a, axis, keepdims=keepdims), operand(float(count_along(a, axes_of(a, axis))))
    else:
        weights = operand(weights)
        if weights.shape != a.shape:
            axes = axes_of(a, axis)
            if weights.shape != tuple(a.shape[i] for i in axes):
                raise ValueError(f"weights of shape {weights.shape} fit neither {a.shape} nor its axes {axis}, at {user_line()}.")
            weights = reshape(weights, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))
        total = sum(broadcast_to(weights, a.shape), axis, keepdims=keepdims)
        result = sum(a * weights, axis, keepdims=keepdims) / total
    return (result, broadcast_to(total, result.shape)) if returned else result


@implements(np.var)
def var(a: Any, axis: Axis = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False, correction: float | None = None) -> Any:
    """The variance, with `ddof` degrees of freedom taken off the count."""
    a = operand(a)
    a = a if dtype is None else astype(a, dtype)
    axes = axes_of(a, axis)
    deviation = a - mean(a, axes, keepdims=True)
    squares = square(absolute(deviation)) if a.dtype.kind == "c" else square(deviation)
    freedom = count_along(a, axes) - (ddof if correction is None else correction)
    total = sum(squares, axes, keepdims=keepdims)
    return total / builtins.max(freedom, 0)


@implements(np.std)
def std(a: Any, axis: Axis = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False, correction: float | None = None) -> Any:
    """The standard deviation."""
    return sqrt(var(a, axis, dtype, ddof=ddof, keepdims=keepdims, correction=correction))


@implements(np.nansum)
def nansum(a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """The sum without NaNs, which get no gradient."""
    a = operand(a)
    return sum(where(isnan(a), 0.0, a), axis, dtype, keepdims=keepdims)


@implements(np.nanmean)
def nanmean(a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """The mean without NaNs, which get no gradient."""
    a = operand(a)
    return nansum(a, axis, dtype, keepdims=keepdims) / sum(isnan(a) == False, axis, keepdims=keepdims)  # noqa: E712  # elementwise


# Extremes: ties share equally.


def _extreme(t: Any, x: Any, out: Any, axis: tuple[int, ...]) -> Any:
    chosen = x == out
    return where(chosen, t / sum(chosen, axis, keepdims=True), 0.0)


_max = reduction("max", lambda x, axis, keepdims: np.max(x, axis=axis, keepdims=keepdims), _extreme, cases=CASES)
_min = reduction("min", lambda x, axis, keepdims: np.min(x, axis=axis, keepdims=keepdims), _extreme, cases=CASES)


@implements(np.max, np.amax)
def max(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The largest element."""
    a = operand(a)
    return _max(a, axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.min, np.amin)
def min(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The smallest element."""
    a = operand(a)
    return _min(a, axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.ptp)
def ptp(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The range of the values, largest minus smallest."""
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


@implements(np.median)
def median(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """The middle value, or the mean of the two middle ones."""
    a = operand(a)
    axes = axes_of(a, axis)
    rows = collapsed(a, axes)
    middle = [(rows.shape[-1] - 1) // 2, rows.shape[-1] // 2]
    order = rows.argsort(axis=-1)[..., middle]
    result = mean(take_last(rows, order), -1)
    return expand_dims(result, axes) if keepdims else result


def collapsed(x: Any, axes: tuple[int, ...]) -> Any:
    """x with these axes moved to the end and made one."""
    x = moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    return reshape(x, (*x.shape[: x.ndim - len(axes)], count_along(x, tuple(range(x.ndim - len(axes), x.ndim)))))


def take_last(x: Any, order: Any) -> Any:
    """x[..., order] with one order per row."""
    rows = np.ogrid[tuple(slice(n) for n in x.shape[:-1])] if x.ndim > 1 else ()
    return x[(*rows[: x.ndim - 1], order)] if x.ndim == 1 else x[tuple(r[..., None] for r in rows) + (order,)]


def along(a: Any, axis: int | None) -> tuple[Any, int]:
    """An array and one of its axes; without an axis, the array in one row."""
    a = operand(a)
    return (reshape(a, (-1,)), 0) if axis is None else (a, normalize_axis_index(axis, a.ndim))


# Logarithm of a sum of exponentials


def _log_sum_exp(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    largest = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(largest), largest, 0.0).astype(largest.dtype)
    with np.errstate(divide="ignore"):
        out = np.log(np.sum(np.exp(x - shift), axis=axis, keepdims=True)) + shift
    return out if keepdims else np.squeeze(out, axis)[()]


_logsumexp = reduction("logsumexp", _log_sum_exp, lambda t, x, out: t * exp(x - where(isfinite(out), out, 0.0)), cases=CASES)


def logsumexp(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """log(sum(exp(a))), without overflow. The gradient is zero where all elements are -inf.

    >>> float(logsumexp([1000.0, 1000.0]))
    1000.6931471805599
    """
    a = operand(a)
    return _logsumexp(a, axis=axes_of(a, axis), keepdims=keepdims)


# Without gradient: truth values, counts and places

_all = nondifferentiable("all", lambda x, axis, keepdims: np.all(x, axis, keepdims=keepdims), params={}, cases=CASES, reason=TRUTH)
_any = nondifferentiable("any", lambda x, axis, keepdims: np.any(x, axis, keepdims=keepdims), params={}, cases=CASES, reason=TRUTH)
_count_nonzero = nondifferentiable(
    "count_nonzero",
    lambda x, axis, keepdims: np.asarray(np.count_nonzero(x, axis, keepdims=keepdims))[()],
    params={},
    cases=CASES,
    reason=STEPS,
)
PLACES = (case((3,), axis=0, keepdims=False), case((2, 3), axis=1, keepdims=True))
_argmax = nondifferentiable(
    "argmax", lambda x, axis, keepdims: np.argmax(x, axis, keepdims=keepdims), params={}, cases=PLACES, reason=STEPS
)
_argmin = nondifferentiable(
    "argmin", lambda x, axis, keepdims: np.argmin(x, axis, keepdims=keepdims), params={}, cases=PLACES, reason=STEPS
)


@implements(np.all)
def all(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Whether all elements are true."""
    a = operand(a)
    return _all(a, axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.any)
def any(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """Whether some element is true."""
    a = operand(a)
    return _any(a, axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    a = operand(a)
    return _count_nonzero(a, axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.argmax)
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The place of the largest element, in the flattened array if no axis is given."""
    return _place(_argmax, a, axis, keepdims)


@implements(np.argmin)
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """The place of the smallest element, in the flattened array if no axis is given."""
    return _place(_argmin, a, axis, keepdims)


def _place(find: Any, a: Any, axis: int | None, keepdims: bool) -> Any:
    a = operand(a)
    row, along_axis = along(a, axis)
    place = find(row, axis=along_axis, keepdims=keepdims)
    return reshape(place, (1,) * a.ndim) if keepdims and axis is None else place


# np.add.reduce and its like


def reducing(function: Callable) -> Callable:
    """A reduction called as a method of a ufunc, along the first axis unless told otherwise."""

    def reduce(a: Any, axis: Axis = 0, dtype: Any = None, keepdims: bool = False) -> Any:
        return function(a if dtype is None else astype(a, dtype), axis, keepdims=keepdims)

    return reduce


for _ufunc, _function in ((np.add, sum), (np.maximum, max), (np.minimum, min), (np.logical_and, all), (np.logical_or, any)):
    UFUNC_METHODS[_ufunc, "reduce"] = reducing(_function)
