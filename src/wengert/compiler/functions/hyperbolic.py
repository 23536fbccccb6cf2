"""sinh, cosh and tanh by the exponential, their inverses by the logarithm, in twice the precision up to the end."""

from __future__ import annotations

import math

from wengert.compiler.functions.exponential import RANGES, ReducedArgument, at_least, quotient, reduce_argument
from wengert.compiler.functions.logarithm import FORMATS, LN2, log1p_double
from wengert.compiler.functions.vector_functions import vector
from wengert.compiler.simd.double import Double, double_constant, fast_two_sum, two_product, two_sum
from wengert.compiler.simd.lanes import Lanes, fma, select
from wengert.ops.elementwise import trigonometric

LARGEST = {"f64": 710.4758600739439, "f32": 89.41598510742188}
"""The largest arguments of sinh and cosh, log 2 above those of the exponential."""


@vector(trigonometric.tanh)
def tanh(x: Lanes) -> Lanes:
    """(1 - e) / (1 + e) with e = exp(-2 |x|), through e - 1, which is accurate near zero."""
    parts = reduce_argument(at_least(x.abs() * -2.0, RANGES[x.type.kind].negligible))
    power = parts.power()
    e = fast_two_sum(*parts.minus(fast_two_sum(x.like(-1.0), power), power))
    high, low = fast_two_sum(x.like(2.0), e.high)
    return quotient(e, Double(high, low + e.low)).copysign(x)


def quarter_exponential(parts: ReducedArgument) -> tuple[Double, Lanes, Lanes]:
    """a = e^x / 4, 1 / a, and the relative error of that inverse."""
    power = parts.power(2)
    high, low = fast_two_sum(*parts.mantissa())
    a = Double(high * power, low * power)
    inverse = 1.0 / a.high
    return a, inverse, fma(-inverse, a.low, fma(-inverse, a.high, 1.0))


@vector(trigonometric.sinh)
def sinh(x: Lanes) -> Lanes:
    """With a = e^|x| / 4, which does not overflow before the result, and b = a - 1/4: 2 (b + (b / a) / 4)."""
    size = x.abs()
    parts = reduce_argument(size)
    power = parts.power(2)
    b = fast_two_sum(*parts.minus_exactly(fast_two_sum(power, -0.25), power))
    a, inverse, short = quarter_exponential(parts)
    ratio = b.high * inverse
    ratio_low = fma(b.low, inverse, fma(b.high, inverse, -ratio) + ratio * short)
    high, low = fast_two_sum(b.high, ratio * 0.25)
    result = 2.0 * (high + (low + fma(ratio_low, 0.25, b.low)))
    result = select(size < 2.0 ** -(FORMATS[x.type.kind].digits // 2 + 2), size, result)
    return select(size <= LARGEST[x.type.kind], result, size + math.inf).copysign(x)


@vector(trigonometric.cosh)
def cosh(x: Lanes) -> Lanes:
    """With a = e^|x| / 4: 2 (a + 1 / (16 a))."""
    size = x.abs()
    a, inverse, short = quarter_exponential(reduce_argument(size))
    high, low = fast_two_sum(a.high, inverse * 0.0625)
    result = 2.0 * (high + (low + fma(inverse * 0.0625, short, a.low)))
    return select(size <= LARGEST[x.type.kind], result, size + math.inf)


def log_sum(x: Lanes, y: Double, root: Double) -> Lanes:
    """log(1 + y + root), or log(2 x) for large x, where it is the same."""
    large = x > 2.0 ** (FORMATS[x.type.kind].digits + 10)
    high, low = two_sum(y.high, root.high)
    high, low = fast_two_sum(high, low + (y.low + root.low))
    result = log1p_double(select(large, x, high), select(large, 0.0, low))
    ln2 = double_constant(x, *LN2)
    high, low = fast_two_sum(result.high, select(large, ln2.high, 0.0))
    return high + (low + result.low)


@vector(trigonometric.arcsinh)
def arcsinh(x: Lanes) -> Lanes:
    """log(1 + |x| + (sqrt(1 + x^2) - 1)); the root has twice the precision, so that the difference is accurate."""
    size = x.abs()
    square, error = two_product(size, size)
    total, rest = two_sum(square, 1.0)
    root = fast_two_sum(total, rest + error).sqrt()
    high, low = fast_two_sum(root.high, -1.0)
    result = log_sum(size, Double(size, x.like(0.0)), fast_two_sum(high, low + root.low))
    result = select(size < 2.0 ** -(FORMATS[x.type.kind].digits // 2 + 2), size, result)
    return select(size < math.inf, result, size).copysign(x)


@vector(trigonometric.arccosh)
def arccosh(x: Lanes) -> Lanes:
    """log(1 + (x - 1) + sqrt(x^2 - 1)); the square is exact."""
    square, error = two_product(x, x)
    total, rest = fast_two_sum(square, -1.0)
    root = fast_two_sum(total, rest + error).sqrt()
    result = log_sum(x, fast_two_sum(x, -1.0), root)
    result = select(x.eq(1.0), 0.0, select(x < 1.0, math.nan, result))
    return select(x < math.inf, result, x)


@vector(trigonometric.arctanh)
def arctanh(x: Lanes) -> Lanes:
    """log(1 + 2 |x| / (1 - |x|)) / 2."""
    size = x.abs()
    twice = size + size
    high, low = fast_two_sum(x.like(1.0), -size)
    inverse = 1.0 / high
    ratio = twice * inverse
    ratio, rest = fast_two_sum(ratio, fma(-ratio, low, fma(-ratio, high, twice)) * inverse)
    result = log1p_double(ratio, rest).value() * 0.5
    result = select(size < 2.0 ** -(FORMATS[x.type.kind].digits // 2 + 2), size, result)
    result = select(size.eq(1.0), math.inf, result)
    return select(size <= 1.0, result, math.nan).copysign(x)
