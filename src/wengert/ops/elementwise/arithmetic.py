"""Arithmetic, squares and roots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core import recurrences
from wengert.core.array import implements
from wengert.core.facts import CHEAP, PRODUCT, Facts
from wengert.core.kinds import describe, elementwise
from wengert.ops.elementwise.choices import POSITIVE, where
from wengert.ops.elementwise.predicates import equal, floor_divide, trunc

__all__ = [
    "add", "cbrt", "divide", "divmod", "fmod", "mod", "multiply", "negative", "positive", "reciprocal", "remainder",
    "sqrt", "square", "subtract", "true_divide",
]  # fmt: skip

# Arithmetic

add = elementwise("add", np.add, lambda t: t, lambda t: t, facts=Facts(commutative=True, cost=1, exact=True))
subtract = elementwise("subtract", np.subtract, lambda t: t, lambda t: -t, facts=CHEAP)
multiply = elementwise(
    "multiply",
    np.multiply,
    lambda t, y: t * y,
    lambda t, x: t * x,
    taylor=recurrences.multiply_series,
    facts=Facts(commutative=True, cost=1, multiplies=True, exact=True),
)
divide = elementwise(
    "divide",
    np.divide,
    lambda t, y: t / y,
    lambda t, out, y: -t * out / y,
    domain=((-2.0, 2.0), POSITIVE),
    taylor=recurrences.quotient_by(lambda x, y: divide(x, y)),
    facts=Facts(cost=4, multiplies=True, exact=True),
)
negative = elementwise("negative", np.negative, lambda t: -t, facts=CHEAP)
positive = elementwise("positive", np.positive, lambda t: t, facts=Facts(moves=True, cost=0, exact=True))
reciprocal = elementwise(
    "reciprocal", np.reciprocal, lambda t, out: -t * out * out, domain=POSITIVE, facts=Facts(cost=4, exact=True)
)
square = elementwise(
    "square",
    np.square,
    lambda t, x: t * (2.0 * x),
    taylor=lambda x: recurrences.multiply_series(x, x),
    facts=CHEAP,
)
remainder = elementwise(
    "remainder", np.remainder, lambda t: t, lambda t, x, y: -t * floor_divide(x, y), domain=((0.1, 0.9), (1.1, 2.0))
)
fmod = elementwise("fmod", np.fmod, lambda t: t, lambda t, x, y: -t * trunc(x / y), domain=((2.3, 2.5), (1.1, 1.14)))


@implements(np.divmod)
def divmod(x: Any, y: Any, /) -> tuple:
    """The quotient, rounded down, and the remainder.

    >>> divmod([7.0, -7.0], 2.0)
    (array([ 3., -4.]), array([1., 1.]))
    """
    return floor_divide(x, y), remainder(x, y)


def _divide_live(t: Any, y: Any) -> Any:
    t, y = np.asarray(t), np.asarray(y)
    shape = np.broadcast_shapes(t.shape, y.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(t, y, out=np.zeros(shape, np.result_type(t, y)), where=t != 0)[()]


def _multiply_live(t: Any, y: Any) -> Any:
    t, y = np.asarray(t), np.asarray(y)
    shape = np.broadcast_shapes(t.shape, y.shape)
    return np.multiply(t, y, out=np.zeros(shape, np.result_type(t, y)), where=t != 0)[()]


divide_live = elementwise(
    "divide_live",
    _divide_live,
    lambda t, y: divide_live(t, y),
    lambda t, x, out, y: -divide_live(multiply_live(t, out), where(equal(x, 0), 1.0, y)),
    domain=(POSITIVE, POSITIVE),
    singular={(0.0, 0.0): (math.inf, 0.0)},
    taylor=recurrences.quotient_by(lambda x, y: divide_live(x, y), lambda t, y: multiply_live(t, y)),
    facts=Facts(cost=4, multiplies=True, exact=True),
)
"""t / y, but zero wherever t is zero: for derivatives t / y whose y may vanish."""
multiply_live = elementwise(
    "multiply_live",
    _multiply_live,
    lambda t, y: multiply_live(t, y),
    lambda t, x: t * x,
    facts=PRODUCT._replace(exact=True),
)
"""t * y, but zero wherever t is zero: for derivatives t * y whose y may be infinite."""


# Powers

sqrt = elementwise(
    "sqrt",
    np.sqrt,
    lambda t, out: divide_live(t, 2.0 * out),
    domain=POSITIVE,
    singular={(0.0,): (math.inf,)},
    facts=Facts(cost=5, exact=True),
)
cbrt = elementwise(
    "cbrt",
    np.cbrt,
    lambda t, out: divide_live(t, 3.0 * out * out),
    domain=POSITIVE,
    singular={(0.0,): (math.inf,)},
)


describe(
    {
        add: "The sum x + y. >>> add([1.0, 2.0], 3.0) -> array([4., 5.])",
        subtract: "The difference x - y. >>> subtract([1.0, 2.0], 3.0) -> array([-2., -1.])",
        multiply: "The product x * y. >>> multiply([1.0, 2.0], 3.0) -> array([3., 6.])",
        divide: "The quotient x / y. >>> divide([1.0, 2.0], 4.0) -> array([0.25, 0.5 ])",
        negative: "The negative -x. >>> negative([1.0, -2.0]) -> array([-1.,  2.])",
        positive: "x itself, as a copy. >>> positive([1.0, -2.0]) -> array([ 1., -2.])",
        reciprocal: "The reciprocal 1 / x. >>> reciprocal([2.0, 4.0]) -> array([0.5 , 0.25])",
        square: "The square of x. >>> square([-2.0, 3.0]) -> array([4., 9.])",
        remainder: "The remainder of x / y, with the sign of y. >>> remainder([-3.0, 5.0], 4.0) -> array([1., 1.])",
        fmod: "The remainder of x / y, with the sign of x, as in C. >>> fmod([-3.0, 5.0], 4.0) -> array([-3.,  1.])",
        sqrt: "The square root of x. >>> sqrt([4.0, 9.0]) -> array([2., 3.])",
        cbrt: "The cube root of x. >>> cbrt([-8.0, 27.0]) -> array([-2.,  3.])",
    }
)


# Other names

mod = remainder
true_divide = divide
