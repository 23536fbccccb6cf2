"""Convolutional layers and their transposes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from wengert.core.errors import user_error
from wengert.modes.tensor import Tensor
from wengert.nn import functional
from wengert.nn.inputs import refuse_length, to_precision
from wengert.nn.linear import draw_uniform
from wengert.nn.module import Module
from wengert.ops.shape.joining import pad
from wengert.random.generator import default_rng

Numbers = int | Sequence[int]
PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def each_axis(value: Numbers, ndim: int) -> tuple[int, ...]:
    """One number for each axis."""
    return (value,) * ndim if isinstance(value, int) else tuple(value)


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
        self.kernel_size = each_axis(kernel_size, self.ndim)
        self.stride, self.dilation = each_axis(stride, self.ndim), each_axis(dilation, self.ndim)

    def as_input(self, x: Any) -> Any:
        """An input in the precision of the weights, with the right number of channels."""
        name = type(self).__name__
        x = to_precision(x, self.weight, name)
        if x.ndim not in (self.ndim + 1, self.ndim + 2):
            raise user_error(
                ValueError,
                f"{name} was given an input of shape {x.shape}",
                f"It takes {self.ndim + 2} axes, (batch, channels, ...), or {self.ndim + 1} without a batch.",
            )
        refuse_length(x, x.ndim - self.ndim - 1, self.in_channels, name, "in_channels")
        return x


class Convolution(ConvolutionBase):
    """The base of `Conv1d`, `Conv2d` and `Conv3d`."""

    function: ClassVar[Callable[..., Any]]

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
        self.padding: Any = padding if isinstance(padding, str) else each_axis(padding, self.ndim)
        self.padding_mode = padding_mode
        self.make_weights((out_channels, in_channels // groups, *self.kernel_size), bias, rng, dtype)

    def forward(self, input: Any) -> Any:
        x, padding = self.as_input(input), self.padding
        if self.padding_mode != "zeros":
            widths = [(0, 0)] * (x.ndim - self.ndim) + self.widths()
            x, padding = pad(x, widths, PADDING_MODES[self.padding_mode]), 0
        function = type(self).function
        return function(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def widths(self) -> list[tuple[int, int]]:
        """How many elements are added before and after each axis."""
        if self.padding == "valid":
            return [(0, 0)] * self.ndim
        if self.padding == "same":
            reach = [d * (n - 1) for n, d in zip(self.kernel_size, self.dilation, strict=True)]
            return [(r // 2, r - r // 2) for r in reach]
        return [(p, p) for p in self.padding]


class Conv1d(Convolution):
    """Convolve signals (batch, channels, length). `weight` is (out_channels, in_channels / groups, kernel_size).

    `padding` is a number, "valid" or "same"; `padding_mode` one of "zeros", "reflect", "replicate", "circular".

    >>> Conv1d(2, 4, 3, rng=0)(np.ones((1, 2, 10))).shape
    (1, 4, 8)
    """

    ndim = 1
    function = functional.conv1d


class Conv2d(Convolution):
    """Convolve images (batch, channels, height, width). `weight` is (out_channels, in_channels / groups, *kernel_size).

    `padding` is one number, one for each axis, "valid" or "same"; `padding_mode` one of "zeros", "reflect",
    "replicate", "circular".

    >>> Conv2d(3, 8, 3, padding=1, rng=0)(np.ones((1, 3, 5, 6))).shape
    (1, 8, 5, 6)
    """

    ndim = 2
    function = functional.conv2d


class Conv3d(Convolution):
    """Convolve volumes (batch, channels, depth, height, width). For the arguments see `Conv2d`.

    >>> Conv3d(1, 2, 2, rng=0)(np.ones((1, 1, 3, 4, 5))).shape
    (1, 2, 2, 3, 4)
    """

    ndim = 3
    function = functional.conv3d


class TransposedConvolution(ConvolutionBase):
    """The base of `ConvTranspose1d`, `ConvTranspose2d` and `ConvTranspose3d`."""

    function: ClassVar[Callable[..., Any]]

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
        self.padding = each_axis(padding, self.ndim)
        self.output_padding = each_axis(output_padding, self.ndim)
        self.make_weights((in_channels, out_channels // groups, *self.kernel_size), bias, rng, dtype)

    def forward(self, input: Any) -> Any:
        x, function = self.as_input(input), type(self).function
        return function(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )


class ConvTranspose1d(TransposedConvolution):
    """The transpose of `Conv1d`. `weight` is (in_channels, out_channels / groups, kernel_size).

    >>> ConvTranspose1d(2, 1, 2, stride=2, rng=0)(np.ones((1, 2, 5))).shape
    (1, 1, 10)
    """

    ndim = 1
    function = functional.conv_transpose1d


class ConvTranspose2d(TransposedConvolution):
    """The transpose of `Conv2d`. `weight` is (in_channels, out_channels / groups, *kernel_size).

    >>> ConvTranspose2d(2, 1, 2, stride=2, rng=0)(np.ones((1, 2, 3, 4))).shape
    (1, 1, 6, 8)
    """

    ndim = 2
    function = functional.conv_transpose2d


class ConvTranspose3d(TransposedConvolution):
    """The transpose of `Conv3d`. `weight` is (in_channels, out_channels / groups, *kernel_size).

    >>> ConvTranspose3d(1, 1, 2, rng=0)(np.ones((1, 1, 2, 3, 4))).shape
    (1, 1, 3, 4, 5)
    """

    ndim = 3
    function = functional.conv_transpose3d
