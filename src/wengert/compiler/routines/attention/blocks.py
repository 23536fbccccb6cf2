"""Blocks of scores, with a row for each key and lanes that are queries: so maxima and sums are those of lanes.

Queries are transposed once for each block of them. Keys and values are read where they are, as factors that are
broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.compiler.functions.vector_functions import call as call_function
from wengert.compiler.routines.attention.geometry import Buffers, Geometry, MatrixLayout, matrix_address, queries
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import fold_lanes, splat
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.transposes import exchange_blocks
from wengert.compiler.simd.types import I64, Type
from wengert.compiler.threads.pool import read_part

NEGLIGIBLE = {"f32": -104.0, "f64": -746.0}
"""The exponentials of smaller numbers are zero."""


class MaskReader:
    """Which scores of one attention count, and what is added to them; `base` is the address of the mask."""

    def __init__(self, geometry: Geometry, layout: MatrixLayout | None, base: Lanes | None, first: Lanes):
        self.geometry, self.layout, self.base, self.first = geometry, layout, base, first

    @property
    def is_empty(self) -> bool:
        """Whether all scores count as they are."""
        return self.base is None and not self.geometry.is_causal

    def begin(self, column: Lanes) -> Callable[[Lanes, Lanes], tuple[Lanes, Lanes | None]]:
        """A function of scores and the number of their key, for lanes that begin with the query of a column.

        It gives the masked scores, and which of them a boolean mask lets through.
        """
        g, code = self.geometry, column.code
        integer = Type(f"i{Type(g.kind).bits}")
        query = self.first + column
        numbers: Lanes | None = None
        if g.is_causal:
            steps = ", ".join([f"{integer.text} {i}" for i in range(g.lanes)])
            lanes = Lanes(code, f"<{steps}>", Type(integer.kind, g.lanes))
            numbers = splat(query.to(integer.kind), g.lanes) + lanes
        read = self.reader(query) if self.base is not None else None

        def apply(scores: Lanes, key: Lanes) -> tuple[Lanes, Lanes | None]:
            seen: Lanes | None = None
            if read is not None:
                mask = read(key)
                if g.mask_kind == "i1":
                    seen = mask.ne(0)
                else:
                    scores = scores + mask
            if numbers is not None:
                before = splat(key.to(integer.kind), g.lanes) <= numbers
                seen = before if seen is None else seen & before
            return (scores if seen is None else select(seen, scores, float("-inf"))), seen

        return apply

    def reader(self, query: Lanes) -> Callable[[Lanes], Lanes]:
        """A function that reads the mask of a key for lanes from a query on; those behind the last one repeat it."""
        g, code, layout, base = self.geometry, query.code, self.layout, self.base
        assert layout is not None
        assert base is not None
        assert g.mask_kind is not None
        element = mask_element(g.mask_kind)
        rows = [base]
        if layout.down:
            last = code.constant(g.length - 1, I64)
            queries = [code.intrinsic("smin", I64, query + i, last) for i in range(g.lanes)]
            rows = [code.offset(base, i * layout.down, element) for i in queries]

        def read(key: Lanes) -> Lanes:
            values = [code.load(code.offset(row, key * layout.along, element), element, element.align) for row in rows]
            if len(values) == 1:
                return splat(values[0], g.lanes)
            vector = Type(element.kind, g.lanes)
            found = Lanes(code, "poison", vector)
            for i, value in enumerate(values):
                found = code.add(f"insertelement {found.typed}, {value.typed}, i64 {i}", vector)
            return found

        return read


class BlockWriter:
    """Writes what forward and backward passes have in common, for one block of queries.

    `table` has the addresses of operands and results; `first` is the number of the first query, `count` that of all.
    """

    def __init__(self, code: Code, geometry: Geometry, pointers: int, buffers: Buffers, grain: int):
        self.code, self.geometry = code, geometry
        self.element, self.vector = Type(geometry.kind), Type(geometry.kind, geometry.lanes)
        self.pointers, self.begin, self.end = read_part(code, pointers)
        part = code.add(f"udiv {self.begin.typed}, {grain}", I64)
        memory = code.offset(self.pointers[-1], part * buffers.size, self.element)
        self.buffers = buffers.addresses(code, memory)

    def at(self, pointer: Lanes, index: Lanes | int) -> Lanes:
        """The address of an element."""
        return self.code.offset(pointer, index, self.element)

    def load(self, pointer: Lanes, index: Lanes | int) -> Lanes:
        """A vector along queries."""
        return self.code.load(self.at(pointer, index), self.vector, self.element.align)

    def store(self, value: Lanes, pointer: Lanes, index: Lanes | int) -> None:
        """Write neighbouring elements."""
        self.code.store(value, self.at(pointer, index), self.element.align)

    def matrix(self, pointer: Lanes, layout: MatrixLayout, indices: list[Lanes]) -> Lanes:
        """The address of one matrix of a stack."""
        return matrix_address(self.code, pointer, layout, indices, self.element)

    def mask_address(self, pointer: Lanes, layout: MatrixLayout, indices: list[Lanes]) -> Lanes:
        """The address of the mask of one attention."""
        kind = self.geometry.mask_kind
        assert kind is not None
        return matrix_address(self.code, pointer, layout, indices, mask_element(kind))

    def fill(self, name: str, value: float) -> None:
        """Fill a buffer with a number for each query."""
        with self.code.loop(0, queries(), self.vector.lanes) as c:
            self.store(self.code.constant(value, self.vector), self.buffers[name], c)

    def read_numbers(self, name: str, source: Lanes, count: Lanes) -> None:
        """Copy a number for each query to a buffer, and zeros behind them."""
        size = self.element.align
        self.code.clear(self.buffers[name], queries() * size)
        self.code.copy(self.buffers[name], source, count * size)

    def read_transposed(self, name: str, source: Lanes, down: int, columns: int, count: Lanes) -> None:
        """Copy rows of queries to a buffer with a row for each of their columns, and zeros behind the last query."""
        code, rows, size = self.code, self.buffers["rows"], self.element.align
        with code.loop(0, count) as i:
            code.copy(self.at(rows, i * columns), self.at(source, i * down), columns * size)
        code.clear(self.at(rows, count * columns), (queries() - count) * (columns * size))
        self.transpose(self.buffers[name], rows, queries(), columns)

    def transpose(self, target: Lanes, source: Lanes, rows: int, columns: int) -> None:
        """Transpose a matrix, in squares of lanes."""
        code, n = self.code, self.geometry.lanes_along(rows)
        n = min(n, self.geometry.lanes_along(columns))
        type, align = Type(self.geometry.kind, n), self.element.align
        with code.loop(0, rows, n) as i, code.loop(0, columns, n) as j:
            square = [code.load(self.at(source, (i + r) * columns + j), type, align) for r in range(n)]
            for c, column in enumerate(exchange_blocks(square)):
                code.store(column, self.at(target, (j + c) * rows + i), align)

    def exponential(self, x: Lanes) -> Lanes:
        """The exponential, without the slow way for very small numbers."""
        is_zero = x < NEGLIGIBLE[self.geometry.kind]
        return select(is_zero, 0.0, call_function("exp", select(is_zero, 0.0, x)))

    def key_limit(self, operands: Sequence[tuple[Lanes, int, int, int]], first: Lanes, count: Lanes) -> Lanes:
        """The number of keys that a block of queries reads: with a causal mask, those up to its last query.

        Zeros times infinities are NaN in products of whole matrices. So all keys are read if something is not finite
        in these operands: each has an address, numbers of rows and columns, and the distance between rows.
        """
        g, code = self.geometry, self.code
        keys = code.constant(g.keys, I64)
        if not g.is_causal:
            return keys
        last = code.intrinsic("smin", I64, first + count, keys)
        total = code.variable(self.element, 0.0)
        for pointer, rows, columns, down in operands:
            lanes = g.lanes_along(columns)
            type = Type(g.kind, lanes)
            sums = Variable(code, type, 0.0)
            with code.loop(0, rows) as i, code.loop(0, columns, lanes) as j:
                x = code.load(self.at(pointer, i * down + j), type, self.element.align)
                sums.store(fma(x, x.like(0.0), sums.load()))
            folded = fold_lanes(lambda a, b: a + b, sums.load())
            code.store(code.load(total, self.element) + folded, total)
        return select(code.load(total, self.element).is_nan(), keys, last)


def mask_element(kind: str) -> Type:
    """The type of an element of a mask in memory."""
    return Type("i8") if kind == "i1" else Type(kind)
