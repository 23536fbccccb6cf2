"""Binary search: where numbers belong among sorted ones, for several numbers at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.compiler.forms.classify import is_immediate
from wengert.compiler.forms.lowering import SUPPORTED, Indexed, Routine, RoutineWork
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lane_operations import gather_lanes
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine
from wengert.graph.ir import Node, Operation


def search_shape() -> tuple[int, int]:
    """The lanes of a vector of numbers, and the vectors that are searched at once: both are powers of two."""
    now = machine.current
    lanes, vectors = [1 << (n.bit_length() - 1) for n in (now.lanes_of_search, now.vectors_of_search)]
    return lanes, vectors


def count_operations(numbers: int, steps: int) -> int:
    """The scalar operations of the searches for so many numbers."""
    return machine.current.operations_of_search_step * numbers * steps


def can_search(a: Node, v: Node) -> bool:
    """Whether the numbers have a supported common dtype, and both operands are in memory."""
    has_numbers = a.size > 0 and v.size > 0 and {a.dtype.kind, v.dtype.kind} <= set("fi")
    return has_numbers and common_dtype(a, v) in SUPPORTED and not is_immediate(a) and not is_immediate(v)


def common_dtype(a: Node, v: Node) -> np.dtype:
    """The dtype in which numbers are compared."""
    return np.result_type(a.dtype, v.dtype)


def write_search(call: RoutineCall) -> None:
    """Search all numbers, on all cores if they are many."""
    node = call.node
    a, v = node.args
    kind = Type.from_dtype(common_dtype(a, v)).kind
    lanes, at_once = search_shape()
    lanes = min(lanes, v.size)
    at_once = min(at_once, v.size // lanes)
    name = f"wengert.search.{a.dtype.char}.{v.dtype.char}.{a.size}.{v.size}.{node.params['side']}"
    call.define_part(name, lambda code: write_lanes(code, node, kind, lanes, at_once), FEW_PASSES)
    pointers = [operand.pointer for operand in call.operands] + [call.result]
    call.run_on_all_cores(name, pointers, v.size, lanes * at_once, count_operations(v.size, a.size.bit_length()))


def write_lanes(code: Code, node: Operation, kind: str, lanes: int, at_once: int) -> None:
    """Search several vectors of numbers at once; the last ones are moved back."""
    a, v = node.args
    (edges, numbers, result), begin, end = read_part(code, 3)
    a_type, v_type = Type.from_dtype(a.dtype), Type.from_dtype(v.dtype, lanes)
    together = lanes * at_once
    with code.loop(begin, end, together) as first:
        i = code.intrinsic("smin", I64, first, first.like(v.size - together)) if v.size % together else first
        places = [i + k * lanes for k in range(at_once)]
        read = lambda i: code.load(code.offset(numbers, i, v_type), v_type, v_type.bits // 8).to(kind)
        found = count_before([read(i) for i in places], edges, a_type, a.size, node.params["side"])
        for i, count in zip(places, found, strict=True):
            code.store(count, code.offset(result, i, I64), 8)


def count_before(numbers: Sequence[Lanes], edges: Lanes, element: Type, size: int, side: str) -> list[Lanes]:
    """How many of some sorted numbers come before each of others: the range that is left is halved, for all at once.

    Each step waits for the one before it, so several searches that do not wait for each other take little longer.
    """
    code, kind, lanes = edges.code, numbers[0].type.kind, numbers[0].type.lanes

    def is_before(i: Lanes, x: Lanes) -> Lanes:
        if lanes == 1:
            y = code.load(code.offset(edges, i, element), element).to(kind)
        else:
            y = gather_lanes(edges, i, Type(element.kind, lanes), element.bits // 8).to(kind)
        return comes_before(y, x) if side == "left" else ~comes_before(x, y)

    found, left = [code.constant(0, Type("i64", lanes))] * len(numbers), size
    while left > 1:
        half = left // 2
        found = [select(is_before(i + (half - 1), x), i + half, i) for i, x in zip(found, numbers, strict=True)]
        left -= half
    return [select(is_before(i, x), i + 1, i) for i, x in zip(found, numbers, strict=True)]


def comes_before(x: Lanes, y: Lanes) -> Lanes:
    """Whether x < y, where NaN is larger than all numbers."""
    return (x < y) | (y.is_nan() & ~x.is_nan()) if x.type.is_float else x < y


def search_work(node: Operation) -> RoutineWork:
    """An element is read in each step, of twice as many cache lines as in the one before."""
    a, v = node.args
    steps = a.size.bit_length()
    now = machine.current
    indexed = [Indexed("read", min(a.nbytes, now.cache_line_bytes << k), v.size) for k in range(steps)]
    return RoutineWork(tuple(indexed), is_shared=count_operations(v.size, steps) >= now.min_shared_operations)


SEARCH = Routine(write_search, lambda node: can_search(*node.args), beside_flops=search_work)
