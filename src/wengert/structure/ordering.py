"""Orders in which to colour the vertices of a graph.

Greedy colouring needs few colours if vertices with many neighbours come early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

Neighbours = Sequence[Sequence[int]]


def largest_first(degrees: Sequence[int] | np.ndarray) -> list[int]:
    """By number of neighbours, the largest first."""
    return np.argsort(-np.asarray(degrees, np.int64), kind="stable").tolist()


def smallest_last(neighbours: Neighbours) -> list[int]:
    """Built from its end: each vertex has the fewest neighbours among those before it."""
    return _by_degree(neighbours, [len(near) for near in neighbours], -1)[::-1]


def incidence_degree(neighbours: Neighbours) -> list[int]:
    """The next vertex is always one with most neighbours among those before it."""
    return _by_degree(neighbours, [0] * len(neighbours), 1)


def _by_degree(neighbours: Neighbours, degrees: list[int], change: int) -> list[int]:
    """Take the vertex of smallest (change -1) or largest (1) degree that is left, and update its neighbours."""
    count = len(neighbours)
    buckets: list[list[int]] = [[] for _ in range(max(map(len, neighbours), default=0) + 2)]
    for v in reversed(range(count)):
        buckets[degrees[v]].append(v)
    done = [False] * count
    order: list[int] = []
    at = 0 if change < 0 else len(buckets) - 1
    while len(order) < count:
        while not buckets[at]:
            at -= change
        v = buckets[at].pop()
        if done[v] or degrees[v] != at:
            continue  # it was moved to another bucket
        done[v] = True
        order.append(v)
        for w in neighbours[v]:
            if not done[w]:
                degrees[w] += change
                buckets[degrees[w]].append(w)
        at = max(at - 1, 0) if change < 0 else min(at + 1, len(buckets) - 1)
    return order


def vertex_orders(degrees: Sequence[int] | np.ndarray, neighbours: Neighbours | None) -> Iterator[list[int]]:
    """One after the other: as they are, largest first, smallest last, by incidence degree.

    The last two need the neighbours.
    """
    yield list(range(len(degrees)))
    yield largest_first(degrees)
    if neighbours is not None:
        yield smallest_last(neighbours)
        yield incidence_degree(neighbours)


def order_by_colors(colors: Sequence[int], reverse: bool) -> list[int]:
    """All vertices of one colour, then all of another.

    Greedy colouring in this order never needs more colours than before.
    """
    numbers = np.asarray(colors)
    sizes = np.bincount(numbers)
    rank = np.empty(sizes.size, np.int64)
    rank[np.argsort(-sizes, kind="stable") if not reverse else np.arange(sizes.size)[::-1]] = np.arange(sizes.size)
    return np.argsort(rank[numbers], kind="stable").tolist()
