"""The exponential, the square root and the logarithm of matrices.

The derivative of a function f of matrices along e, L(x, e), stands in f([[x, e], [0, x]]) = [[f(x), L(x, e)], [0,
f(x)]], and its transpose is L(x^T, .). The exponential and the logarithm have it as an operation, whose derivative is
of the same form one size up: that gives all orders. For the root r it is the solution of r d + d r = e. Power series
are matrices too, with blocks that are constant along diagonals: f of such a matrix has the coefficients of f along a
curve in its first row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.definition import Case
from wengert.core.errors import user_error
from wengert.core.kinds import case, general, keep_params
from wengert.core.levels import numpy_of
from wengert.core.spec import Spec
from wengert.ops.linear_algebra.structured import sylvester_solution, triangular_sylvester
from wengert.ops.linear_algebra.triangular import factor_dtype, lapack, same_spec, square, transpose_matrix
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import broadcast_to

__all__ = ["expm", "logm", "sqrtm"]


def _each_matrix(function: Callable, *stacks: Any) -> Any:
    """A function of single matrices, on stacks that broadcast.

    The result has the dtype in which NumPy factors such matrices.
    """
    shape = np.broadcast_shapes(*[x.shape for x in stacks])
    dtype = factor_dtype(*[x.dtype for x in stacks])
    out = np.empty(shape, dtype)
    stacks = tuple(
        [
            np.broadcast_to(x, shape).astype(dtype if len(stacks) == 1 else factor_dtype(x.dtype), copy=False)
            for x in stacks
        ]
    )
    for index in np.ndindex(shape[:-2]) if out.size else ():
        out[index] = function(*[x[index] for x in stacks])
    return out


# Blocks


def _align_stacks(*stacks: Any) -> list:
    """Stacks of matrices with the same axes in front, so that they can be joined."""
    leading = np.broadcast_shapes(*[x.shape[:-2] for x in stacks])
    return [x if x.shape[:-2] == leading else broadcast_to(x, (*leading, *x.shape[-2:])) for x in stacks]


def _zeros(like: Any) -> np.ndarray:
    return numpy_of(like).zeros(like.shape, like.dtype)


def _twice(x: Any, e: Any) -> Any:
    """The block matrix [[x, e], [0, x]]."""
    x, e = _align_stacks(x, e)
    return concatenate([concatenate([x, e], -1), concatenate([_zeros(x), x], -1)], -2)


def _corner(x: Any, n: int) -> Any:
    """The block at the end of the first n rows."""
    return x[..., :n, x.shape[-1] - n :]


def _of_series(operation: Callable) -> Callable:
    """The recurrence of Taylor mode for a function of matrices.

    Coefficient k is in the corner, if the blocks in the first row of the argument are its coefficients.
    """

    def recurrence(*series: Any) -> Callable:
        def coefficient(k: int, _: Any) -> Any:
            return _corner(operation(*[_series_as_blocks(terms, k) for terms in series]), series[0][0].shape[-1])

        return coefficient

    return recurrence


def _series_as_blocks(terms: Any, k: int) -> Any:
    none = _zeros(terms[0])
    blocks = _align_stacks(*[none if terms[i] is None else terms[i] for i in range(k + 1)])
    rows = [concatenate([*[_zeros(blocks[0])] * i, *blocks[: k + 1 - i]], -1) for i in range(k + 1)]
    return concatenate(rows, -2)


# A function and its derivative, which is an operation of its own


def _frechet_spec(x: Spec, e: Spec) -> Spec:
    return Spec(np.broadcast_shapes(x.shape, e.shape), factor_dtype(x.dtype, e.dtype))


def _matrix_function(
    name: str, impl: Callable, frechet_impl: Callable, arguments: Sequence[Any]
) -> tuple[Callable, Callable]:
    """Enter a function of matrices in the table, and as `name`_frechet its derivative L(x, e) at x along e."""
    first = arguments[0]

    def second(x: Any, e: Any, h: Any) -> Any:
        """The second derivative of the function at x along e and h.

        It is symmetric in them, and its transpose in h is that at x^T, e^T.
        """
        return _corner(frechet(_twice(x, e), _twice(h, numpy_of(h).zeros(h.shape, h.dtype))), x.shape[-1])

    frechet: Callable = general(
        f"{name}_frechet",
        lambda x, e: _each_matrix(frechet_impl, x, e),
        lambda t, x, e: second(transpose_matrix(x), transpose_matrix(e), t),
        lambda t, x: frechet(transpose_matrix(x), t),
        inputs=("x", "e"),
        jvps=(lambda t, x, e: second(x, e, t), lambda t, x: frechet(x, t)),
        taylor=_of_series(lambda x, e: frechet(x, e)),
        batch=keep_params,
        spec=_frechet_spec,
        cases=(case(first, first.shape), case(first, (2, *first.shape)), case((0, 0), (0, 0))),
    )
    operation: Callable = general(
        name,
        lambda x: _each_matrix(impl, x),
        lambda t, x: frechet(transpose_matrix(x), t),
        jvps=(lambda t, x: frechet(x, t),),
        taylor=_of_series(lambda x: operation(x)),
        batch=keep_params,
        spec=same_spec,
        cases=_cases(arguments),
    )
    return operation, frechet


def _cases(arguments: Sequence[Any]) -> tuple[Case, ...]:
    return (*[case(x) for x in arguments], case(arguments[0][:1, :1]), case((0, 0)))


def _linalg() -> Any:
    return import_module("scipy.linalg")


# The exponential


def _exponential_frechet(x: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The derivative of the exponential from the block matrix, with e scaled so that x decides about its norm.

    Large matrices of moderate norm by SciPy's function for it, which costs a third but squares as often as the norm of
    x asks for, even if its powers are small.
    """
    n, size = x.shape[-1], np.abs(e).sum(-2).max()
    if not 0 < size < np.inf:
        return np.full(e.shape, 0 if size == 0 else np.nan)
    if n >= machine.current.min_rows_of_frechet_recurrence and np.abs(x).sum(-2).max() < 100:
        return _linalg().expm_frechet(x, e, compute_expm=False, check_finite=False)
    return size * _linalg().expm(np.block([[x, e / size], [np.zeros_like(x), x]]))[:n, n:]


_GENERAL = np.array([[0.5, 1.2, -0.3], [-0.8, 0.2, 0.6], [0.4, -0.7, -0.9]])
_DEFECTIVE = np.array([[0.7, 1.0, 0.2], [0.0, 0.7, -0.5], [0.0, 0.0, 0.7]])
_expm, _expm_frechet = _matrix_function(
    "expm", lambda x: _linalg().expm(x), _exponential_frechet, (_GENERAL, np.stack([_GENERAL.T, _DEFECTIVE]))
)


def expm(A: Any) -> Any:
    """The exponential of a square matrix, or of each of a stack.

    >>> expm([[0.0, 1.0], [0.0, 0.0]])
    array([[1., 1.],
           [0., 1.]])
    """
    return _expm(square("expm", A))


# The logarithm


def _schur(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An upper triangular matrix t and a unitary u with x = u t u^H, real if x and its eigenvalues are.

    Eigenvalues of a matrix that is [[y, e], [0, y]], or its transpose, are pairs that rounding would tear apart, to two
    sides of the negative axis at worst: so this is made of that of y.
    """
    n = x.shape[-1] // 2
    if n and 2 * n == x.shape[-1] and np.array_equal(x[:n, :n], x[n:, n:]):
        above, below = x[:n, n:], x[n:, :n]
        if not below.any() or not above.any():
            t, u = _schur(x[:n, :n])
            zero, e = np.zeros_like(t), u.conj().T @ (below if below.any() else above) @ u
            pair = [[zero, u], [u, zero]] if below.any() else [[u, zero], [zero, u]]
            return np.block([[t, e], [zero, t]]), np.block(pair)
    if np.array_equal(x, np.triu(x)):
        return x, np.eye(x.shape[-1], dtype=x.dtype)
    t, u = _linalg().schur(_as_real(x))
    if not np.array_equal(t, np.triu(t)):
        t, u = _linalg().rsf2csf(t, u)
    return (t, u) if x.dtype.kind != "c" else (t.astype(x.dtype), u.astype(x.dtype))


def _as_real(x: np.ndarray) -> np.ndarray:
    """A matrix of complex dtype as a real one, if it is real.

    Then eigenvalues on the negative axis are computed to be on it, not beside it.
    """
    return x.real if x.dtype.kind == "c" and not x.imag.any() else x


def _logarithm_schur(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The triangular form for the logarithm, in double precision."""
    t, u = _schur(x.astype(np.result_type(x, np.float64), copy=False))
    eigenvalues = t.diagonal()
    if not eigenvalues.all():
        raise user_error(np.linalg.LinAlgError, "logm of a singular matrix does not exist")
    if x.dtype.kind != "c" and np.any((eigenvalues.real < 0) & (eigenvalues.imag == 0)):
        raise _not_real("logm")
    return t + 0.0, u  # zeros are positive then, and so is the imaginary part on the negative axis


def _not_real(name: str) -> np.linalg.LinAlgError:
    return user_error(
        np.linalg.LinAlgError,
        f"{name} of a real matrix with negative eigenvalues is complex",
        "The dtype of a result does not depend on numbers here: for the complex result, pass a complex matrix, such as "
        "a.astype(complex).",
    )


def _back(u: np.ndarray, t: np.ndarray, *given: np.ndarray) -> np.ndarray:
    """u t u^H, real if u and t are."""
    out = u @ t @ u.conj().T
    return out if any(x.dtype.kind == "c" for x in given) else out.real


def _root_of_triangle(t: np.ndarray, of: str = "logm", is_singular: bool = False) -> np.ndarray:
    """The principal square root of an upper triangular matrix, by halves.

    The root of [[a, b], [0, d]] is [[p, q], [0, r]] with p q + q r = b.

    Where the matrix is singular, there may be no q, or many; one of them is taken then, which the caller has to check.
    """
    n = t.shape[-1]
    if n == 1:
        return np.sqrt(t)
    k, out = n // 2, np.zeros_like(t)
    out[:k, :k], out[k:, k:] = [_root_of_triangle(part, of, is_singular) for part in (t[:k, :k], t[k:, k:])]
    out[:k, k:] = triangular_sylvester(out[:k, :k], out[k:, k:], t[:k, k:], of, is_singular)
    return out


def _roots_to_one(t: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Square roots of an upper triangular matrix, each of the one before, and x, the last less 1, which is small.

    r - 1 is (r^2 - 1) (r + 1)^-1, so that no digits cancel.
    """
    roots: list[np.ndarray] = []
    one, solve = np.eye(t.shape[-1], dtype=t.dtype), lapack("trsm", t.dtype.char)
    x = t - one
    while np.abs(x).sum(-2).max() > 0.25:
        roots.append(_root_of_triangle(roots[-1] if roots else t))
        x = solve(1.0, roots[-1] + one, x, 1)
    return roots, x


# log(1 + x) is the integral of x / (1 + b x) over b from 0 to 1, in which seven points give all digits where the norm
# of x is at most 1/4.
_POINTS, _WEIGHTS = (np.polynomial.legendre.leggauss(7) + np.array([[1.0], [0.0]])) / 2


def _logarithm(x: np.ndarray) -> np.ndarray:
    """The principal logarithm.

    SciPy's function draws from NumPy's global generator, so that the last digits differ from call to call.
    """
    t, u = _logarithm_schur(x)
    roots, y = _roots_to_one(t)
    one, solve = np.eye(t.shape[-1], dtype=t.dtype), lapack("trsm", t.dtype.char)
    out = sum([solve(w, one + b * y, y) for b, w in zip(_POINTS, _WEIGHTS, strict=True)]) * 2.0 ** len(roots)
    np.fill_diagonal(out, np.log(t.diagonal()))
    return _back(u, out, x)


def _logarithm_frechet(x: np.ndarray, e: np.ndarray) -> np.ndarray:
    t, u = _logarithm_schur(x)
    moved = u.conj().T @ e @ u
    t = t.astype(moved.dtype, copy=False)
    roots, y = _roots_to_one(t)
    for root in roots:
        moved = triangular_sylvester(root, root, moved, "logm")
    one, solve, out = np.eye(t.shape[-1], dtype=t.dtype), lapack("trsm", t.dtype.char), np.zeros_like(moved)
    for b, w in zip(_POINTS, _WEIGHTS, strict=True):
        out += solve(w, one + b * y, solve(1.0, one + b * y, moved), 1)
    return _back(u, out * 2.0 ** len(roots), x, e)


_POSITIVE = np.array([[3.0, 0.8, -0.3], [-0.6, 4.0, 0.5], [0.4, -0.7, 2.5]])
_CONFLUENT = 2.5 * np.eye(3) + _DEFECTIVE
_logm, _logm_frechet = _matrix_function(
    "logm", _logarithm, _logarithm_frechet, (_POSITIVE, np.stack([_POSITIVE.T, _CONFLUENT]))
)


def logm(A: Any) -> Any:
    """The principal logarithm of a square matrix, or of each of a stack.

    That of a real matrix with negative eigenvalues is complex, and an error unless the matrix is of a complex dtype;
    that of a singular matrix does not exist.

    >>> logm([[1.0, 2.0], [0.0, 1.0]])
    array([[0., 2.],
           [0., 0.]])
    """
    return _logm(square("logm", A))


# The square root


def _root(x: np.ndarray) -> np.ndarray:
    """The principal square root.

    With SciPy's function, rounding decides whether a singular matrix is noticed and whether the result is complex.
    """
    t, u = _schur(x)
    eps, size, is_exact = np.finfo(t.dtype).eps, np.abs(t).max(), np.array_equal(t, x)
    t, rounding = t + 0.0, 0.0 if is_exact else (10 + len(t)) * eps * size  # zeros are positive then: roots of -1 are i
    eigenvalues = t.diagonal()
    is_positive = (eigenvalues.real >= 0) & (eigenvalues.imag == 0)
    if x.dtype.kind != "c" and np.any((eigenvalues.imag == 0) & (eigenvalues.real < -rounding)):
        raise _not_real("sqrtm")
    zeros = np.flatnonzero(np.abs(eigenvalues) <= rounding)
    if zeros.size:
        among = np.ix_(zeros, zeros)
        noise = (np.abs(t[among]) <= rounding) & ~np.diag(is_positive[zeros])
        t[among] = np.where(noise, 0, t[among])
    root = _root_of_triangle(t, "sqrtm", bool(zeros.size))
    if zeros.size and not np.abs(root @ root - t).max() <= np.sqrt(eps) * size:
        raise user_error(np.linalg.LinAlgError, "sqrtm: this singular matrix has no square root")
    return _back(u, root, x)


_sqrtm: Callable = general(
    "sqrtm",
    lambda x: _each_matrix(_root, x),
    lambda t, out: sylvester_solution(transpose_matrix(out), transpose_matrix(out), t, "sqrtm"),
    jvps=(lambda t, out: sylvester_solution(out, out, t, "sqrtm"),),
    batch=keep_params,
    spec=same_spec,
    cases=_cases((_POSITIVE, np.stack([_POSITIVE.T, _CONFLUENT]))),
)


def sqrtm(A: Any) -> Any:
    """The principal square root of a square matrix, or of each of a stack.

    It is the r with `r r = A` whose eigenvalues have no negative real part.

    That of a real matrix with negative eigenvalues is complex, and an error unless the matrix is of a complex dtype.
    Singular matrices may have a root; its derivative does not exist, and asking for it is an error.

    >>> sqrtm([[4.0, 0.0], [0.0, 9.0]])
    array([[2., 0.],
           [0., 3.]])
    """
    return _sqrtm(square("sqrtm", A))
