"""Which kernels of a schedule become parts of row kernels.

A kernel that reduces along its last axes starts a row kernel. A later kernel joins it under three conditions: it has as
many rows, it reads of what the row kernel makes its own row only, and it waits for nothing that is computed in between.
Kernels that it waits for are moved to before the row kernel, if they do not need the row kernel themselves.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from wengert.compiler.forms.affine import flat_index
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.short_rows import in_rows
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.row_parts import RowParts
from wengert.compiler.schedule.row_kernels import RowKernel, RowPart, outer_axes
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.core import machine
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.compiler.schedule.schedule import Schedule


class RowLimits(NamedTuple):
    """What the row kernels of a target can do.

    Their buffers have at most `buffer_bytes`, and with `has_sums` they add up along all rows, too. A part that reduces
    a row to several numbers folds at most `longest_column` terms for each.
    """

    buffer_bytes: int
    has_sums: bool = True
    longest_column: float = math.inf

    def allow(self, kernel: Kernel, outer: int) -> bool:
        """Whether a kernel can be a part, whose first axes are those of the rows."""
        if min(kernel.axes, default=outer) < outer and not self.has_sums:
            return False
        terms = math.prod([kernel.domain[axis] for axis in kernel.axes])
        return terms == math.prod(kernel.domain[outer:]) or terms <= self.longest_column


def fuse_rows(schedule: Schedule, limits: RowLimits | None = None) -> list[Any]:
    """The steps of a schedule, with row kernels instead of the kernels that they consist of.

    The limits are those of this machine if none are given.
    """
    steps = schedule.steps
    is_first = lambda step: is_plain(schedule, step) and can_start(step)
    if schedule.is_tiny or not any(map(is_first, steps)):
        return steps
    return RowFusion(schedule, limits or RowLimits(machine.current.max_buffer_bytes_of_row_kernel)).fuse()


def can_start(kernel: Kernel) -> bool:
    """Whether a kernel reduces along the last axes of several rows."""
    return bool(kernel.reductions) and min(kernel.axes, default=0) > 0


class Candidate(RowKernel):
    """A row kernel to which kernels are added: its `members`, what its parts have `made`, and what they have `used`.

    `before` are kernels that were moved to before it. Its place is an even number, and theirs the odd one before that.
    """

    def __init__(self, count: int, stage: int, place: int):
        super().__init__(count, stage)
        self.place = place
        self.before: list[Kernel] = []
        self.members: list[Kernel] = []
        self.made: dict[Node, None] = {}
        self.used: dict[Node, None] = {}

    def row_bytes(self, more: Collection[Node]) -> int:
        """The bytes of one row of all values that it uses, and some more."""
        return sum(
            node.nbytes // self.count for node in {**self.used, **dict.fromkeys(more)} if node.size >= self.count
        )


class RowFusion:
    """Finds the row kernels of one schedule."""

    def __init__(self, schedule: Schedule, limits: RowLimits):
        self.schedule, self.limits = schedule, limits
        self.readers: dict[Node, list[Any]] = {}
        self.makers: dict[Node, int] = {}  # the places of steps that make values, in the new order
        self.steps_of: dict[Node, Any] = {}  # these steps
        self.places: list[Any] = []
        self.place_of: dict[Any, int] = {}
        self.known_reads: dict[Any, set[Node]] = {}
        self.candidates: list[Candidate] = []

    def fuse(self) -> list[Any]:
        """The steps in their new order."""
        steps = sorted(self.schedule.steps, key=self.order)
        for step in steps:
            for node in self.values_read(step):
                self.readers.setdefault(node, []).append(step)
        for step in steps:
            home = self.find_home(step) if is_plain(self.schedule, step) else None
            self.put(step, home)
        for step in [step for step in self.places if is_plain(self.schedule, step)]:
            home = next((c for c in reversed(self.candidates) if self.can_move(step, c) and self.join(c, step)), None)
            if home is not None:
                self.places[self.place_of[step] // 2] = None
                self.put(step, home)
        found: list[Any] = []
        for step in self.places:
            found += [*step.before, self.finish(step)] if isinstance(step, Candidate) else [step]
        return [step for step in found if step is not None]

    def put(self, step: Any, home: Candidate | None) -> None:
        """Note where a step is, and what it makes there."""
        if home is None:
            self.places.append(step)
        place = self.place_of[step] = 2 * (len(self.places) - 1) if home is None else home.place
        outputs = step.roots if isinstance(step, Kernel) else (step, *self.schedule.outputs_of(step))
        self.makers |= dict.fromkeys(outputs, place)
        self.steps_of |= dict.fromkeys(outputs, step)

    def find_independent(self, candidate: Candidate, values: Collection[Node]) -> list[Kernel] | None:
        """The kernels that make values and come after a row kernel, in their order; None if they have to."""
        found: dict[Kernel, None] = {}

        def collect(node: Node) -> bool:
            """Whether a value is made before the row kernel, or can be."""
            step = self.steps_of.get(node)
            if step is None or self.makers[node] < candidate.place or step in found:
                return True
            place = self.makers[node]
            if place % 2 or not isinstance(step, Kernel) or self.places[place // 2] is not step:
                return False
            if not all(map(collect, self.values_read(step))):
                return False
            found[step] = None
            return True

        return list(found) if all(map(collect, values)) else None

    def move_before(self, candidate: Candidate, kernels: Collection[Kernel]) -> None:
        """Move kernels to before a row kernel."""
        for kernel in kernels:
            self.places[self.place_of[kernel] // 2] = None
            candidate.before.append(kernel)
            self.place_of[kernel] = candidate.place - 1
            self.makers |= dict.fromkeys(kernel.roots, candidate.place - 1)

    def can_move(self, kernel: Kernel, candidate: Candidate) -> bool:
        """Whether all steps that read what a kernel makes come after a row kernel."""
        readers = [step for node in kernel.roots for step in self.readers.get(node, ())]
        return all(self.place_of[step] > candidate.place for step in readers)

    def order(self, step: Any) -> tuple[int, int]:
        """The order of steps: by stage, and in each stage the kernels first that may start a row kernel."""
        if not isinstance(step, Kernel):
            return self.schedule.stages[step], 2
        return step.stage, 0 if can_start(step) else 1

    def find_home(self, kernel: Kernel) -> Candidate | None:
        """The row kernel that a kernel joins, or that it starts."""
        for candidate in reversed(self.candidates):
            if self.join(candidate, kernel):
                return candidate
        if not can_start(kernel):
            return None
        count = math.prod(kernel.domain[: min(kernel.axes)])
        started = Candidate(count, kernel.stage, 2 * len(self.places))
        if count >= machine.current.min_rows_of_row_kernel and self.join(started, kernel):
            self.candidates.append(started)
            self.places.append(started)
            return started
        return None

    def base(self, node: Node) -> Node:
        """The value in whose memory a value is."""
        return self.schedule.aliases.get(node, node)

    def join(self, candidate: Candidate, kernel: Kernel) -> bool:
        """Add a kernel to a row kernel, if that gives the same results, and saves something."""
        reads = self.values_read(kernel)
        outer = outer_axes(kernel.domain, candidate.count)
        inside = {node for node in reads if node in candidate.made}
        is_related = not candidate.members or inside or kernel.arrays & candidate.arrays
        if outer is None or not is_related:
            return False
        if candidate.row_bytes([*reads, *kernel.roots]) > machine.current.max_row_bytes_of_row_kernel:
            return False
        earlier = self.find_independent(candidate, reads - inside)
        if earlier is None:
            return False
        axes = tuple([axis for axis in kernel.axes if axis >= outer])
        if not is_along_rows(kernel, outer, candidate.count) or not self.limits.allow(kernel, outer):
            return False
        part = RowPart(kernel.domain, outer, axes if axes == kernel.axes else (), reads)
        part.maps = kernel.maps
        part.reductions, part.sums = (kernel.reductions, []) if axes == kernel.axes else ([], kernel.reductions)
        if inside and not self.reads_rows(candidate, part, inside) or self.is_slow_by_rows(candidate, part):
            return False
        self.move_before(candidate, earlier)
        candidate.parts.append(part)
        candidate.sums += part.sums
        candidate.made |= dict.fromkeys(part.roots)
        candidate.members.append(kernel)
        candidate.arrays |= kernel.arrays
        candidate.used |= dict.fromkeys([*reads, *kernel.roots])
        return True

    def is_slow_by_rows(self, candidate: Candidate, part: RowPart) -> bool:
        """Whether a part has one number for each row, and takes longer for it than the rest of the row kernel.

        In a loop of its own it has SIMD lanes.
        """
        row = lambda p: math.prod(p.domain[p.outer :])
        longest = max(map(row, candidate.parts), default=0)
        return row(part) == 1 < longest and Nest(part, self.schedule).work > candidate.count * longest

    def reads_rows(self, candidate: Candidate, part: RowPart, inside: set[Node]) -> bool:
        """Whether a part reads values of the row kernel in the same row only."""
        rows = Nest(part, self.schedule)
        operations = [node for node in rows.computed_nodes if isinstance(node, Operation)]
        gathered = {self.base(n.args[0]) for n in operations if self.schedule.forms[n] is Form.GATHER}
        if not inside.isdisjoint(gathered) or any(node in candidate.sums for node in inside):
            return False
        return all(
            candidate.is_local_index(flat_index(position, node.shape), node, part, rows.counters)
            for node, position in rows.requested_elements()
            if rows.sources.is_stored(node) and self.base(node) in inside
        )

    def finish(self, candidate: Candidate) -> Kernel:
        """The row kernel with its loops and buffers, or its only kernel."""
        if len(candidate.members) == 1:
            return candidate.members[0]
        parts = RowParts(candidate, self.schedule, lambda node: self.is_used_outside(node, candidate))
        parts.share_loops()
        parts.keep_values(self.limits.buffer_bytes)
        candidate.collect()
        return candidate

    def is_used_outside(self, node: Node, candidate: Candidate) -> bool:
        """Whether a value is a result of the program, or another step reads it."""
        is_result = any(self.base(out) is node for out in self.schedule.graph.outputs)
        return is_result or any(step not in candidate.members for step in self.readers.get(node, ()))

    def values_read(self, step: Any) -> set[Node]:
        """All values that a step may read in memory."""
        if step not in self.known_reads:
            self.known_reads[step] = self.find_reads(step)
        return self.known_reads[step]

    def find_reads(self, step: Any) -> set[Node]:
        """The values that a kernel reads; of other steps, all values that views show them."""
        if isinstance(step, Kernel):
            plan = Nest(step, self.schedule)
            base = step.scatter_base if step.scatters else None
            read = {self.base(node) for node in plan.nodes if plan.sources.is_stored(node)}
            return read if base is None else read | {self.base(base)}
        found: set[Node] = set()
        for node in step.args:
            found |= {node, self.base(node)}
            while self.schedule.forms[node] is Form.VIEW:
                node = node.args[0]
                found |= {node, self.base(node)}
        return found


def is_plain(schedule: Schedule, step: Any) -> bool:
    """Whether a step is a kernel that may become part of a row kernel.

    One that stores pieces has other rows, and in one over short rows these are unrolled.
    """
    if not isinstance(step, Kernel) or isinstance(step, RowKernel) or step.scatters or 0 in step.domain:
        return False
    looped = [*step.maps, *[node.args[0] for node in step.reductions]]
    if schedule.rows and (step.domain == schedule.rows or any(in_rows(node, schedule.rows) for node in looped)):
        return False
    return not any(node in schedule.pieces for node in step.maps)


def is_along_rows(kernel: Kernel, outer: int, count: int) -> bool:
    """Whether a kernel reduces within rows, or along all of them to one number or one row."""
    inner = [axis for axis in kernel.axes if axis >= outer]
    if len(inner) == len(kernel.axes):
        return True
    if len(kernel.axes) - len(inner) != outer or any(r.dtype.kind not in "fi" for r in kernel.reductions):
        return False
    if len(inner) == len(kernel.domain) - outer:
        return count >= machine.current.sum_pieces
    orders, size = machine.current, sum(node.nbytes for node in kernel.reductions)
    has_long_pieces = count >= orders.min_rows_of_summed_piece * orders.sum_pieces
    return not inner and has_long_pieces and size * orders.sum_pieces <= orders.max_bytes_of_partial_sums
