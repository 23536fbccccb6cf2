"""A kernel for a GPU as LLVM text: a thread for each element, and groups of threads for reductions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wengert.compiler.forms.lowering import Reduction, lowering_of
from wengert.compiler.kernels.accumulators import Accumulators, accumulator_type, piece_address
from wengert.compiler.kernels.element import Elements
from wengert.compiler.kernels.loops import KernelLoops
from wengert.compiler.program.memory_plan import Memory
from wengert.compiler.schedule.affine import Affine, lane_stride
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.complex_lanes import constant
from wengert.compiler.simd.lane_operations import any_lane, load_element, store_element
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.targets.grid_plan import SERIAL, GridPlan, power_above
from wengert.compiler.targets.thread_block import THREADS, DeviceKernel, ThreadBlock, ThreadVariable, make_pointers
from wengert.graph.ir import Operation

NARROW = 1 << 31
"""Numbers below this are divided as integers of 32 bits, which is faster."""


class GridElements(Elements):
    """The elements of a kernel for a GPU. In a flat loop, a thread reads and writes whole vectors."""

    has_lapack = False

    def read_memory(self, base: Lanes, index: Affine, type: Type, is_overwritten: bool) -> Lanes:
        stride, lanes = lane_stride(index)
        if not self.is_flat or lanes == 1 or stride != 1:
            return super().read_memory(base, index, type, is_overwritten)
        address, vector = self.code.offset(base, self.evaluate(index, False), type), Type(type.kind, lanes)
        return load_element(self.code, address, vector, lanes * type.bits // 8, is_overwritten)

    def write_memory(self, base: Lanes, index: Affine, value: Lanes) -> None:
        stride, lanes = lane_stride(index)
        if not self.is_flat or lanes == 1 or stride != 1:
            super().write_memory(base, index, value)
            return
        value = self.splat(value.to(value.type.in_memory.kind), lanes)
        address = self.code.offset(base, self.evaluate(index, False), value.type)
        store_element(value, address, lanes * value.type.bits // 8)


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
        if self.plan.lanes > 1:
            number = number * self.plan.lanes
        for axis in reversed(axes):
            n = self.plan.domain[axis]
            if axis == axes[0]:
                elements.counters[self.plan.counters[axis]] = number
            else:
                number, elements.counters[self.plan.counters[axis]] = divide(number, n, below)

    def fold_steps(self, sums: Accumulators, first: Lanes, step: int, unrolled: int) -> None:
        """Fold every so-many-th element from the first one on; several are read at once."""
        code, reduced, slot = self.code, self.grid.reduced, self.code.variable(I64, first)
        if unrolled > 1:
            with code.loop(first, reduced - (unrolled - 1) * step, unrolled * step) as r:
                with sums.gather():
                    for k in range(unrolled):
                        self.place(self.plan.reduced_axes, r + k * step if k else r)
                        self.write_body(sums)
                code.store(r + unrolled * step, slot)
        with code.loop(code.load(slot, I64), reduced, step) as r:
            self.place(self.plan.reduced_axes, r)
            self.write_body(sums)

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

    def report_failures(self) -> None:
        """Add the failures of a thread to the status of the program."""
        code, failures = self.code, self.code.constant(0, I64)
        if not self.elements.failures:
            return
        for (failure, lanes), flags in self.elements.failures.items():
            failures = failures | (any_lane(code.load(flags, Type("i1", lanes))).to("i64") << failure.bit)
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
            item, member = self.find_item(thread)
            sums = Accumulators(plan, self.elements, self.kernel.reductions, plan.axes)
            with code.when(item < plan.items):
                piece, kept = self.find_piece(item)
                self.place(plan.kept_axes, kept)
                if self.kernel.reductions:
                    self.accumulate(sums, piece, member)
                else:
                    self.write_body(None)
                self.elements.forget()
            variables = self.keep_sums(sums)
            self.report_failures()
        self.fold_sums(sums, variables, plan.width)
        if variables:
            with block.exchange() as thread:
                item, member = self.find_item(thread)
                with code.when((item < plan.items) & member.eq(0)):
                    piece, kept = self.find_piece(item)
                    self.place(plan.kept_axes, kept)
                    for variable, found in zip(variables, sums.all, strict=True):
                        self.store_sum(sums, found.node, found.kept, variable.load(), piece)
        what = f"{list(plan.domain)} -> {', '.join(repr(node.spec) for node in self.kernel.roots)}"
        main = DeviceKernel(self.name, code, plan.blocks, plan.nbytes, what, plan.resident if code.calls else 0)
        return [main, *self.combinations()]

    def find_item(self, thread: Lanes) -> tuple[Lanes, Lanes]:
        """The number of the element or piece that a thread works on, and the thread's number among those that do."""
        width = self.grid.width
        number = self.block.number * THREADS + thread
        return number.logical_right(width.bit_length() - 1), thread & (width - 1)

    def find_piece(self, item: Lanes) -> tuple[Lanes, Lanes]:
        """The number of the piece, and that of the element."""
        plan = self.grid
        if plan.pieces == 1:
            return item.like(0), item
        return divide(item, plan.kept, plan.items)

    def accumulate(self, sums: Accumulators, piece: Lanes, member: Lanes) -> None:
        """Fold every so-many-th element."""
        plan = self.grid
        self.fold_steps(sums, piece * plan.width + member, plan.width * plan.pieces, plan.unrolled)

    def store_sum(self, sums: Accumulators, node: Operation, kept: tuple, value: Lanes, piece: Lanes) -> None:
        """Store a reduction, or that of a piece."""
        index = sums.kept_index(node, kept)
        if self.grid.pieces == 1:
            self.elements.store_at(node, index, lowering_of(node, Reduction).finish(value))
        else:
            self.elements.write_memory(piece_address(self.elements, node, piece), index, value)

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
    width = min(power_above(-(-pieces // SERIAL)), THREADS)
    source, target = pointers.partials(node), pointers.target(node)
    with block.phase() as thread:
        variable = ThreadVariable(block, type)
        variable.store(constant(code, rule.initial(type), type))
        element = (block.number * THREADS + thread).logical_right(width.bit_length() - 1)
        with code.when(element < node.size), code.loop(thread & (width - 1), pieces, width) as piece:
            at = code.offset(source, piece * node.size + element, stored)
            term = load_element(code, at, stored, stored.align).to(type.kind)
            variable.store(rule.fold(variable.load(), term))
    block.fold(variable, rule.fold, rule.initial(type), width)
    with block.exchange() as thread:
        element = (block.number * THREADS + thread).logical_right(width.bit_length() - 1)
        with code.when((element < node.size) & (thread & (width - 1)).eq(0)):
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
