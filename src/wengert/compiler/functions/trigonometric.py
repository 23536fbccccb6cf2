"""Sine, cosine and tangent of arguments of any size, reduced by multiples of pi/2 in twice the precision.

x = n pi/2 + r with |r| <= pi/4. Up to a limit, pi/2 in three parts gives r as a sum of two floats: x - n P1 is exact
with a fused multiply-add, and the other parts are subtracted with their rounding errors. Larger arguments, in any lane,
take a branch to a function that multiplies by the relevant binary digits of 2/pi (Payne and Hanek), in integers. It is
never inlined, and short, as every program with a sine has it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from wengert.compiler.functions.vector_functions import vector, vector_pair
from wengert.compiler.simd.double import Double, double_constant, fast_two_sum, two_product, two_sum
from wengert.compiler.simd.lane_operations import any_lane
from wengert.compiler.simd.lanes import Code, Lanes, divide_usual, fma, select, short_polynomial
from wengert.compiler.simd.types import I64, PTR, Type
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

F64, WORD = Type("f64"), 64
"""Bits of 2/pi in each element of the table."""


def _two_over_pi(count: int) -> tuple[int, ...]:
    """The binary digits of 2/pi after a word of zeros, a word at a time, by Machin's formula in integers."""
    size = WORD * count

    def arctan_of_inverse(n: int) -> int:
        power, total, k = (1 << size + WORD) // n, 0, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    digits = (1 << (2 * size + WORD + 1)) // pi
    return tuple(digits >> (size - WORD * i) & ((1 << WORD) - 1) for i in range(count + 1))


TABLE = _two_over_pi(20)


EIGHTH = 0.785
"""Below an eighth of a turn: numbers up to it are zero quarter turns, and themselves the rest."""


class Angle(NamedTuple):
    """An argument as quarter turns, modulo four in the last two bits of integers, and a rest in two parts."""

    quarters: Lanes
    rest: Double


def _reduce(x: Lanes) -> Angle:
    """The angle of nonnegative arguments."""
    code = x.code
    quarters, rest = reduce_small(x)
    found = quarters, *rest
    variables = [code.variable(value.type, value) for value in found]
    is_huge = x >= PRECISIONS[x.type.kind].limit
    with code.when(any_lane(is_huge)):
        quarters, rest = reduce_huge(x)
        for variable, value, other in zip(variables, found, (quarters, *rest), strict=True):
            code.store(select(is_huge, other, value), variable)
    quarters, high, low = [code.load(v, value.type) for v, value in zip(variables, found, strict=True)]
    return Angle(quarters, Double(high, low))


def reduce_small(x: Lanes) -> Angle:
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


def reduce_huge(x: Lanes) -> Angle:
    """The angle of arguments from 1, by a function that reduces one after the other: so there is one for all lanes."""
    code, wide = x.code, x.type.of("f64")
    types = wide.of("i64"), wide, wide
    arrays = [code.array(type, 1) for type in (wide, *types)]
    code.store(x.to("f64"), arrays[0])
    _declare_huge(code)
    code.do(f"call void {HUGE}({', '.join(a.typed for a in arrays)}, i64 {x.type.lanes})")
    quarters, high, low = [code.load(array, type) for array, type in zip(arrays[1:], types, strict=True)]
    first = high.to(x.type.kind)
    return Angle(quarters.to(f"i{x.type.bits}"), Double(first, ((high - first.to("f64")) + low).to(x.type.kind)))


HUGE = "@wengert.reduce_huge"


def _declare_huge(caller: Code) -> None:
    """Define the function that writes the angles of doubles: quarter turns, and both parts of the rest."""
    code = Code()
    arrays = [Lanes(code, name, PTR) for name in ("%x", "%quarters", "%high", "%low")]
    with code.loop(0, Lanes(code, "%lanes", I64)) as i:
        addresses = [code.offset(array, i, F64) for array in arrays]
        quarters, rest = _reduce_one(code.load(addresses[0], F64))
        for value, address in zip((quarters, *rest), addresses[1:], strict=True):
            code.store(value, address)
    parameters = ", ".join([*[a.typed for a in arrays], "i64 %lanes"])
    start = f"define internal void {HUGE}({parameters}) noinline cold nounwind {{"
    text = "\n".join([start, "entry:", *code.hoisted, *code.lines, "  ret void", "}"])
    caller.declarations |= {**code.declarations, HUGE: text}
    caller.calls |= {key: caller.calls.get(key, 0) + count for key, count in code.calls.items()}


def _reduce_one(x: Lanes) -> Angle:
    """The angle of one double from 1, or of less; NaN if it is infinite.

    With x = m 2^e, the digits of 2/pi whose product with x is a multiple of four are skipped, and the next three words
    are multiplied by m: 2 bits are the quarter turns, 126 the fraction, which is never below 2^-62.
    """
    bits = select(x < 1.0, x.like(1.0), x).bits()
    mantissa = (bits & (2**52 - 1)) | 2**52
    first = bits.logical_right(52) - (1023 + 52 + 2) + WORD
    words = [_table_word(first.logical_right(6) + k) for k in range(4)]
    digits = [_shift_left(w, after, first & (WORD - 1)) for w, after in pairwise(words)]
    (top, middle), (next_middle, _) = [_whole_product(mantissa, word) for word in digits[1:]]
    low = middle + next_middle
    carry = ((middle & next_middle) | ((middle | next_middle) & ~low)).logical_right(WORD - 1)
    top = mantissa * digits[0] + top + carry
    rounded = top + 2**61  # a rest from an eighth of a turn on is a negative rest after the next quarter
    high, low = _shift_left(top, low, 2), low << 2
    parts = [high >> 32, high & LOW_HALF, low.logical_right(32), low & LOW_HALF]
    terms = [part.to("f64") * 2.0 ** (-32 * (k + 1)) for k, part in enumerate(parts)]
    total, error = two_sum(terms[0], terms[1])
    total, rest = two_sum(total, terms[2])
    fraction = fast_two_sum(total, error + rest + terms[3])
    high, low = fraction.times(double_constant(x, *PRECISIONS["f64"].half_pi[:2]))
    return Angle(rounded.logical_right(62), Double(select(x < float("inf"), high, float("nan")), low))


LOW_HALF = 2**32 - 1


def _whole_product(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """The product of two unsigned words, in two words: by halves, as not every processor has an instruction for it."""
    (x_high, x_low), (y_high, y_low) = [(word.logical_right(32), word & LOW_HALF) for word in (x, y)]
    lowest = x_low * y_low
    inner = x_high * y_low + lowest.logical_right(32)
    outer = x_low * y_high + (inner & LOW_HALF)
    high = x_high * y_high + inner.logical_right(32) + outer.logical_right(32)
    return high, outer << 32 | (lowest & LOW_HALF)


def _shift_left(x: Lanes, following: Lanes, count: Lanes | int) -> Lanes:
    """x shifted to the left, with the first bits of the following integer at its end."""
    return x.code.intrinsic("fshl", I64, x, following, x.like(count))


def _table_word(index: Lanes) -> Lanes:
    """An element of the table of 2/pi."""
    code, name = index.code, "@wengert.two_over_pi"
    words = ", ".join(f"i64 {word}" for word in TABLE)
    code.declarations[name] = f"{name} = internal unnamed_addr constant [{len(TABLE)} x i64] [{words}]"
    return code.load(code.offset(Lanes(code, name, PTR), index, I64), I64)


def _sine(r: Lanes, low: Lanes | None = None) -> Double:
    """The sine of a rest in one or two parts, as a float and a correction of up to some percent."""
    z = r * r
    cube, factor = r * z, short_polynomial(z, PRECISIONS[r.type.kind].sine)
    return Double(r, cube * factor if low is None else fma(cube, factor, fma(z * low, -0.5, low)))


def _cosine(r: Lanes, low: Lanes | None = None) -> Double:
    z, lost = two_product(r, r)
    main = fast_two_sum(z.like(1.0), z * -0.5)
    rest = fma(lost, -0.5, main.low if low is None else fma(-r, low, main.low))
    return Double(main.high, fma(z * z, short_polynomial(z, PRECISIONS[r.type.kind].cosine), rest))


def _sine_of_turns(angle: Angle, quarters: int, sign: Lanes) -> Lanes:
    """The sine of an angle plus quarter turns, with sign bits that are flipped."""
    count = angle.quarters + quarters if quarters else angle.quarters
    odd = (count & 1).ne(0)
    value = select(odd, _cosine(*angle.rest).value(), _sine(*angle.rest).value())
    flip = (count << (value.type.bits - 2)) & _sign_bit(value.type)
    return (value.bits() ^ flip ^ sign).floats()


def _sign_bit(type: Type) -> int:
    return -(1 << (type.bits - 1))


def _sign(x: Lanes) -> Lanes:
    return x.bits() & _sign_bit(x.type)


def _quotient(top: Double, below: Double) -> Lanes:
    """A quotient of two sums, with its remainder."""
    inverse = divide_usual(1.0, below.high)
    quotient = top.high * inverse
    remainder = fma(-quotient, below.high, top.high) + fma(-quotient, below.low, top.low)
    return fma(remainder, inverse, quotient)


def _tangent_of_turns(x: Lanes, angle: Angle) -> Lanes:
    """sin/cos, or -cos/sin after an odd number of quarter turns."""
    odd = (angle.quarters & 1).ne(0)
    sine, cosine = fast_two_sum(*_sine(*angle.rest)), fast_two_sum(*_cosine(*angle.rest))
    top = Double(*(select(odd, c, s) for s, c in zip(sine, cosine, strict=True)))
    below = Double(*(select(odd, s, c) for s, c in zip(sine, cosine, strict=True)))
    flip = (angle.quarters << (x.type.bits - 1)) & _sign_bit(x.type)
    return (_quotient(top, below).bits() ^ flip ^ _sign(x)).floats()


class AngleFunction(NamedTuple):
    """A function of angles: of a number that is its own rest, and of any number, reduced."""

    near: Callable[[Lanes], Lanes]
    far: Callable[[Lanes, Angle], Lanes]


SINE = AngleFunction(lambda r: _sine(r).value().copysign(r), lambda x, angle: _sine_of_turns(angle, 0, _sign(x)))
COSINE = AngleFunction(lambda r: _cosine(r).value(), lambda x, angle: _sine_of_turns(angle, 1, x.bits() & 0))
TANGENT = AngleFunction(
    lambda r: _quotient(fast_two_sum(*_sine(r)), fast_two_sum(*_cosine(r))).copysign(r), _tangent_of_turns
)


def _of_any_size(x: Lanes, *functions: AngleFunction) -> tuple[Lanes, ...]:
    """Functions of angles; one number that is its own rest takes the short way, which has the same bits.

    A loop of such numbers does not wait for the reduction.
    """
    size = x.abs()
    if x.type.lanes > 1:
        angle = _reduce(size)
        return tuple([function.far(x, angle) for function in functions])
    code = x.code
    results = [code.variable(x.type, function.near(x)) for function in functions]
    with code.when(size > EIGHTH):
        angle = _reduce(size)
        for function, result in zip(functions, results, strict=True):
            code.store(function.far(x, angle), result)
    return tuple([code.load(result, x.type) for result in results])


@vector(trigonometric.sin)
def sin(x: Lanes) -> Lanes:
    """The sine."""
    return _of_any_size(x, SINE)[0]


@vector(trigonometric.cos)
def cos(x: Lanes) -> Lanes:
    """The cosine."""
    return _of_any_size(x, COSINE)[0]


@vector_pair("sincos", trigonometric.sin, trigonometric.cos)
def sincos(x: Lanes) -> tuple[Lanes, ...]:
    """Sine and cosine, with one reduction."""
    return _of_any_size(x, SINE, COSINE)


@vector(trigonometric.tan)
def tan(x: Lanes) -> Lanes:
    """The tangent."""
    return _of_any_size(x, TANGENT)[0]
