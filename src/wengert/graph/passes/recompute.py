"""Recomputation instead of storage: what is cheap to make is made again where it is used much later.

The peak is that of an evaluation in the order of the graph, which frees every value after its last use; views take no
memory of their own, and keep alive what they look at. A value that lies across the peak, unused, is made again after
it, if what it is made of is there anyway. What comes of it is kept only if the peak is lower.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation

WORTHWHILE = 1 << 20
"""Bytes of peak memory below which everything lies in a cache, and time matters more."""

SMALL = 1 << 12
"""Bytes below which a value is not worth making again."""

ROUNDS = 4


def recompute(graph: Graph) -> Graph:
    """The graph with cheap operations done again, if its peak memory is lower then; else the graph itself."""
    if sum(map(taken, graph.operations)) < WORTHWHILE:
        return graph
    lives = Lifetimes.of(graph)
    for _ in range(ROUNDS):
        again = choose_recomputed(graph, lives) if lives.peak >= WORTHWHILE else None
        if not again:
            break
        after = clone_operations(graph, lives, again)
        lower = Lifetimes.of(after)
        if lower.peak >= lives.peak:
            break
        graph, lives = after, lower
    return graph


def peak(graph: Graph) -> int:
    """The most bytes that lie in memory at once beside inputs and constants, if operations run in order and free what
    is not needed.
    """
    return Lifetimes.of(graph).peak


class Lifetimes(NamedTuple):
    """When each value is made, used, and used for the last time, by places in the order of the operations."""

    order: list[Operation]
    uses: dict[Node, list[int]]
    """The places where the memory of a node is read, in order; views of it count."""
    memory: dict[Node, Node]
    """The node whose memory a node lies in: that of what it is a view of, or its own."""
    crest: int
    peak: int

    @classmethod
    def of(cls, graph: Graph) -> Lifetimes:
        order = graph.operations
        memory: dict[Node, Node] = {}
        uses: dict[Node, list[int]] = {}
        for place, node in enumerate(order):
            for a in node.args:
                uses.setdefault(memory.get(a, a), []).append(place)
            is_view = node.primitive.facts.view
            memory[node] = memory.get(node.args[0], node.args[0]) if is_view else node
        for y in graph.outputs:
            uses.setdefault(memory.get(y, y), []).append(len(order))
        change = [0] * (len(order) + 1)
        for place, node in enumerate(order):
            if memory[node] is node:
                size = taken(node)
                last = uses[node][-1]
                change[place] += size
                if last < len(order):
                    change[last + 1] -= size
        levels = list(accumulate(change))
        highest = max(levels)
        return cls(order, uses, memory, levels.index(highest), highest)

    def lasts(self, node: Node, place: int) -> bool:
        """Whether a node is there at a place without being kept for it."""
        base = self.memory.get(node, node)
        return not isinstance(base, Operation) or self.uses[base][-1] >= place


def taken(node: Operation) -> int:
    return node.nbytes if node.spec.__class__ is Spec else sum([spec.size * spec.dtype.itemsize for spec in node.spec])


def is_cheap(node: Operation) -> bool:
    """Whether each element takes an instruction or two."""
    facts = node.primitive.facts
    return facts.cost is not None and facts.cost <= 1 and not facts.view


def choose_recomputed(graph: Graph, lives: Lifetimes) -> dict[Operation, int]:
    """The operations to do again, with the place of the first use after the peak."""
    found: dict[Operation, int] = {}
    needed: set[Node] = set()
    viewed = {lives.memory[node] for node in lives.order if lives.memory[node] is not node}
    outputs = set(graph.outputs)
    for place, node in enumerate(lives.order):
        if place >= lives.crest:
            break
        if not is_cheap(node) or node in viewed or node in outputs or node in needed or taken(node) < SMALL:
            continue
        later = next((use for use in lives.uses[node] if use > lives.crest), None)
        if later is None or lives.crest in lives.uses[node]:
            continue
        bases = [lives.memory.get(a, a) for a in node.args]
        if all(base not in found and lives.lasts(base, later) for base in bases):
            found[node] = later
            needed.update(bases)
    return found


def clone_operations(graph: Graph, lives: Lifetimes, again: dict[Operation, int]) -> Graph:
    """The graph with these operations done a second time, each just before its first use after the peak."""
    new: dict[Node, Node] = {}
    due: dict[int, list[Operation]] = {}
    for node, place in again.items():
        due.setdefault(place, []).append(node)
    for place, node in enumerate(lives.order):
        for early in due.get(place, ()):
            new[early] = early.with_args([new.get(a, a) for a in early.args])
        if new:
            new[node] = node.with_args([new.get(a, a) for a in node.args])
    return graph.with_outputs([new.get(y, y) for y in graph.outputs])
