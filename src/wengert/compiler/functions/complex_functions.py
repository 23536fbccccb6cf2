"""Functions of complex numbers, by real vector functions of their parts, with the special values of C and NumPy.

Each part is right to a few ulp of the modulus. Where a part alone would overflow, such as cosh x in cosh x cos y, a
power of e is multiplied last.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import TypeVar

from wengert.compiler.forms.lowering import Instructions, complex_lowering
from wengert.compiler.functions.logarithm import log_of_double_sum, split_positive
from wengert.compiler.functions.vector_functions import call
from wengert.compiler.simd.complex_lanes import Complex
from wengert.compiler.simd.double import fast_two_sum, two_product
from wengert.compiler.simd.lanes import Lanes, select
from wengert.core.aspects import Operation
from wengert.ops.elementwise import arithmetic, exponential, trigonometric

LARGE = {"f64": 709.0, "f32": 88.0}
"""Integers whose exponentials are just finite."""
FLAT = {"f64": 22.0, "f32": 11.0}
"""Beyond these, tanh is one."""
MOST_FACTORS = 100
"""Integers below this are powers by repeated multiplication, as in NumPy."""

Body = TypeVar("Body", bound=Callable[..., Lanes])


def function(*operations: Operation, calls: int = 1) -> Callable[[Body], Body]:
    """Make the decorated body the instructions of operations on complex numbers, at the cost of so many functions."""

    def decorate(body: Body) -> Body:
        complex_lowering.enter(Instructions(body, "c", lambda now: calls * now.operations_of_function), *operations)
        return body

    return decorate


def in_double(body: Callable[[Complex], Complex]) -> Callable[[Complex], Complex]:
    """The same in double precision for single precision too, where nothing overflows or cancels."""

    def run(z: Complex) -> Complex:
        return body(z.with_parts("f64")).with_parts("f32") if z.type.kind == "c64" else body(z)

    return run


def are_finite(x: Lanes) -> Lanes:
    """Neither infinite nor NaN."""
    return x.abs() < math.inf


def is_infinite(x: Lanes) -> Lanes:
    """Infinite with either sign."""
    return x.abs().eq(math.inf)


@function(exponential.exp, calls=3)
def exp(z: Complex) -> Complex:
    """e^x (cos y + i sin y)."""
    x, y, limit = z.real, z.imag, LARGE[z.real.type.kind]
    is_large = x > limit
    size, factor = call("exp", select(is_large, x - limit, x)), select(is_large, x.like(math.exp(limit)), 1.0)
    real, imag = size * call("cos", y) * factor, size * call("sin", y) * factor
    imag = select(y.eq(0.0), y, imag)
    vanishes = x.eq(-math.inf) & ~are_finite(y)
    real = select(x.eq(math.inf) & ~are_finite(y), math.inf, select(vanishes, 0.0, real))
    return Complex(real, select(vanishes, y.like(0.0).copysign(y), imag))


# Logarithms and powers


@in_double
def logarithm(z: Complex) -> Complex:
    """log |z| + i arg z; x^2 + y^2 has twice the precision, because its logarithm is small near one."""
    width, height = z.real.abs(), z.imag.abs()
    larger, smaller = select(width > height, width, height), select(width > height, height, width)
    is_huge, is_tiny = larger > 2.0**500, larger < 2.0**-500
    scale = select(is_huge, larger.like(2.0**-600), select(is_tiny, larger.like(2.0**600), 1.0))
    shift = select(is_huge, larger.like(1200.0), select(is_tiny, larger.like(-1200.0), 0.0))
    u, v = larger * scale, smaller * scale
    total = two_product(u, u).plus(two_product(v, v))
    _, k, m = split_positive(total.high)
    # the same power of two for the low part: m over the high one
    f, low = fast_two_sum(m - 1.0, total.low * (m / total.high))
    real = log_of_double_sum(k + shift, f, low).value() * 0.5
    real = select(larger.eq(0.0), -math.inf, real)
    real = select(is_infinite(z.real) | is_infinite(z.imag), math.inf, real)
    return Complex(select(z.is_nan() & real.ne(math.inf), math.nan, real), call("arctan2", z.imag, z.real))


function(exponential.log, calls=3)(logarithm)
function(exponential.log2, calls=3)(lambda z: logarithm(z).of_parts(lambda part: part * (1.0 / math.log(2.0))))
function(exponential.log10, calls=3)(lambda z: logarithm(z).of_parts(lambda part: part * (1.0 / math.log(10.0))))


@function(exponential._power, calls=6)
def power(z: Complex, w: Complex) -> Complex:
    """Products for small integers, as in NumPy, else e^(w log z)."""
    exponent = constant_integer(w)
    if exponent is not None:
        return constant_power(z, exponent)
    size = w.real.abs()
    is_integer = w.imag.eq(0.0) & size.trunc().eq(size) & (size < MOST_FACTORS)
    product = integer_power(z, select(is_integer, size, 0.0).to(f"i{size.type.bits}"))
    product = (1.0 / product).where(w.real < 0.0, product)
    result = product.where(is_integer, exp(keep_infinite(w, logarithm(z))))
    is_zero = z.eq(0.0)
    at_zero = select(w.real > 0.0, w.real.like(0.0), math.nan)
    result = Complex(at_zero, at_zero).where(is_zero, result)
    return result.like(1.0).where(w.eq(0.0), result)


def multiply(x: Complex, y: Complex) -> Complex:
    """The product as NumPy's powers compute it, with every product of parts rounded."""
    return Complex(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)


def keep_infinite(x: Complex, y: Complex) -> Complex:
    """C's product: infinite if one factor is, or a product of parts, even where the formula gives NaN in both parts."""
    product = multiply(x, y)
    overflows = [is_infinite(a * b) for a in (x.real, x.imag) for b in (y.real, y.imag)]
    is_far = [is_infinite(z.real) | is_infinite(z.imag) for z in (x, y)]
    is_lost = product.real.is_nan() & product.imag.is_nan()

    def bounded(z: Complex, is_far: Lanes) -> Complex:
        """Parts of an infinite number become one or zero, and NaN becomes zero."""
        size = lambda part: select(is_far & is_infinite(part), part.like(1.0), select(is_far, 0.0, part.abs()))
        return z.of_parts(lambda part: select(part.is_nan(), 0.0, size(part)).copysign(part))

    direction = multiply(bounded(x, is_far[0]), bounded(y, is_far[1]))
    is_found = is_lost & reduce(lambda a, b: a | b, [*is_far, *overflows])
    return direction.of_parts(lambda part: part * math.inf).where(is_found, product)


def constant_integer(w: Complex) -> int | None:
    """The value of an exponent that is a small real integer, known when code is written."""
    value, size = w.real.constant_value, w.imag.constant_value
    if value is None or size != 0.0 or value != int(value) or abs(value) >= MOST_FACTORS:
        return None
    return int(value)


def integer_power(z: Complex, n: Lanes) -> Complex:
    """z^n for integers from 1 to MOST_FACTORS, which differ from lane to lane."""
    is_in = lambda i: (n & (1 << i)).ne(0)
    result, square, is_begun = z, z, is_in(0)
    for i in range(1, MOST_FACTORS.bit_length()):
        square = multiply(square, square)
        result = multiply(result, square).where(is_begun, square).where(is_in(i), result)
        is_begun = is_begun | is_in(i)
    return result


def constant_power(z: Complex, n: int) -> Complex:
    """The same for one integer that is known when code is written."""
    if n == 0:
        return z.like(1.0)
    squares = [z]
    while len(squares) < abs(n).bit_length():
        squares.append(multiply(squares[-1], squares[-1]))
    result = reduce(multiply, [square for i, square in enumerate(squares) if abs(n) >> i & 1])
    if n < 0:
        result = 1.0 / result
    return z.like(0.0 if n > 0 else complex(math.nan, math.nan)).where(z.eq(0.0), result)


@function(arithmetic.sqrt, calls=2)
@in_double
def sqrt(z: Complex) -> Complex:
    """The root with a real part that is not negative."""
    x, y = z.real, z.imag
    larger = select(x.abs() > y.abs(), x.abs(), y.abs())
    is_huge, is_tiny = larger > 2.0**1020, larger < 2.0**-1000
    scale = select(is_huge, x.like(0.25), select(is_tiny, x.like(2.0**104), 1.0))
    back = select(is_huge, x.like(2.0), select(is_tiny, x.like(2.0**-52), 1.0))
    width, height = x.abs() * scale, y.abs() * scale
    long = ((width + call("hypot", width, height)) * 0.5).sqrt()
    short = select(long.eq(0.0), 0.0, height * 0.5 / long) * back
    long = long * back
    is_right = x >= 0.0
    real, imag = select(is_right, long, short), select(is_right, short, long).copysign(y)
    # without these, a NaN in the other part would hide the infinity
    is_high = is_infinite(y)
    real, imag = select(is_high, math.inf, real), select(is_high, y, imag)
    return Complex(real, select(x.is_nan() & ~is_high, math.nan, imag))


# Hyperbolic and trigonometric functions


def grown(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """cosh x and sinh x, both over a factor that is large if they overflow, and the factor."""
    limit, size = LARGE[x.type.kind], x.abs()
    is_large = size > limit
    rest = select(is_large, size - limit, size)
    cosh, sinh = call("cosh", rest), call("sinh", rest)
    half = (cosh + sinh) * 0.5
    factor = select(is_large, x.like(math.exp(limit)), 1.0)
    return select(is_large, half, cosh), select(is_large, half, sinh).copysign(x), factor


def sine_parts(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """sinh x cos y and cosh x sin y: the parts of sinh(x + i y), and in the other order of sin(y + i x)."""
    cosh, sinh, factor = grown(x)
    first, second = sinh * call("cos", y) * factor, cosh * call("sin", y) * factor
    is_wild = ~are_finite(y)
    first = select(is_infinite(x) & is_wild, math.inf, select(x.eq(0.0) & is_wild, x, first))
    return first, select(y.eq(0.0), y, second)


def hyperbolic_cosine(z: Complex) -> Complex:
    """cosh x cos y + i sinh x sin y."""
    x, y = z.real, z.imag
    cosh, sinh, factor = grown(x)
    real, imag = cosh * call("cos", y) * factor, sinh * call("sin", y) * factor
    is_wild = ~are_finite(y)
    real = select(is_infinite(x) & is_wild, math.inf, real)
    on_axis = select(x.is_nan(), y, y * x.like(1.0).copysign(x))
    return Complex(real, select(y.eq(0.0), on_axis, select(x.eq(0.0) & is_wild, 0.0, imag)))


def tangent_parts(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """The parts of tanh(x + i y), and in the other order of tan(y + i x): Kahan's formula in sinh x and tan y."""
    tangent, sinh = call("tan", y), call("sinh", x)
    slope = tangent * tangent + 1.0
    divisor = slope * sinh * sinh + 1.0
    first = slope * (sinh * sinh + 1.0).sqrt() * sinh / divisor
    is_far, is_wild = is_infinite(x), ~are_finite(y)
    first = select((x.abs() > FLAT[x.type.kind]) & (is_far | ~is_wild), x.like(1.0).copysign(x), first)
    second = select(y.eq(0.0), y, tangent / divisor)
    return select(x.eq(0.0), x, first), select(is_far & is_wild, y.like(0.0).copysign(y), second)


def reverse(parts: tuple[Lanes, Lanes]) -> Complex:
    """The number whose imaginary part comes first."""
    return Complex(parts[1], parts[0])


function(trigonometric.sinh, calls=4)(lambda z: Complex(*sine_parts(z.real, z.imag)))
function(trigonometric.cosh, calls=4)(hyperbolic_cosine)
function(trigonometric.tanh, calls=3)(lambda z: Complex(*tangent_parts(z.real, z.imag)))
function(trigonometric.sin, calls=4)(lambda z: reverse(sine_parts(z.imag, z.real)))
function(trigonometric.cos, calls=4)(lambda z: hyperbolic_cosine(Complex(-z.imag, z.real)))
function(trigonometric.tan, calls=3)(lambda z: reverse(tangent_parts(z.imag, z.real)))


@function(arithmetic.reciprocal)
def reciprocal(z: Complex) -> Complex:
    """1 / z by the ratio of the parts, the smaller over the larger."""
    is_wide = z.imag.abs() <= z.real.abs()
    larger, smaller = select(is_wide, z.real, z.imag), select(is_wide, z.imag, z.real)
    ratio = smaller / larger
    divisor = larger + smaller * ratio
    one, other = 1.0 / divisor, ratio / divisor
    return Complex(select(is_wide, one, other), -select(is_wide, other, one))
