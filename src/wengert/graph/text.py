"""A graph as text, one line for each value: `%3 y: f64[9] = multiply %1 %2`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.graph.ir import Constant, Node, Operation
from wengert.graph.variables import known_names

if TYPE_CHECKING:
    from wengert.graph.graph import Graph


def text(graph: Graph) -> str:
    """Inputs, constants and operations in the order in which they are computed, then what is returned."""
    names = known_names(graph)
    places: dict[Node, str] = {}
    lines = []
    for node in (*graph.inputs, *graph.nodes):
        if node in places:
            continue
        places[node] = f"%{len(places)}"
        name = f" {names[node]}" if node in names else ""
        lines.append(f"{places[node]}{name}: {kind(node)} = {definition(node, places)}")
    lines.append(f"return {', '.join([places[node] for node in graph.outputs])}".rstrip())
    return "\n".join(lines)


def summary(graph: Graph) -> str:
    """A graph in one line: what it takes, what it gives, and how many operations lie between."""
    takes = ", ".join([f"{given.name or '_'}: {kind(given)}" for given in graph.inputs])
    gives = ", ".join([kind(node) for node in graph.outputs])
    count = len(graph.operations)
    return f"<graph ({takes}) -> ({gives}), {count} operation{'s' * (count != 1)}>"


def kind(node: Node) -> str:
    """The type of a value: a spec, several of them, or the type of a Python number."""
    if node.weak is not None:
        return node.weak.__name__
    return (
        f"({', '.join(map(repr, node.spec))})"
        if isinstance(node, Operation) and node.dtype is None
        else repr(node.spec)
    )


def definition(node: Node, places: dict[Node, str]) -> str:
    if isinstance(node, Operation):
        operands = [places[a] for a in node.args]
        metadata = [f"{name}={_metadata(value)}" for name, value in node.params.items() if value is not None]
        return " ".join((node.primitive.name, *operands, *metadata))
    if isinstance(node, Constant):
        return f"constant {_value(node)}"
    return "input"


def _value(node: Constant) -> str:
    if node.is_captured:
        return "captured"
    if node.weak is not None:
        return repr(node.value)
    shown = np.array2string(np.asarray(node.value), threshold=8, edgeitems=2, separator=", ")
    return " ".join(shown.split())


def _metadata(value: Any) -> str:
    return str(value) if isinstance(value, np.dtype) else repr(value).replace(", ", ",")
