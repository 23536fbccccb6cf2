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
from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.ops.shape.reshaping import _broadcast_to


def comparison_period(length: int) -> int:
    """The steps between two comparisons of the states of a loop, from its number of steps; 0 if it never compares.

    >>> comparison_period(50), comparison_period(20)
    (8, 0)
    """
    period = 1 << (max(machine.current.steps_between_state_comparisons, 1).bit_length() - 1)
    return period if length >= max(machine.current.min_steps_of_compared_states, period) else 0


def fewest_steps(length: int) -> int:
    """The steps of a loop whose states never change.

    >>> fewest_steps(50), fewest_steps(20)
    (10, 20)
    """
    period = comparison_period(length)
    return period + length % period if period else length


def write_iteration(
    operands: Sequence[Lanes], params: dict[str, Any], splat: Callable[[Lanes, int], Lanes]
) -> list[Lanes]:
    """Write a loop over the steps; returns the final states, with as many lanes as the operands."""
    body, shape = params["body"], params["shape"]
    code, lanes = operands[0].code, operands[0].type.lanes
    operands = [x.to(Type.from_dtype(a.dtype).kind) for x, a in zip(operands, body.inputs, strict=True)]
    variables = [Variable(code, x.type, x) for x in operands[shape.constants :]]
    period = comparison_period(shape.length)
    before = [Variable(code, x.type, x) for x in operands[shape.constants :]] if period else []
    number = code.variable(I64, 0)
    step, done = code.label("step"), code.label("steps.done")
    code.jump(step)
    code.begin(step)
    states = [variable.load() for variable in variables]
    for variable, new in zip(variables, body_lanes(body, [*operands[: shape.constants], *states], splat), strict=True):
        variable.store(splat(new, lanes))
    following = code.load(number, I64) + 1
    code.store(following, number)
    if period:
        with code.when((following & (period - 1)).eq(0)):
            left_out = shape.length - ((shape.length - following) & (period - 1))
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
