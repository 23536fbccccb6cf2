"""Modules as text: the arguments that they were made with, their parts, and how many parameters they have."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from wengert.core.array import Array

HIDDEN = ("self", "rng", "dtype", "inplace")


@cache
def constructor(cls: type) -> dict[str, Any]:
    """The arguments of a class with their defaults."""
    parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]  # of a class, not an instance
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {p.name: p.default for p in parameters if p.kind not in variadic and p.name not in HIDDEN}


def arguments(module: Any, cls: type | None = None) -> str:
    """The arguments of a module that differ from the defaults of its class, as far as its attributes tell."""
    shown = []
    for name, default in constructor(cls or module.__class__).items():
        if name not in module.__dict__:
            continue
        value = module.__dict__[name]
        if default is True or default is False:
            value = value is not None and value is not False
        if isinstance(value, Array) or hasattr(value, "parameters") or is_default(value, default):
            continue
        shown.append(f"{name}={value!r}")
    return ", ".join(shown)


def is_default(value: Any, default: Any) -> bool:
    """Whether an attribute is the default of its argument; one number may have become one for each axis."""
    if isinstance(value, tuple) and isinstance(default, int):
        return all(v == default for v in value)
    return bool(value == default)


def count(module: Any) -> str:
    """The number of parameters, as a comment."""
    parameters = list(module.parameters())
    total = sum(p.size for p in parameters)
    if not total:
        return ""
    frozen = sum(p.size for p in parameters if not getattr(p, "requires_grad", True))
    remark = ", frozen" if frozen == total else f", {frozen:,} of them frozen" if frozen else ""
    return f"  # {total:,} parameter{'s' if total > 1 else ''}{remark}"


def describe_module(module: Any) -> str:
    """A module with its parts indented, one on each line, and numbers of parameters.

    >>> from wengert.nn import Linear
    >>> print(Linear(2, 3))
    Linear(in_features=2, out_features=3)  # 9 parameters
    """
    head = f"{type(module).__name__}({arguments(module)}"
    lines = []
    for name, child in module.named_children():
        first, *rest = describe_module(child).splitlines()
        lines += [f"  ({name}): {first}", *[f"  {line}" for line in rest]]
    body = "\n" + "\n".join(lines) + "\n" if lines else ""
    return f"{head}{body}){count(module)}"
