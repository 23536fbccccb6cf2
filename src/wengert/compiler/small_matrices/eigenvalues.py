"""Eigenvalues and eigenvectors of small symmetric matrices.

A matrix is reduced to a tridiagonal one, and that to blocks of at most two rows, whose eigenvalues are a formula; then
eigenvalues are sorted. Every choice, and so the signs of the vectors, is LAPACK's. LAPACK itself gets the matrices
that are not finite, whose results are not NaN everywhere, and those for which the sweeps were not enough.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from wengert.compiler.forms.failures import NOT_CONVERGED
from wengert.compiler.simd.lane_operations import any_lane
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import Type
from wengert.compiler.small_matrices.call import Matrix, MatrixCall, minus_product, plus_product
from wengert.compiler.small_matrices.columns import Columns
from wengert.compiler.small_matrices.elimination import choose_largest, exchange_columns
from wengert.compiler.small_matrices.reflections import largest_size, power_of_two
from wengert.compiler.small_matrices.tridiagonal import Tridiagonal, reduce_to_tridiagonal, reverse_where, rotate
from wengert.core.blas import blas


def write_eigh(call: MatrixCall, UPLO: str) -> Matrix:
    """The eigenvalues in the first row, the vectors below."""
    a, n = call.matrix, len(call.matrix)
    if n == 1:
        return [a[0], [a[0][0].like(1.0)]]
    is_lower = UPLO == "L"
    triangle = [a[i][j] if is_lower else a[j][i] for i in range(n) for j in range(i + 1)]
    back, scale = power_of_two(largest_size(triangle))
    matrix = Tridiagonal(reduce_to_tridiagonal([[x * scale for x in row] for row in a], is_lower))
    is_unfinished = matrix.sweep_until_done()
    values, vectors = sort_eigenvalues(matrix)
    is_rare = reduce(or_, [(x * 0.0).is_nan() for x in triangle]) | is_unfinished
    return replace_by_lapack(call, [[x * back for x in values], *vectors], is_rare, UPLO)


def sort_eigenvalues(matrix: Tridiagonal) -> tuple[list[Lanes], Matrix]:
    """The eigenvalues of a matrix of small blocks, in ascending order, and the vectors."""
    n, sense = matrix.n, matrix.code.load(matrix.sense, matrix.type)
    is_turned = sense < 0.0
    d, e = [reverse_where(matrix.load(variables), is_turned) for variables in (matrix.diagonal, matrix.beside)]
    rotations: list[tuple[Lanes, Lanes]] = []
    for i in range(0, n - 1, 2):  # at most one of two neighbours beside the diagonal is not zero
        conditions = [x.ne(0.0) for x in e[i : i + 2]]
        block = [d[i], e[i], d[i + 1]]
        if len(conditions) == 2:
            other = d[i + 1], e[i + 1], d[i + 2]
            block = [select(conditions[1], y, x) for x, y in zip(block, other, strict=True)]
        first, second, c, s = eigenvalues_of_two(*block)
        for k, condition in enumerate(conditions, i):
            d[k], d[k + 1] = select(condition, first, d[k]), select(condition, second, d[k + 1])
            rotations.append((select(condition, c, 1.0), select(condition, -s, 0.0)))
    exchanges = []
    for k in range(n - 1):
        exchanges.append(choose_largest([-x for x in d[k:]]))
        exchange_columns([d], k, exchanges[-1])
    for r in matrix.rows.indices():
        row = reverse_where(matrix.rows.get(r), is_turned)
        for i, (c, s) in enumerate(rotations):
            rotate(row, i, c, s)
        for k, is_chosen in enumerate(exchanges):
            exchange_columns([row], k, is_chosen)
        matrix.rows.put(r, row)
    return d, matrix.rows.columns


def eigenvalues_of_two(a: Lanes, b: Lanes, c: Lanes) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """The eigenvalues of [[a, b], [b, c]], of which the first is the larger in size, and its eigenvector."""
    total, difference, twice = a + c, a - c, b + b
    root = plus_product(difference * difference, twice, twice).sqrt()
    is_negative, is_below = total < 0.0, difference < 0.0
    first = (total + select(is_negative, -root, root)) * 0.5
    is_larger = a.abs() > c.abs()
    large, small = select(is_larger, a, c), select(is_larger, c, a)
    second = select(total.eq(0.0), -first, minus_product(large / first * small, b / first, b))
    sum_ = difference + select(is_below, -root, root)
    is_steep = sum_.abs() > twice.abs()
    t = -select(is_steep, twice, sum_) / select(is_steep, sum_, twice)
    cosine = 1.0 / plus_product(t.like(1.0), t, t).sqrt()
    x, y = select(is_steep, t * cosine, cosine), select(is_steep, cosine, t * cosine)
    is_same = ~(is_negative ^ is_below)
    return first, second, select(is_same, -y, x), select(is_same, x, y)


def replace_by_lapack(call: MatrixCall, out: Matrix, where: Lanes, UPLO: str) -> Matrix:
    """A result, in which that of LAPACK replaces those of rare matrices; without LAPACK, they are failures."""
    if not call.has_lapack:
        call.fail(where, NOT_CONVERGED)
        return out
    code, type = out[0][0].code, out[0][0].type
    variables = [[code.variable(type, x) for x in row] for row in out]
    with code.when(any_lane(where)):
        found, status = call_lapack(Columns.of(list(zip(*call.matrix, strict=True))), UPLO)
        call.fail(where & status.ne(0.0), NOT_CONVERGED)
        for j, column in enumerate(found.columns):
            for i, x in enumerate(column):
                code.store(select(where, x, out[i][j]), variables[i][j])
    return [[code.load(x, type) for x in row] for row in variables]


def call_lapack(matrix: Columns, UPLO: str) -> tuple[Columns, Lanes]:
    """The eigenvalues and vectors of the matrices of all lanes, one after the other, and whether LAPACK failed."""
    code, type, n = matrix.code, matrix.type, matrix.rows
    lanes, number, integer = type.lanes, Type(type.kind), Type(f"i{blas().bits}")
    found, statuses = Columns(code, type, n + 1, n), Columns(code, type, 1, 1)
    work, lists = 1 + 6 * n + 2 * n * n, 3 + 5 * n
    a, values, workspace = [code.array(number, size) for size in (n * n, n, work)]
    integers, info = code.array(integer, lists), code.variable(integer, 0)
    letter, size = lambda x: code.number(Type("i8"), ord(x)), lambda x: code.number(integer, x)
    copy = lambda target, source: code.store(code.load(source, number), target)
    with code.loop(0, lanes) as lane:
        with code.loop(0, n * n) as k:
            copy(code.offset(a, k, number), code.offset(matrix.start, k * lanes + lane, number))
        settings = letter("V"), letter(UPLO), size(n), a, size(n), values
        code.call_blas("dsyevd", *settings, workspace, size(work), integers, size(lists), info)
        code.store(code.load(info, integer).to(type.kind), code.offset(statuses.start, lane, number))
        with code.loop(0, n) as j:
            column = j * ((n + 1) * lanes) + lane
            copy(code.offset(found.start, column, number), code.offset(values, j, number))
            with code.loop(0, n) as i:
                target = code.offset(found.start, column + (i + 1) * lanes, number)
                copy(target, code.offset(a, j * n + i, number))
    return found, statuses.get(0)[0]
