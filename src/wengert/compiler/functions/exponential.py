"""The exponential and functions of it: exp, exp2, expm1, sigmoid, softplus, logaddexp.

With n the integer nearest to x / log 2, e^x = 2^n e^r and |r| <= log(2) / 2. The polynomial gives e^r = 1 + r + rest,
with `rest` small beside r, and the sum stays in parts until the last rounding. Adding 1.5 * 2^52 (2^23) rounds to an
integer and leaves it in the low bits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from wengert.compiler.functions.logarithm import FORMATS, LN2, log1p_of_fraction
from wengert.compiler.functions.vector_functions import replace_rare, vector, vector_function
from wengert.compiler.simd.double import Double, double_constant, fast_two_sum, two_product, two_sum
from wengert.compiler.simd.lanes import Lanes, divide_usual, fma, polynomial, select
from wengert.ops.elementwise import exponential


class Range(NamedTuple):
    """The range of e^x: infinite above `largest`, zero below `smallest`; below `negligible`, 1 + e^x is 1.

    Below `subnormal` a result is first multiplied by 2^lift. `third` approximates (e^r - 1 - r - r^2 / 2) / r^3.
    """

    largest: float
    smallest: float
    subnormal: float
    negligible: float
    lift: int
    third: tuple[float, ...]


RANGES = {
    # r^2 third to 2^-61.6 and 2^-31.1 on |r| < 0.3467
    "f64": Range(
        largest=709.782712893384, smallest=-746.0, subnormal=-708.0, negligible=-40.0, lift=128,
        third=(
            2.091959139578398e-09, 2.510932477032212e-08, 2.7557258976262224e-07, 2.755724344103117e-06,
            2.4801587340801935e-05, 0.00019841269886823523, 0.00138888888888774, 0.008333333333321384,
            0.04166666666666668, 0.16666666666666677,
        ),
    ),
    "f32": Range(
        largest=88.72283172607422, smallest=-105.0, subnormal=-87.0, negligible=-20.0, lift=64,
        third=(
            0.00019952486036345363, 0.0013933051377534866, 0.008333198726177216, 0.041666485369205475,
            0.1666666716337204,
        ),
    ),
}  # fmt: skip


class ReducedArgument(NamedTuple):
    """e^x = 2^n (1 + r + r^2 / 2 + r^3 third + low); `n` is in the bits of the exponent, modulo their number."""

    n: Lanes
    r: Lanes
    third: Lanes
    low: Lanes

    def power(self, less: int = 0) -> Lanes:
        """2^(n - less), where that is a normal float."""
        form = FORMATS[self.r.type.kind]
        return (self.n + (form.bias - less << form.digits)).floats()

    def rest(self) -> Lanes:
        """All terms after 1 + r."""
        return fma(self.r * self.r, fma(self.third, self.r, 0.5), self.low)

    def mantissa(self) -> Double:
        """e^x / 2^n, the low part not normalised."""
        high, low = fast_two_sum(self.r.like(1.0), self.r)
        return Double(high, low + self.rest())

    def minus(self, difference: Double, power: Lanes) -> Double:
        """e^x - 1, or a fraction of it, given the same of 2^n - 1 and of 2^n; the low part is not normalised."""
        high, low = fast_two_sum(difference.high, self.r * power)
        return Double(high, fma(self.rest(), power, low + difference.low))

    def minus_exactly(self, difference: Double, power: Lanes) -> Double:
        """The same with r^2 / 2 exact too: it is a large part of the result where 1 + r nearly cancels 1."""
        high, low = fast_two_sum(difference.high, self.r * power)
        square, error = two_product(self.r, self.r)
        high, more = fast_two_sum(high, square * (power * 0.5))
        small = fma(self.r * square, self.third, fma(error, 0.5, self.low))
        return Double(high, fma(small, power, (low + difference.low) + more))


def reduce_argument(x: Lanes, low: Lanes | None = None) -> ReducedArgument:
    """x + low split at a multiple of log 2, where `low` is less than an ulp of x."""
    form = FORMATS[x.type.kind]
    magic = 1.5 * 2.0**form.digits
    shifted = fma(x, 1.0 / math.log(2.0), magic)
    n = shifted - magic
    high = fma(n, -form.ln2[0], x)
    r = fma(n, -form.ln2[1], high)
    error = fma(n, -form.ln2[1], high - r)
    if low is not None:
        # an ulp of x may be many ulps of r
        r, error = two_sum(r, error + low)
    return exponential_of_rest(shifted, r, error)


def exponential_of_rest(shifted: Lanes, r: Lanes, low: Lanes) -> ReducedArgument:
    """The exponential of r + low, and n from the low bits of a shifted number."""
    # even and odd powers are independent
    square, third = r * r, RANGES[r.type.kind].third
    even, odd = (polynomial(square, third[(len(third) - 1 - parity) % 2 :: 2]) for parity in (0, 1))
    return ReducedArgument(shifted.bits() << FORMATS[r.type.kind].digits, r, fma(odd, r, even), low)


def scale_by_power(x: Lanes, n: Lanes, subnormal: Lanes) -> Lanes:
    """2^n x, where n is in the bits of the exponent; rounded once more if the result may be subnormal."""
    lift = RANGES[x.type.kind].lift
    lifted = select(subnormal, n + (lift << FORMATS[x.type.kind].digits), n)
    return (x.bits() + lifted).floats() * select(subnormal, x.like(2.0**-lift), 1.0)


def at_least(x: Lanes, bound: float) -> Lanes:
    """The larger of both; NaN stays."""
    return select(x < bound, bound, x)


@vector(exponential.exp)
def exp(x: Lanes) -> Lanes:
    """e^x."""
    parts = reduce_argument(x)
    result = (parts.mantissa().value().bits() + parts.n).floats()
    return replace_rare(result, ~(x.abs() < -RANGES[x.type.kind].subnormal), "exp.wide", x)


@vector_function("exp.wide")
def exp_wide(x: Lanes) -> Lanes:
    """e^x for all x, also where the result is subnormal or infinite: this takes half as long again."""
    bounds = RANGES[x.type.kind]
    y = at_least(x, bounds.smallest)
    parts = reduce_argument(y)
    result = scale_by_power(parts.mantissa().value(), parts.n, y < bounds.subnormal)
    return select(x <= bounds.largest, result, x + math.inf)


@vector_function("exp.decay")
def exp_decay(x: Lanes) -> Lanes:
    """e^x for x <= 0, at least 1e-307 (f32: 1e-37): for terms beside 1, without a branch. Of NaN it is any number."""
    parts = reduce_argument(at_least(x, RANGES[x.type.kind].subnormal + 1.0))
    return (parts.mantissa().value().bits() + parts.n).floats()


@vector(exponential.exp2)
def exp2(x: Lanes) -> Lanes:
    """2^x."""
    form = FORMATS[x.type.kind]
    y = at_least(x, -2.0 - form.bias - form.digits)
    magic = 1.5 * 2.0**form.digits
    shifted = y + magic
    f = y - (shifted - magic)
    ln2 = double_constant(x, *LN2)
    r, low = two_product(f, ln2.high)
    parts = exponential_of_rest(shifted, r, fma(f, ln2.low, low))
    result = scale_by_power(parts.mantissa().value(), parts.n, y < 2.0 - form.bias)
    return select(x < form.bias + 1.0, result, x + math.inf)


@vector(exponential.expm1)
def expm1(x: Lanes) -> Lanes:
    """e^x - 1."""
    bounds = RANGES[x.type.kind]
    parts = reduce_argument(at_least(x, bounds.negligible))
    # halved, because 2^n may overflow where the result does not
    power = parts.power(1)
    result = parts.minus_exactly(two_sum(power, -0.5), power).value() * 2.0
    result = select(x.abs() < 2.0 ** -(FORMATS[x.type.kind].digits + 2), x, result)
    return select(x <= bounds.largest, result, x + math.inf)


def quotient(x: Double, y: Double) -> Lanes:
    """x / y with one division, of parts that are normalised."""
    inverse = divide_usual(1.0, y.high)
    first = x.high * inverse
    rest = fma(-first, y.high, x.high) + fma(-first, y.low, x.low)
    return fma(rest, inverse, first)


@vector(exponential.sigmoid)
def sigmoid(x: Lanes) -> Lanes:
    """1 / (1 + e^-x) for positive x, e^x / (1 + e^x) for negative: the exponential never overflows."""
    bounds = RANGES[x.type.kind]
    y = at_least(-x.abs(), bounds.smallest)
    parts = reduce_argument(y)
    mantissa = fast_two_sum(*parts.mantissa())
    power = select(y < bounds.negligible, 0.0, parts.power())
    high, low = fast_two_sum(x.like(1.0), mantissa.high * power)
    below = x < 0.0
    numerator = Double(select(below, mantissa.high, 1.0), select(below, mantissa.low, 0.0))
    result = quotient(numerator, Double(high, fma(mantissa.low, power, low)))
    return select(x.is_nan(), x, scale_by_power(result, select(below, parts.n, 0), below & (y < bounds.subnormal)))


def log_one_plus_exp(x: Lanes, low: Lanes | None = None) -> Double:
    """log(1 + e^x) for x <= 0; the low part is not normalised."""
    bounds = RANGES[x.type.kind]
    parts = reduce_argument(x, low)
    mantissa = fast_two_sum(*parts.mantissa())
    negligible = x < bounds.negligible
    power = select(negligible, 0.0, parts.power())
    high, rest = log1p_of_fraction(mantissa.high * power, mantissa.low * power)
    return Double(
        select(negligible, scale_by_power(mantissa.high, parts.n, x < bounds.subnormal), high),
        select(negligible, 0.0, rest),
    )


@vector(exponential.softplus)
def softplus(x: Lanes) -> Lanes:
    """log(1 + e^x)."""
    log1p = log_one_plus_exp(at_least(-x.abs(), RANGES[x.type.kind].smallest))
    positive = select(x > 0.0, x, 0.0)
    high, low = two_sum(positive, log1p.high)
    return select(x < math.inf, high + (low + log1p.low), x)


@vector(exponential.logaddexp)
def logaddexp(x: Lanes, y: Lanes) -> Lanes:
    """log(e^x + e^y). Near zero it cancels: the error is then relative to the larger argument, not to the result."""
    if x.type.kind == "f32":
        return logaddexp(x.to("f64"), y.to("f64")).to("f32")
    larger, smaller = select(x > y, x, y), select(x > y, y, x)
    difference, error = two_sum(smaller, -larger)
    smallest = RANGES[x.type.kind].smallest
    clamped = select(smaller.eq(larger), 0.0, at_least(difference, smallest))
    log1p = log_one_plus_exp(clamped, select(clamped.eq(difference), error, 0.0))
    high, low = two_sum(larger, log1p.high)
    result = select(larger.abs().eq(math.inf), larger, high + (low + log1p.low))
    return select(x.is_nan(), x, select(y.is_nan(), y, result))
