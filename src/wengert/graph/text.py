"""A graph as text, one line for each value: `%3 y: f64[9] = multiply %1 %2`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from wengert.graph.forms import form
from wengert.graph.graph import Graph
from wengert.graph.held import SHARD, Held, graphs_of
from wengert.graph.ir import Constant, Node, Operation


@form("__str__")
def write_text(graph: Graph) -> str:
    """Inputs, constants and operations in the order in which they are computed, then what is returned."""
    lines, numbers = _write_nodes(graph, itertools.count(), "%", {})
    lines.append(f"return {', '.join([numbers[node] for node in graph.outputs])}".rstrip())
    return "\n".join(lines)


def _write_nodes(
    graph: Graph, count: Iterator[int], prefix: str, roles: Mapping[Node, str]
) -> tuple[list[str], dict[Node, str]]:
    """A line for each node, and the numbers that they are called by; `roles` says what inputs are."""
    names = graph.value_names()
    numbers: dict[Node, str] = {}
    lines = []
    for node in (*graph.inputs, *graph.nodes):
        if node in numbers:
            continue
        numbers[node] = f"{prefix}{next(count)}"
        name = f" {names[node]}" if node in names else ""
        lines.append(f"{numbers[node]}{name}: {type_of(node)} = {roles.get(node) or _write_definition(node, numbers)}")
        inner = itertools.count()
        for held in graphs_of(node):
            lines += _write_held(held, inner, f"{numbers[node]}.", numbers)
    return lines, numbers


def _write_held(held: Held, count: Iterator[int], prefix: str, numbers: Mapping[Node, str]) -> list[str]:
    """A graph that a node holds, indented below it."""
    roles: dict[Node, str] = {
        given: role if role == SHARD else f"{role} {numbers[operand]}"
        for given, (role, operand) in zip(held.graph.inputs, held.inputs, strict=False)
    }
    lines, inner = _write_nodes(held.graph, count, prefix, roles)
    results = list(zip(held.outputs, held.graph.outputs, strict=False))
    last = "; ".join(
        [
            f"{role} {', '.join([inner[y] for other, y in results if other == role])}"
            for role in dict.fromkeys(held.outputs)
        ]
    )
    times = numbers[held.runs] if isinstance(held.runs, Node) else held.runs
    title = held.title if held.alternative or times is None else f"{held.title}, {times} time{'s' * (times != 1)}"
    title += ", last slice first" if held.reverse else ""
    return [f"  {title}:", *[f"    {line}" for line in (*lines, *([last] if last else []))]]


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
        shown = {} if graphs_of(node) else node.params
        params = [f"{name}={_write_parameter(value)}" for name, value in shown.items() if value is not None]
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
