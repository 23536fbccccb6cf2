"""The lines of an evaluation trace: what is shown for each value, in which order, under which names."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any

from wengert.explain.observation import Recording
from wengert.graph.ir import Input, Node, Operation


@dataclass(frozen=True, eq=False)
class Step:
    """One value. `label` is the textbooks' (`v-1`, `v0`, `v1`), `name` the user's own, if there is one.

    `round` counts how often the same instruction ran before: the iteration of a loop. `smooth` says whether a
    derivative can flow here.
    """

    node: Node
    label: str
    name: str | None
    value: Any
    round: int = 0
    is_repeated: bool = False

    @property
    def title(self) -> str:
        """The user's name, with the iteration where there are several, or else the label."""
        if self.name is None:
            return self.label
        return f"{self.name}[{self.round}]" if self.is_repeated else self.name

    @property
    def is_input(self) -> bool:
        return isinstance(self.node, Input)

    @property
    def operation(self) -> str | None:
        return self.node.primitive.name if isinstance(self.node, Operation) else None

    @property
    def filename(self) -> str | None:
        return self.node.source.code.co_filename if self.node.source else None

    @property
    def line(self) -> int | None:
        return self.node.source.line if self.node.source else None

    @property
    def function(self) -> str | None:
        """The function of the user's in which it was computed."""
        return self.node.source.code.co_qualname if self.node.source else None

    @property
    def code(self) -> str:
        """The line of the user's program."""
        return linecache.getline(self.filename, self.line).strip() if self.filename and self.line else ""


def steps(recording: Recording) -> list[Step]:
    """The inputs, then the operations in the order in which they ran.

    Within one line of the program, as textbooks number expressions.
    """
    graph = recording.graph
    names = graph.value_names()
    operations = by_depth(graph.operations)
    counts: dict[Any, int] = {}
    for node in operations:
        if node.source is not None and node in names:
            key = node.source.code, node.source.instruction
            counts[key] = counts.get(key, 0) + 1
    shown = [
        Step(node, f"v{i + 1 - len(graph.inputs)}", names.get(node), recording.values[node])
        for i, node in enumerate(graph.inputs)
    ]
    for i, node in enumerate(operations, 1):
        repeated = node.source is not None and counts.get((node.source.code, node.source.instruction), 0) > 1
        shown.append(
            Step(node, f"v{i}", names.get(node), recording.values[node], recording.rounds.get(node, 0), repeated)
        )
    return shown


def by_depth(operations: list[Operation]) -> list[Operation]:
    """Each run of operations that one line of the program made at once, those that need nothing from the others first."""
    ordered: list[Operation] = []
    group: list[Operation] = []
    place: Any = None
    for node in [*operations, None]:
        here = node and node.source and (node.source.code, node.source.line)
        if group and (node is None or here is None or here != place or again(node, group)):
            depth: dict[Node, int] = {}
            for member in group:
                depth[member] = 1 + max([depth.get(a, 0) for a in member.args], default=0)
            ordered += sorted(group, key=depth.__getitem__)
            group = []
        if node is not None:
            group.append(node)
            place = here
    return ordered


def again(node: Operation, group: list[Operation]) -> bool:
    """Whether an operation begins another round of a loop that stands on one line."""
    source = node.source
    return any(
        source is not None and g.source is not None and g.source.instruction == source.instruction for g in group
    )
