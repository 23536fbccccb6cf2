"""Products whose operands are read where they are: a function for each of their sizes.

A call of BLAS takes longer than a small product itself: it copies its operands and may wait for threads. Here rows of
the right operand are vectors, and elements of the left one are broadcast; or both are read as vectors along the sum,
and lanes are added up at the end. Tiles at the ends of rows and columns are moved back, so that some elements are
computed twice; the result is therefore not where the product is added to.

One row times a matrix is as fast as memory: the matrix is read in order, a few rows at a time, which are added to a
panel of the result that stays in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compiler.products.decisions import Decisions
from wengert.compiler.products.order import Order, lanes_of_row
from wengert.compiler.products.product import Product
from wengert.compiler.products.tile import Elements, smaller, sum_products
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import first_lanes, fold_lanes, load_masked, pick_lanes
from wengert.compiler.simd.lanes import Code, Lanes, fma
from wengert.compiler.simd.transposes import exchange_blocks, fold_rows
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine


class ProductFunction(Elements):
    """The function of one product: for its rows from %begin to %end, or for its columns if it has one row of chunks."""

    def __init__(self, product: Product, order: Order, decisions: Decisions):
        super().__init__(product.kind)
        self.product, self.order, self.decisions = product, order, decisions
        self.is_along_sum = order.kind == "lanes"
        self.type = Type(product.kind, order.amount if self.is_along_sum else lanes_of_row(product.n, self.lanes))
        self.step = 1 if self.is_along_sum else self.type.lanes
        """The columns of a vector."""
        rows, vectors = decisions.tile
        self.name = f"wengert.product.{product.name}.{order.kind}.{rows}x{vectors}"
        added = () if product.initial_stride is None else ("ptr noalias %initial",)
        self.parameters = "ptr noalias %x", "ptr noalias %y", *added, "ptr noalias %result", "i64 %begin", "i64 %end"

    def run(self, code: Code, pointers: Sequence[Lanes], result: Lanes, begin: Lanes | int, end: Lanes | int) -> None:
        """Call the function."""
        arguments = *pointers, result, code.lift(begin, I64), code.lift(end, I64)
        code.do(f"call void @{self.name}({', '.join(a.typed for a in arguments)})")

    def write(self, code: Code) -> None:
        """Add the lines of the function."""
        product, self.code = self.product, code
        self.x, self.y, self.initial, self.result = [
            Lanes(code, name, PTR) for name in ("%x", "%y", "%initial", "%result")
        ]
        self.begin, self.end = [Lanes(code, name, I64) for name in ("%begin", "%end")]
        self.down, self.across = product.y_steps
        if self.order.kind == "sums":
            self.write_sums()
        elif self.decisions.chunk:
            self.write_chunks()
        else:
            if not self.is_along_sum and self.across > 1:
                self.copy_by_rows()
            self.write_tiles()

    # Tiles of rows and columns

    def write_tiles(self) -> None:
        """Panels of a few vectors of columns, and for each all rows; the last vector ends with the row."""
        n, step, code = self.product.n, self.step, self.code
        rows, vectors = self.decisions.tile
        width = vectors * step
        whole = n - n % width
        if whole:
            with code.loop(0, whole, width) as j:
                self.write_rows(rows, [j + q * step for q in range(vectors)])
        if whole < n:
            starts = [code.constant(min(start, n - step), I64) for start in range(whole, n, step)]
            self.write_rows(min(rows * vectors // len(starts), self.product.m), starts)

    def write_rows(self, rows: int, columns: Sequence[Lanes]) -> None:
        """Tiles of so many rows; the last one ends with the result."""
        m = self.product.m
        write = self.write_tile_along_sum if self.is_along_sum else self.write_tile
        with self.code.loop(self.begin, self.end, rows) as first:
            write(smaller(first, m - rows), range(rows), columns)

    def read_initial(self, type: Type, row: Lanes, column: Lanes) -> Lanes | None:
        """Neighbouring elements of what the product is added to; None are zeros."""
        stride = self.product.initial_stride
        return None if stride is None else self.read(self.initial, row * stride + column if stride else column, type)

    def write_tile(self, i: Lanes, rows: range, columns: Sequence[Lanes]) -> None:
        """Elements of the left operand times vectors of the right one."""
        down, along = self.product.x_steps
        sums = sum_products(
            self.code,
            self.type,
            [[self.read_initial(self.type, i + r, j) or 0.0 for j in columns] for r in rows],
            self.product.k,
            lambda p: (self.broadcast(self.x, (i + r) * down + p * along, self.step) for r in rows),
            lambda p: (self.read(self.y, p * self.down + j, self.type) for j in columns),
        )
        for r, row in zip(rows, sums, strict=True):
            for j, total in zip(columns, row, strict=True):
                self.store(total, self.result, (i + r) * self.product.n + j)

    def write_tile_along_sum(self, i: Lanes, rows: range, columns: Sequence[Lanes]) -> None:
        """Vectors of the left operand times vectors of the right one; their lanes are added up."""
        product, lanes = self.product, self.type.lanes
        left = [self.at(self.x, (i + r) * product.x_stride) for r in rows]
        right = [self.at(self.y, j * self.across) for j in columns]
        whole = product.k - product.k % lanes
        mask = first_lanes(self.code, product.k - whole, lanes)
        of_whole = lambda starts: lambda p: (self.read(start, p, self.type) for start in starts)
        of_rest = lambda starts: (
            lambda p: (load_masked(self.at(start, p), self.type, self.element.align, mask) for start in starts)
        )
        rest = (of_rest(left), of_rest(right)) if whole < product.k else None
        zeros = [[0.0] * len(right)] * len(left)
        sums = sum_products(self.code, self.type, zeros, whole, of_whole(left), of_whole(right), rest, lanes)
        if product.n == 1 and len(rows) == min(lanes, self.lanes):  # a vector of the result
            self.add_up(fold_rows([halve_lanes(total, len(rows)) for (total,) in sums]), i, columns[0])
            return
        for r, row in zip(rows, sums, strict=True):
            for j, total in zip(columns, row, strict=True):
                self.add_up(fold_lanes(lambda a, b: a + b, total), i + r, j)

    def add_up(self, value: Lanes, row: Lanes, column: Lanes) -> None:
        """Store neighbouring elements of the result, added to what the product is added to."""
        first = self.read_initial(value.type, row, column)
        self.store(value if first is None else first + value, self.result, row * self.product.n + column)

    def copy_by_rows(self) -> None:
        """Copy the right operand, which is stored by columns: squares of it are transposed in registers.

        The last squares are moved back. A vector that is read from the copy was written as one, so that it need not
        wait for memory.
        """
        n, k, code, size = self.product.n, self.product.k, self.code, self.step
        while size > k:
            size //= 2
        rows, side = code.array(self.element, n * k), Type(self.product.kind, size)
        with code.loop(0, n, size) as column, code.loop(0, k, size) as row:
            j, p = smaller(column, n - size), smaller(row, k - size)
            square = [self.read(self.y, (j + c) * self.across + p, side) for c in range(size)]
            for r, values in enumerate(exchange_blocks(square)):
                self.store(values, rows, (p + r) * n + j)
        self.y, self.down, self.across = rows, n, 1

    # One row, in parts of its columns

    def row(self, p: Lanes | int) -> Lanes:
        """The address of a row of the right operand."""
        return self.at(self.y, self.code.lift(p, I64) * self.down)

    def write_sums(self) -> None:
        """Each vector of the result stays in registers, a sum for each of a few rows; the last one is moved back."""
        code, n, k, count = self.code, self.product.n, self.product.k, self.order.amount
        type = self.type
        with code.loop(self.begin, self.end, type.lanes) as first:
            j = smaller(first, n - type.lanes) if n % type.lanes else first
            sums = [Variable(code, type, 0.0) for _ in range(count)]
            factors = lambda p: (self.read(self.row(p), j, type), self.broadcast(self.x, p, type.lanes))
            whole = k - k % count
            with code.loop(0, whole, count) as p:
                for r, total in enumerate(sums):
                    total.store(fma(*factors(p + r), total.load()))
            for r, total in zip(range(whole, k), sums, strict=False):
                total.store(fma(*factors(code.constant(r, I64)), total.load()))
            found = [total.load() for total in sums]
            while len(found) > 1:
                pairs = [x + y for x, y in zip(found[::2], found[1::2], strict=False)]
                found = pairs + found[len(found) // 2 * 2 :]
            self.add_up(found[0], code.constant(0, I64), j)

    def write_chunks(self) -> None:
        """Panels of the result, to which the rows of a chunk are added at once; the last columns one by one."""
        code, k, chunk = self.code, self.product.k, self.decisions.chunk
        panel = max(machine.current.panel_bytes_of_vector_product // self.element.align // self.lanes, 1) * self.lanes
        whole = self.product.n - self.product.n % self.lanes

        def add_chunks(start: Lanes, stop: Lanes, type: Type) -> None:
            self.add_rows(code.constant(0, I64), min(chunk, k), start, stop, type, is_first=True)
            with code.loop(chunk, k - k % chunk, chunk) as p:
                self.add_rows(p, chunk, start, stop, type)
            if chunk < k and k % chunk:
                self.add_rows(code.constant(k - k % chunk, I64), k % chunk, start, stop, type)

        with code.loop(self.begin, self.end, panel) as start:
            stop = smaller(start + panel, self.end)
            add_chunks(start, smaller(stop, whole), self.vector)
            if whole < self.product.n:
                add_chunks(code.intrinsic("smax", I64, start, start.like(whole)), stop, self.element)

    def add_rows(self, p: Lanes, count: int, start: Lanes, stop: Lanes, type: Type, is_first: bool = False) -> None:
        """Add so many rows, each times an element of the left operand; the first ones to the initial numbers."""
        code = self.code
        rows = [self.row(p + r) for r in range(count)]
        factors = [self.broadcast(self.x, p + r, type.lanes) for r in range(count)]
        with code.loop(start, stop, type.lanes) as j:
            before = self.read_initial(type, code.constant(0, I64), j) if is_first else self.read(self.result, j, type)
            total = code.constant(0.0, type) if before is None else before
            for row, factor in zip(rows, factors, strict=True):
                total = fma(self.read(row, j, type), factor, total)
            self.store(total, self.result, j)


def halve_lanes(x: Lanes, count: int) -> Lanes:
    """So many lanes: the two halves are added while there are more."""
    while x.type.lanes > count:
        half = x.type.lanes // 2
        x = pick_lanes(x, range(half)) + pick_lanes(x, range(half, 2 * half))
    return x
