"""A row kernel as LLVM text: a loop over rows, and in it the loops of its parts.

Threads share the rows. If there are sums along all rows, the loop is cut into pieces as a long reduction is, so that
results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from wengert.compiler.forms.affine import Affine, Position, flat_index
from wengert.compiler.kernels.accumulators import Accumulators, SumsInMemory, write_combination
from wengert.compiler.kernels.element import Elements, StoredElement
from wengert.compiler.kernels.kernel import KernelText, kernel_function
from wengert.compiler.kernels.loops import KernelLoops, piece_bounds
from wengert.compiler.nests.cost import Cost, cost, operations_in, pays_to_share
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.schedule.memory_plan import Memory, Pointers
from wengert.compiler.schedule.row_kernels import RowKernel, RowPart, index_in_row
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.simd.lanes import Code, Lanes, split_index
from wengert.compiler.simd.types import I64, Type
from wengert.core import machine
from wengert.graph.ir import Node


class RowPlan:
    """The loops of all parts of a row kernel."""

    make_part: type[LoopPlan] = LoopPlan

    def __init__(self, kernel: RowKernel, schedule: Schedule):
        self.kernel = kernel
        self.parts: list[Any] = [self.make_part(part, schedule) for part in kernel.parts]
        self.work = sum(plan.work for plan in self.parts)

    @property
    def nodes(self) -> list[Node]:
        """The values that it reads or computes."""
        return list(dict.fromkeys([node for plan in self.parts for node in plan.nodes]))

    @property
    def computed_nodes(self) -> list[Node]:
        """The values that it computes, rather than reads."""
        return list(dict.fromkeys([node for plan in self.parts for node in plan.computed_nodes]))

    def costs(self, threads: int = 1) -> list[Cost]:
        """What all parts take: what one of them has read or made of a row is in the cache for the others."""
        near, found = {*self.kernel.local, *self.kernel.hosts}, []
        for plan in self.parts:
            found.append(cost(plan, plan.decisions, machine.current, threads, near))
            near.update(access.stream.array for access in plan.body_work.accesses)
        return found

    @property
    def is_cut(self) -> bool:
        """Whether the rows are cut into pieces, each with sums of its own."""
        return (
            bool(self.kernel.sums)
            and self.work >= machine.current.sum_pieces_from_operations
            and self.kernel.count >= machine.current.sum_pieces
        )

    def partials(self) -> dict[Node, int]:
        """The bytes of the sums of all pieces."""
        return {node: machine.current.sum_pieces * node.nbytes for node in self.kernel.sums} if self.is_cut else {}


class RowElements(Elements):
    """The elements of one part; those of some values are in buffers for one row."""

    def __init__(
        self, plan: LoopPlan, part: RowPart, kernel: RowKernel, pointers: Pointers, buffers: Mapping[Node, Lanes]
    ):
        super().__init__(pointers.code, plan.schedule, part, pointers)
        self.plan, self.part, self.row_kernel, self.buffers = plan, part, kernel, buffers
        self.overwritten.update([node for node in part.operands if node in kernel.hosts])
        self.changing = {node for other in kernel.parts for node in other.roots}

    def find_source(self, node: Node, index: Affine) -> StoredElement:
        owner = self.schedule.aliases.get(node, node)
        if owner in self.row_kernel.hosts:
            return StoredElement(self.pointers.target(self.row_kernel.hosts[owner]), index, node.size, True)
        if owner not in self.buffers:
            return super().find_source(node, index)._replace(is_overwritten=owner in self.changing)
        length = node.size // self.row_kernel.count
        return StoredElement(self.buffers[owner], self.in_row(node, index), length, True)

    def store(self, node: Node, positions: Sequence[Position], values: Sequence[Lanes]) -> None:
        for position, value in zip(positions, values, strict=True):
            self.store_at(node, flat_index(position, node.shape), value)

    def store_at(self, node: Node, index: Affine, value: Lanes) -> None:
        if node in self.row_kernel.hosts:
            super().store_at(self.row_kernel.hosts[node], index, value)
        elif node in self.buffers:
            self.write_memory(self.buffers[node], self.in_row(node, index), value)
        if node not in self.row_kernel.local:
            super().store_at(node, index, value)

    def in_row(self, node: Node, index: Affine) -> Affine:
        """The index in the row."""
        found = index_in_row(index, self.part, self.plan.counters, node.size // self.row_kernel.count)
        assert found is not None, "another row"
        return found


class RowKernelWriter:
    """Writes one row kernel."""

    def __init__(self, kernel: RowKernel, schedule: Schedule, memory: Memory, name: str):
        self.kernel, self.schedule, self.memory, self.name = kernel, schedule, memory, name
        self.plan, self.code = RowPlan(kernel, schedule), Code()
        pointers = Pointers(self.code, memory, schedule.aliases)
        buffers = {node: self.make_buffer(node) for node in kernel.buffers}
        self.loops = [
            KernelLoops(plan, RowElements(plan, part, kernel, pointers, buffers))
            for plan, part in zip(self.plan.parts, kernel.parts, strict=True)
        ]

    def make_buffer(self, node: Node) -> Lanes:
        """Memory on the stack for one row of a value."""
        return self.code.array(Type.from_dtype(node.dtype).in_memory, node.size // self.kernel.count)

    def write(self) -> KernelText:
        """The text of the kernel."""
        code, count, is_cut = self.code, self.kernel.count, self.plan.is_cut
        first, last = Lanes(code, "%begin", I64), Lanes(code, "%end", I64)
        with ExitStack() as outer:
            piece = outer.enter_context(code.loop(first, last)) if is_cut else None
            if piece is not None:
                first, last = piece_bounds(code, piece, count, 1)
            for loops in self.loops:
                self.start_sums(loops, piece)
            with code.loop(first, last) as row:
                for loops in self.loops:
                    self.write_part(loops, row)
            for loops in self.loops:
                for total in loops.across:
                    total.store(piece)
        now, seconds = machine.current, sum([part.seconds for part in self.plan.costs()])
        extent = now.sum_pieces if is_cut else count
        is_shared = pays_to_share(seconds, extent, now) and (is_cut or not self.kernel.sums)
        for loops in self.loops:
            loops.return_status(is_shared)
        text, combine = kernel_function(self.name, code), None
        if is_cut:
            combination = Code()
            write_combination(combination, self.kernel.sums, self.memory, now.sum_pieces)
            combine = kernel_function(f"{self.name}.combine", combination)
        work = operations_in(seconds, now)
        return KernelText(self.name, text, extent, 1, work, is_shared, combine, code)

    def start_sums(self, loops: KernelLoops, piece: Lanes | None) -> None:
        """The accumulators of sums along all rows: variables for one number, and memory for a row."""
        plan, elements = loops.plan, loops.elements
        elements.forget()
        axes = range(len(plan.domain))
        single = [node for node in loops.kernel.sums if len(node.params["axis"]) == len(axes)]
        along = [node for node in loops.kernel.sums if node not in single]
        if single:
            loops.across.append(Accumulators(plan, elements, single, axes))
        if along:
            loops.across.append(SumsInMemory(plan, elements, along, piece))

    def write_part(self, loops: KernelLoops, row: Lanes) -> None:
        """The loops of one part for one row."""
        plan, elements = loops.plan, loops.elements
        elements.forget()
        outer = slice(plan.outer)
        elements.counters.update(zip(plan.counters[outer], split_index(row, *plan.domain[outer][1:]), strict=False))
        loops.write_kernel({})
