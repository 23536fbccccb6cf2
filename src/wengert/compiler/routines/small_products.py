"""Products of small matrices in the bodies of loops, without BLAS.

A call of BLAS takes longer than a small product itself: it copies its operands and may wait for threads. Here a block
of the result stays in registers while the sum runs. Rows of the right operand are read as vectors, and elements of the
left one are broadcast; so each element of the result is summed in order, whatever the vectors. If the right operand is
stored by columns, it is transposed first if it is tiny; otherwise both operands are read along the sum, and lanes are
added up at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.machine.target import vector_bytes
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import fold_lanes, load_element, splat, store_element
from wengert.compiler.simd.lanes import PTR, Code, Lanes, Type, fma
from wengert.graph.ir import Operation

SMALL = 1 << 19
"""The largest number of multiplications of a product that does not use BLAS."""
IN_CACHE = 1 << 18
"""The largest number of bytes of its right operand, which is read once for each block of rows."""
TINY = 1 << 11
"""The largest number of elements that are transposed for each product."""
FEWEST = 4
"""The smallest number of lanes."""


class SmallProduct(NamedTuple):
    """A product of an m x k matrix and a k x n matrix, of which each may be stored transposed."""

    kind: str
    m: int
    n: int
    k: int
    is_x_transposed: bool
    is_y_transposed: bool

    @property
    def name(self) -> str:
        """The name of its function."""
        forms = "NT"[self.is_x_transposed] + "NT"[self.is_y_transposed]
        return f"wengert.product.{self.kind}.{self.m}x{self.k}x{self.n}.{forms}"

    @property
    def most_lanes(self) -> int:
        """The number of lanes of a whole vector."""
        return vector_bytes() // Type(self.kind).align

    @property
    def is_along_sum(self) -> bool:
        """Whether both operands are read along the sum."""
        return self.is_y_transposed and self.k * self.n > TINY

    @property
    def is_native(self) -> bool:
        """Whether there is a function for it."""
        m, n, k = self.m, self.n, self.k
        if not 0 < m * n * k <= SMALL or k * n * int(self.kind[1:]) // 8 > IN_CACHE:
            return False
        if self.is_along_sum:
            return not self.is_x_transposed and k % self.most_lanes == 0
        return n >= FEWEST

    def write(self, code: Code) -> None:
        """Add the lines of its function of the addresses %x, %y and %result."""
        writer = SumWriter(self, code) if self.is_along_sum else RowWriter(self, code)
        writer.write()


def small_product(out: Operation, is_x_transposed: bool, is_y_transposed: bool) -> SmallProduct | None:
    """The product of the matrices of a node, if it has a native function."""
    kind = Type.from_dtype(out.dtype).kind
    m, n, k = out.shape[-2], out.shape[-1], out.args[0].shape[-1]
    found = SmallProduct(kind, m, n, k, is_x_transposed, is_y_transposed)
    return found if found.is_native else None


class BlockWriter:
    """Writes the loops over blocks of the result."""

    def __init__(self, product: SmallProduct, code: Code):
        self.product, self.code = product, code
        self.element = Type(product.kind)
        self.x, self.y, self.result = [Lanes(self.code, name, PTR) for name in ("%x", "%y", "%result")]
        registers = 16 if vector_bytes() >= 64 else 8
        self.accumulators = registers // 2 if self.element.is_complex else registers

    def read(self, base: Lanes, index: Lanes, type: Type) -> Lanes:
        """Neighbouring elements of an operand."""
        return load_element(self.code, self.code.offset(base, index, self.element), type, type.align, True)

    def write_result(self, value: Lanes, row: Lanes, column: Lanes) -> None:
        """Neighbouring elements of the result."""
        address = self.code.offset(self.result, row * self.product.n + column, self.element)
        store_element(value, address, value.type.align)

    def write_row_blocks(self, rows: int, columns: Sequence[Lanes]) -> None:
        """All blocks of so many rows, and one of the rows that are left."""
        whole = self.product.m - self.product.m % rows
        with self.code.loop(0, whole, rows) as i:
            self.write_block(i, rows, columns)
        if whole < self.product.m:
            self.write_block(self.constant(whole), self.product.m - whole, columns)

    def constant(self, value: int) -> Lanes:
        """An index."""
        return self.code.constant(value, Type("i64"))

    def sum_blocks(self, type: Type, rows: int, columns: int) -> list[list[Variable]]:
        """Variables for the sums of a block."""
        return [[Variable(self.code, type, 0.0) for _ in range(columns)] for _ in range(rows)]

    def add_products(self, sums: list[list[Variable]], x: Sequence[Lanes], y: Sequence[Lanes]) -> None:
        """Add the products of all pairs to the sums."""
        for row, a in zip(sums, x, strict=True):
            for total, b in zip(row, y, strict=True):
                total.store(fma(a, b, total.load()))

    def write_block(self, i: Lanes, rows: int, columns: Sequence[Lanes]) -> None:
        """One block of the result."""
        raise NotImplementedError  # each kind defines it


class RowWriter(BlockWriter):
    """Writes products whose right operand is read by rows."""

    def __init__(self, product: SmallProduct, code: Code):
        super().__init__(product, code)
        lanes = product.most_lanes
        while lanes > product.n:
            lanes //= 2
        self.vector = Type(product.kind, lanes)

    def write(self) -> None:
        """Panels of a few vectors of columns, and for each all rows."""
        n, k, code, lanes = self.product.n, self.product.k, self.code, self.vector.lanes
        if self.product.is_y_transposed:
            code.hoisted.append(f"  %rows = alloca [{n * k} x {self.element.text}], align 64")
            rows = Lanes(code, "%rows", PTR)
            with code.loop(0, n) as j, code.loop(0, k) as p:
                value = self.read(self.y, j * k + p, self.element)
                store_element(value, code.offset(rows, p * n + j, self.element), self.element.align)
            self.y = rows
        most = max(self.accumulators // 4, 2)
        width = min(-(-n // lanes), most)
        rows_of_block = lambda vectors: min(self.product.m, self.accumulators // vectors, 8)
        whole = n // (width * lanes) * (width * lanes)
        if whole:
            with code.loop(0, whole, width * lanes) as j:
                self.write_row_blocks(rows_of_block(width), [j + q * lanes for q in range(width)])
        if whole < n:  # the last vector ends with the row
            starts = [min(start, n - lanes) for start in range(whole, n, lanes)]
            self.write_row_blocks(rows_of_block(len(starts)), [self.constant(start) for start in starts])

    def write_block(self, i: Lanes, rows: int, columns: Sequence[Lanes]) -> None:
        """Elements of the left operand times vectors of the right one."""
        code, (_, m, n, k, is_x_transposed, _) = self.code, self.product
        sums = self.sum_blocks(self.vector, rows, len(columns))
        with code.loop(0, k) as p:
            y = [self.read(self.y, p * n + j, self.vector) for j in columns]
            at = lambda r: p * m + (i + r) if is_x_transposed else (i + r) * k + p
            x = [splat(self.read(self.x, at(r), self.element), self.vector.lanes) for r in range(rows)]
            self.add_products(sums, x, y)
        for r, row in enumerate(sums):
            for total, j in zip(row, columns, strict=True):
                self.write_result(total.load(), i + r, j)


class SumWriter(BlockWriter):
    """Writes products whose operands are both read along the sum."""

    def write(self) -> None:
        """Blocks of four columns, and one of the columns that are left."""
        n, code = self.product.n, self.code
        rows = min(self.product.m, self.accumulators // 4)
        whole = n - n % 4
        with code.loop(0, whole, 4) as j:
            self.write_row_blocks(rows, [j + q for q in range(4)])
        if whole < n:
            self.write_row_blocks(rows, [self.constant(j) for j in range(whole, n)])

    def write_block(self, i: Lanes, rows: int, columns: Sequence[Lanes]) -> None:
        """Vectors of the left operand times vectors of the right one; their lanes are added up."""
        code, k = self.code, self.product.k
        vector = Type(self.product.kind, self.product.most_lanes)
        sums = self.sum_blocks(vector, rows, len(columns))
        with code.loop(0, k, vector.lanes) as p:
            y = [self.read(self.y, j * k + p, vector) for j in columns]
            x = [self.read(self.x, (i + r) * k + p, vector) for r in range(rows)]
            self.add_products(sums, x, y)
        for r, row in enumerate(sums):
            for total, j in zip(row, columns, strict=True):
                folded = fold_lanes(lambda a, b: a + b, total.load())
                self.write_result(folded, i + r, j)
