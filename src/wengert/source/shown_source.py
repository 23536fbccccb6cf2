"""`source`: what the source of a function becomes, for users to look at."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any

from wengert.core.errors import user_error

__all__ = ["source"]


def source(f: Callable[..., Any]) -> str:
    """What the source of a function becomes where it is traced, as the text of a function.

    Branches and steps of loops are functions, which change the variables of the function itself.

    >>> def relu(x):
    ...     return x if x > 0 else 0.0
    >>> print(source(relu))  # doctest: +SKIP
    def relu(x):
        return __wengert__.choose(x > 0, lambda: x, lambda: 0.0)
    """
    from wengert.source.reading import (  # which is needed where functions are traced
        READINGS,
        class_function,
        read_plain,
    )

    plain = f if isinstance(f, types.FunctionType) else getattr(f, "f", getattr(f, "func", f))
    plain = inspect.unwrap(getattr(plain, "__func__", plain))
    if not isinstance(plain, types.FunctionType):
        plain = class_function(type(plain), "__call__")
    if not isinstance(plain, types.FunctionType):
        raise user_error(TypeError, f"wg.source takes a function, and was given a {type(f).__name__}")
    read_plain(plain)
    reading = READINGS[plain.__code__, plain.__code__.co_filename]
    if reading is not None:
        return ast.unparse(reading.tree)
    try:
        return textwrap.dedent(inspect.getsource(plain)).rstrip()
    except (OSError, TypeError):
        raise user_error(OSError, f"{plain.__qualname__} has no source that can be read") from None
