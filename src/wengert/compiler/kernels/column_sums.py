"""Sums of columns in blocks: rows are read as they are in memory, and the sums of a block of columns are on the stack.

A loop over all rows for each vector of columns has its sums in registers, but reads a cache line here and there: the
processor does not see which one is next. Where the rows come from beyond the nearest cache, most of the time is waiting
for them. The sum of each column has its terms in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from wengert.compiler.kernels.accumulators import Accumulators
from wengert.compiler.kernels.loop_plan import LoopPlan
from wengert.compiler.kernels.loops import KernelLoops
from wengert.compiler.simd.types import I64
from wengert.core import machine


def vectors_in_block(plan: LoopPlan) -> int:
    """The number of vectors of columns in a block; one where their sums are in registers.

    A short body reads several neighbouring vectors anyway (`vectors_of_columns`).
    """
    axis, kernel = plan.vector_axis, plan.kernel
    are_columns = bool(kernel.reductions and plan.reduced_axes) and axis in plan.kept_axes
    if axis is None or not are_columns or plan.outer or plan.cuts or plan.interior or plan.has_short_body:
        return 1
    if any(node.dtype.kind == "b" for node in kernel.reductions):
        return 1  # lanes are bits, which have no addresses
    columns, extent = math.prod([plan.domain[i] for i in plan.kept_axes]), plan.domain[axis]
    row_bytes = extent * max(node.dtype.itemsize for node in kernel.reductions)
    if row_bytes < machine.current.min_row_bytes_of_column_blocks or not reads_rows(plan):
        return 1
    of_column = sum(node.nbytes // columns for node in kernel.reductions)
    most = machine.current.max_block_bytes_of_column_sums // (of_column * plan.lanes)
    return max(min(-(-extent // plan.lanes), most), 1)


def reads_rows(plan: LoopPlan) -> bool:
    """Whether most of what the body reads and writes is in rows, not the same for all of them.

    What belongs to a column stays in registers if the loop over all rows is the inner one.
    """
    axes = [{counter.axis for counter, _ in index.terms} for index in plan.memory_indices()]
    along = [found for found in axes if plan.vector_axis in found]
    in_rows = [found for found in along if not found.isdisjoint(plan.reduced_axes)]
    return 2 * len(in_rows) >= len(along)


def write_column_sums(loops: KernelLoops, vectors: int, bounds: Mapping[int, tuple[Any, Any]]) -> None:
    """The loops of a kernel that sums columns, in blocks of so many vectors; `bounds` are those of the outermost."""
    plan, code = loops.plan, loops.code
    (*outer, axis), step = plan.kept_axes, vectors * plan.lanes
    find = lambda axis: bounds.get(axis, (0, plan.domain[axis]))
    with ExitStack() as around:
        for other in outer:
            around.enter_context(loops.axis_loop(other, *find(other)))
        start, stop = find(axis)
        first = around.enter_context(loops.loop(start, stop, step))
        last = code.intrinsic("smin", I64, first + step, code.lift(stop, I64))
        sums = Accumulators(plan, loops.elements, plan.kernel.reductions, plan.axes, vectors)
        with loops.axis_loop(axis, first, last) as i:
            sums.begin_column(i - first)
        with ExitStack() as rows:
            for reduced in plan.reduced_axes:
                rows.enter_context(loops.axis_loop(reduced, 0, plan.domain[reduced]))
            i = rows.enter_context(loops.axis_loop(axis, first, last))
            sums.go_to_column(i - first)
            loops.write_body(sums)
        with loops.axis_loop(axis, first, last) as i:
            sums.go_to_column(i - first)
            sums.store(None)
