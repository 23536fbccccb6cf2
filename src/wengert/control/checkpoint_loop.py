"""Loops whose states are computed again in the backward pass, by the binomial schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import comb
from typing import Any

import numpy as np

from wengert.control.call import Call, call_operation
from wengert.control.linear_tape import LinearTape
from wengert.control.values import as_tensors, is_smooth, strip_tensor
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.primitive import SHAPED, Primitive
from wengert.modes.in_place import snapshot
from wengert.modes.tensor import Tensor

__all__ = ["checkpoint_loop"]

LOOP = call_operation("checkpoint_loop")


def checkpoint_loop(step: Callable[..., Any], state: Any, n: int, *args: Any, snapshots: int | None = None) -> Any:
    """The state after `n` steps `state = step(state, k, *args)`, with a gradient that keeps few states in memory.

    The backward pass keeps at most `snapshots` states at a time, by default about log2(n), and computes the others
    again from the nearest of them. The binomial schedule chooses which states to keep such that steps run as few times
    as possible: with log2(n) snapshots, each runs at most log2(n) times. State and args are trees of arrays. Gradients
    are bit for bit those of a loop that keeps everything.

    >>> x = Tensor(np.float64(0.5)).requires_grad_()
    >>> checkpoint_loop(lambda x, k: np.sin(x), x, 100).backward()
    """
    if n < 0 or (snapshots is not None and snapshots < 1):
        raise user_error(ValueError, f"checkpoint_loop needs n >= 0 and snapshots >= 1, not {n} and {snapshots}")
    call = Loop("checkpoint_loop", (state, args), step, n, snapshots or max(1, n.bit_length()))
    if not call.is_tracked or not n:
        return call.advance(state, args, 0, n)
    return call(LOOP)


class Loop(Call):
    """A loop whose states are computed again in the backward pass."""

    def __init__(self, name: str, args: tuple[Any, ...], step: Callable[..., Any], n: int, snapshots: int):
        super().__init__(name, args)
        self.step, self.n, self.snapshots = step, n, snapshots

    def function(self, state: Any, args: tuple[Any, ...]) -> Any:
        return self.advance(state, args, 0, self.n)

    def close(self) -> None:
        raise user_error(GradientError, "A step of checkpoint_loop captures a tracked value")

    def advance(self, state: Any, args: tuple[Any, ...], start: int, stop: int) -> Any:
        for k in range(start, stop):
            state = self.step(state, k, *args)
        return state

    def in_mode(self, primitive: Primitive, top: Array, x: Sequence[Any]) -> tuple[Any, ...]:
        return self.in_reverse_mode(primitive, top, x) if isinstance(top, Tensor) else self.run_inline(x)

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list[Any]:  # noqa: ARG002  # as in Call
        state, args = self.assemble(as_tensors(x, t))
        arguments, structure = tree.flatten(args)
        back = LoopBackward(self, t, arguments, structure)
        back.pull_range(state, 0, self.n, self.snapshots)
        return self.select_arrays([*back.t, *back.totals])


class LoopBackward:
    """The backward pass through a loop.

    `t` are the cotangents of the current state, `totals` those of the arguments so far.
    """

    def __init__(self, loop: Loop, t: Sequence[Any], arguments: list[Any], structure: tree.Structure):
        self.loop, self.t, self.arguments, self.structure = loop, t, arguments, structure
        self.totals: list[Any] = [None] * len(arguments)

    def pull_range(self, state: Any, start: int, stop: int, spare: int) -> None:
        """Pull cotangents from `stop` back to `start`, whose state is given, keeping `spare` more states at a time."""
        while stop - start > 1:
            middle = start + next_snapshot(stop - start, spare)
            args = tree.unflatten(self.structure, map(copy_for_step, self.arguments))
            self.pull_range(
                self.loop.advance(tree.map(copy_for_step, state), args, start, middle), middle, stop, spare - 1
            )
            stop = middle
        self.pull_step(state, start)

    def pull_step(self, state: Any, k: int) -> None:
        """Pull cotangents back through one step, on a new tape.

        Cotangents of the arguments are summed in the same order as on a tape of all steps.
        """
        leaves, structure = tree.flatten(state)
        values = [*leaves, *self.arguments]
        with LinearTape([strip_tensor(v) if isinstance(v, SHAPED) and is_smooth(v) else None for v in values]) as tape:
            inputs = [copy_for_step(v) if i is None else i for v, i in zip(values, tape.inputs, strict=True)]
            args = tree.unflatten(self.structure, inputs[len(leaves) :])
            outs = tree.flatten(self.loop.step(tree.unflatten(structure, inputs[: len(leaves)]), k, *args))[0]
            nodes = tape.nodes[len(leaves) :]
            arrived = {
                node: total
                for node, total in zip(nodes, self.totals, strict=True)
                if node is not None and total is not None
            }
            found = tape.transpose(outs, self.t, arrived)
        self.t, self.totals = found[: len(leaves)], found[len(leaves) :]


def copy_for_step(value: Any) -> Any:
    """A copy of a value, which a step may change in place."""
    return value.copy() if isinstance(value, np.ndarray) else snapshot(value)


def next_snapshot(length: int, spare: int) -> int:
    """The step, among `length`, after which to keep the next state, with `spare` states left.

    This is Griewank's binomial schedule: with c states, comb(c + r, c) steps can be reversed by running each of them at
    most r times.

    >>> next_snapshot(10, 1), next_snapshot(10, 3)
    (9, 4)
    """
    spare = max(spare, 1)
    runs = next(r for r in count(1) if comb(spare + r, spare) >= length)
    return min(comb(spare + runs - 1, spare), length - 1)
