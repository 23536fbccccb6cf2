"""Scatters: what a kernel writes or adds at computed indices, in vectors, and on all cores.

The last axes of a selection that only slices select are rows: their elements have different targets, and are added as
vectors. If there are none, values and indices are computed in lanes, and lanes are added one after the other, because
their targets may be equal.

Each thread fills a range of the result and adds what belongs there: it computes all indices, and the values of those in
its range. So all elements of one target are added in the order of the loop, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from wengert.compiler.schedule.affine import ZERO, Affine
from wengert.compiler.schedule.gather import IndexedPosition, Written
from wengert.compiler.simd.lane_operations import any_lane
from wengert.compiler.simd.lanes import I64, Lanes, Type, select
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.compiler.kernels.kernel import KernelWriter


class ScatterWriter:
    """Writes the loops of the scatters of one kernel."""

    def __init__(self, writer: KernelWriter, begin: Lanes, end: Lanes):
        self.writer, self.begin, self.end = writer, begin, end
        self.plan, self.code, self.elements = writer.plan, writer.code, writer.elements
        self.scatters = [(node, Written.by(node)) for node in writer.kernel.scatters]
        assert writer.kernel.scatter is not None
        self.out = writer.kernel.scatter
        self.type = Type.from_dtype(self.out.dtype)
        self.target = self.elements.pointers.target(self.out)

    def write(self) -> None:
        """Fill a part of the result; then the loops over what is written, rows innermost."""
        plan = self.plan
        self.fill()
        fresh: Lanes | None = None
        with ExitStack() as loops:
            units: list[Lanes] = []
            for axis in plan.kept_axes:
                if axis in plan.row_axes and not units:
                    units = self.find_units(loops)
                is_split = plan.is_split_along_loop and axis == plan.kept_axes[0]
                bounds = (self.begin, self.end) if is_split else (0, plan.domain[axis])
                i = loops.enter_context(self.writer.axis_loop(axis, *bounds))
                if axis == plan.vector_axis:
                    fresh = i
            units = units or self.find_units(loops)
            if plan.vector_axis is not None and plan.vector_axis not in plan.row_axes:
                assert fresh is not None
                self.write_lanes(units, fresh)
            else:
                self.write_row(units, fresh)

    def fill(self) -> None:
        """Copy what is updated to the result, unless it is there, or fill it with zeros."""
        code, memory, base = self.code, self.writer.memory, self.writer.kernel.scatter_base
        if self.out in memory.taken:
            return
        size = self.out.nbytes // self.plan.parts[0]
        first, count = self.begin * size, (self.end - self.begin) * size
        part = code.offset(self.target, first, Type("i8"))
        if base is None:
            code.clear(part, count)
        else:
            code.copy(part, code.offset(self.elements.pointers.source(base), first, Type("i8")), count)

    # Targets

    def find_units(self, loops: ExitStack) -> list[Lanes]:
        """The rows of the result that are written to at the present counters; the rest runs if one is in the range."""
        units = [self.find_unit(node, written) for node, written in self.scatters]
        if self.plan.is_cut_in_ranges:
            within = [self.is_in_range(unit) for unit in units]
            some = within[0]
            for other in within[1:]:
                some = self.elements.both(~some, ~other)
                some = ~some
            loops.callback(self.elements.forget)
            loops.enter_context(self.code.when(any_lane(some)))
        return units

    def find_unit(self, node: Operation, written: Written) -> Lanes:
        """The number of the row, or of the element, that a scatter writes to."""
        elements = self.elements
        indexed = written.target(node.shape, self.plan.counted_position)
        for element in elements.index_elements(written.indices, indexed):
            elements.at(*element)
        lead = IndexedPosition(indexed.axes[: node.ndim - len(self.plan.row_axes)], indexed.in_arrays)
        computed, affine = elements.computed_index(written.indices, lead)
        if computed is not None and affine == ZERO:
            return computed
        return elements.sum(computed, elements.evaluate(affine, True))

    def is_in_range(self, unit: Lanes) -> Lanes:
        """Whether a row belongs to this thread."""
        begin, end = [self.elements.splat(bound, unit.type.lanes) for bound in (self.begin, self.end)]
        return (unit >= begin) & (unit < end)

    def inner_index(self, node: Operation, written: Written) -> Affine:
        """The index within a row."""
        indexed = written.target(node.shape, self.plan.counted_position)
        inner = IndexedPosition(indexed.axes[node.ndim - len(self.plan.row_axes) :], ())
        _, affine = self.elements.computed_index((), inner)
        return affine

    # Values

    def values(self) -> list[Lanes]:
        """What the scatters write at the present counters: all of it is read before anything is written."""
        position = self.plan.counted_position
        return [
            self.elements.at(written.value, written.value_position(position)).to(self.type.kind)
            for _, written in self.scatters
        ]

    def write_row(self, units: Sequence[Lanes], i: Lanes | None) -> None:
        """Lanes are neighbours in a row."""
        elements, code = self.elements, self.code
        fresh = self.writer.fresh_lanes(i) if i is not None else None
        for (node, written), unit, value in zip(self.scatters, units, self.values(), strict=True):
            index = self.inner_index(node, written)
            row = code.offset(self.target, unit * self.plan.unit, self.type.in_memory)
            if written.adds:
                if fresh is not None:  # what was added before adds nothing; -0.0 also keeps the sign of -0.0
                    value = elements.splat(value, fresh.type.lanes)
                    value = select(fresh, value, -0.0 if self.type.is_float else 0)
                value = elements.sum(elements.read_memory(row, index, self.type, None, True), value)
            elements.write_memory(row, index, value)

    def write_lanes(self, units: Sequence[Lanes], i: Lanes) -> None:
        """Lanes have targets that may be equal: one after the other, without those that were counted before."""
        elements, code, plan = self.elements, self.code, self.plan
        assert plan.vector_axis is not None
        counter = plan.counters[plan.vector_axis]
        stored = self.type.in_memory
        arrays: list[tuple[Written, Lanes, Lanes]] = []
        for (node, written), unit, value in zip(self.scatters, units, self.values(), strict=True):
            inner = elements.evaluate(self.inner_index(node, written), False)
            offset = elements.sum(elements.splat(unit, plan.lanes) * plan.unit, inner)
            memory = code.array(I64, plan.lanes), code.array(stored, plan.lanes)
            code.store(offset, memory[0], 64)
            code.store(elements.splat(value, plan.lanes).to(stored.kind), memory[1], 64)
            arrays.append((written, *memory))
        start = i - elements.counters[counter] if counter.extent % plan.lanes else 0
        bounds = [bound * plan.unit for bound in (self.begin, self.end)] if plan.is_cut_in_ranges else []
        with code.loop(start, plan.lanes) as lane:
            for written, offsets, values in arrays:
                offset = code.load(code.offset(offsets, lane, I64), I64)
                with ExitStack() as conditions:
                    if bounds:
                        conditions.enter_context(code.when((offset >= bounds[0]) & (offset < bounds[1])))
                    value = code.load(code.offset(values, lane, stored), stored)
                    address = code.offset(self.target, offset, stored)
                    if written.adds:
                        value = code.load(address, stored) + value
                    code.store(value, address)
