"""`scan`: a loop of a known number of steps, as one operation that holds its body.

The body is a graph of constants, states and slices, in this order; it gives the new states, and one slice of each
output. In each mode the operation runs over another body: one with tangents beside the states, one on a batch, or, for
the gradient, one that keeps what the rules need and one that goes back over the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.control.bodies import Live, Pulled, batch_body, pull_body, push_body, specs_of, trace_body
from wengert.core.array import Array
from wengert.core.definition import Definition
from wengert.core.levels import find_own, is_own, payloads, strip_level
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.symbolic import Symbol
from wengert.modes.tensor import Tensor
from wengert.ops.shape.reshaping import broadcast_to, moveaxis


class Shape(NamedTuple):
    """How many constants and states a loop has; the rest of its operands are sequences."""

    constants: int
    states: int

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Constants, states and sequences."""
        first, last = self.constants, self.constants + self.states
        return list(operands[:first]), list(operands[first:last]), list(operands[last:])


def run_scan(*operands: Any, body: Graph, shape: Shape, length: int, reverse: bool) -> tuple[Any, ...]:
    """The loop on plain arrays, step by step."""
    constants, states, sequences = shape.split(operands)
    specs = specs_of(body.outputs)[shape.states :]
    outputs = [np.empty((length, *spec.shape), spec.dtype) for spec in specs]
    for i in reversed(range(length)) if reverse else range(length):
        outs = body.run([*constants, *states, *[x[i] for x in sequences]])
        states = outs[: shape.states]
        for whole, y in zip(outputs, outs[shape.states :], strict=True):
            whole[i] = y
    return (*[np.asarray(s) for s in states], *outputs)


def scan_spec(*_operands: Spec, body: Graph, shape: Shape, length: int, reverse: bool) -> tuple[Spec, ...]:
    """The specs of the final states and of the outputs."""
    specs = specs_of(body.outputs)
    stacked = [Spec((length, *spec.shape), spec.dtype) for spec in specs[shape.states :]]
    return (*specs[: shape.states], *stacked)


def scan_in_mode(primitive: Primitive, top: Array, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The loop on values, of which `top` has the highest level."""
    if isinstance(top, Symbol):
        return top.process(primitive, top.level, operands, params)
    loop = Scan(operands, **params)
    if isinstance(top, Dual | Tensor) and not recording.is_recording():
        return primitive.op(*[strip_level(x, top.level) for x in operands], **params)
    if isinstance(top, Dual):
        return loop.in_forward_mode(top.level)
    if isinstance(top, Tensor):
        return loop.in_reverse_mode(top.level)
    if isinstance(top, Batched):
        return loop.in_batched_mode(top)
    return loop.in_steps()


SCAN = Primitive(
    Definition(
        name="scan",
        impl=run_scan,
        kind="general",
        inputs=("*operands",),
        takes_params=True,
        outputs=0,
        spec=scan_spec,
        in_mode=scan_in_mode,
        vjp=lambda t, operands: None,
    )
)


class Scan:
    """One loop on values of some mode."""

    def __init__(self, operands: Sequence[Any], body: Graph, shape: Shape, length: int, reverse: bool):
        self.operands, self.body, self.shape, self.length, self.reverse = operands, body, shape, length, reverse

    def call(self, constants: Sequence[Any], states: Sequence[Any], sequences: Sequence[Any], body: Graph) -> list[Any]:
        """The same loop over other operands and another body."""
        shape = Shape(len(constants), len(states))
        operands = [*constants, *states, *sequences]
        return list(SCAN.op(*operands, body=body, shape=shape, length=self.length, reverse=self.reverse))

    def in_steps(self) -> tuple[Any, ...]:
        """One step after the other, for modes without a rule."""
        constants, states, sequences = self.shape.split(self.operands)
        from wengert.ops.shape.joining import stack

        rows: list[Any] = [None] * self.length
        for i in reversed(range(self.length)) if self.reverse else range(self.length):
            outs = self.body.run([*constants, *states, *[x[i] for x in sequences]])
            states, rows[i] = outs[: self.shape.states], outs[self.shape.states :]
        return (*states, *[stack(column) for column in zip(*rows, strict=True)])

    def live_states(self, live: Live, live_out: Any) -> Live:
        """The live inputs once each state has a derivative that gets one in the loop: `live_out` says which do."""
        while True:
            out = live_out(live)
            first, last = self.shape.constants, self.shape.constants + self.shape.states
            states = [a or b for a, b in zip(live[first:last], out[: self.shape.states], strict=True)]
            new = (*live[:first], *states, *live[last:])
            if new == live:
                return live
            live = new

    def in_forward_mode(self, level: int) -> tuple[Any, ...]:
        """Tangents beside constants, states and sequences."""
        own = tuple(find_own(self.operands, Dual, level))
        live = self.live_states(own, lambda live: push_body(self.body, live).live)
        first, last = self.shape.constants, self.shape.constants + self.shape.states
        wanted = (*live[first:last], *[False] * (len(self.body.outputs) - self.shape.states))
        pushed, live_out = push_body(self.body, live, wanted)
        body = trace_body(
            lambda symbols: self.reorder(pushed, live, live_out, symbols), self.specs_with_tangents(live)
        )
        values = [strip_level(x, level) for x in self.operands]
        tangents = [
            x.tangent if mine else zeros_like(x) if alive else None
            for x, mine, alive in zip(self.operands, own, live, strict=True)
        ]
        parts = self.shape.split(values), self.shape.split(tangents)
        given = [[*v, *[t for t in d if t is not None]] for v, d in zip(*parts, strict=True)]
        outs = self.call(*given, body)
        n, m = self.shape.states, len(self.body.outputs) - self.shape.states
        dn = sum(live_out[:n])
        states, dstates, ys, dys = outs[:n], outs[n : n + dn], outs[n + dn : n + dn + m], outs[n + dn + m :]
        rest = iter([*dstates, *dys])
        return tuple(
            [Dual(y, next(rest), level) if alive else y for y, alive in zip([*states, *ys], live_out, strict=True)]
        )

    def specs_with_tangents(self, live: Live) -> list[Spec]:
        """The specs of constants, states and slices, each group with those of its tangents behind it."""
        specs = specs_of(self.body.inputs)
        groups = zip(self.shape.split(specs), self.shape.split(live), strict=True)
        return [spec for group, alive in groups for spec in (*group, *[s for s, a in zip(group, alive, strict=True) if a])]

    def reorder(self, pushed: Graph, live: Live, live_out: Live, symbols: Sequence[Any]) -> list[Any]:
        """The pushed body with operands and results in the order of a loop: each group with its tangents behind it."""
        rest = iter(symbols)
        primal, tangents = [], []
        for alive in self.shape.split(live):
            primal += [next(rest) for _ in alive]
            tangents += [next(rest) for a in alive if a]
        outs = pushed.run([*primal, *tangents])
        n, count = self.shape.states, len(self.body.outputs)
        dn = sum(live_out[:n])
        return [*outs[:n], *outs[count : count + dn], *outs[n:count], *outs[count + dn :]]

    def in_reverse_mode(self, level: int) -> tuple[Any, ...]:
        """A loop that keeps the residuals of each step, recorded as one operation."""
        own = tuple([is_own(x, Tensor, level) and x.node is not None for x in self.operands])
        values = [strip_level(x, level) for x in self.operands]
        if not any(own):
            outs = SCAN.op(*values, body=self.body, shape=self.shape, length=self.length, reverse=self.reverse)
            return tuple([Tensor(y, level) for y in outs])
        live = self.live_states(own, lambda live: pull_body(self.body, live).live)
        pulled = pull_body(self.body, live)
        first, last = self.shape.constants, self.shape.constants + self.shape.states
        states = [pulled.forward.inputs[i] for i in pulled.uses if first <= i < last]
        forward = Graph(pulled.forward.inputs, [*pulled.forward.outputs, *states])
        outs = self.call(*self.shape.split(values), forward)
        count = len(self.body.outputs)
        gradient = ScanGradient(self, values, pulled, live, outs[count:])
        return tuple(Tensor.record(PULL, level, self.operands, {"gradient": gradient}, values, tuple(outs[:count])))

    def in_batched_mode(self, top: Batched) -> tuple[Any, ...]:
        """The body on a batch; sequences have the steps first and the batch second."""
        n, level = len(top.value), top.level
        own = tuple(find_own(self.operands, Batched, level))
        mine = self.live_states(own, lambda mine: batch_body(self.body, mine, n)[1])
        first, last = self.shape.constants, self.shape.constants + self.shape.states
        wanted = (*mine[first:last], *[False] * (len(self.body.outputs) - self.shape.states))
        body, batched = batch_body(self.body, mine, n, wanted)
        values = payloads(self.operands, own)
        constants, states, sequences = self.shape.split(values)
        states = [
            broadcast_to(s, (n, *np.shape(s))) if m and not o else s
            for s, m, o in zip(states, mine[first:last], own[first:last], strict=True)
        ]
        sequences = [moveaxis(x, 0, 1) if m else x for x, m in zip(sequences, own[last:], strict=True)]
        outs = self.call(constants, states, sequences, body)
        moved = [*outs[: self.shape.states], *[moveaxis(y, 0, 1) if b else y for y, b in zip(outs[self.shape.states :], batched[self.shape.states :], strict=True)]]
        return tuple([Batched(y, level) if b else y for y, b in zip(moved, batched, strict=True)])


class ScanGradient:
    """The backward pass of one loop: a loop over its steps in the opposite order.

    `saved` has, for each step, the residuals and then the states that the rules use.
    """

    def __init__(self, loop: Scan, values: Sequence[Any], pulled: Pulled, live: Live, saved: Sequence[Any]):
        self.loop, self.values, self.pulled, self.live, self.saved = loop, values, pulled, live, saved

    def pull(self, t: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of the operands, None for those without one."""
        loop, pulled, shape = self.loop, self.pulled, self.loop.shape
        first, last = shape.constants, shape.constants + shape.states
        used = [i for i in pulled.uses if i < first], [i for i in pulled.uses if i >= last]
        live = [i for i, alive in enumerate(self.live) if alive]
        summed, carried = [i for i in live if i < first], [i for i in live if first <= i < last]
        specs = scan_spec(body=loop.body, shape=shape, length=loop.length, reverse=loop.reverse)
        given = [zeros_like(spec) if c is None else c for c, spec in zip(t, specs, strict=True)]
        of_states = [given[i - first] for i in carried]
        of_outputs = [c for c, alive in zip(given[shape.states :], pulled.live[shape.states :], strict=True) if alive]
        sums = [zeros_like(node.spec) for node in (loop.body.inputs[i] for i in summed)]
        constants = [self.values[i] for i in used[0]]
        sequences = [*self.saved, *[self.values[i] for i in used[1]], *of_outputs]
        body = self.body(used, carried, summed, [node.spec for node in loop.body.inputs], len(self.saved))
        shape_back = Shape(len(constants), len(of_states) + len(sums))
        outs = SCAN.op(
            *constants, *of_states, *sums, *sequences,
            body=body, shape=shape_back, length=loop.length, reverse=not loop.reverse,
        )  # fmt: skip
        found = dict(zip([*carried, *summed, *[i for i in live if i >= last]], outs, strict=True))
        return tuple([found.get(i) for i in range(len(self.values))])

    def body(
        self, used: tuple[list[int], list[int]], carried: list[int], summed: list[int], specs: list[Spec], saved: int
    ) -> Graph:
        """One step of the backward pass."""
        pulled, shape = self.pulled, self.loop.shape
        first, last = shape.constants, shape.constants + shape.states
        states_used = [i for i in pulled.uses if first <= i < last]
        kept = saved - len(states_used)
        outs = specs_of(self.loop.body.outputs)
        live_states = [k for k in range(shape.states) if pulled.live[k]]
        live_outputs = [k for k in range(shape.states, len(outs)) if pulled.live[k]]

        def step(symbols: list[Any]) -> list[Any]:
            rest = iter(symbols)
            take = lambda keys: {key: next(rest) for key in keys}
            values = take(used[0])
            cotangents, totals = take(carried), take(summed)
            residuals = [next(rest) for _ in range(kept)]
            values |= take(states_used) | take(used[1])
            t = [cotangents[first + k] for k in live_states] + [next(rest) for _ in live_outputs]
            found = pulled.backward.run([*[values[i] for i in pulled.uses], *residuals, *t])
            results = dict(zip([i for i, alive in enumerate(self.live) if alive], found, strict=True))
            return [
                *[results[i] for i in carried],
                *[totals[i] + results[i] for i in summed],
                *[c for i, c in results.items() if i >= last],
            ]

        residual_specs = specs_of(pulled.forward.outputs)[len(outs) : len(outs) + kept]
        inputs = [
            *[specs[i] for i in used[0]], *[specs[i] for i in (*carried, *summed)], *residual_specs,
            *[specs[i] for i in (*states_used, *used[1])], *[outs[k] for k in live_outputs],
        ]  # fmt: skip
        return trace_body(step, inputs)


PULL = Primitive(
    Definition(
        name="scan_gradient",
        impl=lambda *_, gradient: None,
        kind="general",
        inputs=("*operands",),
        takes_params=True,
        outputs=0,
        vjp=lambda t, gradient: gradient.pull(t),
    )
)
"""Stands on the tape for a loop that has run."""
