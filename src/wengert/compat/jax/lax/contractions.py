"""Products and convolutions of `jax.lax`, with its descriptions of axes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from wengert.compat.jax.arrays import array, to_array
from wengert.core.errors import user_error
from wengert.ops.signal.convolution import convolution

PUBLIC = [
    "ConvDimensionNumbers", "Precision", "batch_matmul", "conv", "conv_dimension_numbers", "conv_general_dilated",
    "conv_with_general_padding", "dot", "dot_general", "reduce_window",
]  # fmt: skip


class Precision(Enum):
    """JAX's names of precisions. Products are computed in the precision of their operands."""

    DEFAULT, HIGH, HIGHEST = 0, 1, 2


def dot(lhs: Any, rhs: Any, precision: Any = None, preferred_element_type: Any = None) -> Any:  # noqa: ARG001  # of JAX, where it says how a GPU rounds
    """The product of vectors or matrices."""
    out = to_array(wg.dot(array(lhs), array(rhs)))
    return out if preferred_element_type is None else out.astype(preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:  # noqa: ARG001  # of JAX, where it says how a GPU rounds
    """The products of matrices in batches."""
    return to_array(wg.matmul(lhs, rhs))


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,  # noqa: ARG001  # of JAX, where it says how a GPU rounds
    preferred_element_type: Any = None,
) -> Any:
    """The product of two arrays: ((contracted axes of each), (batch axes of each)).

    >>> dot_general(np.ones((2, 3)), np.ones((4, 3)), (([1], [1]), ([], []))).shape
    (2, 4)
    """
    lhs, rhs = array(lhs), array(rhs)
    (left, right), (left_batch, right_batch) = dimension_numbers
    names = iter(range(lhs.ndim + rhs.ndim))
    x_axes = [next(names) for _ in range(lhs.ndim)]
    y_axes = [next(names) for _ in range(rhs.ndim)]
    for a, b in (*zip(left, right, strict=True), *zip(left_batch, right_batch, strict=True)):
        y_axes[b] = x_axes[a]
    batch = [x_axes[a] for a in left_batch]
    contracted = [x_axes[a] for a in left]
    free = [axis for axis in (*x_axes, *y_axes) if axis not in batch and axis not in contracted]
    out = to_array(wg.einsum(lhs, x_axes, rhs, y_axes, [*batch, *free]))
    return out if preferred_element_type is None else out.astype(preferred_element_type)


class ConvDimensionNumbers(NamedTuple):
    """The positions of batch and channel axes, then of the others, in operand, filters and result."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


def conv_dimension_numbers(lhs_shape: Any, rhs_shape: Any, dimension_numbers: Any) -> ConvDimensionNumbers:
    """The positions that strings such as ("NHWC", "HWIO", "NHWC") describe."""
    n = len(lhs_shape)
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(n))] * 3)
    lhs, rhs, out = dimension_numbers
    spatial = [letter for letter in rhs if letter not in "IO"]
    if any(len(text) != n for text in (lhs, rhs, out)) or len(rhs_shape) != n:
        raise user_error(ValueError, f"dimension_numbers {dimension_numbers} do not fit arrays of {n} axes")
    return ConvDimensionNumbers(
        tuple([lhs.index(letter) for letter in ("N", "C", *spatial)]),
        tuple([rhs.index(letter) for letter in ("O", "I", *spatial)]),
        tuple([out.index(letter) for letter in ("N", "C", *spatial)]),
    )


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,  # noqa: ARG001  # of JAX, where it says how a GPU rounds
    preferred_element_type: Any = None,
) -> Any:
    """The convolution of a batch of signals with filters, as in neural networks."""
    if batch_group_count != 1 or any(n != 1 for n in lhs_dilation or ()):
        raise user_error(NotImplementedError, "conv_general_dilated has neither lhs_dilation nor batch groups here")
    lhs, rhs = array(lhs), array(rhs)
    spec = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    x, w = wg.transpose(lhs, spec.lhs_spec), wg.transpose(rhs, spec.rhs_spec)
    dilation = tuple(rhs_dilation or (1,) * (x.ndim - 2))
    widths = padding_of(padding, x.shape[2:], w.shape[2:], window_strides, dilation)
    out = to_array(convolution(x, w, tuple(window_strides), widths, dilation, feature_group_count))
    out = wg.transpose(out, tuple(np.argsort(spec.out_spec).tolist()))
    return out if preferred_element_type is None else out.astype(preferred_element_type)


def padding_of(
    padding: Any, lengths: Sequence[int], sizes: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:
    """The number of zeros before and after each axis."""
    if not isinstance(padding, str):
        return [(int(before), int(after)) for before, after in padding]
    if padding.upper() == "VALID":
        return [(0, 0)] * len(lengths)
    if padding.upper() not in ("SAME", "SAME_LOWER"):
        raise user_error(ValueError, f"padding is 'SAME', 'SAME_LOWER', 'VALID' or pairs, not {padding!r}")
    widths = []
    for n, size, stride, gap in zip(lengths, sizes, strides, dilation, strict=True):
        total = max((-(-n // stride) - 1) * stride + (size - 1) * gap + 1 - n, 0)
        small = total // 2
        widths.append((small, total - small) if padding.upper() == "SAME" else (total - small, small))
    return widths


def conv(lhs: Any, rhs: Any, window_strides: Sequence[int], padding: str, precision: Any = None) -> Any:  # noqa: ARG001  # of JAX, where it says how a GPU rounds
    """A convolution of signals (batch, channels, ...) with filters (filters, channels, ...)."""
    return conv_general_dilated(lhs, rhs, window_strides, padding)


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    precision: Any = None,  # noqa: ARG001  # of JAX, where it says how a GPU rounds
) -> Any:
    """A convolution with other paddings."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation)


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Any,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> Any:
    """The combination of all elements in windows, by an operation of `lax` such as `lax.add` or `lax.max`."""
    if base_dilation is not None or window_dilation is not None:
        raise user_error(NotImplementedError, "reduce_window has no dilation here")
    operand = array(operand)
    ones = (1,) * operand.ndim
    widths = padding_of(padding, operand.shape, window_dimensions, window_strides, ones)
    padded = wg.pad(operand, widths, constant_values=init_value)
    counts = [
        (n - size) // step + 1 for n, size, step in zip(padded.shape, window_dimensions, window_strides, strict=True)
    ]
    out = None
    for offset in np.ndindex(*window_dimensions):
        ends = [o + (n - 1) * step + 1 for o, n, step in zip(offset, counts, window_strides, strict=True)]
        part = padded[tuple([slice(o, end, step) for o, end, step in zip(offset, ends, window_strides, strict=True)])]
        out = part if out is None else computation(out, part)
    return to_array(out)
