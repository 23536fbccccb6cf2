"""The Cholesky factorization, and systems solved by it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.core.array import Array, implements
from wengert.core.kinds import case, general, keep_params
from wengert.core.large_arrays import for_stacks
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.contraction.products import matmul
from wengert.ops.linear_algebra.triangular import (
    _POSITIVE,
    _refuse_not_finite,
    adjoint,
    as_columns,
    conjugate,
    factor_dtype,
    same_spec,
    square,
    transpose_matrix,
    triangular_solution,
)
from wengert.ops.shape.rearranging import tril

__all__ = ["cho_solve", "cholesky"]

# Cholesky


def _halve(x: Any) -> Any:
    """The lower triangle P with half of the diagonal: for a Hermitian matrix H, `P + P^H = H`."""
    half = _half(x.shape[-1], np.finfo(x.dtype if x.dtype.kind in "fc" else float).dtype)
    return x * numpy_of(x).asarray(half)


@lru_cache(16)
def _half(n: int, dtype: np.dtype) -> np.ndarray:
    half = (np.tri(n) - 0.5 * np.eye(n)).astype(dtype)
    half.flags.writeable = False
    return half


def _between_inverses(x: Any, out: Any) -> Any:
    """L^-H x L^-1."""
    left = triangular_solution(conjugate(out), x, True, 1)
    return transpose_matrix(triangular_solution(out, transpose_matrix(left), True, 1))


def pull_by_formula(t: Any, factor: Any) -> Any:
    """The cotangent of a positive definite matrix, from that of its factor: in its lower triangle."""
    # From dA = dL L^H + L dL^H: L^-1 dA L^-H = M is Hermitian and dL = L halved(M). The transpose of that, for a
    # cotangent g = conj(t) of L, is S = L^-H (P + P^H) L^-1 / 2 with P = halved(L^H g); an element below the diagonal
    # stands for two of A.
    p = _halve(matmul(adjoint(tril(factor)), conjugate(t)))
    return _halve(conjugate(_between_inverses(p + adjoint(p), factor)))


def _inner(x: Any, factor: Any) -> Any:
    """L^-1 H L^-H for the Hermitian matrix H whose lower triangle is that of x."""
    p = _halve(x)
    left = triangular_solution(factor, p + adjoint(p), True)
    return adjoint(triangular_solution(factor, adjoint(left), True))


def _cholesky_push(t: Any, out: Any) -> Any:
    return matmul(tril(out), _halve(_inner(t, out)))


def _pull_factor(t: Any, x: Any, y: Any) -> Any:
    # The cotangent t of the result gives that of <L halved(M), x> with M = L^-1 T L^-H, in which L occurs three times.
    lower, m = tril(y), _inner(t, y)
    q = _halve(matmul(transpose_matrix(lower), x))
    turned = triangular_solution(y, matmul(q + adjoint(q), transpose_matrix(m)), True, 1)
    return tril(matmul(x, transpose_matrix(_halve(m))) - turned)


def _pull_push_factor(t: Any, x: Any, y: Any, out: Any) -> Any:
    # With S = conj(out + out^H): dS = L^-H (dP + dP^H) L^-1 - L^-H dL^H S - S dL L^-1.
    moved, s = tril(t), conjugate(out + adjoint(out))
    p = _halve(matmul(adjoint(moved), conjugate(x)))
    side = transpose_matrix(triangular_solution(y, transpose_matrix(matmul(s, moved)), True, 1))
    return _halve(conjugate(_between_inverses(p + adjoint(p), y) - side - adjoint(side)))


_cholesky_pull: Callable = general(
    "cholesky_pull",
    for_stacks(pull_by_formula, calls_for_each=2, alone=True),
    lambda t, y: _cholesky_push(t, y),
    _pull_factor,
    jvps=(lambda t, y: _cholesky_pull(t, y), _pull_push_factor),
    batch=keep_params,
    spec=lambda x, y: Spec(np.broadcast_shapes(x.shape, y.shape), factor_dtype(x.dtype, y.dtype)),
    cases=(
        case((3, 3), np.linalg.cholesky(_POSITIVE)),
        case((2, 3, 3), np.linalg.cholesky(_POSITIVE)),
        case((1, 1), np.array([[2.0]])),
        case((0, 0), (0, 0)),
    ),
)
_cholesky = general(
    "cholesky",
    for_stacks(np.linalg.cholesky, alone=True),
    lambda t, out: _cholesky_pull(t, out),
    jvps=(_cholesky_push,),
    batch=keep_params,
    spec=same_spec,
    cases=(
        case(_POSITIVE),
        case(np.stack([_POSITIVE, 9 * np.eye(3) - _POSITIVE / 3])),
        case(np.array([[4.0]])),
        case((0, 0)),
    ),
)


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The lower triangular L with `L L^H = a`, a Hermitian and positive definite.

    Or the upper one, U with `U^H U = a`.

    As in NumPy only the lower triangle of `a` is read (the upper one for U), and of the diagonal the real part: so the
    derivative is in these alone, and an element below the diagonal stands for both. A function of a matrix that is
    Hermitian for all values of its arguments has the same gradient as if both triangles were read.

    >>> cholesky([[4.0, 2.0], [2.0, 2.0]])
    array([[2., 0.],
           [1., 1.]])
    """
    a = square("cholesky", a)
    if not isinstance(a, Array):
        return np.linalg.cholesky(a, upper=upper)
    return adjoint(_cholesky(adjoint(a))) if upper else _cholesky(a)


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Solve `a x = b` given a Cholesky factor of `a` and whether it is the lower one; its other triangle is not read.

    >>> cho_solve((cholesky([[4.0, 2.0], [2.0, 2.0]]), True), [6.0, 4.0])
    array([1., 1.])
    """
    c, lower = c_and_lower
    if check_finite:
        c, b = as_operand(c), as_operand(b)
        _refuse_not_finite("cho_solve", c, b)

    def solve(c: Any, b: Any) -> Any:
        if lower:
            return triangular_solution(conjugate(c), triangular_solution(c, b, True), True, 1)
        return triangular_solution(c, triangular_solution(conjugate(c), b, False, 1), False)

    return as_columns("cho_solve", c, b, solve)
