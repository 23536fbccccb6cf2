"""Symmetric tridiagonal matrices in lanes: how matrices are reduced to them, and sweeps that make them diagonal.

A sweep is one step of the implicit QL method, on one block of each matrix. LAPACK begins at the end of a block that has
the larger element (QL or QR), and so does this: else vectors would have other signs than in eager code. All lanes sweep
in one direction, so matrices are turned around, lane by lane, where LAPACK would go in the other one. The order of
blocks is free, because they do not depend on each other; those of two rows are left to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import reduce
from operator import or_
from typing import NamedTuple

from wengert.compiler.simd.lane_operations import any_lane
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import I64
from wengert.compiler.small_matrices.call import Matrix, minus_product, plus_product
from wengert.compiler.small_matrices.columns import Columns
from wengert.compiler.small_matrices.reflections import product_of, reflect_column

EPSILON = 2.0**-53
NEGLIGIBLE = 2.0**-900
"""What is added to the bound of squares: the elements of matrices are at most two."""
SMALLEST_SQUARE = 2.0**-960
"""The smallest square of the length of a vector that is rotated."""
SWEEPS = 30
"""The most sweeps for each row, as in LAPACK."""


class Reduced(NamedTuple):
    """A = Q T Q^T: the diagonal of T, the elements beside it, and Q."""

    diagonal: list[Lanes]
    beside: list[Lanes]
    basis: Matrix


def reduce_to_tridiagonal(a: Matrix, is_lower: bool) -> Reduced:
    """Reflections from the first column on, or from the last one if the upper triangle is that which is read."""
    n = len(a)
    if not is_lower:
        diagonal, beside, basis = reduce_to_tridiagonal([row[::-1] for row in a[::-1]], True)
        return Reduced(diagonal[::-1], beside[::-1], [row[::-1] for row in basis[::-1]])
    columns = Columns.of([[a[max(i, j)][min(i, j)] for i in range(n)] for j in range(n)])
    pairs = Columns(columns.code, columns.type, 2, n)
    reflections, beside = [], []
    for k in range(n - 2):
        image, reflection = reflect_column(columns.get(k, k + 1))
        reflections.append(reflection)
        beside.append(image)
        tau, v = reflection.scale, [image.like(1.0), *reflection.tail]
        for j in columns.indices(k + 1):
            pairs.put(j, [dot(v, columns.get(j, k + 1)) * tau])
        w = [pairs.get(j)[0] for j in range(k + 1, n)]
        shift = dot(w, v) * (tau * -0.5)
        w = [plus_product(y, shift, x) for x, y in zip(v, w, strict=True)]
        for j, pair in enumerate(zip(v, w, strict=True), k + 1):
            pairs.put(j, pair)
        for j in columns.indices(k + 1):
            x, y = pairs.get(j)
            both = zip(columns.get(j, k + 1), v, w, strict=True)
            columns.put(j, [minus_product(minus_product(e, p, y), q, x) for e, p, q in both], k + 1)
    if n > 1:
        beside.append(columns.get(n - 2, n - 1)[0])
    diagonal = [columns.get(j, j)[0] for j in range(n)]
    return Reduced(diagonal, beside, product_of(reflections, n, range(n), a[0][0]))


def dot(x: Sequence[Lanes], y: Sequence[Lanes]) -> Lanes:
    """The sum of products."""
    total = x[0] * y[0]
    for a, b in zip(x[1:], y[1:], strict=True):
        total = plus_product(total, a, b)
    return total


class Rotated(NamedTuple):
    """What a rotation of a sweep leaves to the next one: addresses of variables, with LAPACK's names."""

    c: Lanes
    s: Lanes
    p: Lanes
    g: Lanes


class Tridiagonal:
    """Matrices that sweeps make diagonal, up to blocks of two rows; `rows` are those of the matrix of vectors.

    `senses` is 1.0 for the elements beside the diagonal that a sweep in the present direction is for, else -1.0;
    `sense` is -1.0 where a matrix is turned around.
    """

    def __init__(self, reduced: Reduced):
        self.n, like = len(reduced.diagonal), reduced.diagonal[0]
        self.code, self.type = like.code, like.type
        self.diagonal, self.beside = (
            list(map(self.variable, reduced.diagonal)),
            list(map(self.variable, reduced.beside)),
        )
        self.senses = [self.variable(like.like(1.0)) for _ in reduced.beside]
        self.sense = self.variable(like.like(1.0))
        self.rows = Columns.of(reduced.basis)

    def variable(self, x: Lanes) -> Lanes:
        """The address of a variable."""
        return self.code.variable(self.type, x)

    def load(self, variables: Sequence[Lanes]) -> list[Lanes]:
        """The values of variables."""
        return [self.code.load(x, self.type) for x in variables]

    def store(self, values: Sequence[Lanes], variables: Sequence[Lanes]) -> None:
        """Replace the values of variables."""
        for value, variable in zip(values, variables, strict=True):
            self.code.store(value, variable)

    def store_where(self, where: Lanes, value: Lanes, variable: Lanes) -> None:
        """Replace the value of a variable where a condition holds."""
        self.code.store(select(where, value, self.code.load(variable, self.type)), variable)

    def sweep_until_done(self) -> Lanes:
        """Sweep while a block has more than two rows; gives where one still has."""
        code = self.code
        if self.n == 2:
            self.drop_negligible()
            return code.constant(False, self.type.of("i1"))
        self.choose_senses()
        count = code.variable(I64, 0)
        head, body, turning, done = map(code.label, ("head", "body", "turn", "done"))
        sweeping = code.label("sweep", self.n - 2)
        code.jump(head)
        code.begin(head)
        is_long = self.long_blocks()
        senses = self.load(self.senses)
        is_unfinished = reduce(or_, is_long)
        steps = code.load(count, I64)
        code.branch(any_lane(is_unfinished) & (steps < SWEEPS * self.n), body, done)
        code.begin(body)
        code.store(steps + 1, count)
        is_next = [condition & (sense > 0.0) for condition, sense in zip(is_long, senses, strict=True)]
        is_turned = is_unfinished & ~reduce(or_, is_next)
        code.branch(any_lane(is_turned), turning, sweeping)
        code.begin(turning)
        self.turn(is_turned)
        code.jump(head)
        code.begin(sweeping)
        self.sweep(first_run(is_next))
        code.jump(head)
        code.begin(done)
        return is_unfinished

    def choose_senses(self) -> None:
        """A block is swept towards its first row unless its last one has the smaller element on the diagonal."""
        self.drop_negligible()
        sizes = [x.abs() for x in self.load(self.diagonal)]
        is_inside = [x.ne(0.0) for x in self.load(self.beside)]
        first, last = list(sizes), list(sizes)
        for i in range(1, self.n):
            first[i] = select(is_inside[i - 1], first[i - 1], first[i])
        for i in reversed(range(self.n - 1)):
            last[i] = select(is_inside[i], last[i + 1], last[i])
        senses = [select(y < x, x.like(-1.0), 1.0) for x, y in zip(first[:-1], last[:-1], strict=True)]
        self.store(senses, self.senses)

    def drop_negligible(self) -> list[Lanes]:
        """Replace elements beside the diagonal that are rounding errors by zero; gives where others are."""
        d, e = self.load(self.diagonal), self.load(self.beside)
        sizes = [x.abs() for x in d]
        bounds = [plus_product(x.like(NEGLIGIBLE), x * EPSILON**2, y) for x, y in zip(sizes, sizes[1:], strict=False)]
        is_kept = [x * x > bound for x, bound in zip(e, bounds, strict=True)]
        self.store([select(kept, x, 0.0) for kept, x in zip(is_kept, e, strict=True)], self.beside)
        return is_kept

    def long_blocks(self) -> list[Lanes]:
        """The elements beside the diagonal of blocks with more than two rows."""
        kept = self.drop_negligible()
        beside = [reduce(or_, [*kept[max(i - 1, 0) : i], *kept[i + 1 : i + 2]]) for i in range(self.n - 1)]
        return [x & y for x, y in zip(kept, beside, strict=True)]

    def turn(self, where: Lanes) -> None:
        """Turn matrices around: the last row and column become the first."""
        for variables in (self.diagonal, self.beside):
            self.store(reverse_where(self.load(variables), where), variables)
        senses = [-x for x in self.load(self.senses)[::-1]]
        kept = self.load(self.senses)
        self.store([select(where, x, y) for x, y in zip(senses, kept, strict=True)], self.senses)
        sense = self.code.load(self.sense, self.type)
        self.code.store(select(where, -sense, sense), self.sense)
        for r in self.rows.indices():
            self.rows.put(r, reverse_where(self.rows.get(r), where))

    def sweep(self, run: Sequence[Lanes]) -> None:
        """One step of QL on the block whose elements beside the diagonal are marked.

        Blocks become shorter from sweep to sweep, so rotations that no lane needs are skipped. There are none in
        matrices of three rows.
        """
        shift = wilkinson_shift(self.load(self.diagonal), self.load(self.beside), run)
        one, zero = shift.like(1.0), shift.like(0.0)
        last = Rotated(*map(self.variable, (one, one, zero, zero)))
        for i in reversed(range(self.n - 1)):
            is_needed = nullcontext() if self.n == 3 else self.code.when(any_lane(run[i]), fewest_rotations(self.n, i))
            with is_needed:
                self.rotate_pair(i, run, shift, last)

    def rotate_pair(self, i: int, run: Sequence[Lanes], shift: Lanes, last: Rotated) -> None:
        """Rotate rows i and i + 1, and the columns, in lanes whose block has both; `last` becomes this rotation."""
        (below, above), e = self.load(self.diagonal[i : i + 2]), self.load(self.beside[i : i + 1])[0]
        c, s, p, g = self.load(last)
        one, zero = shift.like(1.0), shift.like(0.0)
        is_inner = run[i] & run[i + 1] if i + 2 < self.n else None  # there is a rotation before this one
        if is_inner is None:
            g = above - shift
        else:
            c, s, p = select(is_inner, c, one), select(is_inner, s, one), select(is_inner, p, zero)
            g = select(is_inner, g, above - shift)
        f, b = s * e, c * e
        c, s, r = rotation(g, f)
        if is_inner is not None:
            self.store_where(is_inner, r, self.beside[i + 1])
        g = above - p
        r = plus_product((below - g) * s, c, b + b)
        p = s * r
        self.store_where(run[i], g + p, self.diagonal[i + 1])
        g = plus_product(-b, c, r)
        is_last = run[i] & ~run[i - 1] if i else run[i]
        self.store_where(is_last, below - p, self.diagonal[i])
        self.store_where(is_last, g, self.beside[i])
        self.store([c, s, p, g], last)
        c, s = select(run[i], c, one), select(run[i], s, zero)
        for k in self.rows.indices():
            pair = self.rows.get(k, i, i + 2)
            rotate(pair, 0, c, s)
            self.rows.put(k, pair, i)


def fewest_rotations(n: int, i: int) -> int:
    """How often rows i and i + 1 are rotated if each block of n to 3 rows is swept once; most need more sweeps.

    >>> [fewest_rotations(6, i) for i in range(5)]
    [1, 2, 3, 4, 4]
    """
    return min(i + 1, n - 2)


def first_run(marks: Sequence[Lanes]) -> list[Lanes]:
    """The first of the runs of marked elements."""
    out, has_begun, has_ended = [marks[0]], marks[0], None
    for mark in marks[1:]:
        gap = has_begun & ~mark
        has_ended = gap if has_ended is None else has_ended | gap
        out.append(mark & ~has_ended)
        has_begun = has_begun | mark
    return out


def reverse_where(values: Sequence[Lanes], where: Lanes) -> list[Lanes]:
    """Values, in reverse order where a condition holds."""
    return [select(where, y, x) for x, y in zip(values, values[::-1], strict=True)]


def wilkinson_shift(d: Sequence[Lanes], e: Sequence[Lanes], run: Sequence[Lanes]) -> Lanes:
    """The eigenvalue of the first two rows of a block that is closer to its first element."""
    first, second, between = d[-2], d[-1], e[-1]
    for i in reversed(range(len(e) - 1)):
        first, second, between = [select(run[i], x, y) for x, y in ((d[i], first), (d[i + 1], second), (e[i], between))]
    difference, twice = second - first, between + between
    square = twice * twice
    root = plus_product(square, difference, difference).sqrt()
    return first - (square * 0.5) / (difference + root.copysign(difference))


def rotation(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """The cosine, which is not negative, and the sine of the rotation of (x, y) to (r, 0); and r."""
    square = plus_product(y * y, x, x)
    is_short = square < SMALLEST_SQUARE
    length = square.sqrt()
    r = length.copysign(x + 0.0)
    return select(is_short, x.like(1.0), x.abs() / length), select(is_short, x.like(0.0), y / r), select(is_short, x, r)


def rotate(row: list[Lanes], i: int, c: Lanes, s: Lanes) -> None:
    """Rotate two neighbouring elements of a row."""
    x, y = row[i], row[i + 1]
    row[i], row[i + 1] = minus_product(c * x, s, y), plus_product(c * y, s, x)
