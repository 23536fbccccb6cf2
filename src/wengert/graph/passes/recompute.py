"""Recomputation instead of storage: cheap values are computed again where they are used much later.

The peak is that of an evaluation in the order of the graph, which frees every value after its last use; views take no
memory, and keep their operands alive. A value that lives across the peak without being used there is computed again
after it, if its operands are alive anyway. The result is kept only if the peak is lower.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation


def recompute(graph: Graph) -> Graph:
    """The graph with cheap operations repeated, if its peak memory is lower then; else the graph itself."""
    worthwhile = machine.current.min_peak_bytes_of_recomputation
    if sum([node.nbytes for node in graph.operations]) < worthwhile:
        return graph
    lives = Lifetimes.of(graph)
    for _ in range(machine.current.max_rounds_of_recomputation):
        repeated = choose_recomputed(graph, lives) if lives.peak >= worthwhile else None
        if not repeated:
            break
        after = clone_operations(graph, lives, repeated)
        lower = Lifetimes.of(after)
        if lower.peak >= lives.peak:
            break
        graph, lives = after, lower
    return graph


def peak(graph: Graph) -> int:
    """The most bytes in memory at once beside inputs and constants, if operations run in order."""
    return Lifetimes.of(graph).peak


class Lifetimes(NamedTuple):
    """When each value is computed, used, and used for the last time, by indices in the order of the operations."""

    order: list[Operation]
    uses: dict[Node, list[int]]
    """The indices of the operations that read the memory of a node, or of a view of it, in order."""
    memory: dict[Node, Node]
    """The node that owns the memory of a node: the operand of a view, or the node itself."""
    crest: int
    peak: int

    @classmethod
    def of(cls, graph: Graph) -> Lifetimes:
        """The lifetimes of the values of a graph."""
        order = graph.operations
        memory: dict[Node, Node] = {}
        uses: dict[Node, list[int]] = {}
        for i, node in enumerate(order):
            for a in node.args:
                uses.setdefault(memory.get(a, a), []).append(i)
            is_view = node.primitive.facts.view
            memory[node] = memory.get(node.args[0], node.args[0]) if is_view else node
        for y in graph.outputs:
            uses.setdefault(memory.get(y, y), []).append(len(order))
        change = [0] * (len(order) + 1)
        for i, node in enumerate(order):
            if memory[node] is node:
                size = node.nbytes
                last = uses[node][-1]
                change[i] += size
                if last < len(order):
                    change[last + 1] -= size
        levels = list(accumulate(change))
        highest = max(levels)
        return cls(order, uses, memory, levels.index(highest), highest)

    def is_alive(self, node: Node, i: int) -> bool:
        """Whether a node is in memory at operation `i` without being kept for it."""
        base = self.memory.get(node, node)
        return not isinstance(base, Operation) or self.uses[base][-1] >= i


def is_cheap(node: Operation) -> bool:
    """Whether each element takes an instruction or two."""
    facts = node.primitive.facts
    return facts.cost is not None and facts.cost <= 1 and not facts.view


def choose_recomputed(graph: Graph, lives: Lifetimes) -> dict[Operation, int]:
    """The operations to repeat, with the index of the first use after the peak."""
    found: dict[Operation, int] = {}
    needed: set[Node] = set()
    viewed = {lives.memory[node] for node in lives.order if lives.memory[node] is not node}
    outputs = set(graph.outputs)
    for i, node in enumerate(lives.order):
        if i >= lives.crest:
            break
        is_small = node.nbytes < machine.current.min_bytes_computed_again
        if not is_cheap(node) or node in viewed or node in outputs or node in needed or is_small:
            continue
        later = next((use for use in lives.uses[node] if use > lives.crest), None)
        if later is None or lives.crest in lives.uses[node]:
            continue
        bases = [lives.memory.get(a, a) for a in node.args]
        if all(base not in found and lives.is_alive(base, later) for base in bases):
            found[node] = later
            needed.update(bases)
    return found


def clone_operations(graph: Graph, lives: Lifetimes, repeated: dict[Operation, int]) -> Graph:
    """The graph with these operations repeated, each just before its first use after the peak."""
    new: dict[Node, Node] = {}
    due: dict[int, list[Operation]] = {}
    for node, i in repeated.items():
        due.setdefault(i, []).append(node)
    for i, node in enumerate(lives.order):
        for early in due.get(i, ()):
            new[early] = early.with_args([new.get(a, a) for a in early.args])
        if new:
            new[node] = node.with_args([new.get(a, a) for a in node.args])
    return graph.with_outputs([new.get(y, y) for y in graph.outputs])
