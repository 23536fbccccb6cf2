"""The sum of a function over shards, as one operation that holds it.

The operation holds one graph, its *body*, for each kind of shard: shards of one kind have arrays of the same shapes and
dtypes. The inputs of a body are the operands of the operation, which are the same for all shards, and then the arrays
of a shard. Each of its outputs is added up over the shards. A sum is linear, so in each mode the operation runs over
other bodies: with tangents beside the operands, on a batch, or with cotangents, which are the same for all shards.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.control.bodies import (
    Lift,
    Live,
    batch_body,
    check_operands,
    control_primitive,
    gain_history,
    gradient_primitive,
    pull_body,
    push_body,
    specs_of,
    trace_body,
)
from wengert.core.array import Array
from wengert.core.axis_names import name_of_level
from wengert.core.levels import find_own, is_own, payloads, strip_level
from wengert.core.primitive import Primitive, as_operand
from wengert.core.spec import Spec
from wengert.distributed.execution import run_on_values, run_plain
from wengert.distributed.shards import RunOptions, Shards
from wengert.graph.graph import Graph
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.taylor import Jet, Run
from wengert.modes.tensor import Tensor, record_result, split_operands

Bodies = tuple[Graph, ...]


def run_sum(*operands: Any, bodies: Bodies, shards: Shards, options: RunOptions) -> tuple[Any, ...]:
    """The sums on plain arrays; on values that have numbers, shard by shard in this process."""
    run = run_on_values if any(isinstance(x, Array) for x in operands) else run_plain
    return tuple(map(as_operand, run(operands, bodies, shards, options)))


def sum_spec(*_operands: Spec, bodies: Bodies, shards: Shards, options: RunOptions) -> tuple[Spec, ...]:  # noqa: ARG001  # those of the operation
    """The specs of the sums."""
    return tuple(specs_of(bodies[0].outputs))


def sum_in_mode(primitive: Primitive, top: Array, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The sum on values, of which `top` has the highest level."""
    if (trace := recording.capturing_trace(top.level, operands)) is not None:
        return trace.run(primitive, operands, params)
    if isinstance(top, Batched):
        return batch_sum(operands, params, top)
    if not isinstance(top, Dual | Jet | Tensor):
        check_operands([Spec.of(x) for x in operands], Graph(params["bodies"][0].inputs[: len(operands)], ()))
        return top.process(primitive, top.level, operands, params)
    if isinstance(top, Tensor):
        return record_sum(operands, params, top)
    if not recording.is_recording():
        return primitive.op(*[strip_level(x, top.level) for x in operands], **params)
    return push_sum(operands, params, top)


DISTRIBUTED_SUM = control_primitive("distributed_sum", run_sum, sum_spec, sum_in_mode)


def apply_sum(operands: Sequence[Any], bodies: Sequence[Graph], params: dict[str, Any]) -> list[Any]:
    """The operation over other bodies, on the same shards."""
    return list(DISTRIBUTED_SUM.op(*operands, **params | {"bodies": tuple(bodies)}))


def unite(flags: Sequence[Live]) -> Live:
    """Which values have a derivative in some body."""
    return tuple(map(any, zip(*flags, strict=True)))


def operands_first(graph: Graph, count: int, shard: int) -> Graph:
    """A body whose first inputs are the operands: `count` of them come before the arrays of the shard, others after."""
    inputs = graph.inputs
    return Graph([*inputs[:count], *inputs[count + shard :], *inputs[count : count + shard]], graph.outputs)


# Forward and Taylor mode, and batches.


def push_sum(operands: Sequence[Any], params: dict[str, Any], top: Dual | Jet) -> tuple[Any, ...]:
    """The sum with tangents or Taylor coefficients."""
    lift, level, bodies = Lift.of(top), top.level, params["bodies"]
    own = tuple(find_own(operands, lift.mode, level))
    live = [with_shard(own, body) for body in bodies]
    wanted = unite([push_body(b, alive, None, lift).live for b, alive in zip(bodies, live, strict=True)])
    pushed = [push_body(b, alive, wanted, lift).body for b, alive in zip(bodies, live, strict=True)]
    carried = [t for x, mine in zip(operands, own, strict=True) if mine for t in lift.parts(x)]
    outs = apply_sum(
        [*[strip_level(x, level) for x in operands], *carried], order_inputs(pushed, bodies, len(operands)), params
    )
    rest, run = iter(outs[len(wanted) :]), top.series.run if isinstance(top, Jet) else Run(0)
    return tuple(
        [
            lift.wrap(y, [next(rest) for _ in range(lift.width)], level, run) if alive else y
            for y, alive in zip(outs, wanted, strict=False)
        ]
    )


def batch_sum(operands: Sequence[Any], params: dict[str, Any], top: Batched) -> tuple[Any, ...]:
    """The sum on a batch of operands."""
    level, n, name, bodies = top.level, len(top.value), name_of_level(top.level), params["bodies"]
    own = tuple(find_own(operands, Batched, level))
    mine = [with_shard(own, body) for body in bodies]
    wanted = unite([batch_body(b, flags, n, name)[1] for b, flags in zip(bodies, mine, strict=True)])
    batched = [batch_body(b, flags, n, name, wanted)[0] for b, flags in zip(bodies, mine, strict=True)]
    outs = apply_sum(payloads(operands, own), batched, params)
    return tuple([Batched(y, level) if b else y for y, b in zip(outs, wanted, strict=True)])


def with_shard(flags: Live, body: Graph) -> Live:
    """Flags of the operands, and of the arrays of a shard, which are constants."""
    return (*flags, *[False] * (len(body.inputs) - len(flags)))


def order_inputs(graphs: Sequence[Graph], bodies: Bodies, count: int) -> list[Graph]:
    """Graphs made from bodies, with what was added behind the inputs among the operands."""
    return [operands_first(g, count, len(b.inputs) - count) for g, b in zip(graphs, bodies, strict=True)]


# Reverse mode.


def record_sum(operands: Sequence[Any], params: dict[str, Any], top: Tensor) -> tuple[Any, ...]:
    """The sum, recorded as one operation."""
    level = top.level
    live = tuple([is_own(x, Tensor, level) and x.node is not None for x in operands])
    values = [strip_level(x, level) for x in operands]
    if not any(live) or not recording.is_recording():
        return tuple([Tensor(y, level) for y in DISTRIBUTED_SUM.op(*values, **params)])
    outs, gradient = run_with_gradient(values, params, live)
    found = record_result(PULL, level, {"gradient": gradient}, *split_operands(operands, level), tuple(outs))
    return tuple([y if own else y.value for y, own in zip(found, gradient.live_out, strict=True)])


def run_with_gradient(values: Sequence[Any], params: dict[str, Any], live: Live) -> tuple[list[Any], SumGradient]:
    """The sums, and their backward pass.

    If one real number has a derivative, as a loss does, the same run of the shards gives its gradient, too.
    """
    bodies: Bodies = params["bodies"]
    live_out = unite([pull_body(body, with_shard(live, body)).live for body in bodies])
    count, smooth = len(live_out), alive(specs_of(bodies[0].outputs), live_out)
    if len(smooth) != 1 or smooth[0].shape or smooth[0].dtype.kind != "f":
        return apply_sum(values, bodies, params), SumGradient(values, params, live, live_out, None)
    outs = apply_sum(values, [add_gradient(body, with_shard(live, body)) for body in bodies], params)
    return outs[:count], SumGradient(values, params, live, live_out, outs[count:])


def alive(x: Sequence[Any], live: Live) -> list[Any]:
    """The values that have a derivative."""
    return [a for a, has_derivative in zip(x, live, strict=True) if has_derivative]


@lru_cache(256)
def add_gradient(body: Graph, live: Live) -> Graph:
    """The body, with the gradient of its live output with respect to its live inputs behind the outputs."""
    pulled, count = pull_body(body, live), len(body.outputs)

    def both(x: list[Any]) -> list[Any]:
        outs = pulled.forward.run(x)
        ones = [np.ones((), spec.dtype) for spec in alive(specs_of(body.outputs), pulled.live)]
        return [*outs[:count], *pulled.backward.run([*[x[i] for i in pulled.uses], *outs[count:], *ones])]

    return trace_body(both, specs_of(body.inputs))


@lru_cache(256)
def pull_back(body: Graph, live: Live, live_out: Live, given: Live) -> Graph:
    """The cotangents of the live inputs of a body: its inputs are those of the body, and then the given cotangents."""
    pulled, count = pull_body(body, live, recompute=True), len(body.inputs)
    outputs = specs_of(body.outputs)
    behind = [spec for spec, there in zip(alive(outputs, live_out), given, strict=True) if there]

    def back(x: list[Any]) -> list[Any]:
        rest = iter(x[count:])
        known = iter([next(rest) if there else None for there in given])
        t = [next(known) if needed else None for needed in live_out]
        cotangents = [zeros_like(spec) if c is None else c for c, spec in zip(t, outputs, strict=True)]
        return pulled.backward.run([*[x[i] for i in pulled.uses], *alive(cotangents, pulled.live)])

    return trace_body(back, [*specs_of(body.inputs), *behind])


class SumGradient:
    """The backward pass of one sum: a known gradient, or a sum over the pulled-back bodies, which compute f again."""

    def __init__(
        self,
        values: Sequence[Any],
        params: dict[str, Any],
        live: Live,
        live_out: Live,
        gradient: Sequence[Any] | None,
    ):
        self.values, self.params, self.live, self.live_out, self.gradient = values, params, live, live_out, gradient

    def pull_through(self, t: Sequence[Any], operands: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of these operands; if they have a history now, the gradient gets one too."""
        if gain_history(operands, self.values):
            return run_with_gradient(operands, self.params, self.live)[1].pull(t)
        return self.pull(t)

    def pull(self, t: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of the operands, None for those without one."""
        cotangents = alive(t, self.live_out)
        if self.gradient is not None:
            found = iter([cotangents[0] * g for g in self.gradient])
        else:
            given = tuple([c is not None for c in cotangents])
            bodies: Bodies = self.params["bodies"]
            back = [pull_back(body, with_shard(self.live, body), self.live_out, given) for body in bodies]
            ordered = order_inputs(back, bodies, len(self.values))
            found = iter(apply_sum([*self.values, *[c for c in cotangents if c is not None]], ordered, self.params))
        return tuple([next(found) if has_derivative else None for has_derivative in self.live])


PULL: Primitive = gradient_primitive("distributed_sum_gradient")
"""Stands on the tape for a sum over shards that has run."""
