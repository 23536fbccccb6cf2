"""Whether a graph is sound: each value made before it is used, each spec the one that NumPy would give."""

from __future__ import annotations

from typing import Any, NoReturn

from wengert.core.errors import user_error
from wengert.core.infer import infer
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.forms import form
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Input, Node, Operation
from wengert.graph.text import type_of


@form("validate")
def validate(graph: Graph) -> None:
    """Raise a ValueError that names the node, if something is wrong with a graph."""
    made: set[Node] = set()
    for i, given in enumerate(graph.inputs):
        if not isinstance(given, Input):
            raise user_error(ValueError, f"Input {i} of this graph is a {type(given).__name__}, not an Input")
        if given in made:
            raise user_error(ValueError, f"Input {i} of this graph, {given.name or 'without a name'}, is there twice")
        made.add(given)
    for node in graph.nodes:
        _check_node(node, len(made), made)
        made.add(node)
    for i, node in enumerate(graph.outputs):
        if node not in made:
            raise user_error(ValueError, f"Output {i} of this graph is not among its nodes")


def _check_node(node: Node, i: int, made: set[Node]) -> None:
    if isinstance(node, Input):
        if node not in made:
            _raise_invalid(node, i, "is an input that the graph does not take")
    elif isinstance(node, Constant):
        _check_constant(node, i)
    elif isinstance(node, Operation):
        for k, a in enumerate(node.args):
            if a not in made:
                _raise_invalid(node, i, f"uses argument {k} ({type_of(a)}) before it is made")
        _check_operation(node, i)
    else:
        _raise_invalid(node, i, "is neither an input nor a constant nor an operation")
    if isinstance(node.spec, Spec) and (node.shape, node.dtype) != tuple(node.spec):
        _raise_invalid(node, i, f"has shape {node.shape} and dtype {node.dtype}, but spec {node.spec!r}")


def _check_constant(node: Constant, i: int) -> None:
    if node.spec != Spec.of(node.value):
        _raise_invalid(node, i, f"says {node.spec!r}, but its value is {Spec.of(node.value)!r}")
    weak, found = node.weak, type(node.value)
    if weak is not None and weak is not found:
        _raise_invalid(node, i, f"says that it is Python's {weak.__name__}, but its value is a {found.__name__}")


def _check_operation(node: Operation, i: int) -> None:
    expected: Any
    if node.primitive is OUTPUT:
        whole, index = node.args[0].spec, node.params["index"]
        if isinstance(whole, Spec) or not 0 <= index < len(whole):
            _raise_invalid(node, i, f"picks output {index} of an operation that has none such")
        expected = whole[index]
    else:
        try:
            expected = infer(node.primitive, tuple([a.operand for a in node.args]), node.params)
        except Exception as error:
            raise ValueError(f"{_describe_node(node, i)} cannot be computed: {error}") from error
    if node.spec != expected:
        _raise_invalid(node, i, f"says {type_of(node)}, but it is {expected!r}")


def _raise_invalid(node: Node, i: int, why: str) -> NoReturn:
    raise user_error(ValueError, f"{_describe_node(node, i)} {why}")


def _describe_node(node: Node, i: int) -> str:
    """A node in the words of an error: its number in the text of the graph, its operation, and its source line."""
    what = node.primitive.name if isinstance(node, Operation) else type(node).__name__.lower()
    name = f" {node.name}" if node.name else ""
    line = f" at {node.source.source_line}" if node.source is not None else ""
    return f"Node %{i} ({what}{name}){line}"
