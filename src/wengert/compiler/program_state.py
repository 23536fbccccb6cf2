"""The state of a program beside its arguments: which tensors and gradients it reads and writes, and where.

`StateUse` says how, and is part of what is compiled; `StateTable` has the objects, for the native entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.program import Program
from wengert.compiler.state_calls import ABSENT, COUNTS, OF_GRADIENT, OVERWRITES, READS, REPLACES
from wengert.core.spec import Spec
from wengert.modes.guards import CHANGES
from wengert.modes.symbolic import Gradient


class StateUse(NamedTuple):
    """How a program uses one tensor or gradient: the numbers of its input and output, -1 if it has none.

    `is_absent` says that there must be no gradient.
    """

    target: Any
    input: int = -1
    output: int = -1
    is_absent: bool = False

    def kind(self, program: Program) -> int:
        """What the entry does with it. A program that may fail must not write over what it has not read."""
        of_gradient = isinstance(self.target, Gradient)
        if self.is_absent:
            return ABSENT
        kind = (OF_GRADIENT if of_gradient else 0) | (READS if self.input >= 0 else 0)
        if self.output < 0:
            return kind
        is_written = (self.input, self.output) in program.in_place or (self.input < 0 and not program.may_fail)
        return kind | (OVERWRITES if is_written else REPLACES) | (0 if of_gradient else COUNTS)


def spec_of(use: StateUse, program: Program) -> Spec:
    """The shape and dtype of a tensor or gradient as the program takes it."""
    if use.input >= 0:
        return program.inputs[use.input]
    return program.outputs[use.output] if use.output >= 0 else Spec((), np.dtype(np.float64))


class StateTable:
    """The records of a program's state in memory, after a first one with the number of changes that guards know."""

    def __init__(self, uses: Sequence[StateUse], program: Program):
        self.tensors = [use.target.tensor if isinstance(use.target, Gradient) else use.target for use in uses]
        self.nodes: list[Any] = []
        self.records = np.zeros((1 + len(uses), 8), np.int64)
        self.specs = [spec_of(use, program) for use in uses]
        self.shapes = [np.array(spec.shape, np.int64) for spec in self.specs]
        for record, use, tensor, spec, shape in zip(
            self.records[1:], uses, self.tensors, self.specs, self.shapes, strict=True
        ):
            kind = use.kind(program)
            record[:] = id(tensor), 0, kind, id(spec.dtype), spec.ndim, shape.ctypes.data, use.input, use.output

    def update(self) -> None:
        """Note what is the case now, after all guards were found to hold."""
        self.nodes = [tensor.node for tensor in self.tensors]
        self.records[1:, 1] = list(map(id, self.nodes))
        self.records[0, 0] = CHANGES[0]
