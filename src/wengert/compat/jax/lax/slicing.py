"""Slices of `jax.lax`: their sizes are fixed, and their positions may be computed, and are moved into the array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compat.jax.arrays import array, to_array
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.choices import clip, where
from wengert.ops.shape.reshaping import expand_dims, squeeze

PUBLIC = [
    "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim", "dynamic_update_index_in_dim",
    "dynamic_update_slice", "dynamic_update_slice_in_dim", "index_in_dim", "slice", "slice_in_dim",
]  # fmt: skip

builtin_slice = slice


def key_of(shape: Sequence[int], start_indices: Any, sizes: Sequence[int]) -> tuple[Any, ...]:
    """The key of a block: slices where the position is known, else indices."""
    starts = [start_indices[i] for i in range(len(shape))]
    key: list[Any] = []
    for axis, (start, size, length) in enumerate(zip(starts, sizes, shape, strict=True)):
        if isinstance(start, int | np.integer):
            first = min(max(int(start) + (length if start < 0 else 0), 0), length - size)
            key.append(np.arange(first, first + size).reshape((-1,) + (1,) * (len(shape) - axis - 1)))
            continue
        start = where(start < 0, start + length, start)
        steps = np.arange(size).reshape((-1,) + (1,) * (len(shape) - axis - 1))
        key.append(clip(start, 0, length - size) + steps)
    return tuple(key)


def dynamic_slice(operand: Any, start_indices: Any, slice_sizes: Sequence[int]) -> Any:
    """A block of these sizes that begins at an index.

    >>> dynamic_slice(np.arange(5.0), (3,), (3,))
    Array([2., 3., 4.], dtype=float64)
    """
    operand = array(operand)
    return operand[key_of(operand.shape, start_indices, slice_sizes)] if operand.ndim else operand


def dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """The array with another block that begins at an index."""
    operand, update = array(operand), as_operand(update)
    starts = start_indices if hasattr(start_indices, "__len__") or np.ndim(start_indices) else [start_indices]
    return operand.at[key_of(operand.shape, starts, update.shape)].set(update) if operand.ndim else to_array(update)


def dynamic_slice_in_dim(operand: Any, start_index: Any, slice_size: int, axis: int = 0) -> Any:
    """A slice of this size along an axis."""
    operand = array(operand)
    steps = key_of((operand.shape[axis],), (start_index,), (slice_size,))[0]
    return operand[(builtin_slice(None),) * (axis % operand.ndim) + (steps,)]


def dynamic_index_in_dim(operand: Any, index: Any, axis: int = 0, keepdims: bool = True) -> Any:
    """The slice at an index along an axis."""
    found = dynamic_slice_in_dim(operand, index, 1, axis)
    return found if keepdims else squeeze(found, axis)


def dynamic_update_slice_in_dim(operand: Any, update: Any, start_index: Any, axis: int) -> Any:
    """The array with another slice along an axis."""
    operand, update = array(operand), as_operand(update)
    steps = key_of((operand.shape[axis],), (start_index,), (update.shape[axis],))[0]
    return operand.at[(builtin_slice(None),) * (axis % operand.ndim) + (steps,)].set(update)


def dynamic_update_index_in_dim(operand: Any, update: Any, index: Any, axis: int) -> Any:
    """The array with another slice at an index along an axis."""
    operand, update = array(operand), as_operand(update)
    if update.ndim != operand.ndim:
        update = expand_dims(update, axis)
    return dynamic_update_slice_in_dim(operand, update, index, axis)


def slice(
    operand: Any, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Any:
    """A block between two indices."""
    bounds = zip(start_indices, limit_indices, strides or [1] * len(start_indices), strict=True)
    return array(operand)[tuple([builtin_slice(*bound) for bound in bounds])]


def slice_in_dim(operand: Any, start_index: Any, limit_index: Any, stride: int = 1, axis: int = 0) -> Any:
    """A slice along an axis."""
    operand = array(operand)
    return operand[(builtin_slice(None),) * (axis % operand.ndim) + (builtin_slice(start_index, limit_index, stride),)]


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The slice at a plain index along an axis."""
    found = array(operand)[(builtin_slice(None),) * axis + (index,)]
    return expand_dims(found, axis) if keepdims else found
