"""Loops in reverse mode: one loop forward that keeps what the rules need, and one loop back.

The cotangents of constants are carried from step to step like those of states, so that contributions are added in the
same order as on a tape of all steps. With a limited number of snapshots, the loop forward keeps nothing, and the loop
back computes the state before each step again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from wengert.control.bodies import Live, Pulled, gain_history, gradient_primitive, pull_body, specs_of, trace_body
from wengert.control.loop import Loop
from wengert.control.snapshots import Snapshots
from wengert.core import machine
from wengert.core.levels import is_own, strip_level
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.modes.forward import zeros_like
from wengert.modes.tensor import Tensor, record_result, split_operands


class Passes(NamedTuple):
    """The body of the loop forward, with residuals and used states behind its outputs; and both parts of the body."""

    forward: Graph
    pulled: Pulled


@lru_cache(256)
def split_body(body: Graph, live: Live, first: int, last: int, recompute: bool) -> Passes:
    """Both passes of a body, whose states are its inputs from `first` to `last`."""
    constants = [node for node, alive in zip(body.inputs[:first], live, strict=False) if alive]
    free = tuple([not first <= i < last for i in range(len(body.inputs))])
    pulled = pull_body(Graph(body.inputs, [*body.outputs, *constants]), live, free, recompute)
    outputs, n = pulled.forward.outputs, len(body.outputs)
    states = [pulled.forward.inputs[i] for i in pulled.uses if first <= i < last]
    forward = Graph(pulled.forward.inputs, [*outputs[:n], *outputs[n + len(constants) :], *states])
    return Passes(forward, pulled)


machine.on_change(split_body.cache_clear)


def passes_of(loop: Loop, live: Live) -> Passes:
    """Both passes of the body of a loop."""
    shape = loop.shape
    return split_body(loop.body, live, shape.constants, shape.last, shape.snapshots is not None)


def run_in_mode(loop: Loop, top: Tensor) -> tuple[Any, ...]:
    """A loop that keeps the residuals of each step, recorded as one operation."""
    level, shape = top.level, loop.shape
    own = tuple([is_own(x, Tensor, level) and x.node is not None for x in loop.operands])
    values = [strip_level(x, level) for x in loop.operands]
    if not any(own):
        return tuple([Tensor(y, level) for y in loop.call(shape.split(values), loop.body, loop.condition)])
    live = loop.extend_live(own, lambda live: passes_of(loop, live).pulled.live)
    outs, gradient = run_forward(loop._replace(operands=values), live)
    count, operands = len(loop.body.outputs), split_operands(loop.operands, level)
    found = record_result(PULL, level, {"gradient": gradient}, *operands, tuple(outs[:count]))
    states = live[shape.constants : shape.last]  # which are the results if there is no step
    alive = [a or (k < len(states) and states[k]) for k, a in enumerate(gradient.pulled.live)]
    return (*[y if a else y.value for y, a in zip(found, alive, strict=False)], *outs[count:])


def run_forward(loop: Loop, live: Live) -> tuple[list[Any], LoopGradient]:
    """The results of a loop, and its backward pass, with what that needs."""
    shape, passes = loop.shape, passes_of(loop, live)
    body = loop.body if shape.has_few_snapshots else passes.forward
    outs = loop.call(shape.split(loop.operands), body, loop.condition)
    count, total = len(loop.body.outputs), len(body.outputs)
    gradient = LoopGradient(loop._replace(steps=loop.steps or outs[total:]), passes.pulled, live, outs[count:total])
    return [*outs[:count], *outs[total:]], gradient


class LoopGradient:
    """The backward pass of one loop: a loop over its steps in the opposite order.

    `saved` has, for each step, the residuals and then the states that the rules use. Constants and states with a
    cotangent are the states of this loop.
    """

    def __init__(self, loop: Loop, pulled: Pulled, live: Live, saved: Sequence[Any]):
        self.loop, self.pulled, self.flags, self.saved = loop, pulled, live, saved
        shape = loop.shape
        self.live = [i for i, alive in enumerate(live) if alive]
        self.carried = [i for i in self.live if i < shape.last]
        self.uses = shape.split([i in pulled.uses for i in range(len(live))])

    def pull_through(self, t: Sequence[Any], operands: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of these operands; if they have a history now, what the rules need gets one too."""
        if not gain_history(operands, self.loop.operands):
            return self.pull(t)
        steps = [] if self.loop.condition is not None else self.loop.steps
        return run_forward(self.loop._replace(operands=list(operands), steps=steps), self.flags)[1].pull(t)

    def pull(self, t: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of the operands, None for those without one."""
        loop, pulled, shape = self.loop, self.pulled, self.loop.shape
        first, last = shape.constants, shape.last
        given = [k for k in range(shape.states, len(loop.body.outputs)) if pulled.live[k] and t[k] is not None]
        operands = loop.operands
        specs = specs_of(loop.body.inputs)
        cotangents = [
            zeros_like(specs[i], *operands) if i < first or t[i - first] is None else t[i - first] for i in self.carried
        ]
        sequences = [*[operands[i] for i in pulled.uses if i >= last], *[t[k] for k in given]]
        if shape.has_few_snapshots:
            snapshots = Snapshots(loop)
            groups = [snapshots.constants, [*snapshots.states, *cotangents], sequences]
        else:
            snapshots = None
            groups = [[operands[i] for i in pulled.uses if i < first], cotangents, [*self.saved, *sequences]]
        inputs = [Spec.of(x) for x in (*groups[0], *groups[1])] + [Spec(x.shape[1:], x.dtype) for x in groups[2]]
        body = trace_body(lambda symbols: self.step(symbols, given, snapshots), inputs)
        outs = loop.call(groups, body, reverse=not shape.reverse)
        first_found = len(groups[1]) - len(cotangents)
        found = dict(zip([*self.carried, *[i for i in self.live if i >= last]], outs[first_found:], strict=True))
        return tuple([found.get(i) for i in range(len(operands))])

    def step(self, symbols: list[Any], given: list[int], snapshots: Snapshots | None) -> list[Any]:
        """One step of the backward pass, given cotangents of these outputs."""
        pulled, shape, rest = self.pulled, self.loop.shape, iter(symbols)
        first, last = shape.constants, shape.last

        def take(keys: Sequence[int]) -> dict[int, Any]:
            return {key: next(rest) for key in keys}

        new_states: list[Any] = []
        if snapshots is None:
            values = take([i for i in pulled.uses if i < first])
            cotangents = take(self.carried)
            residuals = [next(rest) for _ in range(len(self.saved) - sum(self.uses[1]))]
            values |= take([i for i in pulled.uses if first <= i < last])
        else:
            new_states, values = snapshots.restore(rest)
            cotangents, residuals = take(self.carried), []
        values |= take([i for i in pulled.uses if i >= last])
        of_outputs = take(given)
        outs = specs_of(self.loop.body.outputs)
        t = [
            cotangents[first + k] if k < shape.states else of_outputs.get(k, zeros_like(outs[k]))
            for k, alive in enumerate(pulled.live[: len(outs)])
            if alive
        ]
        t += [cotangents[i] for i in self.carried if i < first]
        found = pulled.backward.run([*[values[i] for i in pulled.uses], *residuals, *t])
        return [*new_states, *found]


PULL = gradient_primitive("loop_gradient")
"""Stands on the tape for a loop that has run."""
