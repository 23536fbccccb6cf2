"""Cholesky factors of small matrices, and triangular systems."""

from __future__ import annotations

from wengert.compiler.forms.failures import NOT_POSITIVE, ZERO_ON_DIAGONAL
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.small_matrices.call import Matrix, MatrixCall, lanes_of, minus_product
from wengert.compiler.small_matrices.elimination import substitute


def write_cholesky(call: MatrixCall) -> Matrix:
    """The lower triangular L with L L^T = A, of whose elements those above the diagonal are not read."""
    a, n = call.matrix, len(call.matrix)
    zero = a[0][0].like(0.0)
    out = [[zero] * n for _ in range(n)]
    is_bad: Lanes | None = None
    for j in range(n):
        pivot = a[j][j]
        for k in range(j):
            pivot = minus_product(pivot, out[j][k], out[j][k])
        is_bad = pivot <= 0.0 if is_bad is None else is_bad | (pivot <= 0.0)
        out[j][j] = pivot.sqrt()
        reciprocal = 1.0 / out[j][j]
        for i in range(j + 1, n):
            total = a[i][j]
            for k in range(j):
                total = minus_product(total, out[i][k], out[j][k])
            out[i][j] = total * reciprocal
    assert is_bad is not None
    call.fail(is_bad, NOT_POSITIVE)
    return out


def write_cholesky_pull(call: MatrixCall) -> Matrix:
    """The cotangent of A from that of its factor L: the steps of the factorization, backward (Smith, 1995).

    Of the terms of a sum, those that were computed last are added last, so that few additions wait for them.
    """
    lanes = max(map(lanes_of, call.matrices))
    out, factor = [[[call.splat(e, lanes) for e in row] for row in x] for x in call.matrices]
    n = len(out)
    for k in reversed(range(n)):
        for j in reversed(range(k + 1, n)):
            for i in reversed(range(j, n)):
                out[i][k] = minus_product(out[i][k], out[i][j], factor[j][k])
                out[j][k] = minus_product(out[j][k], out[i][j], factor[i][k])
        reciprocal = 1.0 / factor[k][k]
        for j in range(k + 1, n):
            out[j][k] = out[j][k] * reciprocal
            out[k][k] = minus_product(out[k][k], factor[j][k], out[j][k])
        out[k][k] = out[k][k] * (reciprocal * 0.5)
    zero = out[0][0].like(0.0)
    return [[out[i][j] if j <= i else zero for j in range(n)] for i in range(n)]


def reciprocals(call: MatrixCall, x: Matrix) -> list[Lanes]:
    """The reciprocals of the diagonal; it is a failure if one is zero."""
    for i, row in enumerate(x):
        call.fail(row[i].eq(0.0), ZERO_ON_DIAGONAL[i])
    return [1.0 / row[i] for i, row in enumerate(x)]


def write_solve_triangular(call: MatrixCall, lower: bool, trans: int, unit_diagonal: bool) -> Matrix:
    """T^-1 Y, or T^-T Y with `trans`, where T is one triangle of a matrix."""
    x, y = call.matrices
    n, lanes = len(x), max(map(lanes_of, call.matrices))
    diagonal = None if unit_diagonal else [call.splat(r, lanes) for r in call.once(reciprocals, x)]
    out = [[call.splat(e, lanes) for e in row] for row in y]
    a = [[call.splat(x[k][i] if trans else x[i][k], lanes) for k in range(n)] for i in range(n)]
    substitute(out, a, diagonal, range(n) if lower != bool(trans) else range(n)[::-1])
    return out
