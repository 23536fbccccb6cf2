"""Calls of NumPy and SciPy that meet a value: their arguments, and what errors say of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import FrameType
from typing import Any

import numpy as np

from wengert.core.absent import why_absent
from wengert.core.errors import library_call, user_error

FAMILIES = ("fft", "integrate", "linalg", "optimize", "random", "signal", "special", "stats")
"""Modules of SciPy that have a counterpart here, by the same name."""

JOINERS = ((np.c_, "np.c_ (wg.column_stack is for such values)"), (np.r_, "np.r_ (wg.concatenate is for such values)"))


def is_in(frame: FrameType, function: str, package: str) -> bool:
    """Whether a frame is that of a function, by its name, of a package."""
    return frame.f_code.co_name == function and str(frame.f_globals.get("__name__")).startswith(package)


def name_conversion(frame: FrameType) -> str:
    """What a frame of NumPy or SciPy does that converts a value to an array."""
    if is_in(frame, "dot", "scipy.sparse.linalg"):
        return "A @ x of a LinearOperator (wg.linear_operator(A) @ x is for such values)"
    caller = frame.f_locals.get("self") if frame.f_code.co_name == "__getitem__" else None
    return next((text for joiner, text in JOINERS if joiner is caller), "Conversion to an ndarray")


@cache
def _positional_names(function: Callable[..., Any], target: Callable[..., Any]) -> tuple[str, ...]:
    """NumPy's names of the arguments that the table's function takes by position only."""
    positional = [p for p in inspect.signature(target).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    try:
        return tuple(inspect.signature(function).parameters)[: len(positional)]
    except ValueError:  # a function written in C may have no signature
        return ()


def order_arguments(
    function: Callable[..., Any], target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a NumPy function, with keywords that our function takes by position: `sum(a=x)` as `sum(x)`."""
    for name in _positional_names(function, target)[len(args) :]:
        if name not in kwargs:
            break
        args = (*args, kwargs.pop(name))
    return args, kwargs


def suggest_function() -> str | None:
    """Advice for a NumPy or SciPy call that would lose a derivative: our function or module of the same name."""
    call = library_call()
    if call is None:
        return None
    module, name = call
    family = module.partition(".")[2].partition(".")[0]
    space = getattr(import_module("wengert"), family, None) if family in FAMILIES else import_module("wengert")
    where = f"wg.{family}" if family in FAMILIES else "wg"
    if hasattr(space, name):
        return f"This was {module}.{name}; use {where}.{name} instead"
    return f"This was in {module}; use what {where} has instead" if family in FAMILIES else None


def unknown_function_error(name: str) -> TypeError:
    """The error for a NumPy function that the table does not have."""
    instead = why_absent(name) or (
        "Write it with operations that are, or call x.detach().numpy() first if no gradient should flow through it."
    )
    return user_error(TypeError, f"{name} is not in Wengert's table of operations", instead)
