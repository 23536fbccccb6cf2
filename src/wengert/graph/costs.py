"""The costs of a graph: operations, bytes, flops, memory, and its size as a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from wengert.core.aspects import Aspect
from wengert.core.infer import is_elementwise
from wengert.core.primitive import OUTPUT
from wengert.graph.forms import Stats, form
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation

flops: Aspect[Callable[[Operation], int]] = Aspect(
    "flops",
    "the number of flops of one node, if it is not one for each element",
    rest="it takes one for each element, or none",
    filled_by="wengert.graph.aspects",
)


@form("stats")
def measure_costs(graph: Graph) -> Stats:
    """Counts over all operations of a graph."""
    read = written = arithmetic = 0
    for node in graph.operations:
        arithmetic += flops_of(node)
        if not node.primitive.facts.view:
            read += sum([a.nbytes for a in node.args])
            written += node.nbytes
    names = Counter([node.primitive.name for node in graph.operations])
    by_name = dict(sorted(names.items(), key=lambda item: (-item[1], item[0])))
    return Stats(len(graph.operations), by_name, read, written, arithmetic, peak_memory(graph), tree_size(graph))


def flops_of(node: Operation) -> int:
    """The arithmetic of one operation."""
    if node.primitive.facts.moves:
        return 0
    if (count := flops.of(node.primitive)) is not None:
        return count(node)
    if is_elementwise(node.primitive):
        return node.size
    return sum([spec.size for spec in node.specs])


def per_element(count: int) -> Callable[[Operation], int]:
    """A number of flops for each element of the argument."""
    return lambda node: count * node.args[0].size


def peak_memory(graph: Graph) -> int:
    """The most bytes that are held at one time. A view keeps its argument alive, and holds nothing itself."""
    held = sum([node.nbytes for node in (*graph.inputs, *graph.constants)])
    kept = {*graph.inputs, *graph.constants}
    uses = graph.count_uses()
    peak = held
    for node in graph.operations:
        if not node.primitive.facts.view:
            held += node.nbytes
            peak = max(peak, held)
        dead: list[Node] = [] if uses[node] else [node]
        for a in node.args:
            if not node.primitive.facts.view:
                uses[a] -= 1
                dead += [a] * (not uses[a])
        held -= _free(dead, uses, kept)
    return peak


def _free(dead: list[Node], uses: dict[Node, int], kept: set[Node]) -> int:
    """The bytes of values that are no longer used; a view releases its argument."""
    freed = 0
    while dead:
        node = dead.pop()
        if isinstance(node, Operation) and node.primitive.facts.view:
            uses[node.args[0]] -= 1
            dead += [node.args[0]] * (not uses[node.args[0]])
        elif node not in kept:
            freed += node.nbytes
    return freed


def tree_size(graph: Graph) -> int:
    """The number of operations if every use of a value computed it anew."""
    sizes: dict[Node, int] = {}
    for node in graph.operations:
        own = node.primitive is not OUTPUT
        sizes[node] = own + sum([sizes.get(a, 0) for a in node.args])
    return sum([sizes.get(node, 0) for node in graph.outputs])
