"""The derivative of attention: for each block of queries and keys the weights are computed again.

A unit of work is a piece of the queries of one attention, which adds up the cotangents of keys and values in the order
of its blocks. A stack of few attentions is cut into several pieces, whose sums are added up in order. Neither depends
on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from wengert.compiler.machine.target import sum_lanes
from wengert.compiler.products.routine import add_pieces
from wengert.compiler.routines.attention.blocks import BlockWriter
from wengert.compiler.routines.attention.geometry import Cut, Geometry, queries
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import fold_lanes
from wengert.compiler.simd.lanes import Lanes, fma, select
from wengert.compiler.simd.types import Type
from wengert.core import machine
from wengert.graph.ir import Operation

PRODUCTS = 5
"""The products for each block of queries and keys."""
T, QUERY, KEY, VALUE, OUT, MAXIMUM, FACTOR = range(7)
"""The operands."""


def backward_cut(node: Operation) -> Cut:
    """Pieces of queries, with their cotangents, weights and cotangents of these, and numbers for each query."""
    g, n = Geometry.of(node.params["is_causal"], *node.args[QUERY:OUT], *node.args[FACTOR + 1 :]), queries()
    pairs, numbers = n * g.block_keys, dict.fromkeys(("maximum", "factor", "inner"), n)
    sizes = {"query": n * g.size, "t": n * g.width, "query_sums": n * g.size, "scores": pairs, "slopes": pairs}
    return Cut(g, -(-machine.current.attention_pieces // g.members), sizes | numbers)


def partial_elements(cut: Cut) -> int:
    """The elements of the sums of all pieces, if there are several for an attention."""
    g = cut.geometry
    return 0 if cut.pieces == 1 else cut.parts.units * g.keys * (g.size + g.width)


def backward_workspace(node: Operation) -> int:
    """The bytes of the buffers of all parts, and of the sums of pieces."""
    cut = backward_cut(node)
    return cut.parts.nbytes + partial_elements(cut) * Type(cut.geometry.kind).align


def write_pull(call: RoutineCall) -> None:
    """The cotangents of queries, keys and values on all cores."""
    writer = PullWriter(call, cut := backward_cut(call.node))
    g, workspace = cut.geometry, call.workspace
    assert workspace is not None
    targets = [result or workspace for result in call.results]
    if cut.pieces > 1:
        targets[1] = writer.at(workspace, cut.parts.elements)
        targets[2] = writer.at(targets[1], cut.parts.units * g.keys * g.size)
    call.name = "derivative of attention"
    writer.run(targets, PRODUCTS * g.length * g.keys * max(g.size, g.width))
    for result, partials, size in zip(call.results[1:], targets[1:], (g.size, g.width), strict=True):
        if cut.pieces > 1 and result is not None:
            add_pieces(call, writer.element, g.members, cut.pieces, g.keys * size, partials, result)


class PullWriter(BlockWriter):
    """Writes the derivative for pieces of the queries of attentions."""

    leading = QUERY

    def __init__(self, call: RoutineCall, cut: Cut):
        super().__init__(call, cut)
        g, down = self.geometry, [strides[-2] for strides in self.strides[:OUT]]
        self.products = {
            "scores": g.to_queries((down[KEY], 1)),
            "slopes": g.to_queries((down[VALUE], 1)),
            "queries": g.to_rows(g.size, (1, queries()), down[KEY]),
            "keys": g.to_rows(g.size, (queries(), 1), down[QUERY]),
            "values": g.to_rows(g.width, (queries(), 1), down[T]),
        }

    def begin_piece(self) -> None:
        """Begin the sums of keys and values with zeros."""
        g = self.geometry
        self.sums = []
        for is_wanted, target, size in zip(self.wanted[1:], self.results[1:], (g.size, g.width), strict=True):
            self.sums.append(self.at(target, self.unit * (g.keys * size)))
            if is_wanted:
                self.code.clear(self.sums[-1], g.keys * size * self.element.align)

    def write_block(self) -> None:
        """One block of queries with all keys that it sees."""
        code, g, buffers = self.code, self.geometry, self.buffers
        self.read_transposed("t", T)
        self.multiply_rows()
        self.read_transposed("query", QUERY)
        for name, operand in (("maximum", MAXIMUM), ("factor", FACTOR)):
            code.clear(buffers[name], queries() * self.element.align)
            code.copy(buffers[name], self.at(self.pointers[operand], self.row), self.count * self.element.align)
        code.clear(buffers["query_sums"], queries() * g.size * self.element.align)
        limit = self.key_limit([T, QUERY, KEY, VALUE])
        with code.when(self.has_infinite_product()):
            self.fill("inner", 0.0)
            with self.key_blocks(limit) as (start, keys):
                self.write_slopes(start, keys)
                with self.columns() as column:
                    self.add_products(column, start, keys)
        with self.key_blocks(limit) as (start, keys):
            self.write_slopes(start, keys)
            with self.columns() as column:
                self.weigh(column, start, keys)
            key_sums, value_sums = self.at(self.sums[0], start * g.size), self.at(self.sums[1], start * g.width)
            if self.wanted[0]:
                self.multiply("queries", "query_sums", buffers["slopes"], self.rows(KEY, start), self.count, keys)
            if self.wanted[1]:
                self.multiply("keys", key_sums, buffers["slopes"], self.rows(QUERY, self.first), keys, self.count)
            if self.wanted[2]:
                self.multiply("values", value_sums, buffers["scores"], self.rows(T, self.first), keys, self.count)
        if self.wanted[0]:
            target = self.at(self.results[0], self.row * g.size)
            code.copy(target, buffers["query_sums"], self.count * (g.size * self.element.align))

    def write_slopes(self, start: Lanes, keys: Lanes) -> None:
        """The cotangents of the weights of a block of keys."""
        self.multiply("slopes", "slopes", self.rows(VALUE, start), self.buffers["t"], keys, self.geometry.width)

    def has_infinite_product(self) -> Lanes:
        """Whether an inner product is not finite: then it may differ from the sum over keys, which it should equal."""
        total = Variable(self.code, self.vector, 0.0)
        with self.columns() as column:
            x = self.load("inner", column)
            total.store(fma(x, x.like(0.0), total.load()))
        return fold_lanes(lambda a, b: a + b, total.load()).is_nan()

    def multiply_rows(self) -> None:
        """The inner product of the result and its cotangent for each query."""
        code, width = self.code, self.geometry.width
        type = Type(self.geometry.kind, math.gcd(width, sum_lanes(self.element.align)))
        t, out = self.rows(T, self.first), self.at(self.pointers[OUT], self.row * width)
        self.fill("inner", 0.0)
        with code.loop(0, self.count) as i:
            total = Variable(code, type, 0.0)
            with code.loop(0, width, type.lanes) as d:
                x, y = self.read(t, i * self.strides[T][-2] + d, type), self.read(out, i * width + d, type)
                total.store(fma(x, y, total.load()))
            self.store(fold_lanes(lambda a, b: a + b, total.load()), self.buffers["inner"], i)

    def each_weight(self, column: Lanes, start: Lanes, keys: Lanes) -> Iterator[tuple[Lanes, Lanes, Lanes | None]]:
        """A loop over a block of keys: the index of a vector of scores, their weights, and which of them count."""
        maximum, factor, apply = self.load("maximum", column), self.load("factor", column), self.mask_at(column)
        with self.code.loop(0, keys) as j:
            index = j * queries() + column
            score, seen = apply(self.load("scores", index), start + j)
            yield index, self.exponential(score - maximum) * factor, seen

    def add_products(self, column: Lanes, start: Lanes, keys: Lanes) -> None:
        """Add the weights of a block of keys times their cotangents, for a vector of queries."""
        total = Variable(self.code, self.vector, self.load("inner", column))
        for index, weight, _ in self.each_weight(column, start, keys):
            total.store(total.load() + self.load("slopes", index) * weight)
        self.put(total.load(), "inner", column)

    def weigh(self, column: Lanes, start: Lanes, keys: Lanes) -> None:
        """Make weights of scores, and their cotangents of those of the weights, for a vector of queries."""
        inner = self.load("inner", column)
        for index, weight, seen in self.each_weight(column, start, keys):
            slope = weight * (self.load("slopes", index) - inner)
            self.put(weight, "scores", index)
            self.put(slope if seen is None else select(seen, slope, 0.0), "slopes", index)
