"""Reports on compiled functions."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from wengert.compiler.entry.build import Build
from wengert.compiler.nests.decisions import Policy
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.policy import Comparison, choose_all, deciding
from wengert.compiler.nests.text import show_cost, show_nest
from wengert.compiler.program.prepare import prepare
from wengert.compiler.program.program_plan import costs_of_nests, make_plan
from wengert.compiler.program.step_costs import StepCost, program_costs
from wengert.core import machine, parallel
from wengert.graph.graph import Graph
from wengert.modes.trace import Unrolled


class Report:
    """Kernels, fallbacks, memory, compile time and LLVM text of a compiled function; prints as a summary."""

    def __init__(
        self,
        name: str,
        build: Build,
        is_warm: bool,
        graph: Graph,
        updates: Sequence[tuple[int, int]],
        rolls: bool,
        unrolled: Sequence[Unrolled],
        decide: Policy | None = None,
    ):
        self.unrolled = list(unrolled)
        self.name, self.is_warm = name, is_warm
        self._graph, self._updates, self._rolls, self._decide = graph, updates, rolls, decide
        program = build.program
        self.steps = list(program.summary)
        everywhere = [step.strip() for step in program.summary]
        self.kernels = [step for step in everywhere if "kernel." in step.split(":")[0]]
        self.routines = [step for step in everywhere if is_routine(step)]
        self.fallbacks = [step.split()[1] for step in everywhere if step.startswith("NumPy:")]
        self.arena_bytes, self.code_bytes = program.arena, sum(map(len, build.code))
        self.constant_bytes = sum(np.asarray(c).nbytes for c in program.constants)
        self.seconds, self.trials = build.seconds, list(build.trials)
        self.operations_traced, self.operations = build.operations
        self._text = build.text

    @property
    def llvm(self) -> str:
        """The LLVM text of the program, before optimisation."""
        return zlib.decompress(self._text).decode()

    @cached_property
    def costs(self) -> list[StepCost]:
        """What each step must read, write and compute at the least, by a second plan of the same program."""
        return program_costs(self._graph, self._updates, self._rolls)

    @cached_property
    def nests(self) -> list[str]:
        """The loops of each kernel with their decisions, and what they compute, by a second plan of the same program.

        The last line has the time that they are expected to take, and the next best decision where it matters most.
        Those of the bodies of loops and choices are not among them.
        """
        with deciding(self._decide):
            plan = make_plan(prepare(self._graph, self._rolls), tuple(self._updates), "")
            costs = costs_of_nests(plan, parallel.num_threads())
            return [f"{show_nest(nest, nest.decisions)}\n{show_cost(cost, choices_of(nest))}" for nest, cost in costs]

    @cached_property
    def predicted_seconds(self) -> float | None:
        """The seconds that a call is expected to take, without those of Python; None if that depends on numbers."""
        runs = [cost.runs for cost in self.costs]
        if None in runs:
            return None
        return sum([cost.seconds * (cost.runs or 0) for cost in self.costs])

    def __str__(self) -> str:
        origin = "loaded from the disk cache, " if self.is_warm else ""
        lines = [
            f"{self.name}: {self.operations_traced} operations traced, {self.operations} after the passes",
            f"  {len(self.kernels)} kernels, {len(self.routines)} routines, {len(self.fallbacks)} operations by NumPy",
            f"  memory: {self.arena_bytes} bytes of intermediate results, {self.constant_bytes} of constants, "
            f"{self.code_bytes} of code",
            f"  {origin}compiled in {1e3 * self.seconds:.1f} ms",
            *[f"  {loop}" for loop in self.unrolled],
        ]
        return "\n".join(lines + [f"    {step}" for step in self.steps])

    __repr__ = __str__


def choices_of(nest: LoopPlan) -> list[Comparison]:
    """What the policy chose for a nest; nothing if another one decided."""
    choices = choose_all(Nest(nest.kernel, nest.schedule), machine.current)
    return choices if list(choices[-1].taken.decisions) == list(nest.decisions) else []


def is_routine(step: str) -> bool:
    """Whether a line is that of a routine: not of a kernel, a loop or a choice, or an operation of NumPy."""
    name, what = step.split(":", 1)
    return not ("kernel." in name or name in ("NumPy", "switch") or what.startswith(" loop of"))
