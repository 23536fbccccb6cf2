"""`torch.linalg`: factorizations, systems and norms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.reductions import axes
from wengert.compat.torch.shaping import diagonal
from wengert.compat.torch.values import layered
from wengert.core.errors import user_error
from wengert.linalg import LinAlgError

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "inv", "inv_ex", "lstsq", "lu", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot",
    "norm", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve",
    "vander", "vecdot", "vector_norm",
]  # fmt: skip

__getattr__ = without(__name__, ABSENT)


class Eigen(NamedTuple):
    eigenvalues: Any
    eigenvectors: Any


class Singular(NamedTuple):
    U: Any
    S: Any
    Vh: Any


class QR(NamedTuple):
    Q: Any
    R: Any


class LU(NamedTuple):
    P: Any
    L: Any
    U: Any


class SignAndLog(NamedTuple):
    sign: Any
    logabsdet: Any


class LeastSquares(NamedTuple):
    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


class Factor(NamedTuple):
    L: Any
    info: Any


class Inverse(NamedTuple):
    inverse: Any
    info: Any


def symmetric(A: Any) -> Any:
    """The symmetric part, so that derivatives of `eigh` and `cholesky` are symmetric, and not of one triangle alone."""
    return (A + wg.conj(wg.matrix_transpose(A))) / 2


@layered
def cholesky(A: Any, *, upper: bool = False) -> Any:
    """The triangular factor of positive definite matrices."""
    factor = wg.linalg.cholesky(symmetric(A))
    return wg.conj(wg.matrix_transpose(factor)) if upper else factor


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The factor, and zeros: a matrix that is not positive definite is an error."""
    return Factor(cholesky(A, upper=upper), layered(lambda A: np.zeros(A.shape[:-2], np.int32))(A))


@layered
def inv(A: Any) -> Any:
    """The inverse of matrices."""
    return wg.linalg.inv(A)


def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """The inverse, and zeros: a singular matrix is an error."""
    return Inverse(inv(A), layered(lambda A: np.zeros(A.shape[:-2], np.int32))(A))


@layered
def pinv(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The pseudo-inverse of matrices."""
    if atol is not None:
        raise user_error(TypeError, "pinv(atol=...) is not supported", "Pass rtol.")
    return wg.linalg.pinv(A, hermitian=hermitian) if rtol is None else wg.linalg.pinv(A, rtol=rtol, hermitian=hermitian)


@layered
def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """The solution of A X = B, or of X A = B."""
    is_vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B.shape == A.shape[:-1])
    if not left:
        solved = wg.linalg.solve(wg.matrix_transpose(A), wg.matrix_transpose(B))
        return wg.matrix_transpose(solved)
    if is_vector and B.ndim > 1:
        return wg.squeeze(wg.linalg.solve(A, wg.expand_dims(B, -1)), -1)
    return wg.linalg.solve(A, B)


@layered
def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """The solution of A X = B with a triangular matrix."""
    if not left:
        solved = wg.linalg.solve_triangular(
            wg.matrix_transpose(A), wg.matrix_transpose(B), lower=upper, unit_diagonal=unitriangular
        )
        return wg.matrix_transpose(solved)
    return wg.linalg.solve_triangular(A, B, lower=not upper, unit_diagonal=unitriangular)


@layered
def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: str | None = None) -> Any:
    """The solution of least squares, with residuals, rank and singular values."""
    if A.ndim > 2:
        raise user_error(RuntimeError, "lstsq of stacks of matrices is not supported", "Use torch.vmap over it.")
    return LeastSquares(*wg.linalg.lstsq(A, B, rcond))


@layered
def det(A: Any) -> Any:
    """The determinant."""
    return wg.linalg.det(A)


@layered
def slogdet(A: Any) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value."""
    return SignAndLog(*wg.linalg.slogdet(A))


@layered
def eig(A: Any) -> Any:
    """Eigenvalues and eigenvectors, which are complex."""
    values, vectors = wg.linalg.eig(A)
    wanted = np.result_type(A.dtype, np.complex64)
    return Eigen(*[x if x.dtype.kind == "c" else wg.astype(x, wanted) for x in (values, vectors)])


@layered
def eigvals(A: Any) -> Any:
    """Eigenvalues, which are complex."""
    values = wg.linalg.eigvals(A)
    return values if values.dtype.kind == "c" else wg.astype(values, np.result_type(A.dtype, np.complex64))


@layered
def eigh(A: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of symmetric matrices."""
    return Eigen(*wg.linalg.eigh(symmetric(A)))


@layered
def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of symmetric matrices."""
    return wg.linalg.eigvalsh(symmetric(A))


@layered
def svd(A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """The singular value decomposition."""
    return Singular(*wg.linalg.svd(A, full_matrices))


@layered
def svd_transposed(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """`torch.svd`: the singular value decomposition, with V and not its conjugate transpose."""
    if not compute_uv:
        raise user_error(TypeError, "svd(compute_uv=False) is not supported", "Use torch.linalg.svdvals.")
    u, s, vh = wg.linalg.svd(input, not some)
    return u, s, wg.conj(wg.matrix_transpose(vh))


@layered
def svdvals(A: Any, *, driver: str | None = None) -> Any:
    """The singular values."""
    return wg.linalg.svdvals(A)


@layered
def qr(A: Any, mode: str = "reduced") -> Any:
    """An orthogonal and a triangular factor."""
    return QR(*wg.linalg.qr(A, mode))


@layered
def lu(A: Any, *, pivot: bool = True) -> Any:
    """A permutation, and a lower and an upper triangular factor."""
    if not pivot:
        raise user_error(RuntimeError, "lu without pivoting is not supported")
    return LU(*wg.linalg.lu(A))


@layered
def matrix_exp(A: Any) -> Any:
    """The exponential of matrices."""
    return wg.linalg.expm(A)


@layered
def matrix_power(A: Any, n: int) -> Any:
    """An integer power of matrices."""
    return wg.linalg.matrix_power(A, n)


@layered
def matrix_rank(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """The number of singular values that are not negligible."""
    found = wg.linalg.matrix_rank(A, tol=atol, hermitian=hermitian, rtol=rtol)
    return wg.astype(found, np.int64)


@layered
def cond(A: Any, p: Any = None) -> Any:
    """The condition number of matrices."""
    return wg.linalg.cond(A, p)


@layered
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors or matrices; without `ord`, of all elements."""
    x = A if dtype is None else wg.astype(A, dtype)
    if ord is None:
        return wg.linalg.vector_norm(x, axis=axes(dim), keepdims=keepdim)
    return wg.linalg.norm(x, ord, axes(dim), keepdim)


@layered
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors along axes, or of all elements."""
    x = x if dtype is None else wg.astype(x, dtype)
    return wg.linalg.vector_norm(x, axis=axes(dim), keepdims=keepdim, ord=ord)


@layered
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of matrices."""
    return wg.linalg.norm(A if dtype is None else wg.astype(A, dtype), ord, tuple(dim), keepdim)


@layered
def logdet(A: Any) -> Any:
    """The logarithm of the determinant; NaN if that is negative."""
    sign, logarithm = wg.linalg.slogdet(A)
    return wg.where(sign < 0, np.nan, logarithm)


@layered
def cholesky_solve(B: Any, L: Any, upper: bool = False) -> Any:
    """The solution of A X = B, given the Cholesky factor of A."""
    lower = wg.conj(wg.matrix_transpose(L)) if upper else L
    half = wg.linalg.solve_triangular(lower, B, lower=True)
    return wg.linalg.solve_triangular(wg.conj(wg.matrix_transpose(lower)), half, lower=False)


def cholesky_inverse(L: Any, upper: bool = False) -> Any:
    """The inverse of A, given its Cholesky factor."""
    return cholesky_solve(layered(lambda L: np.eye(L.shape[-1], dtype=L.dtype))(L), L, upper)


matmul = wg.matmul
cross = layered(lambda input, other, *, dim=-1: wg.cross(input, other, axis=dim))
multi_dot = layered(lambda tensors: wg.linalg.multi_dot(tensors))
tensorinv = layered(lambda A, ind=2: wg.linalg.tensorinv(A, ind))
tensorsolve = layered(lambda A, B, dims=None: wg.linalg.tensorsolve(A, B, dims))
vander = layered(lambda x, N=None: wg.astype(wg.vander(x, N, increasing=True), x.dtype))
vecdot = layered(lambda x, y, *, dim=-1: wg.linalg.vecdot(x, y, axis=dim))
