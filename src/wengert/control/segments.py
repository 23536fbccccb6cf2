"""Loops in segments: gradients that keep few states, and compute the steps between them again.

A segment is a loop, and a step of the loop over all segments. The backward pass keeps the states before each segment,
or a few of them (`snapshots.py`), and what the rules need within one segment. Captured arrays become states that do not
change: so their cotangents are summed over segments in the same order as over steps.
"""

from __future__ import annotations

import re
from math import isqrt
from typing import Any, NamedTuple

from wengert.control.bodies import pull_body, specs_of, trace_body
from wengert.control.loop import LOOP, Loop
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.ops.shape.joining import concatenate
from wengert.ops.shape.reshaping import reshape

UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


class Segments(NamedTuple):
    """The number of steps of a segment, and how many states before segments are kept at a time."""

    steps: int
    snapshots: int


def plan_segments(loop: Loop, checkpoint: int | str | Segments | None) -> Segments | None:
    """The segments that `checkpoint` asks for; None if all can be kept."""
    n = loop.shape.length or 0
    if checkpoint is None or isinstance(checkpoint, Segments):
        return checkpoint
    if isinstance(checkpoint, int) and checkpoint > 0:
        return Segments(min(checkpoint, max(n, 1)), n)
    if checkpoint == "binomial":
        steps = max(n.bit_length(), 1)
        return Segments(steps, max((n // steps).bit_length(), 1))
    limit = re.fullmatch(r"\s*([\d.]+)\s*([kmg]?i?b)\s*", checkpoint.lower()) if isinstance(checkpoint, str) else None
    if limit is None:
        raise user_error(
            ValueError,
            f"The checkpoint of a scan is {checkpoint!r}",
            'Pass a number of steps, "binomial", or a limit such as "50 MB".',
        )
    return fit_segments(loop, int(float(limit[1]) * UNITS[limit[2]]))


def fit_segments(loop: Loop, limit: int) -> Segments | None:
    """The segments with the least work whose states and residuals have at most `limit` bytes."""
    n, inputs = loop.shape.length or 0, loop.body.inputs
    pulled = pull_body(loop.body, tuple([spec.dtype.kind in "fc" for spec in specs_of(inputs)]))
    used = [inputs[i] for i in pulled.uses if loop.shape.constants <= i < loop.shape.last]
    of_step = sum(node.nbytes for node in [*pulled.forward.outputs[len(loop.body.outputs) :], *used])
    of_state = sum(node.nbytes for node in inputs[loop.shape.constants : loop.shape.last])
    if n * of_step <= limit:
        return None
    steps = min(max(isqrt(n * of_state // max(of_step, 1)), 1), n)
    if n // steps * of_state + steps * of_step <= limit:
        return Segments(steps, n)
    steps = min(max(limit // 2 // max(of_step, 1), 1), n)
    snapshots = (limit - steps * of_step) // max(of_state, 1) - 1
    if snapshots < 1:
        raise user_error(
            ValueError,
            f"The gradient of this scan needs at least {of_step + 2 * of_state} bytes, more than the {limit} given",
            "Raise the limit.",
        )
    return Segments(steps, snapshots)


def run_segments(loop: Loop, segments: Segments | None) -> list[Any]:
    """The results of a loop, whose gradient goes back over segments; steps that fill no segment come first."""
    n = loop.shape.length or 0
    if segments is None or not n:
        return loop.call(loop.shape.split(loop.operands), loop.body)
    hidden, loop = with_constant_states(loop)
    shape, rest = loop.shape, n % segments.steps
    constants, states, sequences = shape.split(loop.operands)
    heads: list[Any] = []
    if rest:
        first = slice(n - rest, None) if shape.reverse else slice(rest)
        others = slice(n - rest) if shape.reverse else slice(rest, None)
        outs = run_part(loop, constants, states, [x[first] for x in sequences], loop.body, length=rest)
        states, heads = outs[: shape.states], outs[shape.states :]
        sequences = [x[others] for x in sequences]
    whole = n // segments.steps
    rows = [reshape(x, (whole, segments.steps, *x.shape[1:])) for x in sequences]
    body = segment_body(loop, segments.steps)
    outs = run_part(loop, constants, states, rows, body, length=whole, snapshots=segments.snapshots)
    ys = [reshape(y, (n - rest, *y.shape[2:])) for y in outs[shape.states :]]
    if rest:
        ys = [concatenate([y, head] if shape.reverse else [head, y]) for y, head in zip(ys, heads, strict=True)]
    return [*outs[hidden : shape.states], *ys]


def run_part(loop: Loop, constants: Any, states: Any, sequences: Any, body: Graph, **change: Any) -> list[Any]:
    """A loop over other sequences, with other steps."""
    shape = loop.shape._replace(**change)
    return list(LOOP.op(*constants, *states, *sequences, body=body, condition=None, shape=shape))


def with_constant_states(loop: Loop) -> tuple[int, Loop]:
    """The loop with constants that may have a derivative as its first states, and their number."""
    constants, _, _ = loop.shape.split(range(len(loop.operands)))
    moved = [i for i in constants if loop.body.inputs[i].dtype.kind in "fc"]
    order = [*[i for i in constants if i not in moved], *moved, *range(len(constants), len(loop.operands))]
    inputs = [loop.body.inputs[i] for i in order]
    body = Graph(inputs, [*[loop.body.inputs[i] for i in moved], *loop.body.outputs])
    shape = loop.shape._replace(constants=len(constants) - len(moved), states=loop.shape.states + len(moved))
    return len(moved), Loop([loop.operands[i] for i in order], body, None, shape, [])


def segment_body(loop: Loop, steps: int) -> Graph:
    """The body of the loop over segments: a loop of so many steps."""
    constants, states, slices = loop.shape.split(specs_of(loop.body.inputs))
    rows = [Spec((steps, *spec.shape), spec.dtype) for spec in slices]
    run = lambda symbols: run_part(loop, *loop.shape.split(symbols), loop.body, length=steps)
    return trace_body(run, [*constants, *states, *rows])
