"""Convolutional layers and their transposes."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from wengert.core.errors import user_error
from wengert.modes.tensor import Tensor
from wengert.nn.functional.convolution import convolve_batch, transpose_batch
from wengert.nn.inputs import refuse_axes, refuse_length, to_precision
from wengert.nn.linear import draw_uniform
from wengert.nn.module import Module
from wengert.ops.shape.joining import pad
from wengert.ops.signal.window_arguments import Numbers, each_axis, padding_widths, reach
from wengert.random.generator import default_rng

PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


class ConvolutionBase(Module):
    """What convolutions and their transposes share: the arguments, and the weights."""

    ndim: ClassVar[int]
    weight: Tensor
    bias: Tensor | None

    def make_weights(self, shape: tuple[int, ...], bias: bool, rng: Any, dtype: Any) -> None:
        """Initial weights as in PyTorch: uniform, within the root of the number of inputs of an output."""
        if self.in_channels % self.groups or self.out_channels % self.groups:
            raise user_error(
                ValueError,
                f"{type(self).__name__}: {self.in_channels} channels become {self.out_channels} in {self.groups} "
                f"groups",
                "Both must be multiples of the groups.",
            )
        rng, fan_in = default_rng(rng), math.prod(shape[1:])
        bound = 1.0 / math.sqrt(fan_in) if fan_in else 0.0
        self.weight = draw_uniform(rng, bound, shape, dtype)
        self.bias = draw_uniform(rng, bound, (self.out_channels,), dtype) if bias else None

    def set_arguments(
        self, in_channels: int, out_channels: int, kernel_size: Numbers, stride: Numbers, dilation: Numbers, groups: int
    ) -> None:
        """Keep the arguments as attributes, with one number for each axis."""
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = self.each_axis(kernel_size, "kernel_size")
        self.stride, self.dilation = self.each_axis(stride, "stride"), self.each_axis(dilation, "dilation")

    def each_axis(self, value: Numbers, name: str, least: int = 1) -> tuple[int, ...]:
        """An argument as one number for each axis."""
        return each_axis(value, self.ndim, f"{type(self).__name__}: {name}", least)

    def as_input(self, x: Any) -> Any:
        """An input in the precision of the weights, with the right number of channels."""
        name = type(self).__name__
        x = to_precision(x, self.weight, name)
        refuse_axes(x, self.ndim, name)
        refuse_length(x, x.ndim - self.ndim - 1, self.in_channels, name, "in_channels")
        return x


class Convolution(ConvolutionBase):
    """The base of `Conv1d`, `Conv2d` and `Conv3d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: Numbers | str = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        *,
        rng: Any = None,
        dtype: Any = np.float32,
    ):
        self.set_arguments(in_channels, out_channels, kernel_size, stride, dilation, groups)
        if padding_mode not in PADDING_MODES:
            raise user_error(
                ValueError,
                f"{type(self).__name__}: padding_mode={padding_mode!r}",
                f"The modes are {', '.join(PADDING_MODES)}.",
            )
        self.padding: Any = padding if isinstance(padding, str) else self.each_axis(padding, "padding", 0)
        self.padding_mode = padding_mode
        self.make_weights((out_channels, in_channels // groups, *self.kernel_size), bias, rng, dtype)

    def forward(self, input: Any) -> Any:
        x, padding = self.as_input(input), self.padding
        if self.padding_mode != "zeros":
            widths = padding_widths(padding, reach(self.kernel_size, self.dilation))
            x, padding = pad(x, [(0, 0)] * (x.ndim - self.ndim) + [*widths], PADDING_MODES[self.padding_mode]), 0
        return convolve_batch(self.ndim, x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(Convolution):
    """Convolve signals (batch, channels, length). `weight` is (out_channels, in_channels / groups, kernel_size).

    `padding` is a number, "valid" or "same"; `padding_mode` one of "zeros", "reflect", "replicate", "circular".

    >>> Conv1d(2, 4, 3, rng=0)(np.ones((1, 2, 10))).shape
    (1, 4, 8)
    """

    ndim = 1


class Conv2d(Convolution):
    """Convolve images (batch, channels, height, width). `weight` is (out_channels, in_channels / groups, *kernel_size).

    `padding` is one number, one for each axis, "valid" or "same"; `padding_mode` one of "zeros", "reflect",
    "replicate", "circular".

    >>> Conv2d(3, 8, 3, padding=1, rng=0)(np.ones((1, 3, 5, 6))).shape
    (1, 8, 5, 6)
    """

    ndim = 2


class Conv3d(Convolution):
    """Convolve volumes (batch, channels, depth, height, width). For the arguments see `Conv2d`.

    >>> Conv3d(1, 2, 2, rng=0)(np.ones((1, 1, 3, 4, 5))).shape
    (1, 2, 2, 3, 4)
    """

    ndim = 3


class TransposedConvolution(ConvolutionBase):
    """The base of `ConvTranspose1d`, `ConvTranspose2d` and `ConvTranspose3d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Numbers = 1,
        *,
        rng: Any = None,
        dtype: Any = np.float32,
    ):
        self.set_arguments(in_channels, out_channels, kernel_size, stride, dilation, groups)
        self.padding = self.each_axis(padding, "padding", 0)
        self.output_padding = self.each_axis(output_padding, "output_padding", 0)
        self.make_weights((in_channels, out_channels // groups, *self.kernel_size), bias, rng, dtype)

    def forward(self, input: Any) -> Any:
        sizes = (self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        return transpose_batch(self.ndim, self.as_input(input), self.weight, self.bias, *sizes)


class ConvTranspose1d(TransposedConvolution):
    """The transpose of `Conv1d`. `weight` is (in_channels, out_channels / groups, kernel_size).

    >>> ConvTranspose1d(2, 1, 2, stride=2, rng=0)(np.ones((1, 2, 5))).shape
    (1, 1, 10)
    """

    ndim = 1


class ConvTranspose2d(TransposedConvolution):
    """The transpose of `Conv2d`. `weight` is (in_channels, out_channels / groups, *kernel_size).

    >>> ConvTranspose2d(2, 1, 2, stride=2, rng=0)(np.ones((1, 2, 3, 4))).shape
    (1, 1, 6, 8)
    """

    ndim = 2


class ConvTranspose3d(TransposedConvolution):
    """The transpose of `Conv3d`. `weight` is (in_channels, out_channels / groups, *kernel_size).

    >>> ConvTranspose3d(1, 1, 2, rng=0)(np.ones((1, 1, 2, 3, 4))).shape
    (1, 1, 3, 4, 5)
    """

    ndim = 3
