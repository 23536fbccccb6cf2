"""`jax.numpy.linalg`."""

from __future__ import annotations

from typing import Any

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import lift_names, to_array, to_arrays
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.numpy.products import lift_product
from wengert.core.primitive import as_operand

NAMES = """
    cond cross det diagonal eig eigvals inv lstsq matrix_norm matrix_power matrix_rank matrix_transpose norm outer pinv
    qr slogdet solve svd svdvals tensorinv tensorsolve trace vector_norm
"""
globals().update(lift_names(wg.linalg, NAMES))

__all__ = sorted([*NAMES.split(), "cholesky", "eigh", "eigvalsh", "matmul", "multi_dot", "tensordot", "vecdot"])

__getattr__ = without(__name__, ABSENT)

matmul, multi_dot, tensordot, vecdot = map(
    lift_product, (wg.linalg.matmul, wg.linalg.multi_dot, wg.linalg.tensordot, wg.linalg.vecdot)
)


def symmetrize(a: Any, is_wanted: bool) -> Any:
    """The mean of a matrix and its conjugate transpose, which JAX factorises."""
    a = as_operand(a)
    return (a + wg.conj(wg.matrix_transpose(a))) / 2 if is_wanted else a


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The Cholesky factor of a matrix, or of its symmetric part."""
    return to_array(wg.linalg.cholesky(symmetrize(a, symmetrize_input), upper=upper))


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> Any:
    """The eigenvalues and eigenvectors of a matrix, or of its symmetric part."""
    return to_arrays(wg.linalg.eigh(symmetrize(a, symmetrize_input), UPLO or "L"))


def eigvalsh(a: Any, UPLO: str | None = None, *, symmetrize_input: bool = True) -> Any:
    """The eigenvalues of a matrix, or of its symmetric part."""
    return to_array(wg.linalg.eigvalsh(symmetrize(a, symmetrize_input), UPLO or "L"))
