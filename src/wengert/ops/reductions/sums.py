"""Sums, means and variances."""

from __future__ import annotations

import builtins
from math import inf
from typing import Any, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from wengert.core.array import UFUNC_METHODS, Array, implements
from wengert.core.errors import refuse_out, user_error
from wengert.core.facts import FLAT, Facts
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.kinds import elementwise, linear, reduction, shift_axes
from wengert.core.large_arrays import for_reductions
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import add, square
from wengert.ops.elementwise.choices import POSITIVE, where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.exponential import exp
from wengert.ops.elementwise.predicates import equal
from wengert.ops.reductions.axes import (
    CASES,
    EMPTY,
    Axis,
    apply_mask,
    axes_of,
    combine_initial,
    count_along,
    narrow,
    reducing,
)
from wengert.ops.reductions.logical import any, count_nonzero
from wengert.ops.reductions.short_rows import add_along, largest_along
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to, reshape, transpose

__all__ = ["average", "logsumexp", "mean", "std", "sum", "var"]


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
    for_reductions(add_along),
    lambda t, x_spec, axis, keepdims: _stretch(t, x_spec.shape, axis, keepdims),
    batch=shift_axes,
    cases=(*CASES, EMPTY),
)
_mean = linear(
    "mean",
    for_reductions(lambda x, axis, keepdims: add_along(x, axis, keepdims) / count_along(x, axis)),
    lambda t, x_spec, axis, keepdims: _stretch(t / count_along(x_spec, axis), x_spec.shape, axis, keepdims),
    batch=shift_axes,
    cases=CASES,
)


@implements(np.sum)
def sum(
    a: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    **foreign: Never,
) -> Any:
    """The sum of the elements, over all axes or the given ones.

    >>> sum([[1.0, 2.0], [3.0, 4.0]], axis=0)
    array([4., 6.])
    """
    if foreign:
        refuse_keywords(foreign)
    refuse_out(out)
    a = apply_mask(as_operand(a), where, 0)
    total = _sum(a if dtype is None else astype(a, dtype), axis=axes_of(a, axis), keepdims=keepdims)
    return combine_initial(initial, add, narrow(total, dtype))


@implements(np.mean)
def mean(
    a: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    **foreign: Never,
) -> Any:
    """The arithmetic mean.

    >>> mean([[1.0, 3.0], [5.0, 7.0]], axis=0)
    array([3., 5.])
    """
    if foreign:
        refuse_keywords(foreign)
    a = as_operand(a)
    if where is True and dtype is None and out is None and a.dtype.kind in "fc" and 0 not in a.shape:
        return _mean(a, axis=axes_of(a, axis), keepdims=keepdims)
    total = sum(a, axis, dtype, out, keepdims, where=where)
    if where is True:
        return total / count_along(a, axes_of(a, axis))
    return per(total, count_nonzero(broadcast_to(as_operand(where), a.shape), axis, keepdims=keepdims))


@implements(np.average)
def average(a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The weighted mean, differentiable with respect to the weights too.

    >>> average([1.0, 2.0, 4.0], weights=[1.0, 1.0, 2.0])
    np.float64(2.75)
    """
    a = as_operand(a)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    if weights is None:
        result = mean(a, axes, keepdims=keepdims)
        total = result.dtype.type(count_along(a, axes))
    else:
        weights = as_operand(weights)
        if weights.shape != a.shape:
            if axis is None:
                raise user_error(
                    TypeError, f"weights of shape {weights.shape} for an array of shape {a.shape} need an axis"
                )
            if weights.shape != tuple(a.shape[i] for i in axes):
                raise user_error(
                    ValueError, f"weights of shape {weights.shape} fit neither {a.shape} nor its axes {axis}"
                )
            in_order = transpose(weights, sorted(range(len(axes)), key=axes.__getitem__))
            weights = reshape(in_order, tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))
        total = sum(weights, axes, keepdims=keepdims)
        if not isinstance(total, Array) and any(equal(total, 0)):
            raise user_error(ZeroDivisionError, "The weights of an average sum to zero")
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
    **foreign: Never,
) -> Any:
    """The variance, with `ddof` subtracted from the number of elements.

    >>> float(var([1.0, 3.0]))
    1.0
    """
    if foreign:
        refuse_keywords(foreign)
    refuse_out(out)
    a = as_operand(a)
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
    **foreign: Never,
) -> Any:
    """The standard deviation. Where it is 0, its derivative is taken as 0.

    >>> float(std([1.0, 3.0]))
    1.0
    """
    if foreign:
        refuse_keywords(foreign)
    return root(var(a, axis, dtype, out, ddof, keepdims, correction=correction))


# Logarithm of a sum of exponentials


def _log_sum_exp(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    largest = largest_along(np.real(x), axis)  # the real part: the imaginary one is an angle
    if not np.isfinite(largest).all():
        largest = np.where(np.isfinite(largest), largest, largest.dtype.type(0))
    with np.errstate(divide="ignore"):
        out: Any = np.log(add_along(np.exp(x - largest), axis, keepdims))
    return out + (largest if keepdims else largest.reshape(out.shape))


_logsumexp = reduction(
    "logsumexp", _log_sum_exp, lambda t, x, out: t * exp(x - where(equal(out, -inf), 0.0, out)), cases=CASES, facts=FLAT
)


def logsumexp(a: Any, axis: Axis = None, *, keepdims: bool = False, **foreign: Never) -> Any:
    """log(sum(exp(a))), without overflow; of complex numbers on the principal branch.

    The gradient is zero where all elements are -inf.

    >>> float(logsumexp([1000.0, 1000.0]))
    1000.6931471805599
    """
    if foreign:
        refuse_keywords(foreign)
    a = as_operand(a)
    a = a if a.dtype.kind in "fc" else astype(a, float)
    return _logsumexp(a, axis=axes_of(a, axis), keepdims=keepdims)


UFUNC_METHODS[np.add, "reduce"] = reducing(sum)
