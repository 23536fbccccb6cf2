"""Scatters on a GPU: what is written or added at computed indices, in an order that does not depend on threads.

The rows of the selection are sorted by their targets, stably (`grid_partition.py`), and a kernel takes the rows of each
target in their order. If there are more rows than targets, the sort also finds where the rows of each target begin. So
additions to one element are those of NumPy, one after the other; where targets have many rows each, groups of
threads share them in a fixed way. Nothing is added by atomic operations, whose order would change from run to run.
"""

from __future__ import annotations

from wengert.compiler.forms.gather import Written
from wengert.compiler.kernels.scatters import NOTHING, find_unit, inner_index, parts_of_array
from wengert.compiler.nests.element_sources import Element
from wengert.compiler.nests.thread_order import THREADS
from wengert.compiler.schedule.memory_plan import Memory, Pointers
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.complex_lanes import Variable, constant
from wengert.compiler.simd.lane_operations import load_element, store_element
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64, Type
from wengert.compiler.targets.grid_kernel import GridElements, GridWriter, divide
from wengert.compiler.targets.grid_partition import PartitionWriter
from wengert.compiler.targets.grid_plan import DIGITS, ScatterPlan
from wengert.compiler.targets.thread_block import DeviceKernel, ThreadBlock, ThreadVariable, make_pointers
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
        self.partition = self.plan.partition
        self.kernels: list[DeviceKernel] = []

    def write(self) -> list[DeviceKernel]:
        """The kernels."""
        if self.out not in self.memory.taken and not self.starts_by_itself(self.kernel.scatters[0]):
            self.fill()
        for node in self.kernel.scatters:
            if Written.by(node).indices:
                self.sort_rows(node)
            self.write_rows(node)
        return self.kernels

    def starts_by_itself(self, node: Operation) -> bool:
        """Whether the kernel of the first scatter visits all elements of the result, which then need not be filled."""
        is_first, written = node is self.kernel.scatters[0], Written.by(node)
        is_whole = self.partition.has_bounds and self.plan.inner == self.plan.unit
        return is_first and is_whole and written.adds and bool(written.indices)

    def begin(self, node: Operation, what: str) -> RowsWriter:
        """A new kernel for a scatter."""
        code = Code()
        block = self.make_block(code, f"{self.name}.{what}.{len(self.kernels)}")
        return RowsWriter(self, node, block)

    def end(self, writer: GridWriter, blocks: int, nbytes: int, resident: int = 0) -> None:
        """Add a kernel that was written, with a number of blocks."""
        what = f"{list(self.plan.domain)} -> {self.out.spec!r}"
        self.kernels.append(DeviceKernel(writer.block.name, writer.code, blocks, nbytes, what, resident))

    def fill(self) -> None:
        """Copy what is updated to the result, or fill it with zeros."""
        writer = self.begin(self.kernel.scatters[0], "fill")
        code, base, (part, count) = writer.code, self.kernel.scatter_base, parts_of_array(self.out)
        with writer.items(count) as (i, _):
            value = code.constant(0, part)
            if base is not None:
                value = code.load(code.offset(writer.elements.pointers.source(base), i, part), part)
            code.store(value, code.offset(writer.target, i, part))
        self.end(writer, -(-count // THREADS), 2 * self.out.nbytes)

    def sort_rows(self, node: Operation) -> None:
        """The kernels that find the target of each row, and sort rows by their targets."""
        plan, size = self.partition, self.partition.number.bits // 8
        for digit in range(plan.passes):
            writer = self.begin(node, "count")
            writer.rows.count_digits(digit, writer.find_unit if digit == 0 else None)
            if digit == 0:
                writer.elements.forget()
                with writer.block.exchange():
                    writer.report_failures()
            self.end(writer, plan.blocks, (size if digit else 8 + size) * plan.rows)
            writer = self.begin(node, "sum")
            writer.rows.sum_counts()
            self.end(writer, DIGITS, 2 * size * DIGITS * plan.blocks)
            writer = self.begin(node, "move")
            finds_bounds = writer.written.adds and plan.has_bounds and digit == plan.passes - 1
            writer.rows.move_rows(digit, finds_bounds)
            moved = (4 if digit else 3) * plan.rows
            nbytes = size * (moved - plan.rows + 2 * plan.targets if finds_bounds else moved)
            self.end(writer, plan.blocks, nbytes, machine.current.resident_blocks_of_device_sort)

    def write_rows(self, node: Operation) -> None:
        """The kernel that writes or adds all rows, those of one target one after the other."""
        written, plan = Written.by(node), self.plan
        if written.indices and written.adds and self.partition.has_bounds:
            writer = self.begin(node, "targets")
            items, width = plan.targets * plan.inner // plan.lanes, plan.width
            writer.share_targets(items, width) if plan.is_shared_by_groups else writer.add_targets(items)
        else:
            writer = self.begin(node, "rows")
            items, width = plan.rows * plan.inner, 1
            with writer.items(items) as (i, _):
                row, e = divide(i, plan.inner, items) if plan.inner > 1 else (i, i.like(0))
                write = writer.add_run if written.adds else writer.write_last
                (write if written.indices else writer.write_apart)(row, e)
        self.end(writer, -(-items * width // THREADS), 2 * node.nbytes)


class RowsWriter(GridWriter):
    """Writes one of the kernels of a scatter `node`: what threads do with rows of the selection, and with targets."""

    elements: ScatterElements

    def __init__(self, scatters: ScatterKernelWriter, node: Operation, block: ThreadBlock):
        plan, out = scatters.plan, scatters.out
        self.scatters, self.node, self.written = scatters, node, Written.by(node)
        pointers = make_pointers(block, scatters.memory, scatters.schedule.aliases)
        elements = ScatterElements(block.code, scatters.schedule, scatters.kernel, pointers)
        elements.overwritten.add(out)
        super().__init__(plan, elements, block)
        self.selection, self.target = plan, pointers.target(out)
        self.type = Type(Type.from_dtype(out.dtype).kind, plan.lanes)
        self.alignment = out.dtype.itemsize * plan.lanes

    @property
    def rows(self) -> PartitionWriter:
        """What writes a kernel of the sort, or reads what it has found."""
        return PartitionWriter(self.selection.partition, self.block, self.elements.pointers.partials(self.scatters.out))

    # Kernels

    def write_apart(self, row: Lanes, e: Lanes) -> None:
        """Targets that slices give are different."""
        self.place_row(row, e)
        _, address = self.addresses(find_unit(self.plan, self.elements, self.node))
        value = self.value()
        if self.written.adds:
            value = load_element(self.code, address, self.type, self.type.align, True) + value
        self.write(value, address)

    def write_last(self, place: Lanes, e: Lanes) -> None:
        """Of the rows of one target, the last one is written."""
        rows, count = self.rows, self.selection.rows
        following = select(place + 1 < count, place + 1, place)
        key = rows.target(place)
        is_last = (place + 1).eq(count) | rows.target(following).ne(key)
        with self.code.when(is_last):
            self.place_row(rows.row(place), e)
            self.write(self.value(), self.addresses(key)[1])

    def add_run(self, place: Lanes, e: Lanes) -> None:
        """The thread of the first row of a target adds all of them."""
        code, rows, count = self.code, self.rows, self.selection.rows
        key = rows.target(place)
        before = select(place > 0, place - 1, place)
        is_first = place.eq(0) | rows.target(before).ne(key)
        with code.when(is_first):
            self.place_row(place, e)
            _, address = self.addresses(key)
            total = Variable(code, self.type, load_element(code, address, self.type, self.type.align, True))
            slot, more, done = code.variable(I64, place), code.label("run"), code.label("run.done")
            code.jump(more)
            code.begin(more)
            q = code.load(slot, I64)
            self.place_row(rows.row(q), e)
            total.store(total.load() + self.value())
            code.store(q + 1, slot)
            last = select(q + 1 < count, q + 1, q)
            code.branch((q + 1 < count) & rows.target(last).eq(key), more, done)
            code.begin(done)
            self.write(total.load(), address)

    def add_targets(self, items: int) -> None:
        """A thread for each element of a target, which adds all of its rows: of several rows, one would have work.

        It has several neighbouring elements if the plan has lanes.
        """
        with self.items(items) as (item, _):
            unit, e = self.find_target(item)
            source, address = self.addresses(unit)
            total = Variable(self.code, self.type, self.start(source))
            self.add_rows(total, unit, e)
            self.write(total.load(), address)

    def share_targets(self, items: int, width: int) -> None:
        """Groups of threads for each element of a target, which is added to by many rows."""
        nothing, variable = NOTHING[self.scatters.out.dtype.kind], ThreadVariable(self.block, self.type)
        with self.block.exchange():
            variable.store(constant(self.code, nothing, self.type))
        with self.items(items, width) as (item, member):
            unit, e = self.find_target(item)
            self.add_rows(variable, unit, e, member, width)
        self.block.fold(variable, lambda x, y: x + y, nothing, width)
        with self.first_members(items, width) as item:
            unit, _ = self.find_target(item)
            source, address = self.addresses(unit)
            self.write(self.start(source) + variable.load(), address)

    # Parts of kernels

    def find_unit(self, row: Lanes) -> Lanes:
        """The target of a row."""
        self.place(self.selection.outer_axes, row)
        return find_unit(self.plan, self.elements, self.node)

    def place_row(self, row: Lanes, e: Lanes) -> None:
        """Set all counters, by the number of a row of the selection and the number of an element in it."""
        self.place(self.plan.row_axes, e)
        self.place(self.selection.outer_axes, row.to("i64"))

    def find_target(self, item: Lanes) -> tuple[Lanes, Lanes]:
        """The target that an item of a thread belongs to, and the number of the element, or of lanes, in its row."""
        plan, elements, node = self.selection, self.elements, self.node
        unit, e = item, item.like(0)
        width = plan.inner // plan.lanes
        if width > 1:
            unit, e = divide(item, width, plan.targets * width)
        self.place_row(item.like(0), e)
        indexed = self.written.target(node.shape, plan.counted_position)
        axis = indexed.axes[0]
        if axis.operand is not None and node.ndim - len(plan.row_axes) == 1:
            (element,) = elements.index_elements(self.written.indices, indexed)
            elements.indices = {(element, axis.extent): unit}
        return unit, e

    def add_rows(
        self, total: Variable | ThreadVariable, unit: Lanes, e: Lanes, member: Lanes | int = 0, width: int = 1
    ) -> None:
        """Add every so-many-th row of a target to a variable, one after the other; several are read at once."""
        rows, several = self.rows, self.selection.steps
        first, last = rows.bounds(unit)
        with self.code.loop(first + member, last, several * width) as q:
            left = (last - q).to(rows.number.kind)
            found = [rows.row(q + k * width) for k in range(several)]
            values = []
            for k, row in enumerate(found):
                self.place_row(select(left > k * width, row, found[0]), e)
                values.append(self.value())
            for k, value in enumerate(values):
                known = total.load()
                total.store((known + value).where(left > k * width, known))

    def value(self) -> Lanes:
        """What is written at the present counters."""
        position = self.written.value_position(self.plan.counted_position)
        value = self.elements.at(self.written.value, position).to(self.type.kind)
        return self.elements.splat(value, self.type.lanes)

    def addresses(self, unit: Lanes) -> tuple[Lanes | None, Lanes]:
        """The addresses of what is added to, None for zeros, and of the result, at the present counters."""
        code, stored, scatters = self.code, self.type.in_memory, self.scatters
        inner = self.elements.evaluate(inner_index(self.plan, self.node), False)
        find = lambda array: code.offset(code.offset(array, unit * self.plan.unit, stored), inner, stored)
        target = find(self.target)
        if scatters.out in scatters.memory.taken or not scatters.starts_by_itself(self.node):
            return target, target
        base = self.kernel.scatter_base
        return None if base is None else find(self.elements.pointers.source(base)), target

    def start(self, source: Lanes | None) -> Lanes:
        """What is added to: an element in memory, or zero."""
        if source is None:
            return constant(self.code, 0, self.type)
        return load_element(self.code, source, self.type, self.alignment, True)

    def write(self, value: Lanes, address: Lanes) -> None:
        """Write an element."""
        store_element(value.to(self.type.in_memory.kind), address, self.alignment)
