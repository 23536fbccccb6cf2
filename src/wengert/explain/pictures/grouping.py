"""Groups in the picture of a large program: one box for a loop, a source line, or a function."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wengert.explain.explanation import Explanation
from wengert.explain.folding import LoopState, find_loops, find_states
from wengert.explain.steps import TraceStep
from wengert.graph.ir import Node, Operation

LARGE = 120
"""How many boxes and operators a picture without groups may have."""
MANY = 24
"""How many inputs are drawn one by one."""

SMALL_STEP = 40
"""The most operations in the step of a loop that is drawn as one box."""

Grouping = bool | Literal["loop", "line", "function"] | None
Kind = Literal["loop", "module", "line", "function", "steps", "inputs"]


@dataclass(frozen=True)
class Group:
    """Steps that are drawn as one box.

    `steps` are indices of `explanation.steps`; `rounds` is how often the same instruction ran. `kind` is what the steps
    have in common: a loop, a module, a source line, a function, that they are inputs, or only that they follow one
    another.
    `states` are those of a loop.
    """

    id: str
    kind: Kind
    steps: tuple[int, ...]
    rounds: int
    filename: str | None
    function: str | None
    line: int | None
    code: str
    states: tuple[LoopState, ...] = ()

    @property
    def heading(self) -> str:
        """Its source line or function."""
        if self.kind == "inputs":
            return f"{len(self.steps)} inputs"
        if self.kind == "module":
            return self.code
        if self.kind == "steps" or self.function is None:
            return f"steps {self.steps[0]} to {self.steps[-1]}"
        function = self.function.rpartition("<locals>.")[2]
        if self.kind == "loop":
            return f"loop, line {self.line}, {function}"
        if self.kind == "function":
            return f"{function}(), {Path(self.filename or '').name}"
        return f"line {self.line}, {function}"

    @property
    def counts(self) -> str:
        """How many operations it has."""
        if self.kind == "inputs":
            return ""
        if self.kind == "loop":
            each = len(self.steps) // self.rounds
            return f"{self.rounds} steps of {each} operation{'s' * (each != 1)}"
        many = f"{len(self.steps):,} operation{'s' * (len(self.steps) != 1)}".replace(",", "\u202f")
        return f"{many}, {self.rounds} rounds" if self.rounds > 1 else many


def find_groups(explanation: Explanation, groups: Grouping = None) -> list[Group]:
    """The groups of a picture; none if it is small.

    True groups always: loops of small steps, then by line, or by function if there are too many lines. A single step is
    not a group.
    """
    steps = explanation.steps
    if groups is False or groups is None and full_size(explanation) <= LARGE:
        return []
    loops = loop_groups(explanation) if groups not in ("line", "function") else []
    if not isinstance(groups, str):
        loops += module_groups(explanation, {i for group in loops for i in group.steps})
    folded = {i for group in loops for i in group.steps}
    indices = [i for i, step in enumerate(steps) if isinstance(step.node, Operation) and i not in folded]
    owners = owning_steps(explanation)
    found: list[Group] = []
    if groups not in ("function", "loop"):
        found = collect_groups(steps, indices, "line", lambda i: source_key(owners[steps[i].node], by_line=True))
    if groups == "function" or not isinstance(groups, str) and count_boxes(indices, found) > LARGE:
        found = collect_groups(steps, indices, "function", lambda i: source_key(owners[steps[i].node], by_line=False))
    found = sorted([*loops, *found], key=lambda group: group.steps[0])
    indices += folded
    if not isinstance(groups, str) and count_boxes(indices, found) > LARGE:
        length = -(-len(indices) // (LARGE // 2))
        turn = {i: n // length for n, i in enumerate(indices)}
        found = collect_groups(steps, indices, "steps", turn.__getitem__)
    given = [i for i, step in enumerate(steps) if step.is_input]
    if len(given) > MANY:
        found.insert(0, Group("inputs", "inputs", tuple(given), 1, None, None, None, ""))
    return found


def loop_groups(explanation: Explanation) -> list[Group]:
    """The loops of a trace whose steps are small, and whose source lines run nowhere else."""
    steps, found = explanation.steps, []
    loops = find_loops(steps)
    of_step = {i: n for n, loop in enumerate(loops) for i in range(loop.first, loop.end)}
    owners: dict[Hashable, set[int | None]] = {}
    for i, step in enumerate(steps):
        if step.line is not None:
            owners.setdefault(source_key(step, by_line=True), set()).add(of_step.get(i))
    shared = {of_step[i] for i in of_step if len(owners.get(source_key(steps[i], by_line=True), ())) > 1}
    for n, loop in enumerate(loops):
        if loop.period <= SMALL_STEP and n not in shared:
            members = range(loop.first, loop.end)
            known = next((steps[i] for i in members if steps[i].line is not None), steps[loop.first])
            where = known.filename, known.function, known.line, known.code
            states = tuple(find_states(explanation, loop))
            found.append(Group(f"loop{n}", "loop", tuple(members), loop.rounds, *where, states))
    return found


def module_groups(explanation: Explanation, folded: set[int]) -> list[Group]:
    """The operations of each run of a module; of inner modules, if these are not too many."""
    steps, modules = explanation.steps, explanation.recording.modules
    paths = {i: modules[step.node] for i, step in enumerate(steps) if step.node in modules and i not in folded}
    runs: list[tuple[str, list[int]]] = []
    for depth in range(max([path.count(".") + 1 for path in paths.values()], default=0), 0, -1):
        runs = module_runs({i: ".".join(path.split(".")[:depth]) for i, path in paths.items()})
        if len(runs) <= LARGE // 2:
            break
    found = []
    for n, (path, members) in enumerate(runs):
        known = steps[members[0]]
        where = known.filename, known.function, known.line
        found.append(Group(f"module{n}", "module", tuple(members), 1, *where, path))
    return found


def module_runs(paths: dict[int, str]) -> list[tuple[str, list[int]]]:
    """Steps that follow one another in the same module."""
    runs: list[tuple[str, list[int]]] = []
    last = -1
    for i, path in paths.items():
        if not runs or runs[-1][0] != path or last != i - 1:
            runs.append((path, []))
        runs[-1][1].append(i)
        last = i
    return runs


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
