"""The reference interpreter: what a nest computes, by NumPy, in its order of additions. It knows no decisions.

It is slow, and as short as it can be, so that it can be read beside `order.py`. Where compiled code does the same
arithmetic, it has the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from wengert.compiler.forms.affine import Affine, Guard, Position, flat_index
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.gather import IndexedPosition, Written, gather_source
from wengert.compiler.forms.lowering import MatrixFunction, lowering_of
from wengert.compiler.nests.body_stages import find_sources
from wengert.compiler.nests.element_sources import SUM, Element
from wengert.compiler.nests.legality import kept_axes, reduced_axes
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.order import piece_ranges
from wengert.core.aspects import primitive_of
from wengert.core.primitive import Primitive
from wengert.graph.graph import compute
from wengert.graph.ir import Constant, Node, Operation
from wengert.ops.reductions import extremes, logical
from wengert.ops.reductions.cumulative import _prod

Memory = Mapping[Node, np.ndarray]
Fold = tuple[np.ufunc, Any]
FOLDS: dict[Primitive, Fold] = {
    SUM: (np.add, 0),
    primitive_of(_prod): (np.multiply, 1),
    primitive_of(logical._all): (np.logical_and, True),
    primitive_of(logical._any): (np.logical_or, False),
    primitive_of(extremes._max): (np.maximum, None),
    primitive_of(extremes._min): (np.minimum, None),
}
"""How reductions combine two partial results, and the one of no terms; None where any term will do."""


def evaluate(nest: Nest, memory: Memory) -> dict[Node, np.ndarray]:
    """The values that a nest stores, from those that are in memory."""
    with np.errstate(all="ignore"):
        return Evaluation(nest, memory).results()


class Evaluation:
    """The elements of one nest, each for all indices of the loops at once."""

    def __init__(self, nest: Nest, memory: Memory):
        self.nest, self.memory = nest, memory
        ndim = len(nest.domain)
        shapes = [tuple([n if i == k else 1 for i in range(ndim)]) for k, n in enumerate(nest.domain)]
        self.grid = [np.arange(n).reshape(shape) for n, shape in zip(nest.domain, shapes, strict=True)]
        self.known: dict[Element, Any] = {}

    def results(self) -> dict[Node, np.ndarray]:
        """What the nest stores."""
        nest, kernel, found = self.nest, self.nest.kernel, dict[Node, np.ndarray]()
        for node in kernel.maps:
            out = np.zeros(node.size, node.dtype)
            for position in nest.stored_positions(node):
                index = np.broadcast_to(self.index(flat_index(position, node.shape)), nest.domain)
                out[index] = np.broadcast_to(self.element(node, position), nest.domain)
            found[node] = out.reshape(node.shape)
        for node in (*kernel.reductions, *kernel.sums):
            found[node] = self.reduction(node)
        if kernel.scatter is not None:
            found[kernel.scatter] = self.scatter()
        return found

    def index(self, affine: Affine) -> np.ndarray:
        """An affine function of the counters."""
        terms = [k * self.grid[counter.axis] for counter, k in affine.terms]
        return sum(terms, np.asarray(affine.constant))

    # Elements

    def element(self, node: Node, position: Position) -> Any:
        """An element, for all indices: those that it is computed from come first."""
        for e in find_sources([(node, position)], self.nest.sources):
            if e not in self.known:
                self.known[e] = self.compute(*e)
        return self.known[node, position]

    def compute(self, node: Node, position: Position) -> Any:
        """An element whose sources are known."""
        nest, sources = self.nest, self.nest.sources
        if sources.is_stored(node):
            return self.load(node, position)
        assert isinstance(node, Operation)
        form, found = nest.schedule.forms[node], sources.sources(node, position)
        if form is Form.CHOICE:
            return self.choose(node, position)
        if form is Form.GATHER:
            return self.read(self.memory_of(node.args[0]), gather_source(node, position), node.args[1:])
        if form is Form.MATRIX:
            return self.element_of_matrix(node, position, [self.known[e] for e in found])
        parts = [self.known[e] for e in found]
        if form is Form.VIEW:
            return parts[0]
        if form is Form.UNROLLED:
            return self.fold_terms(node, parts)
        if form is Form.DRAW:
            return self.draw(node, position, parts)
        return compute(node, parts)

    def memory_of(self, node: Node) -> np.ndarray:
        """The array of a value in memory."""
        if isinstance(node, Constant):
            return np.asarray(node.value, node.dtype)
        schedule = self.nest.schedule
        found = self.memory[node if node in self.memory else schedule.aliases[node]]
        return np.asarray(found).reshape(node.shape)

    def load(self, node: Node, position: Position) -> Any:
        """An element in memory; zero outside of its bounds, for reads that a choice then ignores."""
        if isinstance(node, Constant) and node.weak is not None:
            return node.value
        array = self.memory_of(node)
        inside: Any = True
        if not self.nest.is_flat:
            for i, n in zip(position, node.shape, strict=True):
                if not i.is_within(n):
                    inside = inside & (self.index(i) >= 0) & (self.index(i) < n)
        index = np.where(inside, self.index(flat_index(position, node.shape)), 0)
        return np.where(inside, array.reshape(-1)[index], array.dtype.type(0)) if array.size else index

    def choose(self, node: Operation, position: Position) -> Any:
        """The element of the first read whose guards hold."""
        value: Any = node.dtype.type(0)
        for read in reversed(self.nest.sources.reads(node, position)):
            part = node.dtype.type(0)
            if read.operand is not None:
                part = self.known[node.args[read.operand], read.position]
            value = np.where(self.do_hold(read.guards), part, value)
        return np.asarray(value).astype(node.dtype)

    def do_hold(self, guards: Sequence[Guard]) -> Any:
        """Whether all guards hold."""
        values = [(self.index(guard.value), guard.is_zero) for guard in guards]
        return reduce(np.logical_and, [i == 0 if is_zero else i >= 0 for i, is_zero in values], np.asarray(True))

    def read(self, array: np.ndarray, indexed: IndexedPosition, indices: Sequence[Node]) -> Any:
        """An element at computed indices; those outside of the array are read for choices that then ignore them."""
        return array.reshape(-1).take(self.computed_index(indexed, indices), mode="clip")

    def computed_index(self, indexed: IndexedPosition, indices: Sequence[Node]) -> np.ndarray:
        """The index in memory that arrays and counters give; negative ones count from the end."""
        elements = iter(self.nest.sources.index_elements(indices, indexed))
        total = np.asarray(0)
        for axis in indexed.axes:
            along: Any = self.index(axis.affine) if axis.affine is not None else self.element(*next(elements))
            total = total * axis.extent + np.where(np.asarray(along) < 0, along + axis.extent, along)
        return total

    def fold_terms(self, node: Operation, parts: Sequence[Any]) -> Any:
        """The terms of a reduction one after the other; those of products are two factors each."""
        terms = [np.asarray(x).astype(node.dtype) for x in parts]
        add, start = fold_of(node)
        if self.nest.sources.factors(node) is not None:
            pairs = list(zip(terms[::2], terms[1::2], strict=True))
            return add_terms(add, node.dtype.type(0), pairs)
        return reduce(add, terms if start is None else [node.dtype.type(start), *terms])

    def element_of_matrix(self, node: Operation, position: Position, parts: Sequence[Any]) -> Any:
        """An element of a small matrix, whose elements are computed together."""
        function, given = lowering_of(node, MatrixFunction), iter(parts)
        operands = []
        for a in node.args[: function.operands]:
            rows, columns = a.shape[-2:]
            elements = [np.broadcast_to(next(given), self.nest.domain) for _ in range(rows * columns)]
            operands.append(np.stack(elements, -1).reshape(*self.nest.domain, rows, columns))
        matrix = np.asarray(compute(node, [*operands, *node.args[function.operands :]]))
        lead = function.lead(node)
        shape = node.shape[lead:]
        flat = matrix.reshape(*self.nest.domain, math.prod(shape))
        index = np.broadcast_to(self.index(flat_index(position[lead:], shape)), self.nest.domain)
        return np.take_along_axis(flat, index[..., None], -1)[..., 0]

    def draw(self, node: Operation, position: Position, state: Sequence[Any]) -> Any:
        """A random number: those of each state are drawn together."""
        size = node.params["size"]
        states = np.stack([np.broadcast_to(x, self.nest.domain) for x in state], -1).reshape(-1, len(state))
        index = self.index(flat_index(position[node.ndim - len(size) :], size))
        index = np.broadcast_to(index, self.nest.domain).reshape(-1)
        unique, number = np.unique(states, axis=0, return_inverse=True)
        drawn = np.stack([np.asarray(compute(node, [one])).reshape(-1) for one in unique])
        return drawn[number.reshape(-1), index].reshape(self.nest.domain)

    # Additions

    def reduction(self, node: Operation) -> np.ndarray:
        """A reduction, in the order of its additions."""
        nest, operand, lead = self.nest, node.args[0], len(self.nest.kernel.domain)
        found: dict[tuple[int, ...], Any] = {}
        for indices, inner in zip(np.ndindex(*operand.shape[lead:]), nest.inner_positions(operand), strict=True):
            key = tuple([i for k, i in enumerate(indices) if k + lead not in node.params["axis"]])
            found.setdefault(key, []).append(self.term(node, nest.position(operand) + inner))
        return np.stack([self.fold(node, terms) for terms in found.values()], -1).reshape(node.shape)

    def term(self, node: Operation, position: Position) -> tuple[np.ndarray, ...]:
        """What a reduction adds at a position of its operand: a number, or the factors of one."""
        nest, factors = self.nest, self.nest.sources.factors(node)
        at = [(node.args[0], position)]
        if factors is not None:
            at = [(a, nest.sources.operand_position(a, node.args[0], position)) for a in factors]
        return tuple([np.broadcast_to(self.element(*e), nest.domain).astype(node.dtype) for e in at])

    def fold(self, node: Operation, terms: Sequence[tuple[np.ndarray, ...]]) -> np.ndarray:
        """Fold terms along the reduced axes: in pieces, each in lanes and accumulators."""
        nest, order = self.nest, self.nest.order
        add, start = fold_of(node)
        axes = reduced_axes(nest) if node in nest.kernel.reductions else list(node.params["axis"])
        kept = [i for i in range(len(nest.domain)) if i not in axes]
        moved = [tuple([x.transpose(*kept, *axes) for x in term]) for term in terms]
        if start is None:
            inner = tuple(range(len(kept), len(nest.domain)))
            return reduce(add, [add.reduce(term, inner) for (term,) in moved])
        empty = np.full([nest.domain[i] for i in kept], start, node.dtype)
        pieces = list(piece_ranges(order, axes, nest.domain)) or [[range(nest.domain[axis]) for axis in axes]]
        lanes, accumulators = (order.lanes, order.accumulators) if axes[-1:] == [order.axis] else (1, 1)
        partial_results = []
        for ranges in pieces:
            sums = [[empty] * lanes for _ in range(accumulators)]
            *outer, last = ranges or [range(1)]
            extent = nest.domain[axes[-1]] if axes else 1
            for lead in product(*outer):
                for k, lane, i in lane_steps(last, extent, lanes, accumulators):
                    at: Any = (..., *lead, i) if axes else (...,)
                    sums[k][lane] = add_terms(add, sums[k][lane], [[x[at] for x in term] for term in moved])
            partial_results.append(fold_halves(add, [reduce(add, some) for some in zip(*sums, strict=True)]))
        return reduce(add, partial_results)

    def scatter(self) -> np.ndarray:
        """What scatters leave, in the order of the loop, or in that of its pieces."""
        nest, kernel, order = self.nest, self.nest.kernel, self.nest.order
        out, base = kernel.scatter, kernel.scatter_base
        assert out is not None
        result = np.zeros(out.size, out.dtype) if base is None else np.array(self.memory_of(base)).reshape(-1)
        written = [(node, Written.by(node)) for node in kernel.scatters]
        loops, position = kept_axes(nest, ()), nest.counted_position
        parts: list[tuple[bool, np.ndarray, np.ndarray]] = []
        for node, by in written:
            index = self.computed_index(by.target(node.shape, position), by.indices)
            value = np.asarray(self.element(by.value, by.value_position(position))).astype(out.dtype)
            first, second = [np.broadcast_to(a, nest.domain).transpose(loops) for a in (index, value)]
            parts.append((by.adds, first, second))
        if order.scatter_axis is None:
            put(result, parts, ...)
            return result.reshape(out.shape)
        for ranges in piece_ranges(order, loops[:1], nest.domain):
            piece = np.full(out.size, -0.0 if out.dtype.kind in "fc" else 0, out.dtype)
            put(piece, parts, slice(ranges[0].start, ranges[0].stop))
            result = result + piece
        return result.reshape(out.shape)


def add_terms(add: np.ufunc, total: Any, terms: Sequence[Sequence[Any]]) -> Any:
    """A partial result with more terms, which are folded first; products of two factors are added one by one."""
    if len(terms[0]) == 1:
        return add(total, reduce(add, [x for (x,) in terms]))
    return reduce(lambda old, factors: fused_multiply_add(factors[0], factors[1], old), terms, total)


def fold_halves(add: np.ufunc, lanes: list[Any]) -> Any:
    """One number from all lanes: the two halves are folded until one lane is left."""
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [add(lanes[i], lanes[half + i]) for i in range(half)]
    return lanes[0]


def fused_multiply_add(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once; for numbers that neither overflow nor underflow.

    The product is the sum of two numbers, which are added by the algorithm of Boldo and Melquiond: a sum rounded to odd
    tells the last rounding on which side of a tie it is.

    >>> float(fused_multiply_add(np.float64(0.1), 10.0, -1.0))
    5.551115123125783e-17
    """
    dtype = np.result_type(x, y, z)
    if dtype.kind != "f":
        return x * y + z
    x, y, z = [np.asarray(a, np.float64) for a in (x, y, z)]
    high = x * y
    plain = high + z
    if dtype == np.float32:
        exact = add_to_odd(high, z)
    else:
        (a, b), (c, d) = split(x), split(y)
        low = ((a * c - high) + a * d + b * c) + b * d
        second, rest = two_sum(z, low)
        first, second = two_sum(high, second)
        exact = first + add_to_odd(second, rest)
    return np.where(np.isfinite(exact), exact, plain).astype(dtype)


def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers with half of the digits each, whose sum is the number."""
    scaled = 134217729.0 * x
    high = scaled - (scaled - x)
    return high, x - high


def two_sum(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of two numbers, and its rounding error."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def add_to_odd(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sum of two numbers; if it is not exact, that of its neighbours whose last bit is set."""
    total, error = two_sum(x, y)
    total = np.asarray(total)
    is_even = (total.view(np.int64) & 1) == 0
    return np.where((error != 0) & is_even, np.nextafter(total, np.copysign(np.inf, error)), total)


def fold_of(node: Operation) -> Fold:
    """How a reduction combines two partial results, and the one of no terms."""
    if node.primitive not in FOLDS:
        raise NotImplementedError(f"{node.primitive.name} has no reference")
    return FOLDS[node.primitive]


def lane_steps(within: range, extent: int, lanes: int, accumulators: int) -> Iterator[tuple[int, int, int]]:
    """The accumulator, the lane and the index of each term along the axis of lanes.

    Several accumulators take vectors in turns; the rest goes to the first one. A vector that would end beyond the axis
    is moved back, and has only those lanes that were not counted before.

    >>> [(lane, i) for _, lane, i in lane_steps(range(3), 3, 2, 1)]
    [(0, 0), (1, 1), (1, 2)]
    """
    i, width = within.start, lanes * accumulators
    if accumulators > 1:
        while i + width <= within.stop:
            yield from ((k, lane, i + k * lanes + lane) for k in range(accumulators) for lane in range(lanes))
            i += width
    while i < within.stop:
        first = min(i, extent - lanes)
        yield from ((0, k - first, k) for k in range(i, min(first + lanes, extent)))
        i += lanes


def put(result: np.ndarray, parts: Sequence[tuple[bool, np.ndarray, np.ndarray]], within: Any) -> None:
    """Write or add what is within, one element after the other: of several scatters, each in turn at each step."""
    some = [(adds, index[within].reshape(-1), value[within].reshape(-1)) for adds, index, value in parts]
    for k in range(some[0][1].size):
        for adds, index, value in some:
            result[index[k]] = result[index[k]] + value[k] if adds else value[k]
