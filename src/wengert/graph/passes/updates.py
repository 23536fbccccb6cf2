"""Sums in memory: what is added at some indices of an array is added there, not to all of it.

The cotangent of `x[i]` is an array of zeros with one element. Added to the other cotangents of x, it costs as much as x
is large; added at the index, it costs as much as it has elements.
"""

from __future__ import annotations

from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, Node, Operation, is_a
from wengert.graph.passes.rewrite import make_node, rebuild
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.indexing.subscripts import _add_at, _scatter, _set_at


def add_at_indices(graph: Graph) -> Graph:
    """Replace `x + scatter(v, i)` by x with v added at i.

    This changes two things, which the order of a sum does as well: where nothing is added, -0.0 stays -0.0; and where
    an index repeats, its elements are added to x one by one.
    """
    uses, summed = graph.count_uses(), summed_again(graph)

    def rule(node: Operation, before: Operation) -> Node | None:
        if not is_a(node, add) or node.args[0].spec != node.args[1].spec:
            return None
        for x, y, old in zip(node.args, reversed(node.args), reversed(before.args), strict=True):
            is_worthwhile = is_at_index(y) or (is_small_part(y) and is_in_memory(x) and before not in summed)
            if is_a(y, _scatter) and is_worthwhile and uses[old] == 1:
                return make_node(node, _add_at, x, y.args[0], *y.args[1:], key=y.params["key"])
        return None

    return rebuild(graph, rule)


def is_at_index(x: Node) -> bool:
    """Whether an array has some elements at computed indices, and the rest are zeros."""
    return is_a(x, _scatter) and len(x.args) > 1


def is_small_part(x: Node) -> bool:
    """Whether a small part of a large array is a slice, and the rest are zeros."""
    now = machine.current
    if not is_a(x, _scatter) or len(x.args) > 1 or x.size < now.min_elements_of_added_updates:
        return False
    return now.min_elements_per_added_element * x.args[0].size <= x.size


def is_in_memory(x: Node) -> bool:
    """Whether an array is an input, or an updated input."""
    while is_a(x, _add_at, _set_at):
        x = x.args[0]
    return isinstance(x, Input)


def summed_again(graph: Graph) -> set[Node]:
    """What is only added to whole arrays: that computes every element, so that a part needs no step of its own."""
    found: set[Node] = set()
    if not any(map(is_small_part, graph.operations)):
        return found
    readers: dict[Node, list[Operation]] = {node: [] for node in graph.operations}
    for node in graph.operations:
        for a in node.args:
            readers.get(a, []).append(node)
    kept = set(graph.outputs)
    for node in reversed(graph.operations):
        if node not in kept and all(is_a(x, add) and (x in found or adds_whole(x)) for x in readers[node]):
            found.add(node)
    return found


def adds_whole(node: Operation) -> bool:
    """Whether neither operand of a sum is a part."""
    return not any(is_small_part(a) or is_at_index(a) for a in node.args)
