"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.modes.tensor import Tensor
from wengert.nn import functional
from wengert.nn.functional.normalization import as_shape
from wengert.nn.inputs import refuse_axes, refuse_length, to_precision
from wengert.nn.module import Module, Parameter
from wengert.ops.shape.reshaping import expand_dims


class LayerNorm(Module):
    """Each sample of a batch with mean 0 and variance 1 along the last axes, then scaled and shifted.

    >>> LayerNorm(2, eps=0.0)(np.array([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        dtype: Any = np.float32,
    ):
        self.normalized_shape = as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = Parameter(np.ones(self.normalized_shape), dtype=dtype) if elementwise_affine else None
        self.bias = Parameter(np.zeros(self.normalized_shape), dtype=dtype) if elementwise_affine and bias else None

    def forward(self, input: Any) -> Any:
        x = input if self.weight is None else to_precision(input, self.weight, "LayerNorm")
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Each sample of a batch divided by the root of its mean square along the last axes, then scaled.

    >>> RMSNorm(2)(np.array([[3.0, 3.0]])).tolist()
    [[1.0, 1.0]]
    """

    weight: Tensor | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        *,
        dtype: Any = np.float32,
    ):
        self.normalized_shape = as_shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = Parameter(np.ones(self.normalized_shape), dtype=dtype) if elementwise_affine else None

    def forward(self, input: Any) -> Any:
        x = input if self.weight is None else to_precision(input, self.weight, "RMSNorm")
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    """Groups of channels with mean 0 and variance 1, then each channel scaled and shifted.

    >>> GroupNorm(2, 4)(np.ones((1, 4, 5))).shape
    (1, 4, 5)
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, *, dtype: Any = np.float32
    ):
        if num_channels % num_groups:
            raise user_error(ValueError, f"GroupNorm: {num_channels} channels cannot be in {num_groups} equal groups")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.weight = Parameter(np.ones(num_channels), dtype=dtype) if affine else None
        self.bias = Parameter(np.zeros(num_channels), dtype=dtype) if affine else None

    def forward(self, input: Any) -> Any:
        x = input if self.weight is None else to_precision(input, self.weight, "GroupNorm")
        refuse_length(x, 1, self.num_channels, "GroupNorm", "num_channels")
        return functional.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


class InstanceNormBase(Module):
    """The base of `InstanceNorm1d`, `InstanceNorm2d` and `InstanceNorm3d`."""

    ndim: ClassVar[int]
    weight: Tensor | None
    bias: Tensor | None

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = False, *, dtype: Any = np.float32):
        self.num_features, self.eps, self.affine = num_features, eps, affine
        self.weight = Parameter(np.ones(num_features), dtype=dtype) if affine else None
        self.bias = Parameter(np.zeros(num_features), dtype=dtype) if affine else None

    def forward(self, input: Any) -> Any:
        name = type(self).__name__
        x = as_operand(input) if self.weight is None else to_precision(input, self.weight, name)
        refuse_axes(x, self.ndim, name)
        if x.ndim == self.ndim + 1:
            return functional.instance_norm(expand_dims(x, 0), self.weight, self.bias, self.eps)[0]
        return functional.instance_norm(x, self.weight, self.bias, self.eps)


class InstanceNorm1d(InstanceNormBase):
    """Each channel of each signal with mean 0 and variance 1, then scaled and shifted if `affine`.

    >>> InstanceNorm1d(2)(np.ones((1, 2, 5))).shape
    (1, 2, 5)
    """

    ndim = 1


class InstanceNorm2d(InstanceNormBase):
    """Each channel of each image with mean 0 and variance 1, then scaled and shifted if `affine`.

    >>> InstanceNorm2d(2)(np.ones((1, 2, 5, 4))).shape
    (1, 2, 5, 4)
    """

    ndim = 2


class InstanceNorm3d(InstanceNormBase):
    """Each channel of each volume with mean 0 and variance 1, then scaled and shifted if `affine`.

    >>> InstanceNorm3d(2)(np.ones((1, 2, 5, 4, 3))).shape
    (1, 2, 5, 4, 3)
    """

    ndim = 3


class BatchNormBase(Module):
    """The base of `BatchNorm1d`, `BatchNorm2d` and `BatchNorm3d`."""

    axes: ClassVar[tuple[int, ...]]
    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        dtype: Any = np.float32,
    ):
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = Parameter(np.ones(num_features), dtype=dtype) if affine else None
        self.bias = Parameter(np.zeros(num_features), dtype=dtype) if affine else None
        self.register_buffer("running_mean", np.zeros(num_features, dtype) if track_running_stats else None)
        self.register_buffer("running_var", np.ones(num_features, dtype) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", np.array(0) if track_running_stats else None)

    def reset_running_stats(self) -> None:
        """Forget the statistics of the batches so far."""
        for buffer, number in ((self.running_mean, 0.0), (self.running_var, 1.0), (self.num_batches_tracked, 0)):
            if buffer is not None:
                buffer[...] = number

    def forward(self, input: Any) -> Any:
        name = type(self).__name__
        like = self.weight if self.weight is not None else self.running_mean
        x = input if like is None else to_precision(input, like, name)
        if x.ndim not in self.axes:
            raise user_error(
                ValueError,
                f"{name} was given an input of shape {x.shape}",
                f"It takes {' or '.join(map(str, self.axes))} axes, (batch, channels, ...).",
            )
        refuse_length(x, 1, self.num_features, name, "num_features")
        momentum: Any = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked[...] = self.num_batches_tracked + 1
            if momentum is None:
                momentum = 1.0 / self.num_batches_tracked.astype(x.dtype)
        return functional.batch_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
        )


class BatchNorm1d(BatchNormBase):
    """Each feature of (batch, features), or of (batch, features, length), with mean 0 and variance 1 over a batch.

    It is then scaled and shifted. In training, the buffers `running_mean` and `running_var` move towards the statistics
    of each batch by the factor `momentum` (None: they are the average over all batches), and they are used after
    `eval()`.

    >>> BatchNorm1d(3)(np.ones((4, 3))).shape
    (4, 3)
    """

    axes = (2, 3)


class BatchNorm2d(BatchNormBase):
    """Each channel of images (batch, channels, height, width) with mean 0 and variance 1; see `BatchNorm1d`.

    >>> BatchNorm2d(3)(np.ones((4, 3, 2, 2))).shape
    (4, 3, 2, 2)
    """

    axes = (4,)


class BatchNorm3d(BatchNormBase):
    """Each channel of volumes (batch, channels, depth, height, width) with mean 0 and variance 1; see `BatchNorm1d`.

    >>> BatchNorm3d(3)(np.ones((4, 3, 2, 2, 2))).shape
    (4, 3, 2, 2, 2)
    """

    axes = (5,)
