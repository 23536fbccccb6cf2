"""Sums of columns in blocks: rows are read as they are in memory, and the sums of a block of columns are on the stack.

A loop over all rows for each vector of columns has its sums in registers, but reads a cache line here and there: the
processor does not see which one is next. Where the rows come from beyond the nearest cache, it waits for them most of
the time. The sum of each column has its terms in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from wengert.compiler.kernels.accumulators import Accumulators
from wengert.compiler.kernels.loops import KernelLoops
from wengert.compiler.simd.types import I64


def write_column_sums(loops: KernelLoops, vectors: int, bounds: Mapping[int, tuple[Any, Any]]) -> None:
    """The loops of a kernel that sums columns, in blocks of some vectors; `bounds` are those of the outermost."""
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
