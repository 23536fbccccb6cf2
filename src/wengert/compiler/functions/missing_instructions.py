"""Instructions that some processors lack, written out with others: roundings, fused multiply-adds, and square roots.

The results are the same bits, so that an exported program computes what the present machine does. Where a target
`lacks` one of LLVM's intrinsics, `Code.intrinsic` finds it here; otherwise LLVM would call the C library.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.compiler.functions.vector_functions import call, vector_function
from wengert.compiler.simd.double import two_sum
from wengert.compiler.simd.lanes import MISSING, Lanes, select
from wengert.compiler.simd.types import Type

DIGITS = {"f64": 52, "f32": 23}
"""The bits of a significand after the point."""
BIAS = {"f64": 1023, "f32": 127}
"""What is added to exponents."""
FIRST_ROOT = {"f64": 0x5FE6EB50C7B537A9, "f32": 0x5F3759DF}
"""From this, the half of the bits of a number is subtracted: they are those of about the reciprocal of its root."""
NEWTON_STEPS = {"f64": 4, "f32": 3}
EXACT = {"f64": (2.0**-960, 2.0**970), "f32": (2.0**-100, 2.0**100)}
"""Products between these numbers, of factors and with summands below the second, have parts that are exact."""


def missing(name: str) -> Callable[[Callable[..., Lanes]], Callable[..., Lanes]]:
    """Make the decorated function what stands for an intrinsic, by the name of LLVM."""

    def decorate(body: Callable[..., Lanes]) -> Callable[..., Lanes]:
        MISSING[name] = body
        return body

    return decorate


@missing("roundeven")
def rint(x: Lanes) -> Lanes:
    """The nearest integer, ties to even: the sum with a number whose last bit is 1 is rounded so."""
    whole = 2.0 ** DIGITS[x.type.kind]
    size = x.abs()
    return select(size < whole, (size + whole) - whole, size).copysign(x)


@missing("floor")
def floor(x: Lanes) -> Lanes:
    """The largest integer that is not above x."""
    near = rint(x)
    return (near - select(near > x, x.like(1.0), 0.0)).copysign(x)


@missing("ceil")
def ceil(x: Lanes) -> Lanes:
    """The smallest integer that is not below x."""
    near = rint(x)
    return (near + select(near < x, x.like(1.0), 0.0)).copysign(x)


@missing("trunc")
def trunc(x: Lanes) -> Lanes:
    """The integer part of x."""
    size = x.abs()
    near = rint(size)
    return (near - select(near > size, x.like(1.0), 0.0)).copysign(x)


@missing("fma")
def fma(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """x * y + z, rounded once; where numbers are so large or small that their parts are not exact, twice.

    The product and its error are added to z exactly, in three numbers. The sum of the smaller two is rounded to odd,
    as Boldo and Melquiond have shown: then the last sum is rounded as if it were the only one.
    """
    return call_once(x, "fma", y, z)


@missing("sqrt")
def sqrt(x: Lanes) -> Lanes:
    """The square root, rounded correctly."""
    return call_once(x, "sqrt.exact")


def call_once(x: Lanes, name: str, *rest: Lanes) -> Lanes:
    """Call a function that is so long that a program should have it once."""
    found = call(name, x, *rest)
    x.code.lines[-1] += " noinline"
    return found


@vector_function("fma")
def write_fma(x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """The function of a fused multiply-add."""
    smallest, largest = EXACT[x.type.kind]
    product = x * y
    is_exact = product.abs() > smallest
    for number in (x, y, z, product):
        is_exact = is_exact & (number.abs() < largest)
    middle, low = two_sum(z, product_error(x, y, product))
    high, rest = two_sum(product, middle)
    return select(is_exact, high + round_to_odd(low, rest), product + z)


def product_error(x: Lanes, y: Lanes, product: Lanes) -> Lanes:
    """The rounding error of a product, by halves of the significands, whose products are exact."""
    (a, b), (c, d) = halves(x), halves(y)
    return ((a * c - product) + a * d + b * c) + b * d


def halves(x: Lanes) -> tuple[Lanes, Lanes]:
    """x as the sum of two numbers with half as many bits."""
    scaled = x * (2.0 ** (DIGITS[x.type.kind] // 2 + 1) + 1.0)
    high = scaled - (scaled - x)
    return high, x - high


def round_to_odd(x: Lanes, y: Lanes) -> Lanes:
    """x + y: if that is not a float, the one of its two neighbours whose last bit is 1."""
    total, error = two_sum(x, y)
    bits = total.bits()
    integer = Type(bits.type.kind, bits.type.lanes)
    step = select(~((error > 0.0) ^ (total > 0.0)), bits.code.constant(1, integer), -1)
    is_inexact_and_even = error.ne(0.0) & (bits & 1).eq(0)
    return select(is_inexact_and_even, bits + step, bits).floats()


@vector_function("sqrt.exact")
def write_sqrt(x: Lanes) -> Lanes:
    """The function of a square root: of a number between 1 and 4, times a power of 2.

    Newton's method gives the reciprocal of the root. The last step has an exact residual, as Markstein has shown: then
    the root is rounded correctly.
    """
    kind, digits = x.type.kind, DIGITS[x.type.kind]
    is_tiny = x < 2.0 ** (2 - BIAS[kind])
    scaled = select(is_tiny, x * 2.0 ** (digits + digits % 2), x)
    bits = scaled.bits()
    half = ((bits >> digits) - BIAS[kind]) >> 1
    number = (bits - (half << (digits + 1))).floats()
    inverse = (bits.like(FIRST_ROOT[kind]) - number.bits().logical_right(1)).floats()
    for _ in range(NEWTON_STEPS[kind]):
        inverse = inverse * (1.5 - number * 0.5 * inverse * inverse)
    root = number * inverse
    root = exact_sum(-root, root, number, inverse * 0.5, root)
    scale = ((half + BIAS[kind]) << digits).floats()
    root = root * scale
    root = select(is_tiny, root * 2.0 ** (-(digits + digits % 2) // 2), root)
    is_usual = (x > 0.0) & (x < float("inf"))
    # zeros and infinity stay, negative numbers have none
    return select(is_usual, root, select(x < 0.0, x.like(float("nan")), x))


def exact_sum(x: Lanes, y: Lanes, z: Lanes, factor: Lanes, term: Lanes) -> Lanes:
    """factor * (x * y + z) + term, each rounded once."""
    return x.times_plus(y, z).times_plus(factor, term)
