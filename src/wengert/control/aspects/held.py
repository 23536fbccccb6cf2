"""The graphs that loops and choices hold, and what these cost."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP, Shape
from wengert.graph.graph import Graph
from wengert.graph.held import NEXT, OPERAND, OUTPUT, RETURN, SLICE, STATE, WHILE, Held, held_graphs
from wengert.graph.ir import Node, Operation


def count_of(node: Operation) -> Node | None:
    """The operand that is the number of steps of a loop, where only an operand says it."""
    unknown = node.params["shape"].length is None and node.params["condition"] is None
    return node.args[0] if unknown else None


def split_operands(node: Operation) -> tuple[list[Node], list[Node], list[Node]]:
    """The constants, the initial states and the sequences of a loop."""
    operands: Sequence[Node] = node.args if count_of(node) is None else node.args[1:]
    parts: tuple[list[Node], list[Node], list[Node]] = node.params["shape"].split(operands)
    return parts


@held_graphs(LOOP)
def graphs_of_loop(node: Operation) -> list[Held]:
    """The condition, where there is one, and the step."""
    body: Graph = node.params["body"]
    condition: Graph | None = node.params["condition"]
    shape: Shape = node.params["shape"]
    constants, states, sequences = split_operands(node)
    given = [*[(OPERAND, a) for a in constants], *[(STATE, a) for a in states]]
    outputs = [NEXT] * shape.states + [OUTPUT] * (len(body.outputs) - shape.states)
    runs = shape.length if shape.length is not None else count_of(node)
    step = Held("step", body, [*given, *[(SLICE, a) for a in sequences]], outputs, runs, reverse=shape.reverse)
    return [step] if condition is None else [Held("condition", condition, given, [WHILE], None), step]


@held_graphs(SWITCH)
def graphs_of_switch(node: Operation) -> list[Held]:
    """The branches."""
    given = [(OPERAND, a) for a in node.args[1:]]
    branches: Sequence[Graph] = node.params["branches"]
    return [
        Held(f"branch {k}", branch, given, [RETURN] * len(branch.outputs), alternative=True)
        for k, branch in enumerate(branches)
    ]
