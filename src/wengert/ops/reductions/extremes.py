"""Largest and smallest elements, and their indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from wengert.core.array import UFUNC_METHODS, implements
from wengert.core.errors import refuse_out, user_error
from wengert.core.facts import Facts
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.kinds import reduction, shift_axis
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.choices import has_zero, where
from wengert.ops.elementwise.predicates import STEPS, equal, isnan
from wengert.ops.reductions.axes import (
    CASES,
    INDEX_CASES,
    Axis,
    apply_mask,
    axes_of,
    count_along,
    discrete_reduction,
    reducing,
)
from wengert.ops.reductions.logical import any, count_nonzero
from wengert.ops.reductions.sums import mean, per
from wengert.ops.shape.reshaping import along, expand_dims, moveaxis, reshape

__all__ = ["amax", "amin", "argmax", "argmin", "max", "median", "min", "ptp"]

# Extremes: ties share equally.


def _extreme(t: Any, x: Any, out: Any, axis: tuple[int, ...]) -> Any:
    chosen = equal(x, out)
    return where(chosen, per(t, count_nonzero(chosen, axis, keepdims=True)), 0.0)


def _furthest(extreme: np.ufunc, preferred: float) -> Callable:
    """The reduction by `maximum` or `minimum`, in which 0.0 is larger than -0.0.

    NumPy's result depends on how it divides the array.
    """

    def run(x: Any, axis: tuple[int, ...], keepdims: bool, initial: Any = None) -> Any:
        out = extreme.reduce(x, axis, keepdims=keepdims, initial=initial)
        if x.dtype.kind != "f" or not has_zero(out):
            return out
        zero, zeros = out == 0, x == 0
        some = zeros.any(axis, keepdims=keepdims)  # else the zero is `initial`
        best = np.logical_and(zeros, np.signbit(x) == np.signbit(preferred)).any(axis, keepdims=keepdims)
        return np.where(zero & some, np.where(best, preferred, -preferred).astype(out.dtype), out)[()]

    return run


_max = reduction("max", _furthest(np.maximum, 0.0), _extreme, cases=CASES, facts=Facts(selects=True, exact=True))
_min = reduction("min", _furthest(np.minimum, -0.0), _extreme, cases=CASES, facts=Facts(selects=True, exact=True))


@implements(np.max, np.amax)
def max(
    a: Any,
    /,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    **foreign: Never,
) -> Any:
    """The largest element, or the number `initial` if that is larger.

    >>> max([[1.0, 5.0], [4.0, 2.0]], axis=0)
    array([4., 5.])
    """
    if foreign:
        refuse_keywords(foreign)
    return furthest(_max, a, axis, out, keepdims, initial, where)


@implements(np.min, np.amin)
def min(
    a: Any,
    /,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    **foreign: Never,
) -> Any:
    """The smallest element, or the number `initial` if that is smaller.

    >>> min([[1.0, 5.0], [4.0, 2.0]], axis=0)
    array([1., 2.])
    """
    if foreign:
        refuse_keywords(foreign)
    return furthest(_min, a, axis, out, keepdims, initial, where)


def furthest(extreme: Callable, a: Any, axis: Axis, out: None, keepdims: bool, initial: Any, mask: Any) -> Any:
    """An operation that finds an extreme, with NumPy's arguments."""
    refuse_out(out)
    if initial is None and mask is not True:
        raise user_error(
            ValueError, f"{extreme.__name__} with `where` needs a number to begin with", "Pass it as `initial`."
        )
    a = apply_mask(as_operand(a), mask, initial)
    return extreme(a, axis=axes_of(a, axis), keepdims=keepdims, initial=initial)


@implements(np.ptp)
def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """The range of the values, largest minus smallest.

    >>> float(ptp([2.0, 7.0, 4.0]))
    5.0
    """
    return max(a, axis, out, keepdims) - min(a, axis, out, keepdims)


@implements(np.median)
def median(
    a: Any, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False, **foreign: Never
) -> Any:
    """The middle value, or the mean of the two middle ones; NaN if there is a NaN or nothing at all.

    >>> float(median([5.0, 1.0, 2.0]))
    2.0
    """
    if foreign:
        refuse_keywords(foreign)
    refuse_out(out)
    a = as_operand(a)
    axes = tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)
    rows = collapse(a, axes)
    n = rows.shape[-1]
    if n == 0:
        return mean(a, axes, keepdims=keepdims)
    order = rows.argsort(axis=-1)  # NaNs come last
    middle = order[..., [(n - 1) // 2, n // 2]]
    result = mean(take_last(rows, where(any(isnan(rows), -1, keepdims=True), order[..., -1:], middle)), -1)
    return expand_dims(result, axes) if keepdims else result


def collapse(x: Any, axes: tuple[int, ...]) -> Any:
    """x with these axes moved to the end and made one."""
    x = moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
    return reshape(x, (*x.shape[: x.ndim - len(axes)], count_along(x, tuple(range(x.ndim - len(axes), x.ndim)))))


def take_last(x: Any, order: Any) -> Any:
    """x[..., order] with one order per row."""
    rows = np.ogrid[tuple(slice(n) for n in x.shape[:-1])] if x.ndim > 1 else ()
    return x[(*rows[: x.ndim - 1], order)] if x.ndim == 1 else x[tuple(r[..., None] for r in rows) + (order,)]


_argmax = discrete_reduction("argmax", np.argmax, batch=shift_axis, cases=INDEX_CASES, reason=STEPS)
_argmin = discrete_reduction("argmin", np.argmin, batch=shift_axis, cases=INDEX_CASES, reason=STEPS)


@implements(np.argmax)
def argmax(a: Any, /, axis: int | None = None, out: None = None, *, keepdims: bool = False, **foreign: Never) -> Any:
    """The index of the largest element, in the flattened array if no axis is given.

    >>> argmax([[1.0, 5.0], [4.0, 2.0]], axis=1)
    array([1, 0])
    """
    if foreign:
        refuse_keywords(foreign)
    refuse_out(out)
    return _find_index(_argmax, a, axis, keepdims)


@implements(np.argmin)
def argmin(a: Any, /, axis: int | None = None, out: None = None, *, keepdims: bool = False, **foreign: Never) -> Any:
    """The index of the smallest element, in the flattened array if no axis is given.

    >>> argmin([[1.0, 5.0], [4.0, 2.0]], axis=1)
    array([0, 1])
    """
    if foreign:
        refuse_keywords(foreign)
    refuse_out(out)
    return _find_index(_argmin, a, axis, keepdims)


def _find_index(find: Any, a: Any, axis: int | None, keepdims: bool) -> Any:
    a = as_operand(a)
    row, along_axis = along(a, axis)
    found = find(row, axis=along_axis, keepdims=keepdims)
    return reshape(found, (1,) * a.ndim) if keepdims and (axis is None or not a.ndim) else found


UFUNC_METHODS[np.maximum, "reduce"] = reducing(max)
UFUNC_METHODS[np.minimum, "reduce"] = reducing(min)


# Other names

amax = max
amin = min
