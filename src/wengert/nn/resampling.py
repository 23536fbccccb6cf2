"""Layers that change the size of images: borders, interpolation, channels as pixels, windows as columns."""

from __future__ import annotations

from typing import Any, ClassVar

from wengert.core.errors import user_error
from wengert.nn.functional.resampling import fold, interpolate, pad, pixel_shuffle, pixel_unshuffle, unfold
from wengert.nn.module import Module
from wengert.ops.signal.window_arguments import Numbers


class Upsample(Module):
    """Signals, images or volumes at another size (`functional.interpolate`).

    >>> import numpy as np
    >>> Upsample(scale_factor=2)(np.ones((1, 3, 4, 5))).shape
    (1, 3, 8, 10)
    """

    def __init__(
        self,
        size: Numbers | None = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ):
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners

    def forward(self, input: Any) -> Any:
        return interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)


class PixelShuffle(Module):
    """Channels as pixels (`functional.pixel_shuffle`).

    >>> import numpy as np
    >>> PixelShuffle(2)(np.ones((1, 8, 3, 4))).shape
    (1, 2, 6, 8)
    """

    def __init__(self, upscale_factor: int):
        self.upscale_factor = upscale_factor

    def forward(self, input: Any) -> Any:
        return pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """Pixels as channels (`functional.pixel_unshuffle`).

    >>> import numpy as np
    >>> PixelUnshuffle(2)(np.ones((1, 2, 6, 8))).shape
    (1, 8, 3, 4)
    """

    def __init__(self, downscale_factor: int):
        self.downscale_factor = downscale_factor

    def forward(self, input: Any) -> Any:
        return pixel_unshuffle(input, self.downscale_factor)


class Unfold(Module):
    """Windows of images as columns (`functional.unfold`).

    >>> import numpy as np
    >>> Unfold(2)(np.ones((1, 3, 4, 5))).shape
    (1, 12, 12)
    """

    def __init__(self, kernel_size: Numbers, dilation: Numbers = 1, padding: Numbers = 0, stride: Numbers = 1):
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Any) -> Any:
        return unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """Columns of windows as images (`functional.fold`).

    >>> import numpy as np
    >>> Fold((4, 5), 2)(np.ones((1, 12, 12))).shape
    (1, 3, 4, 5)
    """

    def __init__(
        self,
        output_size: Numbers,
        kernel_size: Numbers,
        dilation: Numbers = 1,
        padding: Numbers = 0,
        stride: Numbers = 1,
    ):
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Any) -> Any:
        return fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Padding(Module):
    """The base of layers that add a border: one width, or widths before and after each axis, the last one first."""

    ndim: ClassVar[int]
    mode: ClassVar[str]
    value: float | None = None

    def __init__(self, padding: Numbers):
        self.padding = (padding,) * (2 * self.ndim) if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != 2 * self.ndim:
            raise user_error(
                ValueError, f"{type(self).__name__} with padding={padding!r}", f"Give one width, or {2 * self.ndim}."
            )

    def forward(self, input: Any) -> Any:
        return pad(input, self.padding, self.mode, self.value)


class ConstantPadding(Padding):
    """The base of layers that add a border of one number."""

    mode = "constant"

    def __init__(self, padding: Numbers, value: float):
        super().__init__(padding)
        self.value = value


class ConstantPad1d(ConstantPadding):
    """A border of one number around signals.

    >>> ConstantPad1d(1, 9.0)([[[1.0]]]).tolist()
    [[[9.0, 1.0, 9.0]]]
    """

    ndim = 1


class ConstantPad2d(ConstantPadding):
    """A border of one number around images.

    >>> ConstantPad2d((1, 0, 0, 0), 9.0)([[[[1.0]]]]).tolist()
    [[[[9.0, 1.0]]]]
    """

    ndim = 2


class ZeroPad1d(Padding):
    """A border of zeros around signals.

    >>> ZeroPad1d(1)([[[1.0]]]).tolist()
    [[[0.0, 1.0, 0.0]]]
    """

    ndim, mode = 1, "constant"


class ZeroPad2d(Padding):
    """A border of zeros around images.

    >>> ZeroPad2d((1, 0, 0, 0))([[[[1.0]]]]).tolist()
    [[[[0.0, 1.0]]]]
    """

    ndim, mode = 2, "constant"


class ReflectionPad1d(Padding):
    """A border around signals in which they are reflected.

    >>> ReflectionPad1d(1)([[[1.0, 2.0]]]).tolist()
    [[[2.0, 1.0, 2.0, 1.0]]]
    """

    ndim, mode = 1, "reflect"


class ReflectionPad2d(Padding):
    """A border around images in which they are reflected.

    >>> ReflectionPad2d((1, 0, 0, 0))([[[[1.0, 2.0]]]]).tolist()
    [[[[2.0, 1.0, 2.0]]]]
    """

    ndim, mode = 2, "reflect"


class ReplicationPad1d(Padding):
    """A border around signals that repeats their ends.

    >>> ReplicationPad1d(1)([[[1.0, 2.0]]]).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """

    ndim, mode = 1, "replicate"


class ReplicationPad2d(Padding):
    """A border around images that repeats their edges.

    >>> ReplicationPad2d((1, 0, 0, 0))([[[[1.0, 2.0]]]]).tolist()
    [[[[1.0, 1.0, 2.0]]]]
    """

    ndim, mode = 2, "replicate"
