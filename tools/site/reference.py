"""Pages with every public name of the package, by namespace.

mkdocstrings writes what the source defines. Operations are made when the package is imported, and are written here.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import wengert as wg
import wengert.nn.functional
import wengert.nn.init
from tools.site.docstrings import fence_examples
from tools.stubs import origins

TITLES = {
    "core": "Arrays and errors",
    "modes": "Arrays and errors",
    "graph": "Graphs",
    "ops.calculus": "Differences and polynomials",
    "ops.contraction": "Products",
    "ops.elementwise": "Functions of elements",
    "ops.indexing": "Indexing",
    "ops.linear_algebra": "Products",
    "ops.reductions": "Reductions",
    "ops.samples": "Sorting and statistics",
    "ops.shape": "Shapes",
    "ops.special": "Functions of elements",
    "ops.methods": "Functions of elements",
    "nn": "Functions of elements",
    "transforms": "Transforms",
    "control": "Control flow and custom rules",
    "source": "Control flow and custom rules",
    "compiler": "Compiling",
    "structure": "Sparsity and operators",
    "autograd": "Recording",
    "explain": "Explaining",
    "numpy": "Arrays and errors",
    "": "Arrays and errors",
}
"""The page of the names of `wg` that come from a folder of the package."""


def namespaces() -> list[ModuleType]:
    """The public modules below `wg`."""
    found = [getattr(wg, name) for name in wg.__all__ if isinstance(getattr(wg, name), ModuleType)]
    return sorted([*found, wengert.nn.functional, wengert.nn.init], key=public_path)


def public_path(module: ModuleType) -> str:
    """`wg.linalg`; what is in `wengert.transforms` for the code is in `wengert` for users."""
    return module.__name__.replace("wengert", "wg", 1).replace("wg.transforms.", "wg.")


def folder_title(origin: str) -> str:
    """The title for a module that a name comes from.

    >>> folder_title("wengert.ops.elementwise.arithmetic")
    'Functions of elements'
    """
    path = origin.removeprefix("wengert.").partition("wengert")[0] if origin != "wengert" else ""
    while path not in TITLES:
        path = path.rpartition(".")[0]
    return TITLES[path]


def names(module: ModuleType) -> list[str]:
    """The public names of a module that are neither modules nor protocols, such as `__array_namespace_info__`."""
    return [
        name for name in sorted(module.__all__) if name[0] != "_" and not isinstance(getattr(module, name), ModuleType)
    ]


def pages() -> dict[str, str]:
    """The text of each page, by path."""
    groups: dict[str, list[str]] = {}
    where = origins(wg)
    for name in names(wg):
        groups.setdefault(folder_title(where.get(name, "")), []).append(name)
    found = {
        f"reference/wg_{title.lower().replace(' ', '_')}.md": page(f"wg: {title.lower()}", wg, listed, "")
        for title, listed in groups.items()
    }
    for module in namespaces():
        title = public_path(module)
        found[f"reference/{title.replace('.', '_')}.md"] = page(title, module, names(module), module.__doc__ or "")
    return found


def page(title: str, module: ModuleType, listed: list[str], introduction: str) -> str:
    """A page with some names of a module: a line for each, then all of each."""
    parts = [f"# {title}", introduction.partition("\n")[0], *lines(module, listed)]
    return "\n\n".join([*parts, *(entry(module, name) for name in listed)]) + "\n"


def lines(module: ModuleType, listed: list[str]) -> Iterator[str]:
    """A table of the names, with what each is in a sentence."""
    yield "\n".join(
        ["| name | |", "|---|---|", *(f"| [`{n}`](#{anchor(module, n)}) | {summary(module, n)} |" for n in listed)]
    )


def summary(module: ModuleType, name: str) -> str:
    """The first sentence of a docstring, in a cell of a table."""
    doc = inspect.getdoc(getattr(module, name)) or ""
    return doc.partition("\n\n")[0].partition(" >>> ")[0].replace("\n", " ").replace("|", "\\|")


def anchor(module: ModuleType, name: str) -> str:
    """The identifier of a name on its page."""
    return defined_at(getattr(module, name)) or f"{public_path(module)}.{name}"


def defined_at(value: Any) -> str | None:
    """The path of a function or class that the source defines; None for operations, which are made by their kind."""
    path = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', None)}"
    module, _, name = path.rpartition(".")
    is_there = module.startswith("wengert") and name in vars(sys.modules[module])
    return path if is_there and vars(sys.modules[module])[name] is value else None


def entry(module: ModuleType, name: str) -> str:
    """A line that mkdocstrings replaces; for an operation or an object, its signature and docstring."""
    value = getattr(module, name)
    path = defined_at(value)
    if path is not None:
        return f"::: {path}"
    return (
        f"### `{name}{signature(value)}` {{ #{anchor(module, name)} }}\n\n{fence_examples(inspect.getdoc(value) or '')}"
    )


def signature(value: Any) -> str:
    """The parameters of a function, without their types."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    kept = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "foreign"]
    return str(found.replace(parameters=kept, return_annotation=found.empty))
