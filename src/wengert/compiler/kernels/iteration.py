"""A loop of elementwise steps within a kernel: its states are lanes in registers.

A step depends on states and constants alone, so states that come again lead to the same ones as before: from there on,
whole periods are left out. Points that have escaped, and iterations that have converged, take no further steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from wengert.compiler.forms.lowering import write_element
from wengert.compiler.simd.complex_lanes import Variable, constant, parts_of
from wengert.compiler.simd.lane_operations import any_lane
from wengert.compiler.simd.lanes import Lanes, select
from wengert.compiler.simd.types import I64, Type
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.ops.shape.reshaping import _broadcast_to

REGISTERS = 12
"""Vectors that the operands of a loop may take in registers; the others are for what a step computes."""
PERIOD, LONG = 8, 32
"""States are compared with those of so many steps before, after as many steps, in loops of at least LONG steps."""


def vectors_at_once(node: Operation) -> int:
    """The vectors of lanes that run through the steps at once, as each step waits for the one before it."""
    return max(min(REGISTERS // len(node.args), 4), 1)


def fewest_steps(length: int) -> int:
    """The steps of a loop whose states never change.

    >>> fewest_steps(50), fewest_steps(20)
    (10, 20)
    """
    return length if length < LONG else PERIOD + length % PERIOD


def write_iteration(
    operands: Sequence[Lanes], params: dict[str, Any], splat: Callable[[Lanes, int], Lanes]
) -> list[Lanes]:
    """Write a loop over the steps; returns the final states, with as many lanes as the operands."""
    body, shape = params["body"], params["shape"]
    code, lanes = operands[0].code, operands[0].type.lanes
    operands = [x.to(Type.from_dtype(a.dtype).kind) for x, a in zip(operands, body.inputs, strict=True)]
    variables = [Variable(code, x.type, x) for x in operands[shape.constants :]]
    before = [Variable(code, x.type, x) for x in operands[shape.constants :]] if shape.length >= LONG else []
    number = code.variable(I64, 0)
    step, done = code.label("step"), code.label("steps.done")
    code.jump(step)
    code.begin(step)
    states = [variable.load() for variable in variables]
    for variable, new in zip(variables, body_lanes(body, [*operands[: shape.constants], *states], splat), strict=True):
        variable.store(splat(new, lanes))
    following = code.load(number, I64) + 1
    code.store(following, number)
    if shape.length >= LONG:
        with code.when((following & (PERIOD - 1)).eq(0)):
            left_out = shape.length - ((shape.length - following) & (PERIOD - 1))
            code.store(select(write_is_same(variables, before), left_out, following), number)
    code.branch(code.load(number, I64) < shape.length, step, done)
    code.begin(done)
    return [variable.load() for variable in variables]


def write_is_same(variables: Sequence[Variable], before: Sequence[Variable]) -> Lanes:
    """Whether all states are those of before, bit by bit; they are kept for the next time."""
    changes = []
    for variable, kept in zip(variables, before, strict=True):
        now = variable.load()
        for new, old in zip(parts_of(now), parts_of(kept.load()), strict=True):
            changes.append(any_lane(new.bits().ne(old.bits()) if new.type.is_float else new.ne(old)))
        kept.store(now)
    return ~reduce(or_, changes)


def body_lanes(body: Graph, inputs: Sequence[Lanes], splat: Callable[[Lanes, int], Lanes]) -> list[Lanes]:
    """The outputs of a graph of elementwise operations, on lanes."""
    code, known = inputs[0].code, dict[Node, Lanes](zip(body.inputs, inputs, strict=True))
    for node in body.nodes:
        if isinstance(node, Constant):
            known[node] = constant(code, np.asarray(node.value).item(), Type.from_dtype(node.dtype))
        elif isinstance(node, Operation):
            parts = [known[a] for a in node.args]
            widest = max(x.type.lanes for x in parts)
            known[node] = (
                parts[0] if is_a(node, _broadcast_to) else write_element(node, [splat(x, widest) for x in parts])
            )
    return [known[out] for out in body.outputs]
