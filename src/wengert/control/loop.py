"""Loops as one operation that holds its body.

The body is a graph of constants, states and slices, in this order; it gives the new states, and a slice of each output.
A loop has a known `length`, a `condition` on its states, or, going back over a loop with a condition, a number of steps
that is only known when it runs. In each mode the operation runs over another body: one with tangents beside the
states, one on a batch, or, for the gradient, one that keeps what the rules need and one that goes back over the steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from wengert.control.bodies import Live, check_operands, control_primitive, specs_of
from wengert.core.array import Array
from wengert.core.levels import numpy_of, strip_level
from wengert.core.primitive import Primitive, as_operand
from wengert.core.spec import UNKNOWN, Spec
from wengert.graph.graph import Graph
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.taylor import Jet
from wengert.modes.tensor import Tensor

STEPS = Spec((), np.dtype(np.int64))
"""A number of steps."""


class Shape(NamedTuple):
    """What a loop is: how many constants and states it has, and its number of steps.

    The other operands are sequences. `length` is None if the number of steps is not known before the loop runs: it ends
    by its condition, or, without one, the first operand is the number of steps. `snapshots` is the number of states
    that the gradient keeps at a time, to compute the others again from them; None if it keeps what the rules need.
    """

    constants: int
    states: int
    length: int | None
    reverse: bool = False
    snapshots: int | None = None

    @property
    def last(self) -> int:
        """The index of the first sequence among the operands."""
        return self.constants + self.states

    @property
    def has_few_snapshots(self) -> bool:
        """Whether the gradient cannot keep the state before each step."""
        return self.snapshots is not None and self.length is not None and self.snapshots < self.length

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Constants, states and sequences."""
        return list(operands[: self.constants]), list(operands[self.constants : self.last]), list(operands[self.last :])

    def indices(self, steps: int) -> range:
        """The indices of the slices, in the order of the steps."""
        return range(steps - 1, -1, -1) if self.reverse else range(steps)


def as_row(xp: Any, x: Any) -> Any:
    """A value as it is, and a number as an array of a library, so that NumPy's functions find their implementation."""
    return x if isinstance(x, Array) else xp.asarray(x)


def run_loop(*operands: Any, body: Graph, condition: Graph | None, shape: Shape) -> tuple[Any, ...]:
    """The loop on plain arrays, or on values that have numbers, step by step.

    One with a condition also gives the number of steps, at the end.
    """
    if shape.length is None and condition is None:
        count, *operands = operands  # type: ignore[assignment]  # a list
    else:
        count = shape.length
    constants, states, sequences = shape.split(operands)
    specs = specs_of(body.outputs)[shape.states :]
    columns: list[list[Any]] = [[] for _ in specs]
    done = 0
    for i in shape.indices(int(count)) if condition is None else itertools.count():
        if condition is not None and not condition.run([*constants, *states])[0]:
            break
        outs = body.run([*constants, *states, *[x[i] for x in sequences]])
        states = outs[: shape.states]
        for column, y in zip(columns, outs[shape.states :], strict=True):
            column.append(y)
        done += 1
    xp = numpy_of(*operands)
    step = -1 if shape.reverse else 1
    outputs = [
        np.stack([as_row(xp, y) for y in column[::step]]) if column else xp.empty((0, *spec.shape), spec.dtype)
        for column, spec in zip(columns, specs, strict=True)
    ]
    steps = () if condition is None else (np.int64(done),)
    return (*map(as_operand, states), *outputs, *steps)


def loop_spec(*_operands: Spec, body: Graph, condition: Graph | None, shape: Shape) -> tuple[Spec, ...]:
    """The specs of the final states, of the outputs, and of the number of steps."""
    specs = specs_of(body.outputs)
    length = UNKNOWN if shape.length is None else shape.length
    outputs = [Spec((length, *spec.shape), spec.dtype) for spec in specs[shape.states :]]
    return (*specs[: shape.states], *outputs, *(() if condition is None else (STEPS,)))


def loop_in_mode(primitive: Primitive, top: Array, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The loop on values, of which `top` has the highest level."""
    if (trace := recording.capturing_trace(top.level, operands)) is not None:
        return trace.run(primitive, operands, params)
    module = next((name for mode, name in MODES.items() if isinstance(top, mode)), None)
    loop = Loop.of(operands, **params)
    if module is None:
        constants, states, sequences = loop.shape.split([Spec.of(x) for x in loop.operands])
        check_operands([*constants, *states, *[Spec(x.shape[1:], x.dtype) for x in sequences]], loop.body)
        return top.process(primitive, top.level, operands, params)
    if not isinstance(top, Batched):  # the number of steps has no derivative
        loop = loop._replace(steps=[strip_level(n, top.level) for n in loop.steps])
        if not recording.is_recording():
            return primitive.op(*loop.steps, *[strip_level(x, top.level) for x in loop.operands], **params)
    return import_module(f"wengert.control.{module}").run_in_mode(loop, top)


MODES = {Dual: "loop_forward", Jet: "loop_forward", Tensor: "loop_reverse", Batched: "loop_batch"}
"""The modules that run a loop in each mode, which are loaded when they are needed."""

LOOP = control_primitive("loop", run_loop, loop_spec, loop_in_mode)


class Loop(NamedTuple):
    """One loop on values of some mode; `steps` is the number of steps where only an operand says it."""

    operands: list[Any]
    body: Graph
    condition: Graph | None
    shape: Shape
    steps: list[Any]

    @staticmethod
    def of(operands: Sequence[Any], body: Graph, condition: Graph | None, shape: Shape) -> Loop:
        """The loop of these operands, of which the first may be the number of steps."""
        known = condition is not None or shape.length is not None
        return Loop(list(operands[not known :]), body, condition, shape, [] if known else [operands[0]])

    def call(
        self, groups: Sequence[Sequence[Any]], body: Graph, condition: Graph | None = None, reverse: bool | None = None
    ) -> list[Any]:
        """A loop with the same steps over other constants, states and sequences, and another body."""
        constants, states, sequences = groups
        shape = self.shape._replace(
            constants=len(constants), states=len(states), reverse=self.shape.reverse if reverse is None else reverse
        )
        operands = [*self.steps, *constants, *states, *sequences]
        trace = recording.current_trace()
        if trace is not None and operands and not any(isinstance(x, Array) for x in operands):
            operands[0] = trace.symbol(operands[0])  # known numbers, but as many steps as the program has
        return list(LOOP.op(*operands, body=body, condition=condition, shape=shape))

    def extend_live(self, live: Live, live_outputs: Callable[[Live], Live]) -> Live:
        """The live operands once every state is live that becomes so in the loop."""
        first, last = self.shape.constants, self.shape.last
        while True:
            out = live_outputs(live)
            states = [a or b for a, b in zip(live[first:last], out[: self.shape.states], strict=True)]
            new = (*live[:first], *states, *live[last:])
            if new == live:
                return live
            live = new

    def wanted(self, live: Live) -> Live:
        """Which outputs of the body must be live: the states that are live before the step."""
        outputs = len(self.body.outputs) - self.shape.states
        return (*live[self.shape.constants : self.shape.last], *[False] * outputs)
