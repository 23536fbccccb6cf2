"""Namespaces: `wg`, `wg.linalg` and the others gather the public names that families declare in `__all__`.

Names that are loaded on first use are in the table `LAZY` of their namespace, with the module that they come from.
After a full stop, or nothing, the name is itself a module.
"""

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


def lazy_names(package: str, families: tuple[str, ...]) -> dict[str, str]:
    """The module of each name that families of a package list, after a colon.

    >>> lazy_names("nn", ("linear: Linear Identity",))
    {'Linear': 'nn.linear', 'Identity': 'nn.linear'}
    """
    listed = [family.split(": ") for family in families]
    return {name: f"{package}.{module}" for module, names in listed for name in names.split()}


def load_name(namespace: dict[str, Any], name: str) -> Any:
    """Load a name of a namespace's table `LAZY`, and add it to the namespace."""
    module = namespace["LAZY"][name]
    is_module = not module or module.endswith(".")
    found = import_module(f"wengert.{module}{name}") if is_module else getattr(import_module(f"wengert.{module}"), name)
    namespace[name] = found
    return found
