"""The lines of an evaluation trace: the values in order, with their labels and names."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any

from wengert.explain.recorder import Recording
from wengert.graph.ir import Input, Node, Operation


@dataclass(frozen=True, eq=False)
class TraceStep:
    """One value. `label` is that of textbooks (`v-1`, `v0`, `v1`), `name` the user's variable, if there is one.

    `round` counts how often the same instruction ran before: the iteration of a loop.
    """

    node: Node
    label: str
    name: str | None
    value: Any
    round: int = 0
    is_repeated: bool = False

    @property
    def title(self) -> str:
        """The user's name, with the iteration if there are several, or else the label."""
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
        """The user's function that computed it."""
        return self.node.source.code.co_qualname if self.node.source else None

    @property
    def code(self) -> str:
        """The source line."""
        return linecache.getline(self.filename, self.line).strip() if self.filename and self.line else ""


def steps(recording: Recording) -> list[TraceStep]:
    """The inputs, then the operations in order of execution; within a source line, in the order of textbooks."""
    graph = recording.graph
    names = graph.value_names()
    operations = sort_by_depth(graph.operations)
    counts: dict[Any, int] = {}
    for node in operations:
        if node.source is not None and node in names:
            key = node.source.code, node.source.instruction
            counts[key] = counts.get(key, 0) + 1
    shown = [
        TraceStep(node, f"v{i + 1 - len(graph.inputs)}", names.get(node), recording.values[node])
        for i, node in enumerate(graph.inputs)
    ]
    for i, node in enumerate(operations, 1):
        repeated = node.source is not None and counts.get((node.source.code, node.source.instruction), 0) > 1
        shown.append(
            TraceStep(node, f"v{i}", names.get(node), recording.values[node], recording.rounds.get(node, 0), repeated)
        )
    return shown


def sort_by_depth(operations: list[Operation]) -> list[Operation]:
    """The operations, with those of one run of a source line sorted by their depth in the expression."""
    ordered: list[Operation] = []
    group: list[Operation] = []
    current: Any = None
    for node in [*operations, None]:
        here = node and node.source and (node.source.code, node.source.line)
        if group and (node is None or here is None or here != current or is_next_round(node, group)):
            depth: dict[Node, int] = {}
            for member in group:
                depth[member] = 1 + max([depth.get(a, 0) for a in member.args], default=0)
            ordered += sorted(group, key=depth.__getitem__)
            group = []
        if node is not None:
            group.append(node)
            current = here
    return ordered


def is_next_round(node: Operation, group: list[Operation]) -> bool:
    """Whether an operation begins another iteration of a loop that stands on one line."""
    source = node.source
    return any(
        source is not None and g.source is not None and g.source.instruction == source.instruction for g in group
    )
