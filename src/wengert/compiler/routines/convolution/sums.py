"""Writes correlations: blocks of sums stay in registers while channels and taps are added up.

Lanes run along rows of the target. A tap is a vector of the source, at a shifted position, times one element of the
filters in all lanes; so each element of the target is summed in the same order, whatever the vectors and threads. The
last vector of a row is moved back to end with it, and narrow rows are written through a mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import product

from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.convolution.blocks import UNROLLED, RegisterBlock, cut_of
from wengert.compiler.routines.convolution.correlation import AxisPhase, Correlation, Tap
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import pick_lanes, splat
from wengert.compiler.simd.lanes import Code, Lanes, fma
from wengert.compiler.simd.types import I64, PTR, Type

PIECES = 32
"""The largest number of parts that run at the same time, each with its own buffer."""
FILTERS_IN_CACHE = 1 << 14
"""Bytes of filters that stay in the first cache with the rows that they are multiplied by."""
WORK = 0.5
"""The scalar operations, in the measure of threads, that take as long as one product."""


def write_table(code: Code, name: str, numbers: Sequence[int]) -> Lanes:
    """The address of constants."""
    symbol, values = f'@"{name}"', ", ".join([f"i64 {n}" for n in numbers])
    code.declarations[symbol] = f"{symbol} = private unnamed_addr constant [{len(numbers)} x i64] [{values}]"
    return Lanes(code, symbol, PTR)


class Units:
    """The units of work: blocks of target channels, for each strip of each group of each element of the batch."""

    def __init__(self, correlation: Correlation):
        self.correlation, self.cut = correlation, cut_of(correlation)
        self.channels = max([block.channels for block in self.cut.blocks])
        self.channel_blocks = -(-correlation.target_channels // self.channels)
        self.strips = self.cut.strips(correlation)
        self.count = correlation.batch * correlation.groups * self.strips * self.channel_blocks

    @property
    def grain(self) -> int:
        """Parts are multiples of this."""
        return -(-self.count // PIECES)

    @property
    def room(self) -> int:
        """The elements of the buffer of one part, with some that vectors read behind the last row."""
        buffer = self.cut.buffer
        return 0 if buffer.is_direct else buffer.channel * self.correlation.source_channels + self.cut.lanes

    @property
    def workspace(self) -> int:
        """The bytes of all buffers."""
        return -(-self.count // self.grain) * self.room * Type(self.correlation.kind).align


def write_correlation(call: RoutineCall, correlation: Correlation, source: Lanes, filters: Lanes) -> None:
    """Add up a correlation, on all cores if it is large."""
    units = Units(correlation)
    name = correlation.name
    call.define(name, ("ptr %table", "i64 %begin", "i64 %end"), lambda code: SumWriter(code, units).write())
    workspace = call.workspace if call.workspace is not None else source
    pointers = [source, filters, call.result, workspace]
    call.run_on_all_cores(name, pointers, units.count, units.grain, int(WORK * correlation.products))


class SumWriter:
    """Writes the function of a part of the units."""

    def __init__(self, code: Code, units: Units):
        self.code, self.units, self.correlation, self.cut = code, units, units.correlation, units.cut
        self.element = Type(self.correlation.kind)
        self.vector = Type(self.correlation.kind, self.cut.lanes)
        table = Lanes(code, "%table", PTR)
        self.source, self.filters, self.target, workspace = [
            code.load(code.offset(table, i, PTR), PTR) for i in range(4)
        ]
        self.begin, self.end = Lanes(code, "%begin", I64), Lanes(code, "%end", I64)
        part = code.add(f"sdiv {self.begin.typed}, {units.grain}", I64)
        self.memory = code.offset(workspace, part * units.room, self.element)

    def write(self) -> None:
        """Copy the source of each strip, and add up its blocks."""
        code, units = self.code, self.units
        if units.room:
            code.clear(self.memory, units.room * self.element.align)
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
        lot = code.add(f"sdiv {number.typed}, {self.units.strips}", I64)
        strip = code.add(f"srem {number.typed}, {self.units.strips}", I64)
        group = code.add(f"srem {lot.typed}, {c.groups}", I64)
        start = code.intrinsic("smin", I64, strip * cut.strip, strip.like(c.counts[cut.strip_axis] - cut.strip))
        origin = self.copy_source(lot, start)
        filters = code.offset(self.filters, group * c.strides[0], self.element)
        volume = c.target[0] * c.target[1] * c.target[2]
        target = code.offset(self.target, lot * (c.target_channels * volume), self.element)
        for phase, block in zip(c.phases, cut.blocks, strict=True):
            self.write_phase(phase, block, origin, filters, target, start, low, high)

    def copy_source(self, lot: Lanes, start: Lanes) -> Lanes:
        """The address of what the strip needs of the source, in its buffer or where it is."""
        code, c, buffer = self.code, self.correlation, self.cut.buffer
        size = c.source[0] * c.source[1] * c.source[2]
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
        is_in_cache = c.strides[0] * self.element.align <= FILTERS_IN_CACHE
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
        taps = self.taps_of(phase)
        inner = len(taps) if len(taps) <= UNROLLED else len(phase[2].taps)
        if inner > UNROLLED:
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
                    shifts = write_table(code, f"{name}.shifts", [tap.shift for tap in heads])
                    offsets = write_table(code, f"{name}.offsets", [tap.offset for tap in heads])
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
        """All taps, with their offsets in the buffer and in the filters; those of the last axis follow each other."""
        low = self.correlation.lowest
        return [
            Tap(
                self.cut.buffer.offset(tuple([tap.shift - first for tap, first in zip(taps, low, strict=True)])),
                sum([tap.offset for tap in taps]),
            )
            for taps in product(*[axis.taps for axis in phase])
        ]

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
