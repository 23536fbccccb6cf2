"""The order in which a body that is part of its loop computes its results: what later steps wait for comes first.

A processor works on several steps at once, and of the instructions that are ready it runs the oldest. A loop over few
numbers takes as long as its longest chain of instructions from state to state, so this chain should be the first that a
step has, and outputs, which nothing waits for, the last.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.compiler.forms.classify import operation_cost
from wengert.compiler.schedule.schedule import Schedule
from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Node


def compute_awaited_first(schedule: Schedule, states: Sequence[tuple[int, int]]) -> None:
    """Order the kernels of a body, and their values, by what waits for them; `states` are inputs and their new values.

    Kernels of one stage do not depend on each other.
    """
    lengths = awaiting_chains(schedule.graph, states)
    length_of = lambda node: lengths.get(node, 0)
    for kernel in schedule.steps:
        kernel.maps.sort(key=length_of, reverse=True)
    schedule.steps.sort(key=lambda kernel: (kernel.stage, -max(map(length_of, kernel.maps), default=0)))


def awaiting_chains(graph: Graph, states: Sequence[tuple[int, int]]) -> dict[Node, int]:
    """The cost of the longest chain of operations that waits for each new state, over the next steps."""
    pairs = [(graph.inputs[i], graph.outputs[o]) for i, o in states]
    reached = {old: chains_from(graph, old) for old, _ in pairs}
    lengths = {new: 0 for _, new in pairs}
    for _ in range(machine.current.steps_of_awaited_states):
        following = dict.fromkeys(lengths, 0)
        for old, new in pairs:
            chains = reached[old]
            longest = max([chains[other] + lengths[other] for other in lengths if other in chains], default=0)
            following[new] = max(following[new], longest)
        lengths = following
    return lengths


def chains_from(graph: Graph, start: Node) -> dict[Node, int]:
    """The cost of the longest chain of operations from a value to each that depends on it."""
    costs: dict[Node, int] = {start: 0}
    for node in graph.operations:
        before = [costs[a] for a in node.args if a in costs]
        if before:
            costs[node] = max(before) + operation_cost(node)
    return costs
