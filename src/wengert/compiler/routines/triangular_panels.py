"""What factorisations in blocks share: panels of right operands, and rows that are solved with a triangle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wengert.compiler.machine.target import has_wide_vectors, machine_target
from wengert.compiler.products.tile import Place, TileFunction, Tiling, smaller
from wengert.compiler.products.transposing import define_transpose
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import splat
from wengert.compiler.simd.lanes import Code, Lanes, fma
from wengert.core import machine

if TYPE_CHECKING:
    from wengert.compiler.routines.lapack import MatrixProblem


def block_columns() -> int:
    """The columns of a panel, and the rows of a triangle: a multiple of the lanes of any vector."""
    return max(machine.current.block_columns_of_factorization // 16, 1) * 16


def is_factored_in_blocks(dtype: np.dtype, n: int) -> bool:
    """Whether matrices with so many columns are factored by native code, and not by LAPACK."""
    now = machine.current
    has_size = now.min_rows_of_native_factors <= n <= now.max_columns_of_blocked_factorization
    return dtype.kind == "f" and has_size and has_wide_vectors() and not machine_target().is_freestanding


def bytes_of_copies(dtype: np.dtype, n: int) -> dict[str, int]:
    """The bytes of the copies of the triangle of a block, and of the rows below it, in panels."""
    width, block = Tiling(f"f{8 * dtype.itemsize}").width, block_columns()
    return {"triangle": block * block * dtype.itemsize, "panels": block * (n + width) * dtype.itemsize}


class TriangularPanels(Tiling):
    """Writes what functions on panels share. A triangle is stored by rows, with reciprocals on its diagonal.

    `names` are those of functions, which begin with that of the factorisation.
    """

    def __init__(self, kind: str, name: str, parts: Sequence[str]):
        super().__init__(kind)
        self.block, self.tile = block_columns(), TileFunction(kind, False, adds_last=True)
        self.names = {part: f"wengert.{name}.{part}.{kind}" for part in parts}

    def define_transpose(self, p: MatrixProblem) -> None:
        """Define the function of `transpose`."""
        define_transpose(p.inner, self.element)

    def define_tile(self, p: MatrixProblem) -> None:
        """Define the function that adds a tile of a product."""
        p.inner.define(self.tile.name, self.tile.parameters, self.tile.write, "noinline")

    def add_tiles(
        self, x: Place, count: Lanes, panels: Lanes, terms: Lanes | int, target: Place, columns: Lanes, buffer: Lanes
    ) -> None:
        """Add the product of so many rows and all panels to so many columns of a target, tile by tile."""
        with buffer.code.loop(0, columns, self.width) as column:
            factors = *x, count - 1, self.at(panels, column * terms), terms
            place, width = Place(self.at(target.pointer, column), target.stride), smaller(columns - column, self.width)
            self.tile.run(buffer.code, factors, place, place, count, width, buffer)

    def solve_panel(self, code: Code, panel: Lanes, triangle: Lanes) -> None:
        """Replace the columns of a panel by the solution, a few at once: a lane is a row of the matrix."""
        lanes, starts = self.lanes, range(0, self.width, self.lanes)
        factor = lambda m, k: splat(self.read(triangle, m * self.block + k, self.element), lanes)
        together = math.gcd(self.block, machine.current.columns_of_solved_panel)
        with code.loop(0, self.block, together) as first:
            columns = [first + c for c in range(together)]
            sums = [[Variable(code, self.vector, 0.0) for _ in starts] for _ in columns]
            with code.loop(0, first) as m:
                known = [self.read(panel, m * self.width + q, self.vector) for q in starts]
                for k, totals in zip(columns, sums, strict=True):
                    for x, total in zip(known, totals, strict=True):
                        total.store(fma(factor(m, k), x, total.load()))
            found: list[list[Lanes]] = []
            for k, totals in zip(columns, sums, strict=True):
                for m, known in zip(columns, found, strict=False):
                    for x, total in zip(known, totals, strict=True):
                        total.store(fma(factor(m, k), x, total.load()))
                found.append([])
                for q, total in zip(starts, totals, strict=True):
                    rest = self.read(panel, k * self.width + q, self.vector) - total.load()
                    found[-1].append(rest * factor(k, k))
                    self.store(found[-1][-1], panel, k * self.width + q)
