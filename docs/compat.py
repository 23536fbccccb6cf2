"""Write docs/compat_autograd.md and its like: what the layers of names have, what differs, and what they do not have.

`python docs/compat.py` writes the pages from the layers themselves.
"""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from wengert.compat import LAYERS

FOLDER = Path(__file__).parent


def modules(layer: str) -> Iterator[ModuleType]:
    """The modules of a layer that the peer has too, and not those that only lend their names to the package."""
    package = importlib.import_module(f"wengert.compat.{layer}")
    lending = {f"wengert.{family}" for family in getattr(package, "FAMILIES", ())}
    yield package
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(found.name)
        lending |= {f"wengert.{family}" for family in getattr(module, "FAMILIES", ())}
        if getattr(module, "__all__", None) and found.name not in lending:
            yield module


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def shown_names(module: ModuleType) -> str:
    """The names of a module; of one that `MIRRORS` another, only those that the other does not have."""
    mirrored = getattr(module, "MIRRORS", None)
    known = dir(importlib.import_module(mirrored)) if mirrored else []
    names = [f"`{name}`" for name in sorted(module.__all__) if name not in known]
    return ", ".join([f"all of `{mirrored}`", *names] if mirrored else names)


def page(layer: str) -> str:
    package = importlib.import_module(f"wengert.compat.{layer}")
    different = importlib.import_module(f"wengert.compat.{layer}.differences")
    about, _, example = (package.__doc__ or "").partition("\n>>>")
    parts = [f"# Programs written for {different.PEER}\n", about.strip() + "\n"]
    if example:
        parts.append(f"```python\n>>>{example.rstrip()}\n```\n")
    parts.append("This page is generated from the layer (`python docs/compat.py`).\n")
    parts.append("## What differs\n")
    parts.append(f"| what | {different.PEER} | `wengert.compat.{layer}` |\n|---|---|---|")
    parts += [f"| {cell(d.what)} | {cell(d.peer)} | {cell(d.here)} |" for d in different.DIFFERENCES]
    parts.append("\n## What is there\n\n| module | names |\n|---|---|")
    parts += [
        f"| `{module.__name__.removeprefix('wengert.compat.')}` | {shown_names(module)} |" for module in modules(layer)
    ]
    parts.append(
        "\n## What is not\n\nEach of these raises an error that says the same.\n\n| name | instead |\n|---|---|"
    )
    parts += [f"| `{name}` | {cell(instead)} |" for name, instead in sorted(different.ABSENT.items())]
    return "\n".join(parts) + "\n"


def page_of(layer: str) -> Path:
    return FOLDER / f"compat_{layer}.md"


if __name__ == "__main__":
    for name in LAYERS:
        if importlib.util.find_spec(f"wengert.compat.{name}"):
            page_of(name).write_text(page(name))
