"""Mathematical functions that are written in another way for GPUs, with the same bits.

- Sines and cosines of usual angles are straight code, so that those of one number share the reduction and both
  polynomials; huge angles are a call that warps skip. There is no shorter way for one small angle, because threads of a
  warp would take both.
- Logarithms of positive, normal numbers are straight code, after one comparison of integers.
- LLVM's remainder for GPUs is not exact for large quotients.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wengert.compiler.functions.logarithm import FORMATS, log, log_of_sum, split_positive
from wengert.compiler.functions.trigonometric import (
    COSINE,
    PRECISIONS,
    SINE,
    TANGENT,
    AngleFunction,
    reduce_huge,
    reduce_small,
)
from wengert.compiler.functions.vector_functions import FUNCTIONS, Body, call, replace_rare
from wengert.compiler.simd.lane_operations import any_lane
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.targets.device_division import QUOTIENTS, in_each_lane

SHORT_RARE = ("exp.wide", "log.any")
"""Parts of functions that are rarely needed, and so short that they are inlined."""
ANY = re.compile(r"@llvm\.vector\.reduce\.or\.v(\d+)i1\(")
"""The instruction that asks whether a condition holds in any lane."""


class UsualAngle(NamedTuple):
    """A function of angles, and the name of the one that is called for huge ones."""

    function: AngleFunction
    huge: str

    def of_huge(self, x: Lanes) -> Lanes:
        """The function of a huge angle."""
        return self.function.far(x, reduce_huge(x.abs()))


def of_any_size(x: Lanes, *functions: UsualAngle) -> tuple[Lanes, ...]:
    """Functions of an angle; warps skip the calls for huge ones, which are in one branch."""
    code, size = x.code, x.abs()
    angle = reduce_small(size)
    usual = [function.far(x, angle) for function, _ in functions]
    results = [code.variable(x.type, value) for value in usual]
    is_huge = size >= PRECISIONS[x.type.kind].limit
    with code.when(any_lane(is_huge)):
        for (_, huge), value, result in zip(functions, usual, results, strict=True):
            other = call(huge, x)
            code.lines[-1] += " noinline cold"
            code.store(select(is_huge, other, value), result)
    return tuple([code.load(result, x.type) for result in results])


def log_of_usual(x: Lanes) -> Lanes:
    """The logarithm: one comparison of integers finds all numbers that are not positive, normal and finite."""
    bits, form = x.bits(), FORMATS[x.type.kind]
    if x.type.kind == "f64":
        bits = bits.logical_right(32).to("i32")
    step = 1 << (form.digits - x.type.bits + 32)  # the smallest normal number, in the first word
    others = bits - step
    is_rare = x.code.add(f"icmp uge {others.typed}, {others.like(2 * form.bias * step).text}", others.type.of("i1"))
    _, k, m = split_positive(x)
    return replace_rare(log_of_sum(k, m - 1.0).value(), is_rare, "log.any", x)


def remainder_by_halves(x: Lanes, y: Lanes) -> Lanes:
    """The remainder of a division, for quotients of any size, in each lane."""
    return remainder_of_one(x, y) if x.type.lanes == 1 else in_each_lane(remainder_of_one, x, y)


def remainder_of_one(x: Lanes, y: Lanes) -> Lanes:
    """The remainder of one division: multiples of the divisor by powers of two are subtracted.

    Every difference is exact. LLVM's own remainder for GPUs is not.
    """
    code, type, divisor = x.code, x.type, y.abs()
    rest, multiple = code.variable(type, x.abs()), code.variable(type, divisor)
    is_proper = (divisor > 0.0) & (divisor < float("inf")) & (x.abs() < float("inf"))
    double, halve, done, left = [code.label(name) for name in ("double", "halve", "halves.done", "proper")]
    code.branch(is_proper, double, done)
    code.begin(double)
    twice = code.load(multiple, type) + code.load(multiple, type)
    fits, too_large = code.label("fits"), code.label("large")
    code.branch(twice <= code.load(rest, type), fits, too_large)
    code.begin(fits)
    code.store(twice, multiple)
    code.jump(double)
    code.begin(too_large)
    code.jump(halve)
    code.begin(halve)
    size, part = code.load(rest, type), code.load(multiple, type)
    code.store(select(size >= part, size - part, size), rest)
    code.store(part * 0.5, multiple)
    code.branch(part > divisor, halve, left)
    code.begin(left)
    code.jump(done)
    code.begin(done)
    found = code.load(rest, type).copysign(x)
    is_invalid = ~(divisor > 0.0) | ~(x.abs() < float("inf"))
    return select(is_invalid, float("nan"), select(divisor.eq(float("inf")), x, found))


def join_predicates(text: str) -> str:
    """A module in which conditions of lanes are joined one by one: LLVM would put bits into an integer first."""
    counts = sorted({int(lanes) for lanes in ANY.findall(text)})
    for lanes in counts:
        symbol = f"@llvm.vector.reduce.or.v{lanes}i1"
        own = f"@wengert.any.v{lanes}i1"
        text = re.sub(rf"declare [^\n]*{re.escape(symbol)}[^\n]*\n", "", text).replace(f"{symbol}(", f"{own}(")
        text = f"{text}\n\n{any_of_lanes(own, lanes)}"
    return text


def any_of_lanes(symbol: str, lanes: int) -> str:
    """The function that says whether one of several conditions holds."""
    lines = [
        f"define internal i1 {symbol}(<{lanes} x i1> %x) alwaysinline nounwind {{",
        "  %any.0 = or i1 false, false",
    ]
    for i in range(lanes):
        lines += [
            f"  %lane.{i} = extractelement <{lanes} x i1> %x, i64 {i}",
            f"  %any.{i + 1} = or i1 %any.{i}, %lane.{i}",
        ]
    return "\n".join([*lines, f"  ret i1 %any.{lanes}", "}"])


SINES, COSINES, TANGENTS = UsualAngle(SINE, "sin.huge"), UsualAngle(COSINE, "cos.huge"), UsualAngle(TANGENT, "tan.huge")
DEVICE_FUNCTIONS: dict[str, Body] = {
    **FUNCTIONS,
    "sin": lambda x: of_any_size(x, SINES)[0],
    "cos": lambda x: of_any_size(x, COSINES)[0],
    "tan": lambda x: of_any_size(x, TANGENTS)[0],
    "sincos": lambda x: of_any_size(x, SINES, COSINES),
    "sin.huge": lambda x: SINES.of_huge(x),
    "cos.huge": lambda x: COSINES.of_huge(x),
    "tan.huge": lambda x: TANGENTS.of_huge(x),
    "fmod.far": remainder_by_halves,
    "log": log_of_usual,
    "log.any": log,
    **QUOTIENTS,
}
"""The functions of a module for GPUs, by their names."""
