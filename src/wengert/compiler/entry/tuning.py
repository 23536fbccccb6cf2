"""Decisions that are measured: with the effort "best", a few others are tried for the longest loops of a program.

Each is one list of decisions for one nest, beside those of the policy for all others, and the fastest ones stay. The
numbers of a program do not depend on them, so that only its time decides.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from wengert.compiler.nests.decisions import KINDS, Decision, find
from wengert.compiler.nests.legality import given, legal, refuse
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.policy import decide
from wengert.compiler.nests.text import show_nest
from wengert.compiler.program.program_plan import Plan, nests_of
from wengert.control.loop import LOOP
from wengert.core import machine
from wengert.core.machine.record import Machine
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.held import graphs_of


class TimedDecisions(NamedTuple):
    """Decisions for one nest that were tried, and the seconds that the program took with them."""

    nest: str
    decisions: tuple[Decision, ...]
    seconds: float

    def __str__(self) -> str:
        return f"{1e6 * self.seconds:.3g} us with {', '.join(map(str, self.decisions)) or 'no decisions'}"


class ChosenPolicy:
    """The policy of the package, with other decisions for some nests."""

    def __init__(self, chosen: dict[str, Sequence[Decision]]):
        self.chosen = chosen

    def __call__(self, nest: Nest, machine: Machine) -> Sequence[Decision]:
        found = self.chosen.get(show_nest(nest)) if self.chosen else None
        return decide(nest, machine) if found is None else found


def find_fastest(
    nests: Sequence[Nest], seconds: Callable[[ChosenPolicy], float]
) -> tuple[ChosenPolicy, list[TimedDecisions]]:
    """The fastest decisions for the nests with most work, by the seconds that a program takes; and all trials."""
    now, chosen, trials = machine.current, dict[str, Sequence[Decision]](), list[TimedDecisions]()
    best, begin = seconds(ChosenPolicy(chosen)), time.perf_counter()
    for nest in nests:
        name, usual = show_nest(nest), decide(nest, now)
        trials.append(TimedDecisions(name, tuple(usual), best))
        for decisions in list(others_than(nest, usual))[: now.trials_per_nest]:
            if time.perf_counter() - begin > now.seconds_of_trials:
                return ChosenPolicy(chosen), trials
            taken = seconds(ChosenPolicy(chosen | {name: decisions}))
            trials.append(TimedDecisions(name, tuple(decisions), taken))
            if 100 * taken < (100 - now.percent_gained_by_trial) * best:
                best, chosen = taken, chosen | {name: decisions}
    return ChosenPolicy(chosen), trials


def nests_to_try(plan: Plan) -> Sequence[Nest]:
    """The nests with most work of a program that may be run on any numbers: its loops have known lengths."""
    now, graph = machine.current, plan.schedule.graph
    if sum(node.nbytes for node in graph.inputs) > now.max_bytes_of_tried_program or has_unknown_lengths(graph):
        return []
    found = [nest for nest in nests_of(plan) if nest.work >= now.min_operations_of_tried_nest]
    return sorted(found, key=lambda nest: -nest.work)[: now.nests_tried]


def has_unknown_lengths(graph: Graph) -> bool:
    """Whether the steps of a loop depend on numbers."""
    loops = [node for node in graph.operations if node.primitive is LOOP]
    if any(node.params["shape"].length is None for node in loops):
        return True
    return any(has_unknown_lengths(part.graph) for node in graph.operations for part in graphs_of(node))


def others_than(nest: Nest, usual: Sequence[Decision]) -> Iterator[list[Decision]]:
    """Lists of decisions that differ from the usual ones in one kind, as far as the others are still possible."""
    known = {frozenset(usual)}
    lanes, fixed = find(usual, "lanes"), given(nest)
    beside = [d for d in usual if d.kind in ("rows", "lanes")]
    others = [d for d in legal(nest, beside) if d.kind not in ("threads", "ranges")]
    others += [d for d in legal(nest, beside[:-1]) if lanes is not None and d.kind == "lanes"]
    changed = [[d, *[other for other in usual if other.kind != d.kind]] for d in others]
    dropped = [[d for d in usual if d is not left_out] for left_out in usual if left_out.kind not in ("rows", "lanes")]
    for candidate in [*dropped, *changed]:
        found = list(fixed)
        for d in sorted(candidate, key=lambda d: KINDS.index(d.kind)):
            if d not in found and refuse(nest, d, found) is None:
                found.append(d)
        if frozenset(found) not in known:
            known.add(frozenset(found))
            yield found


def draw_input(spec: Spec, rng: np.random.Generator) -> np.ndarray:
    """An array for an input: numbers around one, and zeros for integers, which are valid indices."""
    if spec.dtype.kind not in "fc":
        return np.zeros(spec.shape, spec.dtype)
    return rng.uniform(0.5, 1.5, spec.shape).astype(spec.dtype)


def measure(run: Callable[[], int]) -> float:
    """The seconds of one run, the shortest of several; infinite if it fails."""
    if run():
        return math.inf
    begin, shortest = time.perf_counter(), math.inf
    while time.perf_counter() - begin < 1e-3 * machine.current.milliseconds_per_trial:
        start = time.perf_counter()
        run()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest
