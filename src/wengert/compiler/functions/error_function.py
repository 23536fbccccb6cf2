"""The error function, its complement, and the distribution function of the normal distribution.

erfc(x) = exp(-x^2) G(t) / (1 + 2x) with t = (x - K)/(x + K): G hardly varies, and is one polynomial for all x >= 0. The
square, the exponential and the leading terms of G are sums of two doubles. Singles are computed as doubles, with
shorter polynomials and without such sums; but erf of singles is 1 - 2^s(x), with a polynomial for s(x) = log2(erfc(x)),
which needs neither doubles nor a quotient.
"""

from __future__ import annotations

from wengert.compiler.functions.vector_functions import vector
from wengert.compiler.simd.double import Double, double_constant, fast_two_sum, two_product
from wengert.compiler.simd.lanes import Lanes, divide_usual, fma, polynomial, select
from wengert.ops.special import error as ops

LOG_2 = (0.6931471805599453, 2.3190468138462996e-17)

# exp(r) = 1 + r + r^2 P(r) for |r| <= 0.35; relative errors of the fits 2^-57.7 and 2^-34.
EXPONENTIAL = (
    2.5006012909703045e-08, 2.7631893919656913e-07, 2.755757418209848e-06, 2.4801488695998814e-05,
    0.00019841269512972594, 0.0013888888947654646, 0.008333333333494708, 0.04166666666651579, 0.16666666666666408,
    0.5000000000000012,
)  # fmt: skip
EXPONENTIAL_OF_SINGLES = (
    0.00019795954057746313, 0.0013945926333379952, 0.008333491483241006, 0.04166627697046558, 0.166666658729309,
    0.5000000073200345,
)  # fmt: skip

# G(t) = exp(x^2) erfc(x) (1 + 2x) for x = K (1 + t)/(1 - t) from 0.49 to 28.1 with K = 3; relative error of the fit
# 2^-57.6.
CENTRE = 3.0
COMPLEMENT = (
    -1.4650610093610809e-08, 2.213388816941121e-08, 1.0989015730267687e-07, -1.1967673389561175e-07,
    -6.279173172297673e-07, 3.4263721183425725e-07, 3.4805080592263095e-06, -7.25743802233434e-07,
    -2.0104027911544206e-05, 4.947974456584945e-06, 0.0001251002750571214, -0.00010515954428819443,
    -0.0007798324255810001, 0.001888690331793394, 0.002529391831392345, -0.023770514916870066, 0.06830802734313646,
    -0.11927366341537088, 0.12964515870278187, -0.04756229435344986,
)  # fmt: skip
COMPLEMENT_LEADING = ((-0.13562110612458134, 5.608986759429881e-18), (1.2530080582697296, 4.220779978687284e-17))

# G'(t), for the rounding error of t; error of the fit 0.015.
COMPLEMENT_SLOPE = (-0.526927, 0.585893, -0.0930348, -0.149739)

# The same as G from 0 to 10.6; relative error of the fit 2^-30.4.
COMPLEMENT_OF_SINGLES = (
    3.77692834032551e-05, -0.0001756902869714187, -0.0007360427036664918, 0.0019483308642997328,
    0.0025259273736493795, -0.02378822696021339, 0.06830673555059034, -0.11927144211307368, 0.12964535657857126,
    -0.04756239669248451, -0.13562111151454448, 1.2530080590621162,
)  # fmt: skip

# erf(x) = 2/sqrt(pi) x + x^3 P(x^2) for |x| <= 0.5; relative error of the fit 2^-57.6.
TWO_OVER_ROOT_PI = (1.1283791670955126, 1.533545961316588e-17)
ROOT_HALF = (0.7071067811865476, -4.833646656726457e-17)
ERROR_FUNCTION = (
    1.4739727724459805e-06, -1.4847310454938452e-05, 0.00012053398442297965, -0.0008548299206290084,
    0.0052239773919396035, -0.02686617063427852, 0.11283791670930726, -0.37612638903183565,
)  # fmt: skip

# erf(x) = x + x P(x^2) for singles up to 0.82; relative error of the fit 2^-33.4.
NEAR_ZERO_END = 0.82
NEAR_ZERO_OF_SINGLES = (
    9.027120451344031e-05, -0.0008281182491088959, 0.005211956177551776, -0.026863357780744446, 0.11283760071239496,
    -0.3761263756245811, 0.1283791670018801,
)  # fmt: skip

# log2(erfc(x)) = -3 + e + y P(y) for singles from there to 4, with y = x - ONE_EIGHTH, the single next to the number
# whose erfc is 1/8, and 2^(e + f) for |f| <= 0.51; relative errors of the fits, of erf and of the power, 2^-32.3 and
# 2^-28.8. From 4 on, erf rounds to 1.
ONE_EIGHTH = 1.0847870111465454
LOGARITHM_OF_COMPLEMENT = (
    -2.7759719952902447e-05, 0.0003860006671390342, -0.002678487119849658, 0.013300179579068143, -0.05525077771163661,
    -1.2309907559405429, -4.014744713666064,
)  # fmt: skip
POWER_OF_TWO_OF_SINGLES = (
    0.0001534348461677791, 0.0013402598758898154, 0.00961851933220062, 0.055503225145862485, 0.24022648345563674,
    0.6931472646624726, 1.0000000811352638,
)  # fmt: skip


def _alternating(x: Lanes, coefficients: tuple[float, ...]) -> Lanes:
    """A polynomial of odd degree as two independent ones in x^2."""
    square = x * x
    return fma(x, polynomial(square, coefficients[0::2]), polynomial(square, coefficients[1::2]))


def _complement(x: Lanes) -> tuple[Double, Lanes]:
    """erfc of doubles from 0.49 to 28, as two parts and a power of two."""
    # constants of few bits come first: whichever summand is larger, the error is exact
    top, below, factor = [fast_two_sum(x.like(c), y) for c, y in ((-CENTRE, x), (CENTRE, x), (1.0, x + x))]
    common = divide_usual(1.0, below.high * factor.high)
    inverse = common * factor.high
    t = top.high * inverse
    t_low = (fma(-t, below.high, top.high) + fma(-t, below.low, top.low)) * inverse
    linear, absolute = COMPLEMENT_LEADING
    slope = fast_two_sum(t.like(linear[0]), t * _alternating(t, COMPLEMENT))  # the second is less than 1/4
    rise = two_product(slope.high, t)
    rise_low = fma(polynomial(t, COMPLEMENT_SLOPE), t_low, fma(slope.low + linear[1], t, rise.low))
    g = fast_two_sum(t.like(absolute[0]), rise.high)
    g = fast_two_sum(g.high, g.low + (rise_low + absolute[1]))

    square = two_product(x, x)
    n, power_of_two = _round_to_integer(square.high * (-1.0 / LOG_2[0]))
    r = fma(n, -LOG_2[0], -square.high)
    r_low = fma(n, -LOG_2[1], -square.low)
    power = fast_two_sum(r.like(1.0), r)
    power = fast_two_sum(power.high, fma(r * r, polynomial(r, EXPONENTIAL), power.low))
    power = Double(power.high, fma(power.high, r_low, power.low))

    product = power.times(g)
    inverse = common * below.high
    quotient = product.high * inverse
    rest = fma(-quotient, factor.high, product.high) + fma(-quotient, factor.low, product.low)
    return fast_two_sum(quotient, rest * inverse), power_of_two


def _complement_of_single(x: Lanes) -> tuple[Lanes, Lanes]:
    """The same for doubles from 0 to 10.6, right to 2^-29."""
    common = divide_usual(1.0, (x + CENTRE) * fma(x, 2.0, 1.0))
    t = (x - CENTRE) * fma(x, 2.0, 1.0) * common
    square = x * x
    n, power_of_two = _round_to_integer(square * (-1.0 / LOG_2[0]))
    r = fma(n, -LOG_2[0], -square)
    power = fma(r * r, polynomial(r, EXPONENTIAL_OF_SINGLES), r + 1.0)
    return power * polynomial(t, COMPLEMENT_OF_SINGLES) * (common * (x + CENTRE)), power_of_two


def _round_to_integer(x: Lanes) -> tuple[Lanes, Lanes]:
    """The nearest integers, as floats and as integers; defined even for NaN, unlike a conversion."""
    rounder = x.like(1.5 * 2.0**52)
    shifted = x + rounder
    return shifted - rounder, shifted.bits() - rounder.bits()


def _scale(x: Lanes, n: Lanes) -> Lanes:
    """x 2^n, in two steps that underflow once."""
    half = n >> 1
    return x * _power_of_two(half) * _power_of_two(n - half)


def _power_of_two(n: Lanes) -> Lanes:
    return ((n + 1023) << 52).floats()


def _near_zero(x: Lanes) -> Double:
    """erf for |x| <= 0.5, as a float and a correction."""
    square = x * x
    main = double_constant(x, *TWO_OVER_ROOT_PI).times(x)
    return Double(main.high, fma(x * square, polynomial(square, ERROR_FUNCTION), main.low))


@vector(ops.erfc)
def erfc(x: Lanes) -> Lanes:
    """The complementary error function."""
    if x.type.kind == "f32":
        size = x.to("f64").abs()
        value, n = _complement_of_single(select(size > 10.6, 10.6, size))
        value = value * _power_of_two(n)
        return select(x < 0.0, 2.0 - value, value).to("f32")
    return _erfc_of_double(x)


@vector(ops.ndtr)
def ndtr(x: Lanes) -> Lanes:
    """The distribution function of the normal distribution: erfc(-x / sqrt(2)) / 2."""
    if x.type.kind == "f32":
        z = x.to("f64") * -ROOT_HALF[0]
        size = z.abs()
        value, n = _complement_of_single(select(size > 10.6, 10.6, size))
        value = value * _power_of_two(n - 1)
        return select(z < 0.0, 1.0 - value, value).to("f32")
    z = x * -ROOT_HALF[0]
    rest = fma(x, -ROOT_HALF[0], -z) + x * -ROOT_HALF[1]
    return _erfc_of_double(z, select(z.abs() < 30.0, rest, 0.0))


def _erfc_of_double(x: Lanes, rest: Lanes | None = None) -> Lanes:
    """erfc; with a `rest`, which is tiny beside x, half of erfc(x + rest)."""
    size = select(x.abs() > 28.0, 28.0, x.abs())
    (high, low), n = _complement(size)
    near = _near_zero(x)
    halvings = 0
    if rest is not None:
        relative_slope = -size - fma(size, size, 1.3).sqrt()  # of erfc, to a tenth
        low = fma(high, select(x < 0.0, -rest, rest) * relative_slope, low)
        near = Double(near.high, fma(rest, TWO_OVER_ROOT_PI[0], near.low))
        halvings = 1
    scale = _power_of_two(select(n < -100, -100, n))
    small = size < 0.5
    # 1 - erf(x) near zero, and 2 - erfc(-x) for negative x.
    total = fast_two_sum(select(small, x.like(1.0), 2.0), select(small, -near.high, high * -scale))
    difference = total.high + (total.low + select(small, -near.low, low * -scale))
    return select(small | (x < 0.0), difference * 0.5**halvings, _scale(high + low, n - halvings))


@vector(ops.erf)
def erf(x: Lanes) -> Lanes:
    """The error function."""
    if x.type.kind == "f32":
        return _erf_of_single(x)
    size = x.abs()
    (high, low), n = _complement(select(size > 6.0, 6.0, size))
    scale = _power_of_two(n)
    total = fast_two_sum(x.like(1.0), high * -scale)
    near = _near_zero(size)
    return select(size < 0.5, near.high + near.low, total.high + fma(low, -scale, total.low)).copysign(x)


def _erf_of_single(x: Lanes) -> Lanes:
    """erf in single precision; the integer next to log2(erfc(x)) is taken from it before it is rounded."""
    size = x.abs()
    near = fma(size, polynomial(size * size, NEAR_ZERO_OF_SINGLES), size)
    y = select(size > 4.0, 4.0, size) - ONE_EIGHTH
    slope = polynomial(y, LOGARITHM_OF_COMPLEMENT)
    rounder = x.like(1.5 * 2.0**23)
    shifted = fma(slope, y, -3.0) + rounder
    rest = fma(slope, y, -3.0 - (shifted - rounder))
    power = ((shifted.bits() - rounder.bits() + 127) << 23).floats()
    far = 1.0 - polynomial(rest, POWER_OF_TWO_OF_SINGLES) * power
    return select(size < NEAR_ZERO_END, near, far).copysign(x)
