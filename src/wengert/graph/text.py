"""A graph as text, one line for each value: `%3 y: f64[9] = multiply %1 %2`."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.graph.forms import form
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation


@form("__str__")
def write_text(graph: Graph) -> str:
    """Inputs, constants and operations in the order in which they are computed, then what is returned."""
    names = graph.value_names()
    numbers: dict[Node, str] = {}
    lines = []
    for node in (*graph.inputs, *graph.nodes):
        if node in numbers:
            continue
        numbers[node] = f"%{len(numbers)}"
        name = f" {names[node]}" if node in names else ""
        lines.append(f"{numbers[node]}{name}: {type_of(node)} = {_write_definition(node, numbers)}")
    lines.append(f"return {', '.join([numbers[node] for node in graph.outputs])}".rstrip())
    return "\n".join(lines)


@form("__repr__")
def write_summary(graph: Graph) -> str:
    """A graph in one line: its inputs, its outputs, and how many operations lie between."""
    inputs = ", ".join([f"{given.name or '_'}: {type_of(given)}" for given in graph.inputs])
    outputs = ", ".join([type_of(node) for node in graph.outputs])
    count = len(graph.operations)
    return f"<graph ({inputs}) -> ({outputs}), {count} operation{'s' * (count != 1)}>"


def type_of(node: Node) -> str:
    """The type of a value: a spec, several of them, or the type of a Python number."""
    if node.weak is not None:
        return node.weak.__name__
    several = isinstance(node, Operation) and node.dtype is None
    return f"({', '.join(map(repr, node.spec))})" if several else repr(node.spec)


def _write_definition(node: Node, numbers: dict[Node, str]) -> str:
    if isinstance(node, Operation):
        operands = [numbers[a] for a in node.args]
        params = [f"{name}={_write_parameter(value)}" for name, value in node.params.items() if value is not None]
        return " ".join((node.primitive.name, *operands, *params))
    if isinstance(node, Constant):
        return f"constant {_write_value(node)}"
    return "input"


def _write_value(node: Constant) -> str:
    if node.is_captured:
        return "captured"
    if node.weak is not None:
        return repr(node.value)
    shown = np.array2string(np.asarray(node.value), threshold=8, edgeitems=2, separator=", ")
    return " ".join(shown.split())


def _write_parameter(value: Any) -> str:
    return str(value) if isinstance(value, np.dtype) else repr(value).replace(", ", ",")
