"""Binary search: where numbers belong among sorted ones, for lanes of numbers at a time."""

from __future__ import annotations

import numpy as np

from wengert.compiler.forms.lowering import SUPPORTED, Routine
from wengert.compiler.machine.target import vector_bytes
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.program.memory_plan import is_immediate
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lane_operations import gather_lanes
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.graph.ir import Operation

COST = 4
"""The cost of a comparison, with the read before it."""


def can_search(node: Operation) -> bool:
    """Whether the numbers have a supported common dtype, and both operands are in memory."""
    a, v = node.args
    has_numbers = a.size > 0 and v.size > 0 and {a.dtype.kind, v.dtype.kind} <= set("fi")
    return has_numbers and common_dtype(node) in SUPPORTED and not is_immediate(a) and not is_immediate(v)


def common_dtype(node: Operation) -> np.dtype:
    """The dtype in which numbers are compared."""
    return np.result_type(*[a.dtype for a in node.args])


def write_search(call: RoutineCall) -> None:
    """Search all numbers, on all cores if they are many."""
    node = call.node
    a, v = node.args
    kind = Type.from_dtype(common_dtype(node)).kind
    lanes = vector_bytes() // 8
    while lanes > v.size:
        lanes //= 2
    name = f"wengert.search.{a.dtype.char}.{v.dtype.char}.{a.size}.{v.size}.{node.params['side']}"
    call.define(
        name, ["ptr %table", "i64 %begin", "i64 %end"], lambda code: write_lanes(code, node, kind, lanes), FEW_PASSES
    )
    pointers = [operand.pointer for operand in call.operands] + [call.result]
    call.run_on_all_cores(name, pointers, v.size, lanes, COST * v.size * a.size.bit_length())


def write_lanes(code: Code, node: Operation, kind: str, lanes: int) -> None:
    """The range of numbers that is left is halved, in all lanes at once; the last vector is moved back."""
    a, v = node.args
    table, begin, end = [Lanes(code, n, t) for n, t in (("%table", PTR), ("%begin", I64), ("%end", I64))]
    edges, numbers, result = [code.load(code.offset(table, i, PTR), PTR) for i in range(3)]
    a_type, v_type, index = Type.from_dtype(a.dtype, lanes), Type.from_dtype(v.dtype, lanes), Type("i64", lanes)
    is_left = node.params["side"] == "left"

    def read(i: Lanes) -> Lanes:
        size = a_type.bits // 8
        if lanes == 1:
            return code.load(code.offset(edges, i, a_type), a_type, size).to(kind)
        return gather_lanes(edges, i, a_type, size, None).to(kind)

    with code.loop(begin, end, lanes) as first:
        i = code.intrinsic("smin", I64, first, first.like(v.size - lanes)) if v.size % lanes else first
        x = code.load(code.offset(numbers, i, v_type), v_type, v_type.bits // 8).to(kind)
        is_before = lambda y: comes_before(y, x) if is_left else ~comes_before(x, y)
        found, left = code.constant(0, index), a.size
        while left > 1:
            half = left // 2
            found = select(is_before(read(found + (half - 1))), found + half, found)
            left -= half
        found = select(is_before(read(found)), found + 1, found)
        code.store(found, code.offset(result, i, I64), 8)


def comes_before(x: Lanes, y: Lanes) -> Lanes:
    """Whether x < y, where NaN is larger than all numbers."""
    return (x < y) | (y.is_nan() & ~x.is_nan()) if x.type.is_float else x < y


SEARCH = Routine(write_search, can_search)
