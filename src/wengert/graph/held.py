"""Graphs that operations hold: the step of a loop, the condition on which it goes on, the branches of a choice.

An operation that holds graphs says what their inputs and outputs are to it. That is all that printers, checks and costs
need to know of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from wengert.core.aspects import Aspect
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation

OPERAND, STATE, SLICE, SHARD = "operand", "state", "slice of", "shard"
"""What an input is: an operand as it is, a state that begins as an operand, a slice of an operand, or a part of data
that are no operand.
"""
NEXT, OUTPUT, WHILE, RETURN, ADD = "next", "output", "while", "return", "add"
"""What an output is: the next state, a slice of an output, the condition to go on, a result of a choice, or a term of a
sum.
"""


class Held(NamedTuple):
    """One graph, and what it is to the operation that holds it.

    `inputs` has the role of each input, and the operand, or the input itself where data are no operand. `runs` is how
    often the graph runs: a number, the operand that says it, or None if a condition does; with `reverse`, from the last
    slice to the first. Of graphs that are alternatives, one runs.
    """

    title: str
    graph: Graph
    inputs: Sequence[tuple[str, Node]]
    outputs: Sequence[str]
    runs: int | Node | None = 1
    alternative: bool = False
    reverse: bool = False


held_graphs: Aspect[Callable[[Operation], list[Held]]] = Aspect(
    "held graphs", "the graphs that it holds", rest="it holds none", filled_by=("wengert.control.aspects.held",)
)


def graphs_of(node: Node) -> list[Held]:
    """The graphs that a node holds."""
    found = held_graphs.of(node.primitive) if isinstance(node, Operation) else None
    return [] if found is None else found(node)  # type: ignore[arg-type]  # an operation
