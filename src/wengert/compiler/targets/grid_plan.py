"""The threads of a kernel: which element each of them computes, and which part of a reduction.

    thread number = (piece * kept elements + kept element) * width + member

A reduction to one element is done by `width` neighbouring threads of a block, in each of several `pieces`; each thread
folds every so-many-th element. All of this depends on the shapes alone, so results have the same bits in every run and
on every device. Neighbouring threads read neighbours in memory: along the axis that has SIMD lanes on a processor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wengert.compiler.forms.affine import flat_index
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.lowering import Reduction, RunningReduction, lowering_of
from wengert.compiler.kernels.accumulators import accumulator_type
from wengert.compiler.kernels.loop_plan import LoopPlan
from wengert.compiler.nests.decisions import Decision
from wengert.compiler.nests.policy import choose_rows
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.targets.thread_block import THREADS, VECTOR_BYTES, WARP
from wengert.compiler.targets.thread_order import Access, OrderSearch
from wengert.core import machine
from wengert.graph.ir import Node


class GridPlan(LoopPlan):
    """The loops of one kernel as threads; `along` is the axis along which neighbouring threads are neighbours."""

    def __init__(self, kernel: Kernel, schedule: Schedule):
        super().__init__(kernel, schedule)
        last = lambda axes: sorted(axes, key=lambda axis: axis == self.along)
        self.kept_axes, self.reduced_axes = last(self.kept_axes), last(self.reduced_axes)
        self.tile = 1
        if self.tile_axis is not None:
            self.kept_axes.remove(self.tile_axis)
            self.tile = self.domain[self.tile_axis]
        self.is_in_strips = self.needs_strips()
        self.kept = math.prod([self.padded(axis) for axis in self.kept_axes]) // self.lanes
        self.reduced = math.prod([self.domain[axis] for axis in self.reduced_axes])
        self.width, self.pieces = self.choose_threads()

    def decide(self) -> Sequence[Decision]:
        """The order of threads, and lanes: where it can, a thread reads and writes 16 bytes at once, or 8."""
        self.decisions = rows = list(choose_rows(self, machine.current, ()))
        axis, lanes = self.order_threads()
        return rows if axis is None else [*rows, Decision("lanes", axis, lanes)]

    def order_threads(self) -> tuple[int | None, int]:
        """Choose the order of threads; returns the axis of lanes and their number."""
        inner = [axis for axis in range(self.outer, len(self.domain)) if self.domain[axis] > 1]
        accesses = self.memory_accesses() if len(inner) > 1 else []
        search = OrderSearch(self.domain, inner, self.axes, accesses, self.serial, self.cost)
        self.along, self.tile_axis = order = search.find_order()
        if self.outer or self.kernel.scatters or self.fewest_vectors:
            return None, 1
        lanes = self.choose_lanes()
        if lanes == 1 and len(inner) > 1 and not self.is_running and not self.is_long:
            self.along, self.tile_axis = search.find_tiles(order)
        return (self.along, lanes) if lanes > 1 else (None, 1)

    def choose_lanes(self) -> int:
        """The number of neighbours that a thread reads and writes at once."""
        lanes = (VECTOR_BYTES if self.is_short else VECTOR_BYTES // 2) // self.widest_number
        if lanes < 2 or self.kernel.reductions or not self.domain or self.domain[self.along] % lanes:
            return 1
        return lanes if self.is_flat or self.reads_vectors(lanes) else 1

    def reads_vectors(self, lanes: int) -> bool:
        """Whether lanes along the axis of neighbouring threads are one element, or neighbours at an aligned address."""
        for index, _ in self.memory_accesses():
            steps = {counter.axis: k for counter, k in index.terms}
            step = steps.pop(self.along, 0)
            if step not in (0, 1) or (step and any(k % lanes for k in (index.constant, *steps.values()))):
                return False
        return all(self.schedule.forms[node] in (Form.ELEMENT, Form.VIEW) for node in self.computed_nodes)

    def memory_accesses(self) -> list[Access]:
        """What the body of the kernel reads and writes."""
        written = [(node, position) for node in self.kernel.maps for position in self.stored_positions(node)]
        read = [element for element in self.requested_elements() if self.sources.is_stored(element[0])]
        return [Access(flat_index(position, node.shape), node.dtype.itemsize) for node, position in written + read]

    @property
    def widest_number(self) -> int:
        """The bytes of the widest number that it reads, computes or writes."""
        sizes = [node.dtype.itemsize for node in self.nodes if node.size > 1]
        return max(sizes, default=VECTOR_BYTES)

    @property
    def cuts(self) -> dict[int, int]:
        """None: pieces are those of `choose_threads`."""
        return {}

    @property
    def accumulators(self) -> int:
        """One for each thread."""
        return 1

    def choose_threads(self) -> tuple[int, int]:
        """The number of threads for one element of a reduction in a block, and the number of pieces."""
        if not self.kernel.reductions or not self.reduced or not self.kept:
            return 1, 1
        enough = machine.current.threads_of_busy_device
        width = min(power_above(-(-self.reduced // self.serial)), THREADS) if self.along in self.reduced_axes else 1
        if self.is_running:  # states are expensive to combine
            width = min(width, max(power_above(-(-enough // self.kept)), WARP))
        most = -(-self.reduced // (width * self.serial))
        enough = enough if self.tile == 1 else enough // 2  # the pieces of a tile are many numbers
        return width, max(min(most, enough // (self.kept * width)), 1)

    def needs_strips(self) -> bool:
        """Whether a warp has a strip of an axis that is not the last one, and the next warp the same strip of others.

        So what is read along the other axes stays in the cache, and what is written there is complete soon.
        """
        others = [axis for axis in self.kept_axes if self.domain[axis] > 1 and axis != self.along]
        is_last = not others or self.along > max(others)
        return self.along in self.kept_axes and not is_last and self.lanes == 1 and not self.outer

    def padded(self, axis: int) -> int:
        """The number of places along an axis; strips are whole."""
        n = self.domain[axis]
        return -(-n // WARP) * WARP if self.is_in_strips and axis == self.along else n

    @property
    def cost(self) -> int:
        """The cost of one element, in additions."""
        return self.work // max(math.prod(self.domain), 1)

    @property
    def is_short(self) -> bool:
        """Whether a thread does little for one element."""
        return self.cost <= machine.current.max_operations_of_short_device_body

    @property
    def is_long(self) -> bool:
        """Whether a thread does much for one element."""
        return self.cost > machine.current.max_operations_of_device_body

    @property
    def serial(self) -> int:
        """The number of elements that a thread folds at the least."""
        now = machine.current
        is_busy = math.prod(self.domain) >= now.threads_of_busy_device
        return now.min_terms_per_device_thread if self.is_short or is_busy else 1

    def resident(self, has_calls: bool) -> int:
        """The blocks that a multiprocessor should have room for; zero if that does not matter.

        Calls of functions, and reads that wait for memory, would take the registers of other blocks.
        """
        now = machine.current
        if self.is_long:
            return 0
        if self.tile > 1:
            return now.resident_blocks_of_tiles
        is_wide = self.widest_number > 4
        if (
            has_calls
            and is_wide
            and self.cost <= now.max_operations_of_one_function_on_device
            and not self.kernel.reductions
        ):
            return now.resident_blocks_of_one_function
        if has_calls or self.is_running or self.cost > now.operations_of_function:
            return now.resident_blocks_of_functions if is_wide else now.resident_blocks_of_narrow_functions
        return 0

    @property
    def unrolled(self) -> int:
        """The number of steps of a reduction that are written out."""
        return self.unrolled_steps(self.width * self.pieces)

    def unrolled_steps(self, step: int) -> int:
        """The number of steps that are written out, where a thread folds every so-many-th element."""
        now = machine.current
        if self.is_running:
            count = now.states_combined_at_once_on_device
            return count if self.reduced >= count * step else 1
        is_light = self.cost < now.operations_of_function and self.tile == 1  # the elements of a tile are in registers
        count = now.terms_read_at_once_on_device
        return count if is_light and self.reduced >= count * step else 1

    @property
    def is_running(self) -> bool:
        """Whether it has reductions whose partial results are several numbers."""
        return any(isinstance(lowering_of(node, Reduction), RunningReduction) for node in self.kernel.reductions)

    @property
    def items(self) -> int:
        """The number of elements, or of pieces of them, that groups of threads compute."""
        return self.kept * self.pieces

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.items * self.width // THREADS)

    @property
    def is_cut_in_pieces(self) -> bool:
        return False

    def partials(self) -> dict[Node, int]:
        """The bytes of partial results of each reduction that is cut into pieces."""
        if self.pieces == 1:
            return {}
        width = lambda node: accumulator_type(node, 1).in_memory.bits // 8
        return {node: self.pieces * node.size * width(node) for node in self.kernel.reductions}

    @property
    def nbytes(self) -> int:
        """The bytes that must be read and written, each array once."""
        read = [node for node in self.nodes if self.sources.is_stored(node)]
        bases = dict.fromkeys([self.schedule.aliases.get(node, node) for node in read])
        return sum(node.nbytes for node in (*bases, *self.kernel.roots))


def power_above(n: int) -> int:
    """The smallest power of two that is at least n.

    >>> power_above(5), power_above(8)
    (8, 8)
    """
    return 1 << max(n - 1, 0).bit_length()
