"""The C file of a program: `write_c`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wengert.compiler.simd.types import Type
from wengert.core.errors import user_error
from wengert.export.c_source.comments import without_comments, write_block
from wengert.export.c_source.forms import find_unwritable, is_single_number, prepare
from wengert.export.c_source.function_writer import FunctionWriter
from wengert.export.c_source.matrix_functions import NOT_POSITIVE, OUT_OF_BOUNDS, SINGULAR
from wengert.export.c_source.names import called_names
from wengert.export.c_source.static_functions import called_functions, static_functions
from wengert.export.c_source.terms import LARGEST_INT, literal, stored_type
from wengert.export.c_source.work_arrays import WORK_NAMES, split_arena
from wengert.export.interface import Interface
from wengert.export.refusals import ExportError, describe_refusal
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation

FEW = 40
"""The most operations of a program whose formulas are at the head of the file."""
FAILURES = {
    OUT_OF_BOUNDS: "an index is outside of its array",
    SINGULAR: "a matrix is singular",
    NOT_POSITIVE: "a matrix is not positive definite",
}
"""What functions return if they fail."""


class CSource(NamedTuple):
    """A program in C: the text of the file, and the bytes of its arena."""

    text: str
    arena: int


def write_c(graph: Graph, interface: Interface) -> CSource:
    """A graph as one file of C99 that needs nothing but <math.h>, with the function of the interface.

    >>> import wengert as wg
    >>> from wengert.export.interface import make_interface
    >>> double_sine = lambda x: np.sin(x) * 2.0
    >>> graph = wg.trace(double_sine, np.ones(3))
    >>> c = write_c(graph, make_interface(double_sine, graph, ["x"], "double_sine", None))
    >>> print(c.text[c.text.rindex("for (") : c.text.rindex("return")].rstrip())
    for (int i = 0; i < 3; ++i) {
            result[i] = sin(x[i]) * 2.0;
        }
    """
    prepared = prepare(graph)
    refuse_unwritable(list(find_unwritable(prepared)))
    return Document(prepared, interface).write()


def refuse_unwritable(nodes: Sequence[Node]) -> None:
    """Raise an error that lists all operations, and arrays, without a form in C."""
    lines = dict.fromkeys(
        [
            describe_refusal(node, "has no form in C")
            if isinstance(node, Operation)
            else f"an array of {node.dtype}" + (f", {node.name}" if node.name else "")
            for node in nodes
        ]
    )
    if lines:
        raise user_error(
            ExportError,
            "Parts of this function cannot be written in C:\n  " + "\n  ".join(lines) + "\nThe function was exported",
            "Write them with other operations, or export a library.",
        )


class Document:
    """One file: its main function, the functions of bodies, the static functions that they call, and constants."""

    def __init__(self, graph: Graph, interface: Interface):
        self.graph, self.interface, self.name = graph, interface, interface.name
        self.reserved = {self.name, *static_functions(), *WORK_NAMES.values()}
        self.bodies: dict[Graph, FunctionWriter] = {}
        self.constants: dict[int, tuple[str, Constant]] = {}
        self.failures: set[int] = set()
        sizes = [spec.size for node in graph.nodes for spec in node.specs]
        self.index_type = "int" if max(sizes, default=0) <= LARGEST_INT else "int64_t"
        if self.name in static_functions() or self.name in called_names():
            raise user_error(
                ValueError, f"{self.name!r} is a function that the C file has or calls", "Use another name."
            )
        self.main = FunctionWriter(self, graph, self.name, interface=interface)

    def constant_name(self, node: Constant) -> str:
        """The name of a constant array of the file."""
        if id(node) not in self.constants:
            text = f"constant{len(self.constants) + 1}"
            self.reserved.add(text)
            self.constants[id(node)] = text, node
        return self.constants[id(node)][0]

    def shown_constant(self, node: Constant) -> str:
        """A constant in a comment."""
        if is_single_number(node):
            return str(np.asarray(node.value).item())
        return self.constants[id(node)][0] if id(node) in self.constants else f"constant{node.shape}"

    def body(self, graph: Graph, hint: str, role: str, bases: Sequence[str]) -> FunctionWriter:
        """The function of a body, whose inputs and outputs are called `bases`; equal ones share it."""
        if graph not in self.bodies:
            name, number = hint, 1
            while name in self.reserved:
                number += 1
                name = f"{hint}{number}"
            self.reserved.add(name)
            self.bodies[graph] = FunctionWriter(self, prepare(graph), name, role, bases)
        return self.bodies[graph]

    # Texts

    def write(self) -> CSource:
        """The file."""
        main = self.main
        functions = [*[writer.text() for writer in self.bodies.values()], main.text()]
        words = set(re.findall(r"\w+", without_comments("\n".join(functions))))
        head = write_block([*self.describe(), "", *self.formulas()])
        parts = [
            "\n".join([*head, "#include <math.h>", "#include <stdint.h>", ""]),
            f"{main.prototype};\n",
            *called_functions(words),
            *[self.constant_text(name, node) for name, node in self.constants.values() if name in words],
            *functions,
        ]
        return CSource("\n".join(parts), split_arena(main.work.sizes)[1])

    def describe(self) -> list[str]:
        """What the function takes and gives, and the conventions."""
        return [
            f"{self.name}: {self.interface.summary}." if self.interface.summary != self.name else self.name,
            "",
            *self.main.describe(),
            "",
            "Arrays are stored by rows (C order), and do not overlap. Booleans are bytes, 0 or 1. Integers must not",
            "overflow. Nothing is allocated, and there are no variables outside of functions: calls with arrays and",
            "arenas of their own may run at the same time. Sums are added in the order of the loops. The arena has no",
            "type of its own: it is memory from malloc, or an array that no other code of this file knows.",
            *self.describe_status(),
        ]

    def describe_status(self) -> list[str]:
        """What the function returns."""
        if not self.failures:
            return ["The function cannot fail: it returns 0."]
        found = [f"  {number}: {what}" for number, what in FAILURES.items() if number in self.failures]
        return ["The function returns 0, or, with results that have no meaning,", *found]

    def formulas(self) -> list[str]:
        """The whole program in the notation of NumPy, unless it is long."""
        if len(self.graph.operations) > FEW or self.bodies:
            return ["What each loop computes is said before it, in the notation of NumPy."]
        text = str(self.graph.python(self.name))
        lines = [f"  {line}" for line in text[text.index("def ") :].split("\n") if line.strip()]
        return ["What it computes, in the notation of NumPy:", "", *lines]

    def constant_text(self, name: str, node: Constant) -> str:
        """A constant array."""
        values, type = np.asarray(node.value), Type.from_dtype(node.dtype)
        texts = [literal(value, type) for value in values.ravel().tolist()] or ["0"]
        rows, row = [], ""
        for text in texts:
            if len(row) + len(text) > 100:
                rows.append(row.rstrip())
                row = ""
            row += f"{text}, "
        rows.append(row.rstrip(", "))
        what = f"/* {node.spec.dtype} {node.shape} */"
        inside = "\n".join([f"    {line}" for line in rows])
        return f"{what}\nstatic const {stored_type(node.dtype)} {name}[{len(texts)}] = {{\n{inside}\n}};\n"
