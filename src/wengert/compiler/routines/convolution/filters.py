"""Writes the cotangents of filters: sums over a batch and its positions, in vectors along rows.

A block has a few filters and a few taps of one channel. Vectors of the results' cotangents are multiplied by vectors of
the signals at shifted positions; lanes are added up after some elements of the batch, or some rows of one, which stay
in the first cache meanwhile. What a row has left is read through a mask, from both operands, so that infinities next to
it do not count. Threads share the channels and filters, and each element is summed in the order of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import product

from wengert.compiler.machine.target import sum_lanes, vector_bytes, vector_registers
from wengert.compiler.routines.convolution.blocks import estimate_cycles, fit_lanes
from wengert.compiler.routines.convolution.buffer import Buffer
from wengert.compiler.routines.convolution.correlation import Geometry, Tap
from wengert.compiler.routines.convolution.parts import Parts, PartWriter, divide
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import first_lanes, fold_lanes, load_masked
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.types import I64, Type
from wengert.core import machine
from wengert.ops.signal.window_arguments import reach


class FilterParts(Parts):
    """The units of work: blocks of filters for each channel.

    A block has `filters` filters, and as many taps as one of the `cuts` of the taps; the blocks of a cut differ by
    shifts alone. So many elements of the batch are added up together, or `strip` elements of a long axis.
    """

    def __init__(self, geometry: Geometry):
        g = self.geometry = geometry
        nbytes, now = Type(g.kind).align, machine.current
        lanes = fit_lanes(sum_lanes(nbytes), g.positions[2])
        windows = zip(g.positions, g.stride, reach(g.size, g.dilation), strict=True)
        extents = tuple([(n - 1) * s + extent for n, s, extent in windows])
        is_inside = max(g.before) == 0 and all(end <= n for end, n in zip(extents, g.lengths, strict=True))
        first = tuple([-before for before in g.before])
        self.buffer = Buffer(g.kind, g.lengths, first, extents, g.stride[2], is_inside and g.stride[2] == 1)
        registers = vector_registers() // max(lanes * nbytes // vector_bytes(), 1)  # of the length of a sum
        self.filters, self.cuts = self.best_block(registers)
        self.filter_blocks = -(-g.filters // self.filters)
        self.strip_axis = 0 if g.positions[0] > 1 else 1
        self.strip = g.positions[self.strip_axis]
        filters, _ = self.best_block(now.filter_sum_registers)
        most = now.bytes_of_filter_sums
        self.together = min(max(most // self.bytes_of(self.strip, filters), 1), g.batch)
        while self.strip > now.min_positions_of_filter_strip and self.bytes_of(self.strip, filters) > most:
            self.strip = -(-self.strip // 2)
        count = g.stack * g.groups * g.channels * self.filter_blocks
        room = 0 if self.buffer.is_direct else self.together * self.buffer.channel
        super().__init__(f"wengert.convolution.filters.{g.name}", g.kind, lanes, count, room, g.products)

    def bytes_of(self, strip: int, filters: int) -> int:
        """What a block of so many filters reads for a strip of one element of the batch."""
        g, axis = self.geometry, self.strip_axis
        rows = math.prod(g.positions) // g.positions[axis] * strip
        row = self.buffer.channel // (self.buffer.source if self.buffer.is_direct else self.buffer.extents)[axis]
        seen = (strip - 1) * g.stride[axis] + reach(g.size, g.dilation)[axis]
        return (filters * rows + seen * row) * Type(g.kind).align

    @cached_property
    def taps(self) -> list[Tap]:
        """All taps, with their offsets in the buffer and in a filter."""
        g = self.geometry
        return [
            Tap(
                self.buffer.offset(tuple([i * d for i, d in zip(index, g.dilation, strict=True)])),
                sum([i * n for i, n in zip(index, g.elements, strict=True)]),
            )
            for index in product(*map(range, g.size))
        ]

    def best_block(self, registers: int) -> tuple[int, list[range]]:
        """The number of filters and the cuts of the least estimated time, with so many registers.

        A cut is a range of taps, which is repeated with the period of the last cut's end: a part of a row of taps.
        """
        g = self.geometry
        width, count = g.size[2], math.prod(g.size)
        ways = [[range(end)] for end in {count, g.size[1] * width}]
        ways += [cut_evenly(width, number) for number in range(1, width + 1)]
        found, least = (1, ways[-1]), math.inf
        for cuts in ways:
            most = max(map(len, cuts))
            for filters in range(1, min(g.filters, machine.current.max_filters_of_sum_block) + 1):
                if filters * most + filters + 1 > registers:
                    break
                time = sum([block_cycles(filters, len(cut)) for cut in cuts]) * (count // cuts[-1].stop)
                time *= -(-g.filters // filters)
                if time < 0.98 * least:
                    found, least = (filters, cuts), time
        return found


def cut_evenly(extent: int, number: int) -> list[range]:
    """So many ranges of almost equal lengths.

    >>> cut_evenly(7, 2)
    [range(0, 4), range(4, 7)]
    """
    ends = [-(-extent * i // number) for i in range(number + 1)]
    return [range(begin, end) for begin, end in zip(ends, ends[1:], strict=False)]


def block_cycles(filters: int, taps: int) -> float:
    """The estimated time of the products of a block."""
    return estimate_cycles(filters * taps, 1.2 * taps + filters)


class FilterWriter(PartWriter):
    """Writes the sums of a part of the channels and filters."""

    def __init__(self, code: Code, parts: FilterParts):
        super().__init__(code, parts)
        self.parts, self.geometry, self.buffer = parts, parts.geometry, parts.buffer

    def write(self) -> None:
        """A few elements of the batch at a time: copy a channel of the signals, and add up its blocks."""
        code, parts, g = self.code, self.parts, self.geometry
        blocks, whole = parts.filter_blocks, g.filters // parts.filters
        first = code.add(f"sdiv {self.begin.typed}, {blocks}", I64)
        last = code.add(f"sdiv {(self.end + (blocks - 1)).typed}, {blocks}", I64)
        with code.loop(0, g.batch, parts.together) as some, code.loop(first, last) as channel:
            stop = code.intrinsic("smin", I64, some + parts.together, some.like(g.batch))
            start = channel * blocks
            low = code.intrinsic("smax", I64, self.begin - start, start.like(0))
            high = code.intrinsic("smin", I64, self.end - start, start.like(blocks))
            if parts.room:
                self.copy_signals(channel, some, stop)
            with code.loop(0, g.positions[parts.strip_axis], parts.strip) as row:
                with code.loop(low, code.intrinsic("smin", I64, high, high.like(whole))) as number:
                    self.write_block(parts.filters, number * parts.filters, channel, some, stop, row)
                if whole < blocks:
                    with code.when(high > whole):
                        rest = g.filters - whole * parts.filters
                        begin = code.constant(whole * parts.filters, I64)
                        self.write_block(rest, begin, channel, some, stop, row)

    def copy_signals(self, channel: Lanes, some: Lanes, stop: Lanes) -> None:
        """Copy a channel of some elements of the batch."""
        code, buffer = self.code, self.buffer
        starts = code.constant(buffer.first[0], I64), code.constant(buffer.first[1], I64)
        with code.loop(some, stop) as n:
            source = self.signal_address(n, channel)
            target = code.offset(self.memory, (n - some) * buffer.channel, self.element)
            buffer.write_copy(code, target, source, starts)

    def split_channel(self, channel: Lanes) -> tuple[Lanes, Lanes, Lanes]:
        """The item of the stack, the group and the channel in it."""
        g = self.geometry
        group, inner = divide(channel, g.channels)
        return (*divide(group, g.groups), inner)

    def signal_address(self, n: Lanes, channel: Lanes) -> Lanes:
        """The address of one channel of one element of the batch."""
        g = self.geometry
        item, inner = divide(channel, g.groups * g.channels)
        number = n if g.is_shared[0] else item * g.batch + n
        index = (number * (g.groups * g.channels) + inner) * math.prod(g.lengths)
        return self.code.offset(self.source, index, self.element)

    def write_block(self, filters: int, first: Lanes, channel: Lanes, some: Lanes, stop: Lanes, row: Lanes) -> None:
        """Some filters, from the one with number `first`, and all taps of a channel, from a row of the strip axis."""
        code, g, taps = self.code, self.geometry, self.parts.taps
        item, group, inner = self.split_channel(channel)
        end = code.intrinsic("smin", I64, row + self.parts.strip, row.like(g.positions[self.parts.strip_axis]))
        bounds = [(row, end) if i == self.parts.strip_axis else (row.like(0), row.like(g.positions[i])) for i in (0, 1)]
        is_first = some.eq(0) & row.eq(0)
        period = self.parts.cuts[-1].stop
        for cut in self.parts.cuts:
            head = taps[cut[0]]
            near = [Tap(tap.shift - head.shift, tap.offset - head.offset) for tap in taps[cut[0] : cut.stop]]
            heads = taps[cut[0] :: period]
            name = f"{self.parts.name}.{code.name()[1:]}"
            shifts = self.table(f"{name}.shifts", [tap.shift for tap in heads])
            offsets = self.table(f"{name}.offsets", [tap.offset for tap in heads])
            with code.loop(0, len(heads)) as k:
                shift, offset = [code.load(code.offset(table, k, I64), I64) for table in (shifts, offsets)]
                totals = [[Variable(code, self.vector, 0.0) for _ in near] for _ in range(filters)]
                with code.loop(some, stop) as n, code.loop(*bounds[0]) as z, code.loop(*bounds[1]) as y:
                    results = self.position_index(n, item, group, first, z, y)
                    if self.buffer.is_direct:
                        base = self.signal_address(n, channel)
                    else:
                        base = code.offset(self.memory, (n - some) * self.buffer.channel, self.element)
                    moved = z * (g.stride[0] * self.buffer.plane) + y * (g.stride[1] * self.buffer.row) + shift
                    cotangent = code.offset(self.factor, results, self.element)
                    self.add_row(totals, near, code.offset(base, moved, self.element), cotangent)
                for i, of_filter in enumerate(totals):
                    number = (item * g.groups + group) * g.filters + first + i
                    index = (number * g.channels + inner) * math.prod(g.size) + offset
                    for tap, total in zip(near, of_filter, strict=True):
                        address = code.offset(self.target, index + tap.offset, self.element)
                        folded = fold_lanes(lambda a, b: a + b, total.load())
                        before = code.load(address, self.element)
                        code.store(select(is_first, folded, before + folded), address)

    def position_index(self, n: Lanes, item: Lanes, group: Lanes, first: Lanes, z: Lanes, y: Lanes) -> Lanes:
        """The index of the first result of a row."""
        g = self.geometry
        number = n if g.is_shared[1] else item * g.batch + n
        row = ((number * g.groups + group) * g.filters + first) * g.positions[0] + z
        return (row * g.positions[1] + y) * g.positions[2]

    def add_row(self, totals: list[list[Variable]], taps: Sequence[Tap], source: Lanes, cotangent: Lanes) -> None:
        """Add the products of a row."""
        code, lanes, width = self.code, self.vector.lanes, self.geometry.positions[2]
        whole = width // lanes * lanes
        at = lambda base, x: code.offset(base, x, self.element)
        if -(-width // lanes) * len(totals) * len(taps) <= machine.current.max_unrolled_products_of_filter_row:
            for start in range(0, whole, lanes):
                self.add_products(totals, taps, at(source, start), at(cotangent, start))
        else:
            with code.loop(0, whole, lanes) as x:
                self.add_products(totals, taps, at(source, x), at(cotangent, x))
        if whole < width:
            self.add_products(totals, taps, at(source, whole), at(cotangent, whole), width - whole)

    def add_products(
        self, totals: list[list[Variable]], taps: Sequence[Tap], source: Lanes, cotangent: Lanes, count: int = 0
    ) -> None:
        """Add the products of one vector, or of its first elements if there is a `count`."""
        code, align = self.code, self.element.align
        volume = math.prod(self.geometry.positions)

        def read(base: Lanes, offset: int) -> Lanes:
            address = code.offset(base, offset, self.element)
            if not count:
                return code.load(address, self.vector, align)
            return load_masked(address, self.vector, align, first_lanes(code, count, self.vector.lanes))

        t = [read(cotangent, i * volume) for i in range(len(totals))]
        for j, tap in enumerate(taps):
            x = read(source, tap.shift)
            for of_filter, factor in zip(totals, t, strict=True):
                of_filter[j].store(fma(factor, x, of_filter[j].load()))
