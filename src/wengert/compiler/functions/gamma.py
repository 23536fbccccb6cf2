"""The logarithm of the gamma function, and its derivative, digamma.

Between 1 and 2 both are a polynomial times the factors of their zeros; from 2.5 (digamma: 2) on, Stirling's formula
with a polynomial in 1/x^2 for the rest; below 1, and from 2 to 2.5, one step of the recurrence. The leading terms are
sums of two doubles.

Negative arguments are reflected, log|gamma(-y)| = log(pi / (y |sin(pi y)|)) - log gamma(y). The terms cancel near
zeros, so a separate function computes them in twice the precision, by series with rational coefficients. Close to a
zero z, the relative error is about 2^-102 / |x - z|, which is too much for the floats next to a few zeros: there a
Taylor polynomial is used. Singles are computed as doubles.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from wengert.compiler.functions.logarithm import LN2, split_any
from wengert.compiler.functions.power import log_double
from wengert.compiler.functions.vector_functions import call, replace_rare, vector, vector_function
from wengert.compiler.simd.double import Double, double_constant, fast_two_sum, two_product, two_sum
from wengert.compiler.simd.lanes import Lanes, fma, polynomial, select
from wengert.ops.special import gamma as ops

PI = (3.141592653589793, 1.2246467991473532e-16)
OFFSET = (0.4189385332046727, 1.6728209650585413e-17)
"""log(2 pi)/2 - 1/2."""
LARGEST = 2.5599833278516383e305
"""The largest number whose log gamma is finite."""
NEGLIGIBLE = 2.0**-60
"""Below this, in size, log gamma is -log|x| and digamma -1/x."""

# (log gamma(x) - (x - 1/2) log x + x - log(2 pi)/2) x as a polynomial in 1/x^2 for x >= 2.5; error of the fit 2^-60.5
# of log gamma.
STIRLING = (
    0.9322017602455388, -1.2328247730056465, 0.7675886389795608, -0.305759201387051, 0.09117966189615466,
    -0.023392319104052206, 0.006069679742456613, -0.0019033633344169895, 0.0008413298735998945,
    -0.0005952296796371098, 0.0007936506900443701, -0.002777777777103318, 0.08333333333333169,
)  # fmt: skip

# log gamma(x) / ((x - 1) (x - 2)) as a polynomial in x - 3/2 from 1 to 2; relative error of the fit 2^-59.5.
BETWEEN = (
    -7.948909286452618e-06, 1.2150945832212174e-05, -8.108378732387365e-06, 1.3172278471452302e-05,
    -2.7340202916091372e-05, 4.303502504570009e-05, -6.609783239348257e-05, 0.00010535294915782176,
    -0.00016892620495239643, 0.0002713141288167944, -0.000437992055571401, 0.0007115190241012081,
    -0.0011644146623697761, 0.0019229163157405346, -0.003212074070161856, 0.005446457839010436,
    -0.009425622448615143, 0.016797098631276472, -0.03130848750100962, 0.06291140107456437,
)  # fmt: skip
BETWEEN_LEADING = ((-0.14595989591430608, -4.632210407697357e-18), (0.4831289505409809, 1.729981711960502e-17))

# (log x - 1/(2x) - digamma(x)) x^2 as a polynomial in 1/x^2 for x >= 2; error of the fit 2^-57.9 of digamma.
DIGAMMA_STIRLING = (
    -111.8374916363797, 255.22567440584544, -270.0608235304788, 176.57969206875802, -80.44219247103813,
    27.4375853913307, -7.426648769401302, 1.7004489038191701, -0.3592719360520374, 0.07908599711086851,
    -0.02092744568547747, 0.007571072364439592, -0.004166576297687774, 0.003968252889196321, -0.008333333326537663,
    0.08333333333331754,
)  # fmt: skip

# digamma(x) / (x - x0), x0 = 1.46... its zero, as a polynomial in x - 3/2 from 1 to 2; relative error of the fit
# 2^-58.5.
DIGAMMA_BETWEEN = (
    0.00012057098371060759, -0.00017831907907349113, 9.412334001012026e-05, -0.0001446750236725413,
    0.0003253889253051264, -0.0004860242264987728, 0.0006904471983683299, -0.0010364352672140068,
    0.0015634690001032944, -0.002345499213966152, 0.003518093310628026, -0.005279936711163969, 0.007927022931390358,
    -0.011908220147457066, 0.017907248256811552, -0.026975796657886776, 0.04076083394272656, -0.06192213327553608,
    0.09498872445286044, -0.14840492305388037, 0.24054248424078717,
)  # fmt: skip
DIGAMMA_BETWEEN_LEADING = ((-0.4236274212814606, -2.0538660301269423e-17), (0.9510558760318328, 4.311397087022748e-17))
THREE_HALVES_LESS_ZERO = (0.03836785503163766, 1.6445603550442201e-18)


@vector(ops.gammaln)
@vector_function("lgamma")
def lgamma(x: Lanes) -> Lanes:
    """The logarithm of the absolute value of the gamma function."""
    if x.type.kind == "f32":
        return call("lgamma", x.to("f64")).to("f32")
    size = x.abs()
    below, far = size < 1.0, size >= 2.5
    log = log_double(*split_any(select(below | far, size, select(size < 2.0, 1.0, size - 1.0))))

    v = size - select(below, x.like(0.5), select(size < 2.0, x.like(1.5), 2.5))
    factor = two_product(select(below, size, v + 0.5), v - 0.5)
    between = factor.times(_leading(v, BETWEEN, BETWEEN_LEADING))
    step = Double(select(below, -log.high, log.high), select(below, -log.low, log.low))
    near = two_sum(step.high, between.high)
    near_value = near.high + (near.low + (step.low + between.low))

    less = two_sum(log.high, -1.0)
    main = two_product(size - 0.5, less.high)
    total = two_sum(main.high, OFFSET[0])
    inverse = 1.0 / size
    rest = fma(size - 0.5, less.low + log.low, main.low) + fma(
        inverse, polynomial(inverse * inverse, STIRLING), OFFSET[1]
    )
    result = select(far, total.high + (total.low + rest), near_value)
    result = select((size > LARGEST) | size.eq(0.0), math.inf, result)
    return replace_rare(result, x < -NEGLIGIBLE, "lgamma.negative", x)


@vector(ops.digamma)
def digamma(x: Lanes) -> Lanes:
    """The derivative of log gamma."""
    if x.type.kind == "f32":
        return call("digamma", x.to("f64")).to("f32")
    below, far = x < 1.0, x >= 2.0
    inverse = 1.0 / x
    inverse_low = fma(-x, inverse, 1.0) * inverse

    v = x - select(below, x.like(0.5), 1.5)
    distance = two_sum(v, THREE_HALVES_LESS_ZERO[0])
    distance = fast_two_sum(distance.high, distance.low + THREE_HALVES_LESS_ZERO[1])
    between = distance.times(_leading(v, DIGAMMA_BETWEEN, DIGAMMA_BETWEEN_LEADING))
    near = two_sum(select(below, -inverse, 0.0), between.high)
    near_value = near.high + (near.low + (between.low - select(below, inverse_low, 0.0)))

    log = log_double(*split_any(x))
    square = inverse * inverse
    total = fast_two_sum(log.high, inverse * -0.5)
    rest = fma(-square, polynomial(square, DIGAMMA_STIRLING), fma(inverse_low, -0.5, log.low))
    result = select(far, total.high + (total.low + rest), near_value)
    result = select(x.eq(math.inf), math.inf, select(x.abs() < NEGLIGIBLE, -inverse, result))
    return replace_rare(result, x < -NEGLIGIBLE, "digamma.negative", x)


def _leading(v: Lanes, rest: tuple[float, ...], leading: tuple[tuple[float, float], tuple[float, float]]) -> Double:
    """A polynomial for |v| <= 1/2 whose last two coefficients are sums of two, as are the last two steps."""
    (linear, linear_low), (absolute, absolute_low) = leading
    slope = fast_two_sum(v.like(linear), v * polynomial(v, rest))
    rise = two_product(slope.high, v)
    total = fast_two_sum(v.like(absolute), rise.high)
    return Double(total.high, total.low + (fma(slope.low + linear_low, v, rise.low) + absolute_low))


# Zeros z that are close to a float, in two parts; the coefficients of (x - z), in two parts, and of (x - z)^2.
ZEROS = (
    (-2.7476826467274127, 9.055340329338315e-17, -1.9143501856115988, -6.288473508186805e-17, 9.575189475709667),
    (-2.4570247382208006, -3.7075610815513266e-17, 1.5156034480216574, -4.0695290379659363e-17, 4.8583209516339965),
    (-3.955294284858598, -1.999428391746348e-17, -20.725060845803707, 1.4319348367658305e-15, 251.7146825868894),
    (-3.14358088834998, -2.1818179852331714e-16, 7.781884658131351, -1.2366266971852707e-16, 25.831338372387957),
)
DIGAMMA_ZEROS = (
    (-0.5040830082644554, -8.15428206243813e-18, 8.939798558792134, 4.661730805438714e-16, -0.8093454625306507),
    (-1.5734984731623904, -1.574185691077347e-17, 9.941513615924176, -3.5066551522020224e-16, -7.802593974782628),
    (-5.6671624415568855, -3.2153051074948335e-18, 13.021406387509394, -6.965089235370473e-16, -24.0108335669899),
    (-87.80536027839507, 1.2758561644425609e-17, 29.93590397378115, 2.165475355342108e-16, -134.18778851297517),
)
STEPS = 16
"""Stirling's series is used at |x| + STEPS for a negative argument x, where its terms fall below 2^-105."""


@vector_function("lgamma.negative")
def _lgamma_of_negative(x: Lanes) -> Lanes:
    """log(pi (y + 1) ... (y + 15) / |sin(pi y)|) - log gamma(y + 16), with y = -x."""
    y, fraction, sine, cosine, inner = _reflect(x)
    product = double_constant(y, *PI)
    for i in range(1, STEPS):
        product = product.times(two_sum(y, float(i)))
    bottom = Double(*(select(inner, s, c) for s, c in zip(sine, cosine, strict=True)))
    top = two_sum(y, float(STEPS))
    inverse = Double(y.like(1.0), y.like(0.0)).over(top)
    series = inverse.times(_series(inverse.times(inverse), _stirling(False), 6))
    main = _log(top).plus(-1.0).times(top.plus(-0.5)).plus(double_constant(y, *OFFSET))
    result = _log(product.over(bottom)).plus(-main).plus(-series)
    return select(fraction.eq(0.0), math.inf, _near_zeros(x, result.value(), ZEROS))


@vector_function("digamma.negative")
def _digamma_of_negative(x: Lanes) -> Lanes:
    """digamma(y + 16) - 1/(y + 1) - ... - 1/(y + 15) + pi cot(pi y), with y = -x."""
    y, fraction, sine, cosine, inner = _reflect(x)
    one = Double(y.like(1.0), y.like(0.0))
    top = two_sum(y, float(STEPS))
    inverse = one.over(top)
    square = inverse.times(inverse)
    total = _log(top).plus(inverse.times(-0.5)).plus(-square.times(_series(square, _stirling(True), 6)))
    numerator, denominator = one, two_sum(y, 1.0)
    for i in range(2, STEPS):
        factor = two_sum(y, float(i))
        numerator, denominator = numerator.times(factor).plus(denominator), denominator.times(factor)
    total = total.plus(-numerator.over(denominator))
    above = Double(*(select(inner, c, s) for s, c in zip(sine, cosine, strict=True)))
    below = Double(*(select(inner, s, c) for s, c in zip(sine, cosine, strict=True)))
    cotangent = above.over(below).times(double_constant(y, *PI))
    left = fraction < 0.0
    result = total.plus(Double(*(select(left, -part, part) for part in cotangent)))
    return select(fraction.eq(0.0), math.nan, _near_zeros(x, result.value(), DIGAMMA_ZEROS))


def _reflect(x: Lanes) -> tuple[Lanes, Lanes, Double, Double, Lanes]:
    """y = -x; its distance f from an integer; |sin| and cos of pi f, or exchanged unless `inner`; `inner`: |f| <= 1/4.

    Floats above 2^52 are integers; lanes that are not negative become 1.
    """
    y = select((x < 0.0) & (x > -(2.0**52)), -x, 1.0)
    fraction = y - y.rint()
    size = fraction.abs()
    inner = size <= 0.25
    angle = double_constant(y, *PI).times(select(inner, size, 0.5 - size))
    square = angle.times(angle)
    sine = angle.times(_series(square, _alternating_factorials(1), 8))
    return y, fraction, sine, _series(square, _alternating_factorials(0), 8), inner


def _near_zeros(x: Lanes, value: Lanes, zeros: tuple[tuple[float, float, float, float, float], ...]) -> Lanes:
    for high, low, first, first_low, second in zeros:
        distance = x - high
        rest = fast_two_sum(distance, -low)
        tail = fma(rest.high, fma(rest.high, second, first_low), rest.low * first)
        value = select(distance.abs() < 2.0**-45, fma(rest.high, first, tail), value)
    return value


def _log(x: Double) -> Double:
    """The logarithm in twice the precision: k log 2 + 2 atanh(s), with x = 2^k m and s = (m - 1)/(m + 1)."""
    k, m = split_any(x.high)
    low = x.low * (m / x.high)
    top, below = two_sum(m, -1.0).plus(low), two_sum(m, 1.0).plus(low)
    s = top.over(below)
    series = s.times(_series(s.times(s), _odd_reciprocals(), 10))
    return double_constant(m, *LN2).times(k).plus(series)


def _series(x: Double, coefficients: tuple[tuple[float, float], ...], leading: int) -> Double:
    """A power series with falling terms, by Horner's rule: the `leading` ones in twice the precision."""
    total = Double(polynomial(x.high, tuple(high for high, _ in reversed(coefficients[leading:]))), x.high.like(0.0))
    for high, low in reversed(coefficients[:leading]):
        product, error = two_product(total.high, x.high)
        error = fma(total.high, x.low, fma(total.low, x.high, error))
        total = fast_two_sum(x.high.like(high), product)
        total = Double(total.high, total.low + (error + low))
    return total


def _parts(values: list[Fraction]) -> tuple[tuple[float, float], ...]:
    return tuple((float(v), float(v - Fraction(float(v)))) for v in values)


@cache
def _stirling(derivative: bool) -> tuple[tuple[float, float], ...]:
    """Bernoulli's numbers B_2, B_4 ... over 2k (2k - 1), or over 2k for digamma."""
    bernoulli = [Fraction(1)]
    for n in range(1, 39):
        bernoulli.append(-sum((math.comb(n + 1, k) * b for k, b in enumerate(bernoulli)), Fraction(0)) / (n + 1))
    return _parts([bernoulli[n] / (n if derivative else n * (n - 1)) for n in range(2, 39, 2)])


@cache
def _alternating_factorials(first: int) -> tuple[tuple[float, float], ...]:
    """The coefficients of sin(r)/r, or of cos(r), in r^2; thirteen terms reach 2^-105 at pi/4."""
    return _parts([Fraction((-1) ** k, math.factorial(2 * k + first)) for k in range(14)])


@cache
def _odd_reciprocals() -> tuple[tuple[float, float], ...]:
    """The coefficients of 2 atanh(s)/s in s^2; the last is 2^-107 of the first at the largest s."""
    return _parts([Fraction(2, 2 * k + 1) for k in range(21)])
