"""Norms, and the functions of `np.linalg` that are contractions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from operator import index
from typing import Any, Never

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from wengert.core.array import Array, implements
from wengert.core.errors import user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.kinds import case, reduction
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.ops.contraction import einsum, products
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import absolute, conj
from wengert.ops.elementwise.predicates import equal, logical_or, not_equal
from wengert.ops.linear_algebra.gauge import negligible
from wengert.ops.linear_algebra.spectral import svdvals
from wengert.ops.linear_algebra.systems import inv
from wengert.ops.shape import rearranging, reshaping

__all__ = ["cross", "diagonal", "matrix_norm", "matrix_power", "multi_dot", "norm", "outer", "trace", "vector_norm"]

# Norms


def _norm_impl(x: Any, ord: float, axis: tuple[int, ...], keepdims: Any) -> Any:
    if ord != 2:
        return np.add.reduce(np.abs(x) ** ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)
    if len(axis) == x.ndim:
        return np.linalg.norm(x, keepdims=keepdims)
    return np.sqrt(np.add.reduce((x.conj() * x).real, axis=axis, keepdims=keepdims))


def _norm_rule(t: Any, x: Any, out: Any, ord: float) -> Any:
    direction = conj(x) if x.dtype.kind == "c" else x
    if ord == 2:
        return t / where(equal(out, 0), inf, out) * direction
    slope = direction / out * (absolute(x) / out) ** (ord - 2)
    return t * where(logical_or(equal(x, 0), equal(out, 0)), 0.0, slope)


_norm = reduction(
    "norm",
    _norm_impl,
    _norm_rule,
    cases=(
        case((4,), ord=2.0, axis=(0,), keepdims=False),
        case((2, 3, 2), ord=2.0, axis=(0, 2), keepdims=True),
        case((2, 3), ord=3.0, axis=(1,), keepdims=False),
        case((), ord=2.0, axis=(), keepdims=False),
        case((0, 2), ord=2.0, axis=(0,), keepdims=False),
    ),
)


@implements(np.linalg.norm)
def norm(
    x: Any, ord: Any = None, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, **foreign: Never
) -> Any:
    """The norm of vectors along one axis, or of matrices along two.

    Where the 2-norm is 0, its derivative is taken to be 0.

    >>> norm([3.0, 4.0])
    np.float64(5.0)
    """
    if foreign:
        refuse_keywords(foreign)
    x = as_operand(x)
    if not isinstance(x, Array):
        return np.linalg.norm(x, ord, axis, keepdims)
    if axis is not None and not isinstance(axis, tuple):
        try:
            axis = int(axis)
        except Exception as error:
            raise user_error(TypeError, "'axis' must be None, an integer or a tuple of integers") from error
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    if axis is None and ord is None:
        return _vector_norm(x, 2, axes, keepdims)
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, *axes, keepdims)
    raise user_error(ValueError, f"norm is for vectors (one axis) and matrices (two axes), and got {len(axes)} axes")


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm along the given axes, as of one vector.

    >>> float(vector_norm([3.0, 4.0]))
    5.0
    """
    x = as_operand(x)
    if not isinstance(x, Array):
        return np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)  # type: ignore[arg-type]  # None is fine
    return _vector_norm(x, ord, tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim), keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices in the last two axes.

    >>> float(matrix_norm([[3.0, 0.0], [0.0, 4.0]]))
    5.0
    """
    return norm(x, ord, (-2, -1), keepdims)


def _vector_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise user_error(ValueError, f"Invalid norm order {ord!r} for vectors")
    x = _inexact(x)
    if ord == inf:
        return _largest(absolute(x), axes, keepdims)
    if ord == -inf:
        return absolute(x).min(axis=axes, keepdims=keepdims)
    if ord == 0:
        return not_equal(x, 0).astype(np.finfo(x.dtype).dtype).sum(axis=axes, keepdims=keepdims)
    if ord == 1:
        return absolute(x).sum(axis=axes, keepdims=keepdims)
    return _norm(x, ord=float(ord), axis=tuple(sorted(axes)), keepdims=bool(keepdims))


def _matrix_norm(x: Any, ord: Any, row: int, column: int, keepdims: bool) -> Any:
    x = _inexact(x)
    if ord in (None, "fro", "f"):
        return _vector_norm(x, 2, (row, column), keepdims)
    if ord in (2, -2, "nuc"):
        s = svdvals(reshaping.moveaxis(x, (row, column), (-2, -1)))
        s = where(negligible(s), 0.0, s)  # a singular value of 0 has a kink: its derivative is taken to be 0
        value = (
            s.min(-1) if ord == -2 else s.max(-1) if ord == 2 and s.shape[-1] else s.sum(-1)
        )  # of an empty matrix: 0
        return reshaping.expand_dims(value, (row, column)) if keepdims else value
    if ord not in (1, -1, inf, -inf):
        raise user_error(ValueError, f"Invalid norm order {ord!r} for matrices")
    inner, outer = (row, column) if ord in (1, -1) else (column, row)
    sums = absolute(x).sum(axis=inner, keepdims=True)
    extreme = _largest(sums, (outer,), True) if ord > 0 else sums.min(axis=outer, keepdims=True)
    return extreme if keepdims else extreme.squeeze((row, column))


def _inexact(x: Any) -> Any:
    return x if x.dtype.kind in "fc" else x.astype(float)


def _largest(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The maximum of numbers that are not negative; of no numbers, 0."""
    return x.max(axis=axes, keepdims=keepdims) if all(x.shape[i] for i in axes) else x.sum(axis=axes, keepdims=keepdims)


# Contractions under their names in np.linalg

implements(np.linalg.matmul)(products.matmul)
implements(np.linalg.tensordot)(einsum.tensordot)
implements(np.linalg.vecdot)(products.vecdot)


@implements(np.linalg.outer)
def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of one vector with one of the other.

    >>> outer([1.0, 2.0], [3.0, 4.0]).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise user_error(ValueError, f"outer needs vectors, and got arrays of {x1.ndim} and {x2.ndim} axes")
    return products.outer(x1, x2)


@implements(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The vector product of 3-vectors along an axis.

    >>> cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise user_error(
            ValueError, f"cross needs vectors of 3 components, and got {x1.shape[axis]} and {x2.shape[axis]}"
        )
    return products.cross(x1, x2, axis=axis)


@implements(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of the diagonal of each matrix in the last two axes.

    >>> float(trace([[1.0, 2.0], [3.0, 4.0]]))
    5.0
    """
    return rearranging.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


@implements(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonal of each matrix in the last two axes.

    >>> diagonal([[1.0, 2.0], [3.0, 4.0]])
    array([1., 4.])
    """
    return rearranging.diagonal(x, offset=offset, axis1=-2, axis2=-1)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any]) -> Any:
    """The product of two or more matrices, in an order that saves work; the first and the last may be vectors.

    >>> multi_dot([[1.0, 2.0], np.eye(2), [3.0, 4.0]])
    array(11.)
    """
    arrays = [as_operand(x) for x in arrays]
    if len(arrays) < 2:
        raise user_error(ValueError, f"multi_dot needs at least two arrays, and got {len(arrays)}")
    ends = (0, len(arrays) - 1)
    for i, x in enumerate(arrays):
        if x.ndim != 2 and not (x.ndim == 1 and i in ends):
            raise user_error(np.linalg.LinAlgError, f"multi_dot needs matrices, and array {i} has {x.ndim} axes")
    for x, y in pairwise(arrays):
        if x.shape[-1] != y.shape[0]:
            raise user_error(ValueError, f"shapes {x.shape} and {y.shape} do not match in multi_dot")
    terms = [[i, i + 1] for i in range(len(arrays))]
    if arrays[0].ndim == 1:
        terms[0] = [1]
    if arrays[-1].ndim == 1:
        terms[-1] = [len(arrays) - 1]
    return einsum.einsum(*[part for pair in zip(arrays, terms, strict=True) for part in pair], optimize=True)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, /, n: int) -> Any:
    """A square matrix, or each of a stack, to the power of an integer, by repeated squaring.

    For n < 0 of the inverse.

    >>> matrix_power([[1, 1], [0, 1]], 3).tolist()
    [[1, 3], [0, 1]]
    """
    a = as_operand(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise user_error(np.linalg.LinAlgError, f"matrix_power needs square matrices, and got shape {a.shape}")
    if not isinstance(a, Array):
        return np.linalg.matrix_power(a, n)
    try:
        n = index(n)
    except TypeError:
        raise user_error(
            TypeError,
            f"matrix_power needs an integer as exponent, and got {n!r}",
            "For others use expm(n * logm(a)) or sqrtm(a).",
        ) from None
    if n == 1:
        return a.copy()
    if n < 0:
        a, n = inv(a), -n
    result = (
        where(True, numpy_of(a).eye(a.shape[-1], dtype=a.dtype), a) if n == 0 else None
    )  # constant, but a value like `a`
    while n:
        if n & 1:
            result = a if result is None else result @ a
        n >>= 1
        if n:
            a = a @ a
    return result
