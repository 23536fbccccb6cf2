"""Polynomials as coefficients of falling powers: arithmetic, derivatives, roots, least-squares fits.

Leading coefficients of a value are kept even if they are 0, unlike in NumPy, because they have a derivative.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.array import Array, implements
from wengert.core.errors import TrackedValueError, user_error
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.ops.calculus.differences import convolve, inexact, vander
from wengert.ops.contraction.products import outer
from wengert.ops.elementwise.arithmetic import add, multiply, sqrt, subtract
from wengert.ops.elementwise.complex_numbers import real
from wengert.ops.elementwise.predicates import not_equal
from wengert.ops.indexing.index_arrays import known_numbers
from wengert.ops.indexing.subscripts import getitem
from wengert.ops.indexing.taking import flatnonzero
from wengert.ops.linear_algebra.least_squares import lstsq
from wengert.ops.linear_algebra.spectral import eigvals
from wengert.ops.linear_algebra.systems import inv
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import atleast_1d, unstack
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import expand_dims, reshape, transpose

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "roots"]

# Arithmetic


def _coefficients(name: str, *polynomials: Any) -> list:
    found = [atleast_1d(as_operand(p)) for p in polynomials]
    for p in found:
        if p.ndim != 1:
            raise user_error(ValueError, f"{name} needs a vector of coefficients, and got shape {p.shape}")
    return found


def _align(operation: Callable, name: str, a1: Any, a2: Any) -> Any:
    a1, a2 = _coefficients(name, a1, a2)
    n = max(a1.size, a2.size)
    a1, a2 = [a if a.size == n else concatenate([numpy_of(a).zeros(n - a.size, a.dtype), a]) for a in (a1, a2)]
    return operation(a1, a2)


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials.

    >>> polyadd([1, 2], [9, 5, 4])
    array([9, 6, 6])
    """
    return _align(add, "polyadd", a1, a2)


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials.

    >>> polysub([1.0, 2.0], [1.0])
    array([1., 1.])
    """
    return _align(subtract, "polysub", a1, a2)


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials.

    >>> polymul([1, 2, 3], [9, 5, 1])
    array([ 9, 23, 38, 17,  3])
    """
    if not isinstance(a1, Array) and not isinstance(a2, Array):
        return np.polymul(as_operand(a1), as_operand(a2))
    return convolve(*_coefficients("polymul", a1, a2))


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple:
    """Quotient and remainder of two polynomials.

    The remainder of a value has as many coefficients as v but one, and at least one.

    >>> polydiv([3.0, 5.0, 2.0], [2.0, 1.0])
    (array([1.5 , 1.75]), array([0.25]))
    """
    u, v = _coefficients("polydiv", u, v)
    if not isinstance(u, Array) and not isinstance(v, Array):
        return np.polydiv(u, v)
    dtype = np.result_type(inexact(u).dtype, inexact(v).dtype)
    rest, divisor = astype(u, dtype, copy=False), astype(v, dtype, copy=False)
    n = divisor.size
    quotient = []
    while rest.size >= n:
        factor = rest[:1] / divisor[:1]
        quotient.append(factor)
        rest = concatenate([rest[1:n] - factor * divisor[1:], rest[n:]])
    zero = numpy_of(rest).zeros(1, dtype)
    return concatenate(quotient or [zero]), rest if rest.size else zero


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial.

    >>> polyder([1, 1, 1, 1])
    array([3, 2, 1])
    """
    (p,) = _coefficients("polyder", p)
    if m < 0:
        raise user_error(ValueError, "The order of a derivative cannot be negative", "Use polyint.")
    for _ in range(int(m)):
        p = multiply(p[:-1], numpy_of(p).arange(p.size - 1, 0, -1))
    return p


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th antiderivative of a polynomial, differentiable with respect to the constants k.

    `k` is one constant for all integrations, or one for each.

    >>> polyint([3.0, 2.0, 1.0])
    array([1., 1., 1., 0.])
    """
    (p,) = _coefficients("polyint", p)
    if m < 0:
        raise user_error(ValueError, "The order of an integral cannot be negative", "Use polyder.")
    k = numpy_of(p).zeros(1) if k is None else atleast_1d(as_operand(k))
    if k.size not in (1, *range(m, max(m, k.size) + 1)):
        raise user_error(ValueError, f"polyint needs one constant, or {m} of them, and got {k.size}")
    for i in range(int(m)):
        p = concatenate(
            [p / numpy_of(p).arange(p.size, 0, -1), getitem(k, slice(i, i + 1) if k.size > 1 else slice(None))]
        )
    return p


# Roots


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with these zeros and the leading coefficient 1; of a square matrix, its characteristic polynomial.

    Complex zeros of a value make complex coefficients, those of a real matrix real ones.

    >>> poly([1.0, 2.0])
    array([ 1., -3.,  2.])
    """
    zeros = atleast_1d(as_operand(seq_of_zeros))
    if not isinstance(zeros, Array):
        return np.poly(zeros)
    if zeros.ndim > 2 or (zeros.ndim == 2 and (not zeros.size or zeros.shape[0] != zeros.shape[1])):
        raise user_error(
            ValueError, f"poly needs a vector or a square matrix that is not empty, and got shape {zeros.shape}"
        )
    is_real = zeros.dtype.kind != "c"
    zeros = inexact(eigvals(zeros) if zeros.ndim == 2 else zeros)
    one = numpy_of(zeros).ones(1, zeros.dtype)
    coefficients = one
    for zero in unstack(zeros):
        coefficients = convolve(coefficients, concatenate([one, -reshape(zero, (1,))]))
    return real(coefficients) if is_real and zeros.dtype.kind == "c" else coefficients


@implements(np.roots)
def roots(p: Any) -> Any:
    """The zeros of a polynomial: the eigenvalues of its companion matrix.

    Those of a value are complex, and simple ones have a derivative.

    Where a function is traced, the first coefficient is taken not to be 0.

    >>> roots([1.0, -3.0, 2.0])
    array([2., 1.])
    """
    (p,) = _coefficients("roots", p)
    if not isinstance(p, Array):
        return np.roots(p)
    p = inexact(p)
    try:
        nonzeros = known_numbers(flatnonzero(not_equal(p, 0)), "The number of roots")
    except TrackedValueError:
        nonzeros = np.array([0, p.size - 1])
    if not len(nonzeros):
        return np.zeros(0)
    at_zero = p.size - 1 - int(nonzeros[-1])
    p = getitem(p, slice(int(nonzeros[0]), int(nonzeros[-1]) + 1))
    trailing = numpy_of(p).zeros(at_zero, np.result_type(p.dtype, np.complex64))
    if p.size < 2:
        return trailing
    found = eigvals(
        concatenate([expand_dims(-p[1:] / p[0], 0), numpy_of(p).eye(p.size - 2, p.size - 1, dtype=p.dtype)])
    )
    return concatenate([found, trailing]) if at_zero else found


# Least squares


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The polynomial of degree `deg` that fits samples y at x best.

    It is differentiable with respect to x, y and the weights w.

    >>> polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(12)
    array([2., 1.])
    """
    x, y, order = inexact(as_operand(x)), inexact(as_operand(y)), int(deg) + 1
    if order < 1:
        raise user_error(ValueError, f"expected deg >= 0, and it is {deg}")
    if x.ndim != 1 or not x.size or y.ndim not in (1, 2) or y.shape[0] != x.size:
        raise user_error(
            TypeError, f"polyfit needs a vector x, and as many y, or columns of them; got {x.shape} and {y.shape}"
        )
    if rcond is None:
        rcond = x.size * float(np.finfo(x.dtype).eps)
    powers, samples = vander(x, order), y
    if w is not None:
        w = inexact(as_operand(w))
        if w.shape != x.shape:
            raise user_error(TypeError, f"polyfit needs a weight for each of {x.size} samples, and got shape {w.shape}")
        powers = powers * expand_dims(w, 1)
        samples = samples * (w if y.ndim == 1 else expand_dims(w, 1))
    scale = sqrt(sum_(powers * powers, 0))
    powers = powers / scale
    fitted, squares, rank, singular = lstsq(powers, samples, rcond)
    fitted = fitted / (scale if y.ndim == 1 else expand_dims(scale, 1))
    if full:
        return fitted, squares, rank, singular, rcond
    _warn_of_rank(rank, order)
    if not cov:
        return fitted
    covariance = inv(transpose(powers) @ powers) / outer(scale, scale)
    covariance = covariance if y.ndim == 1 else expand_dims(covariance, 2)
    return fitted, covariance if cov == "unscaled" else covariance * _residual_variance(squares, x.size, order)


def _residual_variance(squares: Any, n: int, order: int) -> Any:
    if n <= order:
        raise user_error(ValueError, f"The covariance of {order} coefficients needs more than {order} samples")
    return squares / (n - order)


def _warn_of_rank(rank: Any, order: int) -> None:
    try:
        poor = bool(not_equal(rank, order))
    except TrackedValueError:
        return
    if poor:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=3)
