"""Products of blocks in the cache: rows of the right factor are vectors, elements of the left one are broadcast.

A tile of a few rows and two vectors of the result stays in registers while the sum runs, in order. Neither factor is
copied.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.products.tile import sum_products
from wengert.compiler.routines.call import RoutineCall
from wengert.compiler.simd.lane_operations import splat
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine

SUMS = 32
"""Vector registers: a tile has no more sums."""


def tile_shape() -> tuple[int, int]:
    """The rows and the vectors of a tile, which has at most as many sums as there are registers."""
    now = machine.current
    vectors = min(now.vectors_of_attention_tile, SUMS)
    return max(min(now.rows_of_attention_tile, SUMS // vectors), 1), vectors


class BlockProduct(NamedTuple):
    """A product of blocks whose results have so many `columns`, in vectors of so many lanes.

    `left` are the distances between rows of the left factor, and between the terms of a row; `right` and `target` those
    between rows. With `is_added` it is added to what the target has.
    """

    kind: str
    columns: int
    lanes: int
    left: tuple[int, int]
    right: int
    target: int
    is_added: bool

    @property
    def name(self) -> str:
        """The name of its function."""
        numbers = self.columns, self.lanes, *self.left, self.right, self.target
        return f"wengert.block.{self.kind}.{'.'.join(map(str, numbers))}{'.added' if self.is_added else ''}"

    def define(self, call: RoutineCall) -> None:
        """Define its function of three addresses and the numbers of rows and terms."""
        names = "ptr noalias %target", "ptr noalias %left", "ptr noalias %right", "i64 %rows", "i64 %terms"
        call.define(self.name, names, self.write)

    def run(self, code: Code, target: Lanes, left: Lanes, right: Lanes, rows: Lanes | int, terms: Lanes | int) -> None:
        """Call its function."""
        arguments = target, left, right, code.lift(rows, I64), code.lift(terms, I64)
        code.do(f"call void @{self.name}({', '.join(a.typed for a in arguments)})")

    def write(self, code: Code) -> None:
        """Panels of a few vectors of columns, and for each all rows."""
        _, vectors = tile_shape()
        width = vectors * self.lanes
        whole = self.columns // width * width
        if whole:
            with code.loop(0, whole, width) as j:
                self.write_rows(code, [j + q * self.lanes for q in range(vectors)])
        if whole < self.columns:
            self.write_rows(code, [code.constant(j, I64) for j in range(whole, self.columns, self.lanes)])

    def write_rows(self, code: Code, columns: list[Lanes]) -> None:
        """All rows of a panel, in tiles; those that are left in pairs and alone."""
        rows, (height, _) = Lanes(code, "%rows", I64), tile_shape()
        whole = rows - code.add(f"urem {rows.typed}, {height}", I64)
        with code.loop(0, whole, height) as i:
            self.write_tile(code, i, height, columns)
        with code.loop(whole, rows - 1, 2) as i:
            self.write_tile(code, i, 2, columns)
        with code.loop(rows - ((rows - whole) & 1), rows) as i:
            self.write_tile(code, i, 1, columns)

    def write_tile(self, code: Code, i: Lanes, rows: int, columns: list[Lanes]) -> None:
        """One tile of the result."""
        target, left, right = [Lanes(code, name, PTR) for name in ("%target", "%left", "%right")]
        vector, element = Type(self.kind, self.lanes), Type(self.kind)
        at = lambda r, j: code.offset(target, (i + r) * self.target + j, element)
        first = lambda r, j: code.load(at(r, j), vector, element.align) if self.is_added else 0.0
        down, along = self.left
        starts = [code.offset(left, (i + r) * down, element) for r in range(rows)]
        sums = sum_products(
            code,
            vector,
            [[first(r, j) for j in columns] for r in range(rows)],
            Lanes(code, "%terms", I64),
            lambda p: (
                splat(code.load(code.offset(start, p * along, element), element, element.align), self.lanes)
                for start in starts
            ),
            lambda p: (
                code.load(code.offset(right, p * self.right + j, element), vector, element.align) for j in columns
            ),
        )
        for r, row in enumerate(sums):
            for total, j in zip(row, columns, strict=True):
                code.store(total, at(r, j), element.align)
