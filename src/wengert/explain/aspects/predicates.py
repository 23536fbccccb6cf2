"""Comparisons, logic, rounding, digits and bits: forms of many digits."""

from __future__ import annotations

from wengert.explain.comparing.digits import NEIGHBOURS, digits, enter_as_in_numpy, of_mpmath, on_numbers
from wengert.ops.elementwise.bits import _exponent, _fraction, _ldexp, _mantissa, bitwise_count, gcd, lcm, spacing
from wengert.ops.elementwise.predicates import (
    _isclose,
    _round,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    ceil,
    equal,
    floor,
    floor_divide,
    greater,
    greater_equal,
    invert,
    iscomplex,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    isreal,
    left_shift,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    right_shift,
    rint,
    sign,
    signbit,
    trunc,
)
from wengert.ops.shape.casting import _stop_gradient

for operation, name in (
    (floor, "floor"),
    (ceil, "ceil"),
    (rint, "nint"),
    (sign, "sign"),
    (isnan, "isnan"),
    (isinf, "isinf"),
    (isfinite, "isfinite"),
):
    digits.enter(of_mpmath(name), operation)
digits.enter(on_numbers(lambda mp, x: mp.mpf(int(x))), trunc)
digits.enter(on_numbers(lambda mp, x, decimals: mp.nint(x * mp.mpf(10) ** decimals) / mp.mpf(10) ** decimals), _round)
digits.enter(on_numbers(lambda mp, x: x - int(x)), _fraction)
digits.enter(on_numbers(lambda mp, x: mp.frexp(x)[0]), _mantissa)
digits.enter(on_numbers(lambda mp, x: mp.frexp(x)[1]), _exponent)
digits.enter(on_numbers(lambda mp, x, n: mp.ldexp(x, int(n))), _ldexp)
digits.enter(on_numbers(lambda mp, x, y: mp.floor(x / y)), floor_divide)
digits.enter(on_numbers(lambda mp, x: x), _stop_gradient)
digits.without(NEIGHBOURS, spacing)

digits.enter(on_numbers(lambda mp, x, y: x == y), equal)
digits.enter(on_numbers(lambda mp, x, y: x != y), not_equal)
digits.enter(on_numbers(lambda mp, x, y: x < y), less)
digits.enter(on_numbers(lambda mp, x, y: x <= y), less_equal)
digits.enter(on_numbers(lambda mp, x, y: x > y), greater)
digits.enter(on_numbers(lambda mp, x, y: x >= y), greater_equal)
digits.enter(on_numbers(lambda mp, x, y, rtol, atol, equal_nan: abs(x - y) <= atol + rtol * abs(y)), _isclose)
digits.enter(on_numbers(lambda mp, x, y: bool(x) and bool(y)), logical_and)
digits.enter(on_numbers(lambda mp, x, y: bool(x) or bool(y)), logical_or)
digits.enter(on_numbers(lambda mp, x, y: bool(x) != bool(y)), logical_xor)
digits.enter(on_numbers(lambda mp, x: not x), logical_not)
digits.enter(on_numbers(lambda mp, x: x < 0), signbit)
digits.enter(on_numbers(lambda mp, x: x == mp.inf), isposinf)
digits.enter(on_numbers(lambda mp, x: x == -mp.inf), isneginf)
digits.enter(on_numbers(lambda mp, x: True), isreal)
digits.enter(on_numbers(lambda mp, x: False), iscomplex)
enter_as_in_numpy(bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, right_shift, gcd, lcm, bitwise_count)
