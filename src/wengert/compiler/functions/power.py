"""Powers and roots: power, cbrt, hypot."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from wengert.compiler.forms.lowering import lowering, on_floats
from wengert.compiler.functions.exponential import RANGES, reduce_argument
from wengert.compiler.functions.logarithm import FORMATS, LN2, split_any, split_positive
from wengert.compiler.functions.vector_functions import call, function_cost, vector, vector_function
from wengert.compiler.simd.double import Double, double_constant, fast_two_sum, two_product
from wengert.compiler.simd.lanes import Lanes, divide_usual, fma, polynomial, select
from wengert.compiler.simd.types import constant_text
from wengert.core import machine
from wengert.ops.elementwise import arithmetic, exponential, trigonometric

Number = TypeVar("Number")

# (2 atanh(s) / s - 2 - 2/3 z) / z^2 with z = s^2 < 0.0295: z^2 times this to 2^-73.4 of 2.
ATANH = (
    0.11983158627150661, 0.11675623383485138, 0.13336271571165237, 0.15384558266361326, 0.18181818845973638,
    0.22222222217777704, 0.2857142857144387, 0.3999999999999998,
)  # fmt: skip
TWO_THIRDS = (float.fromhex("0x1.5555555555555p-1"), float.fromhex("0x1.5555555555555p-55"))

# Enough for single precision: (2 atanh(s) / s - 2) / z to 2^-37.5 of 2 / z, and e^r on |r| < 0.3467 to 2^-34.2.
SHORT_ATANH = (0.2358518760844005, 0.2853716685490476, 0.4000033712325276, 0.6666666563870908)
SHORT_EXP = (
    0.00019914577263784194, 0.0013946346399642553, 0.008333271669489859, 0.041666265702699296, 0.166666668270107,
    0.5000000079407596, 1.0, 1.0,
)  # fmt: skip

# m^(-1/3) on [sqrt(1/2), sqrt(2)], to 2^-17.4 of itself.
INVERSE_CUBE_ROOT = (
    -0.10805122819036464, 0.700709780153399, -1.8981543108138081, 2.792319978509275, -2.4860208907340775,
    1.9992005046853782,
)  # fmt: skip


def log_double(k: Lanes, m: Lanes) -> Double:
    """log(2^k m) with a relative error of about 2^-65, so that its product with any exponent is accurate.

    2 atanh(s) = 2 s + s z (2/3 + ...) with z = s^2: all but the dots in twice the precision.
    """
    f = m - 1.0
    divisor = fast_two_sum(m.like(1.0), m)
    inverse = 1.0 / divisor.high
    s = f * inverse
    s_low = fma(-s, divisor.low, fma(-s, divisor.high, f)) * inverse
    z, z_low = two_product(s, s)
    z_low = fma(s + s, s_low, z_low)
    thirds = double_constant(m, *TWO_THIRDS)
    factor, factor_low = fast_two_sum(thirds.high, z * polynomial(z, ATANH))
    factor_low = fma(z_low, ATANH[-1], factor_low + thirds.low)
    cube, cube_low = two_product(s, z)
    cube_low = fma(s, z_low, fma(s_low, z, cube_low))
    rest, rest_low = two_product(cube, factor)
    rest_low = fma(cube, factor_low, fma(cube_low, factor, rest_low))
    high, low = fast_two_sum(s + s, rest)
    low = low + fma(s_low, 2.0, rest_low)
    ln2 = FORMATS[m.type.kind].ln2
    total, error = fast_two_sum(k * ln2[0], high)
    return fast_two_sum(total, error + fma(k, ln2[1], low))


def exp_double(x: Double) -> Lanes:
    """e^x, infinite or zero if it is out of range."""
    kind = x.high.type.kind
    bounds, digits = RANGES[kind], FORMATS[kind].digits
    high = select(x.high > bounds.largest + 1.0, bounds.largest + 1.0, x.high)
    high = select(x.high < bounds.smallest, bounds.smallest, high)
    parts = reduce_argument(high, select(high.eq(x.high), x.low, 0.0))
    # scaled in two steps, the second of which rounds, overflows or underflows
    below = high < 0.0
    n = parts.n + select(below, high.bits().like(bounds.lift << digits), -(bounds.lift << digits))
    mantissa = parts.mantissa().value()
    return (mantissa.bits() + n).floats() * select(below, high.like(2.0**-bounds.lift), 2.0**bounds.lift)


@vector_function("power")
def power(x: Lanes, y: Lanes) -> Lanes:
    """exp(y log |x|), with the sign of x if y is odd, and NaN if x is negative and y not an integer."""
    size = x.abs()
    zero_or_infinite = select(size.eq(0.0), x.like(-math.inf), math.inf)
    result = (_single_power if x.type.kind == "f32" else _double_power)(size, y, zero_or_infinite)
    result = select(size.eq(1.0), 1.0, result)
    half = y * 0.5
    integer = y.trunc().eq(y)
    odd = integer & half.trunc().ne(half)
    result = select(odd, result.copysign(x), result)
    result = select((x < 0.0) & (x > -math.inf) & ~integer, math.nan, result)
    result = select(x.is_nan(), x, select(y.is_nan(), y, result))
    return select(x.eq(1.0) | y.eq(0.0), 1.0, result)


def product_or_power(x: Lanes, y: Lanes) -> Lanes:
    """Integer exponents that are known, and small, are products; others call the function."""
    most = machine.current.max_exponent_of_products
    exponents = [] if y.text.startswith("%") else range(-most, most + 1)
    known = next((n for n in exponents if y.text == constant_text(float(n), y.type)), 0)
    return integer_power(x, known) if known else call("power", x, y)


def integer_power(x: Lanes, n: int) -> Lanes:
    """x^n by squares: the third and fourth power with two or three roundings, others with hardly more than one."""
    if n in (3, 4):
        square = x * x
        return square * (x if n == 3 else square)
    if x.type.kind == "f32":
        return power_by_squares(1.0 / x.to("f64") if n < 0 else x.to("f64"), abs(n), Lanes.__mul__).to("f32")
    zero = x.like(0.0)
    base = Double(1.0 / x, fma(-x, 1.0 / x, 1.0) * (1.0 / x)) if n < 0 else Double(x, zero)
    high, low = power_by_squares(base, abs(n), multiply_roughly)
    return select(low.abs() > 0.0, high + low, high)  # the low part of a zero may have another sign, of infinity is NaN


def power_by_squares(x: Number, n: int, multiply: Callable[[Number, Number], Number]) -> Number:
    """x^n from x^(n // 2), which other powers of x share."""
    if n == 1:
        return x
    half = power_by_squares(x, n // 2, multiply)
    square = multiply(half, half)
    return multiply(square, x) if n % 2 else square


def multiply_roughly(x: Double, y: Double) -> Double:
    """The product of two numbers of twice the precision, whose low part may be a few ulps of the high one."""
    high, error = two_product(x.high, y.high)
    return Double(high, fma(x.high, y.low, fma(x.low, y.high, error)))


lowering.enter(on_floats(product_or_power, function_cost), exponential._power)


def _double_power(size: Lanes, y: Lanes, limit: Lanes) -> Lanes:
    """exp(y log(size)), where the logarithm is `limit` if the size is zero or infinite."""
    log = log_double(*split_any(size))
    high = select((size > 0.0) & (size < math.inf), log.high, limit)
    product = y * high
    return exp_double(Double(product, fma(y, log.low, fma(y, high, -product))))


def _single_power(size: Lanes, y: Lanes, limit: Lanes) -> Lanes:
    """The same in double precision, with short polynomials and one rounding to single precision."""
    _, k, m = split_positive(size.to("f64"))
    f = m - 1.0
    s = divide_usual(f, f + 2.0)
    z = s * s
    log = fma(s * z, polynomial(z, SHORT_ATANH), s + s)
    log = fma(k, LN2[0], log)
    finite = (size > 0.0) & (size < math.inf)
    product = y.to("f64") * select(finite, log, limit.to("f64"))
    product = select(product > 200.0, 200.0, select(product < -200.0, -200.0, product))
    magic = 1.5 * 2.0**52
    shifted = fma(product, 1.0 / LN2[0], magic)
    r = fma(shifted - magic, -LN2[0], product)
    return (polynomial(r, SHORT_EXP).bits() + (shifted.bits() << 52)).floats().to("f32")


@vector(arithmetic.cbrt)
def cbrt(x: Lanes) -> Lanes:
    """2^q t r^2, with |x| = 2^(3 q) t and r the inverse cube root of t, corrected once with the exact remainder."""
    form = FORMATS[x.type.kind]
    size = x.abs()
    k, m = split_any(size)
    magic = 1.5 * 2.0**form.digits
    shifted = fma(k, 1.0 / 3.0, magic)
    j = fma(shifted - magic, -3.0, k)
    t = m * select(j > 0.0, x.like(2.0), select(j < 0.0, x.like(0.5), 1.0))
    r = polynomial(m, INVERSE_CUBE_ROOT) * select(
        j > 0.0, x.like(2.0 ** (-1 / 3)), select(j < 0.0, x.like(2.0 ** (1 / 3)), 1.0)
    )
    # (1 - e)^(-1/3) = 1 + e / 3 + 2 e^2 / 9 + ...
    e = fma(-(t * r), r * r, 1.0)
    r = fma(r * e, fma(e, 2.0 / 9.0, 1.0 / 3.0), r)
    square = r * r
    root = t * square
    high, low = two_product(root, root)
    root = fma(fma(-low, root, fma(-high, root, t)), square * (1.0 / 3.0), root)
    result = root * ((shifted.bits() << form.digits) + (form.bias << form.digits)).floats()
    return select((size > 0.0) & (size < math.inf), result.copysign(x), x)


@vector(trigonometric.hypot)
def hypot(x: Lanes, y: Lanes) -> Lanes:
    """sqrt(x^2 + y^2), scaled by a power of two if squares overflow or underflow."""
    if x.type.kind == "f32":
        u, v = x.to("f64"), y.to("f64")
        result = fma(u, u, v * v).sqrt().to("f32")
    else:
        result = _hypot(x.abs(), y.abs())
    return select(x.abs().eq(math.inf) | y.abs().eq(math.inf), math.inf, result)


def _hypot(x: Lanes, y: Lanes) -> Lanes:
    larger, smaller = select(x > y, x, y), select(x > y, y, x)
    huge, tiny = larger > 2.0**500, larger < 2.0**-400
    scale = select(huge, x.like(2.0**-600), select(tiny, x.like(2.0**600), 1.0))
    back = select(huge, x.like(2.0**600), select(tiny, x.like(2.0**-600), 1.0))
    u, v = larger * scale, smaller * scale
    square, error = two_product(u, u)
    other, rest = two_product(v, v)
    total, low = fast_two_sum(square, other)
    root = Double(total, low + (error + rest)).sqrt().value() * back
    return select(larger.eq(0.0), larger + smaller, root)
