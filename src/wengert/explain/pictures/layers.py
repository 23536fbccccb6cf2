"""Layered drawing of a directed graph: the layer, order and position of each box, with short edges and few crossings.

The method is that of Sugiyama, Tagawa and Toda (1981): layers by longest paths, an order by the barycentres of
neighbours, then positions. An edge across several layers bends in each of them; all such edges that leave the same box
share their bends, as one trunk.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

Pairs = Sequence[tuple[int, int]]

SWEEPS = 24
TRUNK = -4.0
"""The width of a passing edge in a layer, added to the gap: passing edges are closer together than boxes."""
PASSING, STRAIGHT = 0.05, 400.0
"""How strongly a bend of a passing edge attracts boxes, and how many times as strongly the next bend."""
HEAVY = 0.4
"""A neighbour counts if its pull is at least this part of the strongest."""


class Placement(NamedTuple):
    """For each box its layer and the position of its centre; for each edge its bends as (layer, position).

    `backward` marks the edges that run against the layers, because they close a cycle.
    """

    layer: list[int]
    position: list[float]
    bends: list[list[tuple[int, float]]]
    backward: list[bool]


def place_boxes(
    thickness: Sequence[float], edges: Pairs, floating: Sequence[bool], gap: float, pull: Sequence[float] | None = None
) -> Placement:
    """Place the boxes, which are in order of execution.

    `floating` boxes (inputs, data) stand right before what uses them first. `pull` says how strongly each box attracts
    its neighbours, so that what matters most lies on a straight line.
    """
    count = len(thickness)
    rank = topological_ranks(count, edges)
    backward = [rank[a] > rank[b] for a, b in edges]
    forward = [(b, a) if back else (a, b) for (a, b), back in zip(edges, backward, strict=True)]
    layer = assign_layers(count, forward, rank, floating)
    wide = list(thickness)
    deep = list(layer)
    chain: dict[tuple[int, int, int], int] = {}
    short: dict[tuple[int, int], None] = {}
    routes: list[list[int]] = []
    for i, (a, b) in enumerate(forward):
        route, last = [], a
        for level in range(layer[a] + 1, layer[b]):
            key = (a, level, i if backward[i] else -1)
            bend = chain.get(key)
            if bend is None:
                bend = chain[key] = len(wide)
                wide.append(TRUNK)
                deep.append(level)
            short[last, bend] = None
            route.append(bend)
            last = bend
        if last != b:
            short[last, b] = None
        routes.append(route)
    order = order_layers(deep, list(short))
    strength = [*(pull or [1.0] * count), *[PASSING] * (len(wide) - count)]
    position = find_positions(wide, order, list(short), strength, gap)
    bends = [[(deep[n], position[n]) for n in route] for route in routes]
    return Placement(
        layer, position[:count], [b[::-1] if back else b for b, back in zip(bends, backward, strict=True)], backward
    )


def topological_ranks(count: int, edges: Pairs) -> list[int]:
    """The rank of each box in a topological order. In a cycle, the earliest box comes first."""
    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in edges:
        after[a].append(b)
        waiting[b] += 1
    ready = [n for n in range(count) if not waiting[n]]
    rank = [-1] * count
    earliest = 0
    for step in range(count):
        if not ready:
            while rank[earliest] >= 0:
                earliest += 1
            ready.append(earliest)
        node = heappop(ready)
        rank[node] = step
        for n in after[node]:
            waiting[n] -= 1
            if waiting[n] == 0 and rank[n] < 0:
                heappush(ready, n)
    return rank


def assign_layers(count: int, edges: Pairs, rank: Sequence[int], floating: Sequence[bool]) -> list[int]:
    """Layers by longest paths. Boxes then move towards their uses, if that makes no other edge longer."""
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        before[b].append(a)
        after[a].append(b)
    layer = [0] * count
    for node in sorted(range(count), key=rank.__getitem__):
        layer[node] = max([layer[a] + 1 for a in before[node]], default=0)
    for node in sorted(range(count), key=rank.__getitem__, reverse=True):
        if after[node]:
            latest = min([layer[b] for b in after[node]]) - 1
            held = {a for a in before[node] if not floating[a] or len(set(after[a])) > 1}
            if floating[node] or len(held) < len(set(after[node])):
                layer[node] = max(layer[node], latest)
    first = min(layer, default=0)
    return [n - first for n in layer]


def count_layers(count: int, edges: Pairs) -> int:
    """How many layers there are."""
    rank = topological_ranks(count, edges)
    ahead = [(a, b) for a, b in edges if rank[a] < rank[b]]
    return max(assign_layers(count, ahead, rank, [False] * count), default=-1) + 1


def order_layers(layer: Sequence[int], edges: Pairs) -> list[list[int]]:
    """The boxes and bends of each layer, in an order with few crossings: by igraph if it is installed."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, level in enumerate(layer):
        rows[level].append(node)
    try:
        from igraph import Graph
    except ImportError:
        return reduce_crossings(rows, edges, SWEEPS)
    found = Graph(n=len(layer), edges=list(edges), directed=True).layout_sugiyama(layers=list(layer), maxiter=100)
    across = [point[0] for point in found]
    return reduce_crossings([sorted(row, key=across.__getitem__) for row in rows], edges, 4)


def reduce_crossings(rows: list[list[int]], edges: Pairs, sweeps: int) -> list[list[int]]:
    """Sort each layer by the barycentres of its neighbours, down and up, and keep the best order."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for a, b in edges:
        above.setdefault(b, []).append(a)
        below.setdefault(a, []).append(b)
    best, fewest = [list(row) for row in rows], count_crossings(rows, below)
    rows = [list(row) for row in rows]
    for sweep in range(sweeps):
        if not fewest:
            break
        neighbours, order = (above, range(1, len(rows))) if sweep % 2 == 0 else (below, range(len(rows) - 2, -1, -1))
        for level in order:
            fixed = rows[level - 1] if sweep % 2 == 0 else rows[level + 1]
            index = {node: i for i, node in enumerate(fixed)}
            scale = len(fixed) / len(rows[level])
            rows[level].sort(key=barycentres(rows[level], neighbours, index, scale).__getitem__)
        now = count_crossings(rows, below)
        if now < fewest:
            best, fewest = [list(row) for row in rows], now
    return best


def barycentres(
    row: list[int], neighbours: dict[int, list[int]], index: dict[int, int], scale: float
) -> dict[int, float]:
    """The mean index of each node's neighbours; a node without any stays about where it is."""
    found = {}
    for i, node in enumerate(row):
        near = neighbours.get(node)
        found[node] = sum([index[n] for n in near]) / len(near) if near else i * scale
    return found


def count_crossings(rows: list[list[int]], below: dict[int, list[int]]) -> int:
    """How many pairs of edges cross: inversions among the ends of edges sorted by their starts."""
    total = 0
    for upper, lower in zip(rows, rows[1:], strict=False):
        index = {node: i for i, node in enumerate(lower)}
        seen: list[int] = []
        for node in upper:
            ends = sorted([index[n] for n in below.get(node, ())])
            for end in ends:
                total += len(seen) - bisect_right(seen, end)
            for end in ends:
                insort(seen, end)
    return total


def find_positions(
    wide: Sequence[float], rows: list[list[int]], edges: Pairs, pull: Sequence[float], gap: float
) -> list[float]:
    """Centres within the layers, as near to those of important neighbours as order and sizes allow."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for a, b in edges:
        above.setdefault(b, []).append(a)
        below.setdefault(a, []).append(b)
    position = [0.0] * len(wide)
    for row in rows:
        offsets = pack_row(wide, row, gap)
        for node, offset in zip(row, offsets, strict=True):
            position[node] = offset - offsets[-1] / 2
    for sweep in range(SWEEPS + 1):
        down, both = sweep % 2 == 0, SWEEPS // 2 < sweep < SWEEPS
        for row in rows if down else reversed(rows):
            goals, weights = [], []
            for node in row:
                near = (
                    [above.get(node, ()), below.get(node, ())] if both else [(above if down else below).get(node, ())]
                )
                straight = STRAIGHT if pull[node] == PASSING else 1.0
                pulls = [
                    (position[n], pull[node] * pull[n] * (straight if pull[n] == PASSING else 1.0))
                    for part in near
                    for n in part
                ]
                least = HEAVY * max([w for _, w in pulls], default=0.0)
                pulls = [(p, w) for p, w in pulls if w >= least]
                weight = sum([w for _, w in pulls])
                goals.append(sum([p * w for p, w in pulls]) / weight if pulls else position[node])
                weights.append(weight if pulls else 1e-4)
            for node, found in zip(row, keep_apart(goals, weights, pack_row(wide, row, gap)), strict=True):
                position[node] = found
    return position


def pack_row(wide: Sequence[float], row: list[int], gap: float) -> list[float]:
    """The centres of a layer's boxes, as close together as possible, the first at 0."""
    found = [0.0]
    for a, b in zip(row, row[1:], strict=False):
        found.append(found[-1] + (wide[a] + wide[b]) / 2 + gap)
    return found[: len(row)]


def keep_apart(goals: Sequence[float], weights: Sequence[float], offsets: Sequence[float]) -> list[float]:
    """The positions nearest to the goals, in least squares, that keep the order and the distances of `offsets`.

    Without the offsets, positions must not decrease, so neighbours whose goals are in the wrong order merge into blocks
    with a common mean.
    """
    blocks: list[tuple[float, float, int]] = []
    for goal, weight, offset in zip(goals, weights, offsets, strict=True):
        mean, size = goal - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, heavy, many = blocks.pop()
            mean = (mean * weight + other * heavy) / (weight + heavy)
            weight, size = weight + heavy, size + many
        blocks.append((mean, weight, size))
    means = [mean for mean, _, size in blocks for _ in range(size)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
