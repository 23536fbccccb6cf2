"""Scatters: what a kernel writes or adds at computed indices, in vectors, and on all cores.

The last axes of a selection that only slices select are rows: their elements have different targets, and are added as
vectors. If there are none, values and indices are computed in lanes, and lanes are added one after the other, because
their targets may be equal.

If there are few targets, the loop is cut into pieces, each with a sum of its own, and these are added in order. Else
each thread fills a range of the result and adds what belongs there: it computes all indices, and the values of those in
its range. So all elements of one target are added in the order of the loop, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

from wengert.compiler.forms.affine import ZERO, Affine
from wengert.compiler.forms.gather import IndexedPosition, Written
from wengert.compiler.kernels.element import Elements
from wengert.compiler.kernels.loops import piece_bounds
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.schedule.memory_plan import Memory, Slot, address
from wengert.compiler.simd.lane_operations import any_lane, count_lanes, load_element, store_element
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.compiler.kernels.kernel import KernelWriter


NOTHING: dict[str, Any] = {"f": -0.0, "c": complex(-0.0, -0.0), "i": 0}
"""What may be added to every number of a kind of dtype without changing it, not even the sign of -0.0."""


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
        fresh: Lanes | None = None
        outer = plan.outermost
        first_bounds = (self.begin, self.end) if plan.is_split_along_loop else None
        with ExitStack() as loops:
            if plan.is_cut_in_pieces and outer is not None:
                piece = loops.enter_context(self.writer.loop(self.begin, self.end, 1))
                self.begin_piece(piece)
                first_bounds = piece_bounds(self.code, piece, plan.domain[outer], plan.order.grain)
            else:
                self.fill()
            units: list[Lanes] = []
            for axis in plan.kept_axes:
                if axis in plan.row_axes and not units:
                    units = self.find_units(loops)
                bounds = first_bounds if first_bounds and axis == outer else (0, plan.domain[axis])
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

    def begin_piece(self, piece: Lanes) -> None:
        """Start the sums of a piece with -0.0, to which everything may be added, also -0.0."""
        code, (part, count) = self.code, parts_of_array(self.out)
        partials = self.elements.pointers.partials(self.out)
        self.target = code.offset(partials, piece * count, part)
        with code.loop(0, count) as e:
            code.store(code.constant(-0.0 if part.is_float else 0, part), code.offset(self.target, e, part))

    # Targets

    def find_units(self, loops: ExitStack) -> list[Lanes]:
        """The rows of the result that are written to at the present counters; the rest runs if one is in the range."""
        units = [find_unit(self.plan, self.elements, node) for node, _ in self.scatters]
        if self.plan.is_cut_in_ranges:
            within = [self.is_in_range(unit) for unit in units]
            some = within[0]
            for other in within[1:]:
                some = self.elements.both(~some, ~other)
                some = ~some
            loops.callback(self.elements.forget)
            loops.enter_context(self.code.when(any_lane(some)))
        return units

    def is_in_range(self, unit: Lanes) -> Lanes:
        """Whether a row belongs to this thread."""
        begin, end = [self.elements.splat(bound, unit.type.lanes) for bound in (self.begin, self.end)]
        return (unit >= begin) & (unit < end)

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
        fresh = self.writer.fresh_lanes(i) if i is not None else None
        is_asked = self.plan.is_cut_in_ranges and len(self.scatters) > 1  # one target is in the range, not all of them
        for (node, written), unit, value in zip(self.scatters, units, self.values(), strict=True):
            with self.code.when(self.is_in_range(unit)) if is_asked else nullcontext():
                self.write_to_row(node, written, unit, value, fresh)
            if is_asked:
                self.elements.forget()

    def write_to_row(self, node: Operation, written: Written, unit: Lanes, value: Lanes, fresh: Lanes | None) -> None:
        """Write or add neighbours to a row; `fresh` are the lanes that were not written before."""
        elements = self.elements
        index = inner_index(self.plan, node)
        row = self.code.offset(self.target, unit * self.plan.unit, self.type.in_memory)
        if written.adds:
            if fresh is not None:
                value = elements.splat(value, fresh.type.lanes)
                value = select(fresh, value, NOTHING[self.out.dtype.kind])
            value = elements.sum(elements.read_memory(row, index, self.type, True), value)
        elements.write_memory(row, index, value)

    def write_lanes(self, units: Sequence[Lanes], i: Lanes) -> None:
        """Lanes have targets that may be equal: one after the other, without those that were counted before."""
        elements, code, plan = self.elements, self.code, self.plan
        assert plan.vector_axis is not None
        counter, stored = plan.counters[plan.vector_axis], self.type.in_memory
        arrays: list[tuple[Written, Lanes, Lanes]] = []
        for (_, written), unit, value in zip(self.scatters, units, self.values(), strict=True):
            addresses, values = code.array(I64, plan.lanes), code.array(stored, plan.lanes)
            code.store(self.addresses(elements.splat(unit, plan.lanes)), addresses, 64)
            store_element(elements.splat(value, plan.lanes).to(stored.kind), values, 64)
            arrays.append((written, addresses, values))
        start = i - elements.counters[counter] if counter.extent % plan.lanes else 0
        with code.loop(start, plan.lanes) as lane:
            for written, addresses, values in arrays:
                at = code.load(code.offset(addresses, lane, I64), I64)
                address = code.add(f"inttoptr {at.typed} to ptr", PTR)
                value = load_element(code, code.offset(values, lane, stored), stored, stored.align, True)
                if written.adds:
                    value = load_element(code, address, stored, stored.align, True) + value
                store_element(value, address, stored.align)

    def addresses(self, unit: Lanes) -> Lanes:
        """The addresses of elements of the result.

        What belongs to other threads goes to memory that nobody reads: a branch for each lane, which cannot be
        predicted, would take longer.
        """
        size, lanes = self.out.dtype.itemsize, unit.type.lanes
        found = self.elements.splat(self.as_integer(self.target), lanes) + unit * size
        if not self.plan.is_cut_in_ranges:
            return found
        elsewhere = self.code.array(self.type.in_memory, lanes)
        self.code.hoisted.append(f"  store {Type('i8', size * lanes).text} zeroinitializer, {elsewhere.typed}")
        others = self.elements.splat(self.as_integer(elsewhere), lanes) + count_lanes(self.code, unit.type, size)
        return select(self.is_in_range(unit), found, others)

    def as_integer(self, address: Lanes) -> Lanes:
        """An address as a number."""
        return self.code.add(f"ptrtoint {address.typed} to i64", I64)


def find_unit(plan: LoopPlan, elements: Elements, node: Operation) -> Lanes:
    """The number of the row, or of the element, that a scatter writes to at the present counters."""
    written = Written.by(node)
    indexed = written.target(node.shape, plan.counted_position)
    for element in elements.index_elements(written.indices, indexed):
        elements.at(*element)
    lead = IndexedPosition(indexed.axes[: node.ndim - len(plan.row_axes)], indexed.in_arrays)
    computed, affine = elements.computed_index(written.indices, lead)
    if computed is not None and affine == ZERO:
        return computed
    return elements.sum(computed, elements.evaluate(affine, True))


def inner_index(plan: LoopPlan, node: Operation) -> Affine:
    """The index within a row."""
    indexed = Written.by(node).target(node.shape, plan.counted_position)
    return IndexedPosition(indexed.axes[node.ndim - len(plan.row_axes) :], ()).affine_part


def combine_sums(code: Code, node: Operation, memory: Memory, base: Slot | None) -> None:
    """Add the sums of all pieces, in order, to what is updated, or to zeros."""
    part, count = parts_of_array(node)
    partials, target = address(code, memory.partials[node]), address(code, memory.target(node))
    source = None if base is None else address(code, base)
    with code.loop(0, count) as e:
        start = code.constant(0, part) if source is None else code.load(code.offset(source, e, part), part)
        total = code.variable(part, start)
        with code.loop(0, machine.current.sum_pieces) as piece:
            term = code.load(code.offset(partials, piece * count + e, part), part)
            code.store(code.load(total, part) + term, total)
        code.store(code.load(total, part), code.offset(target, e, part))


def parts_of_array(node: Operation) -> tuple[Type, int]:
    """The type and the number of the real numbers of an array."""
    type = Type.from_dtype(node.dtype).in_memory
    return type.part, node.size * (2 if type.is_complex else 1)
