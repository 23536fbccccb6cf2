"""Householder's reflections of small matrices: Q R, the complement of Q, and the test that columns are independent.

A reflection I - tau v v^T, with v_0 = 1, maps a column to a multiple of the first unit vector. It is LAPACK's: the
multiple has the sign opposite to that of the first element, and a column that is a multiple already, exactly, is not
reflected. So signs are those of eager code, in each lane by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wengert.compiler.forms.failures import DEPENDENT
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.small_matrices.call import Matrix, MatrixCall, plus_product
from wengert.compiler.small_matrices.columns import Columns

EXPONENT = 0x7FF << 52
"""The bits of the exponent of a double."""
POWERS = (1 << 52, 2045 << 52)
"""The smallest normal power of two, and the largest whose reciprocal is normal: their bits."""


class Reflection(NamedTuple):
    """The scale tau and the elements of v after the first; where it does not reflect, tau is zero."""

    scale: Lanes
    reflects: Lanes
    tail: list[Lanes]

    def apply(self, column: Sequence[Lanes]) -> list[Lanes]:
        """Reflect a column."""
        first, *rest = column
        product = first
        for x, v in zip(rest, self.tail, strict=True):
            product = plus_product(product, v, x)
        product = select(self.reflects, product * -self.scale, 0.0)
        return [first + product, *[plus_product(x, v, product) for x, v in zip(rest, self.tail, strict=True)]]


def power_of_two(size: Lanes) -> tuple[Lanes, Lanes]:
    """The largest power of two that is not above a number, as far as it and its reciprocal are normal; and that."""
    bits = size.bits() & EXPONENT
    for is_beyond, bound in ((bits < POWERS[0], POWERS[0]), (bits > POWERS[1], POWERS[1])):
        bits = select(is_beyond, bits.like(bound), bits)
    return bits.floats(), (sum(POWERS) - bits).floats()


def largest_size(elements: Sequence[Lanes]) -> Lanes:
    """The largest absolute value, without NaNs."""
    largest = elements[0].like(0.0)
    for x in elements:
        size = x.abs()
        largest = select(size > largest, size, largest)
    return largest


def reflect_column(column: Sequence[Lanes]) -> tuple[Lanes, Reflection]:
    """The reflection of a column of several doubles, and the first element of the result.

    The column is scaled by a power of two, so that squares are in range.
    """
    back, scale = power_of_two(largest_size(column))
    first, *rest = [x * scale for x in column]
    reflects, total = rest[0].ne(0.0), first * first
    for x in rest[1:]:
        reflects = reflects | x.ne(0.0)
    for x in rest:
        total = plus_product(total, x, x)
    image = -total.sqrt().copysign(first)
    difference = select(reflects, image - first, 1.0)
    reciprocal = -1.0 / difference
    tau = select(reflects, difference / image, 0.0)
    return select(reflects, image * back, column[0]), Reflection(tau, reflects, [x * reciprocal for x in rest])


class Reflected(NamedTuple):
    """The reflections of the columns of a matrix, one after the other, and the columns of R, without zeros."""

    reflections: list[Reflection]
    columns: list[list[Lanes]]


def reflect_columns(_: MatrixCall, x: Matrix) -> Reflected:
    """Reflect each column, from the diagonal on; the last row needs no reflection."""
    a = Columns.of(list(zip(*x, strict=True)))
    reflections = []
    for k in range(min(a.rows - 1, a.count)):
        image, reflection = reflect_column(a.get(k, k))
        reflections.append(reflection)
        a.put(k, [image], k)
        for j in a.indices(k + 1):
            a.put(j, reflection.apply(a.get(j, k)), k)
    return Reflected(reflections, [column[: j + 1] for j, column in enumerate(a.columns)])


def product_of(reflections: Sequence[Reflection], rows: int, wanted: range, like: Lanes) -> Matrix:
    """Columns of the product of reflections, each of which begins a row below the one before it."""
    zero, one = like.like(0.0), like.like(1.0)
    columns = Columns.of([[one if i == j else zero for i in range(rows)] for j in wanted])
    for reflection in reversed(reflections):
        start = rows - 1 - len(reflection.tail)
        for j in columns.indices(max(start + 1 - wanted.start, 0)):
            columns.put(j, reflection.apply(columns.get(j, start)), start)
        if start in wanted:  # a unit vector so far
            tau = reflection.scale
            columns.put(start - wanted.start, [1.0 - tau, *[-(tau * v) for v in reflection.tail]], start)
    return [list(row) for row in zip(*columns.columns, strict=True)]


def write_qr(call: MatrixCall) -> Matrix:
    """Q and R in one array: one above the other if there are more rows than columns, else side by side."""
    x = call.matrix
    rows, columns = len(x), len(x[0])
    k, like = min(rows, columns), x[0][0]
    reflected = call.once(reflect_columns, x)
    q = product_of(reflected.reflections, rows, range(k), like)
    r = [[c[i] if i < len(c) else like.like(0.0) for c in reflected.columns] for i in range(k)]
    return q + r if rows > columns else [left + right for left, right in zip(q, r, strict=True)]


def write_complement(call: MatrixCall) -> Matrix:
    """The columns that complete those of Q to a basis."""
    x = call.matrix
    reflections = call.once(reflect_columns, x).reflections
    return product_of(reflections, len(x), range(len(x[0]), len(x)), x[0][0])


def write_independent(call: MatrixCall) -> Matrix:
    """One; it is a failure if a number on the diagonal of R is a rounding error of its column."""
    r, n = call.matrix, len(call.matrix)
    epsilon = 2.0 ** (-52 if r[0][0].type.kind == "f64" else -23)
    is_dependent: Lanes | None = None
    for j in range(n):
        sizes = [row[j].abs() for row in r]
        largest = sizes[0]
        for size in sizes[1:]:
            largest = select((size > largest) | size.is_nan(), size, largest)
        condition = sizes[j] <= largest * ((10 + n) * epsilon)
        is_dependent = condition if is_dependent is None else is_dependent | condition
    assert is_dependent is not None
    call.fail(is_dependent, DEPENDENT)
    return [[r[0][0].like(1.0)]]
