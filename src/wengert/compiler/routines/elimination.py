"""Gaussian elimination with row exchanges, in blocks of columns, on all cores, without LAPACK.

LAPACK's threads spin while those of other native code work, and gain little on matrices of some hundred rows. Here a
block of columns is eliminated by the caller. The other columns follow as a job of the one pool (`threads/pool.py`),
in groups of as many as a tile of `products/tile.py` has rows: each group exchanges its elements, solves the triangle
of the block, and subtracts the products of what it found with the multipliers below the triangle, which are copied
into panels once for all groups.

Each element has the same operations in the same order, whatever the vectors and the threads. A column is divided by its
first element of the largest size, as in LAPACK; if that is zero, it is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wengert.compiler.machine.target import vector_registers
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.products.tile import Place, smaller
from wengert.compiler.routines.triangular_panels import TriangularPanels, block_columns
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import fold_lanes, pick_lanes, splat
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.compiler.threads.pool import read_part
from wengert.core import machine

if TYPE_CHECKING:
    from wengert.compiler.routines.lapack import MatrixProblem


def eliminate(p: MatrixProblem, matrix: Lanes, n: int) -> None:
    """Replace a matrix, stored by columns, by its factors, and write the pivots as LAPACK does."""
    code, call, pivots = p.code, p.inner, p.blocks["pivots"]
    panels, triangle = p.blocks["panels"], p.blocks["triangle"]
    writer, block = Elimination(p.element.real.kind, p.integer), block_columns()
    writer.define(p, n)
    for first in range(0, n, block):
        count = min(block, n - first)
        sizes = [code.constant(size, I64) for size in (n, first, count)]
        call.run(writer.names["block"], matrix, pivots, *sizes)
        left = n - first - count
        if left:
            call.run(writer.names["copy"], matrix, panels, triangle, *sizes[:2])
            pointers = [matrix, pivots, panels, triangle, code.number(I64, n), code.number(I64, first)]
            call.run_on_all_cores(writer.names["rest"], pointers, left, writer.rows, left * left * block)
    if n > block:
        call.run_on_all_cores(writer.names["exchange"], [matrix, pivots, code.number(I64, n)], n, 1, n * n)


class Elimination(TriangularPanels):
    """Writes the functions of the elimination; `pivot` is the type of pivots, which are counted from one."""

    def __init__(self, kind: str, pivot: Type):
        super().__init__(kind, "eliminate", ("column", "block", "copy", "rest", "exchange"))
        self.pivot = pivot
        self.together = max(vector_registers() // 2 * self.lanes // self.block, 1)
        """The columns whose triangles are solved together, in half of the registers: a single one mostly waits."""

    def define(self, p: MatrixProblem, n: int) -> None:
        """Define the functions for so many columns, once for all eliminations of a program."""
        call, sizes = p.inner, ("i64 %n", "i64 %first")
        pointers = "ptr %matrix", "ptr %pivots"
        call.define(
            self.names["column"], (*pointers, *sizes, "i64 %end", "i64 %j"), self.write_column, f"noinline {FEW_PASSES}"
        )
        call.define(self.names["block"], (*pointers, *sizes, "i64 %count"), self.write_block, f"noinline {FEW_PASSES}")
        if n <= self.block:
            return
        self.define_tile(p)
        call.define(
            self.names["copy"],
            ("ptr noalias %matrix", "ptr noalias %panels", "ptr noalias %triangle", *sizes),
            self.write_copy,
            f"noinline {FEW_PASSES}",
        )
        call.define_part(self.names["rest"], self.write_rest, FEW_PASSES)
        call.define_part(self.names["exchange"], self.write_exchange, FEW_PASSES)

    def load_pivot(self, pivots: Lanes, i: Lanes) -> Lanes:
        """The row that is exchanged with row i, counted from zero."""
        return pivots.code.load(pivots.code.offset(pivots, i, self.pivot), self.pivot).to("i64") - 1

    def exchange(self, column: Lanes, i: Lanes, k: Lanes) -> None:
        """Exchange two elements of a column."""
        x, y = [self.read(column, row, self.element) for row in (i, k)]
        self.store(x, column, k)
        self.store(y, column, i)

    # A block of columns

    def write_block(self, code: Code) -> None:
        """Eliminate a block, two columns at a time, which are then subtracted from those behind them in the block."""
        matrix, pivots = [Lanes(code, f"%{name}", PTR) for name in ("matrix", "pivots")]
        n, first, count = [Lanes(code, f"%{name}", I64) for name in ("n", "first", "count")]
        end = first + count

        def finish(j: Lanes) -> None:
            arguments = matrix, pivots, n, first, end, j
            code.do(f"call void @{self.names['column']}({', '.join(a.typed for a in arguments)})")

        with code.loop(first, end, 2) as k:
            finish(k)
            following, column = k + 1, self.at(matrix, k * n)
            with code.when(following < end):
                second = self.at(column, n)
                self.subtract_products(second, following, n, [(self.read(second, k, self.element), column)])
                finish(following)
                multiplier = self.read(column, following, self.element)
                with code.loop(k + 2, end) as j:
                    later = self.at(matrix, j * n)
                    factor = self.read(later, k, self.element)
                    other = fma(-factor, multiplier, self.read(later, following, self.element))
                    self.store(other, later, following)
                    self.subtract_products(later, k + 2, n, [(factor, column), (other, second)])

    def subtract_products(self, column: Lanes, start: Lanes, n: Lanes, products: Sequence[tuple[Lanes, Lanes]]) -> None:
        """Subtract from a column, from a row on, the products of numbers with other columns."""
        code = column.code
        together = 1 << (machine.current.vectors_of_eliminated_column.bit_length() - 1)  # steps are powers of two
        for type, vectors in ((self.vector, together), (self.vector, 1), (self.element, 1)):
            step = type.lanes * vectors
            stop = start + (n - start & -step)
            factors = [(splat(-factor, type.lanes), source) for factor, source in products]
            with code.loop(start, stop, step) as i:
                for q in range(0, step, type.lanes):
                    value = self.read(column, i + q, type)
                    for factor, source in factors:
                        value = fma(factor, self.read(source, i + q, type), value)
                    self.store(value, column, i + q)
            start = stop

    def write_column(self, code: Code) -> None:
        """Find the pivot of a column, exchange the rows of the block, and divide."""
        matrix, pivots = [Lanes(code, f"%{name}", PTR) for name in ("matrix", "pivots")]
        n, first, end, j = [Lanes(code, f"%{name}", I64) for name in ("n", "first", "end", "j")]
        column = self.at(matrix, j * n)
        found = self.find_largest(code, column, j, n)
        code.store((found + 1).to(self.pivot.kind), code.offset(pivots, j, self.pivot))
        with code.when(found.ne(j)), code.loop(first, end) as k:
            self.exchange(self.at(matrix, k * n), j, found)
        divisor = self.read(column, j, self.element)
        with code.when(divisor.ne(0.0)):
            self.write_quotients(code, column, divisor, j + 1, n)

    def find_largest(self, code: Code, column: Lanes, j: Lanes, n: Lanes) -> Lanes:
        """The first row from j on that has the largest absolute value; j itself if there are only NaNs."""
        larger = lambda x, y: select(x > y, x, y)
        most = Variable(code, self.vector, 0.0)
        stop = j + (n - j & -self.lanes)
        with code.loop(j, stop, self.lanes) as i:
            most.store(larger(self.read(column, i, self.vector).abs(), most.load()))
        largest = Variable(code, self.element, fold_lanes(larger, most.load()))
        with code.loop(stop, n) as i:
            largest.store(larger(self.read(column, i, self.element).abs(), largest.load()))
        row, look, pass_by, done = code.variable(I64, j), code.label("look"), code.label("pass"), code.label("found")
        check = code.label("check")
        code.jump(look)
        code.begin(look)
        i = code.load(row, I64)
        code.branch(i < n, check, done)
        code.begin(check)
        code.branch(self.read(column, i, self.element).abs().eq(largest.load()), done, pass_by)
        code.begin(pass_by)
        code.store(i + 1, row)
        code.jump(look)
        code.begin(done)
        found = code.load(row, I64)
        return found.where(found < n, j)

    def write_quotients(self, code: Code, column: Lanes, divisor: Lanes, start: Lanes, n: Lanes) -> None:
        """Divide a column, from a row on."""
        for type in (self.vector, self.element):
            stop = start + (n - start & -type.lanes)
            divisors = splat(divisor, type.lanes)
            with code.loop(start, stop, type.lanes) as i:
                self.store(self.read(column, i, type) / divisors, column, i)
            start = stop

    # What the other columns read

    def write_copy(self, code: Code) -> None:
        """Copy the multipliers of a block with the opposite sign: those below the triangle in panels, and those in it.

        The last panel is filled up with zeros, and so is the rest of the triangle.
        """
        matrix, panels, triangle = [Lanes(code, f"%{name}", PTR) for name in ("matrix", "panels", "triangle")]
        n, first = [Lanes(code, f"%{name}", I64) for name in ("n", "first")]
        start = first + self.block
        left = n - start
        with code.loop(0, left, self.width) as row:
            source, panel = self.at(matrix, first * n + start + row), self.at(panels, row * self.block)
            self.pack_panel(panel, source, n, self.block, left - row, is_negative=True)
        code.clear(triangle, self.block * self.block * self.element.align)
        with code.loop(0, self.block) as k, code.loop(k + 1, self.block) as i:
            multiplier = self.read(matrix, (first + k) * n + first + i, self.element)
            self.store(-multiplier, triangle, k * self.block + i)

    # The other columns

    def write_rest(self, code: Code) -> None:
        """Eliminate the rows of a block from the columns of a part."""
        (matrix, pivots, panels, triangle, *sizes), begin, end = read_part(code, 6)
        n, first = [code.load(size, I64) for size in sizes]
        start = first + self.block
        left = n - start
        buffer = code.array(self.element, self.rows * self.width)
        with code.loop(begin, end, self.rows) as top:
            group, count = self.at(matrix, (start + top) * n), smaller(end - top, self.rows)
            with code.loop(0, count) as c, code.loop(first, start) as k:
                self.exchange(self.at(group, c * n), k, self.load_pivot(pivots, k))
            solved = code.constant(0, I64)
            for together in sorted({self.together, 1}, reverse=True):
                stop = count & -together
                with code.loop(solved, stop, together) as c:
                    self.solve_triangle(triangle, [self.at(group, (c + i) * n + first) for i in range(together)])
                solved = stop
            x, target = Place(self.at(group, first), n), Place(self.at(group, start), n)
            self.add_tiles(x, count, panels, self.block, target, left, buffer)

    def solve_triangle(self, triangle: Lanes, columns: list[Lanes]) -> None:
        """Replace the rows of a block in columns by the solutions with the triangle of multipliers, in registers."""
        starts = range(0, self.block, self.lanes)
        solutions = [[self.read(column, i, self.vector) for i in starts] for column in columns]
        for k in range(self.block - 1):
            at, lane = divmod(k, self.lanes)
            multipliers = [self.read(triangle, k * self.block + i, self.vector) for i in starts[at:]]
            for parts in solutions:
                factors = pick_lanes(parts[at], [lane] * self.lanes)
                parts[at:] = [fma(factors, x, part) for x, part in zip(multipliers, parts[at:], strict=True)]
        for column, parts in zip(columns, solutions, strict=True):
            for i, part in zip(starts, parts, strict=True):
                self.store(part, column, i)

    def write_exchange(self, code: Code) -> None:
        """Exchange elements of the columns of a part as the blocks behind theirs did."""
        (matrix, pivots, size), begin, end = read_part(code, 3)
        n = code.load(size, I64)
        with code.loop(begin, end) as j, code.loop((j & -self.block) + self.block, n) as k:
            self.exchange(self.at(matrix, j * n), k, self.load_pivot(pivots, k))
