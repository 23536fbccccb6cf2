"""`torch.nn.functional`: the functions of `wg.nn.functional`, with PyTorch's remaining arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import wengert.nn.functional as engine
from wengert.compat.torch.drawing import default_generator
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.values import adopt, layered, plain
from wengert.compat.differences import without
from wengert.random.counter_generator import counter_rng
from wengert.random.generator import default_rng

__all__ = list(engine.__all__)

IN_PLACE = (
    "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardtanh", "hardswish", "hardsigmoid",
    "threshold",
)  # fmt: skip


def changes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the argument `inplace`: the tensor itself gets the result."""

    @wraps(function)
    def call(input: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        out = function(input, *args, **kwargs)
        if not inplace:
            return out
        input._become(out)
        return input

    return call


def draws(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that draws from the default generator."""

    @wraps(function)
    def call(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        rng = counter_rng(default_generator.numpy) if training else None
        return changes(drop)(input, function, p, training, rng, inplace=inplace)

    def drop(input: Any, function: Callable[..., Any], p: float, training: bool, rng: Any) -> Any:
        return adopt(function(plain(input), p, training, rng=rng))

    return call


def functional(name: str) -> Callable[..., Any]:
    """The function of this name of `wg.nn.functional`, for tensors of this layer."""
    function = getattr(engine, name)
    if "rng" in signature(function).parameters:
        return draws(function)
    made = layered(function)
    return changes(made) if name in IN_PLACE else made


globals().update({name: functional(name) for name in __all__})


@layered
def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:  # noqa: ARG001
    """A smooth choice of a class along an axis, or with `hard` a choice that has the derivative of the smooth one."""
    return default_rng(default_generator.numpy).gumbel_softmax(logits, tau, axis=dim, hard=hard)


__all__ += ["gumbel_softmax"]
__getattr__ = without(__name__, ABSENT)
