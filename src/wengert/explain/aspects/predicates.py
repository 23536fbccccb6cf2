"""Comparisons, logic, rounding, digits and bits: forms of many digits."""

from __future__ import annotations

from wengert.core.aspects import primitive_of
from wengert.explain.comparing.digits import NEIGHBOURS, digits, elementwise_form, enter_numpy_forms, mpmath_form
from wengert.ops.elementwise import bits, predicates
from wengert.ops.shape import casting

for operation in (
    predicates.floor,
    predicates.ceil,
    predicates.sign,
    predicates.isnan,
    predicates.isinf,
    predicates.isfinite,
):
    digits.enter(mpmath_form(primitive_of(operation).name), operation)
digits.enter(mpmath_form("nint"), predicates.rint)
digits.enter(elementwise_form(lambda mp, x: mp.mpf(int(x))), predicates.trunc)
digits.enter(
    elementwise_form(lambda mp, x, decimals: mp.nint(x * mp.mpf(10) ** decimals) / mp.mpf(10) ** decimals),
    predicates._round,
)
digits.enter(elementwise_form(lambda mp, x: x - int(x)), bits._fraction)
digits.enter(elementwise_form(lambda mp, x: mp.frexp(x)[0]), bits._mantissa)
digits.enter(elementwise_form(lambda mp, x: mp.frexp(x)[1]), bits._exponent)
digits.enter(elementwise_form(lambda mp, x, n: mp.ldexp(x, int(n))), bits._ldexp)
digits.enter(elementwise_form(lambda mp, x, y: mp.floor(x / y)), predicates.floor_divide)
digits.enter(elementwise_form(lambda mp, x: x), casting._stop_gradient)
digits.without(NEIGHBOURS, bits.spacing)

digits.enter(
    elementwise_form(lambda mp, x, y, rtol, atol, equal_nan: abs(x - y) <= atol + rtol * abs(y)), predicates._isclose
)
digits.enter(elementwise_form(lambda mp, x, y: bool(x) != bool(y)), predicates.logical_xor)
digits.enter(elementwise_form(lambda mp, x: x < 0), predicates.signbit)
digits.enter(elementwise_form(lambda mp, x: x == mp.inf), predicates.isposinf)
digits.enter(elementwise_form(lambda mp, x: x == -mp.inf), predicates.isneginf)
digits.enter(elementwise_form(lambda mp, x: True), predicates.isreal)
digits.enter(elementwise_form(lambda mp, x: False), predicates.iscomplex)
enter_numpy_forms(
    predicates.equal, predicates.not_equal, predicates.less, predicates.less_equal, predicates.greater,
    predicates.greater_equal, predicates.logical_and, predicates.logical_or, predicates.logical_not,
    predicates.bitwise_and, predicates.bitwise_or, predicates.bitwise_xor, predicates.invert,
    predicates.left_shift, predicates.right_shift, bits.gcd, bits.lcm, bits.bitwise_count,
)  # fmt: skip
