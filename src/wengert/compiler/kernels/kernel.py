"""A kernel as LLVM text: loops over its domain, elements in the body, reductions in accumulators.

The loop over one axis advances by a vector of lanes. If its extent is not a multiple of the lanes, the last vector is
moved back to end with the array: maps store some elements twice, with equal values, and reductions ignore those that
were added before. So there is one body and no remainder loop. A long reduction is cut into pieces whose number depends
only on the shape, and the pieces are added in order: the result does not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from wengert.compiler.kernels.accumulators import Accumulators, write_combination
from wengert.compiler.kernels.element import Elements
from wengert.compiler.kernels.loop_plan import ACCUMULATORS, LARGE, PIECES, SHARED, LoopPlan
from wengert.compiler.kernels.scatters import ScatterWriter, combine_sums
from wengert.compiler.program.memory_plan import POINTER, Memory, Pointers
from wengert.compiler.schedule.affine import Affine
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.lane_operations import any_lane
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type


class KernelText(NamedTuple):
    """The LLVM text of a kernel.

    Its outermost loop runs to `extent` in steps of `grain`, and threads may share it if it `is_shared`; `work` is the
    number of scalar operations. `combine` folds the results of its pieces.
    """

    name: str
    text: str
    extent: int
    grain: int
    work: int
    is_shared: bool
    combine: str | None
    code: Code
    is_inline: bool = False

    @property
    def is_large(self) -> bool:
        """Whether it takes long, on all cores."""
        return self.is_shared and self.work >= LARGE

    @property
    def length(self) -> int:
        """The number of lines."""
        return len(self.code.lines)

    @property
    def is_mostly_calls(self) -> bool:
        """Whether vector functions do most of its work."""
        return 12 * sum(self.code.calls.values()) > self.length

    @property
    def pointers(self) -> list[str]:
        """The lines that load the addresses of operands and results, three for each."""
        return [line for line in self.code.hoisted if line.startswith(f"  {POINTER}")]

    @property
    def core(self) -> str:
        """All other lines."""
        hoisted = [line for line in self.code.hoisted if not line.startswith(f"  {POINTER}")]
        return "\n".join([*hoisted, *self.code.lines, "  ret void", "}"])

    @property
    def functions(self) -> list[str]:
        """The names of its functions."""
        return [self.name, f"{self.name}.combine"] if self.combine else [self.name]


class KernelWriter:
    """Writes one kernel."""

    def __init__(self, kernel: Kernel, schedule: Schedule, memory: Memory, name: str):
        self.kernel, self.schedule, self.memory, self.name = kernel, schedule, memory, name
        self.plan = LoopPlan(kernel, schedule)
        self.code = Code()
        pointers = Pointers(self.code, memory, schedule.aliases, not schedule.is_inline)
        self.elements = Elements(self.code, schedule, kernel.stage, pointers, self.plan.is_flat)
        if schedule.is_inline:  # new states are written where the old ones were
            self.elements.overwritten.update(schedule.graph.inputs)

    def write(self) -> KernelText:
        """The text of the kernel."""
        plan = self.plan
        begin, end = Lanes(self.code, "%begin", I64), Lanes(self.code, "%end", I64)
        if self.kernel.scatters:
            ScatterWriter(self, begin, end).write()
            self.return_status()
            return self.function(*plan.parts, plan.is_cut, self.combination() if plan.is_cut_in_pieces else None)
        is_cut, long = bool(plan.cuts), [axis for axis in plan.kept_axes if plan.domain[axis] > 1]
        outer = next(iter([*long, *plan.kept_axes, *plan.reduced_axes]), None)
        with ExitStack() as loops:
            piece = loops.enter_context(self.loop(begin, end, 1)) if is_cut else None
            for axis in plan.kept_axes:
                bounds = (begin, end) if axis == outer and not is_cut else (0, plan.domain[axis])
                loops.enter_context(self.axis_loop(axis, *bounds))
            if self.kernel.reductions:
                self.write_reductions(piece, (begin, end) if outer in plan.reduced_axes and not is_cut else None)
            else:
                self.write_body(None)
        self.return_status()
        combine = self.combination() if is_cut else None
        extent, grain = 1, 1
        if is_cut:
            extent = PIECES
        elif outer is not None:
            extent, grain = plan.domain[outer], plan.grain(outer)
        has_threads = (is_cut or outer in plan.kept_axes) and extent >= 2 * grain
        return self.function(extent, grain, has_threads, combine)

    def combination(self) -> str:
        """The function that folds the results of all pieces."""
        code = Code()
        if self.kernel.scatter is not None:
            base = self.kernel.scatter_base
            source = None if base is None else self.memory.slot(self.schedule.aliases.get(base, base))
            combine_sums(code, self.kernel.scatter, self.memory, source)
        else:
            write_combination(code, self.kernel.reductions, self.memory, PIECES)
        return kernel_function(f"{self.name}.combine", code)

    def function(self, extent: int, grain: int, has_threads: bool, combine: str | None = None) -> KernelText:
        """The function of the kernel."""
        is_inline = self.schedule.is_inline
        text = kernel_function(self.name, self.code, is_inline)
        is_shared = self.plan.work >= SHARED and has_threads
        return KernelText(self.name, text, extent, grain, self.plan.work, is_shared, combine, self.code, is_inline)

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
        for node, positions, values in late:
            self.elements.store(node, positions, values)

    def return_status(self) -> None:
        """Add the failures to the status of the program."""
        code = self.code
        if not self.elements.failures:
            return
        status, failures = code.load(Lanes(code, "%table", PTR), PTR), code.constant(0, I64)
        for (failure, lanes), flags in self.elements.failures.items():
            failures = failures | (any_lane(code.load(flags, Type("i1", lanes))).to("i64") << failure.bit)
        if self.plan.work >= SHARED:  # other threads may add theirs
            code.add(f"atomicrmw or {status.typed}, {failures.typed} monotonic", I64)
        else:
            code.store(code.load(status, I64) | failures, status)

    # Reductions

    def write_reductions(self, piece: Lanes | None, bounds: tuple[Lanes, Lanes] | None) -> None:
        """The loops over the reduced axes; `bounds` are those of the outermost one."""
        plan = self.plan
        sums = Accumulators(plan, self.elements)
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
        axes = list(self.plan.cuts)
        parts = self.plan.cuts[axis]
        inner = math.prod([self.plan.cuts[a] for a in axes[axes.index(axis) + 1 :]])
        if inner > 1:
            piece = self.code.add(f"udiv {piece.typed}, {inner}", I64)
        if axis != axes[0]:
            piece = self.code.add(f"urem {piece.typed}, {parts}", I64)
        return self.piece_bounds(axis, piece, parts)

    def piece_bounds(self, axis: int, piece: Lanes, pieces: int = PIECES) -> tuple[Lanes, Lanes]:
        """The first and last index of a piece."""
        n, grain = self.plan.domain[axis], self.plan.grain(axis)
        step = -(-n // pieces)
        step = -(-step // grain) * grain
        start = piece * step
        smaller = lambda x: self.code.intrinsic("smin", I64, x, x.like(n))
        return smaller(start), smaller(start + step)


def kernel_function(name: str, code: Code, is_inline: bool = False) -> str:
    """The text of a kernel's function, which becomes part of its caller if it `is_inline`."""
    linkage, inlining = ("internal ", "alwaysinline") if is_inline else ("", "noinline")
    head = f"define {linkage}void @{name}(ptr %table, i64 %begin, i64 %end) {inlining} nounwind {{\nentry:\n"
    return head + "\n".join([*code.hoisted, *code.lines, "  ret void", "}"])
