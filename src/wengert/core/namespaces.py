"""Namespaces: `wg`, `wg.linalg` and the others gather the public names that families declare in `__all__`.

Names that are loaded on first use are in the table `LAZY` of their namespace, with the module that they come from.
After a full stop, or nothing, the name is itself a module.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from wengert.core.absent import missing


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


def name_functions(namespace: dict[str, Any], numpy: str = "") -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a namespace that has its public names in `__all__`.

    Names of the table `LAZY`, if it has one, are loaded. The error for other names has the alternative; `numpy` is the
    namespace of NumPy with the same purpose.

    >>> load, names = name_functions({"__name__": "wengert", "__all__": ["tree"], "LAZY": {"tree": ""}})
    >>> load("tree").__name__, names()
    ('wengert.tree', ['tree'])
    """
    lazy = namespace.get("LAZY", {})
    listed = [*namespace["__all__"], *[name for name in ("__version__",) if name in namespace]]

    def load(name: str) -> Any:
        if name not in lazy:
            raise missing(namespace["__name__"], name, numpy)
        return load_name(namespace, name)

    return load, lambda: listed
