"""The loops of a kernel: over its axes, with the instructions for the elements in their body."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial, reduce
from typing import Any

from wengert.compiler.forms.affine import Counter
from wengert.compiler.kernels.accumulators import Accumulators, SumsInMemory
from wengert.compiler.kernels.body_stages import BodyStages
from wengert.compiler.kernels.element import Elements
from wengert.compiler.nests.borders import Interior, restrict
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.simd.lane_operations import any_lane
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine


class KernelLoops:
    """Writes the loops of one kernel, or of a part of a row kernel.

    `across` are the sums over all rows that their body adds to.
    """

    def __init__(self, plan: LoopPlan, elements: Elements):
        self.plan, self.elements, self.code, self.kernel = plan, elements, elements.code, plan.kernel
        self.stages: BodyStages | None = None  # of the loop along the vector's axis
        self.across: list[Accumulators | SumsInMemory] = []
        self.sums: list[Accumulators] = []  # of the reductions that are written, those of each element of a tile
        self.tile_start: Lanes | None = None  # the first index of a tile
        self.whole = plan.counters  # of the loops over whole axes
        self.first_lane: Lanes | None = None  # the counter of the lanes, before a vector that may be moved back

    @contextmanager
    def loop(self, start: Lanes | int, stop: Lanes | int, step: int) -> Iterator[Lanes]:
        """A loop. Values from outside are not known in its body, nor those of its body after it."""
        with self.code.loop(start, stop, step) as i:
            self.elements.forget()
            yield i
        self.elements.forget()

    @contextmanager
    def axis_loop(self, axis: int, start: Lanes | int, stop: Lanes | int, to_end: bool = True) -> Iterator[Lanes]:
        """A loop over an axis, or over a part that does not go to its end.

        A vector that would end beyond the axis is moved back; yields the index before that.
        """
        counter, stages = self.plan.counters[axis], self.stages if axis == self.plan.vector_axis else None
        with ExitStack() as blocks:
            if stages is not None:
                start, stop = blocks.enter_context(self.staged_block(stages, axis, start, stop))
            with self.loop(start, stop, self.plan.step(axis)) as i:
                self.count(axis, self.move_back(counter, i) if to_end else i)
                if axis == self.plan.vector_axis:
                    self.first_lane = i if to_end else None
                if stages is not None:
                    stages.read(stages.stages[-1], i - start)
                yield i

    @contextmanager
    def staged_block(
        self, stages: BodyStages, axis: int, start: Lanes | int, stop: Lanes | int
    ) -> Iterator[tuple[Lanes, Lanes]]:
        """A loop over blocks of the vector's axis, with the stages before the body; yields the bounds of a block."""
        code, counter = self.code, self.plan.counters[axis]
        size = stages.vectors * counter.lanes
        with code.loop(start, stop, size) as first:
            last = code.intrinsic("smin", I64, first + size, code.lift(stop, I64))
            for stage in stages.before_body:
                with self.loop(first, last, counter.lanes) as i:
                    self.count(axis, self.move_back(counter, i))
                    stages.write(stage, i - first)
            yield first, last

    def move_back(self, counter: Counter, i: Lanes) -> Lanes:
        """The index of a vector, or a tile, that ends with the axis if it would end beyond it."""
        step = self.plan.step(counter.axis)
        return i if counter.extent % step == 0 else self.code.intrinsic("smin", I64, i, i.like(counter.extent - step))

    @contextmanager
    def vector_loop(self, start: Lanes | int, stop: Lanes | int) -> Iterator[Lanes]:
        """A loop along the vector's axis, whose last vector may be moved back; yields the index before that.

        Accumulators count this vector as a whole, and after the loop take back what was counted before: the body needs
        no mask.
        """
        axis, code = self.plan.vector_axis, self.code
        assert axis is not None
        counter = self.plan.counters[axis]
        folds = [x for x in (*self.sums, *self.across) if isinstance(x, Accumulators) and x.can_take_back]
        if not folds or counter.extent % counter.lanes == 0:
            with self.axis_loop(axis, start, stop) as i:
                yield i
            return
        for fold in folds:
            fold.keep_state()
        last = code.variable(I64, start)
        with self.axis_loop(axis, start, stop) as i:
            code.store(i, last)
            for fold in folds:
                fold.keep_state()
            yield i
        i = code.load(last, I64)
        self.elements.counters[counter] = code.intrinsic("smin", I64, i, i.like(counter.extent - counter.lanes))
        for fold in folds:
            fold.take_back(self.fresh_lanes(i))

    def write_loops(
        self, axes: Sequence[int], bounds: Mapping[int, tuple[Any, Any]], write: Callable[[Lanes | None], None]
    ) -> None:
        """Loops over axes, some of them within bounds, and a body in the last of them.

        `write` is called once for each kind of body, with the index along the last axis, before it is moved back.
        """
        find = lambda axis: bounds.get(axis, (0, self.plan.domain[axis]))
        with ExitStack() as loops:
            for axis in axes[:-1]:
                loops.enter_context(self.axis_loop(axis, *find(axis)))
            if not axes:
                write(None)
            elif axes[-1] == self.plan.vector_axis and self.plan.interior is not None:
                self.write_interior(self.plan.interior, *find(axes[-1]), write)
            else:
                is_vector = axes[-1] == self.plan.vector_axis
                loop = self.vector_loop if is_vector else partial(self.axis_loop, axes[-1])
                write(loops.enter_context(loop(*find(axes[-1]))))

    def write_interior(self, interior: Interior, start: Any, stop: Any, write: Callable[[Lanes | None], None]) -> None:
        """The loop along the vector's axis: bodies without guards in its segments, and one with guards between them."""
        code, axis = self.code, self.plan.vector_axis
        assert axis is not None
        if interior.gaps is not None:
            self.write_overlapping_vectors(interior, interior.gaps, write)
            return
        start, stop = code.lift(start, I64), code.lift(stop, I64)
        inside = self.is_inside(interior.ranges)
        is_whole = interior.segments == (range(self.plan.domain[axis]),)
        clamp = lambda i: code.intrinsic("smax", I64, start, code.intrinsic("smin", I64, stop, stop.like(i)))
        segments = [(s, clamp(s.start), clamp(s.stop)) for s in interior.segments]
        starts, stops = [*[s[1] for s in segments], stop], [start, *[s[2] for s in segments]]
        with code.loop(0, 1 if is_whole else len(starts)) as part:
            if not is_whole:
                pick = lambda ends: reduce(lambda x, k: select(part.eq(k), ends[k], x), range(1, len(ends)), ends[0])
                with self.axis_loop(axis, pick(stops), pick(starts)) as i:
                    write(i)
            for k, (segment, first, last) in enumerate(segments):
                is_here = part.eq(k) & inside if inside is not None else part.eq(k)
                with self.within({axis: segment, **interior.ranges}):
                    self.write_segment(first, select(is_here, last, first), write, is_whole)
                if inside is not None:
                    is_here = part.eq(k) & ~inside
                    with self.within({axis: segment}):
                        self.write_segment(first, select(is_here, last, first), write, is_whole)

    def write_overlapping_vectors(
        self, interior: Interior, gaps: Sequence[range], write: Callable[[Lanes | None], None]
    ) -> None:
        """Loops over segments, whose first and last vectors are moved into them, and one over the elements in between.

        The other vectors begin at multiples of lanes, as rows of most programs do: stores across cache lines would take
        longer.
        """
        axis, inside = self.plan.vector_axis, self.is_inside(interior.ranges)
        assert axis is not None
        bodies = [(inside, interior.ranges)] if inside is None else [(inside, interior.ranges), (~inside, {})]
        for is_here, ranges in bodies:
            end = lambda n, is_here=is_here: n if is_here is None else select(is_here, self.code.lift(n, I64), 0)
            for segment in interior.segments:
                with self.within({axis: segment, **ranges}):
                    counter = self.plan.counters[axis]
                    start = segment.start // counter.lanes * counter.lanes
                    with self.loop(start, end(segment.stop), counter.lanes) as i:
                        first = self.code.intrinsic("smax", I64, i, i.like(segment.start))
                        self.count(axis, self.code.intrinsic("smin", I64, first, i.like(segment.stop - counter.lanes)))
                        write(None)
            if gaps:
                self.write_gaps(gaps, ranges, end(sum(map(len, gaps))), write)

    def write_gaps(
        self, gaps: Sequence[range], ranges: Mapping[int, range], stop: Any, write: Callable[[Lanes | None], None]
    ) -> None:
        """A loop over the elements of gaps along the vector's axis, one by one, as many of them as `stop` says."""
        axis = self.plan.vector_axis
        assert axis is not None
        with self.within(ranges), self.single_elements(axis), self.loop(0, stop, 1) as e:
            index, count = e + gaps[0].start, len(gaps[0])
            for gap in gaps[1:]:
                index = select(e >= count, e + (gap.start - count), index)
                count += len(gap)
            self.count(axis, index)
            write(None)

    def count(self, axis: int, index: Lanes) -> None:
        """Let the loop over an axis be at an index."""
        self.elements.counters[self.plan.counters[axis]] = self.elements.counters[self.whole[axis]] = index
        if axis == self.plan.tile_axis:
            self.tile_start = index

    def place_in_tile(self, k: int) -> None:
        """Go to an element of a tile; what is the same for all of them stays known."""
        if self.plan.tile_axis is not None and self.tile_start is not None:
            counter = self.plan.counters[self.plan.tile_axis]
            self.elements.counters[counter] = self.tile_start + k if k else self.tile_start
            self.elements.forget_along(counter)

    @contextmanager
    def single_elements(self, axis: int) -> Iterator[None]:
        """Write a body without lanes along an axis."""
        counters = self.plan.counters
        self.plan.counters = [c if c.axis != axis else Counter(axis, c.extent) for c in counters]
        yield
        self.plan.counters = counters

    def write_segment(self, start: Lanes, stop: Lanes, write: Callable[[Lanes | None], None], is_whole: bool) -> None:
        """The loop over a segment of the vector's axis, or over the whole axis."""
        assert self.plan.vector_axis is not None
        with self.axis_loop(self.plan.vector_axis, start, stop, is_whole) as i:
            write(i if is_whole else None)

    def is_inside(self, ranges: Mapping[int, range]) -> Lanes | None:
        """Whether the counters of outer loops are in ranges; None if these are empty."""
        inside = None
        for axis, within in ranges.items():
            i = self.elements.counters[self.plan.counters[axis]]
            inside = self.elements.both(inside, (i >= within.start) & (i < within.stop))
        return inside

    @contextmanager
    def within(self, ranges: Mapping[int, range]) -> Iterator[None]:
        """Write a body that runs only where counters are in ranges."""
        counters = self.plan.counters
        self.plan.counters = [
            restrict(counter, ranges[counter.axis]) if counter.axis in ranges else counter for counter in counters
        ]
        for new, old in zip(self.plan.counters, counters, strict=True):
            if new is not old and old in self.elements.counters:
                self.elements.counters[new] = self.elements.counters[old]
        yield
        self.plan.counters = counters

    def write_body(self, sums: Accumulators | None, which: int = 0, fresh: Lanes | None = None) -> None:
        """Store and accumulate for the present counters.

        `fresh` are the lanes that were not counted before, unless `sums` take back what they count twice.
        """
        late = []
        for node in [node for node in self.kernel.maps if node.size]:
            positions = list(self.plan.stored_positions(node))
            values = [self.elements.at(node, position) for position in positions]
            if self.elements.overwritten:
                late.append((node, positions, values))  # after everything is read
            else:
                self.elements.store(node, positions, values)
        if sums is not None:
            sums.add(which, fresh)
        if self.across:
            counted = None
            if self.first_lane is not None and not all(total.takes_back for total in self.across):
                counted = self.fresh_lanes(self.first_lane)
            for total in self.across:
                total.add(0, counted)
        for node, positions, values in late:
            self.elements.store(node, positions, values)

    def return_status(self, is_shared: bool) -> None:
        """Add the failures to the status of the program, to which other threads may add theirs."""
        code = self.code
        if not self.elements.failures:
            return
        status, failures = code.load(Lanes(code, "%table", PTR), PTR), self.join_failures()
        if is_shared:
            code.update_shared("or", status, failures)
        else:
            code.store(code.load(status, I64) | failures, status)

    def join_failures(self) -> Lanes:
        """The bits of what failed in any lane."""
        code, failures = self.code, self.code.constant(0, I64)
        for (failure, lanes), flags in self.elements.failures.items():
            failures = failures | (any_lane(code.load(flags, Type("i1", lanes))).to("i64") << failure.bit)
        return failures

    # Reductions

    def write_kernel(self, bounds: Mapping[int, tuple[Any, Any]], piece: Lanes | None = None) -> None:
        """The loops over all axes, some of them within bounds; of reductions, maybe those of one piece."""
        reduced = self.plan.reduced_axes
        inner = bounds.get(reduced[0]) if reduced else None
        write = lambda _: self.write_reductions(piece, inner) if self.kernel.reductions else self.write_body(None)
        self.write_loops(self.plan.kept_axes, bounds, write)

    def make_sums(self) -> list[Any]:
        """What the reductions of each element of a tile accumulate in."""
        plan = self.plan
        return [Accumulators(plan, self.elements, self.kernel.reductions, plan.axes) for _ in range(plan.tile)]

    def write_reductions(self, piece: Lanes | None, bounds: tuple[Lanes, Lanes] | None) -> None:
        """The loops over the reduced axes; `bounds` are those of the outermost one."""
        plan = self.plan
        sums = self.sums = self.make_sums()
        found = {axis: self.cut_bounds(axis, piece) for axis in plan.cuts} if piece is not None else {}
        if bounds is not None:
            found.setdefault(plan.reduced_axes[0], bounds)
        if plan.accumulators > 1 and plan.reduced_axes[-1] == plan.vector_axis:
            last = plan.reduced_axes[-1]
            with ExitStack() as loops:
                for axis in plan.reduced_axes[:-1]:
                    loops.enter_context(self.axis_loop(axis, *found.get(axis, (0, plan.domain[axis]))))
                self.write_parallel_bodies(last, *found.get(last, (0, plan.domain[last])))
        else:
            is_masked = lambda i: i is not None and plan.vector_axis in plan.axes and not sums[0].takes_back
            write = lambda i: self.write_tile(sums, 0, self.fresh_lanes(i) if is_masked(i) else None)
            self.write_loops(plan.reduced_axes, found, write)
        self.sums = []
        for k, own in enumerate(sums):
            self.place_in_tile(k)
            own.store(piece)

    def write_tile(self, sums: Sequence[Accumulators | None], which: int = 0, fresh: Lanes | None = None) -> None:
        """Store and accumulate for each element of a tile, whose sums are these."""
        for k, own in enumerate(sums):
            self.place_in_tile(k)
            self.write_body(own, which, fresh)

    def fresh_lanes(self, i: Lanes) -> Lanes | None:
        """The lanes of a vector moved back from index `i` that were not counted before."""
        assert self.plan.vector_axis is not None
        counter = self.plan.counters[self.plan.vector_axis]
        if counter.extent % counter.lanes == 0:
            return None
        number = Type(f"i{8 * min(self.plan.widest, 8)}")  # as wide as the elements in lanes
        counted = self.elements.splat((i - self.elements.counters[counter]).to(number.kind), counter.lanes)
        lanes = ", ".join([f"{number.text} {k}" for k in range(counter.lanes)])
        return Lanes(self.code, f"<{lanes}>", counted.type) >= counted

    def write_parallel_bodies(self, axis: int, start: Any, stop: Any) -> None:
        """A loop over the vector's axis with a body for each accumulator, and one for the remainder."""
        code, counter = self.code, self.plan.counters[axis]
        width, count = counter.lanes, machine.current.sum_accumulators
        slot = code.variable(I64, start)
        end = code.lift(stop, I64)
        with self.loop(start, end - (count * width - 1), count * width) as i:
            for which in range(count):
                self.elements.forget()
                self.elements.counters[counter] = i + which * width if which else i
                self.write_tile(self.sums, which)
            code.store(i + count * width, slot)
        with self.vector_loop(code.load(slot, I64), end) as i:
            self.write_tile(self.sums, 0, None if self.sums[0].takes_back else self.fresh_lanes(i))

    def cut_bounds(self, axis: int, piece: Lanes) -> tuple[Lanes, Lanes]:
        """The first and last index of a piece along one of the axes that are cut; the last of them counts first."""
        plan = self.plan
        axes, parts = list(plan.cuts), plan.cuts[axis]
        inner = math.prod([plan.cuts[a] for a in axes[axes.index(axis) + 1 :]])
        if inner > 1:
            piece = self.code.add(f"udiv {piece.typed}, {inner}", I64)
        if axis != axes[0]:
            piece = self.code.add(f"urem {piece.typed}, {parts}", I64)
        return piece_bounds(self.code, piece, plan.domain[axis], plan.grain(axis), parts)


def piece_bounds(code: Code, piece: Lanes, n: int, grain: int, pieces: int | None = None) -> tuple[Lanes, Lanes]:
    """The first and last index of a piece of a loop to `n` in steps of `grain`."""
    step = -(-n // (pieces or machine.current.sum_pieces))
    step = -(-step // grain) * grain
    start = piece * step
    smaller = lambda x: code.intrinsic("smin", I64, x, x.like(n))
    return smaller(start), smaller(start + step)
