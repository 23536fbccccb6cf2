"""`jax.debug`: printing. In a compiled function, values are printed when it is traced, without numbers."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from wengert.compat.differences import without
from wengert.compat.jax.differences import ABSENT
from wengert.core.errors import user_error
from wengert.modes import recording

__all__ = ["callback", "print"]

__getattr__ = without(__name__, ABSENT)


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:  # noqa: ARG001  # the order is Python's
    """Print values by a format."""
    builtins.print(fmt.format(*args, **kwargs))


def callback(function: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:  # noqa: ARG001
    """Call a function of Python's with values, where they have numbers."""
    if recording.current_trace() is not None:
        raise user_error(NotImplementedError, "debug.callback in a traced function", "Return the value instead.")
    function(*args, **kwargs)
