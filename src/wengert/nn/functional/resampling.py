"""Images and signals at other sizes: borders, interpolation, channels as pixels, windows as columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.levels import numpy_of
from wengert.core.primitive import as_operand
from wengert.nn.functional.pooling import adaptive_avg_pool
from wengert.ops.indexing.taking import take
from wengert.ops.shape.joining import pad as pad_axes
from wengert.ops.shape.reshaping import reshape, transpose
from wengert.ops.signal.window_arguments import Numbers, each_axis
from wengert.transforms.products import vjp

__all__ = ["fold", "interpolate", "pad", "pixel_shuffle", "pixel_unshuffle", "unfold"]

PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
MODES = ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area")
AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
"""The numbers of axes that some modes are for."""


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """A border: `pad` has the widths before and after the last axis, then of the one before it, and so on.

    `mode` is "constant", "reflect", "replicate" or "circular"; negative widths cut off.

    >>> pad([[1.0, 2.0]], (1, 0, 0, 1)).tolist()
    [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]
    """
    x = as_operand(input)
    if mode not in PAD_MODES or len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise user_error(
            ValueError,
            f"pad={tuple(pad)} with mode={mode!r} of an input of shape {x.shape}",
            f"It takes two widths for each axis, the last one first, and the modes {', '.join(PAD_MODES)}.",
        )
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    widths = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    if any(width < 0 for pair in widths for width in pair):
        cut = [(max(-before, 0), n - max(-after, 0)) for (before, after), n in zip(widths, x.shape, strict=True)]
        x = x[tuple(slice(start, stop) for start, stop in cut)]
        widths = [(max(before, 0), max(after, 0)) for before, after in widths]
    options = {"constant_values": 0.0 if value is None else value} if mode == "constant" else {}
    return pad_axes(x, widths, PAD_MODES[mode], **options)


def interpolate(
    input: Any,
    size: Numbers | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:
    """Signals (batch, channels, length), images or volumes at another `size`, or `scale_factor` times the size.

    `mode` is "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic" or "area". With `align_corners`,
    the first and the last elements stay where they are.

    >>> interpolate([[[1.0, 3.0]]], scale_factor=2.0, mode="linear").tolist()
    [[[1.0, 1.5, 2.5, 3.0]]]
    """
    x = as_operand(input)
    ndim = x.ndim - 2
    if mode not in MODES or ndim < 1 or AXES.get(mode, ndim) != ndim or (size is None) == (scale_factor is None):
        raise user_error(
            ValueError,
            f"interpolate with mode={mode!r}, size={size}, scale_factor={scale_factor} of an input of shape {x.shape}",
            f"The modes are {', '.join(MODES)}, for (batch, channels, ...), with either a size or a scale_factor.",
        )
    scales: Any = [None] * ndim
    if size is not None:
        counts = each_axis(size, ndim, "interpolate: size")
    else:
        scales = [scale_factor] * ndim if isinstance(scale_factor, int | float) else list(scale_factor)  # type: ignore[arg-type]  # not None
        counts = tuple([math.floor(n * scale) for n, scale in zip(x.shape[2:], scales, strict=True)])
    if mode == "area":
        return adaptive_avg_pool(ndim, x, counts)
    for axis, count, scale in zip(range(2, x.ndim), counts, scales, strict=True):
        step = x.shape[axis] / count if scale is None or recompute_scale_factor else 1.0 / scale
        x = resample(x, axis, count, step, mode, bool(align_corners))
    return x


def resample(x: Any, axis: int, count: int, step: float, mode: str, align_corners: bool) -> Any:
    """An axis at `count` positions, which are `step` apart."""
    n = x.shape[axis]
    if mode.startswith("nearest"):
        index = np.floor((np.arange(count) + 0.5 * (mode == "nearest-exact")) * step)
        return take(x, np.minimum(index.astype(int), n - 1), axis)
    if align_corners:
        position = np.arange(count) * ((n - 1) / (count - 1) if count > 1 else 0.0)
    else:
        position = (np.arange(count) + 0.5) * step - 0.5
    if mode != "bicubic":
        position = np.maximum(position, 0.0)
    start = np.floor(position).astype(int)
    part = position - start
    weights = cubic_weights(part) if mode == "bicubic" else {0: 1.0 - part, 1: part}
    shape = (-1,) + (1,) * (x.ndim - axis - 1)
    return sum(
        take(x, np.clip(start + offset, 0, n - 1), axis) * numpy_of(x).asarray(weight.reshape(shape).astype(x.dtype))
        for offset, weight in weights.items()
    )


def cubic_weights(part: np.ndarray) -> dict[int, np.ndarray]:
    """The weights of four neighbours in a cubic convolution (Keys 1981), with the parameter -3/4."""

    def near(x: np.ndarray) -> np.ndarray:
        return (1.25 * x - 2.25) * x * x + 1.0

    def far(x: np.ndarray) -> np.ndarray:
        return ((-0.75 * x + 3.75) * x - 6.0) * x + 3.0

    return {-1: far(part + 1.0), 0: near(part), 1: near(1.0 - part), 2: far(2.0 - part)}


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Channels (..., C r^2, H, W) as pixels (..., C, H r, W r).

    >>> pixel_shuffle(np.arange(4.0).reshape(1, 4, 1, 1), 2).tolist()
    [[[[0.0, 1.0], [2.0, 3.0]]]]
    """
    x, r = as_operand(input), upscale_factor
    *batch, channels, height, width = x.shape
    if channels % (r * r):
        raise user_error(ValueError, f"pixel_shuffle by {r} of {channels} channels", f"They are a multiple of {r * r}.")
    x = reshape(x, (-1, channels // (r * r), r, r, height, width))
    return reshape(transpose(x, (0, 1, 4, 2, 5, 3)), (*batch, channels // (r * r), height * r, width * r))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Pixels (..., C, H r, W r) as channels (..., C r^2, H, W).

    >>> pixel_unshuffle(np.arange(4.0).reshape(1, 1, 2, 2), 2).shape
    (1, 4, 1, 1)
    """
    x, r = as_operand(input), downscale_factor
    *batch, channels, height, width = x.shape
    if height % r or width % r:
        raise user_error(ValueError, f"pixel_unshuffle by {r} of images {height} x {width}", "Both are its multiples.")
    x = reshape(x, (-1, channels, height // r, r, width // r, r))
    return reshape(transpose(x, (0, 1, 3, 5, 2, 4)), (*batch, channels * r * r, height // r, width // r))


def unfold(input: Any, kernel_size: Numbers, dilation: Numbers = 1, padding: Numbers = 0, stride: Numbers = 1) -> Any:
    """The windows of images (batch, channels, height, width) as columns (batch, channels * window, windows).

    >>> unfold(np.arange(4.0).reshape(1, 1, 2, 2), (1, 2)).tolist()
    [[[0.0, 2.0], [1.0, 3.0]]]
    """
    x = as_operand(input)
    sizes, dilations, paddings, strides = (
        each_axis(value, 2, f"unfold: {name}", least)
        for value, name, least in (
            (kernel_size, "kernel_size", 1),
            (dilation, "dilation", 1),
            (padding, "padding", 0),
            (stride, "stride", 1),
        )
    )
    if x.ndim not in (3, 4):
        raise user_error(
            ValueError, f"unfold of an input of shape {x.shape}", "It is (batch, channels, height, width)."
        )
    lead = x.shape[:-2]
    x = pad_axes(x, [(0, 0)] * (x.ndim - 2) + [(p, p) for p in paddings])
    for axis, size, dilation_, step in zip((-2, -1), sizes, dilations, strides, strict=True):
        axis = axis + x.ndim if axis == -1 else len(lead)
        starts = np.arange(0, x.shape[axis] - dilation_ * (size - 1), step)
        x = take(x, np.arange(size)[:, None] * dilation_ + starts, axis)
    order = (*range(len(lead)), len(lead), len(lead) + 2, len(lead) + 1, len(lead) + 3)
    rows = math.prod(sizes) * lead[-1]
    return reshape(transpose(x, order), (*lead[:-1], rows, -1))


def fold(
    input: Any,
    output_size: Numbers,
    kernel_size: Numbers,
    dilation: Numbers = 1,
    padding: Numbers = 0,
    stride: Numbers = 1,
) -> Any:
    """Columns of windows as images, in which overlapping windows add up: the transpose of `unfold`.

    >>> fold(np.ones((1, 2, 2)), (2, 2), (1, 2)).tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """
    x = as_operand(input)
    sizes = each_axis(kernel_size, 2, "fold: kernel_size")
    shape = (*x.shape[:-2], x.shape[-2] // math.prod(sizes), *each_axis(output_size, 2, "fold: output_size"))
    _, pull = vjp(
        lambda image: unfold(image, kernel_size, dilation, padding, stride), numpy_of(x).zeros(shape, x.dtype)
    )
    (images,) = pull(x)
    return images
