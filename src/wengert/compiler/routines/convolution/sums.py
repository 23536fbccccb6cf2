"""Writes correlations: blocks of sums stay in registers while channels and taps are added up.

Lanes run along rows of the target. A tap is a vector of the source, at a shifted position, times one element of the
filters in all lanes; so each element of the target is summed in the same order, whatever the vectors and threads. The
last vector of a row is moved back to end with it, and narrow rows are written through a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import product

from wengert.compiler.products.tile import Sums, smaller
from wengert.compiler.routines.convolution.blocks import RegisterBlock, cut_of
from wengert.compiler.routines.convolution.correlation import AxisPhase, Correlation, Tap
from wengert.compiler.routines.convolution.parts import PartWriter
from wengert.compiler.simd.lane_operations import pick_lanes
from wengert.compiler.simd.lanes import Lanes, fma, split_index
from wengert.compiler.simd.types import I64
from wengert.core import machine


class CorrelationWriter(PartWriter):
    """Writes the sums of a part: blocks of target channels for each strip of each group of an element of the batch."""

    def __init__(self, correlation: Correlation):
        c, cut = self.correlation, self.cut = correlation, cut_of(correlation)
        super().__init__(c.kind, cut.lanes)
        self.name, self.products = f"wengert.convolution.{c.name}.{c.geometry.name}", c.products
        self.channels = max([block.channels for block in cut.blocks])
        self.blocks, self.strips = -(-c.target_channels // self.channels), cut.strips(c)
        # some more, which vectors read behind the last row
        room = 0 if cut.buffer.is_direct else cut.buffer.channel * c.source_channels + cut.lanes
        self.parts = self.make_parts(c.lots * self.strips, room)

    def write_units(self) -> None:
        """Copy the source of each strip, and add up its blocks."""
        c, cut = self.correlation, self.cut
        with self.lots() as (number, low, high):
            lot, strip = split_index(number, self.strips)
            item, _, group = split_index(lot, c.geometry.batch, c.geometry.groups)
            start = smaller(strip * cut.strip, c.counts[cut.strip_axis] - cut.strip)
            origin = self.copy_source(lot, start)
            filters = self.at(self.factor, (item * c.geometry.groups + group) * c.strides[0])
            volume = c.target[0] * c.target[1] * c.target[2]
            target = self.at(self.target, lot * (c.target_channels * volume))
            for phase, block in zip(c.phases, cut.blocks, strict=True):
                self.write_phase(phase, block, origin, filters, target, start, low, high)

    def copy_source(self, lot: Lanes, start: Lanes) -> Lanes:
        """The address of what the strip needs of the source, in its buffer or where it is."""
        code, c, buffer = self.code, self.correlation, self.cut.buffer
        size = c.source[0] * c.source[1] * c.source[2]
        if c.geometry.is_shared[0]:
            _, lot = split_index(lot, c.geometry.batch * c.geometry.groups)
        source = self.at(self.source, lot * (c.source_channels * size))
        moved = start * c.source_step[self.cut.strip_axis]
        starts = tuple([moved + low if i == self.cut.strip_axis else start.like(low) for i, low in enumerate(c.lowest)])
        if buffer.is_direct:
            return self.at(source, (starts[0] * c.source[1] + starts[1]) * c.source[2] + c.lowest[2])
        with code.loop(0, c.source_channels) as channel:
            copied = self.at(self.memory, channel * buffer.channel)
            buffer.write_copy(code, copied, self.at(source, channel * size), (starts[0], starts[1]))
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
        if self.strips > 1:
            left = start.like(phase[cut.strip_axis].extent) - start
            sizes[cut.strip_axis] = smaller(left, cut.strip)
        offsets = [start if cut.strip_axis == i and self.strips > 1 else 0 for i in range(2)]
        is_in_cache = c.strides[0] * self.element.align <= machine.current.max_bytes_of_cached_filters
        with ExitStack() as loops:
            if not is_in_cache:
                number = loops.enter_context(code.loop(low, high))
            z = loops.enter_context(code.loop(0, sizes[0]))
            y = loops.enter_context(code.loop(0, sizes[1], block.rows))
            if is_in_cache:
                number = loops.enter_context(code.loop(low, high))
            if block.rows > 1:
                y = smaller(y, sizes[1] - block.rows)
            with code.loop(0, self.channels, block.channels) as i:
                first = number * self.channels + i
                channel = smaller(first, c.target_channels - block.channels)
                source = (z * c.source_step[0]) * cut.buffer.plane + (y * c.source_step[1]) * cut.buffer.row
                rows = [(phase[0].first, offsets[0], z), (phase[1].first, offsets[1], y)]
                outer, middle = [
                    (j + offset) * step + at for (at, offset, j), step in zip(rows, c.target_step[:2], strict=True)
                ]
                written = ((channel * c.target[0] + outer) * c.target[1] + middle) * c.target[2] + phase[2].first
                self.write_row(
                    phase,
                    block,
                    self.at(origin, source),
                    self.at(filters, channel * c.strides[1]),
                    self.at(target, written),
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
                moved = self.at(target, x * self.correlation.target_step[2])
                starts = [i * lanes for i in range(block.vectors)]
                self.write_block(phase, block, self.at(source, x), filters, moved, starts)
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
        sums = Sums(code, self.vector, [[0.0] * len(vectors)] * block.channels)
        taps, most = self.taps_of(phase), machine.current.max_unrolled_taps
        inner = len(taps) if len(taps) <= most else len(phase[2].taps)
        if inner > most:
            inner = 1
        if taps:
            with code.loop(0, c.source_channels) as channel:
                x = self.at(source, channel * self.cut.buffer.channel)
                w = self.at(filters, channel * c.strides[2])
                if inner == len(taps):
                    self.add_taps(sums, taps, x, w, vectors)
                else:
                    shifts, offsets = [code.numbers(I64, numbers) for numbers in zip(*taps[::inner], strict=True)]
                    with code.loop(0, len(taps) // inner) as k:
                        at = lambda base, table: self.at(base, code.load(code.offset(table, k, I64), I64))
                        near = [Tap(tap.shift - taps[0].shift, tap.offset - taps[0].offset) for tap in taps[:inner]]
                        self.add_taps(sums, near, at(x, shifts), at(w, offsets), vectors)
        rows = c.target_step[1] * c.target[2]
        written = [r * rows + start * c.target_step[2] for r in range(block.rows) for start in starts]
        volume = c.target[0] * c.target[1] * c.target[2]
        for number, of_channel in enumerate(sums.values):
            for offset, total in zip(written, of_channel, strict=True):
                self.write_vector(total, target, number * volume + offset, min(phase[2].extent, self.lanes))

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

    def add_taps(self, sums: Sums, taps: Sequence[Tap], x: Lanes, w: Lanes, vectors: Sequence[int]) -> None:
        """Add the products of some taps to the sums."""
        stride, channels = self.correlation.strides[1], range(len(sums.variables))
        read = lambda offset: self.read(x, offset, self.vector)
        factor = lambda tap, channel: self.broadcast(w, tap.offset + channel * stride, self.lanes)
        if len(channels) > 2:
            for tap in taps:
                sums.add((factor(tap, channel) for channel in channels), [read(tap.shift + at) for at in vectors])
            return
        # few channels: each vector is read once for all rows whose taps it is
        weights = [[factor(tap, channel) for tap in taps] for channel in channels]
        uses: dict[int, list[tuple[int, int]]] = {}
        for i, tap in enumerate(taps):
            for j, vector in enumerate(vectors):
                uses.setdefault(tap.shift + vector, []).append((i, j))
        for offset in sorted(uses):
            value = read(offset)
            for i, j in uses[offset]:
                for of_channel, weight in zip(sums.variables, weights, strict=True):
                    of_channel[j].store(fma(value, weight[i], of_channel[j].load()))

    def write_vector(self, value: Lanes, target: Lanes, offset: int, count: int) -> None:
        """So many elements of a row of the target, side by side or with steps."""
        step = self.correlation.target_step[2]
        if step == 1 and count == value.type.lanes:
            self.store(value, target, offset)
            return
        for i in range(count):
            self.store(pick_lanes(value, [i]), target, offset + i * step)
