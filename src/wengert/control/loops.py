"""Loops for users: `scan`, `fori_loop`, `map`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.control.bodies import close_function
from wengert.control.scan import SCAN, Shape
from wengert.core import tree
from wengert.core.errors import user_error
from wengert.core.levels import iterate_payloads
from wengert.core.primitive import as_operand
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.symbolic import Symbol
from wengert.ops.shape.joining import stack

__all__ = ["scan"]


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
) -> tuple[Any, Any]:
    """Run `state, y = f(state, x)` over the slices x of `xs`; returns the last state, and all y stacked.

    States, slices and outputs are trees of arrays. Without `xs`, f gets None, `length` times. With `reverse`, the last
    slice comes first.

    >>> final, partial_sums = scan(lambda total, x: (total + x, total + x), 0.0, np.array([1.0, 2.0, 3.0]))
    >>> partial_sums
    array([1., 3., 6.])
    """
    states, structure = tree.flatten(init)
    slices, slice_structure = tree.flatten(xs)
    states, slices = list(map(as_operand, states)), list(map(as_operand, slices))
    n = count_steps(slices, length)
    if not is_in_trace([*states, *slices]):
        return run_steps(f, init, slices, slice_structure, n, reverse)
    result: tree.Structure | None = None

    def flat(symbols: list[Any]) -> list[Any]:
        nonlocal result
        state = tree.unflatten(structure, symbols[: len(states)])
        new, y = f(state, tree.unflatten(slice_structure, symbols[len(states) :]))
        new_states, new_structure = tree.flatten(new)
        check_state(structure, new_structure, states, new_states)
        ys, result = tree.flatten(y)
        return [*new_states, *ys]

    specs = [*[Spec.of(s) for s in states], *[Spec(x.shape[1:], x.dtype) for x in slices]]
    closed = close_function(flat, specs, "scan")
    body, count = closed.body, len(closed.captured)
    reordered = type(body)([*body.inputs[len(specs) :], *body.inputs[: len(specs)]], body.outputs)
    outs = SCAN.op(
        *closed.captured, *states, *slices,
        body=reordered, shape=Shape(count, len(states)), length=n, reverse=reverse,
    )  # fmt: skip
    assert result is not None
    return tree.unflatten(structure, outs[: len(states)]), tree.unflatten(result, outs[len(states) :])


def count_steps(slices: Sequence[Any], length: int | None) -> int:
    """The number of steps, from the sequences and `length`."""
    lengths = {x.shape[0] if x.ndim else None for x in slices} | ({length} if length is not None else set())
    if None in lengths:
        raise user_error(ValueError, "scan over a number: it has no slices", "Put it in the state, or capture it.")
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
    rows: list[Any] = [None] * n
    result: tree.Structure | None = None
    for i in reversed(range(n)) if reverse else range(n):
        state, y = f(state, tree.unflatten(structure, [x[i] for x in slices]))
        rows[i], result = tree.flatten(y)
    if result is None:
        return state, None
    return state, tree.unflatten(result, [stack(column) for column in zip(*rows, strict=True)])
