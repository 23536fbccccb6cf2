"""Convolutions and their transposes, in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.shape.reshaping import reshape, squeeze
from wengert.ops.signal.convolution import convolution, convolution_transpose
from wengert.ops.signal.window_arguments import Numbers, each_axis

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers | str = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Any:
    """Convolve signals (batch, channels, length) with filters (filters, channels / groups, size).

    >>> conv1d([[[1.0, 2.0, 4.0]]], [[[1.0, -1.0]]]).tolist()
    [[[-1.0, -2.0]]]
    """
    return convolve_batch(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers | str = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Any:
    """Convolve images (batch, channels, height, width) with filters (filters, channels / groups, *size).

    >>> conv2d([[[[1.0, 2.0], [3.0, 4.0]]]], [[[[1.0, 1.0], [1.0, 1.0]]]]).tolist()
    [[[[10.0]]]]
    """
    return convolve_batch(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers | str = 0,
    dilation: Numbers = 1,
    groups: int = 1,
) -> Any:
    """Convolve volumes (batch, channels, depth, height, width) with filters (filters, channels / groups, *size).

    >>> conv3d([[[[[1.0, 2.0]]]]], [[[[[3.0, 4.0]]]]]).tolist()
    [[[[[11.0]]]]]
    """
    return convolve_batch(3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
) -> Any:
    """The transpose of `conv1d`, with filters (channels, filters / groups, size).

    >>> conv_transpose1d([[[1.0, 2.0]]], [[[1.0, -1.0]]]).tolist()
    [[[1.0, 1.0, -2.0]]]
    """
    return transpose_batch(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
) -> Any:
    """The transpose of `conv2d`, with filters (channels, filters / groups, *size).

    >>> conv_transpose2d([[[[1.0]]]], [[[[1.0, 2.0], [3.0, 4.0]]]]).tolist()
    [[[[1.0, 2.0], [3.0, 4.0]]]]
    """
    return transpose_batch(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    groups: int = 1,
    dilation: Numbers = 1,
) -> Any:
    """The transpose of `conv3d`, with filters (channels, filters / groups, *size).

    >>> conv_transpose3d([[[[[2.0]]]]], [[[[[3.0, 4.0]]]]]).tolist()
    [[[[[6.0, 8.0]]]]]
    """
    return transpose_batch(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def convolve_batch(
    ndim: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Numbers,
    padding: Numbers | str,
    dilation: Numbers,
    groups: int,
) -> Any:
    """A convolution with `ndim` axes, of a batch or of one signal, and the bias of each filter."""
    if padding == "same" and each_axis(stride, ndim, "stride") != (1,) * ndim:
        raise user_error(ValueError, f"conv{ndim}d: padding='same' with stride={stride!r}", "Use a stride of 1.")
    name = f"conv{ndim}d"
    return run_on_batch(
        name, ndim, input, weight, bias, lambda x, w: convolution(x, w, stride, padding, dilation, groups)
    )


def transpose_batch(
    ndim: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Numbers,
    padding: Numbers,
    output_padding: Numbers,
    groups: int,
    dilation: Numbers,
) -> Any:
    """A transposed convolution with `ndim` axes, of a batch or of one signal, and the bias of each filter."""
    name = f"conv_transpose{ndim}d"
    return run_on_batch(
        name,
        ndim,
        input,
        weight,
        bias,
        lambda x, w: convolution_transpose(x, w, stride, padding, output_padding, dilation, groups),
    )


def run_on_batch(name: str, ndim: int, input: Any, weight: Any, bias: Any, convolve: Callable[[Any, Any], Any]) -> Any:
    """Convolve a batch, or one signal as a batch of one, and add the bias of each filter."""
    x, w = as_operand(input), as_operand(weight)
    is_single = x.ndim == ndim + 1
    if not (is_single or x.ndim == ndim + 2) or w.ndim != ndim + 2:
        raise user_error(
            ValueError,
            f"{name}: an input of shape {x.shape} and a weight of shape {w.shape}",
            f"The input has {ndim + 2} axes, (batch, channels, ...), or {ndim + 1} without a batch; the weight has "
            f"{ndim + 2}.",
        )
    out = convolve(reshape(x, (1, *x.shape)) if is_single else x, w)
    if bias is not None:
        out = add(out, reshape(as_operand(bias), (-1,) + (1,) * ndim))
    return squeeze(out, 0) if is_single else out
