"""What is drawn as one box in the picture of a large program: all that one line computes, or one function, in every
round of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wengert.explain.explanation import Explanation
from wengert.explain.steps import Step
from wengert.graph.ir import Node, Operation

LARGE = 120
"""How many boxes and operators a picture shows before it is grouped."""
MANY = 24
"""How many inputs stand alone."""

Grouping = bool | Literal["line", "function"] | None
Kind = Literal["line", "function", "steps", "inputs"]


@dataclass(frozen=True)
class Group:
    """Steps that are drawn as one.

    `steps` are their places in `explanation.steps`, `rounds` says how often the same instruction ran.

    `kind` is what they have in common: a line, a function, being inputs, or only that they follow one another.
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
        """Where it is in the program."""
        if self.kind == "inputs":
            return f"{len(self.steps)} inputs"
        if self.kind == "steps" or self.function is None:
            return f"steps {self.steps[0]} to {self.steps[-1]}"
        function = self.function.rpartition("<locals>.")[2]
        return (
            f"{function}(), {Path(self.filename or '').name}"
            if self.kind == "function"
            else f"line {self.line}, {function}"
        )

    @property
    def counts(self) -> str:
        """How much it stands for."""
        if self.kind == "inputs":
            return ""
        many = f"{len(self.steps):,} operations".replace(",", "\u202f")
        return f"{many}, {self.rounds} rounds" if self.rounds > 1 else many


def grouped(explanation: Explanation, groups: Grouping = None) -> list[Group]:
    """The groups of a picture, none if it is small.

    True asks for them always: by line, or by function where there are too many lines.

    A line or function that computes one value only is no group: it is drawn as it is.
    """
    steps = explanation.steps
    if groups is False or groups is None and size(explanation) <= LARGE:
        return []
    places = [i for i, step in enumerate(steps) if isinstance(step.node, Operation)]
    owners = sources(explanation)
    found: list[Group] = []
    if groups != "function":
        found = collected(steps, places, "line", lambda i: place(owners[steps[i].node], by_line=True))
    if groups == "function" or groups != "line" and drawn(places, found) > LARGE:
        found = collected(steps, places, "function", lambda i: place(owners[steps[i].node], by_line=False))
    if not isinstance(groups, str) and drawn(places, found) > LARGE:
        length = -(-len(places) // (LARGE // 2))
        turn = {i: n // length for n, i in enumerate(places)}
        found = collected(steps, places, "steps", turn.__getitem__)
    given = [i for i, step in enumerate(steps) if step.is_input]
    if len(given) > MANY:
        found.insert(0, Group("inputs", "inputs", tuple(given), 1, None, None, None, ""))
    return found


def size(explanation: Explanation) -> int:
    """How many boxes and operators a picture without groups has."""
    graph = explanation.recording.graph
    return len(graph.inputs) + len(graph.constants) + 2 * len(graph.operations)


def drawn(places: list[int], found: list[Group]) -> int:
    """How many boxes and operators there are with these groups."""
    return len(found) + 2 * (len(places) - sum([len(group.steps) for group in found]))


def sources(explanation: Explanation) -> dict[Node, Step]:
    """For each operation the step whose line of the program it belongs to: what has no line of its own belongs to what
    needs it.
    """
    owners: dict[Node, Step] = {}
    for step in reversed(explanation.steps):
        node = step.node
        if isinstance(node, Operation):
            owner = step if node.source is not None else owners.get(node, step)
            owners[node] = owner
            for a in node.args:
                owners[a] = owner if isinstance(a, Operation) else step
    return owners


def place(step: Step, by_line: bool) -> Hashable:
    return step.filename, step.function, step.line if by_line else None


def collected(steps: list[Step], places: list[int], kind: Kind, key: Callable[[int], Hashable]) -> list[Group]:
    """The groups of more than one step with the same key, in the order in which they begin."""
    members: dict[Hashable, list[int]] = {}
    for i in places:
        members.setdefault(key(i), []).append(i)
    found = []
    for n, group in enumerate([group for group in members.values() if len(group) > 1]):
        known = next((steps[i] for i in group if steps[i].line is not None), steps[group[0]])
        rounds = 1 + max([steps[i].round for i in group]) if kind == "line" else 1
        code = known.code if kind == "line" else ""
        found.append(Group(f"group{n}", kind, tuple(group), rounds, known.filename, known.function, known.line, code))
    return found
