"""The threads of a kernel: a nest with the decisions for a GPU, as its printers read them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wengert.compiler.forms.gather import Written
from wengert.compiler.kernels.accumulators import accumulator_type
from wengert.compiler.nests.decisions import Decision, GridKind, find
from wengert.compiler.nests.grid_order import kept_places, selected_rows
from wengert.compiler.nests.grid_policy import decide_threads
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.nests.thread_order import THREADS
from wengert.compiler.schedule.memory_plan import aligned_size
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.types import I64
from wengert.compiler.targets.thread_block import I32
from wengert.core import machine
from wengert.graph.ir import Node

NARROW = 1 << 31
"""Numbers below this are divided as integers of 32 bits, which is faster."""
DIGITS = THREADS
"""The values of a digit, one for each thread of a block; of more, few rows of a tile would have the same."""
BITS = DIGITS.bit_length() - 1
"""The bits of a digit."""
AT_ONCE = 4
"""The number of rows that a thread reads at once, with 32 bits each."""
READ_AHEAD = AT_ONCE * THREADS
"""So many numbers of rows may be read beyond those of a target, and are not used: there is memory for them."""


class GridPlan(LoopPlan):
    """The loops of one kernel as threads.

    Elements along `tile_axis` belong to one thread. There are threads for `kept` elements, or lanes or tiles of them;
    `width` of them add up the `reduced` terms of one in each of several `pieces`, and read some `steps` at once.
    """

    def __init__(self, kernel: Kernel, schedule: Schedule):
        super().__init__(kernel, schedule)
        along = find(self.decisions, "along")
        last = lambda axes: sorted(axes, key=lambda axis: along is not None and axis == along.axis)
        self.kept_axes = [axis for axis in last(self.kept_axes) if axis != self.tile_axis]
        self.reduced_axes = last(self.reduced_axes)
        self.is_in_strips = find(self.decisions, "strips") is not None
        self.kept = kept_places(self, self.decisions)
        self.reduced = math.prod([self.domain[axis] for axis in self.reduced_axes])
        self.width, self.pieces, self.steps = self.amount("group"), self.amount("pieces"), self.amount("steps")

    def decide(self) -> Sequence[Decision]:
        return decide_threads(self, machine.current)

    def amount(self, kind: GridKind) -> int:
        """The amount of a decision; one if there is none."""
        found = find(self.decisions, kind)
        return 1 if found is None else found.amount

    @property
    def cuts(self) -> dict[int, int]:
        """None: threads have pieces of their own."""
        return {}

    @property
    def accumulators(self) -> int:
        """One for each thread."""
        return 1

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


class ScatterPlan(GridPlan):
    """The threads of a scatter: `rows` of the selection, with `inner` elements each, have `targets` in the result.

    A thread that adds the rows of a target has lanes of it: bounds and rows are read once for all of them.
    """

    def __init__(self, kernel: Kernel, schedule: Schedule):
        super().__init__(kernel, schedule)
        assert kernel.scatter is not None
        self.outer_axes = [axis for axis in range(len(self.domain)) if axis not in self.row_axes]
        self.rows = selected_rows(self, self.decisions)
        self.inner = math.prod([self.domain[axis] for axis in self.row_axes])
        self.targets = kernel.scatter.size // self.unit
        self.partition = PartitionPlan(self.rows, self.targets)
        self.is_shared_by_groups = find(self.decisions, "group") is not None

    def partials(self) -> dict[Node, int]:
        """The bytes of what the sort needs, if there are indices."""
        assert self.kernel.scatter is not None
        sorts = any(Written.by(node).indices for node in self.kernel.scatters)
        return {self.kernel.scatter: self.partition.nbytes} if sorts else {}


class PartitionPlan:
    """How rows are sorted, and where: arrays in one piece of memory, by name, and their offsets in bytes.

    There are two sets of arrays for targets and rows, from one to the other of which each pass moves them. They have
    whole tiles: rows that do not exist have the target -1, all digits of which are the highest, and come last.
    `bounds` has two numbers for each target, the places at which its rows begin and end, if there are more rows than
    targets; without rows, the end is before the beginning.
    """

    def __init__(self, rows: int, targets: int):
        self.rows, self.targets, self.has_bounds = rows, targets, rows > targets
        self.number = I32 if 2 * max(rows, targets) < NARROW else I64  # whole tiles may be more
        size, bits = self.number.bits // 8, (targets - 1).bit_length()
        self.passes = max(-(-bits // BITS), 1)
        now = machine.current
        nbytes = min(now.bytes_of_device_sort_tile, 1 << 15)  # places in it have 16 bits
        self.each = max(nbytes // (size * THREADS * AT_ONCE), 1) * AT_ONCE
        self.tile = self.each * THREADS
        self.tiles = max(-(-rows // (self.tile * now.max_blocks_of_device_sort)), 1)
        self.blocks = -(-rows // (self.tile * self.tiles))
        whole = self.blocks * self.tiles * self.tile
        counts = {
            **{f"targets.{k}": whole for k in (0, 1)},
            **{f"rows.{k}": whole + READ_AHEAD for k in (0, 1)},
            "counts": DIGITS * self.blocks,
            "totals": DIGITS,
            "bounds": 2 * targets if self.has_bounds else 0,
        }
        self.offsets, self.nbytes = {}, 0
        for name, count in counts.items():
            self.offsets[name] = self.nbytes
            self.nbytes += aligned_size(size * count)

    @property
    def result(self) -> int:
        """Which set of arrays has the sorted order."""
        return self.passes % 2
