"""Small systems of linear equations, by Gaussian elimination with partial pivoting, written in operations on numbers.

In a graph it becomes straight-line code, native in compiled functions, without a call of LAPACK. It is differentiated
as it is, but for the choice of pivots; `solve_small` has the rule of the equation, whose reverse mode is shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from wengert.control.custom import custom_jvp
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import absolute

Numbers = list[Any]


class Elimination(NamedTuple):
    """The factors L and U of a matrix, in one array of rows, and which rows were exchanged.

    An exchange is (first row, second row, whether they were exchanged). A singular matrix has a zero among the pivots,
    and solutions that are not finite.

    >>> Elimination.of([[0.0, 2.0], [1.0, 1.0]]).solve([2.0, 3.0])
    [np.float64(2.0), np.float64(1.0)]
    """

    rows: list[Numbers]
    exchanges: list[tuple[int, int, Any]]

    @staticmethod
    def of(matrix: Sequence[Sequence[Any]]) -> Elimination:
        """The factors of a matrix."""
        rows = [list(row) for row in matrix]
        n = len(rows)
        exchanges = []
        for k in range(n):
            for i in range(k + 1, n):
                larger = absolute(rows[i][k]) > absolute(rows[k][k])
                exchanges.append((k, i, larger))
                exchange(rows[k], rows[i], larger)
            for i in range(k + 1, n):
                factor = rows[i][k] / rows[k][k]
                rows[i] = [
                    *rows[i][:k],
                    factor,
                    *[a - factor * b for a, b in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)],
                ]
        return Elimination(rows, exchanges)

    def solve(self, b: Sequence[Any]) -> Numbers:
        """The solution of the system with this right-hand side."""
        x, n = list(b), len(self.rows)
        for k, i, larger in self.exchanges:
            x[k], x[i] = where(larger, x[i], x[k]), where(larger, x[k], x[i])
        for i in range(1, n):
            for j in range(i):
                x[i] = x[i] - self.rows[i][j] * x[j]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                x[i] = x[i] - self.rows[i][j] * x[j]
            x[i] = x[i] / self.rows[i][i]
        return x


@custom_jvp
def solve_small(rows: list[Numbers], b: Numbers) -> Numbers:
    """The solution of one small system, differentiated as the solution of its equation: dx = A^-1 (db - dA x)."""
    return Elimination.of(rows).solve(b)


@solve_small.defjvp
def push_solution(primals: tuple, tangents: tuple) -> tuple[Numbers, Numbers]:
    """The solution and its tangent, by the same factors."""
    (rows, b), (row_tangents, changes) = primals, tangents
    factors = Elimination.of(rows)
    x = factors.solve(b)
    for j, number in enumerate(x):
        changes = [change - row[j] * number for change, row in zip(changes, row_tangents, strict=True)]
    return x, factors.solve(changes)


def exchange(first: Numbers, second: Numbers, swaps: Any) -> None:
    """Exchange two rows where `swaps` holds."""
    for j, (a, b) in enumerate(zip(first, second, strict=True)):
        first[j], second[j] = where(swaps, b, a), where(swaps, a, b)
