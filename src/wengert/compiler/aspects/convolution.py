"""Convolutions: direct loops for floats. Filters of one element are matrices, and their convolutions are products."""

from __future__ import annotations

import math
from typing import Any

from wengert.compiler.forms.lowering import FLOATS, expansion, lowering
from wengert.compiler.routines.convolution.routine import FILTERS, RESULTS, SIGNALS
from wengert.ops.contraction.products import matmul
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _scatter
from wengert.ops.reductions.sums import sum as add_up
from wengert.ops.shape.reshaping import reshape, swapaxes
from wengert.ops.signal import convolution as ops
from wengert.ops.signal.window_arguments import Lengths, Widths

lowering.enter(RESULTS, ops._convolution)
lowering.enter(SIGNALS, ops._convolution_signals)
lowering.enter(FILTERS, ops._convolution_filters)


def is_pointwise(x: Any, y: Any, size: Lengths, padding: Widths, groups: int) -> bool:
    """Whether a convolution of two operands is a product of matrices for each element of the batch."""
    has_axes = x.ndim == y.ndim == len(size) + 2
    is_alone = math.prod(size) == 1 and groups == 1 and not any(map(any, padding))
    return has_axes and is_alone and x.dtype == y.dtype and x.dtype in FLOATS


def every(stride: Lengths) -> tuple[Any, ...]:
    """The key of the elements that windows of one element reach."""
    return (..., *[slice(None, None, s) for s in stride])


def columns(x: Any) -> Any:
    """Signals as matrices, with a row for each channel."""
    return reshape(x, (*x.shape[:2], math.prod(x.shape[2:])))


@expansion(ops._convolution)
def expand_convolution(x: Any, y: Any, stride: Lengths, padding: Widths, dilation: Lengths, groups: int) -> Any:  # noqa: ARG001  # one element has no gaps
    """Filters as a matrix times signals as matrices."""
    if not is_pointwise(x, y, y.shape[2:], padding, groups):
        return None
    seen = x[every(stride)] if max(stride) > 1 else x
    return reshape(matmul(reshape(y, y.shape[:2]), columns(seen)), (x.shape[0], y.shape[0], *seen.shape[2:]))


@expansion(ops._convolution_signals)
def expand_convolution_signals(
    t: Any,
    y: Any,
    lengths: Lengths,
    stride: Lengths,
    padding: Widths,
    dilation: Lengths,  # noqa: ARG001  # one element has no gaps
    groups: int,
) -> Any:
    """The transposed matrix times cotangents, spread with the stride."""
    if not is_pointwise(t, y, y.shape[2:], padding, groups):
        return None
    matrix = reshape(y, y.shape[:2])
    out = reshape(matmul(swapaxes(matrix, 0, 1), columns(t)), (t.shape[0], y.shape[1], *t.shape[2:]))
    return _scatter(out, key=Index(every(stride)), shape=(*out.shape[:2], *lengths)) if max(stride) > 1 else out


@expansion(ops._convolution_filters)
def expand_convolution_filters(
    x: Any,
    t: Any,
    size: Lengths,
    stride: Lengths,
    padding: Widths,
    dilation: Lengths,  # noqa: ARG001  # one element has no gaps
    groups: int,
) -> Any:
    """The sum over the batch of cotangents times transposed signals."""
    if not is_pointwise(x, t, size, padding, groups):
        return None
    seen = x[every(stride)] if max(stride) > 1 else x
    products = matmul(columns(t), swapaxes(columns(seen), -1, -2))
    return reshape(add_up(products, axis=0), (t.shape[1], x.shape[1], *size))
