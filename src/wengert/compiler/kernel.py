"""A kernel as text: loops over its domain, elements in the middle, reductions in accumulators.

The last loop advances by a vector of lanes. Where an extent is no multiple of it, the last vector is moved back so that
it ends with the array: maps store some elements twice, with the same numbers, and reductions leave out what was counted
before. So there is one body and no remainder. A reduction of many terms is cut into pieces whose number depends on
nothing but the shape, and the pieces are added in order: the result is the same whatever the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

from wengert.compiler.accumulators import accumulated, across, write_combination
from wengert.compiler.affine import ZERO, Affine, Counter, Place, broadcast, flat, number
from wengert.compiler.classify import Kind, own_cost
from wengert.compiler.element import Elements, scatter
from wengert.compiler.gather import of_scatter
from wengert.compiler.lanes import I64, PTR, Code, Lanes, Type, fma, select
from wengert.compiler.lowering import Reduction, lowering_of
from wengert.compiler.memory_plan import Memory, Slot, address
from wengert.compiler.schedule import Kernel, Schedule
from wengert.compiler.target import vector_bytes
from wengert.graph.ir import Node, Operation

PIECES = 32
"""Into so many pieces a long reduction is cut."""
LARGE = 400_000
"""So many scalar operations are worth starting threads for."""
STACK = 4 << 20
"""Bytes that the values of a very long kernel may take on the stack; with more, fewer lanes are used."""
ACCUMULATORS = 4
"""A reduction with a short body is computed in so many accumulators, which do not wait for each other."""


class Extent(NamedTuple):
    """What a kernel does: the nodes that it computes, how much work that is, how many lanes it uses."""

    nodes: list[Node]
    work: int
    lanes: int
    is_flat: bool


class Written(NamedTuple):
    """A kernel's text.

    `extent` is how far its outermost loop goes, in steps of `grain`; `combine` folds what its pieces made.
    """

    name: str
    text: str
    extent: int
    grain: int
    is_large: bool
    combine: str | None
    code: Code

    @property
    def length(self) -> int:
        """How many lines it has."""
        return len(self.code.lines)

    @property
    def is_mostly_calls(self) -> bool:
        """Whether vector functions do most of its work."""
        return 12 * sum(self.code.calls.values()) > self.length


def survey(kernel: Kernel, schedule: Schedule) -> Extent:
    """Walk through what a kernel computes."""
    probe = Elements(Code(), schedule, kernel.stage, lambda node: Lanes(Code(), "", PTR))
    seen, stack = set(kernel.wanted), kernel.wanted
    widest, per_element, flat_ = 4, 0, True
    shape = kernel.domain
    while stack:
        node = stack.pop()
        single = node.size == 1
        if node.dtype.kind in "fi" and not (single and schedule.kinds[node] is Kind.GIVEN):
            widest = max(widest, node.dtype.itemsize)
        if node.shape != shape and not (single and schedule.kinds[node] is Kind.GIVEN):
            flat_ = False
        if probe.is_stored(node):
            continue
        flat_ = flat_ and schedule.kinds[node] is Kind.ELEMENT
        if isinstance(node, Operation):
            inner = max(node.size // max(math.prod(schedule.domain(node)), 1), 1)
            per_element += own_cost(node) * inner
            for a in node.args:
                if a not in seen:
                    seen.add(a)
                    stack.append(a)
    full = set(kernel.axes) in (set(), set(range(len(shape))))
    total = math.prod(shape) * max(per_element, 1)
    return Extent(
        list(seen),
        total,
        vector_bytes() // widest,
        flat_ and full and kernel.scatter is None and len(shape) > 0 and not schedule.is_tiny and not schedule.rows,
    )


class KernelWriter:
    """Writes one kernel."""

    def __init__(self, kernel: Kernel, schedule: Schedule, memory: Memory, name: str):
        self.kernel, self.schedule, self.memory, self.name = kernel, schedule, memory, name
        self.code = Code()
        self.extent = survey(kernel, schedule)
        self.domain = (math.prod(kernel.domain),) if self.extent.is_flat else kernel.domain
        self.axes = tuple(range(len(self.domain))) if kernel.axes and self.extent.is_flat else kernel.axes
        self.pointers: dict[Slot, Lanes] = {}
        self.elements = Elements(self.code, schedule, kernel.stage, self.pointer, self.extent.is_flat)
        self.counters = [Counter(i, n) for i, n in enumerate(self.domain)]
        self.vector_axis, self.lanes = self.choose_vector()
        self.counters = [Counter(i, n, self.lanes if i == self.vector_axis else 1) for i, n in enumerate(self.domain)]
        self.is_large = self.extent.work >= LARGE
        kept = math.prod(n for i, n in enumerate(self.domain) if i not in self.axes)
        self.cut_axis = None
        if kernel.reductions and self.axes and self.is_large and kept < 16:
            axis = max(self.axes, key=lambda i: (self.domain[i], -i))
            if self.domain[axis] >= PIECES * (self.lanes if axis == self.vector_axis else 1):
                self.cut_axis = axis
        self.accumulators: list[tuple[Operation, Place, list[Lanes]]] = []

    def pointer(self, node: Node) -> Lanes:
        """The address of a stored value, found once at the start."""
        base = self.schedule.aliases.get(node, node)
        return self.hoisted(self.memory.slot(base))

    def hoisted(self, slot: Slot) -> Lanes:
        if slot not in self.pointers:
            lines, self.code.lines = self.code.lines, []
            self.pointers[slot] = address(self.code, slot)
            self.code.hoisted += self.code.lines
            self.code.lines = lines
        return self.pointers[slot]

    def choose_vector(self) -> tuple[int | None, int]:
        """The axis whose neighbours are computed together, and how many: where most of them are neighbours in memory,
        if it is long.
        """
        if not self.domain or 0 in self.domain:
            return None, 1  # no element has a neighbour
        if self.kernel.scatter is not None and len(self.kernel.scatter.args) > 1:
            return None, 1  # places that are computed may be equal, so elements are added one after the other
        wide = self.extent.lanes
        long = [i for i, n in enumerate(self.domain) if n >= wide // 2]
        axis = max(range(len(self.domain)), key=lambda i: (self.domain[i], i))
        if len(long) == 1:
            axis = long[0]
        elif long:
            scattered = strides_of(self.places_in_memory(), len(self.domain))
            axis = min(long, key=lambda i: (scattered[i], -i))
        lanes = wide
        while lanes > self.domain[axis] or (lanes > 1 and 8 * lanes * len(self.extent.nodes) > STACK):
            lanes //= 2
        return (axis, lanes) if lanes > 1 else (None, 1)

    def places_in_memory(self) -> list[Affine]:
        """Where the body of the kernel reads and writes."""
        found = []
        for node in self.kernel.maps:
            found.append(flat(self.place(node) + next(iter(self.inner_places(node))), node.shape))
        stack = [(node, self.place(node) + inner) for node in self.kernel.wanted for inner in self.inner_places(node)]
        seen = set(stack)
        while stack:
            node, place = stack.pop()
            if self.elements.is_stored(node):
                found.append(flat(place, node.shape))
                continue
            for want in self.elements.wants(node, place):
                if want not in seen:
                    seen.add(want)
                    stack.append(want)
        return found

    # The place of a root in terms of the counters

    def place(self, node: Node) -> Place:
        """The looped axes of a node; what is written out comes behind."""
        if self.extent.is_flat:
            return (ZERO,) * (node.ndim - 1) + (Affine(0, ((self.counters[0], 1),)),)
        return tuple([Affine(0, ((c, 1),)) if c.extent > 1 else ZERO for c in self.counters])

    def inner_places(self, node: Node) -> Iterator[Place]:
        for numbers in product(*map(range, node.shape[len(self.kernel.domain) :])):
            yield tuple([number(n) for n in numbers])

    @property
    def is_element_by_element(self) -> bool:
        """Whether each element is read and written once, by the same lanes: then results may take the place of what
        they are made of.
        """
        return self.extent.is_flat and self.domain[0] % self.lanes == 0

    def partials(self) -> dict[Node, int]:
        """For each reduction that is cut into pieces, how many numbers they are."""
        return {r: PIECES * r.size for r in self.kernel.reductions} if self.cut_axis is not None else {}

    # Text

    def write(self) -> Written:
        code = self.code
        self.elements.out_of_bounds = None
        if self.kernel.scatter is not None or any(self.schedule.kinds[n] is Kind.GATHER for n in self.extent.nodes):
            self.elements.out_of_bounds = code.variable(Type("i1"), False)
        order = [i for i in range(len(self.domain)) if i not in self.axes and i != self.vector_axis]
        if self.vector_axis is not None and self.vector_axis not in self.axes:
            order.append(self.vector_axis)
        reduced = [i for i in range(len(self.domain)) if i in self.axes and i != self.vector_axis]
        if self.vector_axis in self.axes:
            assert self.vector_axis is not None
            reduced.append(self.vector_axis)
        outer = order[0] if order else reduced[0] if reduced else None
        begin, end = Lanes(code, "%begin", I64), Lanes(code, "%end", I64)
        with ExitStack() as loops:
            piece = None
            if self.cut_axis is not None:
                piece = loops.enter_context(self.loop(begin, end, 1))
            for axis in order:
                bounds = (begin, end) if axis == outer and piece is None else (0, self.domain[axis])
                loops.enter_context(self.counted(axis, *bounds))
            if self.kernel.scatter is not None:
                self.add_at(self.kernel.scatter)
            elif self.kernel.reductions:
                self.start_accumulators()
                self.reduce(reduced, piece, (begin, end) if outer in reduced else None)
                self.finish(piece)
            else:
                self.body(0)
        if self.elements.out_of_bounds is not None:
            status = code.load(Lanes(code, "%table", PTR), PTR)
            flag = code.load(self.elements.out_of_bounds, Type("i1")).to("i64")
            code.store(code.load(status, I64) | flag, status)
        text, combine = function(self.name, code), None
        if self.cut_axis is not None:
            combining = Code()
            write_combination(combining, self.kernel.reductions, self.memory, PIECES)
            combine = function(f"{self.name}.combine", combining)
        if self.cut_axis is not None:
            extent, grain = PIECES, 1
        elif outer is None:
            extent, grain = 1, 1
        else:
            extent, grain = self.domain[outer], self.lanes if outer == self.vector_axis else 1
        may_split = (self.cut_axis is not None or outer in order) and self.kernel.scatter is None
        return Written(
            self.name, text, extent, grain, self.is_large and may_split and extent >= 2 * grain, combine, code
        )

    @contextmanager
    def loop(self, start: Lanes | int, stop: Lanes | int, step: int) -> Iterator[Lanes]:
        """A loop, inside and behind which nothing is known that was computed before."""
        with self.code.loop(start, stop, step) as i:
            self.elements.forget()
            yield i
        self.elements.forget()

    @contextmanager
    def counted(self, axis: int, start: Lanes | int, stop: Lanes | int) -> Iterator[Lanes]:
        """A loop over an axis.

        Of a vector that would go beyond the end, the first lane is moved back; yields where it would have been.
        """
        counter = self.counters[axis]
        with self.loop(start, stop, counter.lanes) as i:
            first = i
            if counter.extent % counter.lanes:
                last = counter.extent - counter.lanes
                first = self.code.intrinsic("smin", I64, i, i.like(last))
            self.elements.counters[counter] = first
            yield i

    def body(self, which: int, fresh: Lanes | None = None) -> None:
        """What is stored and reduced for the present counters. `fresh` says which lanes were not counted before."""
        late = []
        for node in self.kernel.maps:
            lead = self.place(node)
            for inner in self.inner_places(node):
                value = self.elements.at(node, lead + inner)
                if self.elements.overwritten:
                    late.append((node, lead + inner, value))  # when all is read
                else:
                    self.store(node, lead + inner, value)
        for node, kept, slots in self.accumulators:
            self.accumulate(node, kept, slots[which], fresh)
        for node, place, value in late:
            self.store(node, place, value)

    def accumulate(self, node: Operation, kept: Place, slot: Lanes, fresh: Lanes | None) -> None:
        """Add what the present counters contribute to one accumulator."""
        (operand,), elements = node.args, self.elements
        type, fold, factors = accumulated(node, self.lanes), lowering_of(node, Reduction).fold, elements.factors(node)
        lead = self.place(operand)
        places = [lead + inner for inner in self.inner_places(operand) if self.kept(node, inner) == kept]
        old = total = self.code.load(slot, type)
        if factors is not None:
            for place in places:
                x, y = (
                    elements.splat(elements.at(a, self.operand_place(a, operand, place)), type.lanes) for a in factors
                )
                total = fma(x, y, total)
        else:
            terms = [elements.splat(elements.at(operand, place).to(type.kind), type.lanes) for place in places]
            total = fold(old, reduce(fold, terms))
        if fresh is not None and type.lanes > 1:
            total = select(fresh, total, old)
        self.code.store(total, slot)

    def operand_place(self, a: Node, product: Node, place: Place) -> Place:
        """The place of a factor in a product; in a flat loop all arrays are alike."""
        return place if self.extent.is_flat and a.shape == product.shape else broadcast(place, a.shape)

    def store(self, node: Node, place: Place, value: Lanes) -> None:
        self.write_to(self.hoisted(self.memory.target(node)), flat(place, node.shape), value)

    def write_to(self, base: Lanes, where: Affine, value: Lanes) -> None:
        """Lanes to memory, together or each to its own place."""
        code, elements = self.code, self.elements
        if value.type.kind == "i1":
            value = value.to("i8")
        stride, lanes = elements.stride(where)
        value = elements.splat(value, lanes)
        align = value.type.bits // 8
        if lanes == 1 or stride == 1:
            code.store(value, code.offset(base, elements.offset(where, False), value.type), align)
        else:
            scatter(value, base, elements.offset(where, True), align)

    def add_at(self, node: Operation) -> None:
        """Add the element of the present counters at its place, or put it there if no place occurs twice."""
        code, elements = self.code, self.elements
        place = self.place(node.args[0])
        value = elements.at(node.args[0], place)
        found = of_scatter(node, place)
        if len(node.args) == 1:
            known = [axis.place for axis in found.axes if axis.place is not None]
            self.store(node, tuple(known), value)
            return
        for want in elements.indices(node.args[1:], found):
            elements.at(*want)
        target = code.offset(
            self.hoisted(self.memory.target(node)), elements.computed_place(node.args[1:], found), value.type
        )
        code.store(code.load(target, value.type) + value if node.params["key"].repeats else value, target)

    # Reductions

    def kept(self, node: Operation, inner: Place) -> Place:
        """The written-out axes that a reduction keeps."""
        lead = len(self.kernel.domain)
        return tuple([i for k, i in enumerate(inner) if k + lead not in node.params["axis"]])

    def start_accumulators(self) -> None:
        self.accumulators = []
        count = self.parallel_accumulators()
        for node in self.kernel.reductions:
            type = accumulated(node, self.lanes)
            identity = lowering_of(node, Reduction).identity(type)
            for kept in dict.fromkeys(self.kept(node, inner) for inner in self.inner_places(node.args[0])):
                self.accumulators.append((node, kept, [self.code.variable(type, identity) for _ in range(count)]))

    def parallel_accumulators(self) -> int:
        """More than one where a vector is reduced along itself and the body is short."""
        if self.vector_axis not in self.axes or self.vector_axis is None or self.kernel.maps:
            return 1
        short = self.extent.work <= 8 * max(math.prod(self.domain), 1) and len(self.kernel.reductions) == 1
        return ACCUMULATORS if short and self.domain[self.vector_axis] >= 4 * ACCUMULATORS * self.lanes else 1

    def reduce(self, reduced: list[int], piece: Lanes | None, bounds: Any) -> None:
        """The loops over the reduced axes; a piece covers a part of one of them."""
        with ExitStack() as loops:
            for axis in reduced:
                start, stop = (
                    self.piece_of(axis, piece)
                    if axis == self.cut_axis and piece is not None
                    else (0, self.domain[axis])
                )
                if bounds is not None and axis == reduced[0] and piece is None:
                    start, stop = bounds
                if axis == self.vector_axis and self.parallel_accumulators() > 1:
                    self.several(axis, start, stop)
                    return
                i = loops.enter_context(self.counted(axis, start, stop))
            self.body(0, self.fresh(i) if self.vector_axis in self.axes else None)

    def fresh(self, i: Lanes) -> Lanes | None:
        """The lanes of a vector that was moved back which were not counted before."""
        assert self.vector_axis is not None
        counter = self.counters[self.vector_axis]
        if counter.extent % counter.lanes == 0:
            return None
        lane = self.elements.offset(Affine(0, ((counter, 1),)), True)
        return lane >= self.elements.splat(i, counter.lanes)

    def several(self, axis: int, start: Any, stop: Any) -> None:
        """A loop over the vector's axis with a body for each accumulator, and one for what remains."""
        code, counter = self.code, self.counters[axis]
        width = counter.lanes
        slot = code.variable(I64, start)
        end = code.lift(stop, I64)
        with self.loop(start, end - (ACCUMULATORS * width - 1), ACCUMULATORS * width) as i:
            for which in range(ACCUMULATORS):
                self.elements.forget()
                self.elements.counters[counter] = i + which * width if which else i
                self.body(which)
            code.store(i + ACCUMULATORS * width, slot)
        with self.counted(axis, code.load(slot, I64), end) as i:
            self.body(0, self.fresh(i))

    def piece_of(self, axis: int, piece: Lanes) -> tuple[Lanes, Lanes]:
        step = -(-self.domain[axis] // PIECES)
        grain = self.lanes if axis == self.vector_axis else 1
        step = -(-step // grain) * grain
        start = piece * step
        n = self.domain[axis]
        smaller = lambda x: self.code.intrinsic("smin", I64, x, x.like(n))
        return smaller(start), smaller(start + step)

    def finish(self, piece: Lanes | None) -> None:
        """Store what the accumulators hold, as results or as those of one piece."""
        code, elements = self.code, self.elements
        elements.forget()
        for node, kept, slots in self.accumulators:
            fold, type = lowering_of(node, Reduction).fold, accumulated(node, self.lanes)
            value = code.load(slots[0], type)
            for slot in slots[1:]:
                value = fold(value, code.load(slot, type))
            if self.vector_axis in self.axes and type.lanes > 1:
                value = across(fold, value)
            looped = (
                () if self.extent.is_flat else tuple([p for i, p in enumerate(self.place(node)) if i not in self.axes])
            )
            place = looped + kept
            shape = tuple([n for i, n in enumerate(node.args[0].shape) if i not in node.params["axis"]])
            where = flat(place, shape) if shape else ZERO
            if piece is None:
                self.write_to(self.hoisted(self.memory.target(node)), where, value)
            else:
                base = self.hoisted(self.memory.partials[node])
                type = value.type.of("i8") if value.type.kind == "i1" else value.type
                self.write_to(code.offset(base, piece * node.size, type), where, value)


def strides_of(places: Sequence[Affine], rank: int) -> list[int]:
    """For each axis, how many of the places are neither the same nor neighbours for neighbouring counters."""
    counts = [0] * rank
    for place in places:
        for counter, k in place.terms:
            counts[counter.number] += abs(k) != 1
    return counts


def function(name: str, code: Code) -> str:
    """The text of a kernel's function."""
    head = f"define void @{name}(ptr %table, i64 %begin, i64 %end) noinline nounwind {{\nentry:\n"
    return head + "\n".join([*code.hoisted, *code.lines, "  ret void", "}"])
