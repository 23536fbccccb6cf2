"""Products of small and of narrow matrices, without BLAS.

A call of BLAS takes longer than a small product itself: it copies its operands and may wait for threads. Here a block
of the result stays in registers while the sum runs. Rows of the right operand are read as vectors, and elements of the
left one are broadcast; so each element of the result is summed in order, whatever the vectors. If the right operand is
stored by columns, it is transposed first if it is tiny; otherwise both operands are read along the sum, and lanes are
added up at the end. Rows of the result may be computed on several cores, each in the same order. Sums begin with zeros,
or with the numbers that the product is added to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.compiler.machine.target import sum_lanes, vector_lanes, vector_registers
from wengert.compiler.routines.matrix_product import MatrixProduct
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import fold_lanes, load_element, load_masked, splat, store_element
from wengert.compiler.simd.lanes import Code, Lanes, fma
from wengert.compiler.simd.transposes import exchange_blocks
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine


class SmallProduct(MatrixProduct):
    """A product by a function of its own, for its sizes."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of its function."""
        forms = "NT"[self.is_x_transposed] + "NT"[self.is_y_transposed]
        added = "" if self.initial_stride is None else f".to.{self.initial_stride}"
        return f"wengert.product.{self.kind}.{self.m}x{self.k}x{self.n}.{forms}.{self.x_stride}.{self.y_stride}{added}"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of its function."""
        initial = () if self.initial_stride is None else ("ptr noalias %initial",)
        return "ptr noalias %x", "ptr noalias %y", *initial, "ptr noalias %result", "i64 %begin", "i64 %end"

    @property
    def most_lanes(self) -> int:
        """The number of lanes of a whole vector."""
        return vector_lanes(Type(self.kind).align)

    @property
    def sum_lanes(self) -> int:
        """The number of lanes that are added up side by side in sums along both operands."""
        return sum_lanes(Type(self.kind).align)

    @property
    def is_along_sum(self) -> bool:
        """Whether both operands are read along the sum."""
        return self.is_y_transposed and self.k * self.n > machine.current.max_elements_of_transposed_operand

    def is_native(self, is_in_loop: bool) -> bool:
        """Whether there is a function for it, which is faster than BLAS."""
        m, n, k, now = self.m, self.n, self.k, machine.current
        count, right = m * n * k, k * n * Type(self.kind).align
        is_wide = m <= now.max_rows_of_wide_own_product
        if right > (now.max_right_bytes_of_wide_own_product if is_wide else now.max_right_bytes_of_own_product):
            return False
        is_small = right <= now.max_right_bytes_of_any_own_product or count <= now.max_multiplications_of_own_product
        if not count or not is_small:
            return False
        if self.is_along_sum:
            return not self.is_x_transposed and k % self.sum_lanes == 0
        lanes = self.lanes_of_row(self.sum_lanes)  # not those of the processor: BLAS adds in another order
        is_filled = n >= now.min_filled_lanes_of_own_product * lanes * -(-n // lanes)
        is_direct = now.direct_blas_from_multiplications < count <= now.direct_blas_to_multiplications
        if not is_in_loop and is_direct and not is_filled:
            return False
        return n >= now.min_columns_of_own_product

    @property
    def lanes(self) -> int:
        """The number of lanes along a row of the result."""
        return self.lanes_of_row(self.most_lanes)

    def lanes_of_row(self, lanes: int) -> int:
        """Of so many lanes, as many as there are elements of a row."""
        while lanes > self.n:
            lanes //= 2
        return lanes

    def write(self, code: Code) -> None:
        """Add the lines of its function of addresses, for the rows from %begin to %end."""
        writer = SumWriter(self, code) if self.is_along_sum else RowWriter(self, code)
        writer.write()


class BlockWriter:
    """Writes the loops over blocks of the result."""

    def __init__(self, product: SmallProduct, code: Code):
        self.product, self.code = product, code
        self.element = Type(product.kind)
        names = "%x", "%y", "%initial", "%result"
        self.x, self.y, self.initial, self.result = [Lanes(self.code, name, PTR) for name in names]
        registers = vector_registers() // 2
        self.accumulators = registers // 2 if self.element.is_complex else registers

    def read(self, base: Lanes, index: Lanes, type: Type) -> Lanes:
        """Neighbouring elements of an operand."""
        return load_element(self.code, self.code.offset(base, index, self.element), type, type.align, True)

    def write_result(self, value: Lanes, row: Lanes, column: Lanes) -> None:
        """Neighbouring elements of the result."""
        address = self.code.offset(self.result, row * self.product.n + column, self.element)
        store_element(value, address, value.type.align)

    def write_row_blocks(self, rows: int, columns: Sequence[Lanes]) -> None:
        """Blocks of so many rows; the last one ends with the result, so that some rows are computed twice."""
        begin, end = [Lanes(self.code, name, I64) for name in ("%begin", "%end")]
        with self.code.loop(begin, end, rows) as first:
            self.write_block(self.code.intrinsic("smin", I64, first, first.like(self.product.m - rows)), rows, columns)

    def constant(self, value: int) -> Lanes:
        """An index."""
        return self.code.constant(value, I64)

    def read_initial(self, type: Type, row: Lanes, column: Lanes) -> Lanes | None:
        """Neighbouring elements of what the product is added to; None are zeros."""
        stride = self.product.initial_stride
        if stride is None:
            return None
        return self.read(self.initial, row * stride + column if stride else column, type)

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
        self.vector = Type(product.kind, product.lanes)
        self.y_stride = product.y_stride

    def write(self) -> None:
        """Panels of a few vectors of columns, and for each all rows."""
        n, code, lanes = self.product.n, self.code, self.vector.lanes
        if self.product.is_y_transposed:
            self.copy_by_rows()
        most = max(self.accumulators // 4, 2)
        width = min(-(-n // lanes), most)
        largest = machine.current.max_rows_of_small_product_block
        rows_of_block = lambda vectors: min(self.product.m, self.accumulators // vectors, largest)
        whole = n // (width * lanes) * (width * lanes)
        if whole:
            with code.loop(0, whole, width * lanes) as j:
                self.write_row_blocks(rows_of_block(width), [j + q * lanes for q in range(width)])
        if whole < n:  # the last vector ends with the row
            starts = [min(start, n - lanes) for start in range(whole, n, lanes)]
            self.write_row_blocks(rows_of_block(len(starts)), [self.constant(start) for start in starts])

    def copy_by_rows(self) -> None:
        """Copy the right operand, which is stored by columns: squares of it are transposed in registers.

        The last squares are moved back. A vector that is read from the copy was written as one, so that it need not
        wait for memory.
        """
        n, k, code, size = self.product.n, self.product.k, self.code, self.vector.lanes
        while size > k:
            size //= 2
        code.hoisted.append(f"  %rows = alloca [{n * k} x {self.element.text}], align 64")
        rows, side = Lanes(code, "%rows", PTR), Type(self.product.kind, size)
        with code.loop(0, n, size) as column, code.loop(0, k, size) as row:
            j, p = [code.intrinsic("smin", I64, i, i.like(m - size)) for i, m in ((column, n), (row, k))]
            square = [self.read(self.y, (j + c) * self.y_stride + p, side) for c in range(size)]
            for r, values in enumerate(exchange_blocks(square)):
                store_element(values, code.offset(rows, (p + r) * n + j, self.element), side.align)
        self.y, self.y_stride = rows, n

    def write_block(self, i: Lanes, rows: int, columns: Sequence[Lanes]) -> None:
        """Elements of the left operand times vectors of the right one."""
        code, product = self.code, self.product
        stride = product.x_stride
        first = lambda r, j: self.read_initial(self.vector, i + r, j) or 0.0
        sums = [[Variable(code, self.vector, first(r, j)) for j in columns] for r in range(rows)]
        with code.loop(0, product.k) as p:
            y = [self.read(self.y, p * self.y_stride + j, self.vector) for j in columns]
            at = lambda r: p * stride + (i + r) if product.is_x_transposed else (i + r) * stride + p
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
        vector = Type(self.product.kind, self.product.sum_lanes)
        sums = [[Variable(code, vector, 0.0) for _ in columns] for _ in range(rows)]
        whole = k - k % vector.lanes

        def add_terms(p: Lanes, read: Callable[[Lanes, Lanes], Lanes]) -> None:
            y = [read(self.y, j * self.product.y_stride + p) for j in columns]
            x = [read(self.x, (i + r) * self.product.x_stride + p) for r in range(rows)]
            self.add_products(sums, x, y)

        with code.loop(0, whole, vector.lanes) as p:
            add_terms(p, lambda base, index: self.read(base, index, vector))
        if whole < k:  # of a last piece of a long sum
            bits = ", ".join(f"i1 {int(lane < k - whole)}" for lane in range(vector.lanes))
            mask = Lanes(code, f"<{bits}>", Type("i1", vector.lanes))
            at = lambda base, index: code.offset(base, index, self.element)
            add_terms(
                self.constant(whole),
                lambda base, index: load_masked(at(base, index), vector, self.element.align, mask),
            )
        for r, row in enumerate(sums):
            for total, j in zip(row, columns, strict=True):
                folded = fold_lanes(lambda a, b: a + b, total.load())
                first = self.read_initial(self.element, i + r, j)
                self.write_result(folded if first is None else first + folded, i + r, j)
