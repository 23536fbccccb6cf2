"""The factorizations L U and Q R of matrices.

Each is one operation with one result, in which both factors lie side by side.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import implements
from wengert.core.errors import user_error
from wengert.core.kinds import case, general, keep_params, nondifferentiable
from wengert.core.large_arrays import for_stacks
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import real
from wengert.ops.elementwise.predicates import equal
from wengert.ops.indexing.taking import permute
from wengert.ops.linear_algebra.cholesky import cholesky
from wengert.ops.linear_algebra.triangular import (
    adjoint,
    conjugate,
    factor_dtype,
    inexact,
    same_spec,
    transpose_matrix,
    triangular_solution,
)
from wengert.ops.samples.sorting import argsort
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import concatenate, tril, triu
from wengert.ops.shape.reshaping import expand_dims

__all__ = ["lu", "qr"]

# L U


def _by_scipy(x: Any) -> tuple:
    """Indices P, L and U with `x = L[P] U`."""
    return import_module("scipy.linalg").lu(x, p_indices=True)


def _eliminate(x: Any) -> Any:
    """L and U of matrices whose rows are in the order of the pivots.

    Both are in one array: L, with ones on its diagonal, below the diagonal, and U on and above it.
    """
    rows, columns = x.shape[-2:]
    out = np.array(x, factor_dtype(x.dtype))
    if not out.size:
        return out
    order, lower, upper = _by_scipy(out)
    if (order == np.arange(rows)).all():
        k = min(rows, columns)
        out[...] = 0
        out[..., :k] += np.tril(lower, -1)
        out[..., :k, :] += np.triu(upper)
        return out
    for k in range(
        min(rows, columns)
    ):  # rounding made another row the largest, or the rows are in an order of their own
        out[..., k + 1 :, k] /= out[..., k, k, None]
        out[..., k + 1 :, k + 1 :] -= out[..., k + 1 :, k, None] * out[..., None, k, k + 1 :]
    return out


def _lower_and_upper(packed: Any) -> tuple[Any, Any]:
    """L and U as matrices: m by k and k by n, where k is the smaller of m and n."""
    rows, columns = packed.shape[-2:]
    k = min(rows, columns)
    return tril(packed[..., :k], -1) + numpy_of(packed).eye(rows, k, dtype=packed.dtype), triu(packed[..., :k, :])


def _leading(block: Any, is_tall: bool) -> Any:
    """The square block for use with U^-1; of matrices that are not tall without the last pivot: it may be zero."""
    k = block.shape[-1]
    return block if is_tall or not k else where(numpy_of(block).arange(k * k).reshape(k, k) == k * k - 1, 1.0, block)


def _by_upper(block: Any, x: Any, trans: int) -> Any:
    """x U^-T, or with `trans` x U^-1."""
    return transpose_matrix(triangular_solution(block, transpose_matrix(x), False, trans))


def _lu_rule(t: Any, out: Any) -> Any:
    # Of the square block: L^-1 dA = N, N U^-1 = M, dL = L tril(M, -1) and dU = N - tril(M, -1) U. Rows below it are L2
    # = A2 U^-1, with dL2 = (dA2 - L2 dU) U^-1; columns beside it are U2 = L^-1 A2, with dU2 = L^-1 (dA2 - dL U2).
    rows, columns = out.shape[-2:]
    k = min(rows, columns)
    square_t, block = t[..., :k, :k], out[..., :k, :k]
    leading = _leading(block, rows > columns)
    lower, upper = tril(square_t, -1), triu(square_t)
    if rows > columns:
        below = _by_upper(leading, t[..., k:, :], 0)
        upper = upper - transpose_matrix(out[..., k:, :]) @ below
    elif columns > rows:
        beside = triangular_solution(block, t[..., k:], True, 1, True)
        lower = lower - beside @ transpose_matrix(out[..., k:])
    ell, u = _lower_and_upper(block)
    strict = tril(transpose_matrix(ell) @ lower - triu(upper) @ transpose_matrix(u), -1)
    pulled = triangular_solution(block, triu(upper) + _by_upper(leading, strict, 0), True, 1, True)
    if rows > columns:
        return concatenate([pulled, below], -2)
    return concatenate([pulled, beside], -1) if columns > rows else pulled


def _lu_push(t: Any, out: Any) -> Any:
    rows, columns = out.shape[-2:]
    k = min(rows, columns)
    block = out[..., :k, :k]
    leading = _leading(block, rows > columns)
    ell, u = _lower_and_upper(block)
    n = triangular_solution(block, t[..., :k, :k], True, 0, True)
    strict = tril(_by_upper(leading, n, 1), -1)
    lower, upper = ell @ strict, triu(n - strict @ u)
    pushed = lower + upper
    if rows > columns:
        return concatenate([pushed, _by_upper(leading, t[..., k:, :] - out[..., k:, :] @ upper, 1)], -2)
    if columns > rows:
        return concatenate([pushed, triangular_solution(block, t[..., k:] - lower @ out[..., k:], True, 0, True)], -1)
    return pushed


_DOMINANT = np.array([[3.0, 0.5, -0.3, 0.8], [0.4, -4.0, 0.6, -0.5], [-0.7, 0.8, 5.0, 0.3], [0.6, -0.2, 0.9, 4.0]])
_SINGULAR = np.array([[4.0, 1.0, 2.0], [2.0, 3.0, 1.0], [1.0, 1.5, 0.5]])

_lu = general(
    "lu",
    _eliminate,
    _lu_rule,
    jvps=(_lu_push,),
    batch=keep_params,
    spec=same_spec,
    cases=(
        case(_DOMINANT),
        case(_DOMINANT[:3]),
        case(np.stack([_DOMINANT, _DOMINANT.T])[..., :2]),
        case(_SINGULAR),
        case(_DOMINANT[:1, :1]),
        case((0, 0)),
    ),
)


def _pivot_order(x: Any) -> Any:
    if not x.size:
        return np.broadcast_to(np.arange(x.shape[-2]), x.shape[:-1]).copy()
    return np.argsort(_by_scipy(x)[0], -1)


_lu_order = nondifferentiable(
    "lu_order",
    _pivot_order,
    takes_params=True,
    batch=keep_params,
    spec=lambda x: Spec(x.shape[:-1], np.dtype(np.intp)),
    cases=(case((3, 3)), case((2, 4, 3)), case((0, 2))),
    reason="the result is integer indices",
)


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> tuple:
    """P, L and U with `a = P L U`: a permutation, and factors with ones on the diagonal of L.

    Of a matrix or of each of a stack.

    The order of the rows is constant between the points where it jumps. With `permute_l` the result is P L and U; with
    `p_indices` P is an array of indices, `a = L[P] U`. Nothing is overwritten.

    >>> lu([[0.0, 2.0], [1.0, 3.0]])[2]
    array([[1., 3.],
           [0., 2.]])
    """
    a = as_operand(a)
    if a.ndim < 2:
        raise user_error(ValueError, f"lu needs arrays of at least two axes, and got shape {a.shape}")
    a = inexact(a)
    if check_finite and isinstance(a, np.ndarray) and not np.isfinite(a).all():
        raise user_error(ValueError, "lu: array must not contain infs or NaNs", "Or pass check_finite=False.")
    order = _lu_order(a)
    lower, upper = _lower_and_upper(_lu(permute(a, expand_dims(order, -1), a.ndim - 2)))
    rows = argsort(order, -1)
    if permute_l:
        return permute(lower, expand_dims(rows, -1), a.ndim - 2), upper
    if p_indices:
        return rows, lower, upper
    return astype(equal(expand_dims(rows, -1), numpy_of(a).arange(a.shape[-2])), np.finfo(a.dtype).dtype), lower, upper


# Q R


def _qr_impl(x: Any) -> Any:
    """Q and R in one array: one above the other if x has more rows than columns, else side by side."""
    q, r = np.linalg.qr(x)
    return np.concatenate([q, r], -2 if x.shape[-2] > x.shape[-1] else -1)


def _qr_spec(x: Spec) -> Spec:
    rows, columns = x.shape[-2:]
    packed = (rows + columns, columns) if rows > columns else (rows, rows + columns)
    return Spec((*x.shape[:-2], *packed), factor_dtype(x.dtype))


def _q_and_r(packed: Any, x_spec: Any) -> tuple[Any, Any]:
    rows, columns = x_spec.shape[-2:]
    return (
        (packed[..., :rows, :], packed[..., rows:, :]) if rows > columns else (packed[..., :rows], packed[..., rows:])
    )


def _refuse_dependent(r: Any) -> Any:
    """Ones to multiply with; an error if a column is a linear combination of those before it.

    Its element on the diagonal of R is then a rounding error of Householder's reflections: some units in the last place
    of the norm of the column. They depend on the machine, so the bound is well above them.
    """
    dtype, sizes = factor_dtype(r.dtype), np.abs(r)
    rounding = (10 + r.shape[-1]) * np.finfo(dtype).eps
    if (sizes.diagonal(axis1=-2, axis2=-1) <= rounding * sizes.max(-2, initial=0)).any():
        raise user_error(
            np.linalg.LinAlgError,
            "The derivative of qr does not exist where the first columns of a matrix, as many as Q has, are linearly "
            "dependent",
            "Use svd or pinv for matrices without full rank.",
        )
    return np.ones((*r.shape[:-2], 1, 1), dtype)


_independent = nondifferentiable(
    "independent",
    for_stacks(_refuse_dependent),
    takes_params=True,
    batch=keep_params,
    spec=lambda x: Spec((*x.shape[:-2], 1, 1), factor_dtype(x.dtype)),
    cases=(case(np.eye(3)), case(np.stack([np.eye(2), _DOMINANT[:2, :2]]))),
    reason="a constant: the test that columns are linearly independent",
)


def _real_diagonal(x: Any) -> Any:
    return real(x) * numpy_of(x).eye(x.shape[-1], dtype=np.finfo(x.dtype).dtype)


def _qr_rule(t: Any, out: Any, x_spec: Any) -> Any:
    # With dA R^-1 = N and Q^H N = M, Q^H dQ is anti-Hermitian and dR R^-1 upper triangular with a real diagonal. That
    # leaves dR R^-1 = B(M) = triu(M, 1) + tril(M, -1)^H + Re diag(M), and dQ = N - Q B(M), dR = B(M) R. The transpose
    # for cotangents g = conj(t): Y = gR R^H - Q^H gQ, gN = gQ + Q (triu(Y, 1) + triu(Y, 1)^H + Re diag(Y)), gA = gN
    # R^-H. Columns beside a square block are R2 = Q^H A2, so that gA2 = Q gR2 and gQ has A2 gR2^H more.
    (q, r), (q_t, r_t) = _q_and_r(out, x_spec), _q_and_r(conjugate(t), x_spec)
    k = r.shape[-2]
    more = r.shape[-1] > k
    q_t = q_t * _independent(r[..., :k])
    if more:
        r, beside, r_t, beside_t = r[..., :k], r[..., k:], r_t[..., :k], r_t[..., k:]
        q_t = q_t + matmul(q, matmul(beside, adjoint(beside_t)))
    y = matmul(triu(r_t), adjoint(r)) - matmul(adjoint(q), q_t)
    upper = triu(y, 1)
    n = q_t + matmul(q, upper + adjoint(upper) + _real_diagonal(y))
    pulled = adjoint(triangular_solution(r, adjoint(n), False))
    return conjugate(concatenate([pulled, matmul(q, beside_t)], -1) if more else pulled)


def _qr_push(t: Any, out: Any, x_spec: Any) -> Any:
    q, r = _q_and_r(out, x_spec)
    k = r.shape[-2]
    block = r[..., :k]
    n = transpose_matrix(triangular_solution(block, transpose_matrix(t[..., :k] * _independent(block)), False, 1))
    m = matmul(adjoint(q), n)
    b = triu(m, 1) + adjoint(tril(m, -1)) + _real_diagonal(m)
    dq, dr = (n - matmul(q, b), matmul(b, triu(block)))
    if r.shape[-1] > k:
        dr = concatenate([dr, matmul(adjoint(dq), matmul(q, r[..., k:])) + matmul(adjoint(q), t[..., k:])], -1)
    return concatenate([dq, dr], -2 if x_spec.shape[-2] > x_spec.shape[-1] else -1)


_qr = general(
    "qr",
    for_stacks(_qr_impl),
    _qr_rule,
    jvps=(_qr_push,),
    batch=keep_params,
    spec=_qr_spec,
    cases=(
        case(_DOMINANT),
        case(_DOMINANT[:, :2]),
        case(np.stack([_DOMINANT, _DOMINANT.T])[:, :2]),
        case(_DOMINANT[:1, :1]),
        case((0, 0)),
        case((2, 0)),
    ),
)
_complement = nondifferentiable(
    "complement",
    lambda x: np.linalg.qr(x, "complete")[0][..., x.shape[-1] :],
    takes_params=True,
    batch=keep_params,
    spec=lambda x: Spec((*x.shape[:-1], x.shape[-2] - x.shape[-1]), factor_dtype(x.dtype)),
    cases=(case((3, 2)), case((2, 4, 1))),
    reason="a basis of the orthogonal complement is free to turn; `qr` keeps it orthogonal to the columns of Q",
)


class QRResult(NamedTuple):
    Q: Any
    R: Any


@implements(np.linalg.qr)
def qr(a: Any, /, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R, upper triangular, with `a = Q R`.

    For mode 'complete' Q is square, for 'r' only R is given.

    The first columns of `a`, as many as Q has, must be linearly independent; if they are not, the derivative does not
    exist, and asking for it is an error. In mode 'complete' the further columns of Q span the orthogonal complement;
    which basis of it is free, so only functions that do not depend on that choice have a derivative with a meaning.

    >>> qr([[3.0], [4.0]], mode="r")
    array([[-5.]])
    """
    a = as_operand(a)
    if a.ndim < 2:
        raise user_error(np.linalg.LinAlgError, f"qr needs arrays of at least two axes, and got shape {a.shape}")
    if isinstance(a, np.ndarray):
        found: Any = np.linalg.qr(a, mode)  # type: ignore[call-overload]  # any mode, checked by NumPy
        return QRResult(*found) if mode in ("reduced", "complete") else found
    if mode not in ("reduced", "complete", "r"):
        raise user_error(
            ValueError, f"`mode` is 'reduced', 'complete' or 'r' for a value with a derivative, and got {mode!r}"
        )
    a = inexact(a)
    q, r = _q_and_r(_qr(a), a)
    missing = a.shape[-2] - a.shape[-1]
    if mode == "r" or mode == "reduced" or missing <= 0:
        return r if mode == "r" else QRResult(q, r)
    basis = _complement(a)
    rest = basis - q @ (adjoint(q) @ basis)
    rest = adjoint(triangular_solution(cholesky(adjoint(rest) @ rest), adjoint(rest), True))
    return QRResult(
        concatenate([q, rest], -1),
        concatenate([r, numpy_of(r).zeros((*r.shape[:-2], missing, r.shape[-1]), r.dtype)], -2),
    )
