"""Writes the cotangents of filters: sums over a batch and its positions, in vectors along rows.

A block has a few filters and a few taps of one channel. Vectors of the results' cotangents are multiplied by vectors of
the signals at shifted positions; lanes are added up after some elements of the batch. What a row has left is read
through a mask, from both operands, so that infinities next to it do not count. Threads share the channels and filters,
and each element is summed in the order of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import product

from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.routines.convolution.blocks import LATENCY, LOADS, OVERHEAD, lanes_of, register_count
from wengert.compiler.routines.convolution.buffer import Buffer
from wengert.compiler.routines.convolution.correlation import Geometry, Tap
from wengert.compiler.routines.convolution.sums import PIECES, WORK, write_table
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import fold_lanes, load_masked
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.ops.signal.window_arguments import reach

TOGETHER = 3 << 13
"""The bytes of signals and cotangents that a block reads before lanes are added up: they stay in the first cache."""
UNROLLED_ROW = 72
"""The largest number of products of a row that are written out."""


class FilterSums:
    """How the cotangents of filters are cut: `block` has the numbers of filters and of taps."""

    def __init__(self, geometry: Geometry):
        g = self.geometry = geometry
        self.name = f"wengert.convolution.filters.{g.name}"
        self.lanes = lanes_of(g.kind, g.positions[2])
        windows = zip(g.positions, g.stride, reach(g.size, g.dilation), strict=True)
        extents = tuple([(n - 1) * s + extent for n, s, extent in windows])
        is_inside = max(g.before) == 0 and all(end <= n for end, n in zip(extents, g.lengths, strict=True))
        first = tuple([-before for before in g.before])
        self.buffer = Buffer(g.kind, g.lengths, first, extents, g.stride[2], is_inside and g.stride[2] == 1)
        self.block = self.best_block()
        self.filter_blocks = -(-g.filters // self.block[0])
        self.count = g.groups * g.channels * self.filter_blocks
        element = Type(g.kind).align
        seen = (self.block[0] * math.prod(g.positions) + self.buffer.channel) * element
        self.together = min(max(TOGETHER // seen, 1), g.batch)

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

    def best_block(self) -> tuple[int, int]:
        """The block of the least estimated time."""
        g = self.geometry
        found, least = (1, 1), math.inf
        for taps in {1, g.size[2], g.size[1] * g.size[2], math.prod(g.size)}:
            for filters in range(1, min(g.filters, 8) + 1):
                sums = filters * taps
                if sums + filters + 1 > register_count():
                    break
                cycles = max(sums / 2, LOADS * (1.2 * taps + filters), LATENCY) + OVERHEAD
                time = -(-g.filters // filters) * math.prod(g.size) // taps * cycles
                if time < 0.98 * least:
                    found, least = (filters, taps), time
        return found

    @property
    def grain(self) -> int:
        """Parts are multiples of this."""
        return -(-self.count // PIECES)

    @property
    def room(self) -> int:
        """The elements of the buffer of one part."""
        return 0 if self.buffer.is_direct else self.together * self.buffer.channel

    @property
    def workspace(self) -> int:
        """The bytes of all buffers."""
        return -(-self.count // self.grain) * self.room * Type(self.geometry.kind).align


def write_filter_sums(call: RoutineCall, sums: FilterSums) -> None:
    """Add up the cotangents of filters, on all cores if they are many."""
    name = sums.name
    call.define(name, ("ptr %table", "i64 %begin", "i64 %end"), lambda code: FilterWriter(code, sums).write())
    source, cotangent = [operand.pointer for operand in call.operands]
    workspace = call.workspace if call.workspace is not None else source
    pointers = [source, cotangent, call.result, workspace]
    call.run_on_all_cores(name, pointers, sums.count, sums.grain, int(WORK * sums.geometry.products))


class FilterWriter:
    """Writes the function of a part of the channels and filters."""

    def __init__(self, code: Code, sums: FilterSums):
        self.code, self.sums, self.geometry, self.buffer = code, sums, sums.geometry, sums.buffer
        self.element = Type(self.geometry.kind)
        self.vector = Type(self.geometry.kind, sums.lanes)
        table = Lanes(code, "%table", PTR)
        self.source, self.cotangent, self.target, workspace = [
            code.load(code.offset(table, i, PTR), PTR) for i in range(4)
        ]
        self.begin, self.end = Lanes(code, "%begin", I64), Lanes(code, "%end", I64)
        part = code.add(f"sdiv {self.begin.typed}, {sums.grain}", I64)
        self.memory = code.offset(workspace, part * sums.room, self.element)

    def write(self) -> None:
        """A few elements of the batch at a time: copy a channel of the signals, and add up its blocks."""
        code, sums, g = self.code, self.sums, self.geometry
        if sums.room:
            code.clear(self.memory, sums.room * self.element.align)
        blocks, (filters, _) = sums.filter_blocks, sums.block
        first = code.add(f"sdiv {self.begin.typed}, {blocks}", I64)
        last = code.add(f"sdiv {(self.end + (blocks - 1)).typed}, {blocks}", I64)
        with code.loop(0, g.batch, sums.together) as some, code.loop(first, last) as channel:
            stop = code.intrinsic("smin", I64, some + sums.together, some.like(g.batch))
            start = channel * blocks
            low = code.intrinsic("smax", I64, self.begin - start, start.like(0))
            high = code.intrinsic("smin", I64, self.end - start, start.like(blocks))
            if sums.room:
                self.copy_signals(channel, some, stop)
            whole = g.filters // filters
            with code.loop(low, code.intrinsic("smin", I64, high, high.like(whole))) as number:
                self.write_block(filters, number * filters, channel, some, stop)
            if whole < blocks:
                with code.when(high > whole):
                    rest = g.filters - whole * filters
                    self.write_block(rest, code.constant(whole * filters, I64), channel, some, stop)

    def copy_signals(self, channel: Lanes, some: Lanes, stop: Lanes) -> None:
        """Copy a channel of some elements of the batch."""
        code, buffer = self.code, self.buffer
        starts = code.constant(buffer.first[0], I64), code.constant(buffer.first[1], I64)
        with code.loop(some, stop) as n:
            source = self.signal_address(n, channel)
            target = code.offset(self.memory, (n - some) * buffer.channel, self.element)
            buffer.write_copy(code, target, source, starts)

    def signal_address(self, n: Lanes, channel: Lanes) -> Lanes:
        """The address of one channel of one element of the batch."""
        g = self.geometry
        index = (n * (g.groups * g.channels) + channel) * math.prod(g.lengths)
        return self.code.offset(self.source, index, self.element)

    def write_block(self, filters: int, first: Lanes, channel: Lanes, some: Lanes, stop: Lanes) -> None:
        """Some filters, from the one with number `first`, and all taps of a channel."""
        code, g, (_, count) = self.code, self.geometry, self.sums.block
        taps = self.sums.taps
        group = code.add(f"sdiv {channel.typed}, {g.channels}", I64)
        inner = code.add(f"srem {channel.typed}, {g.channels}", I64)
        near = [Tap(tap.shift - taps[0].shift, tap.offset - taps[0].offset) for tap in taps[:count]]
        heads = taps[::count]
        tables = [write_table(code, f"{self.sums.name}.{name}", values) for name, values in tap_columns(heads)]
        with code.loop(0, len(heads)) as k:
            shift, offset = [code.load(code.offset(table, k, I64), I64) for table in tables]
            totals = [[Variable(code, self.vector, 0.0) for _ in near] for _ in range(filters)]
            with code.loop(some, stop) as n, code.loop(0, g.positions[0]) as z, code.loop(0, g.positions[1]) as y:
                cotangent = code.offset(self.cotangent, self.position_index(n, group, first, z, y), self.element)
                if self.buffer.is_direct:
                    base = self.signal_address(n, channel)
                else:
                    base = code.offset(self.memory, (n - some) * self.buffer.channel, self.element)
                moved = z * (g.stride[0] * self.buffer.plane) + y * (g.stride[1] * self.buffer.row) + shift
                self.add_row(totals, near, code.offset(base, moved, self.element), cotangent)
            for i, of_filter in enumerate(totals):
                index = ((group * g.filters + first + i) * g.channels + inner) * math.prod(g.size) + offset
                for tap, total in zip(near, of_filter, strict=True):
                    address = code.offset(self.target, index + tap.offset, self.element)
                    folded = fold_lanes(lambda a, b: a + b, total.load())
                    before = code.load(address, self.element)
                    code.store(select(some.eq(0), folded, before + folded), address)

    def position_index(self, n: Lanes, group: Lanes, first: Lanes, z: Lanes, y: Lanes) -> Lanes:
        """The index of the first result of a row."""
        g = self.geometry
        row = ((n * g.groups + group) * g.filters + first) * g.positions[0] + z
        return (row * g.positions[1] + y) * g.positions[2]

    def add_row(self, totals: list[list[Variable]], taps: Sequence[Tap], source: Lanes, cotangent: Lanes) -> None:
        """Add the products of a row."""
        code, lanes, width = self.code, self.vector.lanes, self.geometry.positions[2]
        whole = width // lanes * lanes
        at = lambda base, x: code.offset(base, x, self.element)
        if -(-width // lanes) * len(totals) * len(taps) <= UNROLLED_ROW:
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
            bits = ", ".join([f"i1 {int(i < count)}" for i in range(self.vector.lanes)])
            return load_masked(address, self.vector, align, Lanes(code, f"<{bits}>", self.vector.of("i1")))

        t = [read(cotangent, i * volume) for i in range(len(totals))]
        for j, tap in enumerate(taps):
            x = read(source, tap.shift)
            for of_filter, factor in zip(totals, t, strict=True):
                of_filter[j].store(fma(factor, x, of_filter[j].load()))


def tap_columns(taps: Sequence[Tap]) -> list[tuple[str, list[int]]]:
    """The shifts and the offsets of taps, with names."""
    return [("shifts", [tap.shift for tap in taps]), ("offsets", [tap.offset for tap in taps])]
