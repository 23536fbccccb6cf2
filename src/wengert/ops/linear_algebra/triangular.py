"""Triangular systems."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core import blas, machine
from wengert.core.array import Array
from wengert.core.devices import as_payload
from wengert.core.errors import user_error
from wengert.core.kinds import case, general, keep_params
from wengert.core.large_arrays import for_stacks
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.complex_numbers import conj
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import tril, triu
from wengert.ops.shape.reshaping import expand_dims

__all__ = ["solve_triangular"]

# What every factorisation needs


def transpose_matrix(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def conjugate(x: Any) -> Any:
    return conj(x) if x.dtype.kind == "c" else x


def adjoint(x: Any) -> Any:
    return conjugate(transpose_matrix(x))


def of_vectors(x: Any, y: Any) -> Any:
    """x y^T; of single columns by plain multiplication, which is faster."""
    return x * transpose_matrix(y) if x.shape[-1] == 1 else matmul(x, transpose_matrix(y))


@cache
def factor_dtype(*dtypes: np.dtype) -> np.dtype:
    """The dtype in which NumPy factors matrices of these dtypes; an error for some."""
    return np.linalg.solve(*[np.eye(1, dtype=d) for d in (dtypes * 2)[:2]]).dtype


def inexact(x: Any) -> Any:
    """Integers as floating-point numbers, as in NumPy's linear algebra; an error for other dtypes."""
    return (
        astype(x, factor_dtype(x.dtype), copy=False) if isinstance(x, Array) else as_payload(x, factor_dtype(x.dtype))
    )


def square(name: str, x: Any) -> Any:
    """The operand of a function of square matrices."""
    x = as_operand(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise user_error(np.linalg.LinAlgError, f"{name} needs square matrices, and got shape {x.shape}")
    return inexact(x)


def same_spec(x: Spec, **params: Any) -> Spec:
    return Spec(x.shape, factor_dtype(x.dtype))


def solution_spec(x: Spec, y: Spec, *_: Spec, **params: Any) -> Spec:
    if x.shape[-1] != y.shape[-2]:
        raise user_error(
            ValueError, f"Matrices of shape {x.shape[-2:]} and right-hand sides of shape {y.shape[-2:]} do not match"
        )
    return Spec((*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), *y.shape[-2:]), factor_dtype(x.dtype, y.dtype))


def as_columns(name: str, a: Any, b: Any, solve: Callable[[Any, Any], Any]) -> Any:
    """Solve with b as a stack of matrices; a vector is one column."""
    a, b = square(name, a), as_operand(b)
    if not b.ndim:
        raise user_error(ValueError, f"{name} needs a right-hand side of at least one axis")
    vector = b.ndim == 1
    if (b.shape[0] if vector else b.shape[-2]) != a.shape[-1]:
        raise user_error(
            ValueError,
            f"{name}: a matrix of shape {a.shape} and a right-hand side of shape {b.shape} do not match",
            "A right-hand side of several axes is a stack of matrices; for a stack of vectors use b[..., None].",
        )
    b = inexact(expand_dims(b, -1) if vector else b)
    dtype = np.result_type(a.dtype, b.dtype)
    out = solve(astype(a, dtype, copy=False), astype(b, dtype, copy=False))
    return out[..., 0] if vector else out


# Triangular systems


def _triangular_impl(x: Any, y: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    dtype = factor_dtype(x.dtype, y.dtype)
    x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    trsm = lapack("trsm", dtype.char)
    if x.ndim == 2 == y.ndim and y.size and len(x) == len(y):
        return _triangular_one(trsm, x, y, lower, trans, unit_diagonal)
    spec = solution_spec(Spec.of(x), Spec.of(y))
    out = np.empty(spec.shape, dtype)
    if not out.size:
        return out
    x = np.broadcast_to(x, (*spec.shape[:-2], *x.shape[-2:]))
    y = np.broadcast_to(y, spec.shape)
    for index in np.ndindex(spec.shape[:-2]):
        out[index] = _triangular_one(trsm, x[index], y[index], lower, trans, unit_diagonal)
    return out


def _triangular_one(trsm: Callable, x: Any, y: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    """One system.

    An array whose rows lie together is read as its transpose, whose columns do: BLAS then copies nothing but y.
    """
    if not unit_diagonal and not x.diagonal().all():
        index = np.flatnonzero(x.diagonal() == 0)[0]
        raise user_error(
            np.linalg.LinAlgError, f"Singular matrix: the triangular matrix has a zero at index {index} of its diagonal"
        )
    if len(x) >= machine.current.min_rows_of_blas_triangle and (x.flags.c_contiguous or x.flags.f_contiguous):
        out = np.array(y, order="C")
        rows, is_lower, is_transposed = (x, lower, trans) if x.flags.c_contiguous else (x.T, not lower, 1 - trans)
        blas.solver(out.dtype.char)(rows, out, bool(is_lower), bool(is_transposed), bool(unit_diagonal))
        return out
    if not x.flags.f_contiguous:
        x, lower, trans = x.T, not lower, 1 - trans
    if y.flags.f_contiguous:
        return trsm(1.0, x, y, 0, lower, trans, unit_diagonal)
    return trsm(1.0, x, y.T, 1, lower, 1 - trans, unit_diagonal).T


@cache
def lapack(name: str, char: str) -> Callable:
    """A function of LAPACK or BLAS for arrays of this dtype."""
    module = import_module("scipy.linalg.blas" if name == "trsm" else "scipy.linalg.lapack")
    return getattr(module, {"f": "s", "d": "d", "F": "c", "D": "z"}[char] + name)


def _triangle(x: Any, lower: bool, unit_diagonal: bool) -> Any:
    """The part of a matrix that is read."""
    return tril(x, -1 if unit_diagonal else 0) if lower else triu(x, 1 if unit_diagonal else 0)


def _triangular_x(t: Any, x: Any, out: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    # T out = y gives T d(out) = -dT out, and for the transpose T' d(out) = -dT' out.
    pulled = triangular_solution(x, t, lower, 1 - trans, unit_diagonal)
    return _triangle(of_vectors(out, -pulled) if trans else of_vectors(-pulled, out), lower, unit_diagonal)


def _triangular_push_x(t: Any, x: Any, out: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    read = _triangle(t, lower, unit_diagonal)
    return -triangular_solution(x, matmul(transpose_matrix(read) if trans else read, out), lower, trans, unit_diagonal)


_LOWER = np.array([[1.5, 0.3, 0.2], [0.4, -1.2, 0.5], [-0.6, 0.7, 1.8]])

_solve_triangular: Callable = general(
    "solve_triangular",
    for_stacks(_triangular_impl, calls_for_each=1),
    _triangular_x,
    lambda t, x, lower, trans, unit_diagonal: triangular_solution(x, t, lower, 1 - trans, unit_diagonal),
    jvps=(
        _triangular_push_x,
        lambda t, x, lower, trans, unit_diagonal: triangular_solution(x, t, lower, trans, unit_diagonal),
    ),
    batch=keep_params,
    spec=solution_spec,
    cases=(
        case(_LOWER, (3, 2), lower=True, trans=0, unit_diagonal=False),
        case(_LOWER, (3, 1), lower=False, trans=1, unit_diagonal=False),
        case(_LOWER, (2, 3, 2), lower=True, trans=1, unit_diagonal=True),
        case(np.stack([_LOWER, _LOWER.T])[:, None], (2, 3, 1), lower=False, trans=0, unit_diagonal=False),
        case((0, 0), (0, 2), lower=True, trans=0, unit_diagonal=False),
    ),
)


def triangular_solution(x: Any, y: Any, lower: bool, trans: int = 0, unit_diagonal: bool = False) -> Any:
    """T^-1 y, or its transpose's, where T is one triangle of x."""
    return _solve_triangular(x, y, lower=lower, trans=trans, unit_diagonal=unit_diagonal)


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve `a x = b` for a triangular matrix, or each of a stack.

    With `trans` 1 ('T') or 2 ('C') for its transpose or adjoint.

    Only the triangle named by `lower` is read, and has a derivative. A vector is a `b` of one axis. Nothing is
    overwritten.

    >>> solve_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0], lower=True)
    array([1., 2.])
    """
    transposition = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}.get(trans)
    if transposition is None:
        raise user_error(ValueError, f"`trans` is 0, 1, 2, 'N', 'T' or 'C', and got {trans!r}")
    if check_finite:
        a, b = as_operand(a), as_operand(b)
        _refuse_not_finite("solve_triangular", a, b)

    def solve(a: Any, b: Any) -> Any:
        return triangular_solution(
            conjugate(a) if transposition == 2 else a, b, bool(lower), min(transposition, 1), bool(unit_diagonal)
        )

    return as_columns("solve_triangular", a, b, solve)


def _refuse_not_finite(name: str, *arrays: Any) -> None:
    """SciPy's check, for arrays that are plain numbers."""
    if not all(isinstance(x, Array) or np.isfinite(x).all() for x in arrays):
        raise user_error(ValueError, f"{name}: array must not contain infs or NaNs", "Or pass check_finite=False.")


_POSITIVE = np.array([[7.0, 0.5, 1.2], [0.7, 8.0, -0.9], [1.1, -0.8, 6.0]])
