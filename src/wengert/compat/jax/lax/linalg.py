"""`jax.lax.linalg`."""

from __future__ import annotations

from typing import Any

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import to_array, to_arrays
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.numpy.linalg import cholesky, symmetrize

__all__ = ["cholesky", "eigh", "qr", "svd", "triangular_solve"]

__getattr__ = without(__name__, ABSENT)


def eigh(x: Any, *, lower: bool = True, symmetrize_input: bool = True) -> tuple[Any, Any]:
    """Eigenvectors and eigenvalues, in this order."""
    values, vectors = wg.linalg.eigh(symmetrize(x, symmetrize_input), "L" if lower else "U")
    return to_array(vectors), to_array(values)


def qr(x: Any, *, full_matrices: bool = True) -> Any:
    """The factors of a QR decomposition."""
    return to_arrays(tuple(wg.linalg.qr(x, "complete" if full_matrices else "reduced")))


def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """The factors of a singular value decomposition."""
    found = wg.linalg.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
    return to_arrays(tuple(found) if compute_uv else found)


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """The solution x of a x = b, or of x a = b without `left_side`, with a triangular matrix."""
    a = wg.conj(a) if conjugate_a else a
    if left_side:
        x = wg.linalg.solve_triangular(a, b, trans=int(transpose_a), lower=lower, unit_diagonal=unit_diagonal)
    else:
        y = wg.matrix_transpose(b)
        x = wg.linalg.solve_triangular(a, y, trans=int(not transpose_a), lower=lower, unit_diagonal=unit_diagonal)
        x = wg.matrix_transpose(x)
    return to_array(x)
