"""Whether a graph is sound: each value made before it is used, each spec the one that NumPy would give."""

from __future__ import annotations

from typing import Any, NoReturn

from wengert.core.errors import user_error
from wengert.core.infer import infer
from wengert.core.primitive import OUTPUT
from wengert.core.spec import UNKNOWN, Spec
from wengert.graph.forms import form
from wengert.graph.graph import Graph
from wengert.graph.held import NEXT, SLICE, STATE, WHILE, Held, graphs_of
from wengert.graph.ir import Constant, Input, Node, Operation
from wengert.graph.text import type_of


@form("validate")
def validate(graph: Graph) -> None:
    """Raise a ValueError that names the node, if something is wrong with a graph, or with one that a node holds."""
    waiting = [(graph, "", 0)]
    while waiting:
        current, prefix, start = waiting.pop()
        _check_graph(current, prefix, start)
        numbers = {node: i for i, node in enumerate(dict.fromkeys((*current.inputs, *current.nodes)), start)}
        for node in current.operations:
            inner = 0
            for held in graphs_of(node):
                waiting.append((held.graph, f"{prefix}{numbers[node]}.", inner))
                inner += len({*held.graph.inputs, *held.graph.nodes})


def _check_graph(graph: Graph, prefix: str, start: int) -> None:
    """Check one graph, whose nodes have numbers from `start` on, behind a prefix, as in its text."""
    made: set[Node] = set()
    for i, given in enumerate(graph.inputs):
        if not isinstance(given, Input):
            raise user_error(ValueError, f"Input {i} of this graph is a {type(given).__name__}, not an Input")
        if given in made:
            raise user_error(ValueError, f"Input {i} of this graph, {given.name or 'without a name'}, is there twice")
        made.add(given)
    for node in graph.nodes:
        _check_node(node, f"{prefix}{start + len(made)}", made)
        made.add(node)
    for i, node in enumerate(graph.outputs):
        if node not in made:
            raise user_error(ValueError, f"Output {i} of this graph is not among its nodes")


def _check_node(node: Node, i: str, made: set[Node]) -> None:
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


def _check_constant(node: Constant, i: str) -> None:
    if node.spec != Spec.of(node.value):
        _raise_invalid(node, i, f"says {node.spec!r}, but its value is {Spec.of(node.value)!r}")
    weak, found = node.weak, type(node.value)
    if weak is not None and weak is not found:
        _raise_invalid(node, i, f"says that it is Python's {weak.__name__}, but its value is a {found.__name__}")


def _check_operation(node: Operation, i: str) -> None:
    held = graphs_of(node)
    for part in held:
        _check_inputs(part, node, i)
        _check_outputs(part, held, node, i)
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


def _check_inputs(held: Held, node: Operation, i: str) -> None:
    """The inputs of a graph that a node holds, against the operands of the node."""
    inputs, runs = held.graph.inputs, held.runs
    if len(inputs) != len(held.inputs):
        _raise_invalid(node, i, f"passes {len(held.inputs)} values to its {held.title}, which takes {len(inputs)}")
    if isinstance(runs, Node) and (runs.shape != () or runs.dtype.kind not in "iu"):
        _raise_invalid(node, i, f"takes as its number of steps a {type_of(runs)}")
    for k, (given, (role, operand)) in enumerate(zip(inputs, held.inputs, strict=True)):
        spec = operand.spec
        if role == SLICE:
            if not spec.shape or spec.shape[0] != (runs if isinstance(runs, int) else UNKNOWN):
                _raise_invalid(node, i, f"takes {type_of(operand)} as a sequence, but makes {_write_steps(runs)}")
            spec = Spec(spec.shape[1:], spec.dtype)
        if spec != given.spec:
            _raise_invalid(
                node, i, f"passes {spec!r} to its {held.title}, whose input {k} ({role.split()[0]}) is {given.spec!r}"
            )


def _write_steps(runs: Any) -> str:
    return f"{runs} step{'s' * (runs != 1)}" if isinstance(runs, int) else "a number of steps that is not known"


def _check_outputs(held: Held, others: list[Held], node: Operation, i: str) -> None:
    """The outputs of a graph that a node holds: states as they were, one boolean, or the results of all branches."""
    graph = held.graph
    if len(graph.outputs) != len(held.outputs):
        _raise_invalid(
            node, i, f"needs {len(held.outputs)} results of its {held.title}, which has {len(graph.outputs)}"
        )
    states = [given.spec for given, (role, _) in zip(graph.inputs, held.inputs, strict=True) if role == STATE]
    following = [y.spec for y, role in zip(graph.outputs, held.outputs, strict=True) if role == NEXT]
    for k, (before, after) in enumerate(zip(states, following, strict=bool(following))):
        if before != after:
            _raise_invalid(node, i, f"changes state {k} from {before!r} to {after!r} in its {held.title}")
    for y, role in zip(graph.outputs, held.outputs, strict=True):
        if role == WHILE and (y.shape != () or y.dtype.kind != "b"):
            _raise_invalid(node, i, f"goes on by a {type_of(y)}, and not by one boolean")
    found, first = [y.spec for y in graph.outputs], [y.spec for y in others[0].graph.outputs]
    if held.alternative and found != first:
        _raise_invalid(node, i, f"has the results {found} in its {held.title}, and {first} in its {others[0].title}")


def _raise_invalid(node: Node, i: str, why: str) -> NoReturn:
    raise user_error(ValueError, f"{_describe_node(node, i)} {why}")


def _describe_node(node: Node, i: str) -> str:
    """A node in the words of an error: its number in the text of the graph, its operation, and its source line."""
    what = node.primitive.name if isinstance(node, Operation) else type(node).__name__.lower()
    name = f" {node.name}" if node.name else ""
    line = f" at {node.source.source_line}" if node.source is not None else ""
    return f"Node %{i} ({what}{name}){line}"
