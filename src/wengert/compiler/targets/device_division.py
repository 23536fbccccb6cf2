"""Quotients and roots on GPUs, with the bits of IEEE arithmetic.

The instruction for a quotient hides a reciprocal: an approximation, Newton's method, and a correction by the exact
remainder (Markstein). Written out, quotients by one divisor have it in common, which derivatives have everywhere; and
quotients of zeros, which derivatives have, too, are usual numbers. The steps are those of the instruction, so that the
results are the same; numbers that are so large or small that a step might not be exact are left to it. Roots of singles
are written out so that the lanes of a thread have one branch for such numbers.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from wengert.compiler.simd.lane_operations import any_lane, pick_lanes
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.types import Type
from wengert.compiler.simd.vector_functions import Body, vector_symbol

QUOTIENT = re.compile(
    r"= fdiv (?:<(\d+) x )?(float|double)>? (%\w+|0x\w+|splat \([^)]*\)), (%\w+)(, !usual !\{\})?(?=\n)"
)
"""The instruction for quotients by numbers that are not constants, with the mark of `divide_usual`."""
ROOT = re.compile(r"= call (?:<(\d+) x )?float>? @llvm\.sqrt\.[v\d]*f32\(")
DOUBLE = re.compile(r"(%\w+) = fmul [^%]*0x4000000000000000\)?, (%\w+)(?=\n)")
ONE = re.compile(r"0x3FF0{13}\b")
RARE = ', !prof !{!"branch_weights", i32 1, i32 2000}'
"""What LLVM is told of a branch that is hardly ever taken, so that it does not compute both sides instead."""
KINDS = {"float": "f32", "double": "f64"}


class Bounds(NamedTuple):
    """Exponents of two: the least numerator and the largest divisor for which the remainder is exact.

    If a numerator is too large or a divisor too small, the quotient is infinite or NaN.
    """

    numerator: int
    divisor: int


BOUNDS = {"f64": Bounds(-500, 500), "f32": Bounds(-80, 46)}
ROOTS = 0x0D000000, 0x7F7FFFFF
"""The bits of the least single whose root has exact steps, and of the largest."""
INVERSE = {"f64": "@llvm.nvvm.rcp.approx.ftz.d", "f32": "@llvm.nvvm.rcp.approx.ftz.f"}
INVERSE_ROOT = "@llvm.nvvm.rsqrt.approx.ftz.f"
"""The instructions for reciprocals, of about 20 and 23 bits, and for those of roots of singles."""


def divide(x: Lanes, y: Lanes) -> Lanes:
    """x / y; instructions that depend on y alone are found by LLVM to be common."""
    return divide_by_inverse(x, y, invert_exactly(y))


def divide_by_twice(x: Lanes, y: Lanes) -> Lanes:
    """x / 2y, by the reciprocal of y."""
    return divide_by_inverse(x, y + y, invert_exactly(y) * 0.5)


def divide_by_inverse(x: Lanes, y: Lanes, inverse: Lanes) -> Lanes:
    """x / y, given the reciprocal where it is exact."""
    product, quotient = divide_exactly(x, y, inverse)
    is_zero = lambda: x.eq(0.0) & product.eq(0.0)
    # the remainder has lost the sign of a zero
    return leave_to_instruction(quotient, is_exact(x, y, quotient), is_zero, product, lambda: x / y)


def leave_to_instruction(
    found: Lanes, is_usual: Lanes, is_zero: Callable[[], Lanes], zero: Lanes, instruct: Callable[[], Lanes]
) -> Lanes:
    """What was found, or else `zero`, or else the result of an instruction: each is a branch that warps skip."""
    code = found.code
    result = code.variable(found.type, found)
    with when_rare(code, any_lane(~is_usual)):
        is_zero_here = is_zero()
        known = select(is_zero_here, zero, found)
        code.store(known, result)
        is_known = is_usual | is_zero_here
        with when_rare(code, any_lane(~is_known)):
            code.store(select(is_known, known, instruct()), result)
    return code.load(result, found.type)


def divide_exactly(x: Lanes, y: Lanes, inverse: Lanes) -> tuple[Lanes, Lanes]:
    """The product with the reciprocal, and the quotient, where the remainder is exact."""
    product = x * inverse
    return product, fma(fma(-y, product, x), inverse, product)


def invert(x: Lanes) -> Lanes:
    """1 / x."""
    code, inverse = x.code, invert_exactly(x)
    is_usual = is_exact(x, x, inverse)
    result = code.variable(x.type, inverse)
    with when_rare(code, any_lane(~is_usual)):
        code.store(select(is_usual, inverse, 1.0 / x), result)
    return code.load(result, x.type)


def take_root(x: Lanes) -> Lanes:
    """The root of a single, by one step of Newton's method from an approximate reciprocal of it."""
    inverse = approximate(INVERSE_ROOT, x)
    first = x * inverse
    root = fma(fma(-first, first, x), inverse * 0.5, first)
    least, most = ROOTS
    offset = x.bits() - least
    is_usual = x.code.add(f"icmp ule {offset.typed}, {offset.like(most - least).text}", offset.type.of("i1"))
    return leave_to_instruction(root, is_usual, lambda: x.eq(0.0), x, x.sqrt)


@contextmanager
def when_rare(code: Code, condition: Lanes) -> Iterator[None]:
    """Run the code written in the `with` block if a condition holds, which LLVM is told to be rare."""
    branch = len(code.lines)
    with code.when(condition):
        code.lines[branch] += RARE
        yield


def invert_exactly(x: Lanes) -> Lanes:
    """The reciprocal, rounded correctly for all but one significand; for that one, the last bit of doubles is set."""
    first = approximate(INVERSE[x.type.kind], x)
    if x.type.kind == "f32":
        return fma(first, fma(-x, first, 1.0), first)
    first = (first.bits() | 1).floats()
    error = fma(-x, first, 1.0)
    second = fma(first, fma(error, error, error), first)
    return fma(second, fma(-x, second, 1.0), second)


def approximate(symbol: str, x: Lanes) -> Lanes:
    """The device's approximation of a function, in each lane."""
    code, type = x.code, x.type
    if type.lanes == 1:
        return code.call(symbol, type, x)
    found = Lanes(code, "poison", type)
    for lane in range(type.lanes):
        one = code.call(symbol, Type(type.kind), pick_lanes(x, [lane]))
        found = code.add(f"insertelement {found.typed}, {one.typed}, i64 {lane}", type)
    return found


def is_exact(x: Lanes, y: Lanes, quotient: Lanes) -> Lanes:
    """Whether the remainder of a quotient was exact, and nothing has overflowed: zero times infinity is NaN.

    The first words of doubles are ordered as the doubles are, also if they are taken for singles.
    """
    least, most = [2.0**exponent for exponent in BOUNDS[x.type.kind]]
    if x.type.kind == "f64":
        least, most = [single_of_first_word(bound) for bound in (least, most)]
        x, y, quotient = [z.bits().logical_right(32).to("i32").floats() for z in (x, y, quotient)]
    return (x.abs() >= least) & (fma(quotient, 0.0, y).abs() <= most)


def single_of_first_word(x: float) -> float:
    """The single that has the first 32 bits of a double.

    >>> single_of_first_word(1.0)
    1.875
    """
    (word,) = struct.unpack("<f", struct.pack("<d", x)[4:])
    return float(word)


QUOTIENTS: dict[str, Body] = {
    "divide": divide,
    "divide.usual": lambda x, y: divide_exactly(x, y, invert_exactly(y))[1],
    "divide.twice": divide_by_twice,
    "invert": invert,
    "invert.usual": invert_exactly,
    "root": take_root,
}
"""The functions of quotients and roots; numbers that are `usual` are neither very large nor very small."""


def call_divisions(text: str) -> tuple[str, dict[tuple[str, Type], int]]:
    """A module in which quotients, and roots of singles, are calls of functions, and these calls."""
    calls: dict[tuple[str, Type], int] = {}
    parts = [call_in_function(part, calls) for part in text.split("\ndefine ")]
    return "\ndefine ".join(parts), calls


def call_in_function(text: str, calls: dict[tuple[str, Type], int]) -> str:
    """The same of one function; quotients by a divisor and by its double, which derivatives of roots have, share."""
    divisors = {found[4] for found in QUOTIENT.finditer(text)}
    halves = {found[1]: found[2] for found in DOUBLE.finditer(text) if found[2] in divisors}

    def replace(found: re.Match[str]) -> str:
        lanes, scalar, top, below, mark = found.groups()
        type = Type(KINDS[scalar], int(lanes or 1))
        operands: tuple[str, ...] = top, below
        if ONE.search(top) is not None:
            name, operands = "invert.usual" if mark else "invert", (below,)
        elif below in halves:
            name, operands = "divide.twice", (top, halves[below])
        else:
            name = "divide.usual" if mark else "divide"
        calls[name, type] = calls.get((name, type), 0) + 1
        return f"= call {type.text} @{vector_symbol(name, type)}({', '.join([f'{type.text} {x}' for x in operands])})"

    def replace_root(found: re.Match[str]) -> str:
        type = Type("f32", int(found[1] or 1))
        calls["root", type] = calls.get(("root", type), 0) + 1
        return f"= call {type.text} @{vector_symbol('root', type)}("

    return ROOT.sub(replace_root, QUOTIENT.sub(replace, text))
