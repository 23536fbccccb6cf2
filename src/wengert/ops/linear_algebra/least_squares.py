"""The pseudo-inverse, least squares, rank and condition number.

With P the pseudo-inverse of A, among matrices of the same rank dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H
P.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.array import Array, implements
from wengert.core.errors import TrackedValueError, user_error, user_line
from wengert.core.kinds import case, general, keep_params, nondifferentiable
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.elementwise.complex_numbers import real
from wengert.ops.elementwise.predicates import equal
from wengert.ops.linear_algebra.gauge import GaugeWarning
from wengert.ops.linear_algebra.norms import norm
from wengert.ops.linear_algebra.spectral import TALL, from_triangle, matrices, svdvals
from wengert.ops.linear_algebra.systems import inv
from wengert.ops.linear_algebra.triangular import adjoint, conjugate, factor_dtype, inexact, square, transpose_matrix
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import broadcast_to, expand_dims, reshape

__all__ = ["cond", "lstsq", "matrix_rank", "pinv"]

NOT_GIVEN: Any = inspect.signature(np.linalg.pinv).parameters["rtol"].default
"""NumPy's default for `rtol`, where None has a meaning."""


def _pinv_push(t: Any, x: Any, out: Any) -> Any:
    t_adjoint, p_adjoint = adjoint(t), adjoint(out)
    left, right = out @ (p_adjoint @ t_adjoint), (t_adjoint @ p_adjoint) @ out
    return left - (left @ x) @ out + right - out @ (x @ right) - out @ t @ out


def _pinv_pull(t: Any, x: Any, out: Any) -> Any:
    _warn_of_rank("pinv", x, out)
    p, p_adjoint = out, adjoint(out)
    t = transpose_matrix(t)
    left, right = t @ (p @ p_adjoint), (p_adjoint @ p) @ t
    adjoint_part = left - (x @ p) @ left + right - right @ (p @ x)
    return conjugate(adjoint_part) - transpose_matrix(p @ t @ p)


def _warn_of_rank(name: str, x: Any, p: Any) -> None:
    if not isinstance(x, np.ndarray) or isinstance(p, Array) or not x.size:
        return
    if np.any(np.einsum("...ij,...ji->...", p, x).real < min(x.shape[-2:]) - 0.5):
        warnings.warn(
            f"{name} jumps where the rank of its matrix changes, and the matrix at {user_line()} does not have full "
            f"rank. The derivative "
            f"is that among matrices of the same rank.",
            GaugeWarning,
            stacklevel=2,
        )


_pinv: Callable = general(
    "pinv",
    lambda x, rcond: np.linalg.pinv(inexact(x), rcond),
    _pinv_pull,
    jvps=(_pinv_push,),
    batch=keep_params,
    spec=lambda x, rcond: Spec((*x.shape[:-2], x.shape[-1], x.shape[-2]), factor_dtype(x.dtype)),
    cases=(
        case(TALL, rcond=1e-15),
        case(np.stack([TALL.T, TALL[::-1].T]), rcond=1e-10),
        case(TALL[:3], rcond=1e-15),
        case((0, 2), rcond=1e-15),
    ),
)


@implements(np.linalg.pinv)
def pinv(a: Any, /, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NOT_GIVEN) -> Any:
    """The pseudo-inverse.

    Where the matrix does not have full rank, it jumps, and the derivative is that among matrices of that rank.

    >>> pinv([[2.0], [0.0]])
    array([[0.5, 0. ]])
    """
    a = as_operand(a)
    if isinstance(a, np.ndarray):
        return np.linalg.pinv(a, rcond, hermitian, rtol=rtol)
    if rcond is not None and rtol is not NOT_GIVEN:
        raise user_error(ValueError, "`rtol` and `rcond` can't be both set")
    a = matrices("pinv", a)
    if rtol is None:
        rcond = max(a.shape[-2:]) * np.finfo(a.dtype).eps
    elif rtol is not NOT_GIVEN:
        rcond = rtol
    a = from_triangle(square("pinv", a)) if hermitian else a
    return with_limits(a, 1e-15 if rcond is None else rcond, lambda a, limit: _pinv(a, rcond=limit))


def with_limits(x: Any, limits: Any, function: Callable[[Any, float], Any]) -> Any:
    """Call a function of matrices and a number, which is the same for a whole stack or one for each matrix."""
    limits = np.asarray(limits)
    if not limits.ndim:
        return function(x, limits.item())
    outer = np.broadcast_shapes(x.shape[:-2], limits.shape)
    pairs = zip(
        broadcast_to(x, (*outer, *x.shape[-2:])).reshape(-1, *x.shape[-2:]),
        np.broadcast_to(limits, outer).flat,
        strict=True,
    )
    results = [function(matrix, limit.item()) for matrix, limit in pairs]
    return reshape(stack(results), (*outer, *results[0].shape)) if results else function(x, 0.0)


def _lstsq_push_a(t: Any, x: Any, y: Any, out: Any, rcond: float | None) -> Any:
    p, t_adjoint = _pinv(x, rcond=_cutoff(x, rcond)), adjoint(t)
    low = t_adjoint @ (adjoint(p) @ out)
    return p @ (adjoint(p) @ (t_adjoint @ (y - x @ out))) + low - p @ (x @ low) - p @ (t @ out)


def _lstsq_pull_a(t: Any, x: Any, y: Any, out: Any, rcond: float | None) -> Any:
    p = _pinv(x, rcond=_cutoff(x, rcond))
    _warn_of_rank("lstsq", x, p)
    pulled = transpose_matrix(p) @ t
    low = t - transpose_matrix(x) @ pulled
    adjoint_part = (transpose_matrix(adjoint(p)) @ pulled) @ transpose_matrix(y - x @ out) + low @ transpose_matrix(
        adjoint(p) @ out
    )
    return adjoint(adjoint_part) - pulled @ transpose_matrix(out)


def _cutoff(x: Any, rcond: float | None) -> float:
    """The ratio to the largest singular value below which `lstsq` takes one as 0."""
    return float(np.finfo(x.dtype).eps) * max(x.shape) if rcond is None else max(rcond, float(np.finfo(x.dtype).eps))


_lstsq: Callable = general(
    "lstsq",
    lambda x, y, rcond: np.linalg.lstsq(x, y, rcond)[0],
    _lstsq_pull_a,
    lambda t, x, rcond: _lstsq(transpose_matrix(x), t, rcond=rcond),
    jvps=(_lstsq_push_a, lambda t, x, rcond: _lstsq(x, t, rcond=rcond)),
    spec=lambda x, y, rcond: Spec((x.shape[-1], y.shape[-1]), factor_dtype(x.dtype, y.dtype)),
    cases=(case(TALL, (4, 2), rcond=None), case(TALL.T, (3, 1), rcond=None), case(TALL[:3], (3, 2), rcond=1e-12)),
)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple:
    """The least-squares solution x of a x = b, the shortest one if there are several.

    Returns x, the remaining sums of squares, the rank of a and its singular values.

    The derivative of x where a does not have full rank is that among matrices of the same rank (see `pinv`). Under
    vmap, and where a function is traced, the rank is taken to be full, as far as it decides about the shape of what
    remains.

    >>> lstsq([[1.0], [1.0]], [1.0, 3.0])[0]
    array([2.])
    """
    a, b = as_operand(a), as_operand(b)
    if not isinstance(a, Array) and not isinstance(b, Array):
        return np.linalg.lstsq(a, b, rcond)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise user_error(
            np.linalg.LinAlgError,
            f"lstsq needs a matrix and a vector or matrix of as many rows; got {a.shape} and {b.shape}",
        )
    a, b = inexact(a), inexact(b)
    columns = b if b.ndim == 2 else expand_dims(b, -1)
    x = _lstsq(a, columns, rcond=None if rcond is None else float(rcond))
    rank = _matrix_rank(a, limit=_cutoff(a, rcond), hermitian=False, relative=True)
    m, n = a.shape
    try:
        full = numpy_of(a) is not np or bool(equal(rank, n))  # devices are not asked: that would wait for them
    except TrackedValueError:
        full = True
    remains = columns - a @ x
    squares = (
        sum_(real(remains * conjugate(remains)), 0) if full and m > n else numpy_of(a).zeros(0, np.finfo(x.dtype).dtype)
    )
    return x if b.ndim == 2 else x[:, 0], squares, rank, svdvals(a)


def _rank_impl(x: Any, limit: float, hermitian: bool, relative: bool) -> Any:
    return np.asarray(
        np.linalg.matrix_rank(x, None if relative else limit, hermitian, rtol=limit if relative else None)
    )[()]


_matrix_rank = nondifferentiable(
    "matrix_rank",
    _rank_impl,
    takes_params=True,
    batch=keep_params,
    spec=lambda x, **params: Spec(x.shape[:-2], np.dtype(np.intp)),
    cases=(
        case((3, 4), limit=1e-15, hermitian=False, relative=True),
        case((2, 3, 3), limit=0.5, hermitian=True, relative=False),
    ),
    reason="the result is an integer",
)


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, /, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The number of singular values that are larger than `tol`, or than `rtol` times the largest.

    An integer, without a gradient.

    >>> int(matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    A = as_operand(A)
    if tol is not None and rtol is not None:
        raise user_error(ValueError, "matrix_rank takes `tol` or `rtol`, not both")
    A = A if A.ndim > 1 else A.reshape((-1, 1))
    if tol is None and rtol is None:
        rtol = max(A.shape[-2:]) * np.finfo(factor_dtype(A.dtype)).eps
    options = {"hermitian": bool(hermitian), "relative": tol is None}
    return with_limits(A, rtol if tol is None else tol, lambda A, limit: _matrix_rank(A, limit=limit, **options))


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """The condition number: the norm of order p of a matrix times that of its inverse; infinite if it is singular.

    >>> float(cond([[2.0, 0.0], [0.0, 1.0]]))
    2.0
    """
    x = as_operand(x)
    if not isinstance(x, Array):
        return np.linalg.cond(x, p)
    x = matrices("cond", x)
    if not x.size:
        raise user_error(np.linalg.LinAlgError, "cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = svdvals(x)
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    return norm(x, p, (-2, -1)) * norm(inv(square("cond", x)), p, (-2, -1))
