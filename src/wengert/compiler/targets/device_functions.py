"""Mathematical functions that are written in another way for GPUs, with the same bits.

- Sines and cosines of usual angles are straight code, so that those of one number share the reduction and both
  polynomials; huge angles are a call that warps skip. There is no shorter way for one small angle, because threads of a
  warp would take both.
- LLVM's remainder for GPUs is not exact for large quotients.
"""

from __future__ import annotations

import re

from wengert.compiler.simd.lane_operations import any_lane, pick_lanes
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.logarithm import FORMATS, log, log_of_sum, split_positive
from wengert.compiler.simd.trigonometric import (
    COSINE,
    PRECISIONS,
    SINE,
    TANGENT,
    reduce_huge,
    reduce_small,
)
from wengert.compiler.simd.vector_functions import FUNCTIONS, Body, call, replace_rare
from wengert.compiler.targets.device_division import QUOTIENTS

SHORT_RARE = ("exp.wide", "log.any")
"""Parts of functions that are rarely needed, and so short that they are inlined."""
ANY = re.compile(r"@llvm\.vector\.reduce\.or\.v(\d+)i1\(")
"""The instruction that asks whether a condition holds in any lane."""


def of_usual_angle(x: Lanes, *names: str) -> tuple[Lanes, ...]:
    """Functions of an angle; for huge ones, which warps skip, other functions are called."""
    code, size, functions = x.code, x.abs(), [ANGLE_FUNCTIONS[name] for name in names]
    angle = reduce_small(size)
    usual = [function.far(x, angle) for function in functions]
    results = [code.variable(x.type, value) for value in usual]
    is_huge = size >= PRECISIONS[x.type.kind].limit
    with code.when(any_lane(is_huge)):
        for name, value, result in zip(names, usual, results, strict=True):
            other = call(f"{name}.huge", x)
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
    code, type = x.code, x.type
    if type.lanes == 1:
        return remainder_of_one(x, y)
    found = Lanes(code, "poison", type)
    for lane in range(type.lanes):
        rest = remainder_of_one(pick_lanes(x, [lane]), pick_lanes(y, [lane]))
        found = code.add(f"insertelement {found.typed}, {rest.typed}, i64 {lane}", type)
    return found


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


ANGLE_FUNCTIONS = {"sin": SINE, "cos": COSINE, "tan": TANGENT}
DEVICE_FUNCTIONS: dict[str, Body] = {
    **FUNCTIONS,
    "sin": lambda x: of_usual_angle(x, "sin")[0],
    "cos": lambda x: of_usual_angle(x, "cos")[0],
    "tan": lambda x: of_usual_angle(x, "tan")[0],
    "sincos": lambda x: of_usual_angle(x, "sin", "cos"),
    "sin.huge": lambda x: SINE.far(x, reduce_huge(x.abs())),
    "cos.huge": lambda x: COSINE.far(x, reduce_huge(x.abs())),
    "tan.huge": lambda x: TANGENT.far(x, reduce_huge(x.abs())),
    "fmod.far": remainder_by_halves,
    "log": log_of_usual,
    "log.any": log,
    **QUOTIENTS,
}
"""The functions of a module for GPUs, by their names."""
