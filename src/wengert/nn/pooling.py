"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from wengert.nn.functional.pooling import Sizes, adaptive_avg_pool, adaptive_max_pool, avg_pool, max_pool
from wengert.nn.module import Module
from wengert.ops.signal.window_arguments import Numbers


class Pooling(Module):
    """What pooling layers share: the number of axes of a window."""

    ndim: ClassVar[int]


class MaxPooling(Pooling):
    """The base of `MaxPool1d`, `MaxPool2d` and `MaxPool3d`."""

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        self.kernel_size, self.stride, self.padding, self.dilation = map(
            tuple_of, (kernel_size, stride, padding, dilation)
        )
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Any) -> Any:
        sizes = (self.kernel_size, self.stride, self.padding, self.dilation)
        return max_pool(self.ndim, input, *sizes, self.ceil_mode, self.return_indices)


class AveragePooling(Pooling):
    """The base of `AvgPool1d`, `AvgPool2d` and `AvgPool3d`."""

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ):
        self.kernel_size, self.stride, self.padding = map(tuple_of, (kernel_size, stride, padding))
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input: Any) -> Any:
        sizes = (self.kernel_size, self.stride, self.padding)
        return avg_pool(self.ndim, input, *sizes, self.ceil_mode, self.count_include_pad, self.divisor_override)


class AdaptiveMaxPooling(Pooling):
    """The base of `AdaptiveMaxPool1d`, `AdaptiveMaxPool2d` and `AdaptiveMaxPool3d`."""

    def __init__(self, output_size: Sizes, return_indices: bool = False):
        self.output_size, self.return_indices = tuple_of(output_size), return_indices

    def forward(self, input: Any) -> Any:
        return adaptive_max_pool(self.ndim, input, self.output_size, self.return_indices)


class AdaptiveAveragePooling(Pooling):
    """The base of `AdaptiveAvgPool1d`, `AdaptiveAvgPool2d` and `AdaptiveAvgPool3d`."""

    def __init__(self, output_size: Sizes):
        self.output_size = tuple_of(output_size)

    def forward(self, input: Any) -> Any:
        return adaptive_avg_pool(self.ndim, input, self.output_size)


def tuple_of(numbers: Any) -> Any:
    """Numbers for each axis as a tuple; one number and None as they are."""
    return tuple(numbers) if isinstance(numbers, Sequence) else numbers


class MaxPool1d(MaxPooling):
    """The largest element of windows of signals (batch, channels, length).

    Of equal elements, the first one gets the gradient.

    >>> import numpy as np
    >>> MaxPool1d(2)(np.ones((2, 3, 8))).shape
    (2, 3, 4)
    """

    ndim = 1


class MaxPool2d(MaxPooling):
    """The largest element of windows of images (batch, channels, height, width).

    Of equal elements, the first one gets the gradient.

    >>> import numpy as np
    >>> MaxPool2d(2)(np.ones((2, 3, 8, 6))).shape
    (2, 3, 4, 3)
    """

    ndim = 2


class MaxPool3d(MaxPooling):
    """The largest element of windows of volumes (batch, channels, depth, height, width).

    Of equal elements, the first one gets the gradient.

    >>> import numpy as np
    >>> MaxPool3d(2)(np.ones((2, 3, 4, 8, 6))).shape
    (2, 3, 2, 4, 3)
    """

    ndim = 3


class AvgPool1d(AveragePooling):
    """The average of windows of signals (batch, channels, length).

    >>> import numpy as np
    >>> AvgPool1d(2)(np.ones((2, 3, 8))).shape
    (2, 3, 4)
    """

    ndim = 1

    def __init__(
        self,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)  # as in PyTorch, no other divisor


class AvgPool2d(AveragePooling):
    """The average of windows of images (batch, channels, height, width).

    >>> import numpy as np
    >>> AvgPool2d(2)(np.ones((2, 3, 8, 6))).shape
    (2, 3, 4, 3)
    """

    ndim = 2


class AvgPool3d(AveragePooling):
    """The average of windows of volumes (batch, channels, depth, height, width).

    >>> import numpy as np
    >>> AvgPool3d(2)(np.ones((2, 3, 4, 8, 6))).shape
    (2, 3, 2, 4, 3)
    """

    ndim = 3


class AdaptiveMaxPool1d(AdaptiveMaxPooling):
    """The largest element of so many windows of signals (batch, channels, length); None keeps an axis.

    >>> import numpy as np
    >>> AdaptiveMaxPool1d(1)(np.ones((2, 3, 8))).shape
    (2, 3, 1)
    """

    ndim = 1


class AdaptiveMaxPool2d(AdaptiveMaxPooling):
    """The largest element of so many windows of images (batch, channels, height, width); None keeps an axis.

    >>> import numpy as np
    >>> AdaptiveMaxPool2d(1)(np.ones((2, 3, 8, 6))).shape
    (2, 3, 1, 1)
    """

    ndim = 2


class AdaptiveMaxPool3d(AdaptiveMaxPooling):
    """The largest element of so many windows of volumes (batch, channels, depth, height, width); None keeps an axis.

    >>> import numpy as np
    >>> AdaptiveMaxPool3d(1)(np.ones((2, 3, 4, 8, 6))).shape
    (2, 3, 1, 1, 1)
    """

    ndim = 3


class AdaptiveAvgPool1d(AdaptiveAveragePooling):
    """The average of so many windows of signals (batch, channels, length); None keeps an axis.

    >>> import numpy as np
    >>> AdaptiveAvgPool1d(1)(np.ones((2, 3, 8))).shape
    (2, 3, 1)
    """

    ndim = 1


class AdaptiveAvgPool2d(AdaptiveAveragePooling):
    """The average of so many windows of images (batch, channels, height, width); None keeps an axis.

    >>> import numpy as np
    >>> AdaptiveAvgPool2d(1)(np.ones((2, 3, 8, 6))).shape
    (2, 3, 1, 1)
    """

    ndim = 2


class AdaptiveAvgPool3d(AdaptiveAveragePooling):
    """The average of so many windows of volumes (batch, channels, depth, height, width); None keeps an axis.

    >>> import numpy as np
    >>> AdaptiveAvgPool3d(1)(np.ones((2, 3, 4, 8, 6))).shape
    (2, 3, 1, 1, 1)
    """

    ndim = 3
