"""Eigenvalues and singular values, with their vectors.

`gauge.py` describes the freedom in the choice of vectors, and what follows for derivatives.

With X = V^H dA V and F_ij = 1 / (w_j - w_i), the eigenvalues of a Hermitian A = V diag(w) V^H move by diag(X), the
vectors by V (F * X). The primitives give values and vectors in one array, so that the rules keep nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array, implements
from wengert.core.errors import user_error
from wengert.core.kinds import case, general, keep_params
from wengert.core.large_arrays import for_stacks
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.complex_numbers import conj, real
from wengert.ops.linear_algebra.gauge import (
    as_columns,
    inverse_differences,
    inverse_sums,
    inverses,
    is_absent,
    phase_drift,
    transpose_phase_drift,
    warn_of_gauge,
    warn_of_second_derivative,
)
from wengert.ops.linear_algebra.systems import inv
from wengert.ops.linear_algebra.triangular import adjoint, conjugate, factor_dtype, inexact, square, transpose_matrix
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.rearranging import concatenate, diagonal

__all__ = ["eig", "eigh", "eigvals", "eigvalsh", "svd", "svdvals"]


class EighResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    U: Any
    S: Any
    Vh: Any


def matrices(name: str, a: Any) -> Any:
    a = as_operand(a)
    if a.ndim < 2:
        raise user_error(np.linalg.LinAlgError, f"{name} needs arrays of at least two axes, and got {a.ndim}")
    return inexact(a)


def _real(x: Any) -> Any:
    return real(x) if x.dtype.kind == "c" else x


def _diagonal(x: Any) -> Any:
    return diagonal(x, 0, -2, -1)


def _on_diagonal(x: Any) -> Any:
    return as_columns(x) * numpy_of(x).eye(x.shape[-1], dtype=x.dtype)


def _over(*rows: Any) -> Any:
    """Matrices, and vectors as single rows, one above the other."""
    return concatenate(rows, -2)


# Hermitian matrices


def _share_of_triangle(x: Any, UPLO: str) -> Any:
    """1 in the triangle that is read, and 1/2 on the diagonal."""
    return numpy_of(x).asarray(_share(x.shape[-1], UPLO, np.finfo(x.dtype).dtype))


@lru_cache(16)
def _share(n: int, UPLO: str, dtype: np.dtype) -> np.ndarray:
    triangle = np.tril if UPLO == "L" else np.triu
    share = triangle(np.ones((n, n), dtype)) - np.eye(n, dtype=dtype) / 2
    share.flags.writeable = False
    return share


def from_triangle(x: Any, UPLO: str = "L") -> Any:
    """The Hermitian matrix that has this triangle; the imaginary part of the diagonal is ignored."""
    half = x * _share_of_triangle(x, UPLO)
    return half + adjoint(half)


def _eigh_impl(x: Any, UPLO: str) -> Any:
    """The eigenvalues in the first row, the vectors below."""
    w, v = np.linalg.eigh(x, UPLO)  # type: ignore[call-overload]  # NumPy checks it
    return np.concatenate([w[..., None, :], v], -2)


def _eigh_push(t: Any, out: Any, UPLO: str) -> Any:
    w, v = _real(out[..., 0, :]), out[..., 1:, :]
    warn_of_second_derivative("eigh", "eigenvalues", w)
    x = matmul(matmul(adjoint(v), from_triangle(t, UPLO)), v)
    moved = matmul(v, x * inverse_differences(w))
    if v.dtype.kind == "c":
        moved = moved - v * (1j * phase_drift(moved, v))
    return _over(as_columns(_real(_diagonal(x))), moved)


def _eigh_pull(t: Any, out: Any, UPLO: str) -> Any:
    w, v, t, vectors = _real(out[..., 0, :]), out[..., 1:, :], _real(t[..., 0, :]), t[..., 1:, :]
    if is_absent(vectors):
        warn_of_gauge("eigh", "eigenvalues", w, t, vectors)
        pulled = matmul(conjugate(v) * as_columns(t), transpose_matrix(v))
    else:
        if v.dtype.kind == "c":
            vectors = vectors + transpose_phase_drift(sum_(vectors * v, -2, keepdims=True), v)
        turned = matmul(transpose_matrix(v), vectors)
        warn_of_gauge("eigh", "eigenvalues", w, t, turned)
        pulled = matmul(
            matmul(conjugate(v), turned * inverse_differences(w)) + conjugate(v) * as_columns(t), transpose_matrix(v)
        )
    return (pulled + adjoint(pulled)) * _share_of_triangle(v, UPLO)


def _eigen_spec(impl: Callable) -> Callable:
    """The result's spec, with the dtype that NumPy gives for a matrix of one element."""
    return lambda x, **params: Spec(
        (*x.shape[:-2], x.shape[-1] + 1, x.shape[-1]), impl(np.ones((1, 1), x.dtype), **params).dtype
    )


SYMMETRIC = np.array([[1.0, 0.3, -0.2], [0.3, 4.0, 0.5], [-0.2, 0.4, 9.0]])
_eigh: Callable = general(
    "eigh",
    for_stacks(_eigh_impl),
    _eigh_pull,
    jvps=(_eigh_push,),
    batch=keep_params,
    spec=_eigen_spec(_eigh_impl),
    cases=(
        case(SYMMETRIC, UPLO="L"),
        case(np.stack([SYMMETRIC, SYMMETRIC.T - np.diag([1.0, 9.0, 3.0])])[:, None], UPLO="U"),
        case(np.array([[2.5]]), UPLO="L"),
        case((0, 0), UPLO="L"),
    ),
)


@implements(np.linalg.eigh)
def eigh(a: Any, /, UPLO: str = "L") -> EighResult:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which one triangle is read.

    The derivative is that of the function as NumPy computes it: the gradient is a triangle, and what is added to the
    other one changes nothing. For a symmetric gradient, pass (a + a.T) / 2.

    >>> eigh([[2.0, 0.0], [0.0, 1.0]]).eigenvalues
    array([1., 2.])
    """
    UPLO = UPLO.upper()
    if UPLO not in ("L", "U"):
        raise user_error(ValueError, "UPLO argument must be 'L' or 'U'")
    a = square("eigh", a)
    if not isinstance(a, Array):
        return EighResult(*np.linalg.eigh(a, UPLO))  # type: ignore[call-overload]  # NumPy checks it
    out = _eigh(a, UPLO=UPLO)
    return EighResult(_real(out[..., 0, :]), out[..., 1:, :])


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, /, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices, ascending; `eigh` says which triangle has the gradient.

    >>> eigvalsh([[0.0, 1.0], [1.0, 0.0]])
    array([-1.,  1.])
    """
    a = as_operand(a)
    return eigh(a, UPLO).eigenvalues if isinstance(a, Array) else np.linalg.eigvalsh(a, UPLO)  # type: ignore[call-overload]  # NumPy checks it


# Matrices of any kind: with V^-1 in place of V^H, and columns held at length one


def _eig_impl(x: Any) -> Any:
    w, v = np.linalg.eig(x)
    return np.concatenate([w[..., None, :], v], -2, dtype=np.result_type(v.dtype, np.complex64))


def _eig_push(t: Any, out: Any) -> Any:
    w, v = out[..., 0, :], out[..., 1:, :]
    warn_of_second_derivative("eig", "eigenvalues", w)
    x = inv(v) @ t @ v
    moved = v @ (x * inverse_differences(w))
    stretch = sum_(real(conj(v) * moved), -2, keepdims=True)
    return _over(as_columns(_diagonal(x)), moved - v * (stretch + 1j * phase_drift(moved, v)))


def _eig_pull(t: Any, out: Any, x_spec: Any) -> Any:
    w, v, t, vectors = out[..., 0, :], out[..., 1:, :], t[..., 0, :], t[..., 1:, :]
    along = sum_(vectors * v, -2, keepdims=True)
    vectors = vectors - real(along) * conj(v) + transpose_phase_drift(along, v)
    turned = (transpose_matrix(v) @ vectors) * inverse_differences(w)
    warn_of_gauge("eig", "eigenvalues", w, t, _on_diagonal(t))
    pulled = transpose_matrix(inv(v)) @ (_on_diagonal(t) + turned) @ transpose_matrix(v)
    return pulled if x_spec.dtype.kind == "c" else real(pulled)


ASYMMETRIC = np.array([[1.0, 0.3, -0.2], [0.7, 4.0, 0.5], [-0.6, 0.4, 9.0]])
ROTATING = np.array([[1.0, 2.0, 0.3], [-1.0, 1.5, 0.2], [0.1, -0.4, 5.0]])
_eig: Callable = general(
    "eig",
    _eig_impl,
    _eig_pull,
    jvps=(_eig_push,),
    batch=keep_params,
    spec=_eigen_spec(_eig_impl),
    cases=(case(ASYMMETRIC), case(np.stack([ROTATING, ASYMMETRIC])), case(np.array([[2.5]])), case((0, 0))),
)


@implements(np.linalg.eig)
def eig(a: Any) -> EigResult:
    """Eigenvalues and eigenvectors of diagonalizable matrices.

    Eigenvectors have length one, and their largest component is real.

    Results are always complex, so that their dtype does not depend on the numbers.

    >>> eig(np.diag([1.0, 2.0])).eigenvalues
    array([1.+0.j, 2.+0.j])
    """
    out = _eig(square("eig", a))
    return EigResult(out[..., 0, :], out[..., 1:, :])


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    """The eigenvalues, always complex.

    >>> eigvals(np.diag([1.0, 2.0]))
    array([1.+0.j, 2.+0.j])
    """
    return eig(a).eigenvalues


# Singular values. With M = U^H dA V, S its Hermitian and K its anti-Hermitian part, the vectors move by U (S_ij / (s_j
# - s_i) + K_ij / (s_j + s_i)) and V (S_ij / (s_j - s_i) - K_ij / (s_j + s_i)), and out of their span by what dA adds
# there.


class _Factors(NamedTuple):
    """The first k = min(m, n) columns of U and V, and those that complete a basis, if there are any."""

    u: Any
    s: Any
    v: Any
    u_rest: Any
    v_rest: Any


def _svd_impl(x: Any, full_matrices: bool) -> Any:
    """U, one row of singular values, and V, one above the other, the narrower ones filled up with zeros."""
    u, s, vh = np.linalg.svd(x, full_matrices=full_matrices)
    m, n = x.shape[-2:]
    out = numpy_of(u).zeros((*x.shape[:-2], m + 1 + n, max(u.shape[-1], vh.shape[-2])), u.dtype)
    out[..., :m, : u.shape[-1]] = u
    out[..., m, : s.shape[-1]] = s
    np.conj(vh.swapaxes(-1, -2), out=out[..., m + 1 :, : vh.shape[-2]])
    return out


def _svd_spec(x: Spec, full_matrices: bool) -> Spec:
    *stack, m, n = x.shape
    return Spec((*stack, m + 1 + n, max(m, n) if full_matrices else min(m, n)), factor_dtype(x.dtype))


def _unpack(out: Any, shape: tuple[int, ...], full_matrices: bool) -> _Factors:
    m, n = shape[-2:]
    k, u, v = min(m, n), out[..., :m, :], out[..., m + 1 :, :]
    width_u, width_v = (m, n) if full_matrices else (k, k)
    return _Factors(u[..., :k], _real(out[..., m, :k]), v[..., :k], u[..., k:width_u], v[..., k:width_v])


def _pack(f: _Factors, width: int) -> Any:
    parts = concatenate((f.u, f.u_rest), -1), as_columns(f.s), concatenate((f.v, f.v_rest), -1)
    fill = [numpy_of(part).zeros((*part.shape[:-1], width - part.shape[-1]), f.u.dtype) for part in parts]
    return _over(*[concatenate(pair, -1) for pair in zip(parts, fill, strict=True)])


def _svd_push(t: Any, out: Any, full_matrices: bool) -> Any:
    u, s, v, u_rest, v_rest = _unpack(out, t.shape, full_matrices)
    warn_of_second_derivative("svd", "singular values", s)
    inverse = as_columns(inverses(s))
    m = adjoint(u) @ t @ v
    symmetric, skew = (m + adjoint(m)) / 2 * inverse_differences(s), (m - adjoint(m)) / 2 * inverse_sums(s)
    du, dv = u @ (symmetric + skew), v @ (symmetric - skew)
    outside_u, outside_v = t @ v * inverse, adjoint(t) @ u * inverse
    if t.shape[-2] > t.shape[-1]:
        du = du + outside_u - u @ (adjoint(u) @ outside_u)
    if t.shape[-2] < t.shape[-1]:
        dv = dv + outside_v - v @ (adjoint(v) @ outside_v)
    if u.dtype.kind == "c":
        drift = 1j * phase_drift(_over(du, dv), _over(u, v))
        du, dv = du - u * drift, dv - v * drift
    rests = -(u @ (adjoint(outside_u) @ u_rest)), -(v @ (adjoint(outside_v) @ v_rest))
    return _pack(_Factors(du, _real(_diagonal(m)), dv, *rests), out.shape[-1])


def _turn(v: Any, t: Any) -> Any:
    xp = numpy_of(v)
    return xp.zeros((*v.shape[:-2], v.shape[-1], v.shape[-1]), v.dtype) if is_absent(t) else transpose_matrix(v) @ t


def _svd_pull(t: Any, out: Any, x_spec: Any, full_matrices: bool) -> Any:
    u, s, v, u_rest, v_rest = _unpack(out, x_spec.shape, full_matrices)
    tu, ts, tv, tu_rest, tv_rest = _unpack(t, x_spec.shape, full_matrices)
    if all(map(is_absent, (tu, tv, tu_rest, tv_rest))):
        warn_of_gauge("svd", "singular values", s, ts, _on_diagonal(ts), kink=True)
        return (conjugate(u) * as_columns(ts)) @ transpose_matrix(v)
    if u.dtype.kind == "c":
        turn = sum_(tu * u, -2, keepdims=True) + sum_(tv * v, -2, keepdims=True)
        back, rows = transpose_phase_drift(turn, _over(u, v)), u.shape[-2]
        tu, tv = tu + back[..., :rows, :], tv + back[..., rows:, :]
    ku, kv = _turn(u, tu), _turn(v, tv)
    warn_of_gauge("svd", "singular values", s, ts, ku + kv, kink=True)
    symmetric, skew = (ku + kv) * inverse_differences(s), (ku - kv) * inverse_sums(s)
    turning = (symmetric + adjoint(symmetric) + skew - adjoint(skew)) / 2
    pulled = (conjugate(u) @ turning + conjugate(u) * as_columns(ts)) @ transpose_matrix(v)
    if u.shape[-2] > v.shape[-2]:
        outside = tu - conjugate(u) @ ku - conjugate(u_rest) @ (adjoint(tu_rest) @ conjugate(u))
        pulled = pulled + (outside * as_columns(inverses(s))) @ transpose_matrix(v)
    if u.shape[-2] < v.shape[-2]:
        outside = tv - conjugate(v) @ kv - conjugate(v_rest) @ (adjoint(tv_rest) @ conjugate(v))
        pulled = pulled + conjugate(u) @ adjoint(outside * as_columns(inverses(s)))
    return pulled


TALL = np.array([[1.0, 0.3, -0.2], [0.7, 4.0, 0.5], [-0.6, 0.4, 9.0], [0.5, -0.8, 0.2]])
_svd: Callable = general(
    "svd",
    _svd_impl,
    _svd_pull,
    jvps=(_svd_push,),
    batch=keep_params,
    spec=_svd_spec,
    cases=(
        case(TALL, full_matrices=False),
        case(np.stack([TALL.T, -TALL[::-1].T]), full_matrices=False),
        case(TALL[:3], full_matrices=True),
        case(np.array([[2.5]]), full_matrices=False),
        case((0, 2), full_matrices=False),
    ),
)


@implements(np.linalg.svd)
def svd(a: Any, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """U, singular values S, descending, and Vh, with a = (U * S) @ Vh; just S if not `compute_uv`.

    With `full_matrices`, the vectors that complete a basis have no derivative of their own within their span: they
    follow it without turning. A singular value of 0 has a kink; its derivative there is that of a number that goes on
    to be negative.

    >>> svd([[0.0, 2.0], [1.0, 0.0]]).S
    array([2., 1.])
    """
    a = matrices("svd", a)
    if not isinstance(a, Array):
        out = np.linalg.svd(a, full_matrices, compute_uv, hermitian)  # type: ignore[call-overload]  # NumPy checks it
        return SVDResult(*out) if compute_uv else out
    if hermitian:
        a = from_triangle(square("svd", a))
    if not compute_uv:
        return svdvals(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    out = _svd(a, full_matrices=bool(full_matrices))
    u, v = (out[..., :m, :m], out[..., m + 1 :, :n]) if full_matrices else (out[..., :m, :], out[..., m + 1 :, :])
    return SVDResult(u, _real(out[..., m, :k]), adjoint(v))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """The singular values, descending. One that is 0 has a kink there, see `svd`.

    >>> svdvals([[0.0, 2.0], [1.0, 0.0]])
    array([2., 1.])
    """
    x = matrices("svdvals", x)
    return _unpack(_svd(x, full_matrices=False), x.shape, False).s if isinstance(x, Array) else np.linalg.svdvals(x)
