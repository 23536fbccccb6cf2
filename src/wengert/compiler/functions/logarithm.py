"""Logarithms: log, log2, log10, log1p, and logarithms in twice the precision for other functions.

A positive number is 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). With s = f / (2 + f), log(1 + f) = 2
atanh(s), and 2 s = f - s f, so log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + s^2 P(s^2)): the first term is exact, the others
are small beside it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from wengert.compiler.functions.vector_functions import vector
from wengert.compiler.simd.double import Double, double_constant, fast_two_sum, two_product, two_sum
from wengert.compiler.simd.lanes import Lanes, divide_usual, fma, polynomial, select
from wengert.ops.elementwise import exponential


class Format(NamedTuple):
    """Constants of a precision: the bits of the mantissa, log 2 in two parts (k times the first is exact), and P."""

    digits: int
    bias: int
    ln2: tuple[float, float]
    root_half: int
    atanh: tuple[float, ...]


FORMATS = {
    # P(z) = (2 atanh(s) / s - 2) / z with z = s^2 < 0.0295: z P to 2^-58.4 of 2 and to 2^-29.1.
    "f64": Format(
        digits=52,
        bias=1023,
        ln2=(float.fromhex("0x1.62e42fefa38p-1"), float.fromhex("0x1.ef35793c7673p-45")),
        root_half=0x3FE6A09E667F3BCD,
        atanh=(
            0.14798799667383708, 0.15313784249105922, 0.1818357395137594, 0.22222198404457907, 0.28571428743855104,
            0.3999999999940895, 0.6666666666666735,
        ),
    ),
    "f32": Format(
        digits=23,
        bias=127,
        ln2=(float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cp-20")),
        root_half=0x3F3504F3,
        atanh=(0.29872167110443115, 0.39977556467056274, 0.6666677594184875),
    ),
}  # fmt: skip

LN2 = (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56"))
LOG2_E = (float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.777d0ffda0d24p-56"))
LOG10_E = (float.fromhex("0x1.bcb7b1526e50ep-2"), float.fromhex("0x1.95355baaafad3p-57"))
LOG10_2 = (float.fromhex("0x1.34413509f79ffp-2"), float.fromhex("-0x1.9dc1da994fd21p-59"))


def split_positive(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """k as an integer and as a float, and m: x = 2^k m with sqrt(1/2) <= m < sqrt(2), for a positive normal x."""
    form = FORMATS[x.type.kind]
    above = x.bits() - form.root_half
    k = above >> form.digits
    m = (above - (k << form.digits) + form.root_half).floats()
    # adding a small integer to the bits of 1.5 * 2^digits adds it to the number
    magic = x.like(1.5 * 2.0**form.digits)
    return k, (k + magic.bits()).floats() - magic, m


def split_any(x: Lanes) -> tuple[Lanes, Lanes]:
    """k as a float, and m, also for subnormal x."""
    form = FORMATS[x.type.kind]
    tiny = x < 2.0 ** (1 - form.bias)
    _, k, m = split_positive(select(tiny, x * 2.0 ** (form.digits + 2), x))
    return k - select(tiny, x.like(form.digits + 2), 0.0), m


def tail(f: Lanes, half_square: Lanes) -> Lanes:
    """s (f^2 / 2 + s^2 P(s^2)), which is log(1 + f) - (f - f^2 / 2)."""
    s = divide_usual(f, f + 2.0)
    z = s * s
    return s * fma(z, polynomial(z, FORMATS[f.type.kind].atanh), half_square)


def log_of_sum(k: Lanes, f: Lanes) -> Double:
    """k log 2 + log(1 + f); the low part of the result is not normalised."""
    half_square = f * f * 0.5
    ln2 = FORMATS[f.type.kind].ln2
    total, error = fast_two_sum(k * ln2[0], f)
    return Double(total, error + fma(k, ln2[1], tail(f, half_square) - half_square))


def log_of_double_sum(k: Lanes, f: Lanes, low: Lanes) -> Double:
    """k log 2 + log(1 + f + low), where `low` is less than an ulp of f, with f^2 / 2 exact too.

    The low part is not normalised.
    """
    half_square, square_error = two_product(f, f * 0.5)
    ln2 = FORMATS[f.type.kind].ln2
    total, error = fast_two_sum(k * ln2[0], f)
    total, more = fast_two_sum(total, -half_square)
    small = (tail(f, half_square) - square_error) + fma(-low, f, low)
    return Double(total, (error + more) + fma(k, ln2[1], small))


def where_positive(x: Lanes, result: Lanes, zero: float) -> Lanes:
    """The logarithm's special values: infinite at infinity, minus infinite at `zero`, NaN below; NaN at NaN."""
    result = select(x < math.inf, result, x)
    result = select(x < zero, math.nan, result)
    return select(x.eq(zero), -math.inf, result)


@vector(exponential.log)
def log(x: Lanes) -> Lanes:
    """The natural logarithm."""
    k, m = split_any(x)
    return where_positive(x, log_of_sum(k, m - 1.0).value(), 0.0)


def log1p_double(x: Lanes, low: Lanes | None = None) -> Double:
    """log(1 + x + low) for finite x > -1, where `low` is less than an ulp of x; the low part is not normalised."""
    form = FORMATS[x.type.kind]
    one, rest = two_sum(x.like(1.0), x)
    k, k_float, m = split_positive(one)
    scale = ((form.bias - k) << form.digits).floats()
    # above 2^(digits + 10) the rest is negligible, and 2^-k may not be a float
    rest = select(x > 2.0 ** (form.digits + 10), 0.0, (rest if low is None else rest + low) * scale)
    f, f_low = fast_two_sum(m - 1.0, rest)
    if low is not None:
        # if x is small, adding it to 1 would lose `low`
        f, f_low = select(k.eq(0), x, f), select(k.eq(0), low, f_low)
    return log_of_double_sum(k_float, f, f_low)


def log1p_of_fraction(x: Lanes, low: Lanes) -> Double:
    """The same for x from 0 to 1, where k is 0 or 1."""
    above = x > math.sqrt(2.0) - 1.0
    f, f_low = fast_two_sum(x.like(-1.0), x)
    k, f, f_low = select(above, x.like(1.0), 0.0), select(above, f * 0.5, x), select(above, (f_low + low) * 0.5, low)
    return log_of_double_sum(k, f, f_low)


@vector(exponential.log1p)
def log1p(x: Lanes) -> Lanes:
    """log(1 + x)."""
    result = log1p_double(x).value()
    result = select(x.abs() < 2.0 ** -(FORMATS[x.type.kind].digits + 2), x, result)
    return where_positive(x, result, -1.0)


def log_parts(x: Lanes) -> tuple[Lanes, Double]:
    """k, and log(m) to about 2^-57 of itself."""
    k, m = split_any(x)
    f = m - 1.0
    half_square, error = two_product(f, f * 0.5)
    total, rest = fast_two_sum(f, -half_square)
    return k, fast_two_sum(total, rest + (tail(f, half_square) - error))


@vector(exponential.log2)
def log2(x: Lanes) -> Lanes:
    """The logarithm to base 2."""
    k, y = log_parts(x)
    result = y.times(double_constant(x, *LOG2_E))
    total, error = fast_two_sum(k, result.high)
    return where_positive(x, total + (error + result.low), 0.0)


@vector(exponential.log10)
def log10(x: Lanes) -> Lanes:
    """The logarithm to base 10."""
    k, y = log_parts(x)
    result = y.times(double_constant(x, *LOG10_E))
    base = double_constant(x, *LOG10_2)
    multiple, rest = two_product(k, base.high)
    total, error = fast_two_sum(multiple, result.high)
    return where_positive(x, total + (error + (fma(k, base.low, rest) + result.low)), 0.0)
