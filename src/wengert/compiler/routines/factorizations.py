"""The factorisations of matrices, Cholesky's, L U and Q R: in blocks, or by LAPACK."""

from __future__ import annotations

import numpy as np

from wengert.compiler.routines.cholesky import factor_in_blocks
from wengert.compiler.routines.elimination import eliminate
from wengert.compiler.routines.lapack import MatrixProblem, MatrixRoutine, are_factorable, best_sizes
from wengert.compiler.routines.triangular_panels import bytes_of_copies, is_factored_in_blocks
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import I64
from wengert.core.blas import blas
from wengert.graph.ir import Operation


def integers(count: int) -> int:
    """The bytes of so many integers of BLAS."""
    return count * blas().bits // 8


def matrix_bytes(node: Operation) -> int:
    """The bytes of one matrix of the first operand."""
    rows, columns = node.args[0].shape[-2:]
    return rows * columns * node.args[0].dtype.itemsize


# Cholesky


def solve_cholesky(p: MatrixProblem) -> None:
    """Factor a matrix by rows. LAPACK gets the transpose, whose upper triangle has the same factor."""
    n, out = p.node.shape[-1], p.result()
    p.read_rows(out, 0)
    if is_factored_in_blocks(p.node.dtype, n):
        factor_in_blocks(p, out, n)
    else:
        p.lapack("potrf", "U", n, out, n, p.info)
    p.require_success()
    with p.code.loop(0, n - 1) as i:
        p.clear(p.at(out, i * (n + 1) + 1), n - 1 - i)


def cholesky_blocks(node: Operation) -> dict[str, int]:
    """What a factorisation in blocks needs."""
    n = node.shape[-1]
    return bytes_of_copies(node.dtype, n) if is_factored_in_blocks(node.dtype, n) else {}


CHOLESKY = MatrixRoutine(
    solve_cholesky, blocks=cholesky_blocks, work=lambda node: node.shape[-1] ** 3 // 6, name="potrf"
)


# L U


def solve_factored(p: MatrixProblem) -> None:
    """Factor the transpose, as `_factor_impl` does, and append a row of the pivots."""
    n, out, code = p.node.shape[-1], p.result(), p.code
    p.read_rows(out, 0)
    if is_factored_in_blocks(p.node.dtype, n):
        eliminate(p, out, n)
    else:
        p.lapack("getrf", n, n, out, n, p.blocks["pivots"], p.info)
    p.clear(p.at(out, n * n), n)
    with code.loop(0, n) as i:
        pivot = load_pivot(p, i).to(p.element.real.kind)
        code.store(pivot, p.at(out, i + n * n))


def load_pivot(p: MatrixProblem, i: Lanes) -> Lanes:
    """The row that is exchanged with row i, counted from 0."""
    return p.code.load(p.code.offset(p.blocks["pivots"], i, p.integer), p.integer).to("i64") - 1


def factored_blocks(node: Operation) -> dict[str, int]:
    """The pivots, and what an elimination needs."""
    n = node.shape[-1]
    return {"pivots": integers(n)} | (bytes_of_copies(node.dtype, n) if is_factored_in_blocks(node.dtype, n) else {})


FACTORED = MatrixRoutine(
    solve_factored,
    blocks=factored_blocks,
    work=lambda node: node.shape[-1] ** 3 // 3,
    may_fail=lambda node: False,
    name="getrf",
)


def factor_columns(p: MatrixProblem) -> Lanes:
    """The factors of a matrix of any shape, by columns; fewer pivots than rows if there are fewer columns."""
    rows, columns = p.node.args[0].shape[-2:]
    factors = p.blocks["factors"]
    p.read_columns(factors, 0)
    p.lapack("getrf", rows, columns, factors, rows, p.blocks["pivots"], p.info)
    return factors


def solve_lu(p: MatrixProblem) -> None:
    """Factor a matrix whose rows are in the order of the pivots; NumPy does so if rounding finds others."""
    rows, columns = p.node.shape[-2:]
    code, factors = p.code, factor_columns(p)
    with code.loop(0, min(rows, columns)) as i:
        p.fail_if(load_pivot(p, i).ne(i))
    p.transpose(p.result(), factors, columns, rows)


def solve_lu_order(p: MatrixProblem) -> None:
    """The order of the rows, by exchanging those of the pivots."""
    rows, columns = p.node.args[0].shape[-2:]
    code, out = p.code, p.result()
    factor_columns(p)
    with code.loop(0, rows) as i:
        code.store(i, code.offset(out, i, I64))
    with code.loop(0, min(rows, columns)) as i:
        places = [code.offset(out, k, I64) for k in (i, load_pivot(p, i))]
        for value, place in zip([code.load(place, I64) for place in places], reversed(places), strict=True):
            code.store(value, place)


def lu_blocks(node: Operation) -> dict[str, int]:
    """The factors and the pivots."""
    return {"factors": matrix_bytes(node), "pivots": integers(min(node.args[0].shape[-2:]))}


LU = MatrixRoutine(solve_lu, blocks=lu_blocks, name="getrf")
LU_ORDER = MatrixRoutine(solve_lu_order, blocks=lu_blocks, may_fail=lambda node: False, name="getrf")


# Q R


def solve_qr(p: MatrixProblem) -> None:
    """Q and R in one array, as `_qr_impl` places them."""
    rows, columns = p.node.args[0].shape[-2:]
    k, out, factors = min(rows, columns), p.result(), p.blocks["factors"]
    reflect(p, factors, rows, columns)
    is_tall = rows > columns
    width = columns if is_tall else rows + columns
    r = p.at(out, rows * columns if is_tall else rows)
    p.transpose(r, factors, columns, k, width, rows)
    with p.code.loop(1, k) as i:
        p.clear(p.at(r, i * width), i)
    generate(p, factors, rows, k, k)
    p.transpose(out, factors, k, rows, width, rows)


def solve_complement(p: MatrixProblem) -> None:
    """The columns that complete those of Q to a basis."""
    rows, columns = p.node.args[0].shape[-2:]
    factors = p.blocks["factors"]
    reflect(p, factors, rows, columns)
    generate(p, factors, rows, rows, columns)
    p.transpose(p.result(), p.at(factors, rows * columns), rows - columns, rows)


def reflect(p: MatrixProblem, factors: Lanes, rows: int, columns: int) -> None:
    """Write the reflections of a matrix and R, by columns."""
    size = best_sizes("geqrf", p.node.dtype, *(rows, columns, None, rows, None, "work", -1, None))["work"]
    p.read_columns(factors, 0)
    p.lapack("geqrf", rows, columns, factors, rows, p.blocks["scales"], p.blocks["work"], max(size, columns), p.info)
    p.require_success()


def generate(p: MatrixProblem, factors: Lanes, rows: int, columns: int, k: int) -> None:
    """Replace k reflections by so many columns of Q."""
    size = generating_size(p.node, rows, columns, k)
    p.lapack("orgqr", rows, columns, k, factors, rows, p.blocks["scales"], p.blocks["work"], size, p.info)
    p.require_success()


def generating_size(node: Operation, rows: int, columns: int, k: int) -> int:
    """The workspace of orgqr, in elements."""
    size = best_sizes("orgqr", node.dtype, *(rows, columns, k, None, rows, None, "work", -1, None))["work"]
    return max(size, columns)


def qr_blocks(node: Operation, is_complete: bool = False) -> dict[str, int]:
    """The reflections with their scales, and the workspace of both functions."""
    rows, columns = node.args[0].shape[-2:]
    k, item = min(rows, columns), node.dtype.itemsize
    width = rows if is_complete else columns
    size = best_sizes("geqrf", node.dtype, *(rows, columns, None, rows, None, "work", -1, None))["work"]
    work = max(size, columns, generating_size(node, rows, rows if is_complete else k, k))
    return {"factors": rows * width * item, "scales": k * item, "work": work * item}


QR = MatrixRoutine(solve_qr, blocks=qr_blocks, work=lambda node: 2 * node.size * node.args[0].shape[-1], name="geqrf")
COMPLEMENT = MatrixRoutine(
    solve_complement,
    is_for=lambda node: are_factorable(node) and node.args[0].shape[-2] > node.args[0].shape[-1],
    blocks=lambda node: qr_blocks(node, True),
    name="geqrf",
)


def solve_independent(p: MatrixProblem) -> None:
    """Fail if a number on the diagonal of R is a rounding error of its column, as `_refuse_dependent` finds it."""
    code, (rows, columns) = p.code, p.node.args[0].shape[-2:]
    rounding = (10 + columns) * float(np.finfo(p.node.dtype).eps)
    largest, r, out = code.variable(p.element.real, 0.0), p.operand(0), p.result()
    step_i, step_j = (1, rows) if p.is_transposed(0) else (columns, 1)
    with code.loop(0, columns) as j:
        code.store(code.constant(0.0, p.element.real), largest)
        with code.loop(0, rows) as i:
            size = p.absolute(p.at(r, i * step_i + j * step_j))
            known = code.load(largest, p.element.real)
            code.store(select((size > known) | size.is_nan(), size, known), largest)
        p.fail_if(p.absolute(p.at(r, j * (columns + 1))) <= code.load(largest, p.element.real) * rounding)
    p.clear(out, 1)
    code.store(code.constant(1.0, p.element.real), out)


INDEPENDENT = MatrixRoutine(
    solve_independent,
    is_for=lambda node: are_factorable(node) and node.args[0].shape[-1] == node.args[0].shape[-2],
    work=lambda node: node.args[0].shape[-1] ** 2,
    name="independent",
)
