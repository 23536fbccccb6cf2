"""What the body of a function of small matrices works with: elements, and factorizations that are known already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from wengert.compiler.forms.failures import Failure
from wengert.compiler.simd.lanes import Lanes

Matrix = list[list[Lanes]]
F = TypeVar("F")


class MatrixCall:
    """The matrices of all operands at one position; `fail` notes a failure where a condition holds.

    Lanes belong to neighbouring matrices. The elements of one matrix have equally many; those of a matrix that is
    the same for all have one. A processor `has_lapack`, which kernels may call.
    """

    def __init__(
        self,
        matrices: Sequence[Matrix],
        known: dict[Any, Any],
        splat: Callable[[Lanes, int], Lanes],
        fail: Callable[[Lanes, Failure], None],
        has_lapack: bool = True,
    ):
        self.matrices, self.known, self.splat, self.fail = matrices, known, splat, fail
        self.has_lapack = has_lapack

    @property
    def matrix(self) -> Matrix:
        """The only matrix."""
        (found,) = self.matrices
        return found

    def once(self, what: Callable[[MatrixCall, Matrix], F], x: Matrix) -> F:
        """A factorization of a matrix, which other functions of the same matrix share."""
        key = what, tuple([e.text for row in x for e in row]), x[0][0].type
        if key not in self.known:
            self.known[key] = what(self, x)
        return self.known[key]


def minus_product(z: Lanes, x: Lanes, y: Lanes) -> Lanes:
    """z - x y; rounded once if the processor can do that."""
    return z.code.intrinsic("fmuladd", z.type, -x, y, z)


def plus_product(z: Lanes, x: Lanes, y: Lanes) -> Lanes:
    """z + x y; rounded once if the processor can do that."""
    return z.code.intrinsic("fmuladd", z.type, x, y, z)


def lanes_of(x: Matrix) -> int:
    """The number of lanes of the elements of a matrix."""
    return x[0][0].type.lanes
