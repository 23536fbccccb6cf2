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
from wengert.compiler.products.tile import Sums, smaller
from wengert.compiler.routines.convolution.blocks import estimate_cycles, find_cheapest, fit_lanes
from wengert.compiler.routines.convolution.buffer import Buffer
from wengert.compiler.routines.convolution.correlation import Geometry, Tap
from wengert.compiler.routines.convolution.parts import PartWriter
from wengert.compiler.simd.lane_operations import first_lanes, fold_lanes, load_masked
from wengert.compiler.simd.lanes import Lanes, select, split_index
from wengert.compiler.simd.types import I64, Type
from wengert.core import machine
from wengert.ops.signal.window_arguments import reach


class FilterWriter(PartWriter):
    """Writes the sums of a part: blocks of filters for each channel.

    A block has `filters` filters, and as many taps as one of the `cuts` of the taps; the blocks of a cut differ by
    shifts alone. So many elements of the batch are added up together, or `strip` elements of a long axis: as many as
    stay in the cache with the cotangents of a few filters, whatever the block.
    """

    def __init__(self, geometry: Geometry):
        g, now = geometry, machine.current
        self.geometry, nbytes = g, Type(g.kind).align
        super().__init__(g.kind, fit_lanes(sum_lanes(nbytes), g.positions[2]))
        self.name, self.products = f"wengert.convolution.filters.{g.name}", g.products
        windows = zip(g.positions, g.stride, reach(g.size, g.dilation), strict=True)
        extents = tuple([(n - 1) * s + extent for n, s, extent in windows])
        is_inside = max(g.before) == 0 and all(end <= n for end, n in zip(extents, g.lengths, strict=True))
        first = tuple([-before for before in g.before])
        self.buffer = Buffer(g.kind, g.lengths, first, extents, g.stride[2], is_inside and g.stride[2] == 1)
        registers = vector_registers() // max(self.lanes * nbytes // vector_bytes(), 1)  # of the length of a sum
        self.filters, self.cuts = self.best_block(registers)
        self.blocks = -(-g.filters // self.filters)
        self.strip_axis = 0 if g.positions[0] > 1 else 1
        self.strip = g.positions[self.strip_axis]
        most = now.bytes_of_filter_sums
        self.together = min(max(most // self.bytes_of(self.strip), 1), g.batch)
        while self.strip > now.min_positions_of_filter_strip and self.bytes_of(self.strip) > most:
            self.strip = -(-self.strip // 2)
        room = 0 if self.buffer.is_direct else self.together * self.buffer.channel
        self.parts = self.make_parts(g.stack * g.groups * g.channels, room)

    def bytes_of(self, strip: int) -> int:
        """What a few filters read for a strip of one element of the batch."""
        g, axis = self.geometry, self.strip_axis
        filters = min(g.filters, machine.current.filters_of_filter_sums)
        rows = math.prod(g.positions) // g.positions[axis] * strip
        row = self.buffer.channel // (self.buffer.source if self.buffer.is_direct else self.buffer.extents)[axis]
        seen = (strip - 1) * g.stride[axis] + reach(g.size, g.dilation)[axis]
        return (filters * rows + seen * row) * self.element.align

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
        ways = [[range(end)] for end in dict.fromkeys((count, g.size[1] * width))]
        ways += [cut_evenly(width, number) for number in range(1, width + 1)]
        blocks = [
            (filters, cuts)
            for cuts in ways
            for filters in range(1, min(g.filters, machine.current.max_filters_of_sum_block) + 1)
            if filters * (most := max(map(len, cuts))) + filters + 1 <= registers or filters == most == 1
        ]

        def cycles(block: tuple[int, list[range]]) -> float:
            filters, cuts = block
            each = [estimate_cycles(filters * len(cut), 1.2 * len(cut) + filters) for cut in cuts]
            return sum(each) * (count // cuts[-1].stop) * -(-g.filters // filters)

        return find_cheapest(blocks, cycles)

    def write_units(self) -> None:
        """A few elements of the batch at a time: copy a channel of the signals, and add up its blocks."""
        code, g, whole = self.code, self.geometry, self.geometry.filters // self.filters
        with code.loop(0, g.batch, self.together) as some, self.lots() as (channel, low, high):
            stop = smaller(some + self.together, g.batch)
            if self.parts.room:
                self.copy_signals(channel, some, stop)
            with code.loop(0, g.positions[self.strip_axis], self.strip) as row:
                with code.loop(low, smaller(high, whole)) as number:
                    self.write_block(self.filters, number * self.filters, channel, some, stop, row)
                if whole < self.blocks:
                    with code.when(high > whole):
                        begin = code.constant(whole * self.filters, I64)
                        self.write_block(g.filters - whole * self.filters, begin, channel, some, stop, row)

    def copy_signals(self, channel: Lanes, some: Lanes, stop: Lanes) -> None:
        """Copy a channel of some elements of the batch."""
        code, buffer = self.code, self.buffer
        starts = code.constant(buffer.first[0], I64), code.constant(buffer.first[1], I64)
        with code.loop(some, stop) as n:
            target = self.at(self.memory, (n - some) * buffer.channel)
            buffer.write_copy(code, target, self.signal_address(n, channel), starts)

    def signal_address(self, n: Lanes, channel: Lanes) -> Lanes:
        """The address of one channel of one element of the batch."""
        g = self.geometry
        item, inner = split_index(channel, g.groups * g.channels)
        number = n if g.is_shared[0] else item * g.batch + n
        return self.at(self.source, (number * (g.groups * g.channels) + inner) * math.prod(g.lengths))

    def write_block(self, filters: int, first: Lanes, channel: Lanes, some: Lanes, stop: Lanes, row: Lanes) -> None:
        """Some filters, from the one with number `first`, and all taps of a channel, from a row of the strip axis."""
        code, g, axis = self.code, self.geometry, self.strip_axis
        item, group, inner = split_index(channel, g.groups, g.channels)
        end = smaller(row + self.strip, g.positions[axis])
        bounds = [(row, end) if i == axis else (row.like(0), row.like(g.positions[i])) for i in (0, 1)]
        is_first = some.eq(0) & row.eq(0)
        period = self.cuts[-1].stop
        for cut in self.cuts:
            head, *_ = heads = self.taps[cut[0] :: period]
            near = [Tap(tap.shift - head.shift, tap.offset - head.offset) for tap in self.taps[cut[0] : cut.stop]]
            tables = [code.numbers(I64, numbers) for numbers in zip(*heads, strict=True)]
            with code.loop(0, len(heads)) as k:
                shift, offset = [code.load(code.offset(table, k, I64), I64) for table in tables]
                sums = Sums(code, self.vector, [[0.0] * filters] * len(near))
                with code.loop(some, stop) as n, code.loop(*bounds[0]) as z, code.loop(*bounds[1]) as y:
                    if self.buffer.is_direct:
                        base = self.signal_address(n, channel)
                    else:
                        base = self.at(self.memory, (n - some) * self.buffer.channel)
                    moved = z * (g.stride[0] * self.buffer.plane) + y * (g.stride[1] * self.buffer.row) + shift
                    cotangent = self.at(self.factor, self.position_index(n, item, group, first, z, y))
                    self.add_row(sums, near, self.at(base, moved), cotangent)
                volume = math.prod(g.size)
                index = (((item * g.groups + group) * g.filters + first) * g.channels + inner) * volume + offset
                for tap, totals in zip(near, sums.values, strict=True):
                    for i, total in enumerate(totals):
                        address = self.at(self.target, index + (i * g.channels * volume + tap.offset))
                        folded = fold_lanes(lambda a, b: a + b, total)
                        before = code.load(address, self.element)
                        code.store(select(is_first, folded, before + folded), address)

    def position_index(self, n: Lanes, item: Lanes, group: Lanes, first: Lanes, z: Lanes, y: Lanes) -> Lanes:
        """The index of the first result of a row."""
        g = self.geometry
        number = n if g.is_shared[1] else item * g.batch + n
        row = ((number * g.groups + group) * g.filters + first) * g.positions[0] + z
        return (row * g.positions[1] + y) * g.positions[2]

    def add_row(self, sums: Sums, taps: Sequence[Tap], source: Lanes, cotangent: Lanes) -> None:
        """Add the products of a row."""
        code, lanes, width = self.code, self.lanes, self.geometry.positions[2]
        whole, count = width // lanes * lanes, sum(map(len, sums.variables))

        def add(x: Lanes | int, left: int = lanes) -> None:
            """Add the products of one vector, or of its first elements."""
            volume, mask = math.prod(self.geometry.positions), first_lanes(code, left, lanes)

            def read(base: Lanes, offset: int) -> Lanes:
                address = self.at(self.at(base, x), offset)
                if left == lanes:
                    return code.load(address, self.vector, self.element.align)
                return load_masked(address, self.vector, self.element.align, mask)

            filters = [read(cotangent, i * volume) for i in range(len(sums.variables[0]))]
            sums.add((read(source, tap.shift) for tap in taps), filters)

        if -(-width // lanes) * count <= machine.current.max_unrolled_products_of_filter_row:
            for start in range(0, whole, lanes):
                add(start)
        else:
            with code.loop(0, whole, lanes) as x:
                add(x)
        if whole < width:
            add(whole, width - whole)


def cut_evenly(extent: int, number: int) -> list[range]:
    """So many ranges of almost equal lengths.

    >>> cut_evenly(7, 2)
    [range(0, 4), range(4, 7)]
    """
    ends = [-(-extent * i // number) for i in range(number + 1)]
    return [range(begin, end) for begin, end in zip(ends, ends[1:], strict=False)]
