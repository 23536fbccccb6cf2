"""Loops as one operation that holds its body, in every mode.

The body is a graph of constants, states and slices, in this order; it gives the new states, and a slice of each output.
A loop has a known `length`, a `condition` on its states, or, going back over a loop with a condition, a number of steps
that is only known when it runs. In each mode the operation runs over another body: one with tangents beside the
states, one on a batch, or, for the gradient, one that keeps what the rules need and one that goes back over the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.control.bodies import Live, Pulled, batch_body, pull_body, push_body, specs_of, trace_body
from wengert.control.deferred_sums import DeferredSum, defer_sum, new_sequences
from wengert.core.array import Array
from wengert.core.definition import Definition
from wengert.core.levels import find_own, is_own, payloads, strip_level
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.symbolic import Symbol
from wengert.modes.tensor import Tensor, record_result, split_operands
from wengert.ops.elementwise.choices import where
from wengert.ops.reductions.extremes import max as max_
from wengert.ops.reductions.logical import any as any_
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import broadcast_to, moveaxis

UNKNOWN = -1
"""The length of a sequence with as many slices as a loop with a condition makes steps."""
STEPS = Spec((), np.dtype(np.int64))


class Shape(NamedTuple):
    """What a loop is: how many constants and states it has, and its number of steps.

    The other operands are sequences. `length` is None if the number of steps is not known before the loop runs: it ends
    by its condition, or, without one, the first operand is the number of steps.
    """

    constants: int
    states: int
    length: int | None
    reverse: bool = False

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Constants, states and sequences."""
        first, last = self.constants, self.constants + self.states
        return list(operands[:first]), list(operands[first:last]), list(operands[last:])

    def indices(self, steps: int) -> range:
        """The indices of the slices, in the order of the steps."""
        return range(steps - 1, -1, -1) if self.reverse else range(steps)


def run_loop(*operands: Any, body: Graph, condition: Graph | None, shape: Shape) -> tuple[Any, ...]:
    """The loop on plain arrays. One with a condition also gives the number of steps, at the end."""
    if shape.length is None and condition is None:
        count, *operands = operands  # type: ignore[assignment]  # a list
    else:
        count = shape.length
    constants, states, sequences = shape.split(operands)
    rows: dict[int, Any] = {}
    for i in shape.indices(int(count)) if condition is None else iter(lambda: len(rows), None):
        if condition is not None and not condition.run([*constants, *states])[0]:
            break
        outs = body.run([*constants, *states, *[x[i] for x in sequences]])
        states, rows[i] = outs[: shape.states], outs[shape.states :]
    outputs = [
        np.stack([rows[i][k] for i in range(len(rows))]) if rows else np.empty((0, *spec.shape), spec.dtype)
        for k, spec in enumerate(specs_of(body.outputs)[shape.states :])
    ]
    steps = () if condition is None else (np.int64(len(rows)),)
    return (*[np.asarray(s) for s in states], *outputs, *steps)


def loop_spec(*_operands: Spec, body: Graph, condition: Graph | None, shape: Shape) -> tuple[Spec, ...]:
    """The specs of the final states, of the outputs, and of the number of steps."""
    specs = specs_of(body.outputs)
    length = UNKNOWN if shape.length is None else shape.length
    outputs = [Spec((length, *spec.shape), spec.dtype) for spec in specs[shape.states :]]
    return (*specs[: shape.states], *outputs, *(() if condition is None else (STEPS,)))


def loop_in_mode(primitive: Primitive, top: Array, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The loop on values, of which `top` has the highest level."""
    if isinstance(top, Symbol):
        return top.process(primitive, top.level, operands, params)
    if isinstance(top, Dual | Tensor) and not recording.is_recording():
        return primitive.op(*[strip_level(x, top.level) for x in operands], **params)
    loop = Loop.of(operands, **params)
    if isinstance(top, Dual):
        return loop.in_forward_mode(top.level)
    if isinstance(top, Tensor):
        return loop.in_reverse_mode(top.level)
    if isinstance(top, Batched):
        return loop.in_batched_mode(top)
    return loop.in_steps()


LOOP = Primitive(
    Definition(
        name="loop",
        impl=run_loop,
        kind="general",
        inputs=("*operands",),
        takes_params=True,
        outputs=0,
        spec=loop_spec,
        in_mode=loop_in_mode,
        vjp=lambda t, operands: None,
    )
)


class Loop(NamedTuple):
    """One loop on values of some mode; `count` is the number of steps where only an operand says it."""

    operands: list[Any]
    body: Graph
    condition: Graph | None
    shape: Shape
    count: list[Any]

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
        shape = Shape(
            len(constants), len(states), self.shape.length, self.shape.reverse if reverse is None else reverse
        )
        operands = [*self.count, *constants, *states, *sequences]
        return list(LOOP.op(*operands, body=body, condition=condition, shape=shape))

    @property
    def outputs(self) -> int:
        """The number of outputs that have a slice for each step."""
        return len(self.body.outputs) - self.shape.states

    def in_steps(self) -> tuple[Any, ...]:
        """One step after the other, for modes without a rule."""
        constants, states, sequences = self.shape.split(self.operands)
        if self.condition is not None or self.shape.length is None:
            raise NotImplementedError
        rows: list[Any] = [None] * self.shape.length
        for i in self.shape.indices(self.shape.length):
            outs = self.body.run([*constants, *states, *[x[i] for x in sequences]])
            states, rows[i] = outs[: self.shape.states], outs[self.shape.states :]
        return (*states, *[stack(column) for column in zip(*rows, strict=True)])

    def extend_live(self, live: Live, live_outputs: Callable[[Live], Live]) -> Live:
        """The live operands once every state is live that becomes so in the loop."""
        first, last = self.shape.constants, self.shape.constants + self.shape.states
        while True:
            out = live_outputs(live)
            states = [a or b for a, b in zip(live[first:last], out[: self.shape.states], strict=True)]
            new = (*live[:first], *states, *live[last:])
            if new == live:
                return live
            live = new

    def wanted(self, live: Live) -> Live:
        """Which outputs of the body must be live: the states that are live before the step."""
        first, last = self.shape.constants, self.shape.constants + self.shape.states
        return (*live[first:last], *[False] * self.outputs)

    def condition_on(self, groups: Sequence[Sequence[int]], specs: Sequence[Spec]) -> Graph | None:
        """The condition as a function of other constants and states, `specs`; `groups` says where the old ones are."""
        condition = self.condition
        if condition is None:
            return None
        return trace_body(lambda symbols: condition.run([symbols[i] for group in groups for i in group]), specs)

    # Forward mode.

    def in_forward_mode(self, level: int) -> tuple[Any, ...]:
        """Tangents beside constants, states and sequences."""
        own = tuple(find_own(self.operands, Dual, level))
        live = self.extend_live(own, lambda live: push_body(self.body, live).live)
        pushed, live_out = push_body(self.body, live, self.wanted(live))
        specs = self.specs_with_tangents(live)
        body = trace_body(lambda symbols: self.reorder(pushed, live, live_out, symbols), [s for g in specs for s in g])
        values = [strip_level(x, level) for x in self.operands]
        tangents = [
            x.tangent if mine else zeros_like(x) if alive else None
            for x, mine, alive in zip(self.operands, own, live, strict=True)
        ]
        parts = self.shape.split(values), self.shape.split(tangents)
        groups = [[*v, *[t for t in d if t is not None]] for v, d in zip(*parts, strict=True)]
        first, shift = self.shape.constants, len(specs[0])
        condition = self.condition_on([range(first), range(shift, shift + self.shape.states)], [*specs[0], *specs[1]])
        outs = self.call(groups, body, condition)
        n, m = self.shape.states, self.outputs
        dn = sum(live_out[:n])
        dm = sum(live_out[n:])
        primal = [*outs[:n], *outs[n + dn : n + dn + m]]
        rest = iter([*outs[n : n + dn], *outs[n + dn + m : n + dn + m + dm]])
        found = [Dual(y, next(rest), level) if alive else y for y, alive in zip(primal, live_out, strict=True)]
        return (*found, *outs[n + dn + m + dm :])

    def specs_with_tangents(self, live: Live) -> list[list[Spec]]:
        """The specs of constants, states and slices, each group with those of its tangents behind it."""
        groups = zip(self.shape.split(specs_of(self.body.inputs)), self.shape.split(live), strict=True)
        return [[*group, *[s for s, a in zip(group, alive, strict=True) if a]] for group, alive in groups]

    def reorder(self, pushed: Graph, live: Live, live_out: Live, symbols: Sequence[Any]) -> list[Any]:
        """The pushed body with each group of operands and results followed by its tangents, as a loop has them."""
        rest = iter(symbols)
        primal, tangents = [], []
        for alive in self.shape.split(live):
            primal += [next(rest) for _ in alive]
            tangents += [next(rest) for a in alive if a]
        outs = pushed.run([*primal, *tangents])
        n, count = self.shape.states, len(self.body.outputs)
        dn = sum(live_out[:n])
        return [*outs[:n], *outs[count : count + dn], *outs[n:count], *outs[count + dn :]]

    # Reverse mode.

    def in_reverse_mode(self, level: int) -> tuple[Any, ...]:
        """A loop that keeps the residuals of each step, recorded as one operation."""
        own = tuple([is_own(x, Tensor, level) and x.node is not None for x in self.operands])
        values = [strip_level(x, level) for x in self.operands]
        if not any(own):
            return tuple([Tensor(y, level) for y in self.call(self.shape.split(values), self.body, self.condition)])
        first, last = self.shape.constants, self.shape.constants + self.shape.states
        free = tuple([not first <= i < last for i in range(len(self.operands))])
        live = self.extend_live(own, lambda live: pull_body(self.body, live, free).live)
        pulled = pull_body(self.body, live, free)
        states = [pulled.forward.inputs[i] for i in pulled.uses if first <= i < last]
        forward = Graph(pulled.forward.inputs, [*pulled.forward.outputs, *states])
        outs = self.call(self.shape.split(values), forward, self.condition)
        count = len(self.body.outputs)
        kept = len(forward.outputs) - count
        steps = outs[count + kept :]
        gradient = LoopGradient(
            self._replace(count=self.count or steps), values, pulled, live, outs[count : count + kept]
        )
        found = record_result(
            PULL, level, {"gradient": gradient}, *split_operands(self.operands, level), tuple(outs[:count])
        )
        return (*found, *steps)

    # Batches.

    def in_batched_mode(self, top: Batched) -> tuple[Any, ...]:
        """The body on a batch; sequences have the steps first and the batch second.

        A loop with a condition goes on until it is false for all elements, and counts the steps of each; an element
        that is done keeps its states. A loop back over these steps begins for each element where that ended.
        """
        n, level = len(top.value), top.level
        if self.count and is_own(self.count[0], Batched, level):
            return self.with_counted_steps().in_batched_mode(top)[1:]
        own = tuple(find_own(self.operands, Batched, level))
        first, last = self.shape.constants, self.shape.constants + self.shape.states
        mine = self.extend_live(own, lambda mine: batch_body(self.body, mine, n)[1])
        if self.condition is not None and batch_body(self.condition, mine[:last], n)[1][0]:
            *outs, _ = self.with_own_steps().run_batch(level, n, True)
            return (*outs[1:], outs[0])
        return self.run_batch(level, n, False)

    def run_batch(self, level: int, n: int, each: bool) -> tuple[Any, ...]:
        """The loop on a batch of n; with `each`, all states and the condition differ between its elements."""
        own = tuple(find_own(self.operands, Batched, level))
        first, last = self.shape.constants, self.shape.constants + self.shape.states
        mine = self.extend_live(own, lambda mine: batch_body(self.body, mine, n)[1])
        if each:
            mine = (*mine[:first], *[True] * self.shape.states, *mine[last:])
        body, batched = batch_body(self.body, mine, n, self.wanted(mine))
        condition = self.condition
        if condition is not None:
            whole, is_batched = batch_body(condition, mine[:last], n)
            condition = (
                trace_body(lambda x: [any_(whole.run(x)[0])], specs_of(whole.inputs)) if is_batched[0] else whole
            )
        constants, states, sequences = self.shape.split(payloads(self.operands, own))
        states = [
            broadcast_to(s, (n, *np.shape(s))) if m and not o else s
            for s, m, o in zip(states, mine[first:last], own[first:last], strict=True)
        ]
        sequences = [moveaxis(x, 0, 1) if m else x for x, m in zip(sequences, own[last:], strict=True)]
        outs = self.call([constants, states, sequences], body, condition)
        found = []
        for k, (y, b) in enumerate(zip(outs, batched, strict=False)):
            found.append(Batched(moveaxis(y, 0, 1) if k >= self.shape.states else y, level) if b else y)
        return (*found, *outs[len(found) :])

    def masked(
        self, goes_on: Callable[[list[Any]], Any], count: Callable[[Any, Any], Any], extra: Spec | None
    ) -> Graph:
        """The body with a counter as its first state, and `extra` as its last constant; states change where it goes on."""
        first, last = self.shape.constants, self.shape.constants + self.shape.states

        def step(x: list[Any]) -> list[Any]:
            constants, more, counter, rest = (
                x[:first],
                x[first : first + bool(extra)],
                x[first + bool(extra)],
                x[first + bool(extra) + 1 :],
            )
            active = goes_on([*constants, *more, counter, *rest])
            outs = self.body.run([*constants, *rest])
            kept = [where(active, new, old) for new, old in zip(outs, rest[: self.shape.states], strict=False)]
            return [count(counter, active), *kept, *outs[self.shape.states :]]

        specs = specs_of(self.body.inputs)
        return trace_body(step, [*specs[:first], *([extra] if extra else []), STEPS, *specs[first:]])

    def with_own_steps(self) -> Loop:
        """A loop with a condition as one whose elements count their steps, and stop one by one."""
        condition, first, last = self.condition, self.shape.constants, self.shape.constants + self.shape.states
        assert condition is not None
        body = self.masked(
            lambda x: condition.run([*x[:first], *x[first + 1 : last + 1]])[0], lambda i, active: i + active, None
        )
        specs = specs_of(condition.inputs)
        new = trace_body(
            lambda x: condition.run([*x[:first], *x[first + 1 :]]), [*specs[:first], STEPS, *specs[first:]]
        )
        operands = [*self.operands[:first], np.int64(0), *self.operands[first:]]
        return Loop(operands, body, new, self.shape._replace(states=self.shape.states + 1), self.count)

    def with_counted_steps(self) -> Loop:
        """A loop over as many steps as the longest element has, in which each takes part for its own number."""
        first, last = self.shape.constants, self.shape.constants + self.shape.states
        steps = self.count[0]
        total = max_(steps.value)
        change = -1 if self.shape.reverse else 1
        body = self.masked(lambda x: x[first + 1] < x[first], lambda i, active: i + change, STEPS)
        start = total - 1 if self.shape.reverse else np.int64(0)
        operands = [*self.operands[:first], steps, start, *self.operands[first:]]
        shape = self.shape._replace(constants=first + 1, states=self.shape.states + 1)
        return Loop(operands, body, None, shape, [total])


class LoopGradient:
    """The backward pass of one loop: a loop over its steps in the opposite order.

    `saved` has, for each step, the residuals and then the states that the rules use.
    """

    def __init__(self, loop: Loop, values: Sequence[Any], pulled: Pulled, live: Live, saved: Sequence[Any]):
        self.loop, self.values, self.pulled, self.live, self.saved = loop, values, pulled, live, saved

    def pull(self, t: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of the operands, None for those without one."""
        loop, pulled, shape = self.loop, self.pulled, self.loop.shape
        first, last = shape.constants, shape.constants + shape.states
        live = [i for i, alive in enumerate(self.live) if alive]
        summed, carried = [i for i in live if i < first], [i for i in live if first <= i < last]
        specs = specs_of(loop.body.inputs)
        of_states = [zeros_like(specs[i]) if t[i - first] is None else t[i - first] for i in carried]
        given = [k for k in range(shape.states, len(pulled.live)) if pulled.live[k] and t[k] is not None]
        at_hand = self.sequences_at_hand(t)
        deferred = self.deferred_sums(summed, at_hand) if shape.length is not None else {}
        factors = new_sequences(list(deferred.values()), at_hand)
        summed = [i for i in summed if i not in deferred]
        sums = [zeros_like(specs[i]) for i in summed]
        constants = [self.values[i] for i in pulled.uses if i < first]
        sequences = [*self.saved, *[self.values[i] for i in pulled.uses if i >= last], *[t[k] for k in given]]
        body = self.body(carried, summed, given, factors)
        outs = loop.call([constants, [*of_states, *sums], sequences], body, reverse=not shape.reverse)
        keys = [*carried, *summed, *[i for i in live if i >= last]]
        found = dict(zip(keys, outs, strict=False))
        at_hand |= dict(zip(factors, outs[len(keys) :], strict=True))
        found |= {i: total.combine(*[at_hand[f] for f in total.factors]) for i, total in deferred.items()}
        return tuple([found.get(i) for i in range(len(self.values))])

    def sequences_at_hand(self, t: Sequence[Any]) -> dict[Node, Any]:
        """The inputs of the backward part that are sequences: residuals, states, slices, cotangents of outputs."""
        pulled, shape = self.pulled, self.loop.shape
        first, last = shape.constants, shape.constants + shape.states
        inputs, states = pulled.backward.inputs, [i for i in pulled.uses if first <= i < last]
        kept = len(self.saved) - len(states)
        found: dict[Node, Any] = dict(zip(inputs[len(pulled.uses) :], self.saved[:kept], strict=False))
        of_states = dict(zip(states, self.saved[kept:], strict=True))
        for node, i in zip(inputs, pulled.uses, strict=False):
            if i >= first:
                found[node] = of_states[i] if i < last else self.values[i]
        live = [k for k, alive in enumerate(pulled.live) if alive]
        cotangents = zip(inputs[len(inputs) - len(live) :], live, strict=True)
        return found | {node: t[k] for node, k in cotangents if k >= shape.states and t[k] is not None}

    def deferred_sums(self, summed: Sequence[int], at_hand: dict[Node, Any]) -> dict[int, DeferredSum]:
        """The sums for constants that are computed after the loop."""
        live = [i for i, alive in enumerate(self.live) if alive]
        terms = dict(zip(live, self.pulled.backward.outputs, strict=True))
        given = {*at_hand, *[terms[i] for i in live if i >= self.loop.shape.constants + self.loop.shape.states]}
        found: dict[int, DeferredSum] = {}
        for i in sorted(summed, key=lambda i: -terms[i].nbytes):
            total = defer_sum(terms[i], given)
            if total is not None:
                found[i] = total
                given.update(total.factors)
        return found

    def body(self, carried: list[int], summed: list[int], given: list[int], factors: Sequence[Node]) -> Graph:
        """One step of the backward pass, for cotangents of these states, sums for constants, and outputs.

        Its last outputs are the factors of sums that are computed after the loop.
        """
        pulled, shape, body = self.pulled, self.loop.shape, self.loop.body
        first, last = shape.constants, shape.constants + shape.states
        uses = [
            [i for i in pulled.uses if i < first],
            [i for i in pulled.uses if first <= i < last],
            [i for i in pulled.uses if i >= last],
        ]
        kept = len(self.saved) - len(uses[1])
        backward = Graph(pulled.backward.inputs, [*pulled.backward.outputs, *factors])
        specs, outs = specs_of(body.inputs), specs_of(body.outputs)

        def step(symbols: list[Any]) -> list[Any]:
            rest = iter(symbols)

            def take(keys: Sequence[int]) -> dict[int, Any]:
                return {key: next(rest) for key in keys}

            values, cotangents, totals = take(uses[0]), take(carried), take(summed)
            residuals = [next(rest) for _ in range(kept)]
            values |= take(uses[1]) | take(uses[2])
            of_outputs = take(given)
            t = [
                cotangents[first + k] if k < shape.states else of_outputs.get(k, zeros_like(outs[k]))
                for k, alive in enumerate(pulled.live)
                if alive
            ]
            found = backward.run([*[values[i] for i in pulled.uses], *residuals, *t])
            results = dict(zip([i for i, alive in enumerate(self.live) if alive], found, strict=False))
            return [
                *[results[i] for i in carried],
                *[totals[i] + results[i] for i in summed],
                *[c for i, c in results.items() if i >= last],
                *found[len(results) :],
            ]

        residual_specs = specs_of(pulled.forward.outputs)[len(outs) : len(outs) + kept]
        keys = [*uses[0], *carried, *summed], [*uses[1], *uses[2]]
        inputs = [
            *[specs[i] for i in keys[0]],
            *residual_specs,
            *[specs[i] for i in keys[1]],
            *[outs[k] for k in given],
        ]
        return trace_body(step, inputs)


PULL = Primitive(
    Definition(
        name="loop_gradient",
        impl=lambda *_, gradient: None,
        kind="general",
        inputs=("*operands",),
        takes_params=True,
        outputs=0,
        vjp=lambda t, gradient: gradient.pull(t),
    )
)
"""Stands on the tape for a loop that has run."""
