"""Colourings of symmetric matrices, which use that each entry is there twice.

A matrix is a graph: vertices are its columns, edges its entries off the diagonal. Neighbours always have different
colours. In a *star* colouring, every path of four vertices has three colours: then of the two sums that an entry is in,
one has nothing else in it. In an *acyclic* colouring every cycle has three colours: two colours make trees, and entries
are found from the leaves inwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.core import machine
from wengert.structure.ordering import Neighbours, order_by_colors, vertex_orders

Greedy = Callable[[Sequence[int], Neighbours], list[int]]


def color_star(order: Sequence[int], neighbours: Neighbours) -> list[int]:
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


def color_acyclic(order: Sequence[int], neighbours: Neighbours) -> list[int]:
    """An acyclic colouring, greedy in this order.

    v may not have colour c if that joined two neighbours by a second path of two colours. All edges from w to
    neighbours of colour c are in one tree, known by a number; trees that grow together are joined.
    """
    count = len(neighbours)
    colors = [-1] * count
    trees: list[dict[int, int]] = [{} for _ in range(count)]
    parents: list[int] = []

    for v in order:
        near = [w for w in neighbours[v] if colors[w] >= 0]
        forbidden = _closing_colors(near, colors, trees, parents)
        c = (~forbidden & (forbidden + 1)).bit_length() - 1
        colors[v] = c
        for w in near:
            a = colors[w]
            here, there = trees[v].get(a), trees[w].get(c)
            if here is None and there is None:
                here = len(parents)
                parents.append(here)
            elif here is not None and there is not None:
                parents[_find_root(parents, there)] = _find_root(parents, here)
            tree = here if here is not None else there
            assert tree is not None
            trees[v][a] = trees[w][c] = tree
    return colors


def _closing_colors(near: list[int], colors: list[int], trees: list[dict[int, int]], parents: list[int]) -> int:
    """The colours, as bits, that would close a cycle of two colours at a vertex with these coloured neighbours."""
    once = twice = 0
    for w in near:
        bit = 1 << colors[w]
        twice |= once & bit
        once |= bit
    forbidden = once
    met: set[int] = set()
    for w in near:
        if twice >> colors[w] & 1:
            for c, t in trees[w].items():
                t = _find_root(parents, t)
                if t in met:
                    forbidden |= 1 << c
                else:
                    met.add(t)
    return forbidden


def _find_root(parents: list[int], t: int) -> int:
    while parents[t] != t:
        parents[t] = parents[parents[t]]
        t = parents[t]
    return t


def best_coloring(greedy: Greedy, neighbours: Neighbours, enough: int) -> list[int]:
    """The colouring with fewest colours among those of several orders.

    One with at most `enough` colours is taken at once.
    """
    degrees = [len(near) for near in neighbours]
    found: list[int] | None = None
    for order in vertex_orders(
        degrees, neighbours if sum(degrees) <= machine.current.max_conflicts_of_ordered_coloring else None
    ):
        colors = greedy(order, neighbours)
        found = colors if found is None else min(found, colors, key=max)
        if max(found) < enough:
            return found
    assert found is not None
    for i in range(machine.current.improvements_of_symmetric_coloring):
        found = min(found, greedy(order_by_colors(found, bool(i % 2)), neighbours), key=max)
    return found
