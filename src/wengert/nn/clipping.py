"""Gradient clipping: of the gradients that parameters have, in place, or of a tree of gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.modes import recording
from wengert.modes.tensor import Tensor, tensor
from wengert.ops.elementwise.arithmetic import sqrt, square
from wengert.ops.elementwise.choices import clip, maximum, minimum
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.predicates import isfinite
from wengert.ops.shape.casting import astype
from wengert.transforms.boundary import flatten_arrays, unflatten_arrays


def total_norm(arrays: Sequence[Any], norm_type: float = 2.0) -> Any:
    """The norm of all elements of some arrays together."""
    if math.isinf(norm_type):
        largest = [absolute(x).max() for x in arrays]
        norm = largest[0]
        for x in largest[1:]:
            norm = maximum(norm, x)
        return norm
    if norm_type == 2.0:
        return sqrt(sum(square(absolute(x) if x.dtype.kind == "c" else x).sum() for x in arrays))
    return sum((absolute(x) ** norm_type).sum() for x in arrays) ** (1.0 / norm_type)


def clip_factor(norm: Any, max_norm: float) -> Any:
    """The factor that makes a norm at most `max_norm`, as in PyTorch."""
    return minimum(max_norm / (norm + 1e-6), 1.0)


def clip_by_norm(grads: Any, max_norm: float, norm_type: float = 2.0) -> Any:
    """Scale a tree of gradients so that the norm of all elements together is at most `max_norm`.

    >>> import numpy as np
    >>> np.round(clip_by_norm({"w": np.array([3.0, 4.0])}, 1.0)["w"], 4)
    array([0.6, 0.8])
    """
    leaves, structure = flatten_arrays(grads)
    factor = clip_factor(total_norm(leaves, norm_type), max_norm)
    return unflatten_arrays(structure, [g * astype(factor, g.dtype) for g in leaves])


def clip_by_value(grads: Any, clip_value: float) -> Any:
    """Limit each element of a tree of gradients to the interval from `-clip_value` to `clip_value`.

    >>> import numpy as np
    >>> clip_by_value({"w": np.array([3.0, -0.5])}, 1.0)
    {'w': array([ 1. , -0.5])}
    """
    leaves, structure = flatten_arrays(grads)
    return unflatten_arrays(structure, [clip(g, -clip_value, clip_value) for g in leaves])


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> Any:
    """Scale the gradients of parameters so that their norm together is at most `max_norm`; returns their norm before.

    >>> import wengert as wg
    >>> p = wg.tensor([3.0, 4.0], requires_grad=True)
    >>> (p * p).sum().backward()
    >>> clip_grad_norm_([p], 1.0)
    tensor(10.)
    >>> print(wg.round(p.grad, 4))
    tensor([0.6, 0.8])
    """
    owners = with_gradients(parameters)
    if not owners:
        return tensor(0.0)
    grads: list[Any] = [p.grad for p in owners]
    is_traced = recording.current_trace() is not None
    with recording.override(enabled=False):
        norm = total_norm(grads if is_traced else [g.value for g in grads], norm_type)
        if error_if_nonfinite and not isfinite(norm):
            raise user_error(
                RuntimeError, f"The norm of the gradients is {norm.item()}", "Look for the cause with wg.why_nan."
            )
        factor = clip_factor(norm, max_norm)
        for p, g in zip(owners, grads, strict=True):
            g *= astype(factor, g.dtype) if is_traced else float(factor)
            p.grad = g
    return norm if isinstance(norm, Array) else Tensor(norm)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Limit each element of the gradients of parameters to the interval from `-clip_value` to `clip_value`.

    >>> import wengert as wg
    >>> p = wg.tensor([3.0, -0.2], requires_grad=True)
    >>> (p * p).sum().backward()
    >>> clip_grad_value_([p], 1.0)
    >>> p.grad
    tensor([ 1. , -0.4])
    """
    with recording.override(enabled=False):
        for p in with_gradients(parameters):
            p.grad = clip(p.grad, -clip_value, clip_value)


def with_gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """The parameters that have a gradient."""
    given = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p for p in given if p.grad is not None]
