"""Loops and choices: sets go through a loop step by step, and come out of all branches of a choice.

In a loop of many steps, the pattern of one step is found once, and then multiplied with the sets of what each step
reads. A loop of few steps, and one that reads integers that are known, such as an index, runs step by step: then zeros
that are known cut dependences, and so do indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP, Shape
from wengert.core import machine
from wengert.core.array import Array
from wengert.core.levels import is_own, new_level
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.structure.dependence import Dependence, find_dependences
from wengert.structure.incidence import Sets, no_sets, stack_sets, unite_sets
from wengert.structure.propagation import OperationStep, propagation


@propagation(SWITCH)
def propagate_switch(step: OperationStep) -> list[Sets]:
    """What any branch depends on; only the one that is taken, where the index is known."""
    branches: Sequence[Graph] = step.params["branches"]
    index = step.numbers_of(0)
    if index is not None:
        branches = [branches[int(np.clip(index, 0, len(branches) - 1))]]
    found = [run_graph(branch, step.values[1:], step.sets[1:], column_count(step)) for branch in branches]
    return [unite_sets(sets) for sets in zip(*found, strict=True)]


@propagation(LOOP)
def propagate_loop(step: OperationStep) -> list[Sets]:
    """What the states depend on after the last step, and the outputs in each step."""
    shape: Shape = step.params["shape"]
    has_count = shape.length is None and step.params["condition"] is None
    steps = LoopSteps(step.params["body"], shape, step.values[has_count:], step.sets[has_count:], column_count(step))
    if shape.length is None:
        found = steps.until_stable()
    elif steps.reads_integers or shape.length <= machine.current.max_steps_of_exact_pattern:
        found = steps.one_by_one(shape.length)
    else:
        found = steps.by_pattern(shape.length)
    n = column_count(step)
    return [*found, *[no_sets(1, n) for _ in step.outs[len(found) :]]]


def column_count(step: OperationStep) -> int:
    """The number of indices that sets are made of."""
    return step.live[0][1].shape[1]


def run_graph(graph: Graph, values: Sequence[Any], sets: Sequence[Sets | None], n: int) -> list[Sets]:
    """The sets of the outputs of a graph, for values that have these sets."""
    level = new_level()
    args = [x if s is None or not s.nnz else Dependence(x, s, level) for x, s in zip(values, sets, strict=True)]
    return [sets_of(y, level, n) for y in graph.run(args)]


def sets_of(y: Any, level: int, n: int) -> Sets:
    """The sets of a value; none, where it does not depend on anything."""
    return y.extra if is_own(y, Dependence, level) else no_sets(Spec.of(y).size, n)


class LoopSteps(NamedTuple):
    """One loop: its body, the operands, and their sets, which have `n` columns."""

    body: Graph
    shape: Shape
    values: Sequence[Any]
    sets: Sequence[Sets | None]
    n: int

    @property
    def reads_integers(self) -> bool:
        """Whether slices or states are integers that are known."""
        return any(not isinstance(x, Array) and np.asarray(x).dtype.kind in "biu" for x in self.varying(self.values))

    def varying(self, operands: Sequence[Any]) -> Sequence[Any]:
        """The operands that are not the same in all steps."""
        return operands[self.shape.constants :]

    def one_by_one(self, length: int) -> list[Sets]:
        """All steps, each on what it reads."""
        level = new_level()
        operands = [
            x if s is None or not s.nnz else Dependence(x, s, level)
            for x, s in zip(self.values, self.sets, strict=True)
        ]
        constants, states, sequences = self.shape.split(operands)
        rows: dict[int, list[Sets]] = {}
        for i in self.shape.indices(length):
            outs = self.body.run([*constants, *states, *[x[i] for x in sequences]])
            states = outs[: self.shape.states]
            rows[i] = [sets_of(y, level, self.n) for y in outs[self.shape.states :]]
        return [*[sets_of(s, level, self.n) for s in states], *self.stack_rows(rows)]

    def stack_rows(self, rows: dict[int, list[Sets]]) -> list[Sets]:
        """The sets of the outputs, from those of their slices."""
        outputs = self.body.outputs[self.shape.states :]
        if not rows:
            return [no_sets(0, self.n) for _ in outputs]
        return [stack_sets([rows[i][k] for i in range(len(rows))]) for k in range(len(outputs))]

    def by_pattern(self, length: int) -> list[Sets]:
        """All steps, as products with the pattern of one."""
        pattern = self.pattern()
        states = self.first_states()
        rows: dict[int, list[Sets]] = {}
        for i in self.shape.indices(length):
            outs = self.apply(pattern, states, self.slices(i, length))
            states, rows[i] = outs[: self.shape.states], outs[self.shape.states :]
        return [*states, *self.stack_rows(rows)]

    def until_stable(self) -> list[Sets]:
        """As many steps as it takes until nothing is added: states, and the union of all slices of each output."""
        pattern = self.pattern()
        states = self.first_states()
        while True:
            outs = self.apply(pattern, states, self.slices(0, 1))
            new = [unite_sets([old, s]) for old, s in zip(states, outs, strict=False)]
            if sum(s.nnz for s in new) == sum(s.nnz for s in states):
                return [*states, *outs[self.shape.states :]]
            states = new

    def first_states(self) -> list[Sets]:
        """The sets of the states before the first step."""
        _, states, _ = self.shape.split([*zip(self.values, self.sets, strict=True)])
        return [no_sets(Spec.of(x).size, self.n) if s is None else s for x, s in states]

    def slices(self, i: int, length: int) -> list[Sets]:
        """The sets of slice i of each sequence."""
        _, _, sequences = self.shape.split(self.sets)
        sizes = [given.spec.size for given in self.body.inputs[len(self.values) - len(sequences) :]]
        return [
            no_sets(size, self.n) if s is None else s if length == 1 else s[i * size : (i + 1) * size]
            for s, size in zip(sequences, sizes, strict=True)
        ]

    @property
    def known(self) -> dict[int, Any]:
        """The constants that are plain numbers and do not depend on anything, by index."""
        constants = enumerate(zip(self.values[: self.shape.constants], self.sets, strict=False))
        return {i: x for i, (x, sets) in constants if sets is None and not isinstance(x, Array)}

    @property
    def smooth(self) -> list[int]:
        """The inputs of the body that sets go through."""
        known = self.known
        return [i for i, given in enumerate(self.body.inputs) if given.dtype.kind in "fc" and i not in known]

    def pattern(self) -> Sets:
        """Which elements of its smooth inputs the outputs of a step depend on, whatever their numbers."""
        inputs, known, smooth = self.body.inputs, self.known, self.smooth
        others = [i for i in range(len(inputs)) if i not in smooth and i not in known]

        def call(leaves: Sequence[Any]) -> list[Any]:
            given = known | dict(zip([*smooth, *others], leaves, strict=True))
            return self.body.run([given[i] for i in range(len(inputs))])

        return find_dependences(call, [inputs[i].spec for i in smooth], [inputs[i].spec for i in others], "global")

    def apply(self, pattern: Sets, states: Sequence[Sets], slices: Sequence[Sets]) -> list[Sets]:
        """The sets of the outputs of one step."""
        constants = [
            no_sets(Spec.of(x).size, self.n) if s is None else s
            for x, s in zip(self.values[: self.shape.constants], self.sets, strict=False)
        ]
        operands = [*constants, *states, *slices]
        found = pattern @ stack_sets([operands[i] for i in self.smooth])
        bounds = np.cumsum([0, *[y.spec.size for y in self.body.outputs]])
        return [found[first:last] for first, last in zip(bounds[:-1], bounds[1:], strict=True)]
