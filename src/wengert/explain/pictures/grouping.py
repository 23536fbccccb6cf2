"""Groups in the picture of a large program: one box for a source line, or a function, in all iterations of a loop."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wengert.explain.explanation import Explanation
from wengert.explain.steps import TraceStep
from wengert.graph.ir import Node, Operation

LARGE = 120
"""How many boxes and operators a picture without groups may have."""
MANY = 24
"""How many inputs are drawn one by one."""

Grouping = bool | Literal["line", "function"] | None
Kind = Literal["line", "function", "steps", "inputs"]


@dataclass(frozen=True)
class Group:
    """Steps that are drawn as one box.

    `steps` are indices of `explanation.steps`; `rounds` is how often the same instruction ran. `kind` is what the steps
    have in common: a source line, a function, that they are inputs, or only that they follow one another.
    """

    id: str
    kind: Kind
    steps: tuple[int, ...]
    rounds: int
    filename: str | None
    function: str | None
    line: int | None
    code: str

    @property
    def heading(self) -> str:
        """Its source line or function."""
        if self.kind == "inputs":
            return f"{len(self.steps)} inputs"
        if self.kind == "steps" or self.function is None:
            return f"steps {self.steps[0]} to {self.steps[-1]}"
        function = self.function.rpartition("<locals>.")[2]
        if self.kind == "function":
            return f"{function}(), {Path(self.filename or '').name}"
        return f"line {self.line}, {function}"

    @property
    def counts(self) -> str:
        """How many operations it has."""
        if self.kind == "inputs":
            return ""
        many = f"{len(self.steps):,} operations".replace(",", "\u202f")
        return f"{many}, {self.rounds} rounds" if self.rounds > 1 else many


def find_groups(explanation: Explanation, groups: Grouping = None) -> list[Group]:
    """The groups of a picture; none if it is small.

    True groups always: by line, or by function if there are too many lines. A single step is not a group.
    """
    steps = explanation.steps
    if groups is False or groups is None and full_size(explanation) <= LARGE:
        return []
    indices = [i for i, step in enumerate(steps) if isinstance(step.node, Operation)]
    owners = owning_steps(explanation)
    found: list[Group] = []
    if groups != "function":
        found = collect_groups(steps, indices, "line", lambda i: source_key(owners[steps[i].node], by_line=True))
    if groups == "function" or groups != "line" and count_boxes(indices, found) > LARGE:
        found = collect_groups(steps, indices, "function", lambda i: source_key(owners[steps[i].node], by_line=False))
    if not isinstance(groups, str) and count_boxes(indices, found) > LARGE:
        length = -(-len(indices) // (LARGE // 2))
        turn = {i: n // length for n, i in enumerate(indices)}
        found = collect_groups(steps, indices, "steps", turn.__getitem__)
    given = [i for i, step in enumerate(steps) if step.is_input]
    if len(given) > MANY:
        found.insert(0, Group("inputs", "inputs", tuple(given), 1, None, None, None, ""))
    return found


def full_size(explanation: Explanation) -> int:
    """How many boxes and operators a picture without groups has."""
    graph = explanation.recording.graph
    return len(graph.inputs) + len(graph.constants) + 2 * len(graph.operations)


def count_boxes(indices: list[int], found: list[Group]) -> int:
    """How many boxes and operators a picture with these groups has."""
    return len(found) + 2 * (len(indices) - sum([len(group.steps) for group in found]))


def owning_steps(explanation: Explanation) -> dict[Node, TraceStep]:
    """For each operation, the step whose source line it belongs to: its own, or else that of its consumer."""
    owners: dict[Node, TraceStep] = {}
    for step in reversed(explanation.steps):
        node = step.node
        if isinstance(node, Operation):
            owner = step if node.source is not None else owners.get(node, step)
            owners[node] = owner
            for a in node.args:
                owners[a] = owner if isinstance(a, Operation) else step
    return owners


def source_key(step: TraceStep, by_line: bool) -> Hashable:
    """The function of a step, or its source line."""
    return step.filename, step.function, step.line if by_line else None


def collect_groups(
    steps: list[TraceStep], indices: list[int], kind: Kind, key: Callable[[int], Hashable]
) -> list[Group]:
    """The groups of several steps with the same key, in order of their first step."""
    members: dict[Hashable, list[int]] = {}
    for i in indices:
        members.setdefault(key(i), []).append(i)
    found = []
    for n, group in enumerate([group for group in members.values() if len(group) > 1]):
        known = next((steps[i] for i in group if steps[i].line is not None), steps[group[0]])
        rounds = 1 + max([steps[i].round for i in group]) if kind == "line" else 1
        code = known.code if kind == "line" else ""
        found.append(Group(f"group{n}", kind, tuple(group), rounds, known.filename, known.function, known.line, code))
    return found
