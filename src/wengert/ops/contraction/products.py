"""Products of vectors and matrices, and stacks of them.

`matmul` is the primitive; what goes beyond products of matrices is written with `tensordot`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert.core import machine
from wengert.core.array import implements
from wengert.core.errors import user_error
from wengert.core.kinds import case, describe, keep_params, multilinear
from wengert.core.large_arrays import for_products
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.ops.contraction.einsum import tensordot
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.elementwise.complex_numbers import conj
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import expand_dims, moveaxis

__all__ = ["cross", "dot", "inner", "matmul", "matvec", "outer", "vdot", "vecdot", "vecmat"]

# Matrix products


def _matmul_x(t: Any, x_spec: Any, y: Any) -> Any:
    ndim = len(x_spec.shape)
    if y.ndim == 2:
        if ndim <= 2:
            return t @ y.T
        return (_rows(t) @ y.T).reshape(x_spec.shape)  # one product, not a stack of small ones
    if y.ndim == 1:
        return t * y if ndim == 1 else expand_dims(t, -1) * y
    if ndim == 1:
        return (y @ expand_dims(t, -1)).squeeze(-1)
    if ndim == 2:
        stack = (*range(y.ndim - 2), y.ndim - 1)
        return tensordot(t, y, (stack, stack))  # sums over the stack as it multiplies
    return matmul(t, y.swapaxes(-1, -2))


def _matmul_y(t: Any, x: Any, y_spec: Any) -> Any:
    ndim = len(y_spec.shape)
    if x.ndim == 2:
        return x.T @ t
    if x.ndim == 1:
        return t * x if ndim == 1 else expand_dims(x, -1) * expand_dims(t, -2)
    if ndim == 1:
        return t.reshape(t.size) @ _rows(x)
    if ndim == 2:
        return _rows(x).T @ _rows(t)
    return matmul(x.swapaxes(-1, -2), t)


def _rows(x: Any) -> Any:
    """A stack of matrices as one matrix of all their rows."""
    return x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))


def _matmul_spec(x: Any, y: Any) -> Spec:
    """The shape of a product: NumPy checks the matrices, on stacks of one; the stacks broadcast."""
    one = [np.broadcast_to(np.zeros((), o.dtype), o.shape[max(o.ndim - 2, 0) :]) for o in (x, y)]
    most = machine.current.max_elements_multiplied_for_shape
    out = np.matmul(*one) if all(a.size <= most for a in one) else _product_of_shapes(*one)
    return Spec((*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), *out.shape), out.dtype)


def _product_of_shapes(x: Any, y: Any) -> Any:
    """An array with the shape and dtype of a matrix product, which costs nothing."""
    if x.shape[-1] != y.shape[0]:
        return np.matmul(x, y)  # raises
    shape = x.shape[:-1] + y.shape[1:]
    return np.broadcast_to(np.zeros((), np.result_type(x, y)), shape)


matmul = multilinear(
    "matmul",
    for_products(np.matmul),
    _matmul_x,
    _matmul_y,
    spec=_matmul_spec,
    cases=(
        case((2, 3), (3, 4)),
        case((3,), (3,)),
        case((3,), (2, 3, 2)),
        case((2, 1, 2, 3), (4, 3, 2)),
        case((2, 3, 3), (3, 2)),
        case((2, 3), (4, 3, 1)),
        case((2, 0), (0, 3)),
    ),
)
implements(np.matmul)(matmul)


@implements(np.dot)
def dot(a: Any, b: Any) -> Any:
    """The sum over the last axis of `a` and the last but one of `b`; with a scalar, the product.

    >>> dot([[1, 2], [3, 4]], [10, 1])
    array([12, 34])
    """
    a, b = as_operand(a), as_operand(b)
    if not a.ndim or not b.ndim:
        return multiply(a, b)
    return matmul(a, b) if b.ndim <= 2 else tensordot(a, b, (-1, -2))


@implements(np.inner)
def inner(a: Any, b: Any) -> Any:
    """The sum over the last axes of both; with a scalar, the product.

    >>> float(inner([1.0, 2.0], [3.0, 4.0]))
    11.0
    """
    a, b = as_operand(a), as_operand(b)
    if not a.ndim or not b.ndim:
        return multiply(a, b)
    return matmul(a, b) if b.ndim == 1 else tensordot(a, b, (-1, -1))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """The inner product of two arrays as vectors, the first of them conjugated.

    >>> complex(vdot([1.0j, 2.0], [1.0j, 2.0]))
    (5+0j)
    """
    return matmul(_conjugate(_flat(a)), _flat(b))


@implements(np.outer)
def outer(a: Any, b: Any) -> Any:
    """All products of an element of `a` and one of `b`.

    >>> outer([1.0, 2.0], [3.0, 4.0]).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    return multiply(expand_dims(_flat(a), 1), _flat(b))


@implements(np.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Inner products along one axis, the first operand conjugated, with broadcasting over the others.

    >>> vecdot([[1, 2], [3, 4]], [10, 1])
    array([12, 34])
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    if axis != -1:
        x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    _needs_axes("vecdot", x1, 1, x2, 1)
    return matmul(expand_dims(_conjugate(x1), -2), expand_dims(x2, -1)).squeeze((-2, -1))


@implements(np.matvec)
def matvec(x1: Any, x2: Any, /) -> Any:
    """Stacks of matrices times stacks of vectors.

    >>> matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
    array([3., 7.])
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    _needs_axes("matvec", x1, 2, x2, 1)
    return matmul(x1, expand_dims(x2, -1)).squeeze(-1)


@implements(np.vecmat)
def vecmat(x1: Any, x2: Any, /) -> Any:
    """Stacks of vectors, conjugated, times stacks of matrices.

    >>> vecmat([1.0, 1.0], [[1.0, 2.0], [3.0, 4.0]])
    array([4., 6.])
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    _needs_axes("vecmat", x1, 1, x2, 2)
    return matmul(expand_dims(_conjugate(x1), -2), x2).squeeze(-2)


def _needs_axes(name: str, x1: Any, n1: int, x2: Any, n2: int) -> None:
    if x1.ndim < n1 or x2.ndim < n2:
        raise user_error(
            ValueError, f"{name} needs operands of at least {n1} and {n2} axes and got {x1.ndim} and {x2.ndim}"
        )


def _flat(x: Any) -> Any:
    x = as_operand(x)
    return x if x.ndim == 1 else x.reshape(x.size)


def _conjugate(x: Any) -> Any:
    return conj(x) if x.dtype.kind == "c" else x


# Cross products

_cross: Callable = multilinear(
    "cross",
    np.cross,
    lambda t, y: _cross(y, t),
    lambda t, x: _cross(t, x),
    batch=keep_params,
    cases=(case((3,), (3,)), case((2, 3), (3,)), case((2, 1, 3), (4, 3))),
)


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """The vector product of 3-vectors along one axis of each; a 2-vector (deprecated by NumPy) lies in the plane.

    >>> cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_operand(a), as_operand(b)
    if not a.ndim or not b.ndim:
        raise user_error(ValueError, f"cross needs arrays of at least one axis, and got shapes {a.shape} and {b.shape}")
    a, b = _vectors_last(a, axisa, "axisa"), _vectors_last(b, axisb, "axisb")
    sizes = a.shape[-1], b.shape[-1]
    if not {2, 3}.issuperset(sizes):
        raise user_error(ValueError, f"cross needs vectors of 2 or 3 components, and got {sizes[0]} and {sizes[1]}")
    if 2 in sizes:
        warnings.warn(
            "Arrays of 2-dimensional vectors are deprecated. Use 3-dimensional vectors instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        if sizes == (2, 2):
            return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
        a, b = _in_space(a), _in_space(b)
    out = _cross(a, b)
    axisc = normalize_axis_index(axisc, out.ndim, "axisc")
    return out if axisc == out.ndim - 1 else moveaxis(out, -1, axisc)


def _vectors_last(x: Any, axis: int, name: str) -> Any:
    axis = normalize_axis_index(axis, x.ndim, name)
    return x if axis == x.ndim - 1 else moveaxis(x, axis, -1)


def _in_space(x: Any) -> Any:
    """Vectors of the plane with a third component of zero."""
    return x if x.shape[-1] == 3 else concatenate((x, numpy_of(x).zeros((*x.shape[:-1], 1), x.dtype)), axis=-1)


describe(
    {
        matmul: "The matrix product of the last two axes, with broadcasting over the others. "
        ">>> matmul([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]) -> array([3., 7.])"
    }
)
