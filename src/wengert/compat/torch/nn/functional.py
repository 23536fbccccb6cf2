"""`torch.nn.functional`: the functions of `wg.nn.functional`, with PyTorch's remaining arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any

import wengert.nn.functional as engine
from wengert.compat.differences import without
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.drawing import default_generator
from wengert.compat.torch.values import adopt, layered, plain
from wengert.compat.torch.writing import rebind
from wengert.random.generator import default_rng

__all__ = list(engine.__all__)

IN_PLACE = {
    "alpha_dropout", "celu", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "hardsigmoid", "hardswish",
    "hardtanh", "leaky_relu", "mish", "relu", "relu6", "selu", "silu", "threshold",
}  # fmt: skip
"""Functions whose last argument is `inplace`."""


def changes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the argument `inplace`: the tensor itself gets the result. It may return its argument."""
    count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in signature(function).parameters.values())

    @wraps(function)
    def call(input: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        if len(args) == count:
            *args, inplace = args  # type: ignore[assignment]  # a list will do
        given = plain(input)
        out = function(given, *plain(args), **plain(kwargs))
        if out is given:
            return input
        return rebind(input, adopt(out)) if inplace else adopt(out)

    return call


def draws(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that draws from the default generator."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs, rng=default_rng(default_generator.numpy))

    return call


def functional(name: str) -> Callable[..., Any]:
    """The function of this name of `wg.nn.functional`, for tensors of this layer."""
    function = getattr(engine, name)
    made = draws(function) if "rng" in signature(function).parameters else function
    return changes(made) if name in IN_PLACE else layered(made)


def in_place(name: str) -> Callable[..., Any]:
    """The function of this name with `inplace=True`: `relu_` for `relu`."""
    return partial(globals()[name], inplace=True)


globals().update({name: functional(name) for name in __all__})
CHANGING = ("celu", "elu", "hardtanh", "leaky_relu", "relu", "selu", "threshold")
globals().update({f"{name}_": in_place(name) for name in CHANGING})
__all__ += [f"{name}_" for name in CHANGING]


@layered
def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A smooth choice of a class along an axis, or with `hard` a choice that has the derivative of the smooth one."""
    return default_rng(default_generator.numpy).gumbel_softmax(logits, tau, axis=dim, hard=hard)


__all__ += ["gumbel_softmax"]
__getattr__ = without(__name__, ABSENT)
