"""Cholesky's factorisation in blocks, on all cores, without LAPACK.

The matrix is stored by rows, and its lower triangle becomes L. The caller factors a block on the diagonal, as the upper
triangle L^T, whose rows are vectors. The rows below it follow as a job of the one pool (`threads/pool.py`), in
panels of as many rows as a tile of `products/tile.py` has columns: a panel is transposed, so that its rows are lanes,
solved, and copied back. The products of these rows are then subtracted from the columns after the block, tile by tile,
in the lower triangle alone.

Each element has the same operations in the same order, whatever the vectors and the threads. As in LAPACK, elements
above the diagonal are not used, and columns are multiplied by the reciprocal of the number on the diagonal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.products.tile import Place, smaller
from wengert.compiler.routines.triangular_panels import TriangularPanels, block_columns
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import splat
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.threads.pool import read_part

if TYPE_CHECKING:
    from wengert.compiler.routines.lapack import MatrixProblem


def factor_in_blocks(p: MatrixProblem, matrix: Lanes, n: int) -> None:
    """Replace the lower triangle of a matrix by its factor; `p.info` is not zero if there is none."""
    code, call, triangle, panels = p.code, p.inner, p.blocks["triangle"], p.blocks["panels"]
    writer, block = BlockedFactorization(p.element.real.kind, p.integer), block_columns()
    writer.define(p, n)
    for first in range(0, n, block):
        count = min(block, n - first)
        sizes = [code.constant(size, I64) for size in (n, first, count)]
        call.run(writer.names["block"], matrix, triangle, p.info, *sizes)
        left = n - first - count
        if left:
            numbers = [code.number(I64, n), code.number(I64, first)]
            pointers = [matrix, triangle, panels, *numbers]
            call.run_on_all_cores(writer.names["panels"], pointers, left, writer.width, left * block * block // 2)
            tiles = -(-left // writer.rows)
            call.run_on_all_cores(writer.names["rest"], [matrix, panels, *numbers], tiles, 1, left * left * block // 2)


class BlockedFactorization(TriangularPanels):
    """Writes the functions of the factorisation; `status` is the type of the number that says whether it failed."""

    def __init__(self, kind: str, status: Type):
        super().__init__(kind, "cholesky", ("block", "panels", "rest"))
        self.status = status

    def define(self, p: MatrixProblem, n: int) -> None:
        """Define the functions for so many columns, once for all factorisations of a program."""
        call = p.inner
        self.define_transpose(p)
        pointers, sizes = ("ptr %matrix", "ptr %triangle", "ptr %info"), ("i64 %n", "i64 %first", "i64 %count")
        call.define(self.names["block"], (*pointers, *sizes), self.write_block, f"noinline {FEW_PASSES}")
        if n > self.block:
            self.define_tile(p)
            call.define_part(self.names["panels"], self.write_panels, FEW_PASSES)
            call.define_part(self.names["rest"], self.write_rest, FEW_PASSES)

    # A block on the diagonal

    def write_block(self, code: Code) -> None:
        """Factor a block, one row of L^T after the other, which has the reciprocal of its number on the diagonal."""
        matrix, triangle, info = [Lanes(code, f"%{name}", PTR) for name in ("matrix", "triangle", "info")]
        n, first, count = [Lanes(code, f"%{name}", I64) for name in ("n", "first", "count")]
        block, roots = self.at(matrix, first * (n + 1)), code.array(self.element, self.block)
        with code.when(count < self.block):
            code.clear(triangle, self.block * self.block * self.element.align)
        self.transpose(triangle, self.block, block, n, count, count)
        for group in range(0, self.block, self.lanes):
            with code.loop(group, smaller(count, group + self.lanes)) as i:
                sums = self.subtract_rows(code, triangle, i, range(group, self.block, self.lanes))
                pivot = self.read(triangle, i * (self.block + 1), self.element)
                with code.when(~(pivot > 0.0)):
                    code.store(code.constant(1, self.status), info)
                root = pivot.sqrt()
                reciprocal = 1.0 / root
                for q, total in zip(range(group, self.block, self.lanes), sums, strict=True):
                    self.store(total * splat(reciprocal, self.lanes), triangle, i * self.block + q)
                self.store(reciprocal, triangle, i * (self.block + 1))
                self.store(root, roots, i)
        self.transpose(block, n, triangle, self.block, count, count)
        with code.loop(0, count) as i:
            self.store(self.read(roots, i, self.element), block, i * (n + 1))

    def subtract_rows(self, code: Code, triangle: Lanes, i: Lanes, columns: range) -> list[Lanes]:
        """Subtract from a row of the triangle its products with those before it, in vectors of columns."""
        sums = [Variable(code, self.vector, 0.0) for _ in columns]
        with code.loop(0, i) as k:
            factor = splat(self.read(triangle, k * self.block + i, self.element), self.lanes)
            for q, total in zip(columns, sums, strict=True):
                total.store(fma(factor, self.read(triangle, k * self.block + q, self.vector), total.load()))
        rest = [
            self.read(triangle, i * self.block + q, self.vector) - x.load() for q, x in zip(columns, sums, strict=True)
        ]
        for q, value in zip(columns, rest, strict=True):
            self.store(value, triangle, i * self.block + q)
        return rest

    # The rows below it

    def write_panels(self, code: Code) -> None:
        """Solve the rows of a part with the triangle; the panels have them with the opposite sign."""
        (matrix, triangle, panels, *sizes), begin, end = read_part(code, 5)
        n, first = [code.load(size, I64) for size in sizes]
        start = first + self.block
        with code.loop(begin, end, self.width) as row:
            rows, panel = self.at(matrix, (start + row) * n + first), self.at(panels, row * self.block)
            count = smaller(n - start - row, self.width)
            with code.when(count < self.width):
                code.clear(panel, self.block * self.width * self.element.align)
            self.transpose(panel, self.width, rows, n, count, self.block)
            self.solve_panel(code, panel, triangle)
            self.transpose(rows, n, panel, self.width, self.block, count)
            with code.loop(0, self.block * self.width, self.lanes) as i:
                self.store(-self.read(panel, i, self.vector), panel, i)

    # The columns after it

    def write_rest(self, code: Code) -> None:
        """Subtract products from the rows of a part, in tiles up to the diagonal.

        Tiles are in turn one from the top and one from the bottom, which is longer, so that parts are about equal.
        """
        (matrix, panels, *sizes), begin, end = read_part(code, 4)
        n, first = [code.load(size, I64) for size in sizes]
        start = first + self.block
        left = n - start
        tiles = code.add(f"udiv {(left + (self.rows - 1)).typed}, {self.rows}", I64)
        buffer = code.array(self.element, self.rows * self.width)
        with code.loop(begin, end) as part:
            number = select((part & 1).eq(0), part >> 1, tiles - 1 - (part >> 1))
            top = number * self.rows
            count = smaller(left - top, self.rows)
            rows = self.at(matrix, (start + top) * n)
            with code.loop(0, top + count, self.width) as column:
                factors = self.at(rows, first), n, count - 1, self.at(panels, column * self.block), self.block
                place, width = Place(self.at(rows, start + column), n), smaller(left - column, self.width)
                self.tile.run(code, factors, place, place, count, width, buffer)
