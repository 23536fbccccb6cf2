"""Linear algebra: calls of BLAS and LAPACK, and what consists of them.

A matrix of which NumPy factors the columns is passed transposed to `factored`, which factors the transpose: so pivots,
and what is singular, are NumPy's. All systems with one matrix share its factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiler.forms.lowering import expansion, lowering
from wengert.compiler.routines import factorizations as routines
from wengert.compiler.routines import spectral as spectral_routines
from wengert.compiler.routines import systems as system_routines
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.exponential import exp, log
from wengert.ops.elementwise.predicates import equal, greater, less, logical_xor, not_equal
from wengert.ops.linear_algebra import cholesky, factorizations, gauge, least_squares, spectral, systems
from wengert.ops.linear_algebra.triangular import _solve_triangular, transpose_matrix
from wengert.ops.reductions.extremes import max as max_
from wengert.ops.reductions.cumulative import prod
from wengert.ops.reductions.logical import any as any_
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.rearranging import diagonal
from wengert.ops.shape.reshaping import expand_dims

lowering.enter(system_routines.TRIANGULAR, _solve_triangular)
lowering.enter(system_routines.SOLVE, systems._solve)
lowering.enter(system_routines.COFACTOR, systems._cofactor)
lowering.enter(routines.CHOLESKY, cholesky._cholesky)
lowering.enter(routines.FACTORED, systems.factored)
lowering.enter(routines.LU, factorizations._lu)
lowering.enter(routines.LU_ORDER, factorizations._lu_order)
lowering.enter(routines.QR, factorizations._qr)
lowering.enter(routines.COMPLEMENT, factorizations._complement)
lowering.enter(routines.INDEPENDENT, factorizations._independent)
lowering.enter(spectral_routines.EIGH, spectral._eigh)
lowering.enter(spectral_routines.SVD, spectral._svd)
lowering.enter(spectral_routines.LEAST_SQUARES, least_squares._lstsq)


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



def are_factors(x: Any, factors: Any) -> bool:
    """Whether these are the factors of each matrix."""
    return factors.shape == (*x.shape[:-2], x.shape[-1] + 1, x.shape[-1])


@expansion(systems._solve)
def expand_solve(x: Any, y: Any, factors: Any, trans: int) -> Any:
    """By factors that all systems share."""
    if are_factors(x, factors) or not x.size:
        return None
    turned = transpose_matrix(x)
    return systems.solution(turned, y, systems.factored(turned), 1 - trans)


@expansion(systems._inv)
def expand_inv(x: Any) -> Any:
    """By the systems whose right-hand sides are the unit vectors, as in NumPy."""
    if not x.size:
        return None
    turned = transpose_matrix(x)
    return systems.solution(turned, np.eye(x.shape[-1], dtype=x.dtype), systems.factored(turned), 1)


def sign_and_log(x: Any, factors: Any) -> tuple[Any, Any]:
    """The sign of the determinant and the logarithm of its absolute value, from the pivots; 0 if one of them is."""
    n = x.shape[-1]
    pivots, order = diagonal(factors[..., :n, :], 0, -2, -1), factors[..., n, :]
    is_singular = any_(equal(pivots, 0.0), -1)
    exchanged = not_equal(order, np.arange(n, dtype=x.dtype))
    sign = prod(where(logical_xor(less(pivots, 0.0), exchanged), -1.0, np.ones(n, x.dtype)), -1)
    size = sum_(log(abs(pivots)), -1)
    return where(is_singular, 0.0, sign), where(is_singular, -np.inf, size)


def factors_of_determinant(x: Any, factors: Any) -> Any:
    """The given factors, or else those that NumPy would find; None if there are no numbers in x."""
    if not x.size or x.dtype.kind != "f":
        return None
    return factors if are_factors(x, factors) else systems.factored(transpose_matrix(x))


@expansion(systems._logdet)
def expand_logdet(x: Any, factors: Any) -> Any:
    """From the pivots."""
    found = factors_of_determinant(x, factors)
    return None if found is None else sign_and_log(x, found)[1]


@expansion(systems._det_sign)
def expand_det_sign(x: Any, factors: Any) -> Any:
    """From the pivots."""
    found = factors_of_determinant(x, factors)
    return None if found is None else sign_and_log(x, found)[0]


@expansion(systems._det)
def expand_det(x: Any) -> Any:
    """From the pivots, by their logarithms: as in NumPy, only the result overflows."""
    if not x.size or x.dtype.kind != "f":
        return None
    sign, size = sign_and_log(x, systems.factored(transpose_matrix(x)))
    return sign * exp(size)


@expansion(least_squares._pinv)
def expand_pinv(x: Any, rcond: float) -> Any:
    """From the singular values that are not too small."""
    if not x.size or x.dtype.kind != "f":
        return None
    u, s, v = singular_parts(x)
    is_large = greater(s, rcond * max_(s, -1, keepdims=True))
    inverse = where(is_large, 1.0 / where(is_large, s, 1.0), 0.0)
    return v @ (inverse[..., None] * transpose_matrix(u))


def singular_parts(x: Any) -> tuple[Any, Any, Any]:
    """U, the singular values and V."""
    rows, k = x.shape[-2], min(x.shape[-2:])
    packed = spectral._svd(x, full_matrices=False)
    return packed[..., :rows, :], packed[..., rows, :k], packed[..., rows + 1 :, :]


@expansion(least_squares._matrix_rank)
def expand_matrix_rank(x: Any, limit: float, hermitian: bool, relative: bool) -> Any:
    """The number of singular values that are large enough."""
    if not x.size or x.dtype.kind != "f":
        return None
    values = abs(spectral._eigh(x, UPLO="L")[..., 0, :]) if hermitian else singular_parts(x)[1]
    bound = limit * max_(values, -1, keepdims=True) if relative else limit
    return sum_(greater(values, bound), -1)
