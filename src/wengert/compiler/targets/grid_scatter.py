"""Scatters on a GPU: what is written or added at computed indices, in an order that does not depend on threads.

The rows of the selection are sorted by their targets, stably (`grid_partition.py`), and a kernel takes the rows of each
target in their order. If there are more rows than targets, the sort also finds where the rows of each target begin. So
additions to one element are those of NumPy, one after the other; where targets have many rows each, groups of
threads share them in a fixed way. Nothing is added by atomic operations, whose order would change from run to run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from wengert.compiler.forms.gather import Written
from wengert.compiler.kernels.scatters import NOTHING, ScatterWriter
from wengert.compiler.nests.element_sources import Element
from wengert.compiler.schedule.memory_plan import Memory, Pointers
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.complex_lanes import Variable, constant
from wengert.compiler.simd.lane_operations import load_element, store_element
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64, Type
from wengert.compiler.targets.grid_kernel import GridElements, GridWriter, divide
from wengert.compiler.targets.grid_partition import AT_ONCE, DIGITS, PartitionWriter
from wengert.compiler.targets.grid_plan import power_above
from wengert.compiler.targets.scatter_plan import ScatterPlan
from wengert.compiler.targets.thread_block import THREADS, DeviceKernel, ThreadBlock, ThreadVariable, make_pointers
from wengert.core import machine
from wengert.graph.ir import Operation


class ScatterElements(GridElements):
    """The elements of a scatter.

    Where all rows of a thread have one target, `indices` has what gave it: an element of an index array, and the extent
    of its axis. Values that are read at the same index, as in the gradient of a function of `table[i]`, need not read
    the index of each row.
    """

    def __init__(self, code: Code, schedule: Schedule, kernel: Kernel, pointers: Pointers):
        super().__init__(code, schedule, kernel, pointers)
        self.indices: dict[tuple[Element, int], Lanes] = {}

    def index_along(self, element: Element, extent: int) -> Lanes:
        known = self.indices.get((element, extent))
        return super().index_along(element, extent) if known is None else known


class ScatterKernelWriter:
    """Writes the kernels of scatters into one array."""

    def __init__(self, kernel: Kernel, schedule: Schedule, memory: Memory, name: str, block: type[ThreadBlock]):
        self.kernel, self.schedule, self.memory, self.name, self.make_block = kernel, schedule, memory, name, block
        self.plan = ScatterPlan(kernel, schedule)
        assert kernel.scatter is not None
        self.out = kernel.scatter
        self.type = Type(Type.from_dtype(self.out.dtype).kind, self.plan.lanes)
        self.alignment = self.out.dtype.itemsize * self.plan.lanes
        self.partition = self.plan.partition
        self.kernels: list[DeviceKernel] = []

    def write(self) -> list[DeviceKernel]:
        """The kernels."""
        if self.out not in self.memory.taken and not self.starts_by_itself(self.kernel.scatters[0]):
            self.fill()
        for node in self.kernel.scatters:
            written = Written.by(node)
            if written.indices:
                self.sort_rows(node, written)
            self.write_rows(node, written)
        return self.kernels

    def starts_by_itself(self, node: Operation) -> bool:
        """Whether the kernel of the first scatter visits all elements of the result, which then need not be filled."""
        is_first, written = node is self.kernel.scatters[0], Written.by(node)
        is_whole = self.plan.has_runs and self.plan.inner == self.plan.unit
        return is_first and is_whole and written.adds and bool(written.indices)

    def begin(self, what: str) -> tuple[GridWriter, ScatterWriter]:
        """A new kernel: what writes its threads, and what finds targets and values in it."""
        code = Code()
        block = self.make_block(code, f"{self.name}.{what}.{len(self.kernels)}")
        pointers = make_pointers(block, self.memory, self.schedule.aliases)
        elements = ScatterElements(code, self.schedule, self.kernel, pointers)
        elements.overwritten.add(self.out)
        writer = GridWriter(self.plan, elements, block)
        writer.memory = self.memory  # type: ignore[attr-defined]  # as that of a processor
        none = code.constant(0, I64)
        return writer, ScatterWriter(writer, none, none)  # type: ignore[arg-type]  # threads instead of loops

    def end(self, writer: GridWriter, blocks: int, nbytes: int, resident: int = 0) -> None:
        """Add a kernel that was written, with a number of blocks."""
        what = f"{list(self.plan.domain)} -> {self.out.spec!r}"
        self.kernels.append(DeviceKernel(writer.block.name, writer.code, blocks, nbytes, what, resident))

    def fill(self) -> None:
        """Copy what is updated to the result, or fill it with zeros."""
        writer, _ = self.begin("fill")
        code, pointers, base = writer.code, writer.elements.pointers, self.kernel.scatter_base
        type = Type.from_dtype(self.out.dtype)
        part, count = type.in_memory.part, self.out.size * (2 if type.is_complex else 1)
        with writer.block.phase() as thread:
            i = writer.block.number * THREADS + thread
            with code.when(i < count):
                value = code.constant(0, part)
                if base is not None:
                    value = code.load(code.offset(pointers.source(base), i, part), part)
                code.store(value, code.offset(pointers.target(self.out), i, part))
        self.end(writer, -(-count // THREADS), 2 * self.out.nbytes)

    def sort_rows(self, node: Operation, written: Written) -> None:
        """The kernels that find the target of each row, and sort rows by their targets."""
        plan, size = self.partition, self.partition.number.bits // 8
        for digit in range(plan.passes):
            writer, scatter = self.begin("count")
            if digit == 0:
                self.partition_of(writer).count_digits(digit, partial(self.find_unit, writer, scatter, node, written))
                writer.elements.forget()
                with writer.block.exchange():
                    writer.report_failures()
            else:
                self.partition_of(writer).count_digits(digit)
            self.end(writer, plan.blocks, (size if digit else 8 + size) * plan.rows)
            writer, _ = self.begin("sum")
            self.partition_of(writer).sum_counts()
            self.end(writer, DIGITS, 2 * size * DIGITS * plan.blocks)
            writer, _ = self.begin("move")
            finds_bounds = written.adds and plan.has_bounds and digit == plan.passes - 1
            self.partition_of(writer).move_rows(digit, finds_bounds)
            moved = (4 if digit else 3) * plan.rows
            nbytes = size * (moved - plan.rows + 2 * plan.targets if finds_bounds else moved)
            self.end(writer, plan.blocks, nbytes, machine.current.resident_blocks_of_device_sort)

    def partition_of(self, writer: GridWriter) -> PartitionWriter:
        """What writes a kernel of the sort, or reads what it has found."""
        return PartitionWriter(self.partition, writer.block, writer.elements.pointers.partials(self.out))

    def find_unit(
        self, writer: GridWriter, scatter: ScatterWriter, node: Operation, written: Written, row: Lanes
    ) -> Lanes:
        """The target of a row."""
        writer.place(self.plan.outer_axes, row)
        return scatter.find_unit(node, written)

    def write_rows(self, node: Operation, written: Written) -> None:
        """The kernel that writes or adds all rows, those of one target one after the other."""
        count = self.plan.targets
        if not written.indices:
            self.write_apart(node, written)
        elif not written.adds:
            self.write_last(node, written)
        elif self.plan.has_long_runs:
            self.share_targets(node, written, count)
        elif self.plan.has_runs:
            self.add_targets(node, written, count)
        else:
            self.add_runs(node, written)

    def each_element(self, node: Operation, write: Callable[[GridWriter, ScatterWriter, Lanes, Lanes], None]) -> None:
        """A kernel with a thread for each element of the selection, which knows its row and its index in the row."""
        writer, scatter = self.begin("rows")
        plan, code = self.plan, writer.code
        count = plan.rows * plan.inner
        with writer.block.phase() as thread:
            i = writer.block.number * THREADS + thread
            with code.when(i < count):
                row, e = divide(i, plan.inner, count) if plan.inner > 1 else (i, i.like(0))
                write(writer, scatter, row, e)
            writer.report_failures()
        self.end(writer, -(-count // THREADS), 2 * node.nbytes)

    def write_apart(self, node: Operation, written: Written) -> None:
        """Targets that slices give are different."""

        def write(writer: GridWriter, scatter: ScatterWriter, row: Lanes, e: Lanes) -> None:
            self.place(writer, row, e)
            unit = scatter.find_unit(node, written)
            address = self.address(writer, scatter, node, written, unit)
            value = self.value(writer, written)
            if written.adds:
                value = load_element(writer.code, address, self.type, self.type.align, True) + value
            self.store(value, address)

        self.each_element(node, write)

    def write_last(self, node: Operation, written: Written) -> None:
        """Of the rows of one target, the last one is written."""

        def write(writer: GridWriter, scatter: ScatterWriter, place: Lanes, e: Lanes) -> None:
            code = writer.code
            following = select(place + 1 < self.plan.rows, place + 1, place)
            key = self.key(writer, place)
            is_last = (place + 1).eq(self.plan.rows) | self.key(writer, following).ne(key)
            with code.when(is_last):
                self.place(writer, self.row(writer, place), e)
                self.store(self.value(writer, written), self.address(writer, scatter, node, written, key))
            writer.elements.forget()

        self.each_element(node, write)

    def add_runs(self, node: Operation, written: Written) -> None:
        """The thread of the first row of a target adds all of them."""

        def write(writer: GridWriter, scatter: ScatterWriter, place: Lanes, e: Lanes) -> None:
            code, key = writer.code, self.key(writer, place)
            before = select(place > 0, place - 1, place)
            is_first = place.eq(0) | self.key(writer, before).ne(key)
            with code.when(is_first):
                self.place(writer, place, e)
                address = self.address(writer, scatter, node, written, key)
                total = Variable(code, self.type, load_element(code, address, self.type, self.type.align, True))
                slot, more, done = code.variable(I64, place), code.label("run"), code.label("run.done")
                code.jump(more)
                code.begin(more)
                q = code.load(slot, I64)
                self.place(writer, self.row(writer, q), e)
                total.store(total.load() + self.value(writer, written))
                code.store(q + 1, slot)
                last = select(q + 1 < self.plan.rows, q + 1, q)
                code.branch((q + 1 < self.plan.rows) & self.key(writer, last).eq(key), more, done)
                code.begin(done)
                self.store(total.load(), address)
            writer.elements.forget()

        self.each_element(node, write)

    def add_targets(self, node: Operation, written: Written, count: int) -> None:
        """A thread for each element of a target, which adds all of its rows: of several rows, one would have work.

        It has several neighbouring elements if the plan has lanes.
        """
        writer, scatter = self.begin("targets")
        code, items = writer.code, count * self.plan.inner // self.plan.lanes
        with writer.block.phase() as thread:
            item = writer.block.number * THREADS + thread
            with code.when(item < items):
                unit, e = self.find_target(writer, node, written, item)
                source, address = self.addresses(writer, scatter, node, written, unit)
                total = Variable(code, self.type, self.start(code, source))
                self.add_rows(writer, written, total, unit, e)
                self.store(total.load(), address)
            writer.elements.forget()
            writer.report_failures()
        self.end(writer, -(-items // THREADS), 2 * node.nbytes)

    def share_targets(self, node: Operation, written: Written, count: int) -> None:
        """Groups of threads for each element of a target, which is added to by many rows."""
        writer, scatter = self.begin("targets")
        plan, code, block = self.plan, writer.code, writer.block
        serial = machine.current.min_terms_per_device_thread
        width = min(power_above(-(-plan.rows // (count * serial))), THREADS)
        items = count * plan.inner
        nothing = NOTHING[self.out.dtype.kind]
        with block.phase() as thread:
            variable = ThreadVariable(block, self.type)
            variable.store(constant(code, nothing, self.type))
            item = (block.number * THREADS + thread).logical_right(width.bit_length() - 1)
            with code.when(item < items):
                unit, e = self.find_target(writer, node, written, item)
                self.add_rows(writer, written, variable, unit, e, thread & (width - 1), width)
            writer.elements.forget()
            writer.report_failures()
        block.fold(variable, lambda x, y: x + y, nothing, width)
        with block.exchange() as thread:
            item = (block.number * THREADS + thread).logical_right(width.bit_length() - 1)
            with code.when((item < items) & (thread & (width - 1)).eq(0)):
                unit, _ = self.find_target(writer, node, written, item)
                source, address = self.addresses(writer, scatter, node, written, unit)
                self.store(self.start(code, source) + variable.load(), address)
        self.end(writer, -(-items * width // THREADS), 2 * node.nbytes)

    # Parts of kernels

    def place(self, writer: GridWriter, row: Lanes, e: Lanes) -> None:
        """Set all counters, by the number of a row of the selection and the number of an element in it."""
        writer.place(self.plan.row_axes, e)
        writer.place(self.plan.outer_axes, row.to("i64"))

    def row(self, writer: GridWriter, place: Lanes) -> Lanes:
        """The row at a place in the sorted order."""
        return self.partition_of(writer).row(place)

    def key(self, writer: GridWriter, place: Lanes) -> Lanes:
        """The target of the row at a place in the sorted order."""
        return self.partition_of(writer).target(place)

    def find_target(self, writer: GridWriter, node: Operation, written: Written, item: Lanes) -> tuple[Lanes, Lanes]:
        """The target that an item of a thread belongs to, and the number of the element, or of lanes, in its row."""
        plan, elements = self.plan, writer.elements
        assert isinstance(elements, ScatterElements)
        unit, e = item, item.like(0)
        width = plan.inner // plan.lanes
        if width > 1:
            unit, e = divide(item, width, plan.targets * width)
        self.place(writer, item.like(0), e)
        indexed = written.target(node.shape, plan.counted_position)
        axis = indexed.axes[0]
        if axis.operand is not None and node.ndim - len(plan.row_axes) == 1:
            (element,) = elements.index_elements(written.indices, indexed)
            elements.indices = {(element, axis.extent): unit}
        return unit, e

    def add_rows(
        self,
        writer: GridWriter,
        written: Written,
        total: Variable | ThreadVariable,
        unit: Lanes,
        e: Lanes,
        member: Lanes | int = 0,
        width: int = 1,
    ) -> None:
        """Add every so-many-th row of a target to a variable, one after the other.

        If a thread does little for each, several are read at once, so that it does not wait for each of them.
        """
        code, several = writer.code, AT_ONCE if self.plan.is_short else 1
        first, last = self.partition_of(writer).bounds(unit)
        with code.loop(first + member, last, several * width) as q:
            left = (last - q).to(self.partition.number.kind)
            rows = [self.row(writer, q + k * width) for k in range(several)]
            values = []
            for k, row in enumerate(rows):
                self.place(writer, select(left > k * width, row, rows[0]), e)
                values.append(self.value(writer, written))
            for k, value in enumerate(values):
                known = total.load()
                total.store((known + value).where(left > k * width, known))

    def value(self, writer: GridWriter, written: Written) -> Lanes:
        """What is written at the present counters."""
        position = written.value_position(self.plan.counted_position)
        value = writer.elements.at(written.value, position).to(self.type.kind)
        return writer.elements.splat(value, self.type.lanes)

    def address(
        self, writer: GridWriter, scatter: ScatterWriter, node: Operation, written: Written, unit: Lanes
    ) -> Lanes:
        """The address of the element of a target row at the present counters."""
        return self.addresses(writer, scatter, node, written, unit)[1]

    def addresses(
        self, writer: GridWriter, scatter: ScatterWriter, node: Operation, written: Written, unit: Lanes
    ) -> tuple[Lanes | None, Lanes]:
        """The addresses of what is added to, None for zeros, and of the result, at the present counters."""
        code, stored = writer.code, self.type.in_memory
        inner = writer.elements.evaluate(scatter.inner_index(node, written), False)
        find = lambda array: code.offset(code.offset(array, unit * self.plan.unit, stored), inner, stored)
        target = find(scatter.target)
        if self.out in self.memory.taken or not self.starts_by_itself(node):
            return target, target
        base = self.kernel.scatter_base
        return None if base is None else find(writer.elements.pointers.source(base)), target

    def start(self, code: Code, source: Lanes | None) -> Lanes:
        """What is added to: an element in memory, or zero."""
        if source is None:
            return constant(code, 0, self.type)
        return load_element(code, source, self.type, self.alignment, True)

    def store(self, value: Lanes, address: Lanes) -> None:
        """Write an element."""
        store_element(value.to(self.type.in_memory.kind), address, self.alignment)
