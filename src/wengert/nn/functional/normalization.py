"""Normalisation by mean and variance, over a batch, or over features of each of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.errors import GradientError, user_error
from wengert.core.levels import iterate_payloads
from wengert.core.primitive import as_operand
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.nn.large_calls import compiled_if_large
from wengert.ops.elementwise.arithmetic import sqrt, square
from wengert.ops.elementwise.choices import where
from wengert.ops.linear_algebra.norms import vector_norm
from wengert.ops.reductions.sums import mean
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.products import stop_gradient

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "normalize", "rms_norm"]


def standardize(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """x with mean 0 and variance 1 along axes, and the mean and the variance that it had."""
    average = mean(x, axes, keepdims=True)
    centred = x - average
    variance = mean(square(centred), axes, keepdims=True)
    return centred * (1.0 / sqrt(variance + eps)), average, variance


@compiled_if_large("input", "weight", "bias")
def layer_norm(
    input: Any, normalized_shape: int | Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Each sample of a batch with mean 0 and variance 1 along the last axes, then scaled and shifted.

    >>> layer_norm([[1.0, 3.0]], 2, eps=0.0)
    array([[-1.,  1.]])
    """
    x, axes = last_axes("layer_norm", input, normalized_shape)
    out = standardize(x, axes, eps)[0]
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


@compiled_if_large("input", "weight")
def rms_norm(input: Any, normalized_shape: int | Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    """Each sample of a batch divided by the root of its mean square along the last axes, then scaled.

    >>> rms_norm([[3.0, 4.0]], 2) * np.sqrt(12.5)
    array([[3., 4.]])
    """
    x, axes = last_axes("rms_norm", input, normalized_shape)
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    out = x * (1.0 / sqrt(mean(square(x), axes, keepdims=True) + eps))
    return out if weight is None else out * weight


def last_axes(name: str, input: Any, normalized_shape: int | Sequence[int]) -> tuple[Any, tuple[int, ...]]:
    """The input as a value, and its last axes, which must have this shape."""
    x = as_operand(input)
    shape = as_shape(normalized_shape)
    if x.ndim < len(shape) or x.shape[x.ndim - len(shape) :] != shape:
        raise user_error(
            ValueError,
            f"{name} with normalized_shape={shape} of an input of shape {x.shape}",
            "These must be the last axes of the input.",
        )
    return x, tuple(range(x.ndim - len(shape), x.ndim))


def as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape from one length or several."""
    return (shape,) if isinstance(shape, int) else tuple(shape)


@compiled_if_large("input", "weight", "bias")
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Groups of channels with mean 0 and variance 1, then each channel scaled and shifted.

    >>> group_norm([[[1.0], [3.0]]], 1, eps=0.0).tolist()
    [[[-1.0], [1.0]]]
    """
    x = as_operand(input)
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise user_error(
            ValueError,
            f"group_norm with num_groups={num_groups} of an input of shape {x.shape}",
            "The input is (batch, channels, ...), its channels a multiple of the groups.",
        )
    grouped = reshape(x, (x.shape[0], num_groups, -1))
    out = reshape(standardize(grouped, (2,), eps)[0], x.shape)
    return scale_channels(out, weight, bias)


@compiled_if_large("input", "weight", "bias")
def instance_norm(input: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Each channel of each sample of a batch with mean 0 and variance 1, then scaled and shifted.

    >>> instance_norm([[[1.0, 3.0]]], eps=0.0).tolist()
    [[[-1.0, 1.0]]]
    """
    x = as_operand(input)
    if x.ndim < 3:
        raise user_error(ValueError, f"instance_norm of an input of shape {x.shape}", "It is (batch, channels, ...).")
    return scale_channels(standardize(x, tuple(range(2, x.ndim)), eps)[0], weight, bias)


def scale_channels(x: Any, weight: Any, bias: Any) -> Any:
    """Each channel of (batch, channels, ...) times a weight plus a bias; None for neither."""
    shape = (-1,) + (1,) * (x.ndim - 2)
    if weight is not None:
        x = x * reshape(as_operand(weight), shape)
    return x if bias is None else x + reshape(as_operand(bias), shape)


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: Any = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each channel with mean 0 and variance 1 over the batch, then scaled and shifted.

    In training the running statistics, if they are tensors, move towards those of the batch; otherwise they are used
    instead of them.

    >>> batch_norm([[1.0], [3.0]], None, None, training=True, eps=0.0).tolist()
    [[-1.0], [1.0]]
    """
    x = as_operand(input)
    axes = (0, *range(2, x.ndim))
    if not training:
        shape = (-1,) + (1,) * (x.ndim - 2)
        scale = 1.0 / sqrt(as_operand(running_var) + eps)
        return scale_channels((x - reshape(as_operand(running_mean), shape)) * reshape(scale, shape), weight, bias)
    count = x.size // x.shape[1] if x.ndim > 1 and x.shape[1] else 0
    if count < 2:
        raise user_error(
            ValueError,
            f"batch_norm in training of an input of shape {x.shape}, which has {count} numbers in each channel",
            "Pass a larger batch, or call model.eval().",
        )
    out, average, variance = standardize(x, axes, eps)
    if running_mean is not None:
        move_towards(running_mean, average, momentum)
        move_towards(running_var, variance * (count / (count - 1)), momentum)
    return scale_channels(out, weight, bias)


def move_towards(running: Any, new: Any, momentum: Any) -> None:
    """Move a running statistic towards the one of a batch, in place; no derivative depends on it."""
    new = reshape(stop_gradient(new), running.shape)
    if any(isinstance(payload, Batched) for payload in iterate_payloads(new)) and not isinstance(running, Batched):
        raise user_error(
            GradientError,
            "Batch normalisation in training inside vmap, where each element of the batch has statistics of its own",
            "Call model.eval(), or normalise without running statistics (track_running_stats=False).",
        )
    with recording.override(enabled=False):
        running[...] = running * (1.0 - momentum) + new * momentum


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """Vectors along an axis divided by their p-norms, which count as eps if they are smaller.

    >>> normalize([[3.0, 4.0]])
    array([[0.6, 0.8]])
    """
    x = as_operand(input)
    size = vector_norm(x, axis=dim, keepdims=True, ord=p)
    return x / where(size > eps, size, eps)
