"""Loops on batches: the body on a batch.

A loop with a condition goes on until it is false for all elements, and counts the steps of each; an element that is
done keeps its states. A loop back over these steps begins for each element where that ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.control.bodies import batch_body, refuse_collectives, specs_of, trace_body
from wengert.control.loop import STEPS, Loop
from wengert.core.axis_names import name_of_level
from wengert.core.levels import find_own, is_own, numpy_of, payloads
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Input
from wengert.modes.batch import Batched
from wengert.ops.elementwise.choices import where
from wengert.ops.reductions.extremes import max as max_
from wengert.ops.reductions.logical import any as any_
from wengert.ops.shape.reshaping import broadcast_to, moveaxis


def run_in_mode(loop: Loop, top: Batched) -> tuple[Any, ...]:
    """The loop on a batch."""
    n, level, name = len(top.value), top.level, name_of_level(top.level)
    if loop.steps and is_own(loop.steps[0], Batched, level):
        refuse_collectives(name, loop.body)
        return run_in_mode(with_counted_steps(loop), top)[1:]
    own = tuple(find_own(loop.operands, Batched, level))
    mine = loop.extend_live(own, lambda mine: batch_body(loop.body, mine, n, name)[1])
    if loop.condition is not None and batch_body(loop.condition, mine[: loop.shape.last], n, name)[1][0]:
        refuse_collectives(name, loop.body, loop.condition)
        *outs, _ = run_batch(with_own_steps(loop), level, n, True)
        return (*outs[1:], outs[0])
    return run_batch(loop, level, n, False)


def run_batch(loop: Loop, level: int, n: int, each: bool) -> tuple[Any, ...]:
    """The loop on a batch of n; with `each`, all states and the condition differ between its elements.

    Sequences have the steps first and the batch second.
    """
    shape, name = loop.shape, name_of_level(level)
    own = tuple(find_own(loop.operands, Batched, level))
    mine = loop.extend_live(own, lambda mine: batch_body(loop.body, mine, n, name)[1])
    if each:
        mine = (*mine[: shape.constants], *[True] * shape.states, *mine[shape.last :])
    body, batched = batch_body(loop.body, mine, n, name, loop.wanted(mine))
    condition = loop.condition
    if condition is not None:
        whole, is_batched = batch_body(condition, mine[: shape.last], n, name)
        condition = trace_body(lambda x: [any_(whole.run(x)[0])], specs_of(whole.inputs)) if is_batched[0] else whole
    constants, states, sequences = shape.split(payloads(loop.operands, own))
    xp = numpy_of(*loop.operands)
    states = [
        broadcast_to(xp.asarray(s) if isinstance(s, np.generic) else s, (n, *np.shape(s))) if m and not o else s
        for s, m, o in zip(states, *[shape.split(flags)[1] for flags in (mine, own)], strict=True)
    ]
    sequences = [moveaxis(x, 0, 1) if m else x for x, m in zip(sequences, own[shape.last :], strict=True)]
    outs = loop.call([constants, states, sequences], body, condition)
    found = []
    for k, (y, b) in enumerate(zip(outs, batched, strict=False)):
        found.append(Batched(moveaxis(y, 0, 1) if k >= shape.states else y, level) if b else y)
    return (*found, *outs[len(found) :])


def with_mask(
    loop: Loop, goes_on: Callable[[list[Any]], Any], count: Callable[[Any, Any], Any], extra: list[Spec]
) -> Graph:
    """The body with `extra` as its last constants and a counter as its first state; states change where it goes on."""
    first = loop.shape.constants
    counter = first + len(extra)

    def step(x: list[Any]) -> list[Any]:
        active, rest = goes_on(x), x[counter + 1 :]
        outs = loop.body.run([*x[:first], *rest])
        kept = [where(active, new, old) for new, old in zip(outs[: loop.shape.states], rest, strict=False)]
        return [count(x[counter], active), *kept, *outs[loop.shape.states :]]

    specs = specs_of(loop.body.inputs)
    return trace_body(step, [*specs[:first], *extra, STEPS, *specs[first:]])


def with_own_steps(loop: Loop) -> Loop:
    """A loop with a condition as one whose elements count their steps, and stop one by one."""
    condition, first, shape = loop.condition, loop.shape.constants, loop.shape
    assert condition is not None
    goes_on = lambda x: condition.run([*x[:first], *x[first + 1 : shape.last + 1]])[0]
    body = with_mask(loop, goes_on, lambda i, active: i + active, [])
    new = Graph([*condition.inputs[:first], Input(STEPS), *condition.inputs[first:]], condition.outputs)
    operands = [*loop.operands[:first], np.int64(0), *loop.operands[first:]]
    return Loop(operands, body, new, shape._replace(states=shape.states + 1), loop.steps)


def with_counted_steps(loop: Loop) -> Loop:
    """A loop over as many steps as the longest element has, in which each takes part for its own number."""
    first, shape, steps = loop.shape.constants, loop.shape, loop.steps[0]
    total = max_(steps.value)
    change = -1 if shape.reverse else 1
    body = with_mask(loop, lambda x: x[first + 1] < x[first], lambda i, active: i + change, [STEPS])
    start = total - 1 if shape.reverse else np.int64(0)
    operands = [*loop.operands[:first], steps, start, *loop.operands[first:]]
    return Loop(operands, body, None, shape._replace(constants=first + 1, states=shape.states + 1), [total])
