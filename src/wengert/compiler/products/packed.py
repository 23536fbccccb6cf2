"""Products with a packed right operand: panels of two vectors of columns, which all rows read one after the other.

Long sums are cut into chunks that stay in the cache: each element is summed in order, whatever the tiles, the vectors
and the threads. Sizes are arguments, so all products of a program have the same few functions. High tiles leave rows
over at the end of a part, which are computed in low tiles, so that parts are about equal.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.products.product import Product
from wengert.compiler.products.tile import Place, TileFunction, Tiling, smaller, write_high_and_low
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine


class Sizes(NamedTuple):
    """The sizes of a product: numbers, or values in its functions; chunks have so many terms, except for the last."""

    m: Lanes
    n: Lanes
    k: Lanes
    x_stride: Lanes
    y_stride: Lanes
    initial_stride: Lanes
    terms: Lanes
    panels: Lanes


def sizes_of(product: Product, chunk: int) -> tuple[int, ...]:
    """What the functions of a product read, in the order of `Sizes`."""
    terms = -(-product.k // -(-product.k // chunk))
    panels = -(-product.n // Tiling(product.kind).width)
    strides = product.x_stride, product.y_stride, product.initial_stride or 0
    return product.m, product.n, product.k, *strides, terms, panels


def packed_bytes(product: Product, chunk: int) -> int:
    """The bytes of all panels of all chunks."""
    tiling = Tiling(product.kind)
    *_, terms, panels = sizes_of(product, chunk)
    return -(-product.k // terms) * terms * panels * tiling.width * tiling.element.align


def read_table(code: Code, count: int) -> tuple[Sizes, list[Lanes]]:
    """The sizes, and so many addresses that follow them in the table of a part."""
    table = Lanes(code, "%table", PTR)
    numbers, *pointers = [code.load(code.offset(table, i, PTR), PTR) for i in range(count + 1)]
    read = lambda i: code.add(f"load i64, {code.offset(numbers, i, I64).typed}, !invariant.load !0", I64)
    return Sizes(*[read(i) for i in range(len(Sizes._fields))]), pointers


class PanelFunction(Tiling):
    """The function that copies columns of the right operand, in parts of whole panels."""

    def __init__(self, product: Product):
        super().__init__(product.kind)
        self.is_transposed = product.is_y_transposed
        self.name = f"wengert.panels.{product.kind}.{'NT'[self.is_transposed]}"

    def write(self, code: Code) -> None:
        """All chunks of all panels of a part."""
        sizes, (y, copy) = read_table(code, 2)
        begin, end = Lanes(code, "%begin", I64), Lanes(code, "%end", I64)
        across, down = (sizes.y_stride, begin.like(1)) if self.is_transposed else (begin.like(1), sizes.y_stride)
        with code.loop(begin, end, self.width) as column, code.loop(0, sizes.k, sizes.terms) as start:
            terms, count = smaller(sizes.k - start, sizes.terms), smaller(sizes.n - column, self.width)
            source = self.at(y, column * across + start * down)
            target = self.at(copy, start * (sizes.panels * self.width) + column * sizes.terms)
            if self.is_transposed:
                with code.when(count < self.width):
                    code.clear(target, terms * (self.width * self.element.align))
                self.transpose(target, self.width, source, across, count, terms)
            else:
                self.pack_panel(target, source, down, terms, count)


class PackedFunction(Tiling):
    """The function of some rows of the left operand and all panels, in parts of whole low tiles."""

    def __init__(self, product: Product):
        super().__init__(product.kind)
        self.is_copied, self.is_added = product.is_x_transposed, product.initial_stride is not None
        self.high = TileFunction(product.kind, self.is_copied)
        self.low = TileFunction(product.kind, self.is_copied, is_low=True)
        added = ".added" if self.is_added else ""
        self.name = f"wengert.packed.{product.kind}.{'NT'[self.is_copied]}{added}"

    @property
    def tiles(self) -> list[TileFunction]:
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
            first = (initial[0] if initial else zeros).where(is_first, result)
            first_stride = (sizes.initial_stride if initial else begin.like(0)).where(is_first, sizes.n)
            across = begin.like(1) if initial else begin.like(0).where(is_first, begin.like(1))
            with code.loop(0, sizes.n, self.width) as column:
                panel, width = self.at(panels, column * sizes.terms), smaller(sizes.n - column, self.width)

                def write_tile(tile: TileFunction, row: Lanes, above: Lanes | int, count: Lanes) -> None:
                    """Write the tile of so many rows that begins so far below a row."""
                    if self.is_copied:
                        left = self.at(rows, (row - top) * terms + above)
                    else:
                        left = self.at(x, (row + above) * sizes.x_stride + start)
                    factors, at = (left, sizes.x_stride, count - 1, panel, terms), row + above
                    source = Place(self.at(first, at * first_stride + column * across), first_stride)
                    target = Place(self.at(result, at * sizes.n + column), sizes.n)
                    tile.run(code, factors, source, target, count, width, buffer)

                write_high_and_low(code, self.tiles, top, bottom, write_tile)

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
