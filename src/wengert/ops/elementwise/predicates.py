"""Operations through which no gradient flows: comparisons, logic, tests, piecewise constant functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.array import implements
from wengert.core.errors import refuse_out
from wengert.core.facts import CHEAP, Facts
from wengert.core.kinds import describe, keep_params, nondifferentiable
from wengert.core.primitive import as_operand

__all__ = [
    "allclose", "around", "array_equal", "array_equiv", "bitwise_and", "bitwise_invert", "bitwise_left_shift",
    "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "equal", "fix", "floor",
    "floor_divide", "greater", "greater_equal", "invert", "isclose", "iscomplex", "isfinite", "isinf", "isnan",
    "isneginf", "isposinf", "isreal", "left_shift", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "logical_xor", "not_equal", "right_shift", "rint", "round", "signbit", "trunc",
]  # fmt: skip

STEPS = "piecewise constant: the derivative is zero wherever there is one"
TRUTH = "the result is a boolean"
SAME = Facts(commutative=True, cost=1, tests_points=True, exact=True)
POINTS = Facts(cost=1, tests_points=True, exact=True)
BITS = "works on the bits of integers"

floor = nondifferentiable("floor", np.floor, reason=STEPS)
ceil = nondifferentiable("ceil", np.ceil, reason=STEPS)
trunc = nondifferentiable("trunc", np.trunc, reason=STEPS)
implements(np.fix)(trunc)
rint = nondifferentiable("rint", np.rint, reason=STEPS)
sign = nondifferentiable("sign", np.sign, reason=STEPS, facts=CHEAP)
floor_divide = nondifferentiable("floor_divide", np.floor_divide, 2, domain=(0.5, 2.0), reason=STEPS)
_round = nondifferentiable("round", np.round, params={"decimals": 1}, batch=keep_params, reason=STEPS)

equal = nondifferentiable("equal", np.equal, 2, reason=TRUTH, facts=SAME)
not_equal = nondifferentiable("not_equal", np.not_equal, 2, reason=TRUTH, facts=SAME)
less = nondifferentiable("less", np.less, 2, reason=TRUTH, facts=CHEAP)
less_equal = nondifferentiable("less_equal", np.less_equal, 2, reason=TRUTH, facts=CHEAP)
greater = nondifferentiable("greater", np.greater, 2, reason=TRUTH, facts=CHEAP)
greater_equal = nondifferentiable("greater_equal", np.greater_equal, 2, reason=TRUTH, facts=CHEAP)
logical_and = nondifferentiable(
    "logical_and", np.logical_and, 2, reason=TRUTH, facts=Facts(commutative=True, cost=1, exact=True)
)
logical_or = nondifferentiable(
    "logical_or", np.logical_or, 2, reason=TRUTH, facts=Facts(commutative=True, cost=1, exact=True)
)
logical_xor = nondifferentiable(
    "logical_xor", np.logical_xor, 2, reason=TRUTH, facts=Facts(commutative=True, exact=True)
)
logical_not = nondifferentiable("logical_not", np.logical_not, reason=TRUTH, facts=CHEAP)
isnan = nondifferentiable("isnan", np.isnan, reason=TRUTH, facts=POINTS)
isinf = nondifferentiable("isinf", np.isinf, reason=TRUTH, facts=POINTS)
isfinite = nondifferentiable("isfinite", np.isfinite, reason=TRUTH, facts=POINTS)
signbit = nondifferentiable("signbit", np.signbit, reason=TRUTH)
isposinf = implements(np.isposinf)(nondifferentiable("isposinf", np.isposinf, batch=keep_params, reason=TRUTH))
isneginf = implements(np.isneginf)(nondifferentiable("isneginf", np.isneginf, batch=keep_params, reason=TRUTH))
isreal = implements(np.isreal)(nondifferentiable("isreal", np.isreal, batch=keep_params, reason=TRUTH))
iscomplex = implements(np.iscomplex)(nondifferentiable("iscomplex", np.iscomplex, batch=keep_params, reason=TRUTH))

bitwise_and = nondifferentiable(
    "bitwise_and", np.bitwise_and, 2, domain=None, reason=BITS, facts=Facts(commutative=True, exact=True)
)
bitwise_or = nondifferentiable(
    "bitwise_or", np.bitwise_or, 2, domain=None, reason=BITS, facts=Facts(commutative=True, exact=True)
)
bitwise_xor = nondifferentiable(
    "bitwise_xor", np.bitwise_xor, 2, domain=None, reason=BITS, facts=Facts(commutative=True, exact=True)
)
invert = nondifferentiable("invert", np.invert, domain=None, reason=BITS)
left_shift = nondifferentiable("left_shift", np.left_shift, 2, domain=None, reason=BITS)
right_shift = nondifferentiable("right_shift", np.right_shift, 2, domain=None, reason=BITS)

_isclose = nondifferentiable(
    "isclose", np.isclose, 2, params={"rtol": 1e-5, "atol": 1e-8, "equal_nan": False}, batch=keep_params, reason=TRUTH
)


@implements(np.round, np.around)
def round(a: Any, /, decimals: int = 0, out: None = None) -> Any:
    """x rounded to a number of decimals; its derivative is zero.

    >>> round([1.234, 5.678], 1)
    array([1.2, 5.7])
    """
    refuse_out(out)
    return _round(a, decimals=decimals)


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether elements are equal within a tolerance: |a - b| <= atol + rtol |b|.

    >>> isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
    array([ True, False])
    """
    return _isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements of two arrays are equal within a tolerance: |a - b| <= atol + rtol |b|.

    >>> allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
    True
    """
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and the same elements.

    >>> array_equal([1, 2], [1, 2]), array_equal([1, 2], [[1, 2]])
    (True, False)
    """
    if as_operand(a1).shape != as_operand(a2).shape:
        return False
    return bool((isclose(a1, a2, 0.0, 0.0, True) if equal_nan else equal(a1, a2)).all())


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays are equal once one is broadcast to the other.

    >>> array_equiv([1, 2], [[1, 2], [1, 2]])
    True
    """
    a1, a2 = as_operand(a1), as_operand(a2)
    try:
        np.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return False
    return bool(equal(a1, a2).all())


describe(
    {
        floor: "The largest integer <= x. >>> floor([-1.5, 1.5]) -> array([-2.,  1.])",
        ceil: "The smallest integer >= x. >>> ceil([-1.5, 1.5]) -> array([-1.,  2.])",
        trunc: "The integer next to x in the direction of 0. >>> trunc([-1.5, 1.5]) -> array([-1.,  1.])",
        rint: "The nearest integer; of two that are equally near, the even one. "
        ">>> rint([0.5, 1.5, 2.2]) -> array([0., 2., 2.])",
        floor_divide: "The largest integer <= x / y. >>> floor_divide([-3.0, 5.0], 2.0) -> array([-2.,  2.])",
        equal: "Whether x == y. >>> equal([1.0, 2.0], 2.0) -> array([False,  True])",
        not_equal: "Whether x != y. >>> not_equal([1.0, 2.0], 2.0) -> array([ True, False])",
        less: "Whether x < y. >>> less([1.0, 2.0], 2.0) -> array([ True, False])",
        less_equal: "Whether x <= y. >>> less_equal([1.0, 2.0], 2.0) -> array([ True,  True])",
        greater: "Whether x > y. >>> greater([2.0, 3.0], 2.0) -> array([False,  True])",
        greater_equal: "Whether x >= y. >>> greater_equal([2.0, 1.0], 2.0) -> array([ True, False])",
        logical_and: "Whether both x and y are true. "
        ">>> logical_and([True, True], [True, False]) -> array([ True, False])",
        logical_or: "Whether x or y or both are true. "
        ">>> logical_or([True, False], [False, False]) -> array([ True, False])",
        logical_xor: "Whether exactly one of x and y is true. "
        ">>> logical_xor([True, True], [True, False]) -> array([False,  True])",
        logical_not: "Whether x is false. >>> logical_not([True, False]) -> array([False,  True])",
        isnan: "Whether x is NaN. >>> isnan([1.0, np.nan]) -> array([False,  True])",
        isinf: "Whether x is infinite. >>> isinf([1.0, -np.inf]) -> array([False,  True])",
        isfinite: "Whether x is neither infinite nor NaN. "
        ">>> isfinite([1.0, np.inf, np.nan]) -> array([ True, False, False])",
        signbit: "Whether the sign of x is negative, also that of -0.0. "
        ">>> signbit([-0.0, 1.0]) -> array([ True, False])",
        isposinf: "Whether x is positive infinity. >>> isposinf([np.inf, -np.inf]) -> array([ True, False])",
        isneginf: "Whether x is negative infinity. >>> isneginf([np.inf, -np.inf]) -> array([False,  True])",
        isreal: "Whether the imaginary part of x is 0. >>> isreal([1.0, 1.0j]) -> array([ True, False])",
        iscomplex: "Whether the imaginary part of x is not 0. >>> iscomplex([1.0, 1.0j]) -> array([False,  True])",
        bitwise_and: "The bits that are set in both x and y. >>> bitwise_and([12, 6], 10) -> array([8, 2])",
        bitwise_or: "The bits that are set in x or y. >>> bitwise_or([12, 6], 10) -> array([14, 14])",
        bitwise_xor: "The bits that are set in exactly one of x and y. >>> bitwise_xor([12, 6], 10) -> array([ 6, 12])",
        invert: "The bits of x inverted; of booleans, the negation. >>> invert([0, 5]) -> array([-1, -6])",
        left_shift: "The bits of x moved y places to the left: x * 2 ** y. "
        ">>> left_shift([1, 5], 2) -> array([ 4, 20])",
        right_shift: "The bits of x moved y places to the right: x // 2 ** y. "
        ">>> right_shift([4, 20], 2) -> array([1, 5])",
    }
)


# Other names

around = round
bitwise_invert = bitwise_not = invert
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift
fix = trunc
