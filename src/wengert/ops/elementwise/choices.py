"""Operations that take one operand or another: `where`, `maximum`, `clip`, `relu`.

Ties of `maximum`, `minimum` and `clip` share the derivative equally, and `relu'(0) = 0`; docs/design/singular_points.md
says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.array import implements
from wengert.core.errors import refuse_out, user_error
from wengert.core.facts import CHEAP, CHOICE, Facts
from wengert.core.kinds import describe, elementwise
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.predicates import equal, isnan, logical_not, not_equal

__all__ = ["clip", "copysign", "fmax", "fmin", "heaviside", "maximum", "minimum", "nextafter", "relu", "where"]

POSITIVE = (0.2, 3.0)
UNIT = (-0.9, 0.9)


def _infinite_if_zero(size: Any) -> Any:
    """A denominator that is infinite where it would be 0.

    At the kink of a modulus or an angle, it makes derivatives of all orders zero. Complex numbers are multiplied with
    its reciprocal: divided by it, they would be NaN on a GPU.
    """
    return where(equal(size, 0), math.inf, size)


# Choices

BITS = {np.dtype(np.float32): np.int32, np.dtype(np.float64): np.int64}


def keep_where(condition: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x where the condition is true, else 0: the bits of x and a mask."""
    bits = BITS[x.dtype]
    mask = np.array(condition, bits)  # also of a number, which `~` makes of an array without axes
    np.negative(mask, out=mask)
    np.bitwise_and(mask, x.view(bits), out=mask)
    return mask.view(x.dtype)


def _choose(condition: Any, x: Any, y: Any) -> Any:
    if condition.__class__ is np.ndarray and condition.size >= machine.current.min_elements_of_bitwise_choice:
        if y.__class__ is float and is_kept(condition, x, y):
            return keep_where(condition, x)
        if x.__class__ is float and is_kept(condition, y, x):
            return keep_where(~condition, y)
    return np.where(condition, x, y)


_choose.ufunc = np.where  # type: ignore[attr-defined]  # NumPy's function, by which it is printed


def is_kept(condition: np.ndarray, x: Any, other: float) -> bool:
    """Whether a choice between x and a number is one between x and zero, of arrays of one shape."""
    return (
        other == 0.0
        and math.copysign(1.0, other) > 0
        and x.__class__ is np.ndarray
        and x.shape == condition.shape
        and x.dtype in BITS
    )


_where = elementwise(
    "where",
    _choose,
    None,
    lambda t, condition: where(condition, t, 0.0),
    lambda t, condition: where(condition, 0.0, t),
    inputs=("condition", "x", "y"),
    dead=(None, lambda t, condition: logical_not(condition), lambda t, condition: condition),
    facts=CHOICE,
)


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """x where the condition is true, else y.

    The other branch gets no gradient, even where its derivative is infinite.

    >>> where([True, False], [1.0, 2.0], 9.0)
    array([1., 9.])
    """
    condition = as_operand(condition)
    if x is None and y is None:
        return condition.nonzero()
    if x is None or y is None:
        raise user_error(ValueError, "where takes either both x and y or neither")
    return _where(condition if condition.dtype.kind == "b" else not_equal(condition, 0), x, y)


def _larger(t: Any, x: Any, y: Any) -> Any:
    return where(x > y, t, where(x == y, 0.5 * t, 0.0))


def _larger_or_alone(t: Any, x: Any, y: Any) -> Any:
    return where(isnan(y), t, _larger(t, x, y))


def _smaller_or_alone(t: Any, x: Any, y: Any) -> Any:
    return where(isnan(y), t, _larger(t, y, x))


def has_zero(x: Any) -> bool:
    """Whether there is a zero, of either sign."""
    return np.count_nonzero(x) < x.size if x.ndim else not x


def _ignoring_nan(ufunc: np.ufunc, extreme: Callable) -> Callable:
    """The implementation of `fmax` and `fmin`: of 0.0 and -0.0, the second operand, as in `maximum` and `minimum`.

    NumPy's choice depends on the index in the array.
    """

    def run(x: Any, y: Any) -> Any:
        out = ufunc(x, y)
        if not (isinstance(out, np.ndarray | np.floating) and out.dtype.kind == "f" and has_zero(out)):
            return out
        signed = extreme(x, y)
        return np.where(np.isnan(signed), out, signed)[()]

    run.ufunc = ufunc  # type: ignore[attr-defined]  # which NumPy calls it by
    return run


TIES = {(1.0, 1.0): (0.5, 0.5)}
maximum = elementwise("maximum", np.maximum, _larger, lambda t, x, y: _larger(t, y, x), singular=TIES, facts=CHOICE)
minimum = elementwise("minimum", np.minimum, lambda t, x, y: _larger(t, y, x), _larger, singular=TIES, facts=CHOICE)
fmax = elementwise(
    "fmax",
    _ignoring_nan(np.fmax, np.maximum),
    _larger_or_alone,
    lambda t, x, y: _larger_or_alone(t, y, x),
    singular=TIES,
    facts=Facts(selects=True, exact=True),
)
fmin = elementwise(
    "fmin",
    _ignoring_nan(np.fmin, np.minimum),
    _smaller_or_alone,
    lambda t, x, y: _smaller_or_alone(t, y, x),
    singular=TIES,
    facts=Facts(selects=True, exact=True),
)
copysign = elementwise(
    "copysign",
    np.copysign,
    lambda t, x, y: t * (copysign(1.0, x) * copysign(1.0, y)),
    None,
    domain=(POSITIVE, POSITIVE),
    facts=CHEAP,
)
nextafter = elementwise("nextafter", np.nextafter, lambda t: t, None)
heaviside = elementwise(
    "heaviside",
    np.heaviside,
    None,
    lambda t, x: where(x == 0, t, 0.0),
    domain=POSITIVE,
    singular={(0.0, 0.5): (0.0, 1.0)},
)


@implements(np.clip)
def clip(x: Any, /, min: Any = None, max: Any = None, out: None = None, *, a_min: Any = None, a_max: Any = None) -> Any:
    """x held between two bounds, either of which may be None. Ties share equally, as in `maximum` and `minimum`.

    >>> clip([-1.0, 0.5, 3.0], 0.0, 1.0)
    array([0. , 0.5, 1. ])
    """
    refuse_out(out)
    lower, upper = (a_min if min is None else min), (a_max if max is None else max)
    if (x := as_operand(x)).dtype.kind in "iu":  # a Python number that no integer of x can reach is no bound
        bounds = np.iinfo(x.dtype)
        lower = None if lower.__class__ is int and lower <= bounds.min else lower
        upper = None if upper.__class__ is int and upper >= bounds.max else upper
    if lower is None or upper is None or as_operand(lower).ndim or as_operand(upper).ndim:
        x = x if lower is None else maximum(x, lower)
        return x if upper is None else minimum(x, upper)
    return minimum(
        upper, maximum(lower, x)
    )  # between two numbers, zeros keep their sign: the second of equal ones is taken


relu = elementwise(
    "relu",
    lambda x: np.maximum(x, 0),
    lambda t, out: where(out > 0, t, 0.0),
    domain=POSITIVE,
    singular={(0.0,): (0.0,), (-1.0,): (0.0,)},
    facts=Facts(cost=1, saturates=True, exact=True),
)


describe(
    {
        maximum: "The larger of x and y, NaN if one is; ties share the derivative. "
        ">>> maximum([1.0, 5.0], 3.0) -> array([3., 5.])",
        minimum: "The smaller of x and y, NaN if one is; ties share the derivative. "
        ">>> minimum([1.0, 5.0], 3.0) -> array([1., 3.])",
        fmax: "The larger of x and y, or the other one if one is NaN. >>> fmax([1.0, np.nan], 3.0) -> array([3., 3.])",
        fmin: "The smaller of x and y, or the other one if one is NaN. >>> fmin([1.0, np.nan], 3.0) -> array([1., 3.])",
        copysign: "The size of x with the sign of y. >>> copysign([1.0, 2.0], [-1.0, 1.0]) -> array([-1.,  2.])",
        nextafter: "The next floating-point number after x in the direction of y. "
        ">>> nextafter([1.0], 2.0) - 1.0 -> array([2.22044605e-16])",
        heaviside: "0 for x < 0, 1 for x > 0, and y for x = 0. "
        ">>> heaviside([-1.0, 0.0, 2.0], 0.5) -> array([0. , 0.5, 1. ])",
        relu: "x where it is positive, else 0; the derivative at 0 is 0. >>> relu([-1.0, 2.0]) -> array([0., 2.])",
    }
)
