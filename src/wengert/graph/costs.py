"""The costs of a graph: operations, bytes, flops, memory, and its size as a tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wengert.core.aspects import Aspect
from wengert.core.infer import is_elementwise
from wengert.core.primitive import OUTPUT
from wengert.graph.forms import Stats, form
from wengert.graph.graph import Graph
from wengert.graph.held import Held, graphs_of
from wengert.graph.ir import Node, Operation

flops: Aspect[Callable[[Operation], int]] = Aspect(
    "flops",
    "the number of flops of one node, if it is not one for each element",
    rest="it takes one for each element, or none",
    filled_by=("wengert.graph.flop_counts",),
)


@form("stats")
def measure_costs(graph: Graph) -> Stats:
    """Counts over all operations of a graph."""
    count = count_work(graph)
    by_name = dict(sorted(count.by_name.items(), key=lambda item: (-item[1], item[0])))
    operations = count.by_name.total()
    return Stats(operations, by_name, count.read, count.written, count.flops, peak_memory(graph), tree_size(graph))


class Work(NamedTuple):
    """What is done when a graph runs: operations, bytes read and written, and flops."""

    by_name: Counter[str]
    read: int
    written: int
    flops: int


def count_work(graph: Graph) -> Work:
    """The work of a graph. The step of a loop counts as often as it runs, once where that is not known.

    Of the branches of a choice, the one with the most flops counts.
    """
    names: Counter[str] = Counter()
    read = written = arithmetic = 0
    for node in graph.operations:
        names.update([node.primitive.name])
        held = graphs_of(node)
        if not held:
            arithmetic += flops_of(node)
        if not node.primitive.facts.view:
            read += sum([bytes_of(a) for a in node.args])
            written += bytes_of(node)
        for times, inner in repeat_work(held):
            for name, count in inner.by_name.items():
                names[name] += times * count
            read, written = read + times * inner.read, written + times * inner.written
            arithmetic += times * inner.flops
    return Work(names, read, written, arithmetic)


def repeat_work(held: Sequence[Held]) -> list[tuple[int, Work]]:
    """The work of the graphs that an operation holds, each with how often it is done."""
    found = [(part.runs if isinstance(part.runs, int) else 1, count_work(part.graph)) for part in held]
    return [max(found, key=lambda pair: pair[1].flops)] if held and held[0].alternative else found


def bytes_of(node: Node) -> int:
    """The bytes of a value; of a sequence of unknown length, those of one slice."""
    return sum([abs(spec.size) * spec.dtype.itemsize for spec in node.specs])


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


def product_flops(node: Node) -> int:
    """The flops of one product that is added: a product of complex numbers consists of four."""
    return 8 if node.dtype.kind == "c" else 2


def peak_memory(graph: Graph) -> int:
    """The most bytes that are held at one time. A view keeps its argument alive, and holds nothing itself."""
    held = sum([bytes_of(node) for node in (*graph.inputs, *graph.constants)])
    kept = {*graph.inputs, *graph.constants}
    uses = graph.count_uses()
    peak = held
    for node in graph.operations:
        if not node.primitive.facts.view:
            held += bytes_of(node)
            peak = max(peak, held + max([inner_memory(part.graph) for part in graphs_of(node)], default=0))
        dead: list[Node] = [] if uses[node] else [node]
        for a in node.args:
            if not node.primitive.facts.view:
                uses[a] -= 1
                dead += [a] * (not uses[a])
        held -= _free(dead, uses, kept)
    return peak


def inner_memory(graph: Graph) -> int:
    """The most bytes that a graph holds at one time beside its inputs, which belong to the operation that holds it."""
    return peak_memory(graph) - sum([bytes_of(node) for node in graph.inputs])


def _free(dead: list[Node], uses: dict[Node, int], kept: set[Node]) -> int:
    """The bytes of values that are no longer used; a view releases its argument."""
    freed = 0
    while dead:
        node = dead.pop()
        if isinstance(node, Operation) and node.primitive.facts.view:
            uses[node.args[0]] -= 1
            dead += [node.args[0]] * (not uses[node.args[0]])
        elif node not in kept:
            freed += bytes_of(node)
    return freed


def tree_size(graph: Graph) -> int:
    """The number of operations if every use of a value computed it anew; a graph that a node holds counts once."""
    sizes: dict[Node, int] = {}
    for node in graph.operations:
        own = sum([tree_size(part.graph) for part in graphs_of(node)], int(node.primitive is not OUTPUT))
        sizes[node] = own + sum([sizes.get(a, 0) for a in node.args])
    return sum([sizes.get(node, 0) for node in graph.outputs])
