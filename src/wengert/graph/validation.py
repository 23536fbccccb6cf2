"""Whether a graph is what it says: each value made before it is used, each spec the one that NumPy would give."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from wengert.core.infer import infer
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.ir import Constant, Input, Node, Operation
from wengert.graph.text import kind

if TYPE_CHECKING:
    from wengert.graph.graph import Graph


def validate(graph: Graph) -> Graph:
    """The graph itself, if all is well with it; else a ValueError that names the node."""
    made: set[Node] = set()
    for i, given in enumerate(graph.inputs):
        if not isinstance(given, Input):
            raise ValueError(f"Input {i} of this graph is a {type(given).__name__}, not an Input.")
        if given in made:
            raise ValueError(f"Input {i} of this graph, {given.name or 'without a name'}, is there twice.")
        made.add(given)
    for node in graph.nodes:
        _check(node, len(made), made)
        made.add(node)
    for i, node in enumerate(graph.outputs):
        if node not in made:
            raise ValueError(f"Output {i} of this graph is not among its nodes.")
    return graph


def _check(node: Node, i: int, made: set[Node]) -> None:
    if isinstance(node, Input):
        if node not in made:
            _refuse(node, i, "is an input that the graph does not take")
    elif isinstance(node, Constant):
        if node.spec != Spec.of(node.value):
            _refuse(node, i, f"says {node.spec!r}, but its value is {Spec.of(node.value)!r}")
        if node.weak not in (None, node.value.__class__):
            _refuse(
                node,
                i,
                f"says that it is Python's {node.weak.__name__}, but its value is a {type(node.value).__name__}",
            )
    elif isinstance(node, Operation):
        for k, a in enumerate(node.args):
            if a not in made:
                _refuse(node, i, f"uses argument {k} ({kind(a)}) before it is made")
        _check_spec(node, i)
    else:
        _refuse(node, i, "is neither an input nor a constant nor an operation")
    if isinstance(node.spec, Spec) and (node.shape, node.dtype) != tuple(node.spec):
        _refuse(node, i, f"has shape {node.shape} and dtype {node.dtype}, but spec {node.spec!r}")


def _check_spec(node: Operation, i: int) -> None:
    if node.primitive is OUTPUT:
        whole, index = node.args[0].spec, node.params["index"]
        if isinstance(whole, Spec) or not 0 <= index < len(whole):
            _refuse(node, i, f"picks output {index} of an operation that has none such")
        expected = whole[index]
    else:
        try:
            expected = infer(node.primitive, tuple([a.operand for a in node.args]), node.params)
        except Exception as error:
            raise ValueError(f"{_called(node, i)} cannot be computed: {error}") from error
    if node.spec != expected:
        _refuse(node, i, f"says {kind(node)}, but it is {expected!r}")


def _refuse(node: Node, i: int, why: str) -> NoReturn:
    raise ValueError(f"{_called(node, i)} {why}.")


def _called(node: Node, i: int) -> str:
    """A node in the words of an error: its number in the text of the graph, what it is, and the line that asked for it."""
    what = node.primitive.name if isinstance(node, Operation) else type(node).__name__.lower()
    name = f" {node.name}" if node.name else ""
    place = f" at {node.source.source_line}" if node.source is not None else ""
    return f"Node %{i} ({what}{name}){place}"
