"""The walk over blocks of queries and keys that attention and its derivative share.

Blocks of scores have a row for each key and lanes that are queries: so maxima and sums are those of lanes. Queries are
transposed once for each block of them. Keys and values are read where they are, as factors that are broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from wengert.compiler.functions.vector_functions import call as call_function
from wengert.compiler.products.blocks import BlockProduct
from wengert.compiler.products.routine import matrix_in_stack
from wengert.compiler.products.tile import Elements, smaller
from wengert.compiler.products.transposing import define_transpose
from wengert.compiler.routines.attention.geometry import Cut, queries, strides_in_stack
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import count_lanes, fold_lanes, join_elements, splat
from wengert.compiler.simd.lanes import Code, Lanes, fma, select, split_index
from wengert.compiler.simd.types import I64, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine

NEGLIGIBLE = {"f32": -104.0, "f64": -746.0}
"""The exponentials of smaller numbers are zero."""


class BlockWriter(Elements):
    """Writes the parts of an attention, or of its derivative, block by block of the queries.

    The operands begin with `leading` others, queries, keys and values; the mask is the last one. Memory has one array
    after the other: operands, results, and the buffers of all parts.
    """

    leading = 0
    products: dict[str, BlockProduct]

    def __init__(self, call: RoutineCall, cut: Cut):
        g = self.geometry = cut.geometry
        super().__init__(g.kind)
        self.call, self.cut, ndim = call, cut, len(g.stack) + 2
        self.strides = [
            strides_in_stack(a.shape, operand.strides, ndim)
            for a, operand in zip(call.node.args, call.operands, strict=True)
        ]
        self.shapes = [a.shape[-2:] for a in call.node.args]
        self.wanted = [result is not None for result in call.results]

    def run(self, results: Sequence[Lanes], operations: int) -> None:
        """Define the function of a part, and call it on all cores."""
        call, cut = self.call, self.cut
        assert call.workspace is not None
        for product in self.products.values():
            product.define(call)
        define_transpose(call, self.element)
        places = ".".join("x".join(map(str, strides)) for strides in self.strides)
        wanted = "".join(str(int(w)) for w in self.wanted)
        name = f"wengert.attention.{type(self).__name__}.{self.geometry.name}.{places}.{wanted}"
        call.define_part(name, self.write)
        pointers = [*[operand.pointer for operand in call.operands], *results, call.workspace]
        work = self.geometry.members * operations // machine.current.multiplications_per_operation
        call.run_on_all_cores(name, pointers, cut.parts.units, cut.parts.grain, work)

    def write(self, code: Code) -> None:
        """All units of a part."""
        self.code, g, cut = code, self.geometry, self.cut
        operands, results = len(self.strides), len(self.wanted)
        pointers, begin, end = read_part(code, operands + results + 1)
        self.pointers, self.results, memory = pointers[:operands], pointers[operands:-1], pointers[-1]
        memory = cut.parts.buffer(memory, begin)
        self.buffers = {name: self.at(memory, start) for name, start in cut.starts.items()}
        with code.loop(begin, end) as self.unit:
            self.number, piece = split_index(self.unit, cut.pieces)
            self.indices = split_index(self.number, *g.stack[1:])
            self.matrices = list(map(self.matrix, range(self.leading + 3)))
            self.begin_piece()
            with code.loop(piece * cut.blocks, smaller((piece + 1) * cut.blocks, g.query_blocks)) as block:
                self.first = block * queries()
                self.count = smaller(g.length - self.first, queries())
                self.row = self.number * g.length + self.first
                self.write_block()

    def begin_piece(self) -> None:
        """Write what comes before the blocks of a piece."""

    def write_block(self) -> None:
        """Write a block of `count` queries from the `first` one, in a `row` of results."""
        raise NotImplementedError  # each class defines it

    # Operands

    def matrix(self, operand: int, element: Type | None = None) -> Lanes:
        """The matrix of an operand that belongs to the present attention."""
        return matrix_in_stack(
            self.pointers[operand], self.indices, self.strides[operand][:-2], element or self.element
        )

    def rows(self, operand: int, first: Lanes) -> Lanes:
        """The rows of an operand from the first one."""
        return self.at(self.matrices[operand], first * self.strides[operand][-2])

    def load(self, name: str, index: Lanes) -> Lanes:
        """A vector of a buffer, along queries."""
        return self.read(self.buffers[name], index, self.vector)

    def put(self, value: Lanes, name: str, index: Lanes) -> None:
        """Write a vector of a buffer."""
        self.store(value, self.buffers[name], index)

    def fill(self, name: str, value: float) -> None:
        """Fill a buffer with a number for each query."""
        with self.columns() as c:
            self.put(self.code.constant(value, self.vector), name, c)

    def columns(self) -> AbstractContextManager[Lanes]:
        """A loop over the vectors of a block of queries."""
        return self.code.loop(0, queries(), self.lanes)

    def read_transposed(self, name: str, operand: int) -> None:
        """Copy rows of queries to a buffer with a row for each of their columns, and zeros behind the last query."""
        width = self.shapes[operand][1]
        with self.code.when(self.count < queries()):
            self.code.clear(self.buffers[name], queries() * width * self.element.align)
        source, step = self.rows(operand, self.first), self.strides[operand][-2]
        self.transpose(self.buffers[name], queries(), source, step, self.count, width)

    # Blocks

    @contextmanager
    def key_blocks(self, limit: Lanes) -> Iterator[tuple[Lanes, Lanes]]:
        """A loop over blocks of keys: gives the first one and their number, with the scores in a buffer."""
        g, key = self.geometry, self.leading + 1
        with self.code.loop(0, limit, g.block_keys) as start:
            count = smaller(limit - start, g.block_keys)
            self.multiply("scores", "scores", self.rows(key, start), self.buffers["query"], count, g.size)
            yield start, count

    def multiply(
        self, name: str, target: str | Lanes, left: Lanes, right: Lanes, rows: Lanes | int, terms: Lanes | int
    ) -> None:
        """Call the function of a product, which writes or adds to a buffer."""
        target = self.buffers[target] if isinstance(target, str) else target
        self.products[name].run(self.code, target, left, right, rows, terms)

    def exponential(self, x: Lanes) -> Lanes:
        """The exponential, without the slow way for very small numbers."""
        is_zero = x < NEGLIGIBLE[self.geometry.kind]
        return select(is_zero, 0.0, call_function("exp", select(is_zero, 0.0, x)))

    def key_limit(self, operands: Sequence[int]) -> Lanes:
        """The number of keys that a block of queries reads: with a causal mask, those up to its last query.

        Zeros times infinities are NaN in products of whole matrices. So all keys are read if something is not finite
        in these operands.
        """
        g, code = self.geometry, self.code
        keys = code.constant(g.keys, I64)
        if not g.is_causal:
            return keys
        last = smaller(self.first + self.count, keys)
        total = Variable(code, self.element, 0.0)
        for operand in operands:
            (rows, columns), down = self.shapes[operand], self.strides[operand][-2]
            type = Type(g.kind, math.gcd(columns, self.lanes))
            sums = Variable(code, type, 0.0)
            with code.loop(0, rows) as i, code.loop(0, columns, type.lanes) as j:
                x = self.read(self.matrices[operand], i * down + j, type)
                sums.store(fma(x, x.like(0.0), sums.load()))
            total.store(total.load() + fold_lanes(lambda a, b: a + b, sums.load()))
        return select(total.load().is_nan(), keys, last)

    # Masks

    @property
    def is_masked(self) -> bool:
        """Whether some scores do not count as they are."""
        return self.geometry.mask_kind is not None or self.geometry.is_causal

    def mask_at(self, column: Lanes) -> Callable[[Lanes, Lanes], tuple[Lanes, Lanes | None]]:
        """A function of scores and the number of their key, for lanes that begin with the query of a column.

        It gives the masked scores, and which of them count, if not all.
        """
        g, code, query = self.geometry, self.code, self.first + column
        integer = f"i{self.element.bits}"
        read = self.mask_reader(query) if g.mask_kind else None
        numbers = splat(query.to(integer), self.lanes) + count_lanes(code, Type(integer, self.lanes))

        def apply(scores: Lanes, key: Lanes) -> tuple[Lanes, Lanes | None]:
            seen: Lanes | None = None
            if read is not None and g.mask_kind == "i1":
                seen = read(key).ne(0)
            elif read is not None:
                scores = scores + read(key)
            if g.is_causal:
                before = splat(key.to(integer), self.lanes) <= numbers
                seen = before if seen is None else seen & before
            return (scores if seen is None else select(seen, scores, float("-inf"))), seen

        return apply

    def mask_reader(self, query: Lanes) -> Callable[[Lanes], Lanes]:
        """A function that reads the mask of a key for lanes from a query on; those behind the last one repeat it."""
        code, (*_, down, along) = self.code, self.strides[-1]
        element = Type("i8") if self.geometry.mask_kind == "i1" else self.element
        base = self.matrix(len(self.strides) - 1, element)
        last = self.geometry.length - 1
        rows = [code.offset(base, smaller(query + i, last) * down, element) for i in range(self.lanes if down else 1)]

        def read(key: Lanes) -> Lanes:
            values = [code.load(code.offset(row, key * along, element), element, element.align) for row in rows]
            return join_elements(values) if down else splat(values[0], self.lanes)

        return read
