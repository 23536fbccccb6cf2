"""Elements: what a kernel computes for one place, by following it back through the graph.

`Elements` writes the instructions for each pair of node and place once. The places that an element needs are found
first, so that nothing recurses, however deep the program is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from wengert.compiler.accumulators import accumulated
from wengert.compiler.affine import ZERO, Affine, Counter, Place, Read, broadcast, flat, number
from wengert.compiler.classify import Kind
from wengert.compiler.gather import Gathered, of_gather
from wengert.compiler.lanes import I64, Code, Lanes, Type, fma, select
from wengert.compiler.lowering import Choice, Instructions, Reduction, View, common_kind, lowering_of
from wengert.compiler.schedule import Schedule
from wengert.core.aspects import primitive_of
from wengert.graph.ir import Constant, Node, Operation
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.reductions.sums import _sum

MULTIPLY, SUM = map(primitive_of, (multiply, _sum))

Want = tuple[Node, Place]


class Elements:
    """The elements of one kernel, which runs at one stage of the schedule.

    `pointer` gives the address where a stored value begins.
    """

    def __init__(
        self, code: Code, schedule: Schedule, stage: int, pointer: Callable[[Node], Lanes], is_flat: bool = False
    ):
        self.code, self.schedule, self.stage, self.pointer, self.is_flat = code, schedule, stage, pointer, is_flat
        self.known: dict[Want, Lanes] = {}
        self.counters: dict[Counter, Lanes] = {}
        self.offsets: dict[Any, Lanes] = {}
        self.splats: dict[tuple[str, int], Lanes] = {}
        self.out_of_bounds: Lanes | None = None
        self.overwritten: set[Node] = set()  # inputs whose memory the kernel may write its results to

    def forget(self) -> None:
        """Start another block: what was computed before may not be there."""
        self.known.clear()
        self.offsets.clear()
        self.splats.clear()

    def at(self, node: Node, place: Place) -> Lanes:
        """The element of a node at a place.

        As many lanes as the place has, one if it does not depend on the vector's counter.
        """
        known = self.known
        stack = [(node, place)]
        while stack:
            want = stack[-1]
            if want in known:
                stack.pop()
                continue
            missing = [w for w in self.wants(*want) if w not in known]
            if missing:
                stack += missing
            else:
                known[want] = self.made(*want)
                stack.pop()
        return known[node, place]

    def is_stored(self, node: Node) -> bool:
        """Whether a value is in memory when this kernel runs."""
        schedule = self.schedule
        if schedule.kinds[node] is Kind.GIVEN:
            return True
        base = schedule.aliases.get(node, node)
        return schedule.kinds[base] is Kind.GIVEN or (base in schedule.stored and schedule.stages[base] < self.stage)

    def wants(self, node: Node, place: Place) -> list[Want]:
        """The elements that this one is made of."""
        if self.is_stored(node):
            return []
        assert isinstance(node, Operation)
        kind = self.schedule.kinds[node]
        if kind is Kind.ELEMENT:
            # in a flat loop the last number of a place counts all elements, even where the last axis has one
            return [
                (a, place if self.is_flat and a.shape == node.shape else broadcast(place, a.shape)) for a in node.args
            ]
        if kind is Kind.VIEW:
            return [(node.args[0], self.viewed(node, place))]
        if kind is Kind.CHOICE:
            return [(node.args[r.operand], r.place) for r in self.reads(node, place) if r.operand is not None]
        if kind is Kind.GATHER:
            return self.indices(node.args[1:], of_gather(node, place))
        if kind is Kind.UNROLLED:
            factors = self.factors(node)
            if factors is None:
                return self.terms(node, place)
            return [(a, broadcast(at, a.shape)) for _, at in self.terms(node, place) for a in factors]
        raise AssertionError(f"{node.primitive.name} is not in memory when it is needed")

    def made(self, node: Node, place: Place) -> Lanes:
        """The instructions for one element, whose parts are known."""
        if self.is_stored(node):
            return self.loaded(node, place)
        assert isinstance(node, Operation)
        kind = self.schedule.kinds[node]
        if kind is Kind.CHOICE:
            return self.chosen(node, self.reads(node, place))
        if kind is Kind.GATHER:
            return self.gathered(node, place)
        parts = [self.known[want] for want in self.wants(node, place)]
        if kind is Kind.VIEW:
            return parts[0]
        if kind is Kind.UNROLLED:
            return self.folded(node, parts)
        kind_of_number = common_kind([a.operand for a in node.args], node.spec)
        value = lowering_of(node, Instructions).write(self.aligned(parts), kind_of_number, node.params)
        return value.to(Type.from_dtype(node.dtype).kind)

    # Places

    def viewed(self, node: Operation, place: Place) -> Place:
        found = lowering_of(node, View).place(place, node.args[0].spec, **node.params)
        assert found is not None, node.primitive.name
        return found

    def reads(self, node: Operation, place: Place) -> list[Read]:
        """Where an element of a choice comes from, without those reads that cannot be it."""
        reads = lowering_of(node, Choice).reads(place, *[a.spec for a in node.args], **node.params)
        assert reads is not None
        possible = []
        for read in reads:
            if any(g.known is False for g in read.guards):
                continue
            guards = tuple([g for g in read.guards if g.known is None])
            possible.append(Read(guards, read.operand, read.place))
            if not guards:
                break
        return possible

    def terms(self, node: Operation, place: Place) -> list[Want]:
        """The terms of a reduction that is written out."""
        operand, axes = node.args[0], node.params["axis"]
        kept = iter(place if not node.params["keepdims"] else [i for k, i in enumerate(place) if k not in axes])
        slots = [None if k in axes else next(kept) for k in range(operand.ndim)]
        counts = product(*[range(operand.shape[k]) for k in axes])
        found = []
        for numbers in counts:
            term = iter(numbers)
            found.append((operand, tuple([number(next(term)) if slot is None else slot for slot in slots])))
        return found

    # Instructions

    def aligned(self, parts: Sequence[Lanes]) -> list[Lanes]:
        """All with as many lanes as the widest."""
        lanes = max(p.type.lanes for p in parts)
        return [self.splat(p, lanes) for p in parts]

    def splat(self, x: Lanes, lanes: int) -> Lanes:
        if x.type.lanes == lanes:
            return x
        if x.text[0] != "%":
            type = Type(x.type.kind, lanes)
            return Lanes(self.code, f"splat ({x.type.scalar} {x.text})", type)
        key = x.text, lanes
        if key not in self.splats:
            self.splats[key] = splat(x, lanes)
        return self.splats[key]

    def offset(self, place: Affine, lanes: bool) -> Lanes:
        """A number as the value of its counters: of the first lane, or of every lane."""
        key = place, lanes
        if key in self.offsets:
            return self.offsets[key]
        total: Lanes | None = None
        vector: tuple[int, int] | None = None
        for counter, k in place.terms:
            term = self.counters[counter] * k if k != 1 else self.counters[counter]
            total = term if total is None else total + term
            if lanes and counter.lanes > 1:
                vector = k, counter.lanes
        if total is None:
            total = self.code.constant(place.constant, I64)
        elif place.constant:
            total = total + place.constant
        if vector is not None:
            k, width = vector
            steps = ", ".join(f"i64 {k * i}" for i in range(width))
            type = Type("i64", width)
            total = self.splat(total, width) + Lanes(self.code, f"<{steps}>", type)
        self.offsets[key] = total
        return total

    def stride(self, place: Affine) -> tuple[int, int]:
        """How far apart neighbouring lanes are, and how many there are."""
        for counter, k in place.terms:
            if counter.lanes > 1:
                return k, counter.lanes
        return 0, 1

    def loaded(self, node: Node, place: Place) -> Lanes:
        """An element of a value in memory.

        Places that may lie outside, on the side of a choice that is not taken, read zeros.
        """
        if isinstance(node, Constant) and (node.weak or node.size == 1):
            value = node.value.item() if isinstance(node.value, np.ndarray | np.generic) else node.value
            return self.code.constant(value, Type.from_dtype(node.dtype))
        outside = [] if self.is_flat else [(i, n) for i, n in zip(place, node.shape, strict=True) if not i.is_within(n)]
        where = flat(place, node.shape)
        memory = Type.from_dtype(node.dtype)
        memory = Type("i8") if memory.kind == "i1" else memory
        mask = None
        for i, n in outside:
            k = self.offset(i, True)
            inside = (k >= 0) & (k < n)
            mask = inside if mask is None else self.both(mask, inside)
        value = self.read(self.pointer(node), where, memory, mask, node in self.overwritten)
        return value.ne(0) if node.dtype.kind == "b" else value

    def both(self, x: Lanes, y: Lanes) -> Lanes:
        x, y = self.aligned([x, y])
        return x & y

    def read(self, base: Lanes, where: Affine, type: Type, mask: Lanes | None, is_overwritten: bool = False) -> Lanes:
        """Numbers from memory: together, one for all lanes, or each from its own place."""
        code = self.code
        stride, lanes = self.stride(where)
        width = type.bits // 8
        first = self.offset(where, False)
        if mask is not None:
            lanes = max(lanes, mask.type.lanes)
            mask = self.splat(mask, lanes)
        if lanes == 1:
            address = code.offset(base, first, type)
            if mask is not None:  # one lane: read from the beginning instead, and forget it
                address = select(mask, address, base)
                return select(mask, load(code, address, type, width), 0)
            return load(code, address, type, width, is_overwritten)
        vector = Type(type.kind, lanes)
        if stride == 1:
            address = code.offset(base, first, type)
            if mask is None:
                return load(code, address, vector, width, is_overwritten)
            return masked_load(address, vector, width, mask)
        if stride == -1 and mask is None:
            address = code.offset(base, first - (lanes - 1), type)
            return backwards(load(code, address, vector, width))
        places = self.offset(where, True)
        places = self.splat(places, lanes)
        return gather(base, places, vector, width, mask)

    def chosen(self, node: Operation, reads: Sequence[Read]) -> Lanes:
        """The element of the first read whose guards hold."""
        kind = Type.from_dtype(node.dtype).kind
        value: Lanes | None = None
        for read in reversed(reads):
            known = None if read.operand is None else self.known[node.args[read.operand], read.place]
            part = self.code.constant(0, Type(kind)) if known is None else known.to(kind)
            if value is None:
                value = part
                continue
            condition: Lanes | None = None
            for guard in read.guards:
                n = self.offset(guard.value, True)
                holds = n.eq(0) if guard.is_zero else n >= 0
                condition = holds if condition is None else self.both(condition, holds)
            assert condition is not None
            condition, part, value = self.aligned([condition, part, value])
            value = select(condition, part, value)
        assert value is not None
        return value

    def factors(self, node: Operation) -> tuple[Node, Node] | None:
        """The two factors of what is summed, if it is a product that nothing else needs: then it is added without being
        rounded first.

        So does BLAS, and the order of a sum is free anyway.
        """
        product = node.args[0]
        if node.primitive is not SUM or not isinstance(product, Operation) or product.primitive is not MULTIPLY:
            return None
        x, y = product.args
        alone = self.schedule.uses[product] == 1 and not self.is_stored(product)
        return (x, y) if alone and node.dtype.kind == "f" and x.dtype == y.dtype == node.dtype else None

    def folded(self, node: Operation, parts: Sequence[Lanes]) -> Lanes:
        """The terms of a reduction one after the other, as NumPy adds few of them.

        A sum starts with zero, so it is never negative zero.
        """
        kind = accumulated(node, 1).kind
        terms = [p.to(kind) for p in self.aligned(parts)]
        if self.factors(node) is not None:
            pairs = zip(terms[::2], terms[1::2], strict=True)
            return reduce(lambda total, pair: fma(pair[0], pair[1], total), pairs, terms[0].like(0.0))
        if node.primitive is SUM and kind[0] == "f":
            terms[0] = terms[0] + 0.0
        return reduce(lowering_of(node, Reduction).fold, terms)

    def indices(self, arrays: Sequence[Node], found: Gathered) -> list[Want]:
        """The elements of the index arrays, which broadcast against each other."""
        return [
            (arrays[a.operand], broadcast(found.at, arrays[a.operand].shape))
            for a in found.axes
            if a.operand is not None
        ]

    def gathered(self, node: Operation, place: Place) -> Lanes:
        """An element at a place that other values name."""
        source = node.args[0]
        where = self.computed_place(node.args[1:], of_gather(node, place))
        if source.size == 1:  # a constant may have no address
            return self.loaded(source, (ZERO,) * source.ndim)
        memory = Type("i8") if source.dtype.kind == "b" else Type.from_dtype(source.dtype)
        if where.type.lanes == 1:
            value = load(self.code, self.code.offset(self.pointer(source), where, memory), memory, memory.bits // 8)
        else:
            value = gather(self.pointer(source), where, Type(memory.kind, where.type.lanes), memory.bits // 8, None)
        return value.ne(0) if source.dtype.kind == "b" else value

    def computed_place(self, arrays: Sequence[Node], found: Gathered) -> Lanes:
        """The number of an element in memory; places are counted from the end if negative, and checked."""
        total: Lanes | None = None
        stride = 1
        fixed = number(0)
        wants = iter(reversed(self.indices(arrays, found)))
        for axis in reversed(found.axes):
            if axis.operand is None:
                assert axis.place is not None
                fixed = fixed.plus(axis.place.times(stride))
            else:
                index = self.known[next(wants)].to("i64")
                index = select(index < 0, index + axis.extent, index)
                bad = (index < 0) | (index >= axis.extent)
                self.complain(bad)
                index = select(bad, index.like(0), index)
                term = index * stride if stride != 1 else index
                total = term if total is None else self.sum(total, term)
            stride *= axis.extent
        if total is None:
            return self.offset(fixed, True)
        return self.sum(total, self.offset(fixed, True)) if fixed.terms or fixed.constant else total

    def sum(self, x: Lanes, y: Lanes) -> Lanes:
        x, y = self.aligned([x, y])
        return x + y

    def complain(self, bad: Lanes) -> None:
        """Remember that an index was out of bounds, in a flag that the kernel returns."""
        if self.out_of_bounds is None:
            return
        code = self.code
        some = (
            bad
            if bad.type.lanes == 1
            else code.intrinsic("vector.reduce.or", Type("i1"), bad, overload=f"v{bad.type.lanes}i1")
        )
        code.store(code.load(self.out_of_bounds, Type("i1")) | some, self.out_of_bounds)


# Memory


def load(code: Code, address: Lanes, type: Type, align: int, is_overwritten: bool = False) -> Lanes:
    return code.add(
        f"load {type.text}, {address.typed}, align {align}{'' if is_overwritten else ', !invariant.load !0'}", type
    )


def splat(x: Lanes, lanes: int) -> Lanes:
    """One value in every lane."""
    code, type = x.code, Type(x.type.kind, lanes)
    first = code.add(f"insertelement {type.text} poison, {x.typed}, i64 0", type)
    return code.add(f"shufflevector {first.typed}, {type.text} poison, <{lanes} x i32> zeroinitializer", type)


def backwards(x: Lanes) -> Lanes:
    order = ", ".join(f"i32 {i}" for i in reversed(range(x.type.lanes)))
    return x.code.add(f"shufflevector {x.typed}, {x.typed}, <{x.type.lanes} x i32> <{order}>", x.type)


def masked_load(address: Lanes, type: Type, align: int, mask: Lanes) -> Lanes:
    code = address.code
    symbol = f"@llvm.masked.load.{type.suffix}.p0"
    code.declarations.setdefault(symbol, f"declare {type.text} {symbol}(ptr, i32, {mask.type.text}, {type.text})")
    return code.add(
        f"call {type.text} {symbol}({address.typed}, i32 {align}, {mask.typed}, {type.text} zeroinitializer)", type
    )


def gather(base: Lanes, places: Lanes, type: Type, align: int, mask: Lanes | None) -> Lanes:
    """Each lane from its own place, counted in elements."""
    code, lanes = base.code, type.lanes
    pointers = Type("ptr", lanes)
    addresses = code.add(f"getelementptr {type.scalar}, {base.typed}, {places.typed}", pointers)
    every = mask if mask is not None else code.constant(True, Type("i1", lanes))
    symbol = f"@llvm.masked.gather.{type.suffix}.v{lanes}p0"
    code.declarations.setdefault(
        symbol, f"declare {type.text} {symbol}({pointers.text}, i32, {every.type.text}, {type.text})"
    )
    return code.add(
        f"call {type.text} {symbol}({addresses.typed}, i32 {align}, {every.typed}, {type.text} zeroinitializer)", type
    )


def scatter(value: Lanes, base: Lanes, places: Lanes, align: int) -> None:
    code, lanes = base.code, value.type.lanes
    pointers = Type("ptr", lanes)
    addresses = code.add(f"getelementptr {value.type.scalar}, {base.typed}, {places.typed}", pointers)
    every = code.constant(True, Type("i1", lanes))
    symbol = f"@llvm.masked.scatter.{value.type.suffix}.v{lanes}p0"
    code.declarations.setdefault(
        symbol, f"declare void {symbol}({value.type.text}, {pointers.text}, i32, {every.type.text})"
    )
    code.do(f"call void {symbol}({value.typed}, {addresses.typed}, i32 {align}, {every.typed})")
