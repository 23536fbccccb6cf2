"""What values are called, and which of them are written on a line of their own, when a graph is shown."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Collection
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from wengert.graph.evaluation import remaining_uses
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.graph.graph import Graph


def never(node: Operation) -> bool:
    return False


def known_names(graph: Graph) -> dict[Node, str]:
    """The user's own names of values.

    An instruction that made several nodes at once gave its name to the last of them.
    """
    names: dict[Node, str] = {given: given.name for given in graph.inputs if given.name}
    operations = graph.operations
    for i, node in enumerate(operations):
        here, there = node.source, operations[i + 1].source if i + 1 < len(operations) else None
        if node.name:
            names[node] = node.name
        elif (
            here is not None
            and here.name
            and not (there and here.code is there.code and here.instruction == there.instruction)
        ):
            names[node] = here.name
    return names


def separate(
    graph: Graph, named: Collection[Node], limit: int, repeated: Callable[[Operation], bool] = never
) -> list[Operation]:
    """The operations that get a line of their own: what is `named`, what is used more than once, what would make a line
    too long.

    `repeated` says what is written again at each use instead.
    """
    uses = remaining_uses(graph)
    lines: list[Operation] = []
    weights: dict[Node, int] = {}
    for node in graph.operations:
        weight = 1 + sum([weights.get(a, 0) for a in node.args])
        if node in named or weight >= limit or uses[node] > 1 and not (weight == 1 and repeated(node)):
            lines.append(node)
            weight = 0
        weights[node] = weight
    return lines


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
        self.made: dict[str, int] = {}
        self.family: dict[str, tuple[str, int]] = {}

    def take(self, base: str) -> str:
        """`y`, or if that is still needed, `y_1`, `y_2` ..."""
        if self.free.get(base):
            return heappop(self.free[base])[1]
        while True:
            place = self.made.get(base, 0)
            self.made[base] = place + 1
            text = f"{base}_{place}" if place else base
            if text not in self.taken:
                self.taken.add(text)
                self.family[text] = base, place
                return text

    def release(self, text: str) -> None:
        base, place = self.family[text]
        heappush(self.free.setdefault(base, []), (place, text))


def last_lines(graph: Graph, lines: list[Operation]) -> dict[Node, int]:
    """For each value, the line that needs it last; the results are needed after all lines.

    What a value without a line of its own is made of is needed wherever that value is.
    """
    kept = {line: i for i, line in enumerate(lines)}
    last: dict[Node, int] = dict.fromkeys(graph.outputs, len(lines))
    for node in reversed(graph.operations):
        here = kept[node] if node in kept else last[node]
        for a in node.args:
            last[a] = max(last.get(a, -1), here)
    return last
