"""`cond` and `switch`: a choice between functions, as one operation that holds them all and runs one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control.bodies import (
    Closed,
    Lift,
    Live,
    Pulled,
    batch_body,
    check_operands,
    close_function,
    control_primitive,
    gain_history,
    gradient_primitive,
    pull_body,
    push_body,
    refuse_collectives,
    share_captured,
    specs_of,
    trace_body,
    weak_type,
)
from wengert.control.iteration import is_batched, is_in_trace
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.axis_names import name_of_level
from wengert.core.errors import user_error
from wengert.core.levels import find_own, is_own, payloads, strip_level
from wengert.core.primitive import Primitive, as_operand
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.taylor import Jet, Run
from wengert.modes.tensor import Tensor, record_result, split_operands
from wengert.ops.elementwise.choices import clip, where
from wengert.ops.elementwise.predicates import equal

__all__ = ["cond", "switch"]

Branches = tuple[Graph, ...]


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """`true_fun(*operands)` if `pred` is true, else `false_fun(*operands)`; only one of them runs.

    >>> cond(True, lambda x: x + 1.0, lambda x: x - 1.0, 2.0)
    3.0
    """
    pred = as_operand(pred)
    if pred.shape != ():
        raise user_error(
            TypeError,
            f"The predicate of cond has shape {pred.shape}",
            "Pass one boolean; wg.where chooses elementwise.",
        )
    return choose(pred.astype(int), (false_fun, true_fun), operands, "cond")


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`; an index out of range is that of the first or last branch.

    >>> switch(7, [lambda x: -x, lambda x: x], 2.0)
    2.0
    """
    index = as_operand(index)
    if not branches:
        raise user_error(ValueError, "switch needs at least one branch")
    if index.shape != () or index.dtype.kind not in "iub":
        raise user_error(
            TypeError, f"The index of switch is a {index.dtype} of shape {index.shape}", "Pass an integer."
        )
    return choose(clip(index, 0, len(branches) - 1), tuple(branches), operands, "switch")


def choose(index: Any, functions: Sequence[Callable[..., Any]], operands: tuple[Any, ...], what: str) -> Any:
    """The result of one of the functions."""
    functions = [recording.as_read(f) for f in functions]
    leaves, structure = tree.flatten(operands)
    if not is_in_trace([index, *leaves]) and not is_batched(index):
        return functions[int(index)](*operands)
    weak = [weak_type(x) for x in leaves]
    leaves = [as_operand(x) for x in leaves]
    results: list[tree.Structure] = []

    def flat(function: Callable[..., Any]) -> Callable[[list[Any]], list[Any]]:
        def run(symbols: list[Any]) -> list[Any]:
            outs, result = tree.flatten(recording.as_read(function)(*tree.unflatten(structure, symbols)))
            results.append(result)
            return [as_operand(y) for y in outs]

        return run

    specs = [Spec.of(x) for x in leaves]
    arguments = tree.structure((operands, {}))
    closed = [close_function(flat(f), specs, what, tree.leaf_names(f, arguments), weak) for f in functions]
    check_branches(results, [body for body, _ in closed], what)
    return tree.unflatten(results[0], run_closed(index, leaves, closed))


def run_closed(index: Any, operands: Sequence[Any], closed: Sequence[Closed]) -> list[Any]:
    """One of several closed functions, whose captured values become operands of all."""
    captured, bodies = share_captured(closed)
    return list(SWITCH.op(index, *operands, *captured, branches=tuple(bodies)))


def check_branches(results: Sequence[tree.Structure], bodies: Sequence[Graph], what: str) -> None:
    """Raise if branches return different structures, shapes or dtypes."""
    for i, (result, body) in enumerate(zip(results, bodies, strict=True)):
        if result != results[0]:
            raise user_error(TypeError, f"Branch {i} of {what} returns {result!r}, the first one {results[0]!r}")
        if specs_of(body.outputs) != specs_of(bodies[0].outputs):
            raise user_error(
                TypeError,
                f"Branch {i} of {what} returns {specs_of(body.outputs)}, the first one {specs_of(bodies[0].outputs)}",
                "Shapes and dtypes must be the same.",
            )


def run_switch(index: Any, *operands: Any, branches: Branches) -> tuple[Any, ...]:
    """The branch on plain arrays, or on values that have numbers."""
    return tuple(map(as_operand, branches[int(np.clip(index, 0, len(branches) - 1))].run(operands)))


def switch_spec(*_operands: Spec, branches: Branches) -> tuple[Spec, ...]:
    """The specs of the results."""
    return tuple(specs_of(branches[0].outputs))


def switch_in_mode(primitive: Primitive, top: Array, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The choice on values, of which `top` has the highest level."""
    if (trace := recording.capturing_trace(top.level, args)) is not None:
        return trace.run(primitive, args, params)
    index, *operands = args
    branches: Branches = params["branches"]
    if not isinstance(top, Dual | Jet | Tensor | Batched):
        check_operands([Spec.of(x) for x in operands], branches[0])
        return top.process(primitive, top.level, args, params)
    index, level = strip_level(index, top.level) if not isinstance(top, Batched) else index, top.level
    values = [strip_level(x, level) for x in operands]
    if isinstance(top, Batched):
        return batch_branches(index, operands, branches, top)
    if not recording.is_recording():
        return primitive.op(index, *values, **params)
    if isinstance(top, Tensor):
        return record_branches(index, operands, values, branches, level)
    return push_branches(index, operands, values, branches, top)


SWITCH = control_primitive("switch", run_switch, switch_spec, switch_in_mode, ("index", "*operands"))


def push_branches(index: Any, operands: Sequence[Any], values: list[Any], branches: Branches, top: Dual | Jet) -> Any:
    """The branches with tangents or Taylor coefficients."""
    lift, level = Lift.of(top), top.level
    live = tuple(find_own(operands, lift.mode, level))
    found = [push_body(branch, live, None, lift).live for branch in branches]
    wanted = tuple(map(any, zip(*found, strict=True)))
    bodies = tuple([push_body(branch, live, wanted, lift).body for branch in branches])
    parts = [t for x, alive in zip(operands, live, strict=True) if alive for t in lift.parts(x)]
    outs = SWITCH.op(index, *values, *parts, branches=bodies)
    rest, run = iter(outs[len(wanted) :]), top.series.run if isinstance(top, Jet) else Run(0)
    return tuple(
        [
            lift.wrap(y, [next(rest) for _ in range(lift.width)], level, run) if alive else y
            for y, alive in zip(outs, wanted, strict=False)
        ]
    )


def record_branches(index: Any, operands: Sequence[Any], values: list[Any], branches: Branches, level: int) -> Any:
    """The branches with residuals, recorded as one operation."""
    live = tuple([is_own(x, Tensor, level) and x.node is not None for x in operands])
    if not any(live):
        return tuple([Tensor(y, level) for y in SWITCH.op(index, *values, branches=branches)])
    outs, gradient = run_forward(index, values, branches, live)
    found = record_result(PULL, level, {"gradient": gradient}, *split_operands(operands, level), tuple(outs))
    alive = map(any, zip(*[part.live for part in gradient.parts], strict=True))
    return tuple([y if own else y.value for y, own in zip(found, alive, strict=True)])


def run_forward(
    index: Any, values: Sequence[Any], branches: Branches, live: Live
) -> tuple[Sequence[Any], SwitchGradient]:
    """The results of a choice, and its backward pass; each branch gives zeros for the residuals of the others."""
    parts = [pull_body(branch, live) for branch in branches]
    count = len(branches[0].outputs)
    residuals = [specs_of(part.forward.outputs)[count:] for part in parts]
    specs = specs_of(branches[0].inputs)
    bodies = tuple([trace_body(with_residuals(parts, k, count, residuals), specs) for k in range(len(parts))])
    outs = SWITCH.op(index, *values, branches=bodies)
    return outs[:count], SwitchGradient(index, values, branches, parts, live, outs[count:], residuals)


def with_residuals(
    parts: Sequence[Pulled], k: int, count: int, residuals: list[list[Spec]]
) -> Callable[[list[Any]], list[Any]]:
    """Branch k, with its own residuals among zeros for those of the others."""

    def run(symbols: list[Any]) -> list[Any]:
        outs = parts[k].forward.run(symbols)
        kept = [outs[count:] if i == k else [zeros_like(s, *outs) for s in specs] for i, specs in enumerate(residuals)]
        return [*outs[:count], *[r for group in kept for r in group]]

    return run


class SwitchGradient:
    """The backward pass of one choice: a choice between the backward parts of the branches."""

    def __init__(
        self,
        index: Any,
        values: Sequence[Any],
        branches: Branches,
        parts: Sequence[Pulled],
        live: Live,
        saved: Sequence[Any],
        groups: list[list[Spec]],
    ):
        self.index, self.values, self.branches, self.parts = index, values, branches, parts
        self.live, self.saved, self.groups = live, saved, groups
        self.uses = sorted({i for part in parts for i in part.uses})

    def pull_through(self, t: Sequence[Any], operands: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of these operands; if they have a history now, what the rules need gets one too."""
        if not gain_history(operands, self.values):
            return self.pull(t)
        return run_forward(self.index, operands, self.branches, self.live)[1].pull(t)

    def pull(self, t: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of the operands, None for those without one."""
        specs = specs_of(self.parts[0].forward.outputs)
        given = [zeros_like(s, *self.values) if c is None else c for c, s in zip(t, specs, strict=False)]
        operands = [*[self.values[i] for i in self.uses], *self.saved, *given]
        bodies = tuple([trace_body(self.backward(k), [Spec.of(x) for x in operands]) for k in range(len(self.parts))])
        found = iter(SWITCH.op(self.index, *operands, branches=bodies))
        return tuple([next(found) if alive else None for alive in self.live])

    def backward(self, k: int) -> Callable[[list[Any]], list[Any]]:
        """The backward part of branch k as a function of the operands that some branch uses, residuals, cotangents."""
        part, n = self.parts[k], len(self.uses)
        start = n + sum(map(len, self.groups[:k]))
        last = n + len(self.saved)

        def run(x: list[Any]) -> list[Any]:
            t = [c for c, alive in zip(x[last:], part.live, strict=True) if alive]
            used, saved = [x[self.uses.index(i)] for i in part.uses], x[start : start + len(self.groups[k])]
            return part.backward.run([*used, *saved, *t])

        return run


PULL = gradient_primitive("switch_gradient")
"""Stands on the tape for a choice that was made."""


def batch_branches(index: Any, operands: Sequence[Any], branches: Branches, top: Batched) -> Any:
    """The branches on a batch; with an index for each element, all branches, and a selection."""
    level, n, name = top.level, len(top.value), name_of_level(top.level)
    own = tuple(find_own(operands, Batched, level))
    values = payloads(operands, own)
    found = [batch_body(branch, own, n, name)[1] for branch in branches]
    if not is_own(index, Batched, level):
        wanted = tuple(map(any, zip(*found, strict=True)))
        bodies = tuple([batch_body(branch, own, n, name, wanted)[0] for branch in branches])
        outs = SWITCH.op(index, *values, branches=bodies)
        return tuple([Batched(y, level) if b else y for y, b in zip(outs, wanted, strict=True)])
    refuse_collectives(name, *branches)
    results = [branch.run(operands) for branch in branches]
    chosen = results[-1]
    for k in reversed(range(len(branches) - 1)):
        chosen = [where(equal(index, k), y, z) for y, z in zip(results[k], chosen, strict=True)]
    return tuple(chosen)
