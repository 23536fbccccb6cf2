"""Sine, cosine and tangent of arguments of any size, reduced by multiples of pi/2 in twice the precision.

x = n pi/2 + r with |r| <= pi/4. Up to a limit, pi/2 in three parts gives r as a sum of two floats: x - n P1 is exact
with a fused multiply-add, and the other parts are subtracted with their rounding errors. Larger arguments, in any lane,
take a branch to a function that multiplies by the relevant binary digits of 2/pi (Payne and Hanek), and that is never
inlined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from wengert.compiler.simd.double import Double, double_constant, fast_two_sum, two_product, two_sum
from wengert.compiler.simd.lanes import Lanes, fma, polynomial, select
from wengert.compiler.simd.types import Type
from wengert.compiler.simd.vector_functions import call, replace_rare, vector, vector_function
from wengert.ops.elementwise import trigonometric


class ReductionConstants(NamedTuple):
    """The constants of the reduction and the polynomials for one precision."""

    half_pi: tuple[float, float, float]
    rounder: float
    """1.5 times the first power of two whose ulp is 1: a number added to it is rounded to an integer."""
    limit: float
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


# sin(r) = r + r^3 S(r^2) and cos(r) = 1 - r^2/2 + r^4 C(r^2) for |r| <= 1.002 pi/4. Relative errors of the fits: S and
# C of doubles 2^-57.9 and 2^-63.8, of singles 2^-27.9 and 2^-32.9.
PRECISIONS = {
    "f64": ReductionConstants(
        half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
        rounder=1.5 * 2.0**52,
        limit=2.0**40,
        sine=(
            1.5896490642891033e-10, -2.505075379579354e-08, 2.7557313671840023e-06, -0.00019841269829778553,
            0.008333333333322429, -0.16666666666666632,
        ),
        cosine=(
            -1.1357738585413054e-11, 2.0875684888742425e-09, -2.755731405675023e-07, 2.48015872884036e-05,
            -0.0013888888888872286, 0.04166666666666659,
        ),
    ),
    "f32": ReductionConstants(
        half_pi=(1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
        rounder=1.5 * 2.0**23,
        limit=2.0**15,
        sine=(-0.0001951836165972054, 0.008332190103828907, -0.16666655242443085),
        cosine=(2.4432310965494253e-05, -0.0013887309469282627, 0.04166664555668831),
    ),
}  # fmt: skip

DIGITS = 48
"""Bits of 2/pi in each element of the table."""


def _two_over_pi(count: int) -> tuple[int, ...]:
    """The binary digits of 2/pi, `DIGITS` at a time, by Machin's formula in integers."""
    size = DIGITS * count + 64

    def arctan_of_inverse(n: int) -> int:
        power, total, k = (1 << size) // n, 0, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    digits = (1 << (2 * size + 1)) // pi
    return tuple(digits >> (size - DIGITS * (i + 1)) & ((1 << DIGITS) - 1) for i in range(count))


CHUNKS = 5
"""Elements in one product: at most 102 of the 240 bits are multiples of full turns, and r is right to 2^-135."""

TABLE = _two_over_pi(20 + CHUNKS)


EIGHTH = 0.785
"""Below an eighth of a turn: numbers up to it are zero quarter turns, and themselves the rest."""


class Angle(NamedTuple):
    """An argument as quarter turns, modulo four in the last two bits of integers, and a rest in two parts."""

    quarters: Lanes
    rest: Double


def _reduce_small(x: Lanes) -> Angle:
    """The angle of nonnegative arguments below the limit.

    x - n P1 is a multiple of the ulp of n P2, whichever is larger, which is enough for a fast sum to be exact.
    """
    (p1, p2, p3), rounder = PRECISIONS[x.type.kind][:2]
    shifted = fma(x, 1.0 / PRECISIONS["f64"].half_pi[0], rounder)
    n = shifted - rounder
    first = fma(n, -p1, x)
    second, lost = two_product(n, p2)
    high = first - second
    low = ((first - high) - second) - fma(n, p3, lost)
    return Angle(shifted.bits(), Double(high, low))


def _reduce_if_needed(x: Lanes) -> Angle:
    """The same angle; one number that is its own rest does not wait for the reduction, as in a loop of such numbers."""
    if x.type.lanes > 1:
        return _reduce_small(x)
    code = x.code
    rounder = x.like(PRECISIONS[x.type.kind].rounder).bits()
    values = rounder, x, x.like(0.0)
    variables = [code.variable(value.type, value) for value in values]
    with code.when(x > EIGHTH):
        quarters, rest = _reduce_small(x)
        for variable, value in zip(variables, (quarters, *rest), strict=True):
            code.store(value, variable)
    quarters, high, low = [code.load(v, value.type) for v, value in zip(variables, values, strict=True)]
    return Angle(quarters, Double(high, low))


def _reduce_huge(x: Lanes) -> Angle:
    """The angle of finite doubles from 1.

    With x = m 2^e, the elements of the table whose product with x is a multiple of four are skipped; x is scaled so
    that the first one used is an integer. Products are exact sums of two doubles, and so are their remainders modulo
    four.
    """
    exponent = x.bits().logical_right(52) - 1023
    beyond = exponent - 54
    skipped = select(beyond > 0, beyond * 1366, 0).logical_right(16)  # a division by 48, exact below 1 000
    scaled = (x.bits() - ((skipped + 1) * DIGITS << 52)).floats()
    terms: list[Lanes] = []
    for j in range(CHUNKS):
        high, low = two_product(_table_element(skipped + j) * 2.0 ** (-DIGITS * j), scaled)
        terms += [high, low] if j > 1 else [_modulo_four(high), _modulo_four(low)]
    # Sums of sums of rounding errors: after three passes, the total has four times the precision.
    for _ in range(3):
        for i in range(len(terms) - 1, 0, -1):
            terms[i - 1], terms[i] = two_sum(terms[i - 1], terms[i])
    quarters = terms[0].rint()
    fraction = fast_two_sum(*two_sum(terms[0] - quarters, terms[1]))
    low = fraction.low + (terms[2] + terms[3])
    rest = fast_two_sum(fraction.high, low).times(double_constant(x, *PRECISIONS["f64"].half_pi[:2]))
    return Angle(quarters.to("i64"), rest)


def _modulo_four(x: Lanes) -> Lanes:
    return fma((x * 0.25).rint(), -4.0, x)


def _table_element(index: Lanes) -> Lanes:
    """Elements of the table of 2/pi, read lane by lane."""
    code, new = index.code, index.type.of("f64")
    name = "@wengert.two_over_pi"
    entries = ", ".join(f"double {float(entry)!r}" for entry in TABLE)
    code.declarations[name] = f"{name} = internal unnamed_addr constant [{len(TABLE)} x double] [{entries}]"

    def read(i: Lanes) -> Lanes:
        return code.load(code.add(f"getelementptr double, ptr {name}, {i.typed}", Type("ptr")), Type("f64"))

    if new.lanes == 1:
        return read(index)
    found = Lanes(code, "poison", new)
    for lane in range(new.lanes):
        one = read(code.add(f"extractelement {index.typed}, i64 {lane}", Type("i64")))
        found = code.add(f"insertelement {found.typed}, {one.typed}, i64 {lane}", new)
    return found


def _sine(angle: Angle) -> Double:
    """The sine of the rest, as a float and a correction of up to some percent."""
    r, low = angle.rest
    z = r * r
    return Double(r, fma(r * z, polynomial(z, PRECISIONS[r.type.kind].sine), fma(z * low, -0.5, low)))


def _cosine(angle: Angle) -> Double:
    r, low = angle.rest
    z, lost = two_product(r, r)
    main = fast_two_sum(z.like(1.0), z * -0.5)
    return Double(
        main.high, fma(z * z, polynomial(z, PRECISIONS[r.type.kind].cosine), fma(lost, -0.5, fma(-r, low, main.low)))
    )


def _sine_of_turns(angle: Angle, quarters: int, sign: Lanes) -> Lanes:
    """The sine of an angle plus quarter turns, with sign bits that are flipped."""
    count = angle.quarters + quarters if quarters else angle.quarters
    odd = (count & 1).ne(0)
    value = select(odd, _cosine(angle).value(), _sine(angle).value())
    flip = (count << (value.type.bits - 2)) & _sign_bit(value.type)
    return (value.bits() ^ flip ^ sign).floats()


def _sign_bit(type: Type) -> int:
    return -(1 << (type.bits - 1))


def _sign(x: Lanes) -> Lanes:
    return x.bits() & _sign_bit(x.type)


def _sin(x: Lanes, angle: Angle) -> Lanes:
    return _sine_of_turns(angle, 0, _sign(x))


def _cos(x: Lanes, angle: Angle) -> Lanes:
    return _sine_of_turns(angle, 1, x.bits() & 0)


def _tan(x: Lanes, angle: Angle) -> Lanes:
    """sin/cos, or -cos/sin after an odd number of quarter turns: a quotient of two sums, with its remainder."""
    odd = (angle.quarters & 1).ne(0)
    sine, cosine = fast_two_sum(*_sine(angle)), fast_two_sum(*_cosine(angle))
    top = Double(*(select(odd, c, s) for s, c in zip(sine, cosine, strict=True)))
    below = Double(*(select(odd, s, c) for s, c in zip(sine, cosine, strict=True)))
    inverse = 1.0 / below.high
    quotient = top.high * inverse
    remainder = fma(-quotient, below.high, top.high) + fma(-quotient, below.low, top.low)
    flip = (angle.quarters << (x.type.bits - 1)) & _sign_bit(x.type)
    return (fma(remainder, inverse, quotient).bits() ^ flip ^ _sign(x)).floats()


def _of_any_size(x: Lanes, name: str, function: Callable[[Lanes, Angle], Lanes]) -> Lanes:
    size = x.abs()
    return replace_rare(function(x, _reduce_if_needed(size)), size >= PRECISIONS[x.type.kind].limit, f"{name}.huge", x)


def _huge(x: Lanes, name: str, function: Callable[[Lanes, Angle], Lanes]) -> Lanes:
    """For arguments above the limit, which for singles is far below that of doubles."""
    if x.type.kind == "f32":
        return call(name, x.to("f64")).to("f32")
    size = x.abs()
    proper = (size >= 1.0) & (size < float("inf"))
    return select(proper, function(x, _reduce_huge(select(proper, size, 1.0))), x - x)


@vector(trigonometric.sin)
def sin(x: Lanes) -> Lanes:
    """The sine."""
    return _of_any_size(x, "sin", _sin)


@vector(trigonometric.cos)
def cos(x: Lanes) -> Lanes:
    """The cosine."""
    return _of_any_size(x, "cos", _cos)


@vector(trigonometric.tan)
def tan(x: Lanes) -> Lanes:
    """The tangent."""
    return _of_any_size(x, "tan", _tan)


@vector_function("sin.huge")
def _sin_huge(x: Lanes) -> Lanes:
    return _huge(x, "sin", _sin)


@vector_function("cos.huge")
def _cos_huge(x: Lanes) -> Lanes:
    return _huge(x, "cos", _cos)


@vector_function("tan.huge")
def _tan_huge(x: Lanes) -> Lanes:
    return _huge(x, "tan", _tan)
