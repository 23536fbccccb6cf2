"""Quotients and roots on GPUs, with the bits of IEEE arithmetic.

The instruction for a quotient hides a reciprocal: an approximation, Newton's method, and a correction by the exact
remainder (Markstein). Written out, quotients by one divisor have it in common, which derivatives have everywhere; and
quotients of zeros, which derivatives have, too, are usual numbers. The steps are those of the instruction, so that the
results are the same; numbers that are so large or small that a step might not be exact are left to it.

Roots are written out, too: the lanes of a thread have one branch for such numbers, and the reciprocal of a root of
doubles starts from what its root started from.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from wengert.compiler.functions.vector_functions import Body, vector_symbol
from wengert.compiler.simd.lane_operations import any_lane, join_elements, pick_lanes
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.types import Type, constant_text

QUOTIENT = re.compile(
    r"(%\w+) = fdiv (?:<(\d+) x )?(float|double)>? (%\w+|0x\w+|splat \([^)]*\)), (%\w+)(, !usual !\{\})?(?=\n)"
)
"""The instruction for quotients by numbers that are not constants, with the mark of `divide_usual`."""
ROOT = re.compile(r"(%\w+) = call (?:<(\d+) x )?(float|double)>? @llvm\.sqrt\.\w+\([^%\n]*(%\w+)\)")
DOUBLE = re.compile(r"(%\w+) = fmul [^%\n]*0x4000000000000000\)?, (%\w+)(?=\n)")
ROUNDED = re.compile(r"  (%\w+) = fptrunc (?:<(\d+) x )?double>? (?:splat \(double )?(0x\w+)\)? to [^\n]*float>?\n")
NAME = re.compile(r"%[\w.]+")
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
ROOTS = {"f64": (0x03500000, 0x7FEFFFFF), "f32": (0x0D000000, 0x7F7FFFFF)}
"""The first words of the least number whose root has exact steps, and of the largest."""
INVERSE = {"f64": "@llvm.nvvm.rcp.approx.ftz.d", "f32": "@llvm.nvvm.rcp.approx.ftz.f"}
INVERSE_ROOT = {"f64": 'asm "rsqrt.approx.ftz.f64 $0, $1;", "=d,d"', "f32": "@llvm.nvvm.rsqrt.approx.ftz.f"}
"""The instructions for reciprocals, of about 20 and 23 bits, and for those of roots; LLVM has not always had one."""


def divide_by_inverse(x: Lanes, y: Lanes, inverse: Lanes) -> Lanes:
    """x / y, given the reciprocal; LLVM finds that quotients by one number have it in common."""
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


def check_inverse(x: Lanes, inverse: Lanes) -> Lanes:
    """1 / x, given the reciprocal where it is exact."""
    code, is_usual = x.code, is_exact(x, x, inverse)
    result = code.variable(x.type, inverse)
    with when_rare(code, any_lane(~is_usual)):
        code.store(select(is_usual, inverse, 1.0 / x), result)
    return code.load(result, x.type)


def take_root(x: Lanes, inverse: Lanes) -> Lanes:
    """The root, given its reciprocal to about an ulp: a step of Newton's method with an exact remainder."""
    offset = offset_in_roots(x)
    first = x * inverse
    root = fma(fma(-first, first, x), inverse * 0.5, first)
    least, most = ROOTS[x.type.kind]
    is_usual = x.code.add(f"icmp ule {offset.typed}, {offset.like(most - least).text}", offset.type.of("i1"))
    return leave_to_instruction(root, is_usual, lambda: x.eq(0.0), x, x.sqrt)


def invert_root(x: Lanes) -> Lanes:
    """The reciprocal of a root to about an ulp; what the second word of doubles starts with hardly matters."""
    first = approximate(INVERSE_ROOT[x.type.kind], x)
    if x.type.kind == "f32":
        return first
    word, whole = offset_in_roots(x), x.type.of("i64")
    first = (first.bits() | x.code.add(f"zext {word.typed} to {whole.text}", whole)).floats()
    error = fma(-(first * first), x, 1.0)
    return fma(fma(error, 0.375, 0.5), error * first, first)


def offset_in_roots(x: Lanes) -> Lanes:
    """The first word, less that of the least number whose root has exact steps."""
    return first_word(x) - ROOTS[x.type.kind][0]


def invert_rounded_root(root: Lanes, inverse: Lanes) -> Lanes:
    """The reciprocal of a root of doubles that was rounded, given that of the root.

    It is one of the two floats next to the exact reciprocal, and the nearest unless that is within 2^-102 of their
    middle. Quotients are rounded correctly with either: there are 123 significands of such roots (divisors of 2^106 + j
    for |j| < 20), and among these only the one of all ones needs the larger float, which a last bit of 1 leads to.
    """
    first = (inverse.bits() | 1).floats()
    return fma(first, fma(-root, first, 1.0), first)


@contextmanager
def when_rare(code: Code, condition: Lanes) -> Iterator[None]:
    """Run the code written in the `with` block if a condition holds, which LLVM is told to be rare."""
    branch = len(code.lines)
    with code.when(condition):
        code.lines[branch] += RARE
        yield


def invert(x: Lanes) -> Lanes:
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
    if x.type.lanes > 1:
        return in_each_lane(lambda one: approximate(symbol, one), x)
    if symbol.startswith("asm"):
        return x.code.add(f"call {x.type.text} {symbol}({x.typed})", x.type)
    return x.code.call(symbol, x.type, x)


def in_each_lane(function: Callable[..., Lanes], *operands: Lanes) -> Lanes:
    """A function of numbers, in each lane."""
    lanes = range(operands[0].type.lanes)
    return join_elements([function(*[pick_lanes(x, [lane]) for x in operands]) for lane in lanes])


def is_exact(x: Lanes, y: Lanes, quotient: Lanes) -> Lanes:
    """Whether the remainder of a quotient was exact, and nothing has overflowed: zero times infinity is NaN.

    Quotients by one number have the second comparison in common. The first words of doubles are ordered as the doubles
    are, also if they are taken for singles.
    """
    least, most = [2.0**exponent for exponent in BOUNDS[x.type.kind]]
    if x.type.kind == "f64":
        least, most = [single_of_first_word(bound) for bound in (least, most)]
        x, y, quotient = [first_word(z).floats() for z in (x, y, quotient)]
    return (fma(quotient, 0.0, x).abs() >= least) & (y.abs() <= most)


def first_word(x: Lanes) -> Lanes:
    """The bits of a single, and the first 32 of a double."""
    return x.bits() if x.type.kind == "f32" else x.bits().logical_right(32).to("i32")


def single_of_first_word(x: float) -> float:
    """The single that has the first 32 bits of a double.

    >>> single_of_first_word(1.0)
    1.875
    """
    (word,) = struct.unpack("<f", struct.pack("<d", x)[4:])
    return float(word)


QUOTIENTS: dict[str, Body] = {
    "divide": divide_by_inverse,
    "divide.usual": lambda x, y, inverse: divide_exactly(x, y, inverse)[1],
    "inverse": invert,
    "inverse.checked": check_inverse,
    "root": take_root,
    "root.inverse": invert_root,
    "root.rounded": invert_rounded_root,
}
"""The functions of quotients and roots; numbers that are `usual` are neither very large nor very small."""


def call_divisions(text: str) -> tuple[str, dict[tuple[str, Type], int]]:
    """A module in which quotients and roots are calls of functions, and these calls."""
    parts = [FunctionText(part) for part in text.split("\ndefine ")]
    calls: dict[tuple[str, Type], int] = {}
    for part in parts:
        calls |= {key: calls.get(key, 0) + count for key, count in part.calls.items()}
    return "\ndefine ".join([part.text for part in parts]), calls


def round_constants(text: str) -> str:
    """A function in which constants of double precision that are rounded to singles are constants."""
    constants: dict[str, str] = {}
    for name, lanes, digits in ROUNDED.findall(text):
        (value,) = struct.unpack("<d", struct.pack("<Q", int(digits, 16)))
        with np.errstate(over="ignore"):  # then it is infinite
            constants[name] = constant_text(value, Type("f32", int(lanes or 1)))
    return NAME.sub(lambda found: constants.get(found[0], found[0]), ROUNDED.sub("", text))


class FunctionText:
    """The text of one function, in which quotients and roots are calls.

    Quotients by a divisor and by its double, which derivatives of roots have, share a reciprocal.
    """

    def __init__(self, text: str):
        self.calls: dict[tuple[str, Type], int] = {}
        text = round_constants(text)
        divisors = {found[5] for found in QUOTIENT.finditer(text)}
        self.halves = {found[1]: found[2] for found in DOUBLE.finditer(text) if found[2] in divisors}
        self.roots = {found[1] for found in ROOT.finditer(text) if found[3] == "double"}
        self.text = ROOT.sub(self.replace_root, QUOTIENT.sub(self.replace_quotient, text))

    def call(self, name: str, type: Type, *operands: str) -> str:
        """The call of a function."""
        self.calls[name, type] = self.calls.get((name, type), 0) + 1
        return f"call {type.text} @{vector_symbol(name, type)}({', '.join([f'{type.text} {x}' for x in operands])})"

    def replace_root(self, found: re.Match[str]) -> str:
        """The calls for the reciprocal of a root and for the root."""
        name, lanes, scalar, x = found.groups()
        type, inverse = Type(KINDS[scalar], int(lanes or 1)), f"{name}.root"
        return f"{inverse} = {self.call('root.inverse', type, x)}\n  {name} = {self.call('root', type, x, inverse)}"

    def replace_quotient(self, found: re.Match[str]) -> str:
        """The calls for a reciprocal and for a quotient."""
        name, lanes, scalar, x, y, is_usual = found.groups()
        type, half = Type(KINDS[scalar], int(lanes or 1)), self.halves.get(y, y)
        is_root = half in self.roots
        is_inverse = ONE.search(x) is not None and not is_root
        inverse = name if is_inverse and is_usual else f"{name}.inverse"
        first = self.call("root.rounded", type, half, f"{half}.root") if is_root else self.call("inverse", type, half)
        lines = [f"{inverse} = {first}"]
        if y != half:
            lines = [f"{name}.half = {first}", f"{inverse} = fmul {type.text} {name}.half, {constant_text(0.5, type)}"]
        if is_inverse and not is_usual:
            lines.append(f"{name} = {self.call('inverse.checked', type, y, inverse)}")
        elif not is_inverse:
            lines.append(f"{name} = {self.call('divide.usual' if is_usual else 'divide', type, x, y, inverse)}")
        return "\n  ".join(lines)
