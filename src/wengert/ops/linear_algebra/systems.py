"""Systems of linear equations, inverses and determinants.

One factorization of a matrix serves all systems with it. `factored` computes it, without a derivative, and it is passed
with the matrix to the solution and to its rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array, implements
from wengert.core.errors import user_error
from wengert.core.kinds import case, general, keep_params, nondifferentiable
from wengert.core.large_arrays import for_stacks
from wengert.core.levels import numpy_of
from wengert.core.spec import Spec
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import imag, real
from wengert.ops.elementwise.exponential import exp
from wengert.ops.elementwise.predicates import equal
from wengert.ops.linear_algebra.sparse_matrix import is_sparse, sparse
from wengert.ops.linear_algebra.triangular import (
    as_columns,
    factor_dtype,
    lapack,
    of_vectors,
    same_spec,
    solution_spec,
    square,
    transpose_matrix,
)
from wengert.ops.shape.reshaping import expand_dims

__all__ = ["det", "inv", "slogdet", "solve"]

# The factorisation of one matrix


def _factor_impl(x: Any) -> Any:
    """The factors L U of the transpose of a matrix as LAPACK packs them, in its columns, with a row for the pivots.

    The transpose, because its columns are the rows of the matrix: nothing is copied.
    """
    n, dtype = x.shape[-1], factor_dtype(x.dtype)
    packed = np.empty((*x.shape[:-2], n + 1, n), dtype)
    packed[..., :n, :] = x
    getrf = lapack("getrf", dtype.char)
    for one in packed.reshape(-1, n + 1, n) if packed.size else ():
        one[n] = getrf(one[:n].T, overwrite_a=True)[1]
    return packed


def factors_of(x: Any) -> Any:
    """The factorisation of a matrix.

    Of a stack none, an array of no rows: NumPy solves many small systems faster than one by one. Devices have none.
    """
    xp = numpy_of(x)
    return factored(x) if x.ndim == 2 and xp is np else xp.empty((0, x.shape[-1]), x.dtype)


def _is_factored(x: Any, factors: Any) -> bool:
    return x.ndim == 2 == factors.ndim and factors.size > 0


def _spread(out: Any, factors: Any, ndim: int) -> Any:
    """A result broadcast over the axes of a stack of factors, if there is one."""
    shape = np.broadcast_shapes(out.shape[: out.ndim - ndim], factors.shape[:-2]) + out.shape[out.ndim - ndim :]
    return out if out.shape == shape else np.broadcast_to(out, shape)


_INVERTIBLE = np.array([[2.0, 0.5, -0.3], [0.4, -1.5, 0.6], [-0.7, 0.8, 1.8]])
_NONE = np.empty((0, 3))

factored = nondifferentiable(
    "factored",
    for_stacks(_factor_impl, alone=True),
    takes_params=True,
    batch=keep_params,
    spec=lambda x: Spec((*x.shape[:-2], x.shape[-1] + 1, x.shape[-1]), factor_dtype(x.dtype)),
    cases=(case(_INVERTIBLE), case((2, 3, 3)), case((0, 0))),
    reason="only holds work that is done for other operations, whose derivative is in the matrix itself",
)


# Systems of linear equations


def _solve_impl(x: Any, y: Any, factors: Any, trans: int) -> Any:
    if not _is_factored(x, factors):
        return _spread(np.linalg.solve(x.swapaxes(-1, -2) if trans else x, y), factors, 2)
    n = x.shape[-1]
    if 0.0 in factors[:n].diagonal().tolist():  # much faster than `all` for few numbers, and not much slower for many
        raise user_error(np.linalg.LinAlgError, "Singular matrix")
    y = np.asarray(y, np.result_type(factors, y))
    columns = y if y.ndim == 2 else np.moveaxis(y, -2, 0).reshape(n, -1)
    getrs = lapack("getrs", np.result_type(factors, y).char)
    out, _ = getrs(factors[:n].T, factors[n].real.astype(np.int32), columns, trans=1 - trans)
    return out if y.ndim == 2 else np.moveaxis(out.reshape(n, *y.shape[:-2], y.shape[-1]), 0, -2)


def _solve_x(t: Any, x: Any, factors: Any, out: Any, trans: int) -> Any:
    # x out = y gives x d(out) = -dx out.
    pulled = solution(x, t, factors, 1 - trans)
    return of_vectors(out, -pulled) if trans else of_vectors(-pulled, out)


def _solution_spec(x: Spec, y: Spec, factors: Spec, trans: int) -> Spec:
    shape, dtype = solution_spec(x, y)
    return Spec((*np.broadcast_shapes(shape[:-2], factors.shape[:-2]), *shape[-2:]), dtype)


_solve: Callable = general(
    "solve",
    for_stacks(_solve_impl),
    _solve_x,
    lambda t, x, factors, trans: solution(x, t, factors, 1 - trans),
    None,
    inputs=("x", "y", "factors"),
    jvps=(
        lambda t, x, factors, out, trans: (
            -solution(x, matmul(transpose_matrix(t) if trans else t, out), factors, trans)
        ),
        lambda t, x, factors, trans: solution(x, t, factors, trans),
        None,
    ),
    batch=keep_params,
    spec=_solution_spec,
    cases=(
        case(_INVERTIBLE, (3, 2), _NONE, trans=0),
        case(_INVERTIBLE, (2, 3, 1), _NONE, trans=1),
        case(np.stack([_INVERTIBLE, _INVERTIBLE.T])[:, None], (2, 3, 2), _NONE, trans=0),
        case((0, 0), (0, 2), np.empty((0, 0)), trans=0),
    ),
)


def solution(x: Any, y: Any, factors: Any, trans: int = 0) -> Any:
    """x^-1 y, or with `trans` that of the transpose of x, by its factorisation."""
    return _solve(x, y, factors, trans=trans)


@implements(np.linalg.solve)
def solve(a: Any, b: Any, /) -> Any:
    """The x with `a x = b`, for a matrix or each of a stack.

    A `b` of one axis is a vector, of several a stack of matrices. `a` may be sparse: a matrix of `scipy.sparse`, or
    `wg.sparse`.

    >>> solve([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0])
    array([1., 2.])
    """
    if is_sparse(a):
        return sparse(a).solve(b)
    return as_columns("solve", a, b, lambda a, b: solution(a, b, factors_of(a)))


_inv: Callable = general(
    "inv",
    for_stacks(np.linalg.inv),
    lambda t, out: -matmul(matmul(transpose_matrix(out), t), transpose_matrix(out)),
    jvps=(lambda t, out: -matmul(matmul(out, t), out),),
    batch=keep_params,
    spec=same_spec,
    cases=(case(_INVERTIBLE), case(np.stack([_INVERTIBLE, _INVERTIBLE.T])), case(np.array([[1.5]])), case((0, 0))),
)


@implements(np.linalg.inv)
def inv(a: Any, /) -> Any:
    """The inverse of a square matrix, or of each of a stack. To solve equations, `solve` is faster and more accurate.

    >>> inv([[2.0, 0.0], [0.0, 4.0]])
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    return _inv(square("inv", a))


# Determinants


def _of_matrices(t: Any) -> Any:
    """Numbers, one for each matrix, in a shape that multiplies with the matrices."""
    return expand_dims(t, (-2, -1))


def _number_spec(x: Spec, *factors: Spec) -> Spec:
    return Spec(np.broadcast_shapes(x.shape[:-2], *[f.shape[:-2] for f in factors]), factor_dtype(x.dtype))


def _cofactor_impl(x: Any) -> Any:
    """The matrix of cofactors: from the inverse where it is accurate, else from the singular values."""
    try:
        determinant, inverse = _det_and_inverse(x)
        sizes = np.abs(inverse).sum((-2, -1)) * np.abs(x).sum((-2, -1))
        if not (sizes > 1e-3 / np.finfo(inverse.dtype).eps).any():
            return determinant[..., None, None] * inverse.swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        pass
    u, s, vh = np.linalg.svd(x)
    one = np.ones((*s.shape[:-1], 1), s.dtype)
    before = np.cumprod(np.concatenate([one, s], -1), -1)[..., :-1]
    behind = np.cumprod(np.concatenate([one, s[..., ::-1]], -1), -1)[..., -2::-1]
    sign = np.linalg.det(u) * np.linalg.det(vh)
    return np.asarray(sign[..., None, None] * ((u.conj() * (before * behind)[..., None, :]) @ vh.conj()))


def _det_and_inverse(x: Any) -> tuple[Any, Any]:
    """Both by one factorisation, if there is one matrix."""
    n = x.shape[-1]
    if x.ndim > 2 or not n:
        return np.linalg.det(x), np.linalg.inv(x)
    packed = _factor_impl(x)
    determinant = packed[:n].diagonal().prod() * packed.dtype.type((-1) ** _swaps(packed))
    inverse, info = lapack("getri", packed.dtype.char)(packed[:n].T, packed[n].real.astype(np.int32), overwrite_lu=True)
    if info:
        raise np.linalg.LinAlgError("Singular matrix")
    return determinant, inverse.T


def _swaps(packed: Any) -> int:
    """The number of row exchanges in a factorization."""
    n = packed.shape[-1]
    return int(np.count_nonzero(packed[n].real != np.arange(n)))


def _cofactor_rule(t: Any, x: Any, out: Any) -> Any:
    # C = det(x) x^-T gives dC = <x^-T, dx> C - x^-T dx^T C, and its transpose is of the same form.
    inverse = transpose_matrix(_inv(x))
    return _of_matrices((t * out).sum((-2, -1))) * inverse - matmul(matmul(out, transpose_matrix(t)), inverse)


def _cofactor_push(t: Any, x: Any, out: Any) -> Any:
    inverse = transpose_matrix(_inv(x))
    return _of_matrices((t * inverse).sum((-2, -1))) * out - matmul(matmul(inverse, transpose_matrix(t)), out)


_SQUARES = (case(_INVERTIBLE), case(np.stack([_INVERTIBLE, _INVERTIBLE.T])), case(np.array([[1.5]])), case((0, 0)))

_cofactor = general(
    "cofactor",
    for_stacks(_cofactor_impl),
    _cofactor_rule,
    jvps=(_cofactor_push,),
    batch=keep_params,
    spec=same_spec,
    cases=_SQUARES[:3],
)
_det = general(
    "det",
    for_stacks(np.linalg.det),
    lambda t, x: _of_matrices(t) * _cofactor(x),
    jvps=(lambda t, x: (t * _cofactor(x)).sum((-2, -1)),),
    batch=keep_params,
    spec=_number_spec,
    cases=_SQUARES[:3],
)


@implements(np.linalg.det)
def det(a: Any, /) -> Any:
    """The determinant of a square matrix, or of each of a stack.

    Its gradient, the matrix of cofactors, is right for singular matrices too; second derivatives need an inverse.

    >>> round(det([[1.0, 2.0], [3.0, 4.0]]), 12)
    np.float64(-2.0)
    """
    a = square("det", a)
    if isinstance(a, Array) and not a.shape[-1]:
        return numpy_of(a).ones(a.shape[:-2], a.dtype) + a.sum((-2, -1))  # constant, but a value like `a`
    return _det(a)


# The logarithm


def _sign_and_log(x: Any, factors: Any) -> tuple[Any, Any]:
    if not _is_factored(x, factors):
        sign, log = np.linalg.slogdet(x)
        return _spread(sign, factors, 0), _spread(log, factors, 0)
    n = x.shape[-1]
    diagonal = factors[:n].diagonal()
    sizes = np.abs(diagonal)
    if not sizes.all():
        return diagonal.dtype.type(0), sizes.dtype.type(-np.inf)
    return (diagonal / sizes).prod() * diagonal.dtype.type((-1) ** _swaps(factors)), np.log(sizes).sum()


def _logdet_impl(x: Any, factors: Any) -> Any:
    sign, log = _sign_and_log(x, factors)
    return (log + 1j * np.angle(sign)).astype(sign.dtype) if sign.dtype.kind == "c" else log


_logdet = general(
    "logdet",
    _logdet_impl,
    lambda t, x, factors: _of_matrices(t) * _inverse_transpose(x, factors),
    None,
    inputs=("x", "factors"),
    jvps=(lambda t, x, factors: (t * _inverse_transpose(x, factors)).sum((-2, -1)), None),
    batch=keep_params,
    spec=_number_spec,
    cases=(case(_INVERTIBLE, _NONE), case(np.stack([_INVERTIBLE, _INVERTIBLE.T]), _NONE)),
)
_det_sign = nondifferentiable(
    "det_sign",
    lambda x, y: _sign_and_log(x, y)[0],
    2,
    takes_params=True,
    batch=keep_params,
    spec=_number_spec,
    cases=(case(_INVERTIBLE, _NONE), case((2, 3, 3), _NONE)),
    reason="the sign of a real determinant is piecewise constant",
)


def _inverse_transpose(x: Any, factors: Any) -> Any:
    return solution(x, numpy_of(x).eye(x.shape[-1], dtype=x.dtype), factors, 1)


class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any


@implements(np.linalg.slogdet)
def slogdet(a: Any, /) -> SlogdetResult:
    """The sign of the determinant (for complex matrices its direction) and the logarithm of its absolute value.

    >>> slogdet([[1.0, 0.0], [0.0, -1.0]]).sign
    np.float64(-1.0)
    """
    a = square("slogdet", a)
    if not isinstance(a, Array):
        return SlogdetResult(*np.linalg.slogdet(a))
    factors = factors_of(a)
    log = _logdet(a, factors)
    if a.dtype.kind != "c":
        return SlogdetResult(_det_sign(a, factors), log)
    size = real(log)
    return SlogdetResult(where(equal(size, -np.inf), 0.0, exp(1j * imag(log))), size)
