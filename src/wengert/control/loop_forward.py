"""Loops in forward and Taylor mode: one loop, with tangents or coefficients beside constants, states and sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.control.bodies import Lift, Live, push_body, specs_of
from wengert.control.loop import Loop
from wengert.core.levels import find_own, strip_level
from wengert.graph.graph import Graph
from wengert.graph.ir import Input
from wengert.modes.forward import Dual
from wengert.modes.taylor import Jet, Run


def run_in_mode(loop: Loop, top: Dual | Jet) -> tuple[Any, ...]:
    """The loop on values that carry tangents or Taylor coefficients."""
    lift, level, shape = Lift.of(top), top.level, loop.shape
    own = tuple(find_own(loop.operands, lift.mode, level))
    live = loop.extend_live(own, lambda live: push_body(loop.body, live, None, lift).live)
    pushed, live_out = push_body(loop.body, live, loop.wanted(live), lift)
    inputs = positions(shape.split(range(len(live))), live, lift.width)
    outputs = positions([range(shape.states), range(shape.states, len(live_out))], live_out, lift.width)
    order = [i for group in outputs for i in group]
    body = Graph([pushed.inputs[i] for group in inputs for i in group], [pushed.outputs[i] for i in order])
    parts = [
        lift.parts(x) if mine else lift.zeros(x) if alive else []
        for x, mine, alive in zip(loop.operands, own, live, strict=True)
    ]
    values = [*[strip_level(x, level) for x in loop.operands], *[t for group in parts for t in group]]
    groups = [[values[i] for i in group] for group in inputs]
    outs = loop.call(groups, body, extend_condition(loop.condition, pushed, [*inputs[0], *inputs[1]]))
    run = top.series.run if isinstance(top, Jet) else Run(0)
    found = dict(zip(order, outs, strict=False))
    carried = iter([found[i] for i in range(len(live_out), len(order))])
    results = [
        lift.wrap(found[i], [next(carried) for _ in range(lift.width)], level, run) if alive else found[i]
        for i, alive in enumerate(live_out)
    ]
    return (*results, *outs[len(order) :])


def positions(groups: Sequence[Sequence[int]], live: Live, count: int) -> list[list[int]]:
    """The positions of values, and of what they carry, in groups; a pushed body has all that is carried at its end."""
    first = iter(range(len(live), len(live) + count * sum(live), count))
    carried = {i: next(first) for i, alive in enumerate(live) if alive}
    return [
        [*group, *[k for i in group if i in carried for k in range(carried[i], carried[i] + count)]] for group in groups
    ]


def extend_condition(condition: Graph | None, pushed: Graph, order: Sequence[int]) -> Graph | None:
    """The condition as a function of constants and states with what they carry, which it does not use."""
    if condition is None:
        return None
    known, specs = condition.inputs, specs_of(pushed.inputs)
    return Graph([known[i] if i < len(known) else Input(specs[i]) for i in order], condition.outputs)
