"""The cheapest cut of a network between a source and a sink, by the paths of Dinic's algorithm."""

from __future__ import annotations

import math
from collections.abc import Hashable

SOURCE, SINK = "source", "sink"
ALWAYS = math.inf
"""The cost of an arc that is never cut."""


class Network:
    """Arcs between places, each with what it costs to cut it."""

    def __init__(self) -> None:
        self.rest: dict[Hashable, dict[Hashable, float]] = {SOURCE: {}, SINK: {}}

    def connect(self, start: Hashable, end: Hashable, cost: float) -> None:
        """Add an arc, or to the cost of one."""
        arcs = self.rest.setdefault(start, {})
        arcs[end] = arcs.get(end, 0) + cost
        self.rest.setdefault(end, {}).setdefault(start, 0)

    def cut(self) -> set[Hashable]:
        """Cut the source off from the sink at the least cost; returns the places that are still on its side."""
        while SINK in (levels := self.find_levels()):
            self.fill_paths(levels)
        return set(levels)

    def find_levels(self) -> dict[Hashable, int]:
        """The places that can be reached, with the number of arcs to them."""
        levels: dict[Hashable, int] = {SOURCE: 0}
        found: list[Hashable] = [SOURCE]
        for place in found:
            for end, rest in self.rest[place].items():
                if rest and end not in levels:
                    levels[end] = levels[place] + 1
                    found.append(end)
        return levels

    def fill_paths(self, levels: dict[Hashable, int]) -> None:
        """Fill paths to the sink, of arcs from one level to the next, until there are no more."""
        untried = {place: list(self.rest[place]) for place in levels}
        path: list[Hashable] = [SOURCE]
        while path:
            place = path[-1]
            if place == SINK:
                arcs = list(zip(path[:-1], path[1:], strict=True))
                least = min(self.rest[start][end] for start, end in arcs)
                for start, end in arcs:
                    self.rest[start][end] -= least
                    self.rest[end][start] += least
                full = next(k for k, (start, end) in enumerate(arcs) if not self.rest[start][end])
                del path[full + 1 :]
                continue
            ends = untried[place]
            while ends and not (self.rest[place][ends[-1]] and levels.get(ends[-1]) == levels[place] + 1):
                ends.pop()
            if ends:
                path.append(ends[-1])
            else:
                path.pop()
                if path:
                    untried[path[-1]].pop()
