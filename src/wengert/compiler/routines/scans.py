"""Cumulative sums and products along an axis, in NumPy's order: each element is added to the sum of those before it.

Along the last axis, several rows run at a time, because each addition waits for the one before. Along other axes,
neighbouring rows are lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from wengert.compiler.forms.classify import is_immediate
from wengert.compiler.forms.lowering import SUPPORTED, Routine
from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.sorting import Rows
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine
from wengert.graph.ir import Operation

Fold = Callable[[Lanes, Lanes], Lanes]


def can_scan(node: Operation) -> bool:
    """Whether the dtypes have native arithmetic, and there is something to add up."""
    x = node.args[0]
    return {x.dtype, node.dtype} <= SUPPORTED and node.dtype.kind in "fi" and x.size > 0 and not is_immediate(x)


def scan(fold: Fold) -> Routine:
    """The routine that combines each element with all before it along an axis."""
    return Routine(lambda call: write_scan(call, fold), can_scan)


def write_scan(call: RoutineCall, fold: Fold) -> None:
    """All rows, on all cores if they are many and long."""
    node, rows = call.node, Rows.of(call.node)
    read, kept = Type.from_dtype(node.args[0].dtype), Type.from_dtype(node.dtype)
    writer = ScanWriter(rows, read, kept, fold)
    name = f"wengert.{node.primitive.name}.{read.kind}.{kept.kind}.{rows.n}.{rows.stride}.{rows.number}"
    call.define_part(name, writer.write)
    pointers = [call.operands[0].pointer, call.result]
    work = machine.current.operations_of_scanned_element * node.size
    call.run_on_all_cores(name, pointers, writer.extent, writer.grain, work)


class ScanWriter:
    """Writes the function for a part of the rows: of those along the last axis, or of neighbours along others."""

    def __init__(self, rows: Rows, read: Type, kept: Type, fold: Fold):
        self.rows, self.read, self.kept, self.fold = rows, read, kept, fold
        lanes = vector_lanes(max(kept.bits, read.bits) // 8)
        while lanes > rows.stride:
            lanes //= 2
        self.lanes = lanes
        self.is_by_neighbours = rows.stride > 1
        self.extent = rows.stride if self.is_by_neighbours else rows.number
        self.grain = lanes if self.is_by_neighbours else 1

    def write(self, code: Code) -> None:
        """Add the lines of the function."""
        (x, result), begin, end = read_part(code, 2)
        if self.is_by_neighbours:
            self.write_neighbours(code, x, result, begin, end)
        else:
            together = machine.current.rows_of_scan
            whole = end - code.add(f"urem {(end - begin).typed}, {together}", I64)
            with code.loop(begin, whole, together) as row:
                self.write_rows(code, x, result, [row + k if k else row for k in range(together)])
            with code.loop(whole, end) as row:
                self.write_rows(code, x, result, [row])

    def load(self, code: Code, x: Lanes, i: Lanes, lanes: int = 1) -> Lanes:
        """Elements of the operand, in the type of the result."""
        stored = self.read.in_memory
        value = code.load(code.offset(x, i, stored), Type(stored.kind, lanes), stored.bits // 8)
        return (value.ne(0) if self.read.kind == "i1" else value).to(self.kept.kind)

    def write_rows(self, code: Code, x: Lanes, result: Lanes, rows: Sequence[Lanes]) -> None:
        """Some rows at a time."""
        n, kept = self.rows.n, self.kept
        starts = [row * n for row in rows]
        totals = []
        for start in starts:
            first = self.load(code, x, start)
            code.store(first, code.offset(result, start, kept))
            totals.append(code.variable(kept, first))
        with code.loop(1, n) as i:
            for start, total in zip(starts, totals, strict=True):
                value = self.fold(code.load(total, kept), self.load(code, x, start + i))
                code.store(value, total)
                code.store(value, code.offset(result, start + i, kept))

    def write_neighbours(self, code: Code, x: Lanes, result: Lanes, begin: Lanes, end: Lanes) -> None:
        """Each element from the one before it, which is in memory; the last vector is moved back."""
        (n, stride, count), kept = self.rows, Type(self.kept.kind, self.lanes)
        with ExitStack() as loops:
            outer = loops.enter_context(code.loop(0, count // stride))
            k = loops.enter_context(code.loop(0, n))
            at = outer * (n * stride) + k * stride
            j = loops.enter_context(code.loop(begin, end, self.lanes))
            if stride % self.lanes:
                j = code.intrinsic("smin", I64, j, j.like(stride - self.lanes))
            value = self.load(code, x, at + j, self.lanes)
            slot = code.variable(kept, value)
            with code.when(k > 0):
                before = code.load(code.offset(result, at + j - stride, kept), kept, kept.bits // 8)
                code.store(self.fold(before, value), slot)
            code.store(code.load(slot, kept), code.offset(result, at + j, kept), kept.bits // 8)
