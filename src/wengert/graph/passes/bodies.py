"""Bodies: passes go into the graphs that operations hold, and what these need not compute is moved out or removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from wengert.core.aspects import Aspect
from wengert.core.primitive import OUTPUT
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation
from wengert.graph.passes.rewrite import rebuild

Improvement = Callable[[Operation, set[int]], dict[int, Node] | None]

improvement: Aspect[Improvement] = Aspect(
    "improvement",
    "the outputs that are used, computed with better bodies",
    rest="it holds no graphs",
    filled_by=("wengert.control.aspects.improvement",),
)


def improve_bodies(graph: Graph) -> Graph:
    """The graph with better bodies in the operations that hold graphs."""
    used: dict[Node, set[int]] = defaultdict(set)
    for node in graph.operations:
        if node.primitive is OUTPUT:
            used[node.args[0]].add(node.params["index"])
    found: dict[Node, dict[int, Node] | None] = {}

    def rule(node: Operation, before: Operation) -> Node | None:
        if node.primitive is not OUTPUT:
            return None
        whole, index = node.args[0], node.params["index"]
        assert isinstance(whole, Operation)
        improve = improvement.of(whole.primitive)
        if improve is None:
            return None
        if whole not in found:
            found[whole] = improve(whole, used[before.args[0]])
        better = found[whole]
        return None if better is None else better[index]

    return rebuild(graph, rule)
