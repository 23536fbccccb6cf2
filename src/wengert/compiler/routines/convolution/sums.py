"""Writes correlations: blocks of sums stay in registers while channels and taps are added up.

Lanes run along rows of the target. A tap is a vector of the source, at a shifted position, times one element of the
filters in all lanes; so each element of the target is summed in the same order, whatever the vectors and threads. The
last vector of a row is moved back to end with it, and narrow rows are written through a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import product

from wengert.compiler.routines.convolution.blocks import RegisterBlock, cut_of
from wengert.compiler.routines.convolution.correlation import AxisPhase, Correlation, Tap
from wengert.compiler.routines.convolution.parts import Parts, PartWriter, divide
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import pick_lanes, splat
from wengert.compiler.simd.lanes import Code, Lanes, fma
from wengert.compiler.simd.types import I64
from wengert.core import machine


class CorrelationParts(Parts):
    """The units of work: blocks of target channels, for each strip of each group of each element of the batch."""

    def __init__(self, correlation: Correlation):
        c, cut = self.correlation, self.cut = correlation, cut_of(correlation)
        self.channels = max([block.channels for block in cut.blocks])
        self.channel_blocks = -(-c.target_channels // self.channels)
        self.strips = cut.strips(c)
        count = c.stack * c.batch * c.groups * self.strips * self.channel_blocks
        # some more, which vectors read behind the last row
        room = 0 if cut.buffer.is_direct else cut.buffer.channel * c.source_channels + cut.lanes
        super().__init__(c.name, c.kind, cut.lanes, count, room, c.products)


class CorrelationWriter(PartWriter):
    """Writes the sums of a part."""

    def __init__(self, code: Code, parts: CorrelationParts):
        super().__init__(code, parts)
        self.units, self.correlation, self.cut = parts, parts.correlation, parts.cut

    def write(self) -> None:
        """Copy the source of each strip, and add up its blocks."""
        code, units = self.code, self.units
        first = code.add(f"sdiv {self.begin.typed}, {units.channel_blocks}", I64)
        last = code.add(f"sdiv {(self.end + (units.channel_blocks - 1)).typed}, {units.channel_blocks}", I64)
        with code.loop(first, last) as strip:
            start = strip * units.channel_blocks
            low = code.intrinsic("smax", I64, self.begin - start, start.like(0))
            high = code.intrinsic("smin", I64, self.end - start, start.like(units.channel_blocks))
            self.write_strip(strip, low, high)

    def write_strip(self, number: Lanes, low: Lanes, high: Lanes) -> None:
        """The blocks of target channels from `low` to `high` of one strip."""
        code, c, cut = self.code, self.correlation, self.cut
        lot, strip = divide(number, self.units.strips)
        of_batch, group = divide(lot, c.groups)
        start = code.intrinsic("smin", I64, strip * cut.strip, strip.like(c.counts[cut.strip_axis] - cut.strip))
        origin = self.copy_source(lot, start)
        item, _ = divide(of_batch, c.batch)
        filters = code.offset(self.factor, (item * c.groups + group) * c.strides[0], self.element)
        volume = c.target[0] * c.target[1] * c.target[2]
        target = code.offset(self.target, lot * (c.target_channels * volume), self.element)
        for phase, block in zip(c.phases, cut.blocks, strict=True):
            self.write_phase(phase, block, origin, filters, target, start, low, high)

    def copy_source(self, lot: Lanes, start: Lanes) -> Lanes:
        """The address of what the strip needs of the source, in its buffer or where it is."""
        code, c, buffer = self.code, self.correlation, self.cut.buffer
        size = c.source[0] * c.source[1] * c.source[2]
        if c.is_source_shared:
            _, lot = divide(lot, c.batch * c.groups)
        source = code.offset(self.source, lot * (c.source_channels * size), self.element)
        moved = start * c.source_step[self.cut.strip_axis]
        starts = tuple([moved + low if i == self.cut.strip_axis else start.like(low) for i, low in enumerate(c.lowest)])
        if buffer.is_direct:
            index = (starts[0] * c.source[1] + starts[1]) * c.source[2] + c.lowest[2]
            return code.offset(source, index, self.element)
        with code.loop(0, c.source_channels) as channel:
            at = lambda base, room: code.offset(base, channel * room, self.element)
            buffer.write_copy(code, at(self.memory, buffer.channel), at(source, size), (starts[0], starts[1]))
        return self.memory

    def write_phase(
        self,
        phase: tuple[AxisPhase, ...],
        block: RegisterBlock,
        origin: Lanes,
        filters: Lanes,
        target: Lanes,
        start: Lanes,
        low: Lanes,
        high: Lanes,
    ) -> None:
        """All blocks of a phase in a strip. Filters that fit into the cache are read again for each row."""
        code, c, cut = self.code, self.correlation, self.cut
        sizes: list[Lanes | int] = [phase[0].extent, phase[1].extent]
        if self.units.strips > 1:
            left = start.like(phase[cut.strip_axis].extent) - start
            sizes[cut.strip_axis] = code.intrinsic("smin", I64, left, start.like(cut.strip))
        offsets = [start if cut.strip_axis == i and self.units.strips > 1 else 0 for i in range(2)]
        is_in_cache = c.strides[0] * self.element.align <= machine.current.max_bytes_of_cached_filters
        with ExitStack() as loops:
            if not is_in_cache:
                number = loops.enter_context(code.loop(low, high))
            z = loops.enter_context(code.loop(0, sizes[0]))
            y = loops.enter_context(code.loop(0, sizes[1], block.rows))
            if is_in_cache:
                number = loops.enter_context(code.loop(low, high))
            if block.rows > 1:
                y = code.intrinsic("smin", I64, y, y.like(0) + sizes[1] - block.rows)
            with code.loop(0, self.units.channels, block.channels) as i:
                first = number * self.units.channels + i
                channel = code.intrinsic("smin", I64, first, first.like(c.target_channels - block.channels))
                source = (z * c.source_step[0]) * cut.buffer.plane + (y * c.source_step[1]) * cut.buffer.row
                rows = [(phase[0].first, offsets[0], z), (phase[1].first, offsets[1], y)]
                outer, middle = [
                    (j + offset) * step + at for (at, offset, j), step in zip(rows, c.target_step[:2], strict=True)
                ]
                written = ((channel * c.target[0] + outer) * c.target[1] + middle) * c.target[2] + phase[2].first
                self.write_row(
                    phase,
                    block,
                    code.offset(origin, source, self.element),
                    code.offset(filters, channel * c.strides[1], self.element),
                    code.offset(target, written, self.element),
                )

    def write_row(
        self, phase: tuple[AxisPhase, ...], block: RegisterBlock, source: Lanes, filters: Lanes, target: Lanes
    ) -> None:
        """The blocks along a row."""
        code, count, lanes = self.code, phase[2].extent, self.vector.lanes
        step = block.vectors * lanes
        whole = count // step * step
        if whole:
            with code.loop(0, whole, step) as x:
                moved = code.offset(target, x * self.correlation.target_step[2], self.element)
                starts = [i * lanes for i in range(block.vectors)]
                self.write_block(phase, block, code.offset(source, x, self.element), filters, moved, starts)
        if whole < count:
            starts = [max(min(x, count - lanes), 0) for x in range(whole, count, lanes)]
            self.write_block(phase, block, source, filters, target, starts)

    def write_block(
        self,
        phase: tuple[AxisPhase, ...],
        block: RegisterBlock,
        source: Lanes,
        filters: Lanes,
        target: Lanes,
        starts: Sequence[int],
    ) -> None:
        """The sums of a block, whose vectors begin at these elements of a row."""
        code, c = self.code, self.correlation
        row = c.source_step[1] * self.cut.buffer.row
        vectors = [r * row + start for r in range(block.rows) for start in starts]
        sums = [[Variable(code, self.vector, 0.0) for _ in vectors] for _ in range(block.channels)]
        taps, most = self.taps_of(phase), machine.current.max_unrolled_taps
        inner = len(taps) if len(taps) <= most else len(phase[2].taps)
        if inner > most:
            inner = 1
        if taps:
            with code.loop(0, c.source_channels) as channel:
                x = code.offset(source, channel * self.cut.buffer.channel, self.element)
                w = code.offset(filters, channel * c.strides[2], self.element)
                if inner == len(taps):
                    self.add_taps(sums, taps, x, w, vectors)
                else:
                    heads = taps[::inner]
                    name = f"{c.name}.{code.name()[1:]}"
                    shifts = self.table(f"{name}.shifts", [tap.shift for tap in heads])
                    offsets = self.table(f"{name}.offsets", [tap.offset for tap in heads])
                    with code.loop(0, len(heads)) as k:
                        at = lambda base, table: code.offset(
                            base, code.load(code.offset(table, k, I64), I64), self.element
                        )
                        near = [Tap(tap.shift - taps[0].shift, tap.offset - taps[0].offset) for tap in taps[:inner]]
                        self.add_taps(sums, near, at(x, shifts), at(w, offsets), vectors)
        rows = c.target_step[1] * c.target[2]
        written = [r * rows + start * c.target_step[2] for r in range(block.rows) for start in starts]
        volume = c.target[0] * c.target[1] * c.target[2]
        for number, of_channel in enumerate(sums):
            for offset, total in zip(written, of_channel, strict=True):
                address = code.offset(target, number * volume + offset, self.element)
                self.write_vector(total.load(), address, min(phase[2].extent, self.vector.lanes))

    def taps_of(self, phase: tuple[AxisPhase, ...]) -> list[Tap]:
        """All taps in the order of their offsets in the buffer, with those in the filters: the order of additions.

        Those of the last axis follow each other.
        """
        low = self.correlation.lowest
        found = [
            Tap(
                self.cut.buffer.offset(tuple([tap.shift - first for tap, first in zip(taps, low, strict=True)])),
                sum([tap.offset for tap in taps]),
            )
            for taps in product(*[axis.taps for axis in phase])
        ]
        return sorted(found)

    def add_taps(
        self, sums: list[list[Variable]], taps: Sequence[Tap], x: Lanes, w: Lanes, vectors: Sequence[int]
    ) -> None:
        """Add the products of some taps to the sums."""
        code, stride = self.code, self.correlation.strides[1]
        read = lambda offset: code.load(code.offset(x, offset, self.element), self.vector, self.element.align)
        factor = lambda tap, channel: splat(
            code.load(code.offset(w, tap.offset + channel * stride, self.element), self.element), self.vector.lanes
        )
        if len(sums) > 2:
            for tap in taps:
                seen = [read(tap.shift + vector) for vector in vectors]
                for channel, of_channel in enumerate(sums):
                    weight = factor(tap, channel)
                    for total, value in zip(of_channel, seen, strict=True):
                        total.store(fma(value, weight, total.load()))
            return
        # few channels: each vector is read once for all rows whose taps it is
        weights = [[factor(tap, channel) for tap in taps] for channel in range(len(sums))]
        uses: dict[int, list[tuple[int, int]]] = {}
        for i, tap in enumerate(taps):
            for j, vector in enumerate(vectors):
                uses.setdefault(tap.shift + vector, []).append((i, j))
        for offset in sorted(uses):
            value = read(offset)
            for i, j in uses[offset]:
                for channel, of_channel in enumerate(sums):
                    of_channel[j].store(fma(value, weights[channel][i], of_channel[j].load()))

    def write_vector(self, value: Lanes, address: Lanes, count: int) -> None:
        """So many elements of a row of the target, side by side or with steps."""
        code, step = self.code, self.correlation.target_step[2]
        if step == 1 and count == value.type.lanes:
            code.store(value, address, self.element.align)
            return
        for i in range(count):
            code.store(pick_lanes(value, [i]), code.offset(address, i * step, self.element))
