"""Reductions, along any axes.

The rule of a `reduction` sees the cotangent and the output with the reduced axes put back, so it is written as for one element.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from math import inf
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from wengert.core.array import UFUNC_METHODS, Array, implements
from wengert.core.errors import user_line
from wengert.core.facts import Facts
from wengert.core.kinds import case, elementwise, linear, nondifferentiable, reduction, shifted_axes, shifted_axis
from wengert.core.primitive import operand
from wengert.ops.elementwise import POSITIVE, absolute, add, exp, has_zero, square, where
from wengert.ops.predicates import STEPS, TRUTH, equal, isnan, refuse_out
from wengert.ops.shape import along, astype, broadcast_to, expand_dims, moveaxis, reshape, transpose

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
    if not isinstance(axis, tuple):
        i = normalize_axis_index(index(axis), x.ndim or 1)  # a single number has axis 0, as in NumPy
        return (i,) if x.ndim else ()
    return tuple(sorted(normalize_axis_tuple(axis, x.ndim)))


def count_along(x: Any, axes: tuple[int, ...]) -> int:
    """The number of elements that are reduced to one."""
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return count


def masked(a: Any, mask: Any, fill: Any) -> Any:
    """a, with a number instead of what the argument `where` of a reduction leaves out."""
    return a if mask is True else where(broadcast_to(operand(mask), a.shape), a, fill)


def begun(initial: Any, combine: Callable, result: Any) -> Any:
    """A reduction that begins with the number `initial`, if there is one; the dtype is that of the reduction."""
    return result if initial is None else astype(combine(initial, result), result.dtype, copy=False)


def narrowed(result: Any, dtype: Any) -> Any:
    """The result of a reduction in the dtype that was asked for, if any: NumPy's widens small integers."""
    return result if dtype is None else astype(result, dtype, copy=False)


def per(total: Any, count: Any) -> Any:
    """total / count for an array of counts; floating-point numbers keep their precision."""
    return total / (astype(count, total.dtype) if total.dtype.kind in "fc" else count)


# Sums and means. A sum of integers, or with a dtype, is promoted first, as NumPy does.


def _stretch(t: Any, shape: tuple[int, ...], axis: tuple[int, ...], keepdims: bool) -> Any:
    if not keepdims and 0 < len(axis) < len(shape):
        t = reshape(t, tuple([1 if i in axis else n for i, n in enumerate(shape)]))
    return broadcast_to(t, shape)


_sum = linear(
    "sum",
    lambda x, axis, keepdims: np.add.reduce(x, axis, keepdims=keepdims),
    lambda t, x_spec, axis, keepdims: _stretch(t, x_spec.shape, axis, keepdims),
    batch=shifted_axes,
    cases=(*CASES, EMPTY),
)
_mean = linear(
    "mean",
    lambda x, axis, keepdims: np.add.reduce(x, axis, keepdims=keepdims) / count_along(x, axis),
    lambda t, x_spec, axis, keepdims: _stretch(t / count_along(x_spec, axis), x_spec.shape, axis, keepdims),
    batch=shifted_axes,
    cases=CASES,
)


@implements(np.sum)
def sum(
    a: Any, /, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The sum of the elements, over all axes or the given ones."""
    refuse_out(out)
    a = masked(operand(a), where, 0)
    total = _sum(a if dtype is None else astype(a, dtype), axis=axes_of(a, axis), keepdims=keepdims)
    return begun(initial, add, narrowed(total, dtype))


@implements(np.mean)
def mean(a: Any, /, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """The arithmetic mean."""
    a = operand(a)
    if where is True and dtype is None and out is None and a.dtype.kind in "fc" and a.size:
        return _mean(a, axis=axes_of(a, axis), keepdims=keepdims)
    total = sum(a, axis, dtype, out, keepdims, where=where)
    if where is True:
        return total / count_along(a, axes_of(a, axis))
    return per(total, count_nonzero(broadcast_to(operand(where), a.shape), axis, keepdims=keepdims))


@implements(np.average)
def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The weighted mean; differentiable in the weights too."""
    a = operand(a)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    if weights is None:
        result = mean(a, axes, keepdims=keepdims)
        total = result.dtype.type(count_along(a, axes))
    else:
        weights = operand(weights)
        if weights.shape != a.shape:
            if axis is None:
                raise TypeError(f"weights of shape {weights.shape} for an array of shape {a.shape} need an axis, at {user_line()}.")
            if weights.shape != tuple(a.shape[i] for i in axes):
                raise ValueError(f"weights of shape {weights.shape} fit neither {a.shape} nor its axes {axis}, at {user_line()}.")
            in_order = transpose(weights, sorted(range(len(axes)), key=axes.__getitem__))
            weights = reshape(in_order, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))
        total = sum(weights, axes, keepdims=keepdims)
        if not isinstance(total, Array) and any(equal(total, 0)):
            raise ZeroDivisionError(f"The weights of an average sum to zero, at {user_line()}.")
        result = sum(a * weights, axes, keepdims=keepdims) / total
    return (result, broadcast_to(total, result.shape)) if returned else result


@implements(np.var)
def var(
    a: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> Any:
    """The variance, with `ddof` degrees of freedom taken off the count."""
    refuse_out(out)
    a = operand(a)
    a = a if dtype is None else astype(a, dtype)
    axes = axes_of(a, axis)
    deviation = a - mean(a, axes, keepdims=True)
    squares = square(absolute(deviation)) if a.dtype.kind == "c" else square(deviation)
    freedom = count_along(a, axes) - (ddof if correction is None else correction)
    return sum(squares, axes, keepdims=keepdims) / builtins.max(freedom, 0)


root = elementwise(
    "root",
    lambda x: np.sqrt(x),
    lambda t, out: t / where(equal(out, 0), inf, 2.0 * out),
    domain=POSITIVE,
    singular={(0.0,): (0.0,)},
    facts=Facts(cost=5),
)
"""The square root of a sum of squares: like that of a norm, its derivative at 0 is taken to be 0."""


@implements(np.std)
def std(
    a: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> Any:
    """The standard deviation. Where it is 0, its derivative is taken to be 0."""
    return root(var(a, axis, dtype, out, ddof, keepdims, correction=correction))


# Extremes: ties share equally.


def _extreme(t: Any, x: Any, out: Any, axis: tuple[int, ...]) -> Any:
    chosen = equal(x, out)
    return where(chosen, per(t, count_nonzero(chosen, axis, keepdims=True)), 0.0)


def _furthest(extreme: np.ufunc, preferred: float) -> Callable:
    """The reduction by `maximum` or `minimum` that takes 0.0 for larger than -0.0. NumPy's choice depends on how it cuts the array."""

    def run(x: Any, axis: tuple[int, ...], keepdims: bool, initial: Any = None) -> Any:
        out = extreme.reduce(x, axis, keepdims=keepdims, initial=initial)
        if x.dtype.kind != "f" or not has_zero(out):
            return out
        zero, zeros = out == 0, x == 0
        some = zeros.any(axis, keepdims=keepdims)  # else the zero is `initial`
        best = np.logical_and(zeros, np.signbit(x) == np.signbit(preferred)).any(axis, keepdims=keepdims)
        return np.where(zero & some, np.where(best, preferred, -preferred).astype(out.dtype), out)[()]

    return run


_max = reduction("max", _furthest(np.maximum, 0.0), _extreme, cases=CASES)
_min = reduction("min", _furthest(np.minimum, -0.0), _extreme, cases=CASES)


@implements(np.max, np.amax)
def max(a: Any, /, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """The largest element, or the number `initial` if that is larger."""
    return furthest(_max, a, axis, out, keepdims, initial, where)


@implements(np.min, np.amin)
def min(a: Any, /, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    """The smallest element, or the number `initial` if that is smaller."""
    return furthest(_min, a, axis, out, keepdims, initial, where)


def furthest(extreme: Callable, a: Any, axis: Axis, out: None, keepdims: bool, initial: Any, mask: Any) -> Any:
    """An operation that finds an extreme, with NumPy's arguments."""
    refuse_out(out)
    if initial is None and mask is not True:
        raise ValueError(f"{extreme.__name__} with `where` needs a number to begin with, at {user_line()}. Pass it as `initial`.")
    a = masked(operand(a), mask, initial)
    return extreme(a, axis=axes_of(a, axis), keepdims=keepdims, initial=initial)


@implements(np.ptp)
def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """The range of the values, largest minus smallest."""
    return max(a, axis, out, keepdims) - min(a, axis, out, keepdims)


@implements(np.median)
def median(a: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """The middle value, or the mean of the two middle ones. If there is a NaN, it is that, and of nothing it is NaN."""
    refuse_out(out)
    a = operand(a)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    rows = collapsed(a, axes)
    n = rows.shape[-1]
    if n == 0:
        return mean(a, axes, keepdims=keepdims)
    order = rows.argsort(axis=-1)  # NaNs come last
    middle = order[..., [(n - 1) // 2, n // 2]]
    result = mean(take_last(rows, where(any(isnan(rows), -1, keepdims=True), order[..., -1:], middle)), -1)
    return expand_dims(result, axes) if keepdims else result


def collapsed(x: Any, axes: tuple[int, ...]) -> Any:
    """x with these axes moved to the end and made one."""
    x = moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    return reshape(x, (*x.shape[: x.ndim - len(axes)], count_along(x, tuple(range(x.ndim - len(axes), x.ndim)))))


def take_last(x: Any, order: Any) -> Any:
    """x[..., order] with one order per row."""
    rows = np.ogrid[tuple(slice(n) for n in x.shape[:-1])] if x.ndim > 1 else ()
    return x[(*rows[: x.ndim - 1], order)] if x.ndim == 1 else x[tuple(r[..., None] for r in rows) + (order,)]


# Logarithm of a sum of exponentials


def _log_sum_exp(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    largest = np.maximum.reduce(np.real(x), axis, keepdims=True, initial=-np.inf)  # the real part: the imaginary one is an angle
    if not np.isfinite(largest).all():
        largest = np.where(np.isfinite(largest), largest, largest.dtype.type(0))
    with np.errstate(divide="ignore"):
        out: Any = np.log(np.add.reduce(np.exp(x - largest), axis, keepdims=keepdims))  # type: ignore[call-overload]  # keepdims is not a literal
    return out + (largest if keepdims else largest.reshape(out.shape))


_logsumexp = reduction("logsumexp", _log_sum_exp, lambda t, x, out: t * exp(x - where(equal(out, -inf), 0.0, out)), cases=CASES)


def logsumexp(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """log(sum(exp(a))), without overflow; of complex numbers on the principal branch. The gradient is zero where all elements are -inf.

    >>> float(logsumexp([1000.0, 1000.0]))
    1000.6931471805599
    """
    a = operand(a)
    a = a if a.dtype.kind in "fc" else astype(a, float)
    return _logsumexp(a, axis=axes_of(a, axis), keepdims=keepdims)


# Without gradient: truth values, counts and places

_all = nondifferentiable(
    "all", lambda x, axis, keepdims: np.all(x, axis, keepdims=keepdims), params={}, batch=shifted_axes, cases=CASES, reason=TRUTH
)
_any = nondifferentiable(
    "any", lambda x, axis, keepdims: np.any(x, axis, keepdims=keepdims), params={}, batch=shifted_axes, cases=CASES, reason=TRUTH
)
_count_nonzero = nondifferentiable(
    "count_nonzero",
    lambda x, axis, keepdims: np.asarray(np.count_nonzero(x, axis, keepdims=keepdims))[()],
    params={},
    batch=shifted_axes,
    cases=CASES,
    reason=STEPS,
)
PLACES = (case((3,), axis=0, keepdims=False), case((2, 3), axis=1, keepdims=True))
_argmax = nondifferentiable(
    "argmax", lambda x, axis, keepdims: np.argmax(x, axis, keepdims=keepdims), params={}, batch=shifted_axis, cases=PLACES, reason=STEPS
)
_argmin = nondifferentiable(
    "argmin", lambda x, axis, keepdims: np.argmin(x, axis, keepdims=keepdims), params={}, batch=shifted_axis, cases=PLACES, reason=STEPS
)


@implements(np.all)
def all(a: Any, /, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Whether all elements are true."""
    refuse_out(out)
    a = masked(operand(a), where, True)
    return _all(a, axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.any)
def any(a: Any, /, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = True) -> Any:
    """Whether some element is true."""
    refuse_out(out)
    a = masked(operand(a), where, False)
    return _any(a, axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.count_nonzero)
def count_nonzero(a: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    a = operand(a)
    return _count_nonzero(a, axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.argmax)
def argmax(a: Any, /, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
    """The place of the largest element, in the flattened array if no axis is given."""
    refuse_out(out)
    return _place(_argmax, a, axis, keepdims)


@implements(np.argmin)
def argmin(a: Any, /, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
    """The place of the smallest element, in the flattened array if no axis is given."""
    refuse_out(out)
    return _place(_argmin, a, axis, keepdims)


def _place(find: Any, a: Any, axis: int | None, keepdims: bool) -> Any:
    a = operand(a)
    row, along_axis = along(a, axis)
    place = find(row, axis=along_axis, keepdims=keepdims)
    return reshape(place, (1,) * a.ndim) if keepdims and (axis is None or not a.ndim) else place


# np.add.reduce and its like


def reducing(function: Callable) -> Callable:
    """A reduction called as a method of a ufunc, along the first axis unless told otherwise."""

    def reduce(a: Any, axis: Axis = 0, dtype: Any = None, **options: Any) -> Any:
        return function(a if dtype is None else astype(a, dtype), axis, **options)

    return reduce


for _ufunc, _function in ((np.add, sum), (np.maximum, max), (np.minimum, min), (np.logical_and, all), (np.logical_or, any)):
    UFUNC_METHODS[_ufunc, "reduce"] = reducing(_function)
