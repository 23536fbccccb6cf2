"""Colourings of symmetric matrices, which use that each entry is there twice.

A matrix is a graph: vertices are its columns, edges its entries off the diagonal. Neighbours always have different
colours. In a *star* colouring, moreover, every path of four vertices has three colours: then of the two sums in which
an entry takes part, one has nothing else in it. In an *acyclic* colouring every cycle has three colours: two colours
make trees, and entries are found from the leaves inwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.structure.ordering import Neighbours, by_classes, orders

Greedy = Callable[[Sequence[int], Neighbours], list[int]]
IMPROVEMENTS = 4
"""How often a colouring is tried again, in the order of its colours."""
LARGEST_GRAPH = 400_000
"""Graphs with more edges are not ordered by their degrees, which takes as long as several colourings."""


def star(order: Sequence[int], neighbours: Neighbours) -> list[int]:
    """A star colouring, greedy in this order, in time that is linear in the number of edges.

    v may not have colour c if, for a neighbour w of colour a: c is a; or w has a neighbour x of colour c, and v or x
    has another neighbour of colour a. Sets of colours are the bits of integers.
    """
    count = len(neighbours)
    colors = [-1] * count
    first: list[dict[int, int]] = [{} for _ in range(count)]  # for each colour around a vertex, a neighbour that has it
    twice = [0] * count  # the colours that more than one neighbour has
    around = [0] * count  # the colours of the neighbours
    hubs = [0] * count  # for w of colour a, the colours of those neighbours x that have another neighbour of colour a
    for v in order:
        near = neighbours[v]
        forbidden, mine = around[v], twice[v]
        for w in near:
            a = colors[w]
            if a >= 0:
                forbidden |= around[w] if mine >> a & 1 else hubs[w]
        bit = ~forbidden & (forbidden + 1)
        c = colors[v] = bit.bit_length() - 1
        for w in near:
            a = colors[w]
            if around[w] & bit:
                twice[w] |= bit
                if a >= 0:
                    hubs[v] |= 1 << a
                    hubs[first[w][c]] |= 1 << a
            else:
                around[w] |= bit
                first[w][c] = v
            if a >= 0 and mine >> a & 1:
                hubs[w] |= bit
    return colors


def acyclic(order: Sequence[int], neighbours: Neighbours) -> list[int]:
    """An acyclic colouring, greedy in this order: v may not have colour c if that joined two neighbours by a second
    path of two colours.

    All edges from w to neighbours of colour c are in one tree, known by a number; trees that grow together are joined.
    """
    count = len(neighbours)
    colors = [-1] * count
    trees: list[dict[int, int]] = [{} for _ in range(count)]
    parents: list[int] = []

    def root(t: int) -> int:
        while parents[t] != t:
            parents[t] = parents[parents[t]]
            t = parents[t]
        return t

    for v in order:
        near = [w for w in neighbours[v] if colors[w] >= 0]
        forbidden, once, twice = 0, 0, 0
        for w in near:
            bit = 1 << colors[w]
            twice |= once & bit
            once |= bit
        forbidden = once
        met: set[int] = set()
        for w in near:
            if twice >> colors[w] & 1:
                for c, t in trees[w].items():
                    t = root(t)
                    if t in met:
                        forbidden |= 1 << c
                    else:
                        met.add(t)
        c = (~forbidden & (forbidden + 1)).bit_length() - 1
        colors[v] = c
        for w in near:
            a = colors[w]
            here, there = trees[v].get(a), trees[w].get(c)
            if here is None and there is None:
                here = len(parents)
                parents.append(here)
            elif here is not None and there is not None:
                parents[root(there)] = root(here)
            trees[v][a] = trees[w][c] = here if here is not None else there  # type: ignore[assignment]  # one of them is there
    return colors


def best(greedy: Greedy, neighbours: Neighbours, enough: int) -> list[int]:
    """The colouring with fewest colours among those of several orders.

    What has `enough` colours or fewer is taken at once.
    """
    degrees = [len(near) for near in neighbours]
    found: list[int] | None = None
    for order in orders(degrees, neighbours if sum(degrees) <= LARGEST_GRAPH else None):
        colors = greedy(order, neighbours)
        found = colors if found is None else min(found, colors, key=max)
        if max(found) < enough:
            return found
    assert found is not None
    for i in range(IMPROVEMENTS):
        found = min(found, greedy(by_classes(found, bool(i % 2)), neighbours), key=max)
    return found
