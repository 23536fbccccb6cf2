"""Pooling: the largest element, or the average, of windows of signals, images and volumes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.nn.inputs import refuse_axes
from wengert.ops.contraction.products import matmul
from wengert.ops.reductions.sums import mean
from wengert.ops.shape.joining import pad
from wengert.ops.shape.reshaping import moveaxis
from wengert.ops.signal.window_arguments import Lengths, Numbers, each_axis, reach
from wengert.ops.signal.windows import (
    Windows,
    adaptive_windows,
    averaging_matrix,
    sliding_windows,
    window_pick,
    window_sum,
)
from wengert.transforms.products import stop_gradient

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip

Sizes = int | None | Sequence[int | None]


def max_pool1d(
    input: Any,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of windows of signals (batch, channels, length).

    Of equal elements, the first one gets the gradient.

    >>> max_pool1d([[[1.0, 3.0, 2.0, 4.0]]], 2).tolist()
    [[[3.0, 4.0]]]
    """
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Any,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of windows of images (batch, channels, height, width).

    Of equal elements, the first one gets the gradient.

    >>> max_pool2d([[[[1.0, 3.0], [2.0, 4.0]]]], 2).tolist()
    [[[[4.0]]]]
    """
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Any,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of windows of volumes (batch, channels, depth, height, width).

    Of equal elements, the first one gets the gradient.

    >>> max_pool3d([[[[[1.0, 3.0]]]]], (1, 1, 2)).tolist()
    [[[[[3.0]]]]]
    """
    return max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool1d(
    input: Any,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The average of windows of signals (batch, channels, length).

    >>> avg_pool1d([[[1.0, 3.0, 2.0, 4.0]]], 2).tolist()
    [[[2.0, 3.0]]]
    """
    return avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Any,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The average of windows of images (batch, channels, height, width).

    >>> avg_pool2d([[[[1.0, 3.0], [2.0, 4.0]]]], 2).tolist()
    [[[[2.5]]]]
    """
    return avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Any,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The average of windows of volumes (batch, channels, depth, height, width).

    >>> avg_pool3d([[[[[1.0, 3.0]]]]], (1, 1, 2)).tolist()
    [[[[[2.0]]]]]
    """
    return avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_max_pool1d(input: Any, output_size: Sizes, return_indices: bool = False) -> Any:
    """The largest element of so many windows of signals (batch, channels, length); None keeps an axis.

    >>> adaptive_max_pool1d([[[1.0, 3.0, 2.0, 4.0]]], 1).tolist()
    [[[4.0]]]
    """
    return adaptive_max_pool(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Any, output_size: Sizes, return_indices: bool = False) -> Any:
    """The largest element of so many windows of images (batch, channels, height, width); None keeps an axis.

    >>> adaptive_max_pool2d([[[[1.0, 3.0], [2.0, 4.0]]]], 1).tolist()
    [[[[4.0]]]]
    """
    return adaptive_max_pool(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Any, output_size: Sizes, return_indices: bool = False) -> Any:
    """The largest element of so many windows of volumes (batch, channels, depth, height, width); None keeps an axis.

    >>> adaptive_max_pool3d([[[[[1.0, 3.0]]]]], 1).tolist()
    [[[[[3.0]]]]]
    """
    return adaptive_max_pool(3, input, output_size, return_indices)


def adaptive_avg_pool1d(input: Any, output_size: Sizes) -> Any:
    """The average of so many windows of signals (batch, channels, length); None keeps an axis.

    >>> adaptive_avg_pool1d([[[1.0, 3.0, 2.0, 4.0]]], 1).tolist()
    [[[2.5]]]
    """
    return adaptive_avg_pool(1, input, output_size)


def adaptive_avg_pool2d(input: Any, output_size: Sizes) -> Any:
    """The average of so many windows of images (batch, channels, height, width); None keeps an axis.

    >>> adaptive_avg_pool2d([[[[1.0, 3.0], [2.0, 4.0]]]], 1).tolist()
    [[[[2.5]]]]
    """
    return adaptive_avg_pool(2, input, output_size)


def adaptive_avg_pool3d(input: Any, output_size: Sizes) -> Any:
    """The average of so many windows of volumes (batch, channels, depth, height, width); None keeps an axis.

    >>> adaptive_avg_pool3d([[[[[1.0, 3.0]]]]], 1).tolist()
    [[[[[2.0]]]]]
    """
    return adaptive_avg_pool(3, input, output_size)


def max_pool(
    ndim: int,
    input: Any,
    kernel_size: Numbers,
    stride: Numbers | None,
    padding: Numbers,
    dilation: Numbers,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    """`max_pool1d` and so on, with `ndim` axes."""
    name = f"max_pool{ndim}d"
    x = pooled_input(name, ndim, input)
    layout = Layout(name, x.shape[-ndim:], kernel_size, stride, padding, dilation, ceil_mode)
    return pick_largest(x, layout.windows, layout.widths, return_indices)


def avg_pool(
    ndim: int,
    input: Any,
    kernel_size: Numbers,
    stride: Numbers | None,
    padding: Numbers,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """`avg_pool1d` and so on, with `ndim` axes."""
    name = f"avg_pool{ndim}d"
    x = pooled_input(name, ndim, input)
    layout = Layout(name, x.shape[-ndim:], kernel_size, stride, padding, 1, ceil_mode)
    if any(map(any, layout.widths)):
        x = pad(x, [(0, 0)] * (x.ndim - ndim) + layout.widths)
    divisor = layout.counts(count_include_pad) if divisor_override is None else divisor_override
    divisor = numpy_of(x).asarray(divisor) if isinstance(divisor, np.ndarray) else divisor
    total = window_sum(x, windows=layout.windows)
    return total / (divisor if isinstance(divisor, int) else divisor.astype(x.dtype))


def adaptive_max_pool(ndim: int, input: Any, output_size: Sizes, return_indices: bool) -> Any:
    """`adaptive_max_pool1d` and so on, with `ndim` axes."""
    x = pooled_input(f"adaptive_max_pool{ndim}d", ndim, input)
    lengths = x.shape[-ndim:]
    windows = adaptive_windows(lengths, output_counts(lengths, output_size))
    return pick_largest(x, windows, [(0, 0)] * ndim, return_indices)


def adaptive_avg_pool(ndim: int, input: Any, output_size: Sizes) -> Any:
    """`adaptive_avg_pool1d` and so on, with `ndim` axes.

    The average over a window is one over each axis after the other, a product with a matrix.
    """
    x = pooled_input(f"adaptive_avg_pool{ndim}d", ndim, input)
    lengths = x.shape[-ndim:]
    counts = output_counts(lengths, output_size)
    if counts == (1,) * ndim:
        return mean(x, tuple(range(x.ndim - ndim, x.ndim)), keepdims=True)
    if not any(n % count for n, count in zip(lengths, counts, strict=True)):
        windows = adaptive_windows(lengths, counts)
        return window_sum(x, windows=windows) / math.prod(map(len, windows))
    for axis, (n, count) in enumerate(zip(lengths, counts, strict=True), x.ndim - ndim):
        if n != count:
            matrix = numpy_of(x).asarray(averaging_matrix(n, count).astype(x.dtype))
            x = moveaxis(matmul(moveaxis(x, axis, -1), matrix.T), -1, axis)
    return x


def pick_largest(x: Any, windows: Windows, widths: list[tuple[int, int]], return_indices: bool) -> Any:
    """The largest element of each window of an array with borders of -inf, and its index in the array without them."""
    ndim = len(windows)
    lengths = x.shape[-ndim:]
    is_padded = any(map(any, widths))
    if is_padded:
        x = pad(x, [(0, 0)] * (x.ndim - ndim) + widths, constant_values=-math.inf)
    decides = stop_gradient(x)
    out = window_pick(x, decides, windows=windows)
    if not return_indices:
        return out
    numbers = np.arange(math.prod(lengths)).reshape(lengths)
    numbers = np.pad(numbers, widths) if is_padded else numbers
    return out, window_pick(numpy_of(x).broadcast_to(numpy_of(x).asarray(numbers), x.shape), decides, windows=windows)


class Layout:
    """Where the windows of a pooling lie: zeros or -inf before and after each axis, and the windows with them."""

    def __init__(
        self,
        name: str,
        lengths: Lengths,
        kernel_size: Numbers,
        stride: Numbers | None,
        padding: Numbers,
        dilation: Numbers,
        ceil_mode: bool,
    ):
        ndim = len(lengths)
        self.size = each_axis(kernel_size, ndim, f"{name}: kernel_size")
        self.stride = each_axis(kernel_size if stride is None else stride, ndim, f"{name}: stride")
        self.padding = each_axis(padding, ndim, f"{name}: padding", 0)
        gaps = each_axis(dilation, ndim, f"{name}: dilation")
        self.lengths = lengths
        self.counted: list[int] = []  # windows along each axis
        self.widths: list[tuple[int, int]] = []
        used: list[int] = []  # elements of each axis, with the padding, that windows reach
        for n, k, s, p, extent in zip(
            lengths, self.size, self.stride, self.padding, reach(self.size, gaps), strict=True
        ):
            if p > k // 2:
                raise user_error(
                    ValueError, f"{name}: padding={p} with kernel_size={k}", "Pad at most half of the window."
                )
            room = n + 2 * p - extent
            count = (-(-room // s) if ceil_mode else room // s) + 1
            count -= ceil_mode and (count - 1) * s >= n + p  # a window that begins in the padding behind
            if count < 1:
                raise user_error(
                    ValueError,
                    f"{name}: a window of {extent} elements does not fit into an axis of {n}",
                    "Add padding.",
                )
            end = (count - 1) * s + extent
            self.counted.append(count)
            self.widths.append((p, max(end - n - p, 0)))
            used.append(end)
        self.windows = sliding_windows(tuple(used), self.size, self.stride, gaps)

    def counts(self, include_padding: bool) -> Any:
        """How many elements each window has: a number if all have as many.

        Windows that extend beyond the padding do not count what is there.
        """
        axes = []
        for n, k, s, p, count in zip(self.lengths, self.size, self.stride, self.padding, self.counted, strict=True):
            starts = np.arange(count) * s - p
            first, last = (-p, n + p) if include_padding else (0, n)
            axes.append(np.minimum(starts + k, last) - np.maximum(starts, first))
        if all((axis == k).all() for axis, k in zip(axes, self.size, strict=True)):
            return math.prod(self.size)
        whole = axes[0]
        for axis in axes[1:]:
            whole = np.multiply.outer(whole, axis)
        return whole


def pooled_input(name: str, ndim: int, input: Any) -> Any:
    """An input as a value, which must have one or two axes more than windows."""
    x = as_operand(input)
    refuse_axes(x, ndim, name)
    if x.dtype.kind != "f":
        raise user_error(
            TypeError, f"{name} takes floating-point numbers, and was given {x.dtype}", "Convert with x.astype(float)."
        )
    return x


def output_counts(lengths: Lengths, output_size: Sizes) -> Lengths:
    """The number of windows along each axis; None keeps the length."""
    given = (output_size,) * len(lengths) if isinstance(output_size, int | None) else tuple(output_size)
    if len(given) != len(lengths):
        raise user_error(ValueError, f"output_size={output_size!r} for {len(lengths)} axes")
    return tuple([n if count is None else count for n, count in zip(lengths, given, strict=True)])
