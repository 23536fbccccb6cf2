"""Writes the derivative of attention: for each block of queries and keys the weights are computed again.

A unit of work is a piece of the queries of one attention, which adds up the cotangents of keys and values in the order
of its blocks. A stack of few attentions is cut into several pieces, whose sums are added up in order. Neither depends
on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wengert.compiler.routines.attention.blocks import BlockWriter, MaskReader
from wengert.compiler.routines.attention.geometry import (
    Buffers,
    Geometry,
    MatrixLayout,
    geometry_of,
    grain_of,
    queries,
    stack_indices,
)
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import fold_lanes
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine
from wengert.graph.ir import Operation

PRODUCTS = 5
"""The products for each block of queries and keys."""


def backward_geometry(node: Operation) -> Geometry:
    """The sizes of the attention that is differentiated."""
    _, query, key, value, _, _, _, *mask = node.args
    return geometry_of(node, query, key, value, mask)


def pieces_of(g: Geometry) -> int:
    """The pieces of the queries of one attention."""
    wanted = min(-(-machine.current.attention_pieces // g.members), g.query_blocks)
    return -(-g.query_blocks // blocks_of_piece(g, wanted))


def blocks_of_piece(g: Geometry, pieces: int) -> int:
    """The blocks of queries of a piece."""
    return -(-g.query_blocks // pieces)


def backward_buffers(g: Geometry) -> Buffers:
    """What one part needs: transposed queries and cotangents, weights and their cotangents, and numbers for queries."""
    buffers = Buffers(g.kind)
    for name, size in (
        ("query", queries() * g.size),
        ("t", queries() * g.width),
        ("rows", queries() * max(g.size, g.width)),
        ("query_sums", queries() * g.size),
        ("weights", queries() * g.block_keys),
        ("slopes", queries() * g.block_keys),
        ("maximum", queries()),
        ("factor", queries()),
        ("inner", queries()),
    ):
        buffers.add(name, size)
    return buffers


def partial_elements(g: Geometry) -> int:
    """The elements of the sums of all pieces, if there are several for an attention."""
    pieces = pieces_of(g)
    return 0 if pieces == 1 else pieces * g.members * g.keys * (g.size + g.width)


def buffer_elements(g: Geometry) -> int:
    """The elements of the buffers of all parts."""
    units = g.members * pieces_of(g)
    return -(-units // grain_of(units)) * backward_buffers(g).size


def backward_workspace(node: Operation) -> int:
    """The bytes of the buffers of all parts, and of the sums of pieces."""
    g = backward_geometry(node)
    return (buffer_elements(g) + partial_elements(g)) * Type(g.kind).align


def write_pull(call: RoutineCall) -> None:
    """The cotangents of queries, keys and values on all cores."""
    g, node, code = backward_geometry(call.node), call.node, call.code
    axes, pieces = len(g.stack), pieces_of(g)
    strided = (0, 1, 2, 3, *range(7, len(node.args)))
    layouts = [MatrixLayout.of(call.operands[i], node.args[i].shape, axes) for i in strided]
    places = ".".join("x".join(map(str, (*layout.steps, layout.down, layout.along))) for layout in layouts)
    wanted = tuple([result is not None for result in call.results])
    name = f"wengert.attention.pull.{g.name}.{places}.{''.join([str(int(w)) for w in wanted])}"
    assert call.workspace is not None
    targets = [call.workspace if result is None else result for result in call.results]
    element, units = Type(g.kind), g.members * pieces
    sizes = (0, g.keys * g.size, g.keys * g.width)
    if pieces > 1:
        keys = code.offset(call.workspace, buffer_elements(g), element)
        targets[1:] = [keys, code.offset(keys, units * sizes[1], element)]
    ordered = [call.operands[i].pointer for i in strided] + [call.operands[i].pointer for i in (4, 5, 6)]
    pointers = [*ordered, *targets, call.workspace]
    products = PullProducts(g, layouts)
    for product in products.all:
        product.define(call)

    def write(inner: Code) -> None:
        writer = BlockWriter(inner, g, len(pointers), backward_buffers(g), grain_of(units))
        with inner.loop(writer.begin, writer.end) as unit:
            PullWriter(writer, layouts, products, unit, wanted).write()

    call.name = "derivative of attention"
    call.define_part(name, write)
    work = (
        PRODUCTS * g.members * g.length * g.keys * max(g.size, g.width) // machine.current.multiplications_per_operation
    )
    call.run_on_all_cores(name, pointers, units, grain_of(units), work)
    for i in (1, 2):
        result = call.results[i]
        if pieces > 1 and result is not None:
            add_up(call, g, sizes[i], targets[i], result)


def add_up(call: RoutineCall, g: Geometry, size: int, partials: Lanes, result: Lanes) -> None:
    """Add up the sums of the pieces of each attention, in order."""
    lanes, pieces, element = g.lanes_along(size), pieces_of(g), Type(g.kind)
    type = Type(g.kind, lanes)

    def write(code: Code) -> None:
        source, target = Lanes(code, "%partials", PTR), Lanes(code, "%result", PTR)
        with code.loop(0, g.members) as number, code.loop(0, size, lanes) as i:
            total = Variable(code, type, 0.0)
            with code.loop(0, pieces) as piece:
                index = (number * pieces + piece) * size + i
                total.store(total.load() + code.load(code.offset(source, index, element), type, element.align))
            code.store(total.load(), code.offset(target, number * size + i, element), element.align)

    name = f"wengert.attention.pieces.{g.kind}.{g.members}x{pieces}x{size}"
    call.define(name, ("ptr noalias %partials", "ptr noalias %result"), write)
    call.run(name, partials, result)


class PullProducts:
    """The products of one block: scores, their cotangents, and what both give to queries, keys and values."""

    def __init__(self, g: Geometry, layouts: list[MatrixLayout]):
        t, query, key, value = layouts[:4]
        self.scores, self.slopes = g.to_queries((key.down, 1)), g.to_queries((value.down, 1))
        self.queries = g.to_rows(g.size, (1, queries()), key.down)
        self.keys = g.to_rows(g.size, (queries(), 1), query.down)
        self.values = g.to_rows(g.width, (queries(), 1), t.down)
        self.all = self.scores, self.slopes, self.queries, self.keys, self.values


class PullWriter:
    """Writes the derivative for a piece of the queries of one attention, which is a unit of work."""

    def __init__(
        self,
        writer: BlockWriter,
        layouts: list[MatrixLayout],
        products: PullProducts,
        unit: Lanes,
        wanted: tuple[bool, ...],
    ):
        self.writer, self.code, self.g = writer, writer.code, writer.geometry
        self.layouts, self.products, self.wanted = layouts, products, wanted
        g, code, pieces = self.g, self.code, pieces_of(self.g)
        self.unit = unit
        self.number = code.add(f"udiv {unit.typed}, {pieces}", I64)
        self.piece = code.add(f"urem {unit.typed}, {pieces}", I64)
        self.indices = stack_indices(code, self.number, g.stack)
        self.t, self.query, self.key, self.value = [
            writer.matrix(pointer, layout, self.indices)
            for pointer, layout in zip(writer.pointers[:4], layouts[:4], strict=True)
        ]
        self.out, self.maximum, self.factor, *self.targets = writer.pointers[-7:-1]

    def write(self) -> None:
        """All blocks of the piece; the sums of keys and values begin with zeros."""
        writer, code, g = self.writer, self.code, self.g
        self.key_sums = writer.at(self.targets[1], self.unit * (g.keys * g.size))
        self.value_sums = writer.at(self.targets[2], self.unit * (g.keys * g.width))
        for is_wanted, sums, size in zip(
            self.wanted[1:], (self.key_sums, self.value_sums), (g.size, g.width), strict=True
        ):
            if is_wanted:
                code.clear(sums, g.keys * size * writer.element.align)
        blocks = blocks_of_piece(g, pieces_of(g))
        last = code.intrinsic("smin", I64, self.piece * blocks + blocks, self.piece.like(g.query_blocks))
        with code.loop(self.piece * blocks, last) as block:
            self.write_block(block * queries())

    def write_block(self, first: Lanes) -> None:
        """One block of queries with all keys that it sees."""
        writer, code, g, buffers = self.writer, self.code, self.g, self.writer.buffers
        t, query, key, value = self.layouts[:4]
        count = code.intrinsic("smin", I64, code.constant(g.length, I64) - first, first.like(queries()))
        row = self.number * g.length + first
        own_t, own_query = writer.at(self.t, first * t.down), writer.at(self.query, first * query.down)
        writer.read_transposed("t", own_t, t.down, g.width, count)
        self.multiply_rows(own_t, writer.at(self.out, row * g.width), count)
        writer.read_transposed("query", own_query, query.down, g.size, count)
        writer.read_numbers("maximum", writer.at(self.maximum, row), count)
        writer.read_numbers("factor", writer.at(self.factor, row), count)
        code.clear(buffers["query_sums"], queries() * g.size * writer.element.align)
        base = writer.mask_address(writer.pointers[4], self.layouts[4], self.indices) if g.mask_kind else None
        mask = MaskReader(g, self.layouts[4] if g.mask_kind else None, base, first)
        read = [
            (self.t, g.length, g.width, t.down),
            (self.query, g.length, g.size, query.down),
            (self.key, g.keys, g.size, key.down),
            (self.value, g.keys, g.width, value.down),
        ]
        limit = writer.key_limit(read, first, count)
        with code.when(self.has_infinite_product()):
            writer.fill("inner", 0.0)
            with self.key_blocks(limit) as (start, keys), code.loop(0, queries(), g.lanes) as column:
                self.add_products(mask, column, start, keys)
        products, weights, slopes = self.products, buffers["weights"], buffers["slopes"]
        with self.key_blocks(limit) as (start, keys):
            own_key = writer.at(self.key, start * key.down)
            with code.loop(0, queries(), g.lanes) as column:
                self.weigh(mask, column, start, keys)
            if self.wanted[0]:
                products.queries.run(code, buffers["query_sums"], slopes, own_key, count, keys)
            if self.wanted[1]:
                products.keys.run(code, writer.at(self.key_sums, start * g.size), slopes, own_query, keys, count)
            if self.wanted[2]:
                products.values.run(code, writer.at(self.value_sums, start * g.width), weights, own_t, keys, count)
        if self.wanted[0]:
            target = writer.at(self.targets[0], row * g.size)
            code.copy(target, buffers["query_sums"], count * (g.size * writer.element.align))

    @contextmanager
    def key_blocks(self, limit: Lanes) -> Iterator[tuple[Lanes, Lanes]]:
        """A loop over blocks of keys: gives the first one and their number, with the scores and their cotangents."""
        writer, code, g, buffers = self.writer, self.code, self.g, self.writer.buffers
        _, _, key, value = self.layouts[:4]
        with code.loop(0, limit, g.block_keys) as start:
            keys = code.intrinsic("smin", I64, limit - start, start.like(g.block_keys))
            own_key, own_value = writer.at(self.key, start * key.down), writer.at(self.value, start * value.down)
            self.products.scores.run(code, buffers["weights"], own_key, buffers["query"], keys, g.size)
            self.products.slopes.run(code, buffers["slopes"], own_value, buffers["t"], keys, g.width)
            yield start, keys

    def has_infinite_product(self) -> Lanes:
        """Whether an inner product is not finite: then it may differ from the sum over keys, which it should equal."""
        writer, code = self.writer, self.code
        total = Variable(code, writer.vector, 0.0)
        with code.loop(0, queries(), self.g.lanes) as column:
            x = writer.load(writer.buffers["inner"], column)
            total.store(fma(x, x.like(0.0), total.load()))
        return fold_lanes(lambda a, b: a + b, total.load()).is_nan()

    def add_products(self, mask: MaskReader, column: Lanes, start: Lanes, keys: Lanes) -> None:
        """Add the weights of a block of keys times their cotangents, for a vector of queries."""
        writer, code = self.writer, self.code
        weights, slopes, inner = [writer.buffers[name] for name in ("weights", "slopes", "inner")]
        apply = mask.begin(column)
        maximum, factor = [writer.load(writer.buffers[name], column) for name in ("maximum", "factor")]
        total = Variable(code, writer.vector, writer.load(inner, column))
        with code.loop(0, keys) as j:
            index = j * queries() + column
            score, _ = apply(writer.load(weights, index), start + j)
            weight = writer.exponential(score - maximum) * factor
            total.store(total.load() + writer.load(slopes, index) * weight)
        writer.store(total.load(), inner, column)

    def multiply_rows(self, t: Lanes, out: Lanes, count: Lanes) -> None:
        """The inner product of the result and its cotangent for each query."""
        writer, code, g = self.writer, self.code, self.g
        lanes, down, align = g.sum_lanes_along(g.width), self.layouts[0].down, writer.element.align
        type = Type(g.kind, lanes)
        writer.fill("inner", 0.0)
        with code.loop(0, count) as i:
            total = Variable(code, type, 0.0)
            with code.loop(0, g.width, lanes) as d:
                x = code.load(writer.at(t, i * down + d), type, align)
                y = code.load(writer.at(out, i * g.width + d), type, align)
                total.store(fma(x, y, total.load()))
            folded = fold_lanes(lambda a, b: a + b, total.load())
            code.store(folded, writer.at(writer.buffers["inner"], i), align)

    def weigh(self, mask: MaskReader, column: Lanes, start: Lanes, keys: Lanes) -> None:
        """Make weights of scores, and their cotangents of those of the weights, for a vector of queries."""
        writer, code = self.writer, self.code
        weights, slopes = writer.buffers["weights"], writer.buffers["slopes"]
        maximum, factor, inner = [writer.load(writer.buffers[name], column) for name in ("maximum", "factor", "inner")]
        apply = mask.begin(column)
        with code.loop(0, keys) as j:
            index = j * queries() + column
            score, seen = apply(writer.load(weights, index), start + j)
            weight = writer.exponential(score - maximum) * factor
            slope = weight * (writer.load(slopes, index) - inner)
            writer.store(weight, weights, index)
            writer.store(slope if seen is None else select(seen, slope, 0.0), slopes, index)
