"""A kernel for a GPU as LLVM text: a thread for each element, and groups of threads for reductions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from wengert.compiler.forms.affine import Affine, lane_stride
from wengert.compiler.forms.lowering import Reduction, lowering_of
from wengert.compiler.kernels.accumulators import Accumulators, accumulator_type
from wengert.compiler.kernels.element import Elements
from wengert.compiler.kernels.loops import KernelLoops
from wengert.compiler.nests.grid_order import group_of
from wengert.compiler.nests.grid_policy import resident_blocks
from wengert.compiler.nests.thread_order import THREADS, VECTOR_BYTES, WARP
from wengert.compiler.schedule.memory_plan import POINTER, Memory, Pointers
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.complex_lanes import constant
from wengert.compiler.simd.lane_operations import load_element, store_element
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.targets.grid_plan import NARROW, GridPlan
from wengert.compiler.targets.thread_block import DeviceKernel, ThreadBlock, ThreadVariable, make_pointers
from wengert.core import machine
from wengert.graph.ir import Operation


class GridElements(Elements):
    """The elements of a kernel for a GPU. Neighbours are read and written at once where their address allows it."""

    has_lapack = False

    def __init__(self, code: Code, schedule: Schedule, kernel: Kernel, pointers: Pointers, is_flat: bool = False):
        super().__init__(code, schedule, kernel, pointers, is_flat)
        self.steps: dict[str, int] = {}  # of addresses in arrays: the numbers of their elements are multiples

    def offset_base(self, base: Lanes, start: Lanes, type: Type, step: int) -> Lanes:
        address = super().offset_base(base, start, type, step)
        if base.text.startswith(POINTER):
            self.steps[address.text] = step
        return address

    def read_memory(self, base: Lanes, index: Affine, type: Type, is_overwritten: bool) -> Lanes:
        stride, lanes = lane_stride(index)
        if lanes > 1 and stride != 1:
            return super().read_memory(base, index, type, is_overwritten)
        address = self.code.offset(base, self.evaluate(index, False), type)
        return load_element(
            self.code, address, Type(type.kind, lanes), self.alignment(base, index, type), is_overwritten
        )

    def write_memory(self, base: Lanes, index: Affine, value: Lanes) -> None:
        stride, lanes = lane_stride(index)
        if lanes > 1 and stride != 1:
            super().write_memory(base, index, value)
            return
        value = self.splat(value.to(value.type.in_memory.kind), lanes)
        address = self.code.offset(base, self.evaluate(index, False), value.type)
        store_element(value, address, self.alignment(base, index, value.type))

    def alignment(self, base: Lanes, index: Affine, type: Type) -> int:
        """The largest power of two that divides the address of an element, at most the bytes that are read at once."""
        is_one_number = type.is_complex or type.parts == 1
        if not is_one_number or not (base.text.startswith(POINTER) or base.text in self.steps):
            return type.align  # several numbers, or not a known element of an array
        constant, steps = index.constant, [self.steps.get(base.text, 0)]
        for counter, k in index.terms:
            value = self.counters[counter].text
            if value.isdigit():  # in a tile
                constant += k * int(value)
            else:
                steps.append(k * counter.lanes)
        size = math.gcd(constant, *steps) * type.bits // 8
        return min(size & -size, VECTOR_BYTES) if size else VECTOR_BYTES


class GridWriter(KernelLoops):
    """What the writers of kernels for GPUs share: numbers of threads as counters, and what may fail."""

    def __init__(self, plan: GridPlan, elements: Elements, block: ThreadBlock):
        super().__init__(plan, elements)
        self.grid, self.block = plan, block

    def place(self, axes: Sequence[int], number: Lanes) -> None:
        """Set the counters of axes by the number of an element in their order, the last axis first."""
        elements = self.elements
        elements.forget()
        below = math.prod([self.plan.domain[axis] for axis in axes])
        if self.plan.vector_axis in axes:
            number = number * self.plan.lanes
        for axis in reversed(axes):
            n = self.plan.domain[axis]
            if axis == axes[0]:
                elements.counters[self.plan.counters[axis]] = number
            else:
                number, elements.counters[self.plan.counters[axis]] = divide(number, n, below)

    def place_in_tile(self, k: int) -> None:
        """Set the counter of the axis along which a thread has all elements."""
        if self.grid.tile_axis is not None:
            counter = self.plan.counters[self.grid.tile_axis]
            self.elements.counters[counter] = self.code.constant(k, I64)
            self.elements.forget_along(counter)

    def fold_steps(self, sums: Sequence[Accumulators], first: Lanes, step: int, unrolled: int) -> None:
        """Fold every so-many-th element from the first one on; several are read at once."""
        code, reduced, slot = self.code, self.grid.reduced, self.code.variable(I64, first)
        if unrolled > 1:
            with code.loop(first, reduced - (unrolled - 1) * step, unrolled * step) as r:
                with ExitStack() as gathered:
                    for own in sums:
                        gathered.enter_context(own.gather())
                    for k in range(unrolled):
                        self.place(self.plan.reduced_axes, r + k * step if k else r)
                        self.write_tile(sums)
                code.store(r + unrolled * step, slot)
        with code.loop(code.load(slot, I64), reduced, step) as r:
            self.place(self.plan.reduced_axes, r)
            self.write_tile(sums)

    def keep_sums(self, sums: Accumulators) -> list[ThreadVariable]:
        """Variables with what each thread has folded."""
        variables = [ThreadVariable(self.block, accumulator_type(found.node, 1)) for found in sums.all]
        for variable, found in zip(variables, sums.all, strict=True):
            variable.store(found.variables[0].load())
        return variables

    def fold_sums(self, sums: Accumulators, variables: Sequence[ThreadVariable], width: int) -> None:
        """Fold what groups of threads have; the first member of each has the result."""
        for variable, found in zip(variables, sums.all, strict=True):
            rule = lowering_of(found.node, Reduction)
            self.block.fold(variable, rule.fold, rule.initial(variable.type), width)

    def store_sums(self, sums: Accumulators, variables: Sequence[ThreadVariable], piece: Lanes | None = None) -> None:
        """Store the reductions, or those of one piece."""
        for variable, found in zip(variables, sums.all, strict=True):
            sums.store_value(found, variable.load(), piece)

    @contextmanager
    def items(self, count: int, width: int = 1) -> Iterator[tuple[Lanes, Lanes]]:
        """Code for groups of threads, one for each of so many items; yields the item, and the number in the group."""
        with self.block.phase() as thread:
            item, member = self.block.find_item(thread, width)
            with self.code.when(item < count):
                yield item, member
            self.elements.forget()
            self.report_failures()

    @contextmanager
    def first_members(self, count: int, width: int) -> Iterator[Lanes]:
        """Code for the first thread of each group; yields its item."""
        with self.block.exchange() as thread:
            item, member = self.block.find_item(thread, width)
            with self.code.when((item < count) & member.eq(0)):
                yield item

    def report_failures(self) -> None:
        """Add the failures of a thread to the status of the program."""
        code = self.code
        if not self.elements.failures:
            return
        failures = self.join_failures()
        with code.when(failures.ne(0)):
            status = code.load(Lanes(code, "%table", PTR), PTR)
            code.add(f"atomicrmw or {status.typed}, {failures.typed} monotonic", I64)


class GridKernelWriter(GridWriter):
    """Writes one kernel of elements and reductions."""

    def __init__(self, kernel: Kernel, schedule: Schedule, memory: Memory, name: str, block: type[ThreadBlock]):
        self.schedule, self.memory, self.name, self.make_block = schedule, memory, name, block
        plan, code = GridPlan(kernel, schedule), Code()
        threads = block(code, name)
        pointers = make_pointers(threads, memory, schedule.aliases)
        super().__init__(plan, GridElements(code, schedule, kernel, pointers, plan.is_flat), threads)

    def write(self) -> list[DeviceKernel]:
        """The kernel, and those that combine its pieces."""
        plan, code, block = self.grid, self.code, self.block
        with block.phase() as thread:
            item, member = block.find_item(thread, plan.width)
            sums = self.make_sums() if self.kernel.reductions else []
            with self.at_item(item, item < plan.items) as piece:
                if sums:
                    self.fold_steps(sums, piece * plan.width + member, plan.width * plan.pieces, plan.steps)
                else:
                    self.write_tile([None] * plan.tile)
                self.elements.forget()
            variables = [self.keep_sums(own) for own in sums]
            self.report_failures()
        for own, totals in zip(sums, variables, strict=True):
            self.fold_sums(own, totals, plan.width)
        if sums:
            with block.exchange() as thread:
                item, member = block.find_item(thread, plan.width)
                with self.at_item(item, (item < plan.items) & member.eq(0)) as piece:
                    for k, (own, totals) in enumerate(zip(sums, variables, strict=True)):
                        self.place_in_tile(k)
                        self.store_sums(own, totals, piece if plan.pieces > 1 else None)
        what = f"{list(plan.domain)} -> {', '.join(repr(node.spec) for node in self.kernel.roots)}"
        resident = resident_blocks(plan, plan.decisions, bool(code.calls), machine.current)
        main = DeviceKernel(self.name, code, plan.blocks, plan.nbytes, what, resident)
        return [main, *self.combinations()]

    @contextmanager
    def at_item(self, item: Lanes, is_needed: Lanes) -> Iterator[Lanes]:
        """Code for threads whose element is needed, with its counters; yields the number of the piece."""
        code, plan = self.code, self.grid
        with code.when(is_needed):
            piece, kept = self.find_piece(item)
            if not plan.is_in_strips:
                self.place(plan.kept_axes, kept)
                yield piece
                return
            *others, along = plan.kept_axes
            strip, member = kept.logical_right(WARP.bit_length() - 1), kept & (WARP - 1)
            strip, other = divide(strip, math.prod([plan.domain[axis] for axis in others]), plan.kept)
            self.place(others, other)
            place = strip * WARP + member
            self.elements.counters[plan.counters[along]] = place
            with code.when(place < plan.domain[along]):
                yield piece

    def find_piece(self, item: Lanes) -> tuple[Lanes, Lanes]:
        """The number of the piece, and that of the element."""
        plan = self.grid
        if plan.pieces == 1:
            return item.like(0), item
        return divide(item, plan.kept, plan.items)

    def combinations(self) -> list[DeviceKernel]:
        """The kernels that fold the pieces of reductions."""
        if self.grid.pieces == 1:
            return []
        return [
            write_combination(node, self.grid.pieces, self.memory, f"{self.name}.combine.{k}", self.make_block)
            for k, node in enumerate(self.kernel.reductions)
        ]


def write_combination(
    node: Operation, pieces: int, memory: Memory, name: str, make_block: type[ThreadBlock]
) -> DeviceKernel:
    """A kernel that folds the results of pieces, in a fixed order: several threads for each element."""
    code = Code()
    block, type, rule = make_block(code, name), accumulator_type(node, 1), lowering_of(node, Reduction)
    pointers, stored, result = make_pointers(block, memory, {}), type.in_memory, Type.from_dtype(node.dtype).in_memory
    width = group_of(pieces, 1)
    source, target = pointers.partials(node), pointers.target(node)
    with block.phase() as thread:
        variable = ThreadVariable(block, type)
        variable.store(constant(code, rule.initial(type), type))
        element, member = block.find_item(thread, width)
        with code.when(element < node.size), code.loop(member, pieces, width) as piece:
            at = code.offset(source, piece * node.size + element, stored)
            term = load_element(code, at, stored, stored.align).to(type.kind)
            variable.store(rule.fold(variable.load(), term))
    block.fold(variable, rule.fold, rule.initial(type), width)
    with block.exchange() as thread:
        element, member = block.find_item(thread, width)
        with code.when((element < node.size) & member.eq(0)):
            total = rule.finish(variable.load()).to(result.kind)
            store_element(total, code.offset(target, element, result), result.align)
    nbytes = pieces * node.size * stored.bits // 8 + node.nbytes
    return DeviceKernel(name, code, -(-node.size * width // THREADS), nbytes, f"{pieces} pieces of {node.spec!r}")


def divide(number: Lanes, n: int, below: int) -> tuple[Lanes, Lanes]:
    """The quotient and the remainder of an integer `below` a bound and a constant."""
    code, kind = number.code, "i32" if below < NARROW else "i64"
    narrow = number.to(kind)
    over, left = [code.add(f"{operation} {narrow.typed}, {n}", narrow.type) for operation in ("udiv", "urem")]
    return over.to("i64"), left.to("i64")
