"""Elimination with row pivots: systems, inverses, determinants and cofactors of small matrices.

P A = L U, where row k is exchanged with the row of the largest absolute value in column k: the first of several, as
LAPACK does. Each lane has its own order of rows, so rows are exchanged by selects. All operations on one matrix share
the factorization. A pivot of zero is replaced by one in divisions: everything below it is zero, too, so the
factorization exists, and a determinant is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.forms.failures import SINGULAR
from wengert.compiler.functions.vector_functions import call as call_vector
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.small_matrices.call import Matrix, MatrixCall, lanes_of, minus_product, plus_product

SMALLEST, GROWTH = 2.0**-1022, 2.0**60
"""The smallest normal number, and a factor that makes normal numbers of smaller ones."""


class Factors(NamedTuple):
    """P A = L U: L below the diagonal of `packed`, U on and above it, and the reciprocals of U's diagonal.

    `exchanges` has for each k whether row k was exchanged with k + 1, k + 2, ... in this order of steps; `is_odd` says
    whether their number is odd, None if there are none.
    """

    packed: Matrix
    reciprocals: list[Lanes]
    exchanges: list[list[Lanes]]
    is_odd: Lanes | None

    @property
    def diagonal(self) -> list[Lanes]:
        """The pivots."""
        return [row[k] for k, row in enumerate(self.packed)]

    def widened(self, call: MatrixCall, lanes: int) -> Factors:
        """The same with more lanes, if it has one."""
        wide = lambda xs: [call.splat(x, lanes) for x in xs]
        odd = None if self.is_odd is None else call.splat(self.is_odd, lanes)
        return Factors(list(map(wide, self.packed)), wide(self.reciprocals), list(map(wide, self.exchanges)), odd)


def factorize(_: MatrixCall, x: Matrix) -> Factors:
    """The factorization of a matrix."""
    a, n = [list(row) for row in x], len(x)
    reciprocals, exchanges, is_odd = [], [], None
    for k in range(n):
        is_chosen = choose_pivot([row[k] for row in a[k:]])
        exchange_rows(a, k, is_chosen)
        exchanges.append(is_chosen)
        for condition in is_chosen:
            is_odd = condition if is_odd is None else is_odd ^ condition
        pivot = a[k][k]
        reciprocals.append(1.0 / select(pivot.eq(0.0), 1.0, pivot))
        scale = select(pivot.abs() < SMALLEST, pivot.like(GROWTH), 1.0)  # reciprocals of smaller numbers are infinite
        quotient = 1.0 / select(pivot.eq(0.0), 1.0, pivot * scale) if k + 1 < n else pivot
        for row in a[k + 1 :]:
            row[k] = (row[k] * scale) * quotient
            for j in range(k + 1, n):
                row[j] = minus_product(row[j], row[k], a[k][j])
    return Factors(a, reciprocals, exchanges, is_odd)


def choose_pivot(column: Sequence[Lanes]) -> list[Lanes]:
    """Whether each element but the first is the one of the largest absolute value, the first of several."""
    return choose_largest([x.abs() for x in column])


def choose_largest(values: Sequence[Lanes]) -> list[Lanes]:
    """Whether each value but the first is the largest, the first of several."""
    largest, is_larger = values[0], []
    for x in values[1:]:
        is_larger.append(x > largest)
        largest = select(is_larger[-1], x, largest)
    chosen: list[Lanes] = []
    later: Lanes | None = None
    for condition in reversed(is_larger):
        chosen.append(condition if later is None else condition & ~later)
        later = condition if later is None else later | condition
    return chosen[::-1]


def exchange_rows(a: Matrix, k: int, is_chosen: Sequence[Lanes]) -> None:
    """Exchange row k with the one after it that is chosen, if any."""
    first = list(a[k])
    for i, condition in enumerate(is_chosen, k + 1):
        a[k] = [select(condition, y, x) for x, y in zip(a[k], a[i], strict=True)]
        a[i] = [select(condition, x, y) for x, y in zip(first, a[i], strict=True)]


def exchange_columns(a: Matrix, k: int, is_chosen: Sequence[Lanes]) -> None:
    """Exchange column k with the one after it that is chosen, if any."""
    for row in a:
        first = row[k]
        for j, condition in enumerate(is_chosen, k + 1):
            row[k], row[j] = select(condition, row[j], row[k]), select(condition, first, row[j])


def fail_if_singular(call: MatrixCall, factors: Factors) -> None:
    """Note a failure if a pivot is zero."""
    is_zero: Lanes | None = None
    for pivot in factors.diagonal:
        is_zero = pivot.eq(0.0) if is_zero is None else is_zero | pivot.eq(0.0)
    assert is_zero is not None
    call.fail(is_zero, SINGULAR)


# Systems


def write_solve(call: MatrixCall, trans: int) -> Matrix:
    """A^-1 Y, or A^-T Y with `trans`."""
    x, y = call.matrices
    lanes = max(map(lanes_of, call.matrices))
    factors = call.once(factorize, x)
    fail_if_singular(call, factors)
    a, reciprocals, exchanges, _ = factors.widened(call, lanes)
    out = [[call.splat(e, lanes) for e in row] for row in y]
    n = len(x)
    if trans:  # U^T L^T P
        transposed = [[a[j][i] for j in range(n)] for i in range(n)]
        substitute(out, transposed, reciprocals, range(n))
        substitute(out, transposed, None, range(n)[::-1])
        for k in reversed(range(n)):
            exchange_rows(out, k, exchanges[k])
        return out
    for k in range(n):
        exchange_rows(out, k, exchanges[k])
    substitute(out, a, None, range(n))
    substitute(out, a, reciprocals, range(n)[::-1])
    return out


def substitute(out: Matrix, a: Matrix, reciprocals: Sequence[Lanes] | None, order: Sequence[int]) -> None:
    """Solve with a triangle of A in place, in the order of its rows; without reciprocals of its diagonal, it is one."""
    for done, i in enumerate(order):
        for k in order[:done]:
            out[i] = [minus_product(e, a[i][k], f) for e, f in zip(out[i], out[k], strict=True)]
        if reciprocals is not None:
            out[i] = [e * reciprocals[i] for e in out[i]]


# Inverses and cofactors


def write_inv(call: MatrixCall) -> Matrix:
    """A^-1 = U^-1 L^-1 P."""
    factors = call.once(factorize, call.matrix)
    fail_if_singular(call, factors)
    return from_upper(inverse_of_upper(factors), factors)


def write_cofactor(call: MatrixCall) -> Matrix:
    """The transpose of the adjugate: det(A) A^-T if there is an inverse.

    The adjugate of A is adj(U) L^-1 P, with the sign of the permutation. There are no divisions in that of U, so
    singular matrices need no other method.
    """
    factors = call.once(factorize, call.matrix)
    out = from_upper(adjugate_of_upper(factors), factors)
    n, odd = len(out), factors.is_odd
    signed = out if odd is None else [[select(odd, -e, e) for e in row] for row in out]
    return [[signed[j][i] for j in range(n)] for i in range(n)]


def inverse_of_upper(factors: Factors) -> Matrix:
    """U^-1, by columns."""
    u, reciprocals, n = factors.packed, factors.reciprocals, len(factors.packed)
    zero = reciprocals[0].like(0.0)
    out = [[zero] * n for _ in range(n)]
    for j in range(n):
        out[j][j] = reciprocals[j]
        for i in range(j):
            total = out[i][i] * u[i][j]
            for k in range(i + 1, j):
                total = plus_product(total, out[i][k], u[k][j])
            out[i][j] = -total * reciprocals[j]
    return out


def adjugate_of_upper(factors: Factors) -> Matrix:
    """adj(U), by leading blocks: that of [[V, w], [0, u]] is [[u adj(V), -adj(V) w], [0, det(V)]]."""
    u, n = factors.packed, len(factors.packed)
    zero, determinant = u[0][0].like(0.0), u[0][0].like(1.0)
    out = [[zero] * n for _ in range(n)]
    for j in range(n):
        for i in range(j):
            total = out[i][i] * u[i][j]
            for k in range(i + 1, j):
                total = plus_product(total, out[i][k], u[k][j])
            out[i][j] = -total
            for k in range(i, j):
                out[i][k] = out[i][k] * u[j][j]
        out[j][j] = determinant
        determinant = determinant * u[j][j] if j else u[0][0]
    return out


def from_upper(x: Matrix, factors: Factors) -> Matrix:
    """X L^-1 P, where X is upper triangular."""
    lower, n = factors.packed, len(x)
    for j in reversed(range(n)):
        for i in range(n):
            for k in range(j + 1, n):
                x[i][j] = minus_product(x[i][j], x[i][k], lower[k][j])
    for k in reversed(range(n)):
        exchange_columns(x, k, factors.exchanges[k])
    return x


# Determinants


def write_det(call: MatrixCall) -> Matrix:
    """The product of the pivots, with the sign of the permutation."""
    factors = call.once(factorize, call.matrix)
    total = product_in_range(factors.diagonal)
    return [[total if factors.is_odd is None else select(factors.is_odd, -total, total)]]


def product_in_range(factors: Sequence[Lanes]) -> Lanes:
    """The product of doubles, which is infinite or zero only if it is so in the end, not after some of the factors.

    Fractions and exponents are multiplied and added by themselves. Products with powers of two are exact.
    """
    field, bias, shift = 0x7FF, 1023, 52
    fraction = exponent = None
    for x in factors:
        bits = x.bits()
        power = (bits >> shift) & field
        is_normal = power.ne(0) & power.ne(field)
        part = select(is_normal, ((bits & ~(field << shift)) | (bias << shift)).floats(), x)
        power = select(is_normal, power - bias, 0)
        fraction = part if fraction is None else fraction * part
        exponent = power if exponent is None else exponent + power
    assert fraction is not None
    assert exponent is not None
    half = exponent >> 1
    for power in (half, exponent - half):
        limited = select(power > bias, bias, select(power < 1 - bias, 1 - bias, power))
        fraction = fraction * ((limited + bias) << shift).floats()
    return fraction


def write_logdet(call: MatrixCall) -> Matrix:
    """The sum of the logarithms of the pivots' sizes."""
    first, *rest = [call_vector("log", pivot.abs()) for pivot in call.once(factorize, call.matrix).diagonal]
    total = first
    for term in rest:
        total = total + term
    return [[total]]


def write_det_sign(call: MatrixCall) -> Matrix:
    """The sign of the determinant: zero if a pivot is zero."""
    factors = call.once(factorize, call.matrix)
    one = factors.packed[0][0].like(1.0)
    sign = one if factors.is_odd is None else select(factors.is_odd, -1.0, one)
    for pivot in factors.diagonal:
        sign = select(pivot < 0.0, -sign, sign)
        sign = select(pivot.eq(0.0), 0.0, sign)
    return [[sign]]
