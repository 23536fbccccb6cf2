"""Namespaces: `wg`, `wg.linalg` and the others gather the public names that families declare in `__all__`."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


def public_names(family: str) -> tuple[ModuleType, list[str]]:
    """The module of a family, and the names that it offers: those after a colon, or all of its `__all__`.

    >>> public_names("core.errors: GradientError")[1]
    ['GradientError']
    """
    path, _, listed = family.partition(":")
    module = import_module(f"wengert.{path}")
    return module, listed.split() or module.__all__


def gather_names(namespace: dict[str, Any], families: tuple[str, ...]) -> list[str]:
    """Add the names of families to a namespace; returns them."""
    gathered: list[str] = []
    for family in families:
        module, names = public_names(family)
        namespace.update({name: getattr(module, name) for name in names})
        gathered += names
    return sorted(gathered)
