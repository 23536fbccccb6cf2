"""`jax.debug`: printing, also from compiled functions."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from wengert.compat.differences import without
from wengert.compat.jax.callbacks import call_with
from wengert.compat.jax.differences import ABSENT

__all__ = ["callback", "print"]

__getattr__ = without(__name__, ABSENT)


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:  # noqa: ARG001  # the order is Python's
    """Print values by a format.

    >>> from wengert.compat.jax.compilation import jit
    >>> double = jit(lambda x: print("x = {x}", x=x) or 2.0 * x)
    >>> double(3.0)
    x = 3.0
    Array(6., dtype=float64)
    """
    call_with(lambda values: builtins.print(fmt.format(*values[0], **values[1])), (args, kwargs))


def callback(function: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:  # noqa: ARG001  # of JAX: callbacks run in order anyway
    """Call a function of Python's with values."""

    def run(values: Any) -> None:
        function(*values[0], **values[1])

    call_with(run, (args, kwargs))
