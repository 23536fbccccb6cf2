"""Binomial coefficients, of any real numbers."""

from __future__ import annotations

from typing import Any

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.kinds import describe, elementwise
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.predicates import floor, logical_and, logical_or
from wengert.ops.special.gamma import digamma, gamma, rgamma, rgamma_slope
from wengert.ops.special.scipy_functions import of_scipy, scipy_special

__all__ = ["binom", "comb"]


def is_pole(x: Any) -> Any:
    """Whether x is a pole of gamma."""
    return logical_and(x <= 0.0, floor(x) == x)


def slope(x: Any, y: Any, out: Any, of_x: bool) -> Any:
    """The derivative of gamma(x + 1) / (gamma(x - y + 1) gamma(y + 1)), also where the denominator is infinite."""
    a, b = x - y + 1.0, y + 1.0
    is_zero = logical_or(is_pole(a), is_pole(b))
    safe_a, safe_b = where(is_zero, 1.0, a), where(is_zero, 1.0, b)
    if of_x:
        regular = digamma(x + 1.0) - digamma(safe_a)
        at_zero = gamma(x + 1.0) * rgamma(b) * rgamma_slope(a)
    else:
        regular = digamma(safe_a) - digamma(safe_b)
        at_zero = gamma(x + 1.0) * (rgamma(a) * rgamma_slope(b) - rgamma(b) * rgamma_slope(a))
    return where(is_zero, at_zero, where(is_zero, 0.0, out) * regular)


binom = elementwise(
    "binom",
    of_scipy("binom"),
    lambda t, x, y, out: t * slope(x, y, out, True),
    lambda t, x, y, out: t * slope(x, y, out, False),
    domain=((2.2, 4.0), (0.2, 1.8)),
    singular={(2.0, 3.0): (1.0 / 3.0, -1.0 / 3.0), (1.0, -1.0): (0.0, 0.5)},
)
describe(
    {
        binom: "The binomial coefficient of x over y, by gamma functions. "
        ">>> binom([4.0, 4.5], 2.0) -> array([6.   , 7.875])"
    }
)


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """The number of combinations of N things taken k at a time; with `repetition`, each may be taken again.

    It is zero where k is negative or larger than N. With `exact`, integers are computed without rounding.

    >>> comb([4, 5], 2)
    array([ 6., 10.])
    """
    if exact:
        if isinstance(N, Array) or isinstance(k, Array):
            raise user_error(TypeError, "comb with exact=True takes Python's integers", "Leave exact out.")
        return scipy_special("comb")(N, k, exact=True, repetition=repetition)
    N, k = as_operand(N), as_operand(k)
    if repetition:
        N = N + k - 1
    return where((k <= N) & (N >= 0) & (k >= 0), binom(N, k), 0.0)
