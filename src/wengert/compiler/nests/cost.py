"""The cost of a nest at its decisions, in seconds: the one by which a policy decides.

    cost(nest, decisions, machine).seconds

It is a model, and asked for every candidate: it multiplies what a body does (`body_work.py`) by the steps of loops, and
looks at no text. Each part is the time that it would take alone:

| part | what it counts |
|---|---|
| `instructions` | vectors of operations, loads and stores, each in the innermost loop on which it depends |
| `chains` | sums that wait for themselves, and functions in a body that is longer than a processor looks ahead |
| `bytes` | cache lines that come from farther than the nearest cache (`cache_lines.py`) |
| `loops` | steps of loops, and their beginnings and ends |
| `threads` | the hand-over of work to another thread |

Instructions, chains and bytes overlap: the longest of them counts, with a part of the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from wengert.compiler.machine.target import vector_bytes, vector_registers
from wengert.compiler.nests.body_stages import find_stages
from wengert.compiler.nests.body_work import Axes, ElementAccess, Work
from wengert.compiler.nests.borders import Borders
from wengert.compiler.nests.cache_lines import CacheLines, LoopSteps
from wengert.compiler.nests.decisions import Decision
from wengert.compiler.nests.legality import kept_axes, reduced_axes, row_length
from wengert.compiler.nests.nest import Nest
from wengert.core.machine.record import Machine
from wengert.graph.ir import Node


class Cost(NamedTuple):
    """The seconds of the parts of a nest, and the elements of its text; `overlap` is the part that is hidden."""

    instructions: float = 0.0
    chains: float = 0.0
    bytes: float = 0.0
    loops: float = 0.0
    threads: float = 0.0
    text: int = 0
    overlap: float = 1.0

    @property
    def seconds(self) -> float:
        """The seconds of one run."""
        parts = self.instructions, self.chains, self.bytes
        longest = max(parts)
        return longest + (1.0 - self.overlap) * (sum(parts) - longest) + self.loops + self.threads

    @property
    def limit(self) -> str:
        """The part that takes longest."""
        return max(self._fields[:5], key=lambda name: getattr(self, name))

    def __str__(self) -> str:
        return f"{show_seconds(self.seconds)}, limited by {self.limit}"


def show_seconds(seconds: float) -> str:
    """A time in microseconds.

    >>> show_seconds(1.234e-5)
    '12.3 us'
    """
    return f"{1e6 * seconds:.3g} us"


def cost(
    nest: Nest, decisions: Sequence[Decision], machine: Machine, threads: int = 2, near: Set[Node] = frozenset()
) -> Cost:
    """The cost of a nest at decisions, on `threads` if they share it; arrays that are `near` are in a cache."""
    return Candidates(nest, machine, near).cost(decisions, threads)


def share_of_thread(parts: int, threads: int, machine: Machine) -> float:
    """The time of a loop in parts that threads share, over that of one thread."""
    threads = min(threads, parts)
    return 2 / machine.speed_of_two_threads * -(-parts // threads) / parts if threads > 1 else 1.0


def seconds_of_hand_over(machine: Machine) -> float:
    """The time until another thread has begun, and its results are known to the first one."""
    return 1e-12 * machine.picoseconds_per_operation * machine.min_operations_per_thread


def pays_to_share(seconds: float, parts: int, machine: Machine) -> bool:
    """Whether two threads that share a loop in parts take less time than one."""
    return seconds * share_of_thread(parts, 2, machine) + seconds_of_hand_over(machine) < seconds


def operations_in(seconds: float, machine: Machine) -> int:
    """The scalar operations that take as long, in which threads count."""
    return round(1e12 * seconds / machine.picoseconds_per_operation)


class Candidates:
    """The costs of several lists of decisions of one nest; many of them have the same loops."""

    def __init__(self, nest: Nest, machine: Machine, near: Set[Node] = frozenset()):
        self.nest, self.machine = nest, machine
        streams = list(dict.fromkeys([access.stream for access in nest.body_work.accesses]))
        streams = [s for s in streams if s.array not in near and s.array.nbytes > machine.cache_line_bytes]
        self.far = streams if sum(s.array.nbytes for s in streams) > machine.bytes_of_nearest_cache else []
        self.known: dict[tuple[LoopSteps, ...], float] = {}  # the seconds of bytes
        self.stage_counts: dict[int, int] = {}
        self.known_borders: dict[tuple[int, int], Borders] = {}

    def count_stages(self, axis: int) -> int:
        """The number of stages of a body with lanes along an axis."""
        if axis not in self.stage_counts:
            self.stage_counts[axis] = len(find_stages(self.nest, axis))
        return self.stage_counts[axis]

    def borders(self, axis: int, lanes: int) -> Borders:
        """The borders along an axis, for the lanes that it has."""
        if (axis, lanes) not in self.known_borders:
            self.known_borders[axis, lanes] = Borders(self.nest, axis, lanes)
        return self.known_borders[axis, lanes]

    def cost(self, decisions: Sequence[Decision], threads: int = 2, has_guards: bool = True) -> Cost:
        """The cost at decisions, on `threads` if they share the nest; without guards, that of the interior."""
        return Cost() if 0 in self.nest.domain else LoopCost(self, decisions, has_guards).find(threads)


class LoopCost:
    """The cost of the loops of one nest: how often each part of the body runs, and what it takes."""

    def __init__(self, candidates: Candidates, decisions: Sequence[Decision], has_guards: bool):
        self.has_guards = has_guards
        self.candidates, self.nest, self.machine = candidates, candidates.nest, candidates.machine
        self.body, self.decisions = self.nest.body_work, {d.kind: d for d in decisions}
        lanes, tile, block = [self.decisions.get(kind) for kind in ("lanes", "tile", "block")]
        self.axis: int | None = None if lanes is None else lanes.axis
        self.lanes = 1 if lanes is None else lanes.amount
        self.tile = 1 if tile is None else tile.amount
        self.columns = 1 if block is None else min(block.amount, -(-self.nest.domain[block.axis] // self.lanes))
        self.has_rows, self.has_block = "rows" in self.decisions, block is not None
        self.loops = tuple(self.find_loops(decisions, tile, block))
        self.steps = math.prod([loop.steps for loop in self.loops])
        self.runs: dict[Axes, int] = {}

    def find_loops(
        self, decisions: Sequence[Decision], tile: Decision | None, block: Decision | None
    ) -> Iterator[LoopSteps]:
        """The loops, the outermost first; elements of a tile come last, one after the other."""
        nest, lanes = self.nest, lambda axis: self.lanes if axis == self.axis else 1
        for axis in [*range(nest.outer), *kept_axes(nest, decisions)]:
            has_tile, has_block = tile is not None and tile.axis == axis, block is not None and block.axis == axis
            width = lanes(axis) * (self.tile if has_tile else 1) * (self.columns if has_block else 1)
            yield LoopSteps(axis, -(-nest.domain[axis] // width), width)
        for axis in reduced_axes(nest):
            yield LoopSteps(axis, -(-nest.domain[axis] // lanes(axis)), lanes(axis))
        if block is not None:
            yield LoopSteps(block.axis, self.columns, self.lanes)
        if tile is not None:
            yield LoopSteps(tile.axis, self.tile, 1, True)

    def find(self, threads: int) -> Cost:
        """The cost of all parts."""
        now, cycle = self.machine, 1e-9 / self.machine.cycles_per_nanosecond
        instructions = self.cycles_of_instructions()
        chains, loops = self.cycles_of_chains(instructions), self.cycles_of_loops()
        found = [instructions * cycle, chains * cycle, self.seconds_of_bytes(), loops * cycle]
        handed = 0.0
        if min(threads, self.count_parts()) > 1:
            share, handed = share_of_thread(self.count_parts(), threads, now), seconds_of_hand_over(now)
            alone = self.share_of_each_thread(instructions)
            shares = [alone + (1.0 - alone) * share] * 4
            shares[2] = share if self.has_rows else shares[2]  # rows in other ranges are not read
            found = [seconds * part for seconds, part in zip(found, shares, strict=True)]
            found[3] += self.cycles_of_ranges() * cycle
        overlap = 1.0 - now.percent_not_overlapped / 100
        return Cost(found[0], found[1], found[2], found[3], handed, self.count_text(), overlap)

    def count_parts(self) -> int:
        """The parts that threads may share; one if they do not."""
        shared, scatter = self.decisions.get("threads") or self.decisions.get("ranges"), self.nest.kernel.scatter
        if shared is None:
            return 1
        if self.nest.order.cuts or self.nest.order.scatter_axis is not None:
            return self.machine.sum_pieces
        extent = self.nest.domain[shared.axis]
        if scatter is not None and shared.kind == "ranges":
            extent = scatter.size // row_length(self.nest, list(self.decisions.values()))
        return -(-extent // shared.amount)

    def count(self, axes: Axes) -> int:
        """How often what depends on some axes runs: LLVM takes it out of the loops within the last of these."""
        if axes not in self.runs:
            found = total = 1
            for loop in self.loops:
                total *= loop.steps
                found = total if loop.axis in axes else found
            self.runs[axes] = found
        return self.runs[axes]

    def vectors(self, axes: Axes, lane_bytes: int) -> int:
        """The vectors of an element, one if it is the same for all lanes."""
        return -(-self.lanes * lane_bytes // vector_bytes()) if self.axis in axes else 1

    # Instructions

    def cycles_of_instructions(self) -> float:
        """Operations, loads, stores and folds; what overlapping vectors leave out is computed element by element."""
        now = self.machine
        memory, spilled = now.cycles_of_load + now.cycles_of_store, self.spilled_share()
        total = sum(map(self.cycles_of_access, self.body.accesses))
        for work in self.body.work:
            total += self.cycles_of_work(work, spilled * memory)
        for work in self.body.folds:
            vectors = self.vectors(work.axes, work.lane_bytes) * self.steps
            total += vectors * (now.cycles_of_operation * work.operations + memory * (1 if self.has_block else spilled))
        return total * (1.0 + self.single_elements() / self.steps) + self.cycles_of_guards()

    def cycles_of_work(self, work: Work, memory: float = 0.0) -> float:
        """The cycles of operations, and those of memory that short ones take."""
        now = self.machine
        one = now.cycles_of_long_operation if work.are_long else now.cycles_of_operation + memory
        return one * work.operations * self.count(work.axes) * self.vectors(work.axes, work.lane_bytes)

    def cycles_of_access(self, access: ElementAccess) -> float:
        """The cycles of what is read or written."""
        return access.elements * self.count(access.axes) * self.cycles_of_lanes(access)

    def cycles_of_lanes(self, access: ElementAccess) -> float:
        """The cycles of an element that is read or written for all lanes: as vectors, or each by itself."""
        now, stream = self.machine, access.stream
        one = now.cycles_of_store if access.is_written else now.cycles_of_load
        if access.is_updated:
            one = now.cycles_of_load + now.cycles_of_store
        lanes = self.lanes if self.axis in access.axes else 1
        if access.is_written and stream.within and not self.has_rows:
            return lanes * now.cycles_of_updated_lane
        if self.axis is None or self.axis not in access.axes:
            return one
        vectors, stride = -(-lanes * stream.size // vector_bytes()), abs(stream.stride(self.axis))
        if stride == stream.size:
            return one * vectors
        single = lanes * now.cycles_of_lane * (2 if stream.array.dtype.kind == "c" else 1)
        is_near = stride <= now.max_elements_of_transposed_row * stream.size
        if access.is_written:
            is_near = stride == access.elements * stream.size  # pieces are exchanged, and written as vectors
        if self.axis in stream.within or not is_near:
            return single
        columns = max(vector_bytes() // stream.size // access.elements, 1) if stride > vector_bytes() else 1
        return min(single, vectors * columns * now.cycles_of_near_column)  # a block of columns is read and exchanged

    def spilled_share(self) -> float:
        """The share of sums, and of elements with several uses, that are not in registers."""
        sums = sum(work.operations * self.vectors(work.axes, work.lane_bytes) for work in self.body.folds)
        sums *= self.tile * self.nest.order.accumulators * (not self.has_block)
        widest = self.vectors(frozenset((self.axis,)), self.nest.widest) if self.axis is not None else 1
        values = sum([n * (widest if self.axis in axes else 1) for axes, n in self.body.reused])
        needed = sums + values + 2  # operands, one after the other
        return max(1.0 - vector_registers() / needed, 0.0)

    def cycles_of_guards(self) -> float:
        """Conditions that choose what is read; those along the lanes choose an element for each of them."""
        if not (self.has_guards and self.body.guarded):
            return 0.0
        lanes = [self.count(axes) * n * (self.lanes if self.axis in axes else 1) for axes, n in self.body.chosen]
        cycles = sum(map(self.cycles_of_work, self.body.guarded)) + self.machine.cycles_of_chosen_lane * sum(lanes)
        return cycles * (1.0 - self.share_without_guards())

    def share_without_guards(self) -> float:
        """The share of the elements that bodies without guards compute."""
        bodies = self.decisions.get("segments") or self.decisions.get("overlap")
        if bodies is None:
            return 0.0
        borders = self.candidates.borders(bodies.axis, self.lanes)
        interior = borders.overlapping() if bodies.kind == "overlap" else borders.interior(bodies.amount)
        if interior is None:
            return 0.0
        found = sum(map(len, interior.segments)) / self.nest.domain[bodies.axis]
        return found * math.prod([len(r) / self.nest.domain[axis] for axis, r in interior.ranges.items()])

    def single_elements(self) -> int:
        """The elements between overlapping vectors, which are computed one by one."""
        bodies = self.decisions.get("overlap")
        if bodies is None:
            return 0
        outside = math.prod([loop.steps for loop in self.loops if loop.axis != bodies.axis])
        return outside * sum(map(len, self.candidates.borders(bodies.axis, self.lanes).gaps))

    def share_of_each_thread(self, instructions: float) -> float:
        """The share of a loop that each thread runs by itself: nothing, unless they share the result of a scatter.

        Then each finds the targets of all rows; without rows, it skips vectors whose targets are all in other ranges.
        """
        if "ranges" not in self.decisions:
            return 0.0
        if self.has_rows:
            return min(self.machine.cycles_of_updated_lane * self.rows / max(instructions, 1.0), 1.0)
        return self.machine.percent_of_shared_scatter_in_each_thread / 100

    def cycles_of_ranges(self) -> float:
        """Asking whether each row is in the range of a thread."""
        if "ranges" not in self.decisions or not self.has_rows:
            return 0.0
        return self.machine.cycles_of_row_in_range * len(self.nest.kernel.scatters) * self.rows

    @property
    def rows(self) -> float:
        """The rows that a scatter writes, or its elements."""
        return self.steps / math.prod([loop.steps for loop in self.loops if loop.axis in self.nest.slice_axes])

    # Chains and loops

    def cycles_of_chains(self, instructions: float) -> float:
        """Functions that wait for each other, as far as a processor does not look ahead, and sums for themselves."""
        now, nest, steps, depth = self.machine, self.nest, self.steps, float(self.body.depth)
        within = instructions / steps / now.cycles_of_long_operation  # operations of one run of the body
        stages = self.decisions.get("stages")
        if stages is not None:
            count = self.candidates.count_stages(stages.axis)
            steps, within, depth = steps * count, within / count, depth / count
        found = steps * depth * now.cycles_of_chained_operation * within / now.operations_ahead
        if nest.kernel.reductions and nest.axes:
            reduced = math.prod([loop.steps for loop in self.loops if loop.axis in nest.axes])
            chains = self.steps / reduced / self.tile / self.columns  # which are as long, one after the other
            wait = now.cycles_of_stored_sum / self.columns if self.has_block else now.cycles_of_dependent_sum
            ahead = max(now.operations_ahead / max(within * reduced, 1.0), 1.0)
            found = max(found, chains * reduced * wait / nest.order.accumulators / ahead)
        return found

    def cycles_of_loops(self) -> float:
        """Steps of loops, and their beginnings and ends; sums of lanes are folded at the end."""
        now, runs, total = self.machine, 1, 0.0
        for depth, loop in enumerate(self.loops):
            if depth and not loop.is_text and loop.steps > 1:
                total += runs * self.cycles_around(loop.steps)
            runs *= loop.steps
            total += 0.0 if loop.is_text else runs * now.cycles_of_step
        total += self.cycles_of_bodies()
        if self.has_rows and self.axis is not None and self.nest.domain[self.axis] % self.lanes:
            total += now.cycles_of_stored_sum * self.rows  # the last vector reads what the one before it wrote
        if self.axis in self.nest.axes and self.lanes > 1:
            kept = math.prod([n for i, n in enumerate(self.nest.domain) if i not in self.nest.axes])
            total += 2 * kept * now.cycles_of_operation * math.log2(self.lanes)  # exchanges and additions
        return total

    def cycles_around(self, steps: int) -> float:
        """The beginning and the end of a loop; one of few steps is unrolled, or expected to end."""
        return min(self.machine.cycles_of_loop, steps * self.machine.cycles_of_step)

    def cycles_of_bodies(self) -> float:
        """The loops of stages, and those of the parts between borders."""
        stages, segments, overlap = [self.decisions.get(kind) for kind in ("stages", "segments", "overlap")]
        if stages is not None:
            count = self.candidates.count_stages(stages.axis)
            return self.cycles_around(stages.amount) * count * self.steps / stages.amount
        if segments is None and overlap is None:
            return 0.0
        if segments is not None:
            whole = len(self.candidates.borders(segments.axis, self.lanes).segments) == 1
            parts = 0 if whole else 2 * segments.amount
        else:
            parts = 1
        steps = self.loops[-1].steps
        return parts * self.cycles_around(steps) * self.steps / steps

    # Memory and text

    def seconds_of_bytes(self) -> float:
        """The time of cache lines, which depends on the loops alone."""
        streams, known = self.candidates.far, self.candidates.known
        if streams and self.loops not in known:
            lines = CacheLines(streams, self.loops, self.nest.domain, (self.axis, self.lanes), self.machine)
            known[self.loops] = lines.seconds()
        return known.get(self.loops, 0.0)

    def count_text(self) -> int:
        """The elements of all bodies that are written."""
        bodies, segments, overlap = 1, self.decisions.get("segments"), self.decisions.get("overlap")
        if segments is not None:
            bodies = 1 + segments.amount
        elif overlap is not None:
            borders = self.candidates.borders(overlap.axis, self.lanes)
            bodies = (2 if borders.ranges else 1) * (len(borders.segments) - len(borders.gaps) + bool(borders.gaps))
        elif "stages" in self.decisions:
            bodies = 2
        accumulators = self.nest.order.accumulators if self.axis in self.nest.axes else 1
        return self.body.elements * bodies * self.tile * accumulators
