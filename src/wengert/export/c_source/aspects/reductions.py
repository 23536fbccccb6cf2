"""Reductions of nothing, extremes without NaN, closeness, and the rounding of whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.export.c_source.forms import c_expansion
from wengert.ops.elementwise import choices, predicates
from wengert.ops.elementwise.arithmetic import positive
from wengert.ops.elementwise.choices import maximum, minimum, where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.predicates import equal, isfinite, isnan, less_equal, logical_and, logical_or
from wengert.ops.reductions import cumulative, extremes, sums, without_nan
from wengert.ops.reductions.logical import all as all_
from wengert.ops.shape.reshaping import broadcast_to


def of_empty(identity: float, reduce: Callable[..., Any]) -> Callable[..., Any]:
    """The expansion of a reduction of no elements, which is its identity."""

    def rule(x: Any, axis: tuple[int, ...], keepdims: bool, **_: Any) -> Any:
        if x.size:
            return None
        dtype = reduce(np.empty(0, x.dtype)).dtype
        shape = [1 if i in axis else n for i, n in enumerate(x.shape) if keepdims or i not in axis]
        return broadcast_to(dtype.type(identity), tuple(shape))

    return rule


c_expansion.enter(of_empty(0, np.sum), sums._sum)
c_expansion.enter(of_empty(1, np.prod), cumulative._prod)


def without_nan_of(reduce: Callable[..., Any], limit: float) -> Callable[..., Any]:
    """The expansion of an extreme that ignores NaNs, unless there is nothing else."""

    def rule(x: Any, axis: tuple[int, ...], keepdims: bool, **_: Any) -> Any:
        if not x.size or x.dtype.kind != "f":
            return None
        extreme = reduce(where(isnan(x), x.dtype.type(limit), x), axis=axis, keepdims=keepdims)
        return where(all_(isnan(x), axis=axis, keepdims=keepdims), x.dtype.type(np.nan), extreme)

    return rule


c_expansion.enter(without_nan_of(extremes._max, -np.inf), without_nan._nanmax)
c_expansion.enter(without_nan_of(extremes._min, np.inf), without_nan._nanmin)


# Predicates


@c_expansion(predicates._isclose)
def expand_isclose(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    """Within a tolerance, or equal, as infinities may be."""
    if x.dtype.kind != "f" or y.dtype.kind != "f":
        return None
    is_near = logical_and(less_equal(absolute(x - y), atol + rtol * absolute(y)), isfinite(y))
    is_close = logical_or(is_near, equal(x, y))
    return logical_or(is_close, logical_and(isnan(x), isnan(y))) if equal_nan else is_close


# Whole numbers are their own rounding


@c_expansion(predicates.floor, predicates.ceil, predicates.trunc)
def expand_rounding(x: Any) -> Any:
    """Integers stay as they are."""
    return positive(x) if x.dtype.kind == "i" else None


c_expansion.enter(lambda x, y: maximum(x, y) if x.dtype.kind == y.dtype.kind == "i" else None, choices.fmax)
c_expansion.enter(lambda x, y: minimum(x, y) if x.dtype.kind == y.dtype.kind == "i" else None, choices.fmin)
