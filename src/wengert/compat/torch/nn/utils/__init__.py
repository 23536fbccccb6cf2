"""`torch.nn.utils`: gradients that are clipped, parameters as one vector, weights that are normalised."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.nn.utils import rnn as rnn
from wengert.compat.torch.nn.utils import stateless as stateless
from wengert.compat.torch.nn.utils.reparametrization import spectral_norm, weight_norm
from wengert.compat.torch.values import TorchValue, adopt, layered, plain
from wengert.core.errors import user_error
from wengert.modes import recording
from wengert.nn.clipping import total_norm
from wengert.ops.shape.casting import copy
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector", "rnn",
    "spectral_norm", "stateless", "vector_to_parameters", "weight_norm",
]  # fmt: skip


def with_gradients(parameters: Any) -> list[Any]:
    """The parameters that have a gradient."""
    given: Any = [parameters] if isinstance(parameters, TorchValue) else parameters
    return [p for p in given if p.grad is not None]


@layered
def get_total_norm(tensors: Iterable[Any], norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Any:
    """The norm of all elements of some tensors together."""
    found = list(tensors)
    norm = total_norm(found, float(norm_type)) if found else np.float32(0.0)
    if error_if_nonfinite and not np.isfinite(np.asarray(norm)):
        raise user_error(RuntimeError, "The norm of the gradients is not finite")
    return norm


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any) -> None:
    """Scale the gradients of parameters, in place, so that a norm which they have becomes at most `max_norm`."""
    with recording.override(enabled=False):
        for p in with_gradients(parameters):
            p.grad = p.grad * (max_norm / (total_norm + 1e-6)).clamp(max=1.0)


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale the gradients of parameters so that the norm of all of them together is at most `max_norm`; returns it."""
    chosen = with_gradients(parameters if isinstance(parameters, TorchValue) else list(parameters))
    norm = get_total_norm([p.grad for p in chosen], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(chosen, max_norm, norm)
    return norm


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Limit each element of the gradients of parameters to the interval from `-clip_value` to `clip_value`."""
    with recording.override(enabled=False):
        for p in with_gradients(parameters):
            p.grad = p.grad.clamp(-clip_value, clip_value)


@layered
def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All elements of some tensors, one after the other."""
    return concatenate([reshape(plain(p), (-1,)) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Assign the elements of a vector to parameters."""
    start, numbers = 0, plain(vec).detach()
    for p in parameters:
        count = p.numel()
        p.data = adopt(reshape(copy(numbers[start : start + count]), tuple(p.shape)))
        start += count


__getattr__ = without(__name__, ABSENT)
