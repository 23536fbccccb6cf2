"""`all`, `any` and `count_nonzero`."""

from __future__ import annotations

from typing import Any, Never

import numpy as np

from wengert.core.array import UFUNC_METHODS, implements
from wengert.core.errors import refuse_out
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.kinds import shift_axes
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.predicates import STEPS, TRUTH
from wengert.ops.reductions.axes import CASES, Axis, apply_mask, axes_of, discrete_reduction, reducing

__all__ = ["all", "any", "count_nonzero"]

# Without gradient: booleans and counts

_all = discrete_reduction("all", np.all, batch=shift_axes, cases=CASES, reason=TRUTH)
_any = discrete_reduction("any", np.any, batch=shift_axes, cases=CASES, reason=TRUTH)
_count_nonzero = discrete_reduction(
    "count_nonzero",
    lambda x, axis, keepdims: np.asarray(np.count_nonzero(x, axis, keepdims=keepdims))[()],
    batch=shift_axes,
    cases=CASES,
    reason=STEPS,
)


@implements(np.all)
def all(
    a: Any, /, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = True, **foreign: Never
) -> Any:
    """Whether all elements are true.

    >>> all([[True, False], [True, True]], axis=1)
    array([False,  True])
    """
    if foreign:
        refuse_keywords(foreign)
    refuse_out(out)
    a = apply_mask(as_operand(a), where, True)
    return _all(a, axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.any)
def any(
    a: Any, /, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = True, **foreign: Never
) -> Any:
    """Whether some element is true.

    >>> any([[True, False], [False, False]], axis=1)
    array([ True, False])
    """
    if foreign:
        refuse_keywords(foreign)
    refuse_out(out)
    a = apply_mask(as_operand(a), where, False)
    return _any(a, axis=axes_of(a, axis), keepdims=keepdims)


@implements(np.count_nonzero)
def count_nonzero(a: Any, /, axis: Axis = None, *, keepdims: bool = False, **foreign: Never) -> Any:
    """The number of elements that are not zero.

    >>> count_nonzero([[0, 1], [2, 3]], axis=1)
    array([1, 2])
    """
    if foreign:
        refuse_keywords(foreign)
    a = as_operand(a)
    return _count_nonzero(a, axis=axes_of(a, axis), keepdims=keepdims)


UFUNC_METHODS[np.logical_and, "reduce"] = reducing(all)
UFUNC_METHODS[np.logical_or, "reduce"] = reducing(any)
