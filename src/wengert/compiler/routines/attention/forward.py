"""Attention for blocks of queries: keys are read in blocks, and the softmax follows the largest score so far.

When a block has a larger score, what was added up before is multiplied by the exponential of the difference.
"""

from __future__ import annotations

from wengert.compiler.routines.attention.blocks import BlockWriter
from wengert.compiler.routines.attention.geometry import Cut, Geometry, queries
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lanes import Lanes, select
from wengert.graph.ir import Operation

INFINITY = float("inf")


def forward_cut(node: Operation) -> Cut:
    """Blocks of queries, with transposed queries and results, scores, and numbers for each query."""
    g, n = Geometry.of(node.params["is_causal"], *node.args), queries()
    buffers = {"query": n * g.size, "out": n * g.width, "scores": n * g.block_keys, "largest": n, "total": n}
    return Cut(g, g.query_blocks, buffers)


def forward_workspace(node: Operation) -> int:
    """The bytes of the buffers of all parts."""
    return forward_cut(node).parts.nbytes


def write_attention(call: RoutineCall) -> None:
    """Attention on all cores: threads share blocks of queries."""
    writer = AttentionWriter(call, forward_cut(call.node))
    g, workspace = writer.geometry, call.workspace
    assert workspace is not None
    call.name = "attention"
    writer.run([result or workspace for result in call.results], g.length * g.keys * (g.size + g.width))


class AttentionWriter(BlockWriter):
    """Writes the attention of blocks of queries."""

    def __init__(self, call: RoutineCall, cut: Cut):
        super().__init__(call, cut)
        (*_, key, _), (*_, value, _) = self.strides[1:3]
        to_queries = self.geometry.to_queries
        self.products = {"scores": to_queries((key, 1)), "out": to_queries((1, value), is_added=True)}

    def write_block(self) -> None:
        """All keys, block by block."""
        code, g = self.code, self.geometry
        self.read_transposed("query", 0)
        code.clear(self.buffers["out"], queries() * g.width * self.element.align)
        self.fill("largest", -INFINITY)
        self.fill("total", 0.0)
        with self.key_blocks(self.key_limit([2])) as (start, keys):
            with self.columns() as column:
                self.weigh(column, start, keys)
            self.multiply("out", "out", self.rows(2, start), self.buffers["scores"], g.width, keys)
        self.finish()

    def weigh(self, column: Lanes, start: Lanes, count: Lanes) -> None:
        """Make weights of a vector of scores of each key, and multiply what there is by the change of the maximum."""
        code, apply, before = self.code, self.mask_at(column), self.load("largest", column)
        largest = Variable(code, self.vector, before)
        with code.loop(0, count) as j:
            index = j * queries() + column
            score, _ = apply(self.load("scores", index), start + j)
            if self.is_masked:
                self.put(score, "scores", index)
            largest.store(larger_or_nan(largest.load(), score))
        now = largest.load()
        offset = finite_offset(now)
        change = self.exponential(before - offset)
        total = Variable(code, self.vector, self.load("total", column) * change)
        with code.loop(0, count) as j:
            index = j * queries() + column
            weight = self.exponential(self.load("scores", index) - offset)
            self.put(weight, "scores", index)
            total.store(total.load() + weight)
        self.put(now, "largest", column)
        self.put(total.load(), "total", column)
        with code.when(start.ne(0)):
            self.scale_results(column, change)

    def scale_results(self, column: Lanes, factor: Lanes) -> None:
        """Multiply the results of a vector of queries by a factor of each."""
        with self.code.loop(0, self.geometry.width) as d:
            index = d * queries() + column
            self.put(self.load("out", index) * factor, "out", index)

    def finish(self) -> None:
        """Divide by the sums of weights, and write rows."""
        code, g = self.code, self.geometry
        with self.columns() as column:
            largest, total = [self.load(name, column) for name in ("largest", "total")]
            factor = 1.0 / select(largest.eq(INFINITY) | total.eq(0.0), 1.0, total)
            self.put(finite_offset(largest), "largest", column)
            self.put(factor, "total", column)
            self.scale_results(column, factor)
        rows = self.at(self.results[0], self.row * g.width)
        self.transpose(rows, g.width, self.buffers["out"], queries(), g.width, self.count)
        if any(self.wanted[1:]):
            for result, name in zip(self.results[1:], ("largest", "total"), strict=True):
                code.copy(self.at(result, self.row), self.buffers[name], self.count * self.element.align)


def finite_offset(largest: Lanes) -> Lanes:
    """What scores are compared with: the largest one, or zero where no key is seen."""
    return select(largest.eq(-INFINITY), 0.0, largest)


def larger_or_nan(x: Lanes, y: Lanes) -> Lanes:
    """The larger number, or NaN if one of them is."""
    return select((x > y) | x.is_nan(), x, y)
