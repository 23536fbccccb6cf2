"""The loops of a kernel: over its axes, with the instructions for the elements in their body."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from wengert.compiler.kernels.accumulators import Accumulators, SumsInMemory
from wengert.compiler.kernels.element import Elements
from wengert.compiler.kernels.loop_plan import ACCUMULATORS, PIECES, LoopPlan
from wengert.compiler.schedule.affine import Affine
from wengert.compiler.simd.lane_operations import any_lane
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type


class KernelLoops:
    """Writes the loops of one kernel, or of a part of a row kernel.

    `across` are the sums over all rows that their body adds to.
    """

    def __init__(self, plan: LoopPlan, elements: Elements):
        self.plan, self.elements, self.code, self.kernel = plan, elements, elements.code, plan.kernel
        self.across: list[Accumulators | SumsInMemory] = []
        self.first_lane: Lanes | None = None  # the counter of the lanes, before a vector is moved back

    @contextmanager
    def loop(self, start: Lanes | int, stop: Lanes | int, step: int) -> Iterator[Lanes]:
        """A loop. Values from outside are not known in its body, nor those of its body after it."""
        with self.code.loop(start, stop, step) as i:
            self.elements.forget()
            yield i
        self.elements.forget()

    @contextmanager
    def axis_loop(self, axis: int, start: Lanes | int, stop: Lanes | int) -> Iterator[Lanes]:
        """A loop over an axis.

        A vector that would end beyond the axis is moved back; yields the index before that.
        """
        counter = self.plan.counters[axis]
        with self.loop(start, stop, counter.lanes) as i:
            first = i
            if counter.extent % counter.lanes:
                last = counter.extent - counter.lanes
                first = self.code.intrinsic("smin", I64, i, i.like(last))
            self.elements.counters[counter] = first
            if axis == self.plan.vector_axis:
                self.first_lane = i
            yield i

    def write_body(self, sums: Accumulators | None, which: int = 0, fresh: Lanes | None = None) -> None:
        """Store and accumulate for the present counters. `fresh` are the lanes that were not counted before."""
        late = []
        for node in self.kernel.maps:
            positions = list(self.plan.stored_positions(node))
            values = [self.elements.at(node, position) for position in positions]
            if self.elements.overwritten:
                late.append((node, positions, values))  # after everything is read
            else:
                self.elements.store(node, positions, values)
        if sums is not None:
            sums.add(which, fresh)
        if self.across:
            counted = None if self.first_lane is None else self.fresh_lanes(self.first_lane)
            for total in self.across:
                total.add(0, counted)
        for node, positions, values in late:
            self.elements.store(node, positions, values)

    def return_status(self, is_shared: bool) -> None:
        """Add the failures to the status of the program, to which other threads may add theirs."""
        code = self.code
        if not self.elements.failures:
            return
        status, failures = code.load(Lanes(code, "%table", PTR), PTR), code.constant(0, I64)
        for (failure, lanes), flags in self.elements.failures.items():
            failures = failures | (any_lane(code.load(flags, Type("i1", lanes))).to("i64") << failure.bit)
        if is_shared:
            code.add(f"atomicrmw or {status.typed}, {failures.typed} monotonic", I64)
        else:
            code.store(code.load(status, I64) | failures, status)

    # Reductions

    def write_reductions(self, piece: Lanes | None, bounds: tuple[Lanes, Lanes] | None) -> None:
        """The loops over the reduced axes; `bounds` are those of the outermost one."""
        plan = self.plan
        sums = Accumulators(plan, self.elements, self.kernel.reductions, plan.axes)
        with ExitStack() as loops:
            for axis in plan.reduced_axes:
                start: Any = 0
                stop: Any = plan.domain[axis]
                if axis in plan.cuts and piece is not None:
                    start, stop = self.cut_bounds(axis, piece)
                elif bounds is not None and axis == plan.reduced_axes[0]:
                    start, stop = bounds
                if axis == plan.vector_axis and plan.accumulators > 1:
                    self.write_parallel_bodies(sums, axis, start, stop)
                    break
                i = loops.enter_context(self.axis_loop(axis, start, stop))
            else:
                self.write_body(sums, 0, self.fresh_lanes(i) if plan.vector_axis in plan.axes else None)
        sums.store(piece)

    def fresh_lanes(self, i: Lanes) -> Lanes | None:
        """The lanes of a vector moved back from index `i` that were not counted before."""
        assert self.plan.vector_axis is not None
        counter = self.plan.counters[self.plan.vector_axis]
        if counter.extent % counter.lanes == 0:
            return None
        lane = self.elements.evaluate(Affine(0, ((counter, 1),)), True)
        return lane >= self.elements.splat(i, counter.lanes)

    def write_parallel_bodies(self, sums: Accumulators, axis: int, start: Any, stop: Any) -> None:
        """A loop over the vector's axis with a body for each accumulator, and one for the remainder."""
        code, counter = self.code, self.plan.counters[axis]
        width = counter.lanes
        slot = code.variable(I64, start)
        end = code.lift(stop, I64)
        with self.loop(start, end - (ACCUMULATORS * width - 1), ACCUMULATORS * width) as i:
            for which in range(ACCUMULATORS):
                self.elements.forget()
                self.elements.counters[counter] = i + which * width if which else i
                self.write_body(sums, which)
            code.store(i + ACCUMULATORS * width, slot)
        with self.axis_loop(axis, code.load(slot, I64), end) as i:
            self.write_body(sums, 0, self.fresh_lanes(i))

    def cut_bounds(self, axis: int, piece: Lanes) -> tuple[Lanes, Lanes]:
        """The first and last index of a piece along one of the axes that are cut; the last of them counts first."""
        plan = self.plan
        axes, parts = list(plan.cuts), plan.cuts[axis]
        inner = math.prod([plan.cuts[a] for a in axes[axes.index(axis) + 1 :]])
        if inner > 1:
            piece = self.code.add(f"udiv {piece.typed}, {inner}", I64)
        if axis != axes[0]:
            piece = self.code.add(f"urem {piece.typed}, {parts}", I64)
        return piece_bounds(self.code, piece, plan.domain[axis], plan.grain(axis), parts)


def piece_bounds(code: Code, piece: Lanes, n: int, grain: int, pieces: int = PIECES) -> tuple[Lanes, Lanes]:
    """The first and last index of a piece of a loop to `n` in steps of `grain`."""
    step = -(-n // pieces)
    step = -(-step // grain) * grain
    start = piece * step
    smaller = lambda x: code.intrinsic("smin", I64, x, x.like(n))
    return smaller(start), smaller(start + step)
