"""Which values get a line when a graph is written, and the names of the variables."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Collection
from heapq import heappop, heappush

from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation


def choose_lines(
    graph: Graph, named: Collection[Node], limit: int, repeated: Callable[[Operation], bool]
) -> list[Operation]:
    """The operations that get a line: those that are `named`, used more than once, or would make a line too long.

    `repeated` says what is written again at each use instead.
    """
    uses = graph.count_uses()
    lines: list[Operation] = []
    weights: dict[Node, int] = {}
    for node in graph.operations:
        weight = 1 + sum([weights.get(a, 0) for a in node.args])
        if node in named or weight >= limit or uses[node] > 1 and not (weight == 1 and repeated(node)):
            lines.append(node)
            weight = 0
        weights[node] = weight
    return lines


def last_uses(graph: Graph, lines: list[Operation]) -> dict[Node, int]:
    """For each value, the line that needs it last; the results are needed after all lines.

    The operands of a value without a line are needed wherever that value is.
    """
    kept = {line: i for i, line in enumerate(lines)}
    last: dict[Node, int] = dict.fromkeys(graph.outputs, len(lines))
    for node in reversed(graph.operations):
        here = kept[node] if node in kept else last[node]
        for a in node.args:
            last[a] = max(last.get(a, -1), here)
    return last


def identifier(name: str, taken: Collection[str] = ()) -> str:
    """A name as Python takes it: `params['w']` becomes `params_w`."""
    text = re.sub(r"\W+", "_", name).strip("_") or "x"
    text = f"_{text}" if text[0].isdigit() else text
    return f"{text}_" if keyword.iskeyword(text) or text in taken else text


class Scope:
    """Variables of a function that is written line by line: a name that is no longer needed is used again."""

    def __init__(self, taken: Collection[str]):
        self.taken = set(taken)
        self.free: dict[str, list[tuple[int, str]]] = {}
        self.counts: dict[str, int] = {}
        self.family: dict[str, tuple[str, int]] = {}

    def inner(self) -> Scope:
        """The variables of lines inside of a loop or branch, which leave those around it alone."""
        scope = Scope(())
        scope.taken = self.taken
        return scope

    def take(self, base: str) -> str:
        """`y`, or if that is still needed, `y_1`, `y_2` ..."""
        if self.free.get(base):
            return heappop(self.free[base])[1]
        while True:
            number = self.counts.get(base, 0)
            self.counts[base] = number + 1
            text = f"{base}_{number}" if number else base
            if text not in self.taken:
                self.taken.add(text)
                self.family[text] = base, number
                return text

    def release(self, text: str) -> None:
        """Make a name available again."""
        base, number = self.family[text]
        heappush(self.free.setdefault(base, []), (number, text))
