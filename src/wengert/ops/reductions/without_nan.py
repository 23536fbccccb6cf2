"""Reductions without NaNs: NaNs get no gradient, and other elements that of the reduction without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from wengert.core.array import UFUNC_METHODS, implements
from wengert.core.errors import TrackedValueError, refuse_out, user_error
from wengert.core.facts import Facts
from wengert.core.kinds import reduction
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import square
from wengert.ops.elementwise.choices import maximum, where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.predicates import equal, floor_divide, isnan, logical_not
from wengert.ops.reductions.axes import CASES, Axis, apply_mask, reducing
from wengert.ops.reductions.cumulative import cumprod, cumsum, prod
from wengert.ops.reductions.extremes import argmax, argmin, collapse, furthest, take_last
from wengert.ops.reductions.logical import all, any, count_nonzero
from wengert.ops.reductions.sums import mean, per, root, sum
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import expand_dims

__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod",
    "nanstd", "nansum", "nanvar",
]  # fmt: skip

# Extremes: ties share equally, and where all are NaN the result is, too


def _extreme(t: Any, x: Any, out: Any, axis: tuple[int, ...]) -> Any:
    chosen = equal(x, out)
    return where(chosen, per(t, maximum(count_nonzero(chosen, axis, keepdims=True), 1)), 0.0)


def _extreme_reduction(name: str, extreme: np.ufunc) -> Callable:
    return reduction(
        name,
        lambda x, axis, keepdims, initial=None: extreme.reduce(x, axis, keepdims=keepdims, initial=initial),
        _extreme,
        cases=CASES,
        facts=Facts(selects=True),
    )


_nanmax = _extreme_reduction("nanmax", np.fmax)
_nanmin = _extreme_reduction("nanmin", np.fmin)


@implements(np.nanmax)
def nanmax(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The largest element that is not NaN.

    >>> float(nanmax([1.0, np.nan, 3.0]))
    3.0
    """
    return furthest(_nanmax, a, axis, out, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(
    a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Any:
    """The smallest element that is not NaN.

    >>> float(nanmin([1.0, np.nan, 3.0]))
    1.0
    """
    return furthest(_nanmin, a, axis, out, keepdims, initial, where)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
    """The index of the largest element that is not NaN.

    >>> int(nanargmax([1.0, np.nan, 3.0]))
    2
    """
    return argmax(_comparable(a, axis, -np.inf), axis, out, keepdims=keepdims)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
    """The index of the smallest element that is not NaN.

    >>> int(nanargmin([2.0, np.nan, 1.0]))
    2
    """
    return argmin(_comparable(a, axis, np.inf), axis, out, keepdims=keepdims)


def _comparable(a: Any, axis: int | None, last: float) -> Any:
    a = as_operand(a)
    if a.dtype.kind not in "fc":
        return a
    try:
        nothing = numpy_of(a) is np and bool(any(all(isnan(a), axis)))  # devices are not asked
    except TrackedValueError:  # the numbers are not known
        nothing = False
    if nothing:
        raise user_error(ValueError, "All-NaN slice encountered", because="there is no index of an extreme element.")
    return where(isnan(a), last, a)


# Sums, means and products


@implements(np.nansum)
def nansum(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The sum without NaNs, which get no gradient.

    >>> float(nansum([1.0, np.nan, 3.0]))
    4.0
    """
    return sum(_replace_nan(a, 0.0), axis, dtype, out, keepdims, initial, where)


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    """The mean without NaNs, which get no gradient.

    >>> float(nanmean([1.0, np.nan, 3.0]))
    2.0
    """
    a = as_operand(a)
    counted = apply_mask(logical_not(isnan(a)), where, False)
    return per(nansum(a, axis, dtype, out, keepdims, where=where), count_nonzero(counted, axis, keepdims=keepdims))


@implements(np.nanprod)
def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The product without NaNs.

    >>> float(nanprod([2.0, np.nan, 3.0]))
    6.0
    """
    return prod(_replace_nan(a, 1.0), axis, dtype, out, keepdims, initial, where)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The sums of all elements up to each one, with zeros for NaNs.

    >>> nancumsum([2.0, np.nan, 3.0])
    array([2., 2., 5.])
    """
    return cumsum(_replace_nan(a, 0.0), axis, dtype, out)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
    """The products of all elements up to each one, with ones for NaNs.

    >>> nancumprod([2.0, np.nan, 3.0])
    array([2., 2., 6.])
    """
    return cumprod(_replace_nan(a, 1.0), axis, dtype, out)


def _replace_nan(a: Any, number: float) -> Any:
    """a with a number for NaNs."""
    a = as_operand(a)
    return where(isnan(a), number, a) if a.dtype.kind in "fc" else a


# Statistics


@implements(np.nanvar)
def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """The variance of the elements that are not NaN, with `ddof` subtracted from their number; NaN if none is left.

    >>> float(nanvar([1.0, np.nan, 3.0]))
    1.0
    """
    refuse_out(out)
    a = as_operand(a)
    a = a if dtype is None else astype(a, dtype)
    a = a if a.dtype.kind in "fc" else astype(a, float)
    counted = apply_mask(logical_not(isnan(a)), where, False)
    middle = nanmean(a, axis, keepdims=True, where=where) if mean is None else as_operand(mean)
    deviation = apply_mask(a - middle, counted, 0.0)
    squares = square(absolute(deviation)) if a.dtype.kind == "c" else square(deviation)
    freedom = count_nonzero(counted, axis, keepdims=keepdims) - (ddof if correction is None else correction)
    return per(sum(squares, axis, keepdims=keepdims), _without_zero(freedom))


def _without_zero(freedom: Any) -> Any:
    return where(freedom > 0, freedom, np.nan)


@implements(np.nanstd)
def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """The standard deviation of the elements that are not NaN. Where it is 0, its derivative is taken as 0.

    >>> float(nanstd([1.0, np.nan, 3.0]))
    1.0
    """
    return root(nanvar(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction))


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """The middle value of the elements that are not NaN, or the mean of the two middle ones; NaN if all are.

    >>> float(nanmedian([1.0, np.nan, 3.0]))
    2.0
    """
    refuse_out(out)
    a = as_operand(a)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    rows = collapse(a, axes)
    if rows.shape[-1] == 0:
        return mean(a, axes, keepdims=keepdims)
    n = count_nonzero(equal(rows, rows), -1, keepdims=True)
    order = rows.argsort(axis=-1)  # NaNs come last
    middle = floor_divide(maximum(concatenate([n - 1, n], -1), 0), 2)
    result = mean(take_last(rows, take_last(order, middle)), -1)
    return expand_dims(result, axes) if keepdims else result


for _ufunc, _function in ((np.fmax, nanmax), (np.fmin, nanmin)):
    UFUNC_METHODS[_ufunc, "reduce"] = reducing(_function)
