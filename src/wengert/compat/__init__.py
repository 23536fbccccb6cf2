"""Programs of other systems: `wengert.compat.autograd`, `wengert.compat.jax` and `wengert.compat.torch`.

Each is a layer of names: it has the layout, the names and the conventions of its peer, and runs on the operations of
the table. `install` gives a layer to libraries that import the peer itself.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import ModuleType
from typing import Any

from wengert.core.errors import user_error

__all__ = ["install", "uninstall"]

LAYERS = ("autograd", "jax", "torch")


class LayerFinder(MetaPathFinder, Loader):
    """Finds the modules of a layer under the names of its peer."""

    def __init__(self, layer: str):
        self.layer = layer
        self.specs: dict[str, ModuleSpec | None] = {}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002  # importlib's
        if fullname.partition(".")[0] != self.layer:
            return None
        if find_spec(f"wengert.compat.{fullname}") is None:
            message = f"No module named {fullname!r}: wengert.compat.{self.layer} is installed for it, and has none"
            raise ModuleNotFoundError(message, name=fullname)
        return spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"wengert.compat.{spec.name}")
        self.specs[spec.name] = module.__spec__
        self.add_loaded()
        return module

    def add_loaded(self) -> None:
        """Enter the modules of the layer that are loaded.

        An import of one would otherwise set an attribute of its package, which may be a function of the same name.
        """
        for name, module in list(sys.modules.items()):
            peer_name = name.removeprefix("wengert.compat.")
            if peer_name != name and peer_name.startswith(f"{self.layer}."):
                sys.modules.setdefault(peer_name, module)

    def exec_module(self, module: ModuleType) -> None:
        """The module has run; the import system has given it another spec, which is undone."""
        name = module.__name__.removeprefix("wengert.compat.")
        module.__spec__ = self.specs.pop(name)


def install(peer: str) -> None:
    """Let `import autograd`, `jax` or `torch` give the layer of that name, in this process.

    Call it before anything imports the peer:

    >>> install("autograd")
    >>> import autograd
    >>> autograd.__name__
    'wengert.compat.autograd'
    >>> uninstall("autograd")
    """
    if peer not in LAYERS:
        raise user_error(ValueError, f"There is no layer for {peer!r}", f"The layers are {', '.join(LAYERS)}.")
    if any(isinstance(finder, LayerFinder) and finder.layer == peer for finder in sys.meta_path):
        return
    if peer in sys.modules:
        raise user_error(
            RuntimeError,
            f"{peer} itself was imported before, so some modules would use it and others the layer",
            f"Call wengert.compat.install({peer!r}) first, before anything that imports {peer}.",
        )
    sys.meta_path.insert(0, LayerFinder(peer))


def uninstall(peer: str) -> None:
    """Undo `install`: later imports find the peer itself. Modules that have imported the layer keep it.

    >>> install("autograd")
    >>> uninstall("autograd")
    >>> any(isinstance(finder, LayerFinder) for finder in sys.meta_path)
    False
    """
    finders = [finder for finder in sys.meta_path if isinstance(finder, LayerFinder) and finder.layer == peer]
    for finder in finders:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == peer]:
            del sys.modules[name]
