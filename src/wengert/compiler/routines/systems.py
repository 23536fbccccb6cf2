"""Systems of linear equations by BLAS and LAPACK: triangular ones, and those with factored matrices."""

from __future__ import annotations

import numpy as np

from wengert.compiler.forms.matrices import is_matrix_transpose
from wengert.compiler.routines.factorizations import integers, load_pivot, matrix_bytes
from wengert.compiler.routines.lapack import MatrixProblem, MatrixRoutine, are_factorable
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import Type
from wengert.graph.ir import Operation

# Triangular systems


def solve_triangle(
    p: MatrixProblem, x: Lanes, y: Lanes, columns: int, is_lower: bool, is_transposed: bool, is_unit: bool = False
) -> None:
    """Replace right-hand sides by the solutions; all matrices are stored by rows, and x has as many as y.

    BLAS sees the transposes, and solves from the right.
    """
    n = p.node.args[0].shape[-1]
    triangle, transposition, diagonal = "LU"[is_lower], "NT"[is_transposed], "NU"[is_unit]
    if columns == 1:
        p.lapack("trsv", triangle, "TN"[is_transposed], diagonal, n, x, n, y, 1)
    else:
        p.lapack("trsm", "R", triangle, transposition, diagonal, columns, n, 1.0, x, n, y, columns)


def solve_triangular(p: MatrixProblem) -> None:
    """Solve in the memory of the result."""
    params, n, out = p.node.params, p.node.args[0].shape[-1], p.result()
    x, is_lower, is_transposed = p.operand(0), bool(params["lower"]), bool(params["trans"])
    if p.is_transposed(0):
        is_lower, is_transposed = not is_lower, not is_transposed
    p.read_rows(out, 1)
    solve_triangle(p, x, out, p.node.shape[-1], is_lower, is_transposed, bool(params["unit_diagonal"]))
    if not params["unit_diagonal"]:
        p.fail_if_singular(x, n)


def triangular_work(node: Operation) -> int:
    """The multiplications of a triangular system."""
    return node.args[0].shape[-1] ** 2 * node.shape[-1] // 2


TRIANGULAR = MatrixRoutine(
    solve_triangular,
    work=triangular_work,
    may_fail=lambda node: not node.params["unit_diagonal"],
    name="trsm",
)


# Systems with matrices that are factored: the transpose is P L U, so the matrix, by rows, is U^T L^T P^T


def solve_with_factors(p: MatrixProblem) -> None:
    """Solve by the factors in the third operand, in the memory of the result."""
    n, columns, out, factors = p.node.args[0].shape[-1], p.node.shape[-1], p.result(), p.operand(2)
    p.read_rows(out, 1)
    if p.node.params["trans"]:
        exchange_rows(p, out, factors, is_backward=False)
        solve_triangle(p, factors, out, columns, False, True, True)
        solve_triangle(p, factors, out, columns, True, True)
    else:
        solve_triangle(p, factors, out, columns, True, False)
        solve_triangle(p, factors, out, columns, False, False, True)
        exchange_rows(p, out, factors, is_backward=True)
    p.fail_if_singular(factors, n)


def exchange_rows(p: MatrixProblem, rows: Lanes, factors: Lanes, is_backward: bool) -> None:
    """Exchange rows as the pivots say, which are behind the factors; backward to undo it."""
    code, n, columns, real = p.code, p.node.args[0].shape[-1], p.node.shape[-1], p.element.real
    with code.loop(0, n) as k:
        i = n - 1 - k if is_backward else k
        other = code.load(p.at(factors, i + n * n), real).to("i64")
        unequal, done = code.label("exchange"), code.label("done")
        code.branch(other.ne(i), unequal, done)
        code.begin(unequal)
        with code.loop(0, columns) as j:
            places = [p.at(rows, row * columns + j) for row in (i, other)]
            for value, place in zip([code.load(x, p.element.moved) for x in places], reversed(places), strict=True):
                code.store(value, place)
        code.jump(done)
        code.begin(done)


def has_factors(node: Operation) -> bool:
    """Whether the third operand has the factors of each matrix."""
    x, y, factors = node.args
    n = x.shape[-1]
    is_whole = factors.shape == (*x.shape[:-2], n + 1, n) and not is_matrix_transpose(factors)
    return are_factorable(node) and is_whole


SOLVE = MatrixRoutine(
    solve_with_factors,
    is_for=has_factors,
    work=lambda node: node.args[0].shape[-1] ** 2 * node.shape[-1],
    name="getrs",
)


# Cofactors


def solve_cofactor(p: MatrixProblem) -> None:
    """The determinant times the transposed inverse; where that is not accurate, NumPy takes the singular values."""
    n, out, code, real = p.node.shape[-1], p.result(), p.code, p.element.real
    factors, pivots = p.blocks["factors"], p.blocks["pivots"]
    p.read_columns(factors, 0)
    p.lapack("getrf", n, n, factors, n, pivots, p.info)
    p.require_success()
    p.clear(out, n * n)
    with code.loop(0, n) as i:
        code.store(code.constant(1.0, real), p.at(out, i * (n + 1)))
    p.lapack("getrs", "N", n, n, factors, n, pivots, out, n, p.info)
    sizes = [p.sum_of_sizes(matrix, n * n) for matrix in (out, p.operand(0))]
    p.fail_if(sizes[0] * sizes[1] > 1e-3 / float(np.finfo(p.node.dtype).eps))
    determinant = write_determinant(p, factors, n)
    p.lapack("scal", n * n, determinant, out, 1)


def write_determinant(p: MatrixProblem, factors: Lanes, n: int) -> Lanes:
    """The address of the product of the pivots; NumPy runs the operation if it is not a number, or zero."""
    code, (_, real, parts) = p.code, p.element
    address = code.variable(Type(real.kind, parts), 0.0)
    code.store(code.constant(1.0, real), address)
    with code.loop(0, n) as i:
        x = [code.load(code.offset(address, k, real), real) for k in range(parts)]
        y = [code.load(code.offset(p.at(factors, i * (n + 1)), k, real), real) for k in range(parts)]
        sign = select(load_pivot(p, i).ne(i), code.constant(-1.0, real), 1.0)
        product = [x[0] * y[0]] if parts == 1 else [x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]]
        for k, value in enumerate(product):
            code.store(value * sign, code.offset(address, k, real))
    size = p.absolute(address)
    p.fail_if(size.eq(0.0) | ~(size < float("inf")))
    return address


COFACTOR = MatrixRoutine(
    solve_cofactor,
    blocks=lambda node: {"factors": matrix_bytes(node), "pivots": integers(node.shape[-1])},
    work=lambda node: 4 * node.shape[-1] ** 3 // 3,
    name="getrs",
)
