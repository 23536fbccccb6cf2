"""Forms of a graph: a registry, and what two of the forms are given as.

`Graph` knows no printer. A printer registers the function that writes its form, and the method of `Graph` with that
name looks it up.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
FORMS: dict[str, Callable[..., Any]] = {}
"""The function behind each method of `Graph`, by the name of the method."""
MODULES = {
    "__repr__": "wengert.graph.text",
    "__str__": "wengert.graph.text",
    "latex": "wengert.graph.mathematics",
    "mathematics": "wengert.graph.mathematics",
    "optimize": "wengert.graph.passes",
    "python": "wengert.graph.python_source",
    "stats": "wengert.graph.costs",
    "svg": "wengert.explain.pictures.program_picture",
    "to_sympy": "wengert.graph.sympy",
    "validate": "wengert.graph.validation",
}
"""The module of each form, which `import wengert` leaves out."""
ENTRIES = "wengert.graph.aspects", "wengert.control.aspects.loop_formulas", "wengert.control.aspects.loop_source"
"""The modules that say how operations are written, of the table and of control flow."""


def form(name: str) -> Callable[[F], F]:
    """A decorator: the function is what the method `name` of `Graph` calls."""

    def register(function: F) -> F:
        FORMS[name] = function
        return function

    return register


def find_form(name: str) -> Callable[..., Any]:
    """The function that is registered for a method of `Graph`."""
    if name not in FORMS:
        import_module(MODULES[name])
    return FORMS[name]


class PythonSource(str):
    """Source of a function.

    `constants` are what cannot be written out, such as large arrays: the function takes them by keyword.
    """

    name: str
    constants: dict[str, Any]

    def function(self) -> Callable[..., Any]:
        """The function itself, its constants filled in.

        It takes the graph's inputs and returns its outputs one after the other, without the trees of a traced function.
        """
        namespace: dict[str, Any] = {}
        exec(compile(self, "<graph>", "exec"), namespace)
        function: FunctionType = namespace[self.name]
        function.__kwdefaults__ = self.constants or None
        return function


class Stats(NamedTuple):
    """The cost of evaluating a graph in order. Each elementwise function counts as one flop for each element.

    `peak_memory` counts inputs and constants all the time, other values from when they are made to their last use.
    `tree_size` is the number of operations if nothing were shared: those of the formula, written out.
    """

    operations: int
    by_name: dict[str, int]
    bytes_read: int
    bytes_written: int
    flops: int
    peak_memory: int
    tree_size: int

    def __str__(self) -> str:
        kinds = ", ".join([f"{count} {name}" for name, count in self.by_name.items()])
        tree = f"{self.tree_size:,}" if self.tree_size < 10**15 else _write_large(self.tree_size)
        rows = {
            "operations": f"{self.operations:,}" + (f" ({kinds})" if kinds else ""),
            "bytes read": _write_bytes(self.bytes_read),
            "bytes written": _write_bytes(self.bytes_written),
            "flops": f"{self.flops:,}",
            "peak memory": _write_bytes(self.peak_memory),
            "written as a tree": f"{tree} operations",
        }
        width = max(map(len, rows)) + 2
        return "\n".join([f"{name:<{width}}{value}" for name, value in rows.items()])


def _write_large(count: int) -> str:
    """An approximation of an integer that may be too large for a float."""
    if count >= 10**4000:
        return f"about 2^{count.bit_length() - 1}"
    digits = str(count)
    return f"about {digits[0]}.{digits[1]}e{len(digits) - 1}"


def _write_bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} TB"
