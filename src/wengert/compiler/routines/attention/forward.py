"""Writes attention for blocks of queries: keys are read in blocks, and the softmax follows the largest score so far.

When a block has a larger score, what was added up before is multiplied by the exponential of the difference.
"""

from __future__ import annotations

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
from wengert.compiler.simd.lanes import Code, Lanes, select
from wengert.compiler.simd.types import I64
from wengert.core import machine
from wengert.graph.ir import Operation

INFINITY = float("inf")


def forward_geometry(node: Operation) -> Geometry:
    """The sizes of an attention."""
    query, key, value, *mask = node.args
    return geometry_of(node, query, key, value, mask)


def forward_buffers(g: Geometry) -> Buffers:
    """What one part needs: transposed queries and results, scores, and numbers for each query."""
    buffers = Buffers(g.kind)
    for name, size in (
        ("query", queries() * g.size),
        ("rows", queries() * max(g.size, g.width)),
        ("out", queries() * g.width),
        ("scores", queries() * g.block_keys),
        ("largest", queries()),
        ("total", queries()),
    ):
        buffers.add(name, size)
    return buffers


def forward_workspace(node: Operation) -> int:
    """The bytes of the buffers of all parts."""
    g = forward_geometry(node)
    units = g.members * g.query_blocks
    buffers = forward_buffers(g)
    return -(-units // grain_of(units)) * buffers.size * buffers.element.align


def write_attention(call: RoutineCall) -> None:
    """Attention on all cores: threads share blocks of queries."""
    g = forward_geometry(call.node)
    axes = len(g.stack)
    layouts = [
        MatrixLayout.of(operand, a.shape, axes) for operand, a in zip(call.operands, call.node.args, strict=True)
    ]
    is_kept = call.results[1] is not None or call.results[2] is not None
    places = ".".join("x".join(map(str, (*layout.steps, layout.down, layout.along))) for layout in layouts)
    name = f"wengert.attention.{g.name}.{places}{'.kept' if is_kept else ''}"
    units = g.members * g.query_blocks
    assert call.workspace is not None
    results = [call.workspace if result is None else result for result in call.results]
    pointers = [*[operand.pointer for operand in call.operands], *results, call.workspace]
    scores, out = g.to_queries((layouts[1].down, 1)), g.to_queries((1, layouts[2].down), is_added=True)
    for product in (scores, out):
        product.define(call)

    def write(code: Code) -> None:
        writer = BlockWriter(code, g, len(pointers), forward_buffers(g), grain_of(units))
        with code.loop(writer.begin, writer.end) as unit:
            AttentionWriter(writer, layouts, unit, is_kept).write()

    call.name = "attention"
    call.define_part(name, write)
    work = g.members * g.length * g.keys * (g.size + g.width) // machine.current.multiplications_per_operation
    call.run_on_all_cores(name, pointers, units, grain_of(units), work)


class AttentionWriter:
    """Writes the attention of one block of queries, which is a unit of work."""

    def __init__(self, writer: BlockWriter, layouts: list[MatrixLayout], unit: Lanes, is_kept: bool):
        self.writer, self.code, self.g, self.is_kept = writer, writer.code, writer.geometry, is_kept
        g, code = self.g, self.code
        self.number = code.add(f"udiv {unit.typed}, {g.query_blocks}", I64)
        self.first = code.add(f"urem {unit.typed}, {g.query_blocks}", I64) * queries()
        self.count = code.intrinsic("smin", I64, code.constant(g.length, I64) - self.first, unit.like(queries()))
        indices = stack_indices(code, self.number, g.stack)
        self.layouts = layouts
        self.query, self.key, self.value = [
            writer.matrix(pointer, layout, indices)
            for pointer, layout in zip(writer.pointers[:3], layouts[:3], strict=True)
        ]
        base = writer.mask_address(writer.pointers[3], layouts[3], indices) if g.mask_kind else None
        self.mask = MaskReader(g, layouts[3] if g.mask_kind else None, base, self.first)

    def write(self) -> None:
        """All keys, block by block."""
        writer, code, g = self.writer, self.code, self.g
        _, key, value = self.layouts[:3]
        down = self.layouts[0].down
        writer.read_transposed("query", writer.at(self.query, self.first * down), down, g.size, self.count)
        code.clear(writer.buffers["out"], queries() * g.width * writer.element.align)
        writer.fill("largest", -INFINITY)
        writer.fill("total", 0.0)
        limit = writer.key_limit([(self.value, g.keys, g.width, value.down)], self.first, self.count)
        scores, out = g.to_queries((key.down, 1)), g.to_queries((1, value.down), is_added=True)
        with code.loop(0, limit, g.block_keys) as start:
            count = code.intrinsic("smin", I64, limit - start, start.like(g.block_keys))
            block, transposed = writer.buffers["scores"], writer.buffers["query"]
            scores.run(code, block, writer.at(self.key, start * key.down), transposed, count, g.size)
            with code.loop(0, queries(), g.lanes) as column:
                self.weigh(column, start, count)
            source = writer.at(self.value, start * value.down)
            out.run(code, writer.buffers["out"], source, block, g.width, count)
        self.finish()

    def weigh(self, column: Lanes, start: Lanes, count: Lanes) -> None:
        """Make weights of a vector of scores of each key, and multiply what there is by the change of the maximum."""
        writer, code = self.writer, self.code
        scores, largest_of, total_of = [writer.buffers[name] for name in ("scores", "largest", "total")]
        apply = self.mask.begin(column)
        before = writer.load(largest_of, column)
        largest = Variable(code, writer.vector, before)
        with code.loop(0, count) as j:
            index = j * queries() + column
            score, _ = apply(writer.load(scores, index), start + j)
            if not self.mask.is_empty:
                writer.store(score, scores, index)
            largest.store(larger_or_nan(largest.load(), score))
        now = largest.load()
        offset = finite_offset(now)
        change = writer.exponential(before - offset)
        total = Variable(code, writer.vector, writer.load(total_of, column) * change)
        with code.loop(0, count) as j:
            index = j * queries() + column
            weight = writer.exponential(writer.load(scores, index) - offset)
            writer.store(weight, scores, index)
            total.store(total.load() + weight)
        writer.store(now, largest_of, column)
        writer.store(total.load(), total_of, column)
        out = writer.buffers["out"]
        with code.when(start.ne(0)), code.loop(0, self.g.width) as d:
            index = d * queries() + column
            writer.store(writer.load(out, index) * change, out, index)

    def finish(self) -> None:
        """Divide by the sums of weights, and write rows."""
        writer, code, g = self.writer, self.code, self.g
        out, rows, size = writer.buffers["out"], writer.buffers["rows"], writer.element.align
        with code.loop(0, queries(), g.lanes) as column:
            largest, total = [writer.load(writer.buffers[name], column) for name in ("largest", "total")]
            factor = 1.0 / select(largest.eq(INFINITY) | total.eq(0.0), 1.0, total)
            writer.store(finite_offset(largest), writer.buffers["largest"], column)
            writer.store(factor, writer.buffers["total"], column)
            with code.loop(0, g.width) as d:
                index = d * queries() + column
                writer.store(writer.load(out, index) * factor, out, index)
        writer.transpose(rows, out, g.width, queries())
        row = self.number * g.length + self.first
        results = writer.pointers[-4:-1]
        code.copy(writer.at(results[0], row * g.width), rows, self.count * (g.width * size))
        if self.is_kept:
            for result, name in zip(results[1:], ("largest", "total"), strict=True):
                code.copy(writer.at(result, row), writer.buffers[name], self.count * size)


def finite_offset(largest: Lanes) -> Lanes:
    """What scores are compared with: the largest one, or zero where no key is seen."""
    return select(largest.eq(-INFINITY), 0.0, largest)


def larger_or_nan(x: Lanes, y: Lanes) -> Lanes:
    """The larger number, or NaN if one of them is."""
    return select((x > y) | x.is_nan(), x, y)
