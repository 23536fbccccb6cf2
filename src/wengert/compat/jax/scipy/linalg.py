"""`jax.scipy.linalg`."""

from __future__ import annotations

from typing import Any

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import lift_names, to_array, to_arrays
from wengert.compat.jax.differences import ABSENT

NAMES = "block_diag det expm inv solve_sylvester solve_triangular sqrtm toeplitz"
globals().update(lift_names(wg.linalg, NAMES))

__all__ = sorted([*NAMES.split(), "cho_factor", "cho_solve", "cholesky", "eigh", "lu", "qr", "solve", "svd"])

__getattr__ = without(__name__, ABSENT)


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:  # noqa: ARG001  # of SciPy, which JAX ignores too
    """The Cholesky factor, upper unless `lower`."""
    factor = wg.linalg.cholesky(a)
    return to_array(factor if lower else wg.conj(wg.matrix_transpose(factor)))


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:  # noqa: ARG001  # of SciPy, which JAX ignores too
    """The Cholesky factor, and whether it is the lower one, for `cho_solve`."""
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:  # noqa: ARG001  # of SciPy, which JAX ignores too
    """The solution of a x = b from the factor of a."""
    return to_array(wg.linalg.cho_solve(c_and_lower, b))


def solve(
    a: Any,
    b: Any,
    lower: bool = False,  # noqa: ARG001  # the matrix is symmetric
    overwrite_a: bool = False,  # noqa: ARG001  # of SciPy, which JAX ignores too
    overwrite_b: bool = False,  # noqa: ARG001  # of SciPy, which JAX ignores too
    debug: bool = False,  # noqa: ARG001  # of SciPy, which JAX ignores too
    check_finite: bool = True,  # noqa: ARG001  # of SciPy, which JAX ignores too
    assume_a: str = "gen",
) -> Any:
    """The solution of a x = b."""
    if assume_a == "pos":
        return cho_solve(cho_factor(a, True), b)
    return to_array(wg.linalg.solve(a, b))


def eigh(a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False, **options: Any) -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix."""
    if b is not None or options:
        raise NotImplementedError(f"eigh takes no b={b!r} and no {', '.join(options)} here")
    a = wg.tril(a) + wg.conj(wg.matrix_transpose(wg.tril(a, -1))) if lower else a
    uplo = "L" if lower else "U"
    return to_arrays(wg.linalg.eigvalsh(a, uplo) if eigvals_only else tuple(wg.linalg.eigh(a, uplo)))


def qr(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False) -> Any:  # noqa: ARG001  # of SciPy, which JAX ignores too
    """The factors of a QR decomposition."""
    if pivoting:
        raise NotImplementedError("qr has no pivoting here")
    names = {"full": "complete", "economic": "reduced", "r": "r"}
    found = wg.linalg.qr(a, names[mode])
    return to_arrays((found,) if mode == "r" else tuple(found))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, **options: Any) -> Any:  # noqa: ARG001  # of memory
    """The factors of a singular value decomposition."""
    found = wg.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return to_arrays(tuple(found) if compute_uv else found)


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:  # noqa: ARG001  # of SciPy, which JAX ignores too
    """The factors of an LU decomposition."""
    return to_arrays(tuple(wg.linalg.lu(a, permute_l)))
