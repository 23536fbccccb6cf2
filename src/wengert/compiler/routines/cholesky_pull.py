"""The derivative of Cholesky's factorisation in reverse, in blocks, on all cores, without BLAS.

The formula of the whole matrix, L^-T (P + P^T) L^-1, takes 4 n^3 operations. The reverse of the factorisation in
blocks (Murray 2016, "Differentiation of the Cholesky decomposition") takes 2/3 n^3, and needs the formula for blocks
on the diagonal alone. With the factor L and its cotangent in blocks of rows and columns

    R  D  .        R and D are the rows of a block, D is on the diagonal, and B and C are below,
    B  C  .

that of C is multiplied by D^-1, and C^T [B C] is subtracted from [R D]. With S, the formula for D alone, [S; C] R is
subtracted from [R; B]; all blocks but R, B and C on the right are cotangents here. Rows are solved in panels whose
columns are in reverse order, as D^-1 is applied from the right: a reversed triangle is what factorisations solve with.
"""

from __future__ import annotations

import numpy as np

from wengert.compiler.forms.matrices import is_matrix_transpose
from wengert.compiler.machine.translation import FEW_PASSES
from wengert.compiler.products.tile import Place, smaller
from wengert.compiler.routines.lapack import MatrixProblem, MatrixRoutine, are_factorable
from wengert.compiler.routines.triangular_panels import TriangularPanels, block_columns
from wengert.compiler.simd.lanes import Code, Lanes
from wengert.compiler.simd.types import I64, PTR
from wengert.compiler.threads.pool import read_part
from wengert.graph.ir import Operation

SQUARES = ("triangle", "transposed", "work", "solved")


def bytes_of_copies(dtype: np.dtype, n: int) -> dict[str, int]:
    """The bytes of squares, of the transpose of C, and of the panels of right operands."""
    width, block = BlockedPull(f"f{8 * dtype.itemsize}").width, block_columns()
    ends = [min(j + block, n) for j in range(0, n, block)]
    panels = max([max(n - end, block) * -(-max(end, block) // width) * width for end in ends])
    sizes = dict.fromkeys(SQUARES, block * block) | {"columns": block * n, "panels": panels}
    return {name: size * dtype.itemsize for name, size in sizes.items()}


class BlockSteps:
    """Writes the steps of one block on the diagonal, whose first row is `j`."""

    def __init__(self, p: MatrixProblem, writer: BlockedPull, bar: Lanes, factor: Lanes, n: int, j: int):
        self.p, self.writer, self.bar, self.factor, self.n, self.j = p, writer, bar, factor, n, j
        self.size = min(writer.block, n - j)
        self.end = j + self.size
        self.below = n - self.end

    def write(self) -> None:
        """The rows below, the block itself, and the columns before it."""
        j, size, end, below, n = self.j, self.size, self.end, self.below, self.n
        at, blocks = self.p.at, self.p.blocks
        row, rows_below, column = at(self.bar, j * n), at(self.bar, end * n), at(self.bar, end * n + j)
        self.run("triangle", at(self.factor, j * (n + 1)), blocks["triangle"], blocks["transposed"], n, size)
        if below:
            self.solve_rows(column, n, below)
            self.p.transpose(blocks["columns"], column, below, size, below, n)
            self.copy_panels(at(self.factor, end * n), n, below, end)
            self.subtract(row, n, blocks["columns"], below, (size, end, below))
        self.write_formula(at(self.bar, j * (n + 1)))
        if j:
            self.copy_panels(at(self.factor, j * n), n, size, j)
            self.subtract(row, n, blocks["solved"], self.writer.block, (size, j, size))
            self.subtract(rows_below, n, column, n, (below, j, size))

    def write_formula(self, bar: Lanes) -> None:
        """S = D^-T W D^-1, where the lower triangle of W is that of D^T times the cotangent, and W is symmetric."""
        blocks, n, size = self.p.blocks, self.n, self.size
        work, solved = blocks["work"], blocks["solved"]
        self.run("lower", bar, solved, n, size)
        self.copy_panels(solved, self.writer.block, size, size)
        self.p.clear(work, self.writer.block * self.writer.block)
        self.subtract(work, self.writer.block, blocks["transposed"], self.writer.block, (size, size, size))
        self.run("mirror", work, size)
        self.solve_rows(work, self.writer.block, size)
        self.p.transpose(solved, work, size, size, self.writer.block, self.writer.block)
        self.solve_rows(solved, self.writer.block, size)
        self.run("formula", bar, solved, n, size)

    def run(self, name: str, *arguments: Lanes | int) -> None:
        """Call a function."""
        lift = self.p.code.lift
        self.p.inner.run(self.writer.names[name], *[lift(a, I64) for a in arguments])

    def share(
        self, name: str, pointers: list[Lanes], sizes: tuple[int, ...], extent: int, grain: int, work: int
    ) -> None:
        """Run a function on all cores; its table has the pointers, and the addresses of sizes."""
        numbers = [self.p.code.number(I64, size) for size in sizes]
        self.p.inner.run_on_all_cores(self.writer.names[name], [*pointers, *numbers], extent, grain, work)

    def solve_rows(self, rows: Lanes, stride: int, count: int) -> None:
        """Multiply so many rows by D^-1 from the right."""
        pointers = [rows, self.p.blocks["triangle"]]
        self.share(
            "rows",
            pointers,
            (stride, count),
            count,
            self.writer.width,
            count * self.writer.block * self.writer.block // 2,
        )

    def copy_panels(self, source: Lanes, stride: int, terms: int, columns: int) -> None:
        """Copy a right operand into panels, with the opposite sign."""
        pointers = [source, self.p.blocks["panels"]]
        self.share("panels", pointers, (stride, terms, columns), columns, self.writer.width, terms * columns)

    def subtract(self, target: Lanes, stride: int, x: Lanes, x_stride: int, shape: tuple[int, int, int]) -> None:
        """Subtract the product of so many rows and the panels, of so many columns and terms."""
        rows, columns, terms = shape
        if rows:
            sizes = (stride, x_stride, *shape)
            pointers = [target, x, self.p.blocks["panels"]]
            self.share("product", pointers, sizes, rows, self.writer.rows, rows * columns * terms)


class BlockedPull(TriangularPanels):
    """Writes the functions of all steps."""

    def __init__(self, kind: str):
        parts = "triangle", "rows", "panels", "product", "lower", "mirror", "formula"
        super().__init__(kind, "cholesky_pull", parts)

    def define(self, p: MatrixProblem) -> None:
        """Define all functions, once for all derivatives of a program."""
        call, sizes = p.inner, ("i64 %n", "i64 %size")
        self.define_transpose(p)
        self.define_tile(p)
        for name, parameters, write in (
            ("triangle", ("ptr %block", "ptr %triangle", "ptr %transposed", *sizes), self.write_triangle),
            ("lower", ("ptr %block", "ptr %copy", *sizes), self.write_lower),
            ("mirror", ("ptr %work", "i64 %size"), self.write_mirror),
            ("formula", ("ptr %block", "ptr %solved", *sizes), self.write_formula),
        ):
            call.define(self.names[name], parameters, write, f"noinline {FEW_PASSES}")
        call.define_part(self.names["rows"], self.write_rows, FEW_PASSES)
        call.define_part(self.names["panels"], self.write_panels, FEW_PASSES)
        call.define_part(self.names["product"], self.write_product, FEW_PASSES)

    # Blocks on the diagonal

    def write_triangle(self, code: Code) -> None:
        """Copy a lower triangle in reverse order of rows and columns, and its transpose; both are filled up."""
        block, triangle, transposed = [Lanes(code, f"%{name}", PTR) for name in ("block", "triangle", "transposed")]
        n, size = Lanes(code, "%n", I64), Lanes(code, "%size", I64)
        for copy in (triangle, transposed):
            code.clear(copy, self.block * self.block * self.element.align)
        with code.loop(0, self.block) as i:
            self.store(code.constant(1.0, self.element), triangle, i * (self.block + 1))
        with code.loop(0, size) as i:
            with code.loop(0, i + 1) as k:
                value = self.read(block, i * n + k, self.element)
                self.store(value, triangle, (self.block * self.block - 1) - i * self.block - k)
                self.store(value, transposed, k * self.block + i)
            reciprocal = 1.0 / self.read(block, i * (n + 1), self.element)
            self.store(reciprocal, triangle, (self.block * self.block - 1) - i * (self.block + 1))

    def write_lower(self, code: Code) -> None:
        """Copy a lower triangle, with zeros above and around it."""
        block, copy = Lanes(code, "%block", PTR), Lanes(code, "%copy", PTR)
        n, size = Lanes(code, "%n", I64), Lanes(code, "%size", I64)
        code.clear(copy, self.block * self.block * self.element.align)
        with code.loop(0, size) as i:
            code.copy(self.at(copy, i * self.block), self.at(block, i * n), (i + 1) * self.element.align)

    def write_mirror(self, code: Code) -> None:
        """Make a matrix symmetric by its lower triangle, with the opposite sign."""
        work, size = Lanes(code, "%work", PTR), Lanes(code, "%size", I64)
        with code.loop(0, size) as i, code.loop(0, i + 1) as k:
            value = -self.read(work, i * self.block + k, self.element)
            self.store(value, work, i * self.block + k)
            self.store(value, work, k * self.block + i)

    def write_formula(self, code: Code) -> None:
        """Write the lower triangle of S with half of its diagonal, and zeros above it."""
        block, solved = Lanes(code, "%block", PTR), Lanes(code, "%solved", PTR)
        n, size = Lanes(code, "%n", I64), Lanes(code, "%size", I64)
        with code.loop(0, size) as i:
            row = self.at(block, i * n)
            code.copy(row, self.at(solved, i * self.block), i * self.element.align)
            self.store(self.read(solved, i * (self.block + 1), self.element) * 0.5, row, i)
            code.clear(self.at(row, i + 1), (size - 1 - i) * self.element.align)

    # Rows, panels and products

    def write_rows(self, code: Code) -> None:
        """Solve the rows of a part, in panels whose columns are in reverse order."""
        (rows, triangle, *sizes), begin, end = read_part(code, 4)
        stride, count = [code.load(size, I64) for size in sizes]
        panel = code.array(self.element, self.block * self.width)
        last = self.at(panel, (self.block - 1) * self.width)
        with code.loop(begin, end, self.width) as row:
            here, some = self.at(rows, row * stride), smaller(count - row, self.width)
            with code.when(some < self.width):
                code.clear(panel, self.block * self.width * self.element.align)
            self.transpose(last, -self.width, here, stride, some, self.block)
            self.solve_panel(code, panel, triangle)
            self.transpose(here, stride, last, -self.width, self.block, some)

    def write_panels(self, code: Code) -> None:
        """Copy the columns of a part into panels."""
        (source, panels, *sizes), begin, end = read_part(code, 5)
        stride, terms, columns = [code.load(size, I64) for size in sizes]
        with code.loop(begin, end, self.width) as column:
            panel = self.at(panels, column * terms)
            self.pack_panel(panel, self.at(source, column), stride, terms, columns - column, is_negative=True)

    def write_product(self, code: Code) -> None:
        """Add the product of the rows of a part and all panels, tile by tile."""
        (target, x, panels, *sizes), begin, end = read_part(code, 8)
        stride, x_stride, rows, columns, terms = [code.load(size, I64) for size in sizes]
        buffer = code.array(self.element, self.rows * self.width)
        with code.loop(begin, end, self.rows) as row:
            left, place = Place(self.at(x, row * x_stride), x_stride), Place(self.at(target, row * stride), stride)
            self.add_tiles(left, smaller(rows - row, self.rows), panels, terms, place, columns, buffer)


def solve_pull(p: MatrixProblem) -> None:
    """The cotangent of a matrix, from that of its factor."""
    n, bar, factor = p.node.shape[-1], p.result(), p.operand(1)
    p.fail_if_singular(factor, n)
    p.read_rows(bar, 0)
    with p.code.loop(0, n - 1) as i:
        p.clear(p.at(bar, i * (n + 1) + 1), n - 1 - i)
    writer = BlockedPull(p.element.real.kind)
    writer.define(p)
    for j in reversed(range(0, n, writer.block)):
        BlockSteps(p, writer, bar, factor, n, j).write()


def can_pull(node: Operation) -> bool:
    """Whether the matrices are real, and the factors are stored by rows."""
    return are_factorable(node) and node.dtype.kind == "f" and not is_matrix_transpose(node.args[1])


CHOLESKY_PULL = MatrixRoutine(
    solve_pull,
    is_for=can_pull,
    blocks=lambda node: bytes_of_copies(node.dtype, node.shape[-1]),
    work=lambda node: node.shape[-1] ** 3,
    name="cholesky_pull",
)
