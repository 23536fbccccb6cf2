"""Convolutions: direct loops for floats, and products of matrices where these are simpler.

Filters of one element are matrices, and so are those of windows that lie side by side. The cotangents of signals are
products, too, where strides are large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.aspects.windows import shift
from wengert.compiler.forms.lowering import FLOATS, expansion, lowering
from wengert.compiler.routines.convolution.routine import FILTERS, RESULTS, SIGNALS, has_whole_stacks
from wengert.core import machine
from wengert.ops.contraction.products import matmul
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _scatter
from wengert.ops.reductions.sums import sum as add_up
from wengert.ops.shape.reshaping import broadcast_to, expand_dims, reshape, swapaxes, transpose
from wengert.ops.signal import convolution as ops
from wengert.ops.signal.window_arguments import Lengths, Widths

lowering.enter(RESULTS, ops._convolution)
lowering.enter(SIGNALS, ops._convolution_signals)
lowering.enter(FILTERS, ops._convolution_filters)


def has_floats(x: Any, y: Any) -> bool:
    """Whether two operands are floats of one dtype."""
    return x.dtype == y.dtype and x.dtype in FLOATS


def are_apart(size: Lengths, stride: Lengths, padding: Widths, dilation: Lengths, groups: int) -> bool:
    """Whether windows are single elements, or lie side by side, so that they are the columns of matrices."""
    is_tile = size == stride and max(dilation) == 1
    return (math.prod(size) == 1 or is_tile) and groups == 1 and not any(map(any, padding))


def with_whole_stacks(operation: Callable, x: Any, y: Any, **params: Any) -> Any:
    """The operation on operands whose stacks are broadcast; None if they need not be."""
    if has_whole_stacks(x, y, ndim := len(params["stride"])):
        return None
    stack = np.broadcast_shapes(x.shape[: -ndim - 2], y.shape[: -ndim - 2])
    return operation(*[broadcast_to(a, (*stack, *a.shape[-ndim - 2 :])) for a in (x, y)], **params)


def every(stride: Lengths) -> tuple[Any, ...]:
    """The key of the elements that windows of one element reach."""
    return (..., *[slice(None, None, s) for s in stride])


def join_axes(x: Any, ndim: int) -> Any:
    """The last axes as one: signals as matrices, with a row for each channel."""
    return reshape(x, (*x.shape[:-ndim], math.prod(x.shape[-ndim:])))


def columns(x: Any, size: Lengths, stride: Lengths) -> Any:
    """Windows that are apart as columns, with a row for each element of each channel."""
    n = len(size)
    if math.prod(size) == 1:
        seen = x[every(stride)] if max(stride) > 1 else x
        return join_axes(seen, n)
    positions = [length // s for length, s in zip(x.shape[-n:], size, strict=True)]
    whole = x[(..., *[slice(p * s) for p, s in zip(positions, size, strict=True)])]
    k = x.ndim - n - 1
    tiles = reshape(whole, (*x.shape[: k + 1], *[m for pair in zip(positions, size, strict=True) for m in pair]))
    elements, windows = range(k + 2, k + 1 + 2 * n, 2), range(k + 1, k + 1 + 2 * n, 2)
    rows = x.shape[k] * math.prod(size)
    return reshape(transpose(tiles, (*range(k + 1), *elements, *windows)), (*x.shape[:k], rows, math.prod(positions)))


def matrix_of(y: Any, ndim: int) -> Any:
    """Filters as a matrix, for each element of a batch."""
    matrix = join_axes(y, ndim + 1)
    return expand_dims(matrix, -3) if y.ndim > ndim + 2 else matrix


@expansion(ops._convolution)
def expand_convolution(x: Any, y: Any, stride: Lengths, **options: Any) -> Any:
    """Filters as a matrix times signals as matrices."""
    n = len(stride)
    if not has_floats(x, y):
        return None
    if not are_apart(y.shape[-n:], stride, **options):
        return with_whole_stacks(ops._convolution, x, y, stride=stride, **options)
    out = matmul(matrix_of(y, n), columns(x, y.shape[-n:], stride))
    positions = [(length - k) // s + 1 for length, k, s in zip(x.shape[-n:], y.shape[-n:], stride, strict=True)]
    return reshape(out, (*out.shape[:-1], *positions))


@expansion(ops._convolution_signals)
def expand_convolution_signals(t: Any, y: Any, lengths: Lengths, stride: Lengths, **options: Any) -> Any:
    """The transposed matrix times cotangents, spread with the stride."""
    n = len(stride)
    if not has_floats(t, y):
        return None
    is_apart = are_apart(y.shape[-n:], stride, **options)
    if is_apart and math.prod(y.shape[-n:]) == 1:
        out = matmul(swapaxes(matrix_of(y, n), -1, -2), join_axes(t, n))
        out = reshape(out, (*out.shape[:-1], *t.shape[-n:]))
        return _scatter(out, key=Index(every(stride)), shape=(*out.shape[:-n], *lengths)) if max(stride) > 1 else out
    if is_apart or math.prod(map(min, stride, lengths)) > machine.current.max_phases_of_convolution:
        return add_blocks(t, y, lengths, stride, **options)
    return with_whole_stacks(ops._convolution_signals, t, y, lengths=lengths, stride=stride, **options)


class AxisBlock(NamedTuple):
    """A part of windows along one axis: taps from `first` to `stop`, at `start` and on in block `number`."""

    number: int
    first: int
    stop: int
    start: int


def axis_blocks(size: int, stride: int, dilation: int) -> list[AxisBlock]:
    """Windows of one axis, cut into blocks of the length of the stride.

    >>> axis_blocks(5, 4, 1)
    [AxisBlock(number=0, first=0, stop=4, start=0), AxisBlock(number=1, first=4, stop=5, start=0)]
    """
    ends = [-(-i * stride // dilation) for i in range((size - 1) * dilation // stride + 2)]
    pairs = zip(ends, [min(end, size) for end in ends[1:]], strict=False)
    return [AxisBlock(i, low, high, low * dilation - i * stride) for i, (low, high) in enumerate(pairs) if low < high]


def add_blocks(
    t: Any, y: Any, lengths: Lengths, stride: Lengths, padding: Widths, dilation: Lengths, groups: int
) -> Any:
    """The cotangents of signals, for large strides.

    Windows are cut into blocks of the size of the stride, so that those of neighbouring windows lie side by side. A
    block of the filters, as a matrix, times the cotangents has the elements of all these blocks; blocks are added up.
    """
    n = len(stride)
    positions = t.shape[-n:]
    t = join_axes(reshape(t, (*t.shape[: -n - 1], groups, t.shape[-n - 1] // groups, *positions)), n)
    axes = [axis_blocks(*numbers) for numbers in zip(y.shape[-n:], stride, dilation, strict=True)]
    total: Any = None
    for blocks in product(*axes):
        part = y[(..., *[slice(block.first, block.stop) for block in blocks])]
        size = part.shape[-n:]
        matrices = reshape(part, (*y.shape[: -n - 2], 1, groups, t.shape[-2], y.shape[-n - 1] * math.prod(size)))
        out = matmul(swapaxes(matrices, -1, -2), t)
        out = reshape(out, (*out.shape[:-3], groups * y.shape[-n - 1], *size, *positions))
        placed = place_block(out, blocks, lengths, stride, [before for before, _ in padding], dilation)
        total = placed if total is None else total + placed
    return total


def place_block(
    x: Any, blocks: Sequence[AxisBlock], lengths: Lengths, stride: Lengths, before: Sequence[int], dilation: Lengths
) -> Any:
    """The elements of one block of all windows, (..., *size, *positions), where they are in signals."""
    n = len(stride)
    lead, positions = x.shape[: -2 * n], x.shape[-n:]
    if x.shape[-2 * n : -n] != stride:
        ends = [b.start + (b.stop - b.first - 1) * d + 1 for b, d in zip(blocks, dilation, strict=True)]
        taken = [slice(b.start, end, d) for b, end, d in zip(blocks, ends, dilation, strict=True)]
        x = _scatter(x, key=Index((..., *taken, *[slice(None)] * n)), shape=(*lead, *stride, *positions))
    k = len(lead)
    interleaved = transpose(x, (*range(k), *[axis for i in range(n) for axis in (k + n + i, k + i)]))
    tiles = reshape(interleaved, (*lead, *[p * s for p, s in zip(positions, stride, strict=True)]))
    for i, (block, step, first, length) in enumerate(zip(blocks, stride, before, lengths, strict=True)):
        tiles = shift(tiles, k + i, block.number * step - first, length)
    return tiles


@expansion(ops._convolution_filters)
def expand_convolution_filters(x: Any, t: Any, size: Lengths, stride: Lengths, **options: Any) -> Any:
    """The sum over the batch of cotangents times transposed signals."""
    n = len(stride)
    if not has_floats(x, t):
        return None
    if not are_apart(size, stride, **options):
        return with_whole_stacks(ops._convolution_filters, x, t, size=size, stride=stride, **options)
    products = matmul(join_axes(t, n), swapaxes(columns(x, size, stride), -1, -2))
    out = add_up(products, axis=-3)
    return reshape(out, (*out.shape[:-1], x.shape[-n - 1], *size))
