"""Exponentials, logarithms, powers, and the functions made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core import recurrences
from wengert.core.array import implements
from wengert.core.facts import FLAT
from wengert.core.kinds import describe, elementwise
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import multiply, reciprocal, sqrt, square
from wengert.ops.elementwise.choices import POSITIVE, where
from wengert.ops.elementwise.predicates import equal, isinf, logical_and

__all__ = [
    "exp", "exp2", "expm1", "float_power", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "pow", "power",
    "sigmoid", "softplus",
]  # fmt: skip

LN2, LN10, PI = math.log(2.0), math.log(10.0), math.pi


def _power_base(t: Any, x: Any, y: Any) -> Any:
    if isinstance(y, int | float):
        return t * (y * power(x, y - 1)) if y else t * 0.0
    broken = logical_and(equal(x, 0), equal(y, 0))  # there y * x**(y - 1) is 0 * inf, while x**y is constant in x
    return t * where(broken, 0.0, y * power(where(broken, 1.0, x), y - 1))


_power = elementwise(
    "power",
    np.power,
    _power_base,
    lambda t, x, out: t * out * log(where(x == 0, 1.0, x)),
    domain=(POSITIVE, (-2.0, 2.0)),
    taylor=recurrences.power_of,
    singular={(0.0, 0.0): (0.0, 0.0), (0.0, 2.0): (0.0, 0.0), (0.0, 1.0): (1.0, 0.0), (-2.0, 3.0): (12.0, math.nan)},
)
_EXACT_POWERS = {2: square, 0.5: sqrt, -1: reciprocal}


@implements(np.power)
def power(x1: Any, x2: Any, /) -> Any:
    """x1 ** x2. For a constant exponent, only the base is kept.

    >>> power([2.0, 3.0], 2)
    array([4., 9.])
    """
    if x2.__class__ in (int, float) and x2 in _EXACT_POWERS and as_operand(x1).dtype.kind in "fc":
        return _EXACT_POWERS[x2](x1)
    return _power(x1, x2)


def raise_to(x: Any, y: Any, /) -> Any:
    """The operator x ** y: `power`, except that NumPy's operator makes the square of booleans 8-bit integers."""
    if (
        y.__class__ in (int, float)
        and y in _EXACT_POWERS
        and as_operand(x).dtype.kind in ("fcb" if y.__class__ is int and y == 2 else "fc")
    ):
        return _EXACT_POWERS[y](x)
    return _power(x, y)


@implements(np.float_power)
def float_power(x1: Any, x2: Any, /) -> Any:
    """x1 ** x2 in double precision.

    >>> float_power([2, 3], 2)
    array([4., 9.])
    """
    return power(multiply(x1, np.float64(1.0)), x2)


# Exponentials and logarithms

exp = elementwise("exp", np.exp, lambda t, out: t * out, facts=FLAT)
exp2 = elementwise("exp2", np.exp2, lambda t, out: t * (LN2 * out), facts=FLAT)
expm1 = elementwise("expm1", np.expm1, lambda t, out: t * (out + 1.0), facts=FLAT)
log = elementwise("log", np.log, lambda t, x: t / x, domain=POSITIVE)
log2 = elementwise("log2", np.log2, lambda t, x: t / (LN2 * x), domain=POSITIVE)
log10 = elementwise("log10", np.log10, lambda t, x: t / (LN10 * x), domain=POSITIVE)
log1p = elementwise("log1p", np.log1p, lambda t, x: t / (1.0 + x), domain=(-0.8, 3.0))
logaddexp = elementwise(
    "logaddexp",
    np.logaddexp,
    lambda t, x, y: t * sigmoid(_difference(x, y)),
    lambda t, x, y: t * sigmoid(_difference(y, x)),
    singular={(-math.inf, -math.inf): (0.5, 0.5), (1.0, -math.inf): (1.0, 0.0), (800.0, 0.0): (1.0, 0.0)},
    facts=FLAT,
)
logaddexp2 = elementwise(
    "logaddexp2",
    np.logaddexp2,
    lambda t, x, y: t * sigmoid(LN2 * _difference(x, y)),
    lambda t, x, y: t * sigmoid(LN2 * _difference(y, x)),
    facts=FLAT,
)


def _difference(x: Any, y: Any) -> Any:
    """x - y, and zero where both are the same infinity."""
    return where(logical_and(equal(x, y), isinf(x)), 0.0, x - y)


# Activations


def _stable_sigmoid(x: Any) -> Any:
    if np.iscomplexobj(x):
        return 1.0 / (1.0 + np.exp(-x))
    return np.exp(np.minimum(x, 0)) / (1.0 + np.exp(-np.abs(x)))  # of numbers in (0, 1]: nothing overflows


def _stable_softplus(x: Any) -> Any:
    if np.iscomplexobj(x):
        return np.logaddexp(x, 0.0)  # which raises the error
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))  # as NumPy's logaddexp, which runs one by one


sigmoid = elementwise(
    "sigmoid",
    _stable_sigmoid,
    lambda t, out: t * (out * (1.0 - out)),
    singular={(-800.0,): (0.0,), (800.0,): (0.0,)},
    facts=FLAT,
)
softplus = elementwise(
    "softplus",
    _stable_softplus,
    lambda t, x: t * sigmoid(x),
    singular={(-800.0,): (0.0,), (800.0,): (1.0,)},
    facts=FLAT,
)


describe(
    {
        exp: "The exponential e ** x. >>> exp([0.0, 1.0]) -> array([1.        , 2.71828183])",
        exp2: "2 ** x. >>> exp2([0.5, 3.0]) -> array([1.41421356, 8.        ])",
        expm1: "exp(x) - 1, accurate for small x. >>> expm1([0.0, 1e-10]) -> array([0.e+00, 1.e-10])",
        log: "The natural logarithm of x. >>> log([1.0, 10.0]) -> array([0.        , 2.30258509])",
        log2: "The logarithm of x to base 2. >>> log2([0.5, 8.0]) -> array([-1.,  3.])",
        log10: "The logarithm of x to base 10. >>> log10([0.1, 1000.0]) -> array([-1.,  3.])",
        log1p: "log(1 + x), accurate for small x. >>> log1p([0.0, 1e-10]) -> array([0.e+00, 1.e-10])",
        logaddexp: "log(exp(x) + exp(y)), without overflow. "
        ">>> logaddexp([0.0, 1000.0], [0.0, 1000.0]) -> array([6.93147181e-01, 1.00069315e+03])",
        logaddexp2: "log2(2 ** x + 2 ** y), without overflow. "
        ">>> logaddexp2([0.0, 2000.0], [0.0, 2000.0]) -> array([1.000e+00, 2.001e+03])",
        sigmoid: "The logistic function 1 / (1 + exp(-x)), without overflow. "
        ">>> sigmoid([-1000.0, 0.0, 2.0]) -> array([0.        , 0.5       , 0.88079708])",
        softplus: "log(1 + exp(x)), without overflow. "
        ">>> softplus([-1.0, 0.0, 1000.0]) -> array([3.13261688e-01, 6.93147181e-01, 1.00000000e+03])",
    }
)


# Other names

pow = power
