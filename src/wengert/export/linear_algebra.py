"""The functions of BLAS and LAPACK that programs call, written out: an exported program has its own.

They take what those of BLAS take, addresses of letters, numbers and matrices stored by columns, and have its names, so
that the compiler calls one or the other. Products read vectors; what else is there is for systems of tens of unknowns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from wengert.compiler.functions.vector_functions import definitions
from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.products.tile import sum_products
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import load_element, splat, store_element
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.types import I64, PTR, Type
from wengert.core import machine
from wengert.core.blas import integer_bits

LETTERS = {"s": "f32", "d": "f64", "c": "c64", "z": "c128"}
SWEEPS = 60
"""The most sweeps of Jacobi's method, which needs about ten."""


class Matrix(NamedTuple):
    """A matrix in memory: the strides of its rows and columns are in elements."""

    code: Code
    element: Type
    start: Lanes
    row_stride: Lanes
    column_stride: Lanes

    def at(self, i: Lanes, j: Lanes) -> Lanes:
        """The address of an element."""
        return self.code.offset(self.start, i * self.row_stride + j * self.column_stride, self.element)

    def get(self, i: Lanes, j: Lanes, lanes: int = 1) -> Lanes:
        """An element, or neighbours in memory."""
        return load_element(self.code, self.at(i, j), Type(self.element.kind, lanes), self.element.align, True)

    def put(self, i: Lanes, j: Lanes, value: Lanes) -> None:
        """Replace an element, or neighbours in memory."""
        store_element(value, self.at(i, j), self.element.align)

    @property
    def transposed(self) -> Matrix:
        """The transpose."""
        return self._replace(row_stride=self.column_stride, column_stride=self.row_stride)

    def where_transposed(self, condition: Lanes) -> Matrix:
        """The transpose if a condition holds."""
        rows, columns = self.row_stride, self.column_stride
        return self._replace(
            row_stride=select(condition, columns, rows), column_stride=select(condition, rows, columns)
        )


class Function:
    """The lines of one function; its arguments are read in order."""

    def __init__(self, name: str):
        self.code, self.element, self.count = Code(), Type(LETTERS[name[0]]), 0
        self.integer = Type(f"i{integer_bits()}")

    def pointer(self) -> Lanes:
        """The next argument, an address."""
        self.count += 1
        return Lanes(self.code, f"%a{self.count - 1}", PTR)

    def size(self) -> Lanes:
        """The next argument, a number of rows, columns or terms."""
        return self.code.load(self.pointer(), self.integer).to("i64")

    def number(self) -> Lanes:
        """The next argument, a number like the elements."""
        return load_element(self.code, self.pointer(), self.element, self.element.align, True)

    def has_letter(self, letter: str) -> Lanes:
        """Whether the next argument is this letter."""
        return self.code.load(self.pointer(), Type("i8")).eq(ord(letter))

    def matrix(self) -> Matrix:
        """The next two arguments, a matrix by columns and the distance between these."""
        start, step = self.pointer(), self.size()
        return Matrix(self.code, self.element, start, step.like(1), step)

    def zero(self) -> Lanes:
        """The index zero."""
        return self.code.constant(0, I64)


def write_gemm(f: Function) -> None:
    """C = alpha op(A) op(B) + beta C."""
    is_a_transposed, is_b_transposed = f.has_letter("T"), f.has_letter("T")
    m, n, k, alpha = f.size(), f.size(), f.size(), f.number()
    a, b = f.matrix().where_transposed(is_a_transposed), f.matrix().where_transposed(is_b_transposed)
    beta, c = f.number(), f.matrix()
    write_product(f, a, b, c, (m, n, k), alpha, beta)


def write_product(
    f: Function, a: Matrix, b: Matrix, c: Matrix, sizes: tuple[Lanes, Lanes, Lanes], alpha: Lanes, beta: Lanes
) -> None:
    """C = alpha A B + beta C, in blocks of vectors of rows and a few columns."""
    code, (m, n, k) = f.code, sizes
    most = vector_lanes(f.element.align)

    def write_block(i: Lanes, j: Lanes, lanes: int, columns: int) -> None:
        type = Type(f.element.kind, lanes)
        sums = sum_products(
            code,
            type,
            [[0.0]] * columns,
            k,
            lambda p: (splat(b.get(p, j + q), lanes) for q in range(columns)),
            lambda p: [a.get(i, p, lanes)],
        )
        for q, (total,) in enumerate(sums):
            scaled = total * splat(alpha, lanes)
            with code.when(beta.ne(0.0)):
                c.put(i, j + q, scaled + c.get(i, j + q, lanes) * splat(beta, lanes))
            with code.when(beta.eq(0.0)):
                c.put(i, j + q, scaled)

    def write_rows(j: Lanes, columns: int) -> None:
        has_neighbours = a.row_stride.eq(1)
        whole = select(has_neighbours, m & -most, m.like(0))
        if most > 1:
            with code.loop(0, whole, most) as i:
                write_block(i, j, most, columns)
        with code.loop(whole if most > 1 else 0, m) as i:
            write_block(i, j, 1, columns)

    columns = 1 << machine.current.columns_of_exported_product.bit_length() - 1
    whole_columns = n & -columns
    with code.loop(0, whole_columns, columns) as j:
        write_rows(j, columns)
    with code.loop(whole_columns, n) as j:
        write_rows(j, 1)


def write_syrk(f: Function) -> None:
    """C = alpha A op(A) + beta C: all of it, so that what reads one half may read both."""
    f.pointer()  # which half
    is_transposed = f.has_letter("T")
    n, k, alpha = f.size(), f.size(), f.number()
    a = f.matrix().where_transposed(is_transposed)
    beta, c = f.number(), f.matrix()
    write_product(f, a, a.transposed, c, (n, n, k), alpha, beta)


# Triangular systems


def write_trsm(f: Function) -> None:
    """Solve op(A) X = alpha B, or X op(A) = alpha B, in the memory of B; alpha is 1."""
    is_left, is_upper, is_transposed, is_unit = [f.has_letter(letter) for letter in "LUTU"]
    m, n, _ = f.size(), f.size(), f.number()
    a, b = f.matrix(), f.matrix()
    # from the left it is the transpose from the right
    turned = a.where_transposed(is_left ^ is_transposed)
    solutions = b.where_transposed(is_left)
    rows, order = select(is_left, n, m), select(is_left, m, n)
    solve_triangle(f, turned, solutions, rows, order, is_upper ^ is_left ^ is_transposed, is_unit)


def write_trsv(f: Function) -> None:
    """Solve op(A) x = b in the memory of b, whose elements are neighbours."""
    is_upper, is_transposed, is_unit = [f.has_letter(letter) for letter in "UTU"]
    n, a = f.size(), f.matrix()
    x = Matrix(f.code, f.element, f.pointer(), n.like(1), n.like(1))
    turned = a.where_transposed(~is_transposed)
    solve_triangle(f, turned, x, n.like(1), n, ~(is_upper ^ is_transposed), is_unit)


def solve_triangle(f: Function, t: Matrix, x: Matrix, rows: Lanes, n: Lanes, is_upper: Lanes, is_unit: Lanes) -> None:
    """Solve X T = B in the memory of B: each column after those that it depends on."""
    code = f.code
    with code.loop(0, n) as step:
        j = select(is_upper, step, n - 1 - step)
        with code.loop(0, rows) as i:
            total = Variable(code, f.element, x.get(i, j))
            with code.loop(0, step) as q:
                p = select(is_upper, q, n - 1 - q)
                total.store(fma(-x.get(i, p), t.get(p, j), total.load()))
            x.put(i, j, total.load())
            with code.when(~is_unit):
                x.put(i, j, total.load() / t.get(j, j))


def write_trmm(f: Function) -> None:
    """B = B op(A) with a triangle A, from the right; alpha is 1."""
    f.pointer()  # the side
    is_upper, is_transposed, is_unit = [f.has_letter(letter) for letter in "UTU"]
    m, n, _ = f.size(), f.size(), f.number()
    a, b = f.matrix().where_transposed(is_transposed), f.matrix()
    code, is_above = f.code, is_upper ^ is_transposed
    with code.loop(0, n) as step:
        j = select(is_above, n - 1 - step, step)  # the last column that others do not need any more
        with code.loop(0, m) as i:
            first = b.get(i, j)
            total = Variable(code, f.element, first)
            with code.when(~is_unit):
                total.store(first * a.get(j, j))
            with code.loop(select(is_above, j.like(0), j + 1), select(is_above, j, n)) as p:
                total.store(fma(b.get(i, p), a.get(p, j), total.load()))
            b.put(i, j, total.load())


def write_scal(f: Function) -> None:
    """x = alpha x, whose elements are neighbours."""
    n, alpha, x = f.size(), f.number(), f.pointer()
    vector = Matrix(f.code, f.element, x, n.like(1), n.like(1))
    with f.code.loop(0, n) as i:
        vector.put(i, f.zero(), vector.get(i, f.zero()) * alpha)


# Factorisations


def write_potrf(f: Function) -> None:
    """The upper Cholesky factor, U^T U = A, in the memory of A."""
    f.pointer()  # the upper half
    code, n, a, info = f.code, f.size(), f.matrix(), f.pointer()
    write_info(f, info, f.zero())
    with code.loop(0, n) as j, code.loop(0, j + 1) as i:
        total = Variable(code, f.element, a.get(i, j))
        with code.loop(0, i) as p:
            total.store(fma(-a.get(p, i), a.get(p, j), total.load()))
        is_diagonal = i.eq(j)
        with code.when(is_diagonal & ~(total.load() > 0.0)):
            write_info(f, info, j + 1)
        with code.when(is_diagonal):
            a.put(i, j, total.load().sqrt())
        with code.when(~is_diagonal):
            a.put(i, j, total.load() / a.get(i, i))


def write_info(f: Function, info: Lanes, value: Lanes) -> None:
    """Say whether a function failed: not if it is zero."""
    f.code.store(value.to(f.integer.kind), info)


def write_getrf(f: Function) -> None:
    """The factors P L U = A, with the largest number of each column as the pivot."""
    code, m, n, a, pivots, info = f.code, f.size(), f.size(), f.matrix(), f.pointer(), f.pointer()
    write_info(f, info, f.zero())
    best, largest = code.variable(I64, 0), code.variable(f.element, 0.0)
    with code.loop(0, select(m < n, m, n)) as k:
        code.store(k, best)
        code.store(a.get(k, k).abs(), largest)
        with code.loop(k + 1, m) as i:
            size = a.get(i, k).abs()
            with code.when(size > code.load(largest, f.element)):
                code.store(i, best)
                code.store(size, largest)
        pivot = code.load(best, I64)
        code.store((pivot + 1).to(f.integer.kind), code.offset(pivots, k, f.integer))
        with code.when(code.load(largest, f.element).eq(0.0)):
            write_info(f, info, k + 1)
        with code.when(pivot.ne(k)):
            swap_rows(f, a, n, k, pivot)
        with code.when(code.load(largest, f.element).ne(0.0)), code.loop(k + 1, m) as i:
            a.put(i, k, a.get(i, k) / a.get(k, k))
        with code.loop(k + 1, n) as j:
            factor = a.get(k, j)
            with code.loop(k + 1, m) as i:
                a.put(i, j, fma(-a.get(i, k), factor, a.get(i, j)))


def swap_rows(f: Function, a: Matrix, columns: Lanes, i: Lanes, k: Lanes) -> None:
    """Exchange two rows of a matrix."""
    with f.code.loop(0, columns) as j:
        first, second = a.get(i, j), a.get(k, j)
        a.put(i, j, second)
        a.put(k, j, first)


def write_getrs(f: Function) -> None:
    """Solve A X = B by the factors of A, in the memory of B."""
    f.pointer()  # not transposed
    code, n, columns, a, pivots, b, info = f.code, f.size(), f.size(), f.matrix(), f.pointer(), f.matrix(), f.pointer()
    write_info(f, info, f.zero())
    with code.loop(0, n) as i:
        pivot = code.load(code.offset(pivots, i, f.integer), f.integer).to("i64") - 1
        swap_rows(f, b, columns, i, pivot)
    yes, no = code.constant(True, Type("i1")), code.constant(False, Type("i1"))
    solve_triangle(f, a.transposed, b.transposed, columns, n, yes, yes)
    solve_triangle(f, a.transposed, b.transposed, columns, n, no, no)


# Eigenvalues


def write_syevd(f: Function) -> None:
    """The eigenvalues of a symmetric matrix, the smallest first, and its eigenvectors, by Jacobi's rotations."""
    f.pointer()  # with vectors
    is_upper = f.has_letter("U")
    code, n, a, values, work = f.code, f.size(), f.matrix(), f.pointer(), f.pointer()
    for _ in range(3):
        f.pointer()  # the sizes of memory, and memory of integers
    info = f.pointer()
    matrix = Matrix(code, f.element, work, n.like(1), n)
    write_info(f, info, f.zero())
    read = a.where_transposed(~is_upper)
    with code.loop(0, n) as j, code.loop(0, n) as i:
        is_above = i <= j
        matrix.put(i, j, read.get(select(is_above, i, j), select(is_above, j, i)))
    with code.loop(0, n) as j, code.loop(0, n) as i:
        one = code.constant(1.0, f.element)
        a.put(i, j, select(i.eq(j), one, 0.0))
    with code.loop(0, SWEEPS), code.loop(0, n) as q, code.loop(0, q) as p:
        rotate(f, matrix, a, n, p, q)
    with code.loop(0, n) as i:
        code.store(matrix.get(i, i), code.offset(values, i, f.element))
    sort_vectors(f, values, a, n)


def rotate(f: Function, matrix: Matrix, vectors: Matrix, n: Lanes, p: Lanes, q: Lanes) -> None:
    """Make the element (p, q) zero by a rotation, unless it is negligible."""
    code = f.code
    x, y, z = matrix.get(p, p), matrix.get(p, q), matrix.get(q, q)
    tiny = 2.0 ** (-54 if f.element.kind == "f64" else -25)
    with code.when(y.abs() > x.abs().sqrt() * z.abs().sqrt() * tiny):
        slope = (z - x) / (y + y)
        t = x.like(1.0).copysign(slope) / (slope.abs() + fma(slope, slope, 1.0).sqrt())
        c = 1.0 / fma(t, t, 1.0).sqrt()
        s = t * c
        for rows in (matrix, matrix.transposed, vectors):
            with code.loop(0, n) as k:
                u, v = rows.get(k, p), rows.get(k, q)
                rows.put(k, p, c * u - s * v)
                rows.put(k, q, s * u + c * v)


def sort_vectors(f: Function, values: Lanes, vectors: Matrix, n: Lanes) -> None:
    """Sort eigenvalues, the smallest first, and the columns of their vectors with them."""
    code = f.code
    row = Matrix(code, f.element, values, n.like(1), n.like(1))
    with code.loop(0, n) as i, code.loop(i + 1, n) as k, code.when(row.get(k, f.zero()) < row.get(i, f.zero())):
        swap_rows(f, row, n.like(1), i, k)
        swap_rows(f, vectors.transposed, n, i, k)


WRITERS: dict[str, tuple[str, Callable[[Function], None]]] = {
    "gemm": ("sdcz", write_gemm),
    "syrk": ("sdcz", write_syrk),
    "trsm": ("sd", write_trsm),
    "trsv": ("sd", write_trsv),
    "trmm": ("sd", write_trmm),
    "scal": ("sd", write_scal),
    "potrf": ("sd", write_potrf),
    "getrf": ("sd", write_getrf),
    "getrs": ("sd", write_getrs),
    "syevd": ("sd", write_syevd),
}
"""The functions, with the letters of the dtypes that they are for."""

FUNCTIONS = {letter + name: write for name, (letters, write) in WRITERS.items() for letter in letters}


def define_functions(names: Iterable[str]) -> list[str]:
    """The texts of functions and of those that they call, and their declarations."""
    texts: list[str] = []
    declarations: dict[str, str] = {}
    calls: dict[tuple[str, Type], int] = {}
    for name in names:
        f = Function(name)
        FUNCTIONS[name](f)
        parameters = ", ".join([f"ptr %a{i}" for i in range(f.count)])
        head = f"define void @wengert.{name}({parameters}) nounwind {{\nentry:\n"
        texts.append(head + "\n".join([*f.code.hoisted, *f.code.lines, "  ret void", "}"]))
        declarations |= f.code.declarations
        calls |= f.code.calls
    called, needed = definitions(calls, inlining="")
    return [*(declarations | needed).values(), *called, *texts]
