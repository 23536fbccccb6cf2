"""The state of a program beside its arguments: which tensors and gradients it reads and writes, and where.

`StateUse` says how, and is part of what is compiled; `StateTable` has the objects, for the native entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.entry.entry_values import States
from wengert.compiler.entry.state_calls import ABSENT, COPIES, COUNTS, OF_GRADIENT, OVERWRITES, READS, REPLACES
from wengert.compiler.program.program import Program
from wengert.compiler.schedule.memory_plan import aligned_size
from wengert.core import machine
from wengert.core.spec import Spec
from wengert.modes.guards import CHANGES
from wengert.modes.trace import Gradient


class StateUse(NamedTuple):
    """How a program uses one tensor or gradient: the numbers of its input and output, -1 if it has none.

    `is_absent` says that there must be no gradient.
    """

    target: Any
    input: int = -1
    output: int = -1
    is_absent: bool = False

    def kind(self, program: Program, has_memory: bool) -> int:
        """What the entry does with it. A program that may fail must not write over what it has not read."""
        of_gradient = isinstance(self.target, Gradient)
        if self.is_absent:
            return ABSENT
        kind = (OF_GRADIENT if of_gradient else 0) | (READS if self.input >= 0 else 0)
        if self.output < 0:
            return kind
        is_written = (self.input, self.output) in program.in_place or (self.input < 0 and self.output in program.late)
        written = OVERWRITES if is_written else COPIES if has_memory else REPLACES
        return kind | written | (0 if of_gradient else COUNTS)


def spec_of(use: StateUse, program: Program) -> Spec:
    """The shape and dtype of a tensor or gradient as the program takes it."""
    if use.input >= 0:
        return program.inputs[use.input]
    return program.outputs[use.output] if use.output >= 0 else Spec((), np.dtype(np.float64))


def memory_offsets(uses: Sequence[StateUse], outputs: Sequence[Spec]) -> list[int]:
    """Where the small ones have their part of the memory of a run, and the others none; and where the last one ends."""
    offsets, now = [0], machine.current
    for use in uses:
        size = outputs[use.output].nbytes if use.output >= 0 else 0
        end = offsets[-1] + aligned_size(size)
        is_small = 0 < size <= now.max_bytes_of_state_kept_on_stack and end <= now.max_stack_bytes_of_states
        offsets.append(end if is_small else offsets[-1])
    return offsets


class StateTable:
    """The records of a program's state in memory, after a first one with the number of changes that guards know."""

    def __init__(self, uses: Sequence[StateUse], program: Program):
        self.tensors = [use.target.tensor if isinstance(use.target, Gradient) else use.target for use in uses]
        self.nodes: list[Any] = []
        self.specs = [spec_of(use, program) for use in uses]
        self.shapes = [np.array(spec.shape, np.int64) for spec in self.specs]
        offsets = memory_offsets(uses, program.outputs)
        self.records = np.zeros((1 + len(uses), 10), np.int64)
        for i, (use, spec) in enumerate(zip(uses, self.specs, strict=True)):
            kind = use.kind(program, offsets[i + 1] > offsets[i])
            layout = id(spec.dtype), spec.ndim, self.shapes[i].ctypes.data
            self.records[1 + i] = id(self.tensors[i]), 0, kind, *layout, *use[1:3], offsets[i], spec.nbytes

    def update(self) -> None:
        """Note what is the case now, after all guards were found to hold."""
        self.nodes = [tensor.node for tensor in self.tensors]
        self.records[1:, 1] = list(map(id, self.nodes))
        self.records[0, 0] = CHANGES[0]


def states_of(uses: Sequence[StateUse], outputs: Sequence[Spec], is_taped: bool) -> States:
    """What the native entry must know of captured tensors, for a program with these outputs."""
    counts = sum(use.input >= 0 for use in uses), sum(use.output >= 0 for use in uses)
    return States(len(uses), *counts, memory_offsets(uses, outputs)[-1], is_taped)
