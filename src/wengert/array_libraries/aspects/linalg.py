"""Linear algebra by cuBLAS and cuSOLVER.

What would have to wait for the device is not checked there: a singular matrix, or one that is not positive definite,
gives NaN or infinity instead of an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.device_calls import device_call
from wengert.core.devices import ArrayLibrary
from wengert.core.spec import Spec
from wengert.ops.linear_algebra import sparse
from wengert.ops.linear_algebra.factorizations import _independent, _lu, _lu_order
from wengert.ops.linear_algebra.least_squares import _matrix_rank
from wengert.ops.linear_algebra.matrix_functions import _expm, _expm_frechet, _logm, _logm_frechet, _sqrtm
from wengert.ops.linear_algebra.structured import _banded, _solve_banded, _sylvester
from wengert.ops.linear_algebra.systems import (
    _cofactor,
    _det_sign,
    _is_factored,
    _logdet,
    _solve,
    _spread,
    factored,
)
from wengert.ops.linear_algebra.triangular import _solve_triangular, factor_dtype, solution_spec

device_call.without(
    "sparse matrices are those of SciPy, on the CPU",
    sparse.sparse_product, sparse.sparse_transpose_product, sparse.product_elements, sparse.sparse_solution,
)  # fmt: skip
device_call.without("CuPy has no Schur decomposition", _sylvester, _logm, _logm_frechet, _sqrtm)


def _spread_stacks(xp: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Matrices and right-hand sides of the same stack, in the dtype of the solution."""
    shape, dtype = solution_spec(Spec.of(x), Spec.of(y))
    x = xp.broadcast_to(x, (*shape[:-2], *x.shape[-2:])).astype(dtype, copy=False)
    return x, xp.broadcast_to(y, shape).astype(dtype, copy=False)


@device_call(factored)
def factor_on_device(library: ArrayLibrary, x: Any) -> Any:
    """The factors of the transpose, and the pivots, one matrix after the other. Compiled systems have them."""
    xp, n, factor = library.numpy, x.shape[-1], library.scipy("linalg").lu_factor
    packed = xp.empty((*x.shape[:-2], n + 1, n), factor_dtype(x.dtype))
    if not x.size:
        return packed
    matrices = x.astype(packed.dtype, copy=False).reshape(-1, n, n)
    for one, matrix in zip(packed.reshape(-1, n + 1, n), matrices, strict=True):
        lu, pivots = factor(matrix.T, check_finite=False)
        one[:n], one[n] = lu.T, pivots
    return packed


@device_call(_solve)
def solve_on_device(library: ArrayLibrary, x: Any, y: Any, factors: Any, trans: int) -> Any:
    """x^-1 y."""
    xp = library.numpy
    if _is_factored(x, factors) and y.ndim == 2 and y.size:
        n, dtype = x.shape[-1], np.result_type(factors, y)
        lu = xp.asfortranarray(factors[:n].T.astype(dtype, copy=False)), factors[n].real.astype(np.int32)
        return library.scipy("linalg").lu_solve(lu, y.astype(dtype, copy=False), 1 - trans, check_finite=False)
    x, y = _spread_stacks(xp, x.swapaxes(-1, -2) if trans else x, y)
    shape = (*np.broadcast_shapes(y.shape[:-2], factors.shape[:-2]), *y.shape[-2:])
    return xp.broadcast_to(xp.linalg.solve(x, y) if y.size else xp.zeros_like(y), shape)


@device_call(_solve_triangular)
def solve_triangular_on_device(
    library: ArrayLibrary, x: Any, y: Any, lower: bool, trans: int, unit_diagonal: bool
) -> Any:
    """x^-1 y for a triangular x."""
    xp = library.numpy
    x, y = _spread_stacks(xp, x, y)
    if not y.size:
        return xp.zeros_like(y)
    solve = library.scipy("linalg").solve_triangular
    return solve(xp.ascontiguousarray(x), xp.ascontiguousarray(y), trans, bool(lower), bool(unit_diagonal))


@device_call(_logdet)
def logdet_on_device(library: ArrayLibrary, x: Any, factors: Any) -> Any:
    """The logarithm of the determinant, which of a complex matrix is complex."""
    sign, log = library.numpy.linalg.slogdet(x)
    whole = (log + 1j * library.numpy.angle(sign)).astype(sign.dtype) if sign.dtype.kind == "c" else log
    return _spread(whole, factors, 0)


@device_call(_det_sign)
def det_sign_on_device(library: ArrayLibrary, x: Any, factors: Any) -> Any:
    """The sign of the determinant."""
    return _spread(library.numpy.linalg.slogdet(x)[0], factors, 0)


@device_call(_cofactor)
def cofactor_on_device(library: ArrayLibrary, x: Any) -> Any:
    """From the singular values, which also has the cofactors of singular matrices."""
    xp = library.numpy
    u, s, vh = xp.linalg.svd(x.astype(factor_dtype(x.dtype), copy=False))
    one = xp.ones((*s.shape[:-1], 1), s.dtype)
    before = xp.cumprod(xp.concatenate([one, s], -1), -1)[..., :-1]
    behind = xp.cumprod(xp.concatenate([one, s[..., ::-1]], -1), -1)[..., -2::-1]
    sign = xp.linalg.det(u) * xp.linalg.det(vh)
    return sign[..., None, None] * ((u.conj() * (before * behind)[..., None, :]) @ vh.conj())


@device_call(_lu)
def lu_on_device(library: ArrayLibrary, x: Any) -> Any:
    """L and U of matrices whose rows are in the order of the pivots, column by column for the whole stack."""
    out = x.astype(factor_dtype(x.dtype))
    for k in range(min(x.shape[-2:]) if x.size else 0):
        out[..., k + 1 :, k] /= out[..., k, k, None]
        out[..., k + 1 :, k + 1 :] -= out[..., k + 1 :, k, None] * out[..., None, k, k + 1 :]
    return out


@device_call(_lu_order)
def lu_order_on_device(library: ArrayLibrary, x: Any) -> Any:
    """The order of the rows, one matrix after the other: CuPy's `lu` takes one."""
    xp = library.numpy
    if not x.size:
        return xp.broadcast_to(xp.arange(x.shape[-2]), x.shape[:-1]).copy()
    lu = library.scipy("linalg").lu
    orders = [xp.argmax(lu(matrix)[0], -2) for matrix in x.reshape(-1, *x.shape[-2:])]
    return xp.stack(orders).reshape(x.shape[:-1])


@device_call(_independent)
def keep_without_test(library: ArrayLibrary, r: Any) -> Any:
    """Ones: to look for dependent columns would be to wait for the device."""
    return library.numpy.ones((*r.shape[:-2], 1, 1), factor_dtype(r.dtype))


@device_call(_matrix_rank)
def rank_on_device(library: ArrayLibrary, x: Any, limit: float, hermitian: bool, relative: bool) -> Any:
    """The number of singular values above the limit."""
    xp = library.numpy
    if not x.size:
        return xp.zeros(x.shape[:-2], np.intp)
    sizes = xp.abs(xp.linalg.eigvalsh(x)) if hermitian else xp.linalg.svd(x, compute_uv=False)
    bound = sizes.max(-1, keepdims=True) * limit if relative else limit
    return xp.sum(sizes > bound, -1, np.intp)


@device_call(_solve_banded)
def solve_banded_on_device(library: ArrayLibrary, x: Any, y: Any, below: int, above: int, trans: int) -> Any:
    """By the dense matrix: CuPy has no banded systems."""
    xp = library.numpy
    one = xp.eye(x.shape[-1], dtype=x.dtype)
    dense, y = _spread_stacks(xp, _banded(x, one, below=below, above=above, trans=trans), y)
    return xp.linalg.solve(dense, y) if y.size else xp.zeros_like(y)


def _exponential(library: ArrayLibrary, x: Any) -> Any:
    """The exponential of each matrix of a stack, in turn: CuPy's takes one."""
    xp, expm = library.numpy, library.scipy("linalg").expm
    x = x.astype(factor_dtype(x.dtype), copy=False)
    if not x.size:
        return x.copy()
    return xp.stack([expm(matrix) for matrix in x.reshape(-1, *x.shape[-2:])]).reshape(x.shape)


@device_call(_expm)
def expm_on_device(library: ArrayLibrary, x: Any) -> Any:
    """The exponential of each matrix."""
    return _exponential(library, x)


@device_call(_expm_frechet)
def expm_frechet_on_device(library: ArrayLibrary, x: Any, e: Any) -> Any:
    """The block above the diagonal of the exponential of [[x, e], [0, x]], with e scaled to norm 1."""
    xp, n = library.numpy, x.shape[-1]
    shape = np.broadcast_shapes(x.shape, e.shape)
    if not n:
        return xp.zeros(shape, factor_dtype(x.dtype, e.dtype))
    x, e = xp.broadcast_to(x, shape), xp.broadcast_to(e, shape)
    size = xp.abs(e).sum(-2, keepdims=True).max(-1, keepdims=True)
    size = xp.where(size == 0, size.dtype.type(1), size)
    rows = xp.concatenate([x, e / size], -1), xp.concatenate([xp.zeros_like(x), x], -1)
    return size * _exponential(library, xp.concatenate(rows, -2))[..., :n, n:]
