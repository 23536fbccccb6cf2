"""Functions of matrices: each matrix of a stack by itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.aspects import primitive_of
from wengert.ops.linear_algebra.cholesky import _cholesky, _cholesky_pull
from wengert.ops.linear_algebra.factorizations import _lu, _qr
from wengert.ops.linear_algebra.least_squares import _pinv
from wengert.ops.linear_algebra.matrix_functions import _expm, _expm_frechet, _logm, _logm_frechet, _sqrtm
from wengert.ops.linear_algebra.sparse import product_elements, sparse_product, sparse_transpose_product
from wengert.ops.linear_algebra.spectral import _eig, _eigh, _svd
from wengert.ops.linear_algebra.structured import _sylvester
from wengert.ops.linear_algebra.systems import _cofactor, _det, _inv, _logdet, _solve
from wengert.ops.linear_algebra.triangular import _solve_triangular
from wengert.structure.incidence import Sets, group_sets, line_numbers, move_sets, unite_sets
from wengert.structure.propagation import OperationStep, propagate_all, propagation


@propagation(
    _solve_triangular, _cholesky, _cholesky_pull, _lu, _qr, _solve, _inv, _cofactor, _det, _logdet, _eigh, _eig, _svd,
    _pinv, _expm, _logm, _sqrtm, _expm_frechet, _logm_frechet, _sylvester,
)  # fmt: skip
def propagate_matrices(step: OperationStep) -> list[Sets]:
    """Each element depends on all elements of its matrix."""
    stack = step.shapes[0][:-2]
    ndim = len(stack)
    live = [step.shapes[i] for i, _ in step.live]
    if any(out.shape[:ndim] != stack or out.ndim > ndim + 2 for out in step.outs):
        return propagate_all(step)
    if ndim and any(shape[:ndim] != stack or len(shape) != ndim + 2 for shape in live):
        return propagate_all(step)  # an operand of fewer axes belongs to all matrices of the stack
    count = math.prod(stack)
    inside = unite_sets(
        [
            group_sets(sets, line_numbers(step.shapes[i], range(ndim, len(step.shapes[i]))), count)
            for i, sets in step.live
        ]
    )
    return [move_sets(inside, line_numbers(out.shape, range(ndim, len(out.shape)))) for out in step.outs]


def element_positions(step: OperationStep) -> tuple[np.ndarray, np.ndarray] | None:
    """The row and the column of each element of a sparse matrix; None where they, or vectors, are not known."""
    columns, counts = step.numbers_of(2), step.numbers_of(3)
    if columns is None or counts is None or any(len(shape) > 1 for shape in step.shapes):
        return None
    return np.repeat(np.arange(len(counts)), counts), columns


@propagation(sparse_product, sparse_transpose_product)
def propagate_sparse_product(step: OperationStep) -> Any:
    """Each element depends on the stored elements of a row, and on what they are multiplied with."""
    found = element_positions(step)
    if found is None:
        return propagate_all(step)
    groups, sources = found if step.primitive is primitive_of(sparse_product) else found[::-1]
    return unite_sets(
        [group_sets(move_sets(sets, sources) if i else sets, groups, step.shape[0]) for i, sets in step.live]
    )


@propagation(product_elements)
def propagate_product_elements(step: OperationStep) -> Any:
    """Each stored element depends on one element of each vector."""
    found = element_positions(step)
    return propagate_all(step) if found is None else unite_sets([move_sets(sets, found[i]) for i, sets in step.live])
