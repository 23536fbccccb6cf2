"""Initial numbers of parameters, with the formulas of `wg.nn.init`; each function fills a tensor in place."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import wengert.nn.init as engine
from wengert.compat.torch.drawing import Generator, default_generator
from wengert.nn.init import calculate_gain
from wengert.random.generator import default_rng

__all__ = list(engine.__all__)


def fills(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `wg.nn.init`, which draws from a generator of this layer."""
    draws = "rng" in signature(function).parameters

    @wraps(function)
    def fill(tensor: Any, *args: Any, generator: Generator | None = None, **kwargs: Any) -> Any:
        if draws:
            kwargs["rng"] = default_rng((generator or default_generator).numpy)
        return function(tensor, *args, **kwargs)

    return fill


globals().update({name: fills(getattr(engine, name)) for name in __all__ if name != calculate_gain.__name__})
