"""Linear algebra: forms of many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.explain.comparing.digits import COMPLEX, Form, digits, enter_rounded_forms
from wengert.ops.linear_algebra import (
    cholesky,
    factorizations,
    gauge,
    least_squares,
    matrix_functions,
    sparse,
    spectral,
    structured,
    systems,
    triangular,
)


def matrix_form(function: Callable) -> Form:
    """A function of mpmath and matrices (2-D arrays of its numbers), applied to each of a stack; stacks broadcast."""

    def form(mp: Any, *stacks: Any, **params: Any) -> Any:
        shape = np.broadcast_shapes(*[x.shape[:-2] for x in stacks])
        wide = [np.broadcast_to(x, shape + x.shape[-2:]) for x in stacks]
        found = [as_array(function(mp, *[x[index] for x in wide], **params)) for index in np.ndindex(shape)]
        return np.stack(found).reshape(shape + found[0].shape)

    return form


def as_array(matrix: Any) -> np.ndarray:
    """A matrix or number of mpmath as an array."""
    return np.array(matrix.tolist() if hasattr(matrix, "tolist") else matrix, object)


def mpmath_matrix(mp: Any, x: np.ndarray) -> Any:
    """An array as a matrix of mpmath."""
    return mp.matrix(x.tolist())


def inverse_of(mp: Any, x: np.ndarray) -> np.ndarray:
    """The inverse of a matrix."""
    return as_array(mp.inverse(mpmath_matrix(mp, x)))


def with_signs_of(columns: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns with the signs of floating-point columns, and the signs."""
    signs = np.where((columns * near[:, : columns.shape[1]]).sum(0) < 0, -1, 1)
    return columns * signs, signs


def block_form(name: str) -> Form:
    """The Fréchet derivative of a matrix function of mpmath, by the function of a block matrix."""

    def derivative(mp: Any, x: np.ndarray, e: np.ndarray) -> Any:
        n = len(x)
        whole = getattr(mp, name)(mpmath_matrix(mp, np.block([[x, e], [np.zeros_like(x), x]])))
        return whole.apply(mp.re)[:n, n:]

    return matrix_form(derivative)


# Systems and determinants

digits.enter(matrix_form(lambda mp, x: mp.det(mpmath_matrix(mp, x))), systems._det)
digits.enter(matrix_form(inverse_of), systems._inv)


@digits(systems._solve)
def precise_solve(mp: Any, x: Any, y: Any, _factors: Any, trans: int) -> Any:
    """Solutions of linear systems."""
    return matrix_form(inverse_of)(mp, x.swapaxes(-1, -2) if trans else x) @ y


@digits(systems._logdet)
def precise_logdet(mp: Any, x: Any, _factors: Any) -> Any:
    """The logarithm of the absolute value of a determinant."""
    return matrix_form(lambda mp, x: mp.log(abs(mp.det(mpmath_matrix(mp, x)))))(mp, x)


@digits(triangular._solve_triangular)
@matrix_form
def precise_triangular(mp: Any, x: Any, y: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    """Solutions of triangular systems."""
    triangle = np.tril(x) if lower else np.triu(x)
    if unit_diagonal:
        np.fill_diagonal(triangle, mp.mpf(1))
    return inverse_of(mp, triangle.T if trans else triangle) @ y


@digits(structured._sylvester)
@matrix_form
def precise_sylvester(mp: Any, x: Any, y: Any, q: Any, of: str) -> Any:  # noqa: ARG001  # a parameter of the operation
    """Solutions of x X + X y = q, as one linear system."""
    system = np.kron(x, np.eye(len(y), dtype=int)) + np.kron(np.eye(len(x), dtype=int), y.T)
    return as_array(mp.lu_solve(mpmath_matrix(mp, system), mpmath_matrix(mp, q.reshape(-1, 1)))).reshape(q.shape)


# Sparse matrices


def full_matrix(data: Any, columns: Any, counts: Any, shape: tuple[int, int]) -> np.ndarray:
    """A sparse matrix with all its zeros."""
    matrix = np.zeros(shape, object)
    np.add.at(matrix, (np.repeat(np.arange(shape[0]), counts), columns), data)
    return matrix


digits.enter(
    lambda mp, data, x, columns, counts, shape: full_matrix(data, columns, counts, shape) @ x, sparse.sparse_product
)
digits.enter(
    lambda mp, data, x, columns, counts, shape: full_matrix(data, columns, counts, shape).T @ x,
    sparse.sparse_transpose_product,
)


@digits(sparse.sparse_solution)
def precise_sparse_solution(mp: Any, data: Any, b: Any, columns: Any, counts: Any, transposed: bool) -> Any:
    """Solutions of sparse systems."""
    matrix = full_matrix(data, columns, counts, (len(counts), len(counts)))
    return inverse_of(mp, matrix.T if transposed else matrix) @ b


# Factorizations: columns have the signs that LAPACK gives them

digits.enter(matrix_form(lambda mp, x: mp.cholesky(mpmath_matrix(mp, x))), cholesky._cholesky)


@digits(cholesky._cholesky_pull)
@matrix_form
def precise_cholesky_pull(mp: Any, x: Any, y: Any) -> Any:
    """The cotangent of a matrix, from that of its factor."""
    halve = lambda a: np.tril(a) - np.diag(np.diag(a)) / 2
    lower = np.tril(y)
    inverse, p = inverse_of(mp, lower), halve(lower.T @ x)
    return halve(inverse.T @ (p + p.T) @ inverse)


@digits(factorizations._lu)
@matrix_form
def precise_lu(_mp: Any, x: Any) -> Any:
    """Gaussian elimination without pivoting, both factors in one array."""
    x = x.copy()
    for k in range(min(x.shape)):
        if x[k, k]:
            x[k + 1 :, k] = x[k + 1 :, k] / x[k, k]
        x[k + 1 :, k + 1 :] = x[k + 1 :, k + 1 :] - np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return x


@digits(factorizations._qr)
@matrix_form
def precise_qr(mp: Any, x: Any) -> Any:
    """Q and R in one array: one above the other if x has more rows than columns, else side by side."""
    rows, columns = x.shape
    near = np.linalg.qr(x.astype(float))[0]
    q, _ = with_signs_of(as_array(mp.qr(mpmath_matrix(mp, x[:, :rows]), "skinny")[0]), near)
    return np.concatenate([q, np.triu(q.T @ x)], 0 if rows > columns else 1)


@digits(spectral._eigh)
@matrix_form
def precise_eigh(mp: Any, x: Any, UPLO: str) -> Any:
    """The eigenvalues in the first row, the vectors below."""
    triangle = np.tril(x) if UPLO == "L" else np.triu(x).T
    near = np.linalg.eigh(x.astype(float), UPLO)[1]  # type: ignore[call-overload]  # NumPy checks the string
    values, vectors = mp.eigsy(mpmath_matrix(mp, triangle + np.tril(triangle, -1).T))
    return np.concatenate([as_array(values).reshape(1, -1), with_signs_of(as_array(vectors), near)[0]])


@digits(spectral._svd)
@matrix_form
def precise_svd(mp: Any, x: Any, full_matrices: bool) -> Any:
    """U, one row of singular values, and V, one above the other."""
    if full_matrices and x.shape[0] != x.shape[1]:
        raise ValueError("the vectors that complete a basis are not unique")
    u, s, v = map(as_array, mp.svd_r(mpmath_matrix(mp, x)))
    u, signs = with_signs_of(u, np.linalg.svd(x.astype(float), full_matrices=False)[0])
    return np.concatenate([u, s.reshape(1, -1), v.T * signs])


def precise_pinv(mp: Any, x: Any, rcond: float | None) -> Any:
    """The pseudo-inverse."""
    u, s, v = map(as_array, mp.svd_r(mpmath_matrix(mp, x)))
    limit = (max(x.shape) * np.finfo(float).eps if rcond is None else rcond) * s[0, 0]
    return (v.T * [1 / a if a > limit else 0 for a in s[:, 0]]) @ u.T


digits.enter(matrix_form(precise_pinv), least_squares._pinv)
digits.enter(matrix_form(lambda mp, x, y, rcond: precise_pinv(mp, x, rcond) @ y), least_squares._lstsq)
digits.without(COMPLEX, spectral._eig)

# Functions of matrices

digits.enter(matrix_form(lambda mp, x: mp.expm(mpmath_matrix(mp, x))), matrix_functions._expm)
digits.enter(matrix_form(lambda mp, x: mp.logm(mpmath_matrix(mp, x)).apply(mp.re)), matrix_functions._logm)
digits.enter(matrix_form(lambda mp, x: mp.sqrtm(mpmath_matrix(mp, x)).apply(mp.re)), matrix_functions._sqrtm)
digits.enter(block_form("expm"), matrix_functions._expm_frechet)
digits.enter(block_form("logm"), matrix_functions._logm_frechet)

# Decisions, and work that is done for other operations

enter_rounded_forms(
    systems.factored,
    systems._det_sign,
    factorizations._lu_order,
    factorizations._independent,
    gauge.negligible,
    gauge._coincident,
    gauge._anchor,
    least_squares._matrix_rank,
)
