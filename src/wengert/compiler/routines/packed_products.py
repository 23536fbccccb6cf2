"""Products of large matrices, on all cores, without BLAS.

BLAS has threads of its own, which spin for a while after each product: kernels that follow wait for a core, and so does
a product if another program has one. Here the rows of the result are parts of a job of the one pool
(`threads/pool.py`). The right operand is copied once, into panels of two vectors of columns, which are read one
after the other. A tile of the result stays in registers while a sum runs, and long sums are cut into chunks that stay
in the cache: each element is summed in order, whatever the tiles, the vectors and the threads. Sums begin with zeros,
or with the numbers that the product is added to.

Sizes are arguments, so all products of a program have the same few functions. High tiles leave rows over at the end of
a part, which are computed in low tiles, so that parts are about equal. Tiles that reach over the border are computed in
a buffer, of which only what exists is copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wengert.compiler.machine.target import vector_lanes, vector_registers
from wengert.compiler.routines.matrix_product import MatrixProduct
from wengert.compiler.routines.wide_vectors import has_wide_vectors
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import splat
from wengert.compiler.simd.lanes import Code, Lanes, fma
from wengert.compiler.simd.transposes import exchange_blocks
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine

if TYPE_CHECKING:
    from wengert.compiler.routines.call import RoutineCall


class PackedProduct(MatrixProduct):
    """A product with a copy of its right operand."""

    __slots__ = ()

    @property
    def is_native(self) -> bool:
        """Whether there is a function for it, which is faster than BLAS."""
        now, element = machine.current, Type(self.kind)
        count = self.m * self.n * self.k
        is_large = count >= now.min_multiplications_of_packed_product and count > 0 and min(self.m, self.n) > 1
        fits = self.k * self.n * element.align <= now.max_right_bytes_of_packed_product
        return is_large and fits and not element.is_complex and has_wide_vectors()

    @property
    def is_tall(self) -> bool:
        """Whether so many rows read the copy that it is faster than to read the right operand itself."""
        return self.m >= machine.current.min_rows_of_packed_product

    @property
    def panels(self) -> int:
        return -(-self.n // Tiling(self.kind).width)

    @property
    def chunks(self) -> int:
        return -(-self.k // Tiling(self.kind).chunk)

    @property
    def terms(self) -> int:
        """The terms of a chunk; the last one may have fewer."""
        return -(-self.k // self.chunks)

    @property
    def workspace(self) -> int:
        """The bytes of all panels of all chunks."""
        tiling = Tiling(self.kind)
        return self.chunks * self.terms * self.panels * tiling.width * tiling.element.align

    @property
    def sizes(self) -> tuple[int, ...]:
        """What its functions read, in the order of `Sizes`."""
        stride = self.initial_stride or 0
        return self.m, self.n, self.k, self.x_stride, self.y_stride, stride, self.terms, self.panels

    def define(self, call: RoutineCall) -> tuple[str, str]:
        """The names of its functions of a part: that of the copy of the right operand, and that of the product.

        The table of the first has the sizes, the right operand and the copy; that of the second the sizes, the left
        operand, the copy, what the product is added to and the result.
        """
        form = "NT"[self.is_x_transposed]
        added = "" if self.initial_stride is None else ".added"
        product = PartWriter(self.kind, self.is_x_transposed, self.initial_stride is not None)
        copy = CopyWriter(self.kind, self.is_y_transposed)
        copy_name = f"wengert.panels.{self.kind}.{'NT'[self.is_y_transposed]}"
        name = f"wengert.packed.{self.kind}.{form}{added}"
        for tile in product.tiles:
            call.define(tile.name, tile.parameters, tile.write, "noinline")
        call.define_part(copy_name, copy.write)
        call.define_part(name, product.write)
        return copy_name, name


class Sizes(NamedTuple):
    """The sizes of a product, in its functions."""

    m: Lanes
    n: Lanes
    k: Lanes
    x_stride: Lanes
    y_stride: Lanes
    initial_stride: Lanes
    terms: Lanes
    panels: Lanes


class Tiling:
    """Tiles and panels of elements of a kind."""

    def __init__(self, kind: str):
        self.element = Type(kind)
        self.vector = Type(kind, vector_lanes(self.element.align))
        self.lanes = self.vector.lanes
        self.width = 2 * self.lanes
        """The columns of a panel; the last one is filled up with zeros."""
        self.rows = 3 * vector_registers() // 8
        """The rows of a high tile: as many as leave some registers for factors."""
        self.low_rows = self.rows // 3 if vector_registers() > 16 else self.rows
        """The rows of a low tile: a third, if the sums of a third keep the processor busy."""
        self.chunk = max(machine.current.chunk_bytes_of_packed_product // self.element.align, 1)
        """The most terms of a chunk."""

    def at(self, pointer: Lanes, index: Lanes | int) -> Lanes:
        """The address of an element."""
        return pointer.code.offset(pointer, index, self.element)

    def read(self, pointer: Lanes, index: Lanes | int, type: Type) -> Lanes:
        """Neighbouring elements."""
        return pointer.code.load(self.at(pointer, index), type, self.element.align)

    def store(self, value: Lanes, pointer: Lanes, index: Lanes | int) -> None:
        """Neighbouring elements."""
        value.code.store(value, self.at(pointer, index), self.element.align)

    def copy_rows(
        self,
        code: Code,
        source: Lanes,
        source_stride: Lanes | int,
        target: Lanes,
        target_stride: Lanes | int,
        count: Lanes,
        width: Lanes,
    ) -> None:
        """Copy the part of a tile that exists."""
        with code.loop(0, count) as r:
            size = width * self.element.align
            code.copy(self.at(target, r * target_stride), self.at(source, r * source_stride), size)


def read_table(code: Code, count: int) -> tuple[Sizes, list[Lanes]]:
    """The sizes, and so many addresses that follow them in the table of a part."""
    table = Lanes(code, "%table", PTR)
    numbers, *pointers = [code.load(code.offset(table, i, PTR), PTR) for i in range(count + 1)]
    read = lambda i: code.add(f"load i64, {code.offset(numbers, i, I64).typed}, !invariant.load !0", I64)
    return Sizes(*[read(i) for i in range(len(Sizes._fields))]), pointers


def smaller(x: Lanes, y: Lanes | int) -> Lanes:
    """The smaller one of two integers."""
    return x.code.intrinsic("smin", I64, x, x.like(y))


class CopyWriter(Tiling):
    """Writes the copy of columns of the right operand, in parts of whole panels."""

    def __init__(self, kind: str, is_transposed: bool):
        super().__init__(kind)
        self.is_transposed = is_transposed

    def write(self, code: Code) -> None:
        """All chunks of all panels of a part."""
        sizes, (y, copy) = read_table(code, 2)
        begin, end = Lanes(code, "%begin", I64), Lanes(code, "%end", I64)
        across, down = (sizes.y_stride, begin.like(1)) if self.is_transposed else (begin.like(1), sizes.y_stride)
        with code.loop(begin, end, self.width) as column, code.loop(0, sizes.k, sizes.terms) as start:
            terms, count = smaller(sizes.k - start, sizes.terms), smaller(sizes.n - column, self.width)
            source = self.at(y, column * across + start * down)
            target = self.at(copy, start * (sizes.panels * self.width) + column * sizes.terms)
            is_whole = count.eq(self.width)
            with code.when(is_whole):
                if self.is_transposed:
                    self.write_transposed(code, source, target, terms, across)
                else:
                    self.write_rows(code, source, target, terms, down)
            with code.when(~is_whole):
                code.clear(target, terms * (self.width * self.element.align))
                with code.loop(0, terms) as p, code.loop(0, count) as q:
                    value = self.read(source, p * down + q * across, self.element)
                    self.store(value, target, p * self.width + q)

    def write_rows(self, code: Code, source: Lanes, target: Lanes, terms: Lanes, down: Lanes) -> None:
        """Copy neighbouring columns, term by term."""
        with code.loop(0, terms) as p:
            for q in range(0, self.width, self.lanes):
                self.store(self.read(source, p * down + q, self.vector), target, p * self.width + q)

    def write_transposed(self, code: Code, source: Lanes, target: Lanes, terms: Lanes, across: Lanes) -> None:
        """Transpose columns in squares of lanes; the terms that are left one by one."""
        whole = terms & -self.lanes
        with code.loop(0, whole, self.lanes) as p, code.loop(0, self.width, self.lanes) as q:
            columns = [self.read(source, (q + i) * across + p, self.vector) for i in range(self.lanes)]
            for i, row in enumerate(exchange_blocks(columns)):
                self.store(row, target, (p + i) * self.width + q)
        with code.loop(whole, terms) as p, code.loop(0, self.width) as q:
            self.store(self.read(source, q * across + p, self.element), target, p * self.width + q)


class TileWriter(Tiling):
    """Writes the product of the rows of a tile and a panel.

    Rows of a left operand that is stored by columns are copied before: one term after another, for each high tile. The
    sums of a tile that `adds_last` begin with zeros: so the rounding errors of a small sum that is added to a large
    number are small, too.
    """

    def __init__(self, kind: str, is_copied: bool, is_low: bool = False, adds_last: bool = False):
        super().__init__(kind)
        self.is_copied, self.adds_last = is_copied, adds_last
        self.height = self.low_rows if is_low else self.rows

    @property
    def name(self) -> str:
        added = ".last" if self.adds_last else ""
        return f"wengert.tile.{self.element.kind}.{'NT'[self.is_copied]}.{self.height}{added}"

    parameters = (
        *("ptr noalias %x", "i64 %x_stride", "i64 %last", "ptr noalias %y", "i64 %terms"),
        *("ptr %first", "i64 %first_stride", "ptr %result", "i64 %result_stride"),
    )
    """Rows after the `last` one are copies of it. Sums are added to `first`, which may be the result."""

    def write(self, code: Code) -> None:
        """Elements of the left operand times vectors of the right one, which are added in order."""
        x, y, first, result = [Lanes(code, f"%{name}", PTR) for name in ("x", "y", "first", "result")]
        names = "x_stride", "last", "terms", "first_stride", "result_stride"
        x_stride, last, terms, first_stride, result_stride = [Lanes(code, f"%{name}", I64) for name in names]
        columns = range(0, self.width, self.lanes)
        added = lambda r, q: self.read(first, first_stride * r + q, self.vector)
        sums = [
            [Variable(code, self.vector, 0.0 if self.adds_last else added(r, q)) for q in columns]
            for r in range(self.height)
        ]
        starts = [self.at(x, r if self.is_copied else smaller(last, r) * x_stride) for r in range(self.height)]
        with code.loop(0, terms) as p:
            vectors = [self.read(y, p * self.width + q, self.vector) for q in columns]
            for start, totals in zip(starts, sums, strict=True):
                factor = splat(self.read(start, p * self.rows if self.is_copied else p, self.element), self.lanes)
                for total, b in zip(totals, vectors, strict=True):
                    total.store(fma(factor, b, total.load()))
        for r, totals in enumerate(sums):
            for total, q in zip(totals, columns, strict=True):
                value = added(r, q) + total.load() if self.adds_last else total.load()
                self.store(value, result, result_stride * r + q)

    def run(self, code: Code, *arguments: Lanes | int) -> None:
        """Call the function."""
        code.do(f"call void @{self.name}({', '.join(code.lift(a, I64).typed for a in arguments)})")

    def update(
        self,
        code: Code,
        factors: tuple[Lanes | int, ...],
        target: Lanes,
        stride: Lanes,
        count: Lanes,
        width: Lanes,
        buffer: Lanes,
    ) -> None:
        """Add a product to so many rows and columns of a matrix: in place if the tile is whole, else in the buffer."""
        is_whole = count.eq(self.height) & width.eq(self.width)
        with code.when(is_whole):
            self.run(code, *factors, target, stride, target, stride)
        with code.when(~is_whole):
            self.copy_rows(code, target, stride, buffer, self.width, count, width)
            self.run(code, *factors, buffer, self.width, buffer, self.width)
            self.copy_rows(code, buffer, self.width, target, stride, count, width)


class PartWriter(Tiling):
    """Writes the product of some rows of the left operand and all panels, in parts of whole low tiles."""

    def __init__(self, kind: str, is_copied: bool, is_added: bool):
        super().__init__(kind)
        self.is_copied, self.is_added = is_copied, is_added
        self.high, self.low = TileWriter(kind, is_copied), TileWriter(kind, is_copied, is_low=True)

    @property
    def tiles(self) -> list[TileWriter]:
        """The functions that it calls."""
        return [self.high] if self.low_rows == self.rows else [self.high, self.low]

    def write(self, code: Code) -> None:
        """Blocks of rows, and for each all chunks, panels and tiles."""
        sizes, (x, copy, *initial, result) = read_table(code, 3 + self.is_added)
        begin, end = Lanes(code, "%begin", I64), Lanes(code, "%end", I64)
        zeros, buffer = code.array(self.element, self.width), code.array(self.element, self.rows * self.width)
        code.clear(zeros, self.width * self.element.align)
        block_bytes = machine.current.block_bytes_of_packed_product
        fitting = max(block_bytes // self.rows // self.element.align, self.chunk)  # elements of a row
        rows = code.array(self.element, fitting * self.rows) if self.is_copied else x
        block = code.add(f"udiv i64 {fitting}, {sizes.terms.text}", I64) * self.rows
        with code.loop(begin, end, block) as top, code.loop(0, sizes.k, sizes.terms) as start:
            terms, bottom = smaller(sizes.k - start, sizes.terms), smaller(top + block, end)
            panels = self.at(copy, start * (sizes.panels * self.width))
            if self.is_copied:
                self.write_row_copy(code, sizes, self.at(x, start * sizes.x_stride), rows, (top, bottom), terms)
            is_first = start.eq(0)
            begins = initial[0] if initial else zeros
            first = begins.where(is_first, result)
            first_stride = (sizes.initial_stride if initial else begin.like(0)).where(is_first, sizes.n)
            across = begin.like(1) if initial else begin.like(0).where(is_first, begin.like(1))
            with code.loop(0, sizes.n, self.width) as column, code.loop(top, bottom, self.rows) as row:
                panel, width = self.at(panels, column * sizes.terms), smaller(sizes.n - column, self.width)
                if self.is_copied:
                    factors = self.at(rows, (row - top) * terms)
                else:
                    factors = self.at(x, row * sizes.x_stride + start)

                def write_tile(tile: TileWriter, above: Lanes | int) -> None:
                    """Write a tile so many rows below the row: in place if it is whole, else in the buffer."""
                    at = row + above
                    count = smaller(bottom - at, tile.height)
                    left = self.at(factors, above if self.is_copied else sizes.x_stride * above)
                    operands = left, sizes.x_stride, count - 1, panel, terms
                    source = self.at(first, at * first_stride + column * across)
                    target = self.at(result, at * sizes.n + column)
                    is_whole = count.eq(tile.height) & width.eq(self.width)
                    with code.when(is_whole):
                        tile.run(code, *operands, source, first_stride, target, sizes.n)
                    with code.when(~is_whole):
                        self.copy_rows(code, source, first_stride, buffer, self.width, count, width)
                        tile.run(code, *operands, buffer, self.width, buffer, self.width)
                        self.copy_rows(code, buffer, self.width, target, sizes.n, count, width)

                count = smaller(bottom - row, self.rows)
                is_high = count > self.rows - self.low_rows
                with code.when(is_high):
                    write_tile(self.high, 0)
                if self.low in self.tiles:
                    with code.when(~is_high), code.loop(0, count, self.low_rows) as above:
                        write_tile(self.low, above)

    def write_row_copy(
        self, code: Code, sizes: Sizes, x: Lanes, rows: Lanes, bounds: tuple[Lanes, Lanes], terms: Lanes
    ) -> None:
        """Copy rows of a left operand that is stored by columns: tile by tile, and in a tile term after term."""
        top, bottom = bounds
        pieces = [part for part in (8, 4, 2) if self.rows & part]  # 6 are 4 and 2
        with code.loop(0, terms) as p, code.loop(top, bottom, self.rows) as row:
            source = self.at(x, p * sizes.x_stride + row)
            target = self.at(rows, (row - top) * terms + p * self.rows)
            is_whole = sizes.m - row >= self.rows
            with code.when(is_whole):
                at = 0
                for count in pieces:
                    self.store(self.read(source, at, Type(self.element.kind, count)), target, at)
                    at += count
            with code.when(~is_whole), code.loop(0, self.rows) as r:
                self.store(self.read(source, smaller(r, sizes.m - row - 1), self.element), target, r)
