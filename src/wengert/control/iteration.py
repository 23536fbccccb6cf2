"""Loops for users: `scan`, `while_loop`, `fori_loop`, `map`, `checkpoint_loop`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control.bodies import close_function
from wengert.control.loop import LOOP, Loop, Shape
from wengert.control.segments import Segments, plan_segments, run_segments
from wengert.core import tree
from wengert.core.errors import user_error
from wengert.core.levels import iterate_payloads
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Input
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.symbolic import Symbol
from wengert.ops.shape.joining import stack

__all__ = ["checkpoint_loop", "fori_loop", "map", "scan", "while_loop"]


def is_in_trace(values: Sequence[Any]) -> bool:
    """Whether operations on these values become part of a graph."""
    return recording.current_trace() is not None or any(
        isinstance(payload, Symbol) for x in values for payload in iterate_payloads(x)
    )


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: int | str | Segments | None = None,
) -> tuple[Any, Any]:
    """Run `state, y = f(state, x)` over the slices x of `xs`; returns the last state, and all y stacked.

    States, slices and outputs are trees of arrays. Without `xs`, f gets None, `length` times. With `reverse`, the last
    slice comes first.

    `checkpoint` is for gradients with less memory: they compute steps again rather than keep what the rules need. It is
    the number of steps between the states that are kept; or `"binomial"`, for memory that grows with the logarithm of
    the number of steps; or a limit, such as `"50 MB"`. The gradient does not change, bit for bit.

    >>> final, partial_sums = scan(lambda total, x: (total + x, total + x), 0.0, np.array([1.0, 2.0, 3.0]))
    >>> partial_sums
    array([1., 3., 6.])
    """
    f = recording.as_read(f)
    states, structure = tree.flatten(init)
    slices, slice_structure = tree.flatten(xs)
    states, slices = [as_operand(s) for s in states], [as_operand(x) for x in slices]
    n = count_steps(slices, length)
    if n and checkpoint is None and not is_in_trace([*states, *slices]):  # without steps, only a trace knows y
        return run_steps(f, init, slices, slice_structure, n, reverse)
    result: tree.Structure | None = None

    def flat(symbols: list[Any]) -> list[Any]:
        nonlocal result
        state = tree.unflatten(structure, symbols[: len(states)])
        new, y = recording.as_read(f)(state, tree.unflatten(slice_structure, symbols[len(states) :]))
        new_states, new_structure = tree.flatten(new)
        check_state(structure, new_structure, states, new_states)
        ys, result = tree.flatten(y)
        return [*new_states, *ys]

    specs = [*[Spec.of(s) for s in states], *[Spec(x.shape[1:], x.dtype) for x in slices]]
    names = tree.leaf_names(f, tree.structure(((init, xs), {})))
    closed = close_function(flat, specs, "scan", names)
    body, count = closed.body, len(closed.captured)
    reordered = Graph([*body.inputs[len(specs) :], *body.inputs[: len(specs)]], body.outputs)
    loop = Loop([*closed.captured, *states, *slices], reordered, None, Shape(count, len(states), n, reverse), [])
    outs = run_segments(loop, plan_segments(loop, checkpoint))
    assert result is not None
    return tree.unflatten(structure, outs[: len(states)]), tree.unflatten(result, outs[len(states) :])


def checkpoint_loop(step: Callable[..., Any], state: Any, n: int, *args: Any, snapshots: int | None = None) -> Any:
    """The state after `n` steps `state = step(state, k, *args)`, with a gradient that keeps few states in memory.

    The backward pass keeps at most `snapshots` states at a time, by default about log2(n), and computes the others
    again from the nearest of them. The binomial schedule chooses which states to keep such that steps run as few times
    as possible: with log2(n) snapshots, each runs at most log2(n) times. State and args are trees of arrays. Gradients
    are bit for bit those of a loop that keeps everything.

    >>> import wengert as wg
    >>> x = wg.tensor(0.5, requires_grad=True)
    >>> checkpoint_loop(lambda x, k: np.sin(x), x, 100).backward()
    """
    if n < 0 or (snapshots is not None and snapshots < 1):
        raise user_error(ValueError, f"checkpoint_loop needs n >= 0 and snapshots >= 1, not {n} and {snapshots}")
    if not n:
        return state
    n = operator.index(n)
    plan = Segments(1, snapshots or max(1, n.bit_length()))
    advance = lambda carry, _: ((carry[0] + 1, recording.as_read(step)(carry[1], carry[0], *args)), None)
    return scan(advance, (np.int64(0), state), length=n, checkpoint=plan)[0][1]


def is_batched(x: Any) -> bool:
    """Whether a value differs between the elements of a batch."""
    return any(isinstance(payload, Batched) for payload in iterate_payloads(x))


def count_steps(slices: Sequence[Any], length: int | None) -> int:
    """The number of steps, from the sequences and `length`."""
    if not all(x.ndim for x in slices):
        raise user_error(ValueError, "scan over a number: it has no slices", "Put it in the state, or capture it.")
    lengths: set[int] = {x.shape[0] for x in slices} | ({length} if length is not None else set())
    if len(lengths) != 1:
        raise user_error(
            ValueError, f"scan over sequences of lengths {sorted(lengths)}" if lengths else "scan without a length",
            "All must have the same length." if lengths else "Pass xs or length.",
        )  # fmt: skip
    (n,) = lengths
    if n < 0:
        raise user_error(ValueError, f"scan of length {n}")
    return n


def check_state(old: tree.Structure, new: tree.Structure, before: Sequence[Any], after: Sequence[Any]) -> None:
    """Raise if a step changes the structure, shapes or dtypes of the state."""
    if old != new:
        raise user_error(TypeError, f"The step of a loop was given the state {old!r} and returned {new!r}")
    for i, (x, y) in enumerate(zip(before, after, strict=True)):
        if Spec.of(x) != Spec.of(y):
            raise user_error(
                TypeError,
                f"The step of a loop changes part {i} of the state from {Spec.of(x)!r} to {Spec.of(y)!r}",
                "Start with an array of that shape and dtype.",
            )


def run_steps(
    f: Callable[..., Any], state: Any, slices: Sequence[Any], structure: tree.Structure, n: int, reverse: bool
) -> tuple[Any, Any]:
    """The loop as Python runs it."""
    rows: list[Any] = []  # of steps that have outputs: the others need no memory
    for i in reversed(range(n)) if reverse else range(n):
        state, y = f(state, tree.unflatten(structure, [x[i] for x in slices]))
        row, result = tree.flatten(y)
        if row:
            rows.append(row)
    ordered = reversed(rows) if reverse else rows
    return state, tree.unflatten(result, [stack(column) for column in zip(*ordered, strict=True)])


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Run `state = body_fun(state)` as long as `cond_fun(state)` is true.

    It can be differentiated in every mode, reverse mode included.

    >>> while_loop(lambda x: x < 100.0, lambda x: x * 2.0, 3.0)
    192.0
    """
    cond_fun, body_fun = recording.as_read(cond_fun), recording.as_read(body_fun)
    states, structure = tree.flatten(init_val)
    if not is_in_trace(states):
        state = init_val
        while not is_batched(goes_on := cond_fun(state)):
            if not goes_on:
                return state
            state = body_fun(state)
        states, structure = tree.flatten(state)
    states = [as_operand(s) for s in states]

    def condition(symbols: list[Any]) -> list[Any]:
        pred = as_operand(recording.as_read(cond_fun)(tree.unflatten(structure, symbols)))
        if pred.shape != ():
            raise user_error(TypeError, f"The condition of while_loop has shape {pred.shape}", "Return one boolean.")
        return [pred if pred.dtype.kind == "b" else pred != 0]

    def body(symbols: list[Any]) -> list[Any]:
        new_states, new_structure = tree.flatten(recording.as_read(body_fun)(tree.unflatten(structure, symbols)))
        check_state(structure, new_structure, states, new_states)
        return new_states

    specs = [Spec.of(s) for s in states]
    names = tree.leaf_names(body_fun, tree.structure(((init_val,), {})))
    closed = [close_function(f, specs, "while_loop", names) for f in (condition, body)]
    first, second = len(closed[0].captured), len(closed[1].captured)
    graphs = []
    for k, (graph, _) in enumerate(closed):
        before = [Input(Spec.of(x)) for x in closed[1 - k].captured]
        own = graph.inputs[len(specs) :]
        constants = [*own, *before] if k == 0 else [*before, *own]
        graphs.append(Graph([*constants, *graph.inputs[: len(specs)]], graph.outputs))
    shape = Shape(first + second, len(states), None)
    outs = LOOP.op(*closed[0].captured, *closed[1].captured, *states, body=graphs[1], condition=graphs[0], shape=shape)
    return tree.unflatten(structure, outs[: len(states)])


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Run `state = body_fun(i, state)` for i from `lower` up to, but not including, `upper`.

    >>> fori_loop(0, 5, lambda i, total: total + i, 0)
    np.int64(10)
    """
    if isinstance(lower, int | np.integer) and isinstance(upper, int | np.integer):
        advance = lambda carry, _: ((recording.as_read(body_fun)(carry[1], carry[0]), carry[1] + 1), None)
        return scan(advance, (init_val, np.int64(lower)), length=max(0, int(upper) - int(lower)))[0][0]
    return while_loop(
        lambda carry: carry[1] < upper,
        lambda carry: (recording.as_read(body_fun)(carry[1], carry[0]), carry[1] + 1),
        (init_val, lower),
    )[0]


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """The results of `f` on each slice of `xs`, stacked: one after the other, with the memory of one.

    >>> map(lambda x: x * 2.0, np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return scan(lambda _, x: ((), recording.as_read(f)(x)), (), xs)[1]
