"""Products of blocks in the cache, in the tiles of packed products: both factors are read where they are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from wengert.compiler.products.tile import Place, TileFunction, Tiling, write_high_and_low
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR

if TYPE_CHECKING:
    from wengert.compiler.routines.call import RoutineCall


class BlockProduct(NamedTuple):
    """A product of blocks whose results have so many `columns`.

    `left` are the distances between rows of the left factor, and between the terms of a row; `right` and `target` those
    between rows. With `is_added` it is added to what the target has.
    """

    kind: str
    columns: int
    left: tuple[int, int]
    right: int
    target: int
    is_added: bool

    @property
    def name(self) -> str:
        """The name of its function."""
        numbers = self.columns, *self.left, self.right, self.target
        return f"wengert.block.{self.kind}.{'.'.join(map(str, numbers))}{'.added' if self.is_added else ''}"

    @property
    def panels(self) -> list[tuple[range, list[TileFunction]]]:
        """The first columns of panels, and their tiles: all of two vectors but the last, which may have one."""
        width = Tiling(self.kind, self.columns).width
        whole, found = self.columns // width * width, []
        for columns in (range(whole), range(whole, self.columns)):
            if columns:
                make = partial(
                    TileFunction, self.kind, False, columns=self.columns if len(columns) >= width else len(columns),
                    along=self.left[1], down=self.right,
                )  # fmt: skip
                high, low = make(), make(is_low=True)
                found.append((columns, [high, low] if low.height < high.height else [high]))
        return found

    def define(self, call: RoutineCall) -> None:
        """Define its function of three addresses and the numbers of rows and terms."""
        names = "ptr noalias %target", "ptr noalias %left", "ptr noalias %right", "i64 %rows", "i64 %terms"
        for _, tiles in self.panels:
            for tile in tiles:
                call.define(tile.name, tile.parameters, tile.write, "noinline")
        call.define(self.name, names, self.write)

    def run(self, code: Code, target: Lanes, left: Lanes, right: Lanes, rows: Lanes | int, terms: Lanes | int) -> None:
        """Call its function."""
        arguments = target, left, right, code.lift(rows, I64), code.lift(terms, I64)
        code.do(f"call void @{self.name}({', '.join(a.typed for a in arguments)})")

    def write(self, code: Code) -> None:
        """Panels of columns, and for each all rows."""
        target, left, right = [Lanes(code, name, PTR) for name in ("%target", "%left", "%right")]
        rows, terms = Lanes(code, "%rows", I64), Lanes(code, "%terms", I64)
        at = Tiling(self.kind).at
        largest = Tiling(self.kind, self.columns)
        buffer, zeros = [code.array(largest.element, n * largest.width) for n in (largest.rows, 1)]
        code.clear(zeros, largest.width * largest.element.align)
        for columns, tiles in self.panels:
            with code.loop(columns.start, columns.stop, tiles[0].width) as column:

                def write_tile(tile: TileFunction, row: Lanes, above: Lanes | int, count: Lanes) -> None:
                    i = row + above
                    factors = at(left, i * self.left[0]), self.left[0], count - 1, at(right, column), terms
                    place = Place(at(target, i * self.target + column), self.target)
                    first = place if self.is_added else Place(zeros, 0)
                    tile.run(code, factors, first, place, count, code.constant(tile.width, I64), buffer)

                write_high_and_low(code, tiles, 0, rows, write_tile)
