"""Row kernels on a GPU: groups of threads for each row, which run the loops of its parts one after the other.

Numbers for a row, and the elements of values that nothing else reads, are in shared memory.
"""

from __future__ import annotations

from wengert.compiler.kernels.accumulators import Accumulators
from wengert.compiler.kernels.row_kernel import RowElements, RowPlan
from wengert.compiler.nests.grid_policy import group_of_row, resident_blocks_of_rows, steps_at_once
from wengert.compiler.nests.thread_order import THREADS
from wengert.compiler.schedule.memory_plan import Memory
from wengert.compiler.schedule.row_kernels import RowKernel, RowPart
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import Type
from wengert.compiler.targets.grid_kernel import GridWriter
from wengert.compiler.targets.grid_plan import GridPlan
from wengert.compiler.targets.thread_block import DeviceKernel, ThreadBlock, make_pointers
from wengert.core import machine
from wengert.graph.ir import Node


class GridRowElements(RowElements):
    """The elements of one part."""

    has_lapack = False


class GridRowPlan(RowPlan):
    """The threads of a row kernel: `width` of them for each row."""

    make_part = GridPlan

    def __init__(self, kernel: RowKernel, schedule: Schedule):
        super().__init__(kernel, schedule)
        longest = max([plan.kept * plan.reduced for plan in self.parts], default=1)
        bytes_of_row = sum(node.nbytes // kernel.count for node in kernel.buffers)
        self.width = group_of_row(longest, bytes_of_row, machine.current)

    @property
    def rows_of_block(self) -> int:
        """The number of rows that a block has."""
        return THREADS // self.width

    @property
    def nbytes(self) -> int:
        """The bytes that must be read and written, each array once."""
        inside = {*self.kernel.local, *[node for part in self.kernel.parts for node in part.roots]}
        schedule = self.parts[0].schedule
        read = {schedule.aliases.get(n, n) for plan in self.parts for n in plan.nodes if plan.sources.is_stored(n)}
        return sum(node.nbytes for node in (*(read - inside), *self.kernel.roots))

    def partials(self) -> dict[Node, int]:
        """None: there are no pieces."""
        return {}


class GridRowWriter:
    """Writes one row kernel."""

    def __init__(self, kernel: RowKernel, schedule: Schedule, memory: Memory, name: str, block: type[ThreadBlock]):
        self.kernel, self.schedule, self.name = kernel, schedule, name
        self.plan, self.code = GridRowPlan(kernel, schedule), Code()
        self.block = block(self.code, name)
        pointers = make_pointers(self.block, memory, schedule.aliases)
        self.buffers = {node: self.make_buffer(node) for node in kernel.buffers}
        self.own: dict[Node, Lanes] = {}  # the parts of buffers that belong to the row of a thread
        self.writers = [
            GridWriter(plan, GridRowElements(plan, part, kernel, pointers, self.own), self.block)
            for plan, part in zip(self.plan.parts, kernel.parts, strict=True)
        ]

    def make_buffer(self, node: Node) -> Lanes:
        """Shared memory for the rows of a block."""
        count = self.plan.rows_of_block * (node.size // self.kernel.count)
        part = Type.from_dtype(node.dtype).in_memory
        return self.block.shared(part.part, count * (2 if part.is_complex else 1))

    def write(self) -> list[DeviceKernel]:
        """The kernel."""
        for writer, part in zip(self.writers, self.kernel.parts, strict=True):
            self.write_part(writer, part)
        blocks = -(-self.kernel.count // self.plan.rows_of_block)
        what = f"{self.kernel.count} rows -> {', '.join(repr(node.spec) for node in self.kernel.roots)}"
        resident = resident_blocks_of_rows(self.plan.parts, bool(self.code.calls), machine.current)
        return [DeviceKernel(self.name, self.code, blocks, self.plan.nbytes, what, resident)]

    def find_row(self, writer: GridWriter, thread: Lanes) -> tuple[Lanes, Lanes]:
        """The row of a thread, and its number among the threads of the row; sets the counters of the row."""
        code, width = self.code, self.plan.width
        group = thread.logical_right(width.bit_length() - 1)
        for node, buffer in self.buffers.items():
            type = Type.from_dtype(node.dtype).in_memory
            self.own[node] = code.offset(buffer, group * (node.size // self.kernel.count), type)
        row = self.block.number * self.plan.rows_of_block + group
        writer.place(list(range(writer.plan.outer)), row)
        return row, thread & (width - 1)

    def write_part(self, writer: GridWriter, part: RowPart) -> None:
        """The loop of one part: threads share its elements, or those that are reduced."""
        plan, code, block, width = writer.grid, self.code, self.block, self.plan.width
        kept, count, axes = plan.kept, self.kernel.count, plan.kept_axes
        if not part.reductions or kept > 1:
            with block.phase() as thread:
                row, member = self.find_row(writer, thread)
                with code.when(row < count), code.loop(member, kept, width) as e:
                    writer.place(axes, e)
                    if part.reductions:
                        sums = Accumulators(plan, writer.elements, part.reductions, plan.axes)
                        with code.loop(0, plan.reduced) as r:
                            writer.place(plan.reduced_axes, r)
                            writer.write_body(sums)
                        sums.store(None)
                    else:
                        writer.write_body(None)
                writer.elements.forget()
                writer.report_failures()
            return
        with block.phase() as thread:
            row, member = self.find_row(writer, thread)
            sums = Accumulators(plan, writer.elements, part.reductions, plan.axes)
            with code.when(row < count):
                writer.fold_steps([sums], member, width, steps_at_once(plan, machine.current, width))
            writer.elements.forget()
            variables = writer.keep_sums(sums)
            writer.report_failures()
        writer.fold_sums(sums, variables, width)
        with block.exchange() as thread:
            row, member = self.find_row(writer, thread)
            with code.when((row < count) & member.eq(0)):
                writer.place(axes, member)
                writer.store_sums(sums, variables)
            writer.elements.forget()
