"""Write the stubs of the front door, `__init__.pyi`, `linalg.pyi` and so on: what editors and type checkers see of it.

`python tools/stubs.py` writes them anew, from the names that the modules have.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import wengert
from wengert.core.namespaces import public_names

MODULES = (
    wengert,
    wengert.fft,
    wengert.linalg,
    wengert.nn,
    wengert.nn.functional,
    wengert.signal,
    wengert.special,
    wengert.tree,
)


def origins(module: ModuleType) -> dict[str, str]:
    """The module that each public name comes from; none for the strings about the package itself."""
    families = [public_names(family) for family in getattr(module, "FAMILIES", ())]
    found = {name: family.__name__ for family, names in families for name in names}
    found |= {name: f"wengert.{path}".rstrip(".") for name, path in getattr(module, "LAZY", {}).items()}
    for name in set(dir(module)) - found.keys():
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            found[name] = value.__name__.rpartition(".")[0]
        else:
            found[name] = "" if isinstance(value, str) else value.__module__
    return found


def stub(module: ModuleType) -> str:
    """The text of a module's stub."""
    pairs = sorted((path, name) for name, path in origins(module).items())
    imports = "".join(f"from {path} import {name} as {name}\n" for path, name in pairs if path)
    strings = "".join(f"{name}: str\n" for path, name in pairs if not path)
    return f"# Written by tools/stubs.py.\n\n{imports}\n__all__: list[str]\n{strings}"


def path_of(module: ModuleType) -> Path:
    """The file that a module's stub is in, beside the module."""
    return Path(str(module.__file__)).with_suffix(".pyi")


if __name__ == "__main__":
    for module in MODULES:
        path_of(module).write_text(stub(module))
