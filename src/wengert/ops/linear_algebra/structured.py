"""Matrices with a structure, and equations with them: bands, Sylvester's equation, tensors, blocks, constant diagonals.

A band is stored by its diagonals, as in LAPACK and SciPy: `ab[u + i - j, j]` is element i, j of a matrix with l
diagonals below the main one and u above. Numbers in the corners of `ab`, outside the matrix, are not read, and their
derivative is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core.array import Array, implements
from wengert.core.errors import user_error, user_line
from wengert.core.kinds import case, general, keep_params, linear, multilinear
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.elementwise.complex_numbers import conj
from wengert.ops.linear_algebra.systems import inv, solve
from wengert.ops.linear_algebra.triangular import (
    factor_dtype,
    inexact,
    lapack,
    of_vectors,
    solution_spec,
    square,
    transpose_matrix,
)
from wengert.ops.shape.rearranging import concatenate, flip
from wengert.ops.shape.reshaping import broadcast_to, expand_dims, reshape, transpose

__all__ = ["block_diag", "solve_banded", "solve_sylvester", "tensorinv", "tensorsolve", "toeplitz"]

# Bands. With a banded matrix A, `banded` is A y, and `band_of_product` has the elements of x y^T at the indices of the
# band.


def _diagonals(below: int, above: int, n: int) -> list[tuple[int, slice, slice]]:
    """For each diagonal, its row in `ab`, and the rows and columns of the matrix that it covers."""
    offsets = [(d, d - above) for d in range(below + above + 1) if abs(d - above) < n]
    return [(d, slice(max(k, 0), n + min(k, 0)), slice(max(-k, 0), n - max(k, 0))) for d, k in offsets]


def _banded_impl(x: Any, y: Any, below: int, above: int, trans: int) -> Any:
    shape = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), *y.shape[-2:])
    out = numpy_of(x).zeros(shape, np.result_type(x.dtype, y.dtype))
    for d, rows, columns in _diagonals(below, above, x.shape[-1]):
        into, read = (columns, rows) if trans else (rows, columns)
        out[..., into, :] += x[..., d, columns, None] * y[..., read, :]
    return out


def _band_of_product_impl(x: Any, y: Any, below: int, above: int) -> Any:
    n = x.shape[-2]
    shape = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), below + above + 1, n)
    out = numpy_of(x).zeros(shape, np.result_type(x.dtype, y.dtype))
    for d, rows, columns in _diagonals(below, above, n):
        out[..., d, columns] = np.einsum("...ik,...ik->...i", x[..., rows, :], y[..., columns, :])
    return out


_banded: Callable = multilinear(
    "banded",
    _banded_impl,
    lambda t, y, below, above, trans: (
        _band_of_product(y, t, below=below, above=above) if trans else _band_of_product(t, y, below=below, above=above)
    ),
    lambda t, x, below, above, trans: _banded(x, t, below=below, above=above, trans=1 - trans),
    takes_params=True,
    batch=keep_params,
    cases=(
        case((4, 5), (5, 2), below=2, above=1, trans=0),
        case((2, 3, 4), (4, 1), below=0, above=2, trans=1),
        case((4, 2), (3, 2, 2), below=3, above=0, trans=0),
        case((3, 0), (0, 2), below=1, above=1, trans=0),
    ),
)
_band_of_product: Callable = multilinear(
    "band_of_product",
    _band_of_product_impl,
    lambda t, y, below, above: _banded(t, y, below=below, above=above, trans=0),
    lambda t, x, below, above: _banded(t, x, below=below, above=above, trans=1),
    takes_params=True,
    batch=keep_params,
    cases=(
        case((5, 2), (5, 2), below=2, above=1),
        case((2, 4, 1), (4, 1), below=0, above=2),
        case((2, 2), (2, 2), below=3, above=0),
    ),
)


def _solve_banded_impl(x: Any, y: Any, below: int, above: int, trans: int) -> Any:
    spec = _banded_spec(Spec.of(x), Spec.of(y), below, above, trans)
    out = np.empty(spec.shape, spec.dtype)
    if not out.size:
        return out
    x, y = np.broadcast_to(x, (*spec.shape[:-2], *x.shape[-2:])), np.broadcast_to(y, spec.shape)
    factor, solve = lapack("gbtrf", spec.dtype.char), lapack("gbtrs", spec.dtype.char)
    room = np.zeros(
        (2 * below + above + 1, x.shape[-1]), spec.dtype, order="F"
    )  # more above: exchanges of rows fill in
    for index in np.ndindex(spec.shape[:-2]):
        room[below:] = x[index]
        factors, pivots, info = factor(room, below, above)
        if info > 0:
            raise user_error(np.linalg.LinAlgError, "Singular matrix")
        out[index] = solve(factors, below, above, y[index], pivots, trans)[0]
    return out


def _banded_spec(x: Spec, y: Spec, below: int, above: int, trans: int) -> Spec:
    return solution_spec(x, y)


def _solve_banded_x(t: Any, x: Any, out: Any, below: int, above: int, trans: int) -> Any:
    # A out = y gives A d(out) = -dA out.
    pulled = _solve_banded(x, t, below=below, above=above, trans=1 - trans)
    return -(
        _band_of_product(out, pulled, below=below, above=above)
        if trans
        else _band_of_product(pulled, out, below=below, above=above)
    )


_BAND = np.array([[9.0, 0.5, -0.3, 0.8], [3.0, -4.0, 5.0, 4.0], [0.6, 1.2, 0.9, 7.0]])
_solve_banded: Callable = general(
    "solve_banded",
    _solve_banded_impl,
    _solve_banded_x,
    lambda t, x, below, above, trans: _solve_banded(x, t, below=below, above=above, trans=1 - trans),
    jvps=(
        lambda t, x, out, below, above, trans: (
            -_solve_banded(
                x, _banded(t, out, below=below, above=above, trans=trans), below=below, above=above, trans=trans
            )
        ),
        lambda t, x, below, above, trans: _solve_banded(x, t, below=below, above=above, trans=trans),
    ),
    batch=keep_params,
    spec=_banded_spec,
    cases=(
        case(_BAND, (4, 2), below=1, above=1, trans=0),
        case(_BAND[1:], (2, 4, 1), below=1, above=0, trans=1),
        case(np.stack([_BAND[[0, 0, 1]], _BAND[[2, 0, 1]]]), (4, 2), below=0, above=2, trans=0),
        case(_BAND[:, 1:2], (1, 1), below=1, above=1, trans=0),
        case((2, 0), (0, 2), below=1, above=0, trans=0),
    ),
)


def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The x with `a x = b` for a banded matrix, or each of a stack, stored by its diagonals.

    A `b` of one axis is a vector.

    `l_and_u` are the numbers of diagonals below and above the main one, and `ab[u + i - j, j] == a[i, j]`. Nothing is
    overwritten.

    >>> solve_banded((1, 0), [[2.0, 1.0], [1.0, 0.0]], [2.0, 3.0])
    array([1., 2.])
    """
    below, above = map(int, l_and_u)
    ab, b = as_operand(ab), as_operand(b)
    if ab.ndim < 2 or ab.shape[-2] != below + above + 1:
        raise user_error(
            ValueError,
            f"solve_banded needs {below + above + 1} diagonals for (l, u) = {(below, above)}, and got shape {ab.shape}",
        )
    vector = b.ndim == 1
    if not b.ndim or b.shape[-1 if vector else -2] != ab.shape[-1]:
        raise user_error(ValueError, f"solve_banded: shapes {ab.shape} and {b.shape} do not match")
    if check_finite and not all(isinstance(x, Array) or np.isfinite(x).all() for x in (ab, b)):
        raise user_error(ValueError, "solve_banded: array must not contain infs or NaNs", "Or pass check_finite=False.")
    out = _solve_banded(inexact(ab), inexact(expand_dims(b, -1) if vector else b), below=below, above=above, trans=0)
    return out[..., 0] if vector else out


# Sylvester's equation


def _sylvester_impl(x: Any, y: Any, q: Any, of: str) -> Any:
    spec = _sylvester_spec(Spec.of(x), Spec.of(y), Spec.of(q), of)
    out = np.empty(spec.shape, spec.dtype)
    leading = spec.shape[:-2]
    x, y, q = [np.broadcast_to(a, (*leading, *a.shape[-2:])).astype(spec.dtype, copy=False) for a in (x, y, q)]
    for index in np.ndindex(leading) if out.size else ():
        out[index] = _sylvester_one(x[index], y[index], q[index], of)
    return out


def _sylvester_one(x: np.ndarray, y: np.ndarray, q: np.ndarray, of: str) -> np.ndarray:
    """With x = u r u^H and y = v s v^H triangular, r z + z s = u^H q v."""
    schur = import_module("scipy.linalg").schur
    r, u = schur(x)
    s, v = (r, u) if np.array_equal(x, y) else schur(y)
    return u @ triangular_sylvester(r, s, u.conj().T @ q @ v, of) @ v.conj().T


def triangular_sylvester(r: np.ndarray, s: np.ndarray, q: np.ndarray, of: str, is_singular: bool = False) -> np.ndarray:
    """The z with r z + z s = q for upper triangular matrices, real ones with blocks of two on the diagonal.

    If the equation may be singular, z is one solution of it, or of one nearby.
    """
    z, scale, info = lapack("trsyl", r.dtype.char)(r, s, q)
    if info and not is_singular:
        raise np.linalg.LinAlgError(_SINGULAR[of].format(line=user_line()))
    return z / scale


_SINGULAR = {
    "logm": "logm is not defined for a matrix with equal eigenvalues on both sides of the negative axis, at {line}.",
    "solve_sylvester": (
        "solve_sylvester: the equation a x + x b = q has no unique solution, because an eigenvalue of a is that of -b, "
        "at {line}."
    ),
    "sqrtm": (
        "The derivative of sqrtm does not exist where the matrix is singular, or has equal eigenvalues on the negative "
        "axis, at {line}. "
        "Keep its eigenvalues away from zero, such as by adding a small multiple of the identity."
    ),
}


def _sylvester_spec(x: Spec, y: Spec, q: Spec, of: str) -> Spec:
    leading = np.broadcast_shapes(x.shape[:-2], y.shape[:-2], q.shape[:-2])
    return Spec((*leading, *q.shape[-2:]), factor_dtype(factor_dtype(x.dtype, y.dtype), q.dtype))


_LEFT = np.array([[3.0, 0.8, -0.3], [-0.6, 4.0, 0.5], [0.4, -0.7, 2.5]])
_RIGHT = np.array([[2.0, 1.5], [-1.5, 1.0]])
_sylvester: Callable = general(
    "solve_sylvester",
    _sylvester_impl,
    lambda t, x, y, out, of: -of_vectors(sylvester_solution(transpose_matrix(x), transpose_matrix(y), t, of), out),
    lambda t, x, y, out, of: (
        -(transpose_matrix(out) @ sylvester_solution(transpose_matrix(x), transpose_matrix(y), t, of))
    ),
    lambda t, x, y, of: sylvester_solution(transpose_matrix(x), transpose_matrix(y), t, of),
    inputs=("x", "y", "q"),
    jvps=(
        lambda t, x, y, out, of: -sylvester_solution(x, y, t @ out, of),
        lambda t, x, y, out, of: -sylvester_solution(x, y, out @ t, of),
        lambda t, x, y, of: sylvester_solution(x, y, t, of),
    ),
    batch=keep_params,
    spec=_sylvester_spec,
    cases=(
        case(_LEFT, _RIGHT, (3, 2), of="solve_sylvester"),
        case(np.stack([_LEFT, _LEFT.T]), _RIGHT, (3, 2), of="solve_sylvester"),
        case(_LEFT, np.stack([_LEFT, _LEFT.T])[:, None], (2, 3, 3), of="solve_sylvester"),
        case((0, 0), _RIGHT, (0, 2), of="solve_sylvester"),
    ),
)


def sylvester_solution(a: Any, b: Any, q: Any, of: str) -> Any:
    """The x with `a x + x b = q`; `of` names the function that an error is about."""
    return _sylvester(a, b, q, of=of)


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The x with `a x + x b = q`, for matrices or stacks of them.

    It is an error if `a` has an eigenvalue of `-b`.

    >>> solve_sylvester([[1.0]], [[3.0]], [[8.0]])
    array([[2.]])
    """
    a, b, q = square("solve_sylvester", a), square("solve_sylvester", b), as_operand(q)
    if q.ndim < 2 or q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise user_error(ValueError, f"solve_sylvester: shapes {a.shape}, {b.shape} and {q.shape} do not match")
    return sylvester_solution(a, b, inexact(q), "solve_sylvester")


# Equations of tensors


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The x with `tensordot(a, x, x.ndim) == b`; the given axes of `a` are moved to its end first.

    >>> tensorsolve([[[2.0, 0.0]], [[1.0, 1.0]]], [[2.0], [3.0]])
    array([1., 2.])
    """
    a, b = as_operand(a), as_operand(b)
    if axes is not None:
        a = transpose(a, [k for k in range(a.ndim) if k not in axes] + list(axes))
    shape = a.shape[b.ndim :]
    n = math.prod(shape)
    if a.size != n**2 or b.size != n:
        raise user_error(
            np.linalg.LinAlgError, f"tensorsolve needs as many equations as unknowns, and got {a.shape} and {b.shape}"
        )
    return reshape(solve(reshape(a, (n, n)), reshape(b, (n,))), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of an array for `tensordot(a, ., ind)`.

    The first `ind` axes of `a` are the rows of a matrix, the others its columns.

    >>> tensorinv([[[2.0], [0.0]], [[0.0], [4.0]]], ind=1).shape
    (2, 1, 2)
    """
    a = as_operand(a)
    if ind <= 0:
        raise user_error(ValueError, f"tensorinv: `ind` must be positive, and got {ind}")
    rows, columns = a.shape[:ind], a.shape[ind:]
    return reshape(inv(reshape(a, (math.prod(rows), math.prod(columns)))), columns + rows)


# Blocks and constant diagonals


def block_diag(*arrs: Any) -> Any:
    """A matrix with the given ones along its diagonal and zeros elsewhere; a vector is one row.

    Stacks of matrices give a stack.

    >>> block_diag([[1.0, 2.0]], 3.0)
    array([[1., 2., 0.],
           [0., 0., 3.]])
    """
    blocks = [as_operand(x) for x in arrs or ([],)]
    blocks = [reshape(x, (1,) * (2 - x.ndim) + x.shape) if x.ndim < 2 else x for x in blocks]
    leading = np.broadcast_shapes(*[x.shape[:-2] for x in blocks])
    dtype, width, before, rows = np.result_type(*[x.dtype for x in blocks]), sum([x.shape[-1] for x in blocks]), 0, []
    for x in blocks:
        height, own = x.shape[-2:]
        x = x if x.shape[:-2] == leading else broadcast_to(x, (*leading, height, own))
        left, right = [numpy_of(x).zeros((*leading, height, k), dtype) for k in (before, width - before - own)]
        rows.append(concatenate([left, x, right], -1))
        before += own
    return concatenate(rows, -2)


def _constant_diagonals_impl(x: Any, rows: int) -> Any:
    """The matrix with these diagonals, from the bottom left to the top right corner."""
    windows = np.lib.stride_tricks.sliding_window_view(x, x.shape[-1] - rows + 1, axis=-1)
    return windows[..., ::-1, :].copy()


def _diagonal_sums_impl(x: Any) -> Any:
    """The sums along the diagonals, from the bottom left to the top right corner.

    The rows, from the last one on, are padded to one more element than there are diagonals. Reshaped to rows without
    that element, each row moves to the right by one more than the row before.
    """
    *leading, m, n = x.shape
    length = m + n - 1
    spread = numpy_of(x).zeros((*leading, m, length + 1), x.dtype)
    spread[..., :n] = x[..., ::-1, :]
    return spread.reshape(*leading, m * (length + 1))[..., : m * length].reshape(*leading, m, length).sum(-2)


_constant_diagonals: Callable = linear(
    "constant_diagonals",
    _constant_diagonals_impl,
    lambda t: _diagonal_sums(t),
    batch=keep_params,
    cases=(case((5,), rows=2), case((2, 4), rows=4), case((3,), rows=1), case((1,), rows=1)),
)
_diagonal_sums: Callable = linear(
    "diagonal_sums",
    _diagonal_sums_impl,
    lambda t, x_spec: _constant_diagonals(t, rows=x_spec.shape[-2]),
    batch=keep_params,
    cases=(case((2, 4)), case((3, 3, 2)), case((1, 1))),
)


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix of constant diagonals with first column `c` and first row `r`, whose first number is not read.

    Without `r`, the row is the conjugate of `c`. For stacks of columns and rows, a stack of matrices.

    >>> toeplitz([1.0, 2.0], [1.0, 3.0, 4.0])
    array([[1., 3., 4.],
           [2., 1., 3.]])
    """
    c = as_operand(c)
    c = reshape(c, (1,)) if not c.ndim else c
    r = conj(c) if r is None else as_operand(r)
    r = reshape(r, (1,)) if not r.ndim else r
    leading, (m, n) = np.broadcast_shapes(c.shape[:-1], r.shape[:-1]), (c.shape[-1], r.shape[-1])
    c, r = [x if x.shape[:-1] == leading else broadcast_to(x, (*leading, x.shape[-1])) for x in (c, r)]
    if not m or not n:
        return numpy_of(c).zeros((*leading, m, n), np.result_type(c.dtype, r.dtype))
    return _constant_diagonals(concatenate([flip(c, -1), r[..., 1:]], -1), rows=m)
