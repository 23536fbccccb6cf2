"""Namespaces: `wg`, `wg.linalg` and the others gather the public names that families declare in `__all__`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any


def public_names(family: str) -> Iterator[tuple[str, str]]:
    """The names that a family offers, each with the module that has it: all of its `__all__`, or those that are listed.

    >>> list(public_names("core.errors: GradientError"))
    [('GradientError', 'wengert.core.errors')]
    """
    module, _, listed = family.partition(":")
    path = f"wengert.{module}"
    for name in listed.split() or import_module(path).__all__:
        yield name, path


def gather_names(namespace: dict[str, Any], families: tuple[str, ...]) -> list[str]:
    """Add the names of families to a namespace; returns them."""
    names = []
    for family in families:
        for name, path in public_names(family):
            namespace[name] = getattr(import_module(path), name)
            names.append(name)
    return sorted(names)
