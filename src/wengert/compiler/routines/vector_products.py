"""Products of a matrix and a vector, at the speed of memory.

A matrix that is stored by rows is read a few rows at a time: each vector of the operand is used for all of them, and
their sums are folded together. The transpose of such a matrix is read in the same order: a few rows, times one number
each, are added to a panel of the result, which stays in the cache, or in registers if it has few vectors. On all cores,
each thread computes a part of the result, and each element is summed in the same order whatever the parts are.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.compiler.machine.target import sum_lanes, vector_lanes
from wengert.compiler.simd.lane_operations import fold_lanes, load_masked, pick_lanes, splat
from wengert.compiler.simd.lanes import Code, Lanes, fma
from wengert.compiler.simd.transposes import fold_rows
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine


class VectorProduct(NamedTuple):
    """A product of an m x k matrix and a vector.

    The matrix, or its transpose, is stored by rows, of which one begins `stride` elements after the other. With
    `has_initial`, the product is added to a vector.
    """

    kind: str
    m: int
    k: int
    is_transposed: bool
    stride: int
    has_initial: bool = False

    @property
    def name(self) -> str:
        """The name of its function."""
        added = ".added" if self.has_initial else ""
        return f"wengert.gemv.{self.kind}.{self.m}x{self.k}.{'NT'[self.is_transposed]}.{self.stride}{added}"

    @property
    def grain(self) -> int:
        """The number of elements of the result that are computed together."""
        return vector_lanes(int(self.kind[1:]) // 8)

    @property
    def sum_lanes(self) -> int:
        """The number of lanes of a row that are added up side by side."""
        return sum_lanes(int(self.kind[1:]) // 8)

    @property
    def is_narrow(self) -> bool:
        """Whether a result of few vectors is the sum of rows in the nearest cache, which are read for each vector."""
        now, nbytes = machine.current, self.k * self.stride * int(self.kind[1:]) // 8
        is_short = self.m <= now.max_vectors_of_narrow_product * self.sum_lanes
        return is_short and nbytes <= now.max_bytes_of_narrow_product

    def write(self, code: Code) -> None:
        """Add the lines of its function of a table and a part of the result.

        The table has matrix, vector and result, and what the product is added to.
        """
        writer = ColumnWriter(self, code) if self.is_transposed else RowWriter(self, code)
        writer.write(Lanes(code, "%begin", I64), Lanes(code, "%end", I64))


def halve_lanes(x: Lanes, count: int) -> Lanes:
    """So many lanes: the two halves are added while there are more."""
    while x.type.lanes > count:
        half = x.type.lanes // 2
        x = pick_lanes(x, range(half)) + pick_lanes(x, range(half, 2 * half))
    return x


class VectorProductWriter:
    """Writes the function of one product."""

    def __init__(self, product: VectorProduct, code: Code):
        self.product, self.code = product, code
        self.element = Type(product.kind)
        self.vector = Type(product.kind, product.grain)
        table = Lanes(code, "%table", PTR)
        entry = lambda i: code.load(code.offset(table, i, PTR), PTR)
        self.x, self.y, self.out = map(entry, range(3))
        self.initial = entry(3) if product.has_initial else None

    def read(self, base: Lanes, index: Lanes | int, type: Type) -> Lanes:
        """Neighbouring elements."""
        return self.code.load(self.code.offset(base, index, self.element), type, self.element.bits // 8)

    def store(self, value: Lanes, index: Lanes) -> None:
        """Neighbouring elements of the result."""
        self.code.store(value, self.code.offset(self.out, index, self.element), self.element.bits // 8)

    def store_sum(self, value: Lanes, index: Lanes) -> None:
        """Neighbouring elements of the result, added to what the product is added to."""
        if self.initial is not None:
            value = self.read(self.initial, index, value.type) + value
        self.store(value, index)

    def row(self, i: Lanes) -> Lanes:
        """The address of a row."""
        return self.code.offset(self.x, i * self.product.stride, self.element)


class RowWriter(VectorProductWriter):
    """Writes products whose matrix is stored by rows."""

    def write(self, begin: Lanes, end: Lanes) -> None:
        """Blocks of rows; the last one ends with the matrix."""
        code, m = self.code, self.product.m
        together = min(self.vector.lanes, self.product.sum_lanes)
        rows = min(together, m)
        with code.loop(begin, end, rows) as first:
            i = code.intrinsic("smin", I64, first, first.like(m - rows)) if m % rows else first
            sums = self.sum_rows([self.row(i + r) for r in range(rows)])
            if rows == together:
                self.store_sum(fold_rows([halve_lanes(total, rows) for total in sums]), i)
            else:
                for r, total in enumerate(sums):
                    self.store_sum(fold_lanes(lambda a, b: a + b, total), i + r)

    def sum_rows(self, rows: list[Lanes]) -> list[Lanes]:
        """The products of rows with the vector, added up in lanes."""
        code, k, type = self.code, self.product.k, Type(self.element.kind, self.product.sum_lanes)
        sums = [code.variable(type, 0.0) for _ in rows]
        whole = k - k % type.lanes
        with code.loop(0, whole, type.lanes) as p:
            y = self.read(self.y, p, type)
            for row, total in zip(rows, sums, strict=True):
                code.store(fma(self.read(row, p, type), y, code.load(total, type)), total)
        totals = [code.load(total, type) for total in sums]
        if whole == k:
            return totals
        bits = ", ".join(f"i1 {int(i < k - whole)}" for i in range(type.lanes))
        mask = Lanes(code, f"<{bits}>", Type("i1", type.lanes))
        rest = lambda base: load_masked(code.offset(base, whole, self.element), type, self.element.bits // 8, mask)
        y = rest(self.y)
        return [fma(rest(row), y, total) for row, total in zip(rows, totals, strict=True)]


class ColumnWriter(VectorProductWriter):
    """Writes products whose matrix is stored by columns: the rows of its transpose are added up."""

    def write(self, begin: Lanes, end: Lanes) -> None:
        """Vectors of columns if the matrix is narrow, else panels, and the columns of the last vector one by one."""
        if self.product.is_narrow:
            self.write_narrow(begin, end)
        else:
            self.write_panels(begin, end)

    def write_narrow(self, begin: Lanes, end: Lanes) -> None:
        """Each vector of the result stays in registers, a sum for each of a few rows; the last one is moved back."""
        code, m, k, count = self.code, self.product.m, self.product.k, machine.current.narrow_product_sums
        type = Type(self.element.kind, min(self.vector.lanes, 1 << (m.bit_length() - 1)))
        with code.loop(begin, end, type.lanes) as first:
            j = code.intrinsic("smin", I64, first, first.like(m - type.lanes)) if m % type.lanes else first
            variables = [code.variable(type, 0.0) for _ in range(min(count, k))]
            term = lambda i: (self.read(self.row(i), j, type), splat(self.read(self.y, i, self.element), type.lanes))
            with code.loop(0, k - k % count, count) as i:
                for r, variable in enumerate(variables):
                    code.store(fma(*term(i + r), code.load(variable, type)), variable)
            sums = [code.load(variable, type) for variable in variables]
            for r in range(k % count):
                sums[r] = fma(*term(code.constant(k - k % count + r, I64)), sums[r])
            while len(sums) > 1:
                sums = [x + y for x, y in zip(sums[::2], sums[1::2], strict=False)] + sums[len(sums) // 2 * 2 :]
            self.store_sum(sums[0], j)

    def write_panels(self, begin: Lanes, end: Lanes) -> None:
        """Panels of columns, and those of the last vector one by one."""
        code, lanes = self.code, self.vector.lanes
        panel = max(machine.current.panel_bytes_of_vector_product * 8 // self.element.bits // lanes, 1) * lanes
        whole = self.product.m - self.product.m % self.vector.lanes
        smaller = lambda x, y: code.intrinsic("smin", I64, x, x.like(y))
        with code.loop(begin, end, panel) as start:
            stop = smaller(start + panel, end)
            self.add_rows(start, smaller(stop, whole), self.vector)
            if whole < self.product.m:
                last = code.intrinsic("smax", I64, start, start.like(whole))
                self.add_rows(last, stop, self.element)

    def add_rows(self, start: Lanes, stop: Lanes, type: Type) -> None:
        """The elements of the result from one index to another."""
        code, k, rows = self.code, self.product.k, machine.current.rows_of_vector_product
        self.add_block(code.constant(0, I64), min(rows, k), start, stop, type, is_first=True)
        whole = k - k % rows
        with code.loop(rows, whole, rows) as i:
            self.add_block(i, rows, start, stop, type)
        if rows <= whole < k:
            self.add_block(code.constant(whole, I64), k - whole, start, stop, type)

    def add_block(self, i: Lanes, count: int, start: Lanes, stop: Lanes, type: Type, is_first: bool = False) -> None:
        """Add so many rows, each times an element of the vector; the first ones to the initial numbers."""
        code = self.code
        rows = [self.row(i + r) for r in range(count)]
        factors = [self.read(self.y, i + r, self.element) for r in range(count)]
        if type.lanes > 1:
            factors = [splat(factor, type.lanes) for factor in factors]
        with code.loop(start, stop, type.lanes) as j:
            before = self.initial if is_first else self.out
            total = code.constant(0.0, type) if before is None else self.read(before, j, type)
            for row, factor in zip(rows, factors, strict=True):
                total = fma(self.read(row, j, type), factor, total)
            self.store(total, j)
