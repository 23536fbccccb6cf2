"""Index arrays: the indices of triangles, diagonals and grids, and flat indices to indices of axes and back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

import numpy as np
from numpy import diag_indices, mask_indices, tril_indices, triu_indices

from wengert.core.array import Array, implements
from wengert.core.errors import TrackedValueError, user_error
from wengert.core.levels import bottom_array
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import remainder
from wengert.ops.elementwise.choices import clip
from wengert.ops.elementwise.predicates import floor_divide, less, logical_or
from wengert.ops.indexing.taking import flatnonzero
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import reshape

__all__ = [
    "diag_indices", "diag_indices_from", "ix_", "mask_indices", "ravel_multi_index", "tril_indices",
    "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
]  # fmt: skip


def known_numbers(x: Any, what: str) -> Any:
    """The numbers of integers or booleans, whatever the mode of the value: no derivative is lost."""
    plain = bottom_array(x)
    if not isinstance(plain, np.ndarray | np.generic) or plain.shape != x.shape:
        raise user_error(
            TrackedValueError,
            f"{what} depends on numbers that are not known while a function is traced or runs in batches",
            "Do this outside, or with numbers that are the same for all.",
        )
    return plain


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> tuple:
    """The indices of the lower triangle of a matrix.

    >>> tril_indices_from(np.eye(2))
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return tril_indices(*_rows_and_columns("tril_indices_from", arr, k))


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> tuple:
    """The indices of the upper triangle of a matrix.

    >>> triu_indices_from(np.eye(2))
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return triu_indices(*_rows_and_columns("triu_indices_from", arr, k))


def _rows_and_columns(name: str, arr: Any, k: int) -> tuple[int, int, int]:
    shape = as_operand(arr).shape
    if len(shape) != 2:
        raise user_error(ValueError, f"{name} needs a matrix, and got shape {shape}")
    return shape[0], k, shape[1]


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> tuple:
    """The indices of the main diagonal of an array whose axes are equally long.

    >>> diag_indices_from(np.eye(2))
    (array([0, 1]), array([0, 1]))
    """
    shape = as_operand(arr).shape
    if len(shape) < 2 or len(set(shape)) > 1:
        raise user_error(ValueError, f"diag_indices_from needs two axes or more, equally long, and got shape {shape}")
    return diag_indices(shape[0], len(shape))


@implements(np.ix_)
def ix_(*args: Any) -> tuple:
    """Indices that select a grid of elements, from one vector for each axis.

    `x[ix_([0, 2], [1, 3])]` is a 2 x 2 array of rows 0 and 2 and columns 1 and 3.

    >>> np.arange(6).reshape(2, 3)[ix_([1], [0, 2])]
    array([[3, 5]])
    """
    out = []
    for axis, indices in enumerate(map(as_operand, args)):
        if indices.ndim != 1:
            raise user_error(ValueError, f"ix_ needs vectors, and got shape {indices.shape}")
        if indices.dtype.kind == "b":
            indices = flatnonzero(indices)
        elif not indices.size:
            indices = astype(indices, np.intp)
        out.append(reshape(indices, (1,) * axis + (-1,) + (1,) * (len(args) - 1 - axis)))
    return tuple(out)


def _strides(shape: Sequence[int], order: str) -> list[int]:
    """The distance in the flat array between neighbours along each axis."""
    if order not in ("C", "F"):
        raise user_error(ValueError, f"order must be 'C' or 'F', not {order!r}")
    if order == "F":
        return [1, *accumulate(shape[:-1], mul)]
    return [prod(shape[i + 1 :]) for i in range(len(shape))]


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple:
    """Flat indices as indices of the axes of an array, for example those from `argmax` without an axis.

    >>> unravel_index(5, (2, 3))
    (np.int64(1), np.int64(2))
    """
    if not isinstance(indices, Array):
        return np.unravel_index(as_operand(indices), shape, order)  # type: ignore[call-overload]  # NumPy checks it
    shape = tuple(shape) if np.iterable(shape) else (shape,)
    _refuse_outside("unravel_index", indices, prod(shape))
    return tuple(
        [remainder(floor_divide(indices, step), n) for step, n in zip(_strides(shape, order), shape, strict=True)]
    )


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """The index in the flat array for an index along each axis of an array of shape `dims`.

    >>> ravel_multi_index(([0, 1], [2, 0]), (2, 3))
    array([2, 3])
    """
    parts, dims = [as_operand(i) for i in multi_index], tuple(dims) if np.iterable(dims) else (dims,)
    if not any(isinstance(i, Array) for i in parts):
        return np.ravel_multi_index(tuple(parts), dims, mode, order)  # type: ignore[call-overload]  # the same
    if len(parts) != len(dims):
        raise user_error(
            ValueError, f"ravel_multi_index needs an index for each of {len(dims)} axes, and got {len(parts)}"
        )
    offset: Any = 0
    modes = mode if isinstance(mode, tuple) else (mode,) * len(dims)
    for i, n, step, way in zip(parts, dims, _strides(dims, order), modes, strict=True):
        if way == "wrap":
            i = remainder(i, n)
        elif way == "clip":
            i = clip(i, 0, n - 1)
        else:
            _refuse_outside("ravel_multi_index", i, n)
        offset = offset + i * step
    return offset


def _refuse_outside(name: str, indices: Any, n: int) -> None:
    if indices.dtype.kind not in "iu":
        raise user_error(TypeError, f"{name} is for integers, and got {indices.dtype}")
    try:
        outside = bool(logical_or(less(indices, 0), less(n - 1, indices)).any())
    except TrackedValueError:  # the numbers are not known
        return
    if outside:
        raise user_error(ValueError, f"An index given to {name} is not between 0 and {n - 1}")
