"""Linear algebra: calls of BLAS and LAPACK, and what consists of them.

A matrix of which NumPy factors the columns is passed transposed to `factored`, which factors the transpose: so pivots,
and what is singular, are NumPy's. All systems with one matrix share its factors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiler.aspects import small_matrices
from wengert.compiler.forms.lowering import Alternatives, MatrixFunction, expansion, lowering, native_code
from wengert.compiler.routines import factorizations as routines
from wengert.compiler.routines import sparse_products as sparse_routines
from wengert.compiler.routines import spectral as spectral_routines
from wengert.compiler.routines import systems as system_routines
from wengert.compiler.routines.cholesky_pull import CHOLESKY_PULL
from wengert.compiler.small_matrices.products import SMALL_PRODUCT
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import angle, imag, real
from wengert.ops.elementwise.exponential import exp, log
from wengert.ops.elementwise.predicates import equal, greater, less, logical_and, logical_xor, not_equal
from wengert.ops.linear_algebra import cholesky, factorizations, gauge, least_squares, sparse, spectral, systems
from wengert.ops.linear_algebra.triangular import _solve_triangular, adjoint, transpose_matrix
from wengert.ops.reductions.cumulative import prod
from wengert.ops.reductions.extremes import max as max_
from wengert.ops.reductions.extremes import min as min_
from wengert.ops.reductions.logical import any as any_
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import diagonal
from wengert.ops.shape.reshaping import expand_dims

lowering.enter(sparse_routines.PRODUCT, sparse.sparse_product)
lowering.enter(sparse_routines.TRANSPOSE_PRODUCT, sparse.sparse_transpose_product)
lowering.enter(sparse_routines.ELEMENTS, sparse.product_elements)
lowering.enter(Alternatives(small_matrices.SOLVE_TRIANGULAR, system_routines.TRIANGULAR), _solve_triangular)
lowering.enter(Alternatives(small_matrices.SOLVE, system_routines.SOLVE), systems._solve)
lowering.enter(Alternatives(small_matrices.COFACTOR, system_routines.COFACTOR), systems._cofactor)
lowering.enter(Alternatives(small_matrices.CHOLESKY, routines.CHOLESKY), cholesky._cholesky)
lowering.enter(Alternatives(small_matrices.INV), systems._inv)
lowering.enter(Alternatives(small_matrices.DET), systems._det)
lowering.enter(Alternatives(small_matrices.LOGDET), systems._logdet)
lowering.enter(Alternatives(small_matrices.DET_SIGN), systems._det_sign)
lowering.enter(Alternatives(small_matrices.CHOLESKY_PULL, CHOLESKY_PULL), cholesky._cholesky_pull)
lowering.enter(small_matrices.PRODUCT, SMALL_PRODUCT)
lowering.enter(routines.FACTORED, systems.factored)
lowering.enter(routines.LU, factorizations._lu)
lowering.enter(routines.LU_ORDER, factorizations._lu_order)
lowering.enter(Alternatives(small_matrices.QR, routines.QR), factorizations._qr)
lowering.enter(Alternatives(small_matrices.COMPLEMENT, routines.COMPLEMENT), factorizations._complement)
lowering.enter(Alternatives(small_matrices.INDEPENDENT, routines.INDEPENDENT), factorizations._independent)
lowering.enter(Alternatives(small_matrices.EIGH, spectral_routines.EIGH), spectral._eigh)
lowering.enter(spectral_routines.SVD, spectral._svd)
lowering.enter(spectral_routines.LEAST_SQUARES, least_squares._lstsq)


def is_written_out(result: Any) -> bool:
    """Whether a result is that of an operation on matrices so small that it has no expansion."""
    return isinstance(native_code(result.node), MatrixFunction)


def margin(size: Any) -> Any:
    """The rounding error of values of these sizes, as in `gauge.py`."""
    return 8 * size.shape[-1] * np.finfo(size.dtype).eps * max_(size, -1, keepdims=True)


@expansion(gauge.negligible)
def expand_negligible(x: Any) -> Any:
    """By the largest value."""
    return abs(x) <= margin(abs(x)) if x.size else None


@expansion(gauge._coincident)
def expand_coincident(x: Any) -> Any:
    """By differences."""
    return abs(gauge.as_rows(x) - gauge.as_columns(x)) <= expand_dims(margin(abs(x)), -1) if x.size else None


@expansion(gauge._anchor)
def expand_anchor(x: Any) -> Any:
    """The first of the largest real components of each vector."""
    if not x.size or x.dtype.kind != "c":
        return None
    sizes, rows = where(equal(imag(x), 0.0), abs(x), 0.0), np.arange(x.shape[-2])[:, None]
    is_largest = logical_and(greater(sizes, 0.0), equal(sizes, max_(sizes, -2, keepdims=True)))
    first = min_(where(is_largest, rows, x.shape[-2]), -2, keepdims=True)
    return astype(logical_and(is_largest, equal(rows, first)), sizes.dtype)


# NumPy computes in double precision, whatever the dtype

WIDE = {"f": np.dtype("f8"), "F": np.dtype("c16")}


def in_double(operation: Callable, expand: Callable = lambda *args, **params: None) -> Callable:
    """The expansion of an operation that computes in double precision; `expand` is that of other dtypes."""

    def rule(*args: Any, **params: Any) -> Any:
        out = operation(*args, **params)
        if is_written_out(out):
            return None
        if args[0].dtype.char not in WIDE:
            return expand(*args, **params)
        wide = [as_double(a) for a in args]
        found = expand(*wide, **params)
        return astype(operation(*wide, **params) if found is None else found, out.dtype, copy=False)

    return rule


def as_double(x: Any) -> Any:
    """An array in double precision, real or complex as it is."""
    return astype(x, WIDE.get(x.dtype.char, x.dtype), copy=False)


for wide in (
    *(cholesky._cholesky, factorizations._qr, factorizations._complement, systems._cofactor),
    *(spectral._eigh, spectral._svd, least_squares._lstsq),
):
    expansion.enter(in_double(wide), wide)


# Systems and determinants


def are_factors(x: Any, factors: Any) -> bool:
    """Whether these are the factors of each matrix."""
    return factors.shape == (*x.shape[:-2], x.shape[-1] + 1, x.shape[-1])


@expansion(systems._solve)
def expand_solve(x: Any, y: Any, factors: Any, trans: int) -> Any:
    """By factors that all systems share."""
    out = systems._solve(x, y, factors, trans=trans)
    if are_factors(x, factors) or not x.size or is_written_out(out):
        return None
    turned = transpose_matrix(as_double(x))
    found = systems.solution(turned, as_double(y), systems.factored(turned), 1 - trans)
    return astype(found, out.dtype, copy=False)


def expand_inv(x: Any) -> Any:
    """By the systems whose right-hand sides are the unit vectors, as in NumPy."""
    if not x.size:
        return None
    turned = transpose_matrix(x)
    return systems.solution(turned, np.eye(x.shape[-1], dtype=x.dtype), systems.factored(turned), 1)


def sign_and_log(x: Any, factors: Any) -> tuple[Any, Any]:
    """The sign of the determinant and the logarithm of its absolute value, from the pivots; 0 if one of them is."""
    n = x.shape[-1]
    pivots, order = diagonal(factors[..., :n, :], 0, -2, -1), real(factors[..., n, :])
    is_zero, sizes = equal(pivots, 0.0), abs(pivots)
    is_singular = any_(is_zero, -1)
    one = np.ones(n, sizes.dtype)
    exchanged = not_equal(order, np.arange(n, dtype=sizes.dtype))
    if x.dtype.kind == "c":
        sign = prod(pivots / where(is_zero, one, sizes) * where(exchanged, -one, one), -1)
    else:
        sign = prod(where(logical_xor(less(pivots, 0.0), exchanged), -one, one), -1)
    return where(is_singular, 0.0, sign), where(is_singular, -np.inf, sum_(log(sizes), -1))


def from_factors(operation: Callable, choose: Callable[[Any, Any], Any]) -> Callable:
    """The expansion of a function of the sign and the logarithm; without factors NumPy factors in double precision."""

    def rule(x: Any, *factors: Any) -> Any:
        if not x.size or is_written_out(operation(x, *factors)):
            return None
        if factors and are_factors(x, *factors):
            return choose(*sign_and_log(x, *factors))
        wide = transpose_matrix(astype(x, WIDE.get(x.dtype.char, x.dtype), copy=False))
        return astype(choose(*sign_and_log(wide, systems.factored(wide))), x.dtype, copy=False)

    return rule


def log_of_determinant(sign: Any, size: Any) -> Any:
    """A complex determinant has a complex logarithm."""
    return size + 1j * angle(sign) if sign.dtype.kind == "c" else size


@expansion(cholesky._cholesky_pull)
def expand_cholesky_pull(x: Any, y: Any) -> Any:
    """By the formula for the whole matrix, if it is complex."""
    return cholesky.pull_by_formula(x, y) if x.dtype.kind == "c" else None


expansion.enter(in_double(systems._inv, expand_inv), systems._inv)
expansion.enter(from_factors(systems._det, lambda sign, size: sign * exp(size)), systems._det)
expansion.enter(from_factors(systems._logdet, log_of_determinant), systems._logdet)
expansion.enter(from_factors(systems._det_sign, lambda sign, size: sign), systems._det_sign)


# Singular values


def expand_pinv(x: Any, rcond: float) -> Any:
    """From the singular values that are not too small."""
    if not x.size:
        return None
    u, s, v = singular_parts(x)
    is_large = greater(s, rcond * max_(s, -1, keepdims=True))
    inverse = where(is_large, 1.0 / where(is_large, s, 1.0), 0.0)
    return v @ (inverse[..., None] * adjoint(u))


def singular_parts(x: Any) -> tuple[Any, Any, Any]:
    """U, the singular values and V."""
    rows, k = x.shape[-2], min(x.shape[-2:])
    packed = spectral._svd(x, full_matrices=False)
    return packed[..., :rows, :], real(packed[..., rows, :k]), packed[..., rows + 1 :, :]


expansion.enter(in_double(least_squares._pinv, expand_pinv), least_squares._pinv)


@expansion(least_squares._matrix_rank)
def expand_matrix_rank(x: Any, limit: float, hermitian: bool, relative: bool) -> Any:
    """The number of singular values that are large enough."""
    if not x.size:
        return None
    x = astype(x, WIDE.get(x.dtype.char, x.dtype), copy=False)
    values = abs(real(spectral._eigh(x, UPLO="L")[..., 0, :])) if hermitian else singular_parts(x)[1]
    bound = limit * max_(values, -1, keepdims=True) if relative else limit
    return sum_(greater(values, bound), -1)
