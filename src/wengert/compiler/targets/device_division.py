"""Quotients on GPUs, with the bits of IEEE division, whose reciprocals are shared.

The instruction for a quotient hides a reciprocal: an approximation, Newton's method, and a correction by the exact
remainder (Markstein). Written out, quotients by one divisor have it in common, which derivatives have everywhere; and
quotients of zeros, which derivatives have, too, are usual numbers. The steps are those of the instruction, so that the
results are the same; numbers that are so large or small that a step might not be exact are left to it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from wengert.compiler.simd.lane_operations import any_lane, pick_lanes
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.types import Type
from wengert.compiler.simd.vector_functions import vector_symbol

DIVIDE = "divide"
"""The name of the function of a quotient."""
QUOTIENT = re.compile(r"= fdiv (?:<(\d+) x )?(float|double)>? (%\S+|0x\w+|splat \([^)]*\)), (%\S+)(?=\n)")
"""The instruction for quotients by numbers that are not constants."""
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
APPROXIMATIONS = {"f64": "@llvm.nvvm.rcp.approx.ftz.d", "f32": "@llvm.nvvm.rcp.approx.ftz.f"}
"""The instructions for reciprocals of about 20 and 23 bits."""


def divide(x: Lanes, y: Lanes) -> Lanes:
    """x / y, rounded correctly; instructions that depend on y alone are found by LLVM to be common."""
    code = x.code
    inverse = invert(y)
    product = x * inverse
    quotient = fma(fma(-y, product, x), inverse, product)
    is_usual = is_exact(x, y, quotient)
    result = code.variable(x.type, quotient)
    with when_rare(code, any_lane(~is_usual)):
        is_zero = x.eq(0.0) & product.eq(0.0)
        found = select(is_zero, product, quotient)  # the remainder has lost the sign of a zero
        code.store(found, result)
        is_known = is_usual | is_zero
        with when_rare(code, any_lane(~is_known)):
            code.store(select(is_known, found, x / y), result)
    return code.load(result, x.type)


@contextmanager
def when_rare(code: Code, condition: Lanes) -> Iterator[None]:
    """Run the code written in the `with` block if a condition holds, which LLVM is told to be rare."""
    branch = len(code.lines)
    with code.when(condition):
        code.lines[branch] += RARE
        yield


def invert(x: Lanes) -> Lanes:
    """The reciprocal, rounded correctly for all but one significand; for that one, the last bit of doubles is set."""
    first = approximate_inverse(x)
    if x.type.kind == "f32":
        return fma(first, fma(-x, first, 1.0), first)
    first = (first.bits() | 1).floats()
    error = fma(-x, first, 1.0)
    second = fma(first, fma(error, error, error), first)
    return fma(second, fma(-x, second, 1.0), second)


def approximate_inverse(x: Lanes) -> Lanes:
    """The device's approximation of the reciprocal, in each lane."""
    code, type, symbol = x.code, x.type, APPROXIMATIONS[x.type.kind]
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


def call_divisions(text: str) -> tuple[str, dict[tuple[str, Type], int]]:
    """A module in which quotients are calls of `divide`, and these calls."""
    calls: dict[tuple[str, Type], int] = {}

    def replace(found: re.Match[str]) -> str:
        type = Type(KINDS[found[2]], int(found[1] or 1))
        calls[DIVIDE, type] = calls.get((DIVIDE, type), 0) + 1
        return f"= call {type.text} @{vector_symbol(DIVIDE, type)}({type.text} {found[3]}, {type.text} {found[4]})"

    return QUOTIENT.sub(replace, text), calls
