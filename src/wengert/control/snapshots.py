"""Snapshots: the states that a backward pass keeps, to compute those between them again.

A stack holds states and the steps before which they were taken. To go back over a step, the loop advances from the
snapshot on top, pushing further ones, until the state before that step is on top. Where to take them is the binomial
schedule of Griewank: with c snapshots, comb(c + r, c) steps can be reversed by running each of them at most r times.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from math import comb, isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.control.iteration import while_loop
from wengert.core.levels import numpy_of
from wengert.ops.elementwise.choices import minimum, where
from wengert.ops.indexing.subscripts import set_at
from wengert.ops.reductions.sums import sum as sum_

if TYPE_CHECKING:
    from wengert.control.loop import Loop


def next_snapshot(length: int, spare: int) -> int:
    """The step, among `length`, after which to keep the next state, with `spare` states left.

    >>> next_snapshot(10, 1), next_snapshot(10, 3)
    (9, 4)
    """
    spare = max(spare, 1)
    runs = next(r for r in count(1) if comb(spare + r, spare) >= length)
    return min(comb(spare + runs - 1, spare), length - 1)


def binomial_table(length: int, snapshots: int) -> np.ndarray:
    """comb(c + r, c) for c up to `snapshots` and all r that `next_snapshot` needs, at most `length`."""
    runs = 1 + isqrt(2 * length)  # comb(2 + runs, 2) >= length
    rows = [np.ones(runs + 1)]
    for _ in range(snapshots):  # comb(c + r, c) is the sum of comb(c - 1 + s, c - 1) for s up to r
        rows.append(np.minimum(np.cumsum(rows[-1]), length))
    return np.stack(rows).astype(np.int64)


class Snapshots:
    """The snapshots of one loop of known length, as operands of the loop back: first its constants, then its states."""

    def __init__(self, loop: Loop):
        self.loop, self.shape = loop, loop.shape
        self.count, length = self.shape.snapshots or 0, self.shape.length or 0
        constants, states, sequences = self.shape.split(loop.operands)
        xp = numpy_of(*loop.operands)
        self.constants = [xp.asarray(binomial_table(length, self.count)), *constants, *sequences]
        stack = [set_at(numpy_of(s).zeros((self.count + 1, *s.shape), s.dtype), 0, s) for s in states]
        self.states = [np.int64(length), np.int64(0), xp.zeros(self.count + 1, np.int64), *stack]

    def restore(self, symbols: Iterator[Any]) -> tuple[list[Any], dict[int, Any]]:
        """The next states of the snapshots, and all constants and states before the step, by their index."""
        table, *operands = [next(symbols) for _ in self.constants]
        end, top, starts, *stack = [next(symbols) for _ in self.states]
        first = self.shape.constants
        constants, sequences = operands[:first], operands[first:]

        def advance(carry: Any) -> Any:
            top, starts, stack = carry
            begin = starts[top]
            middle = begin + self.next_snapshot(table, end - begin, self.count - top)
            states = self.run_steps(constants, [x[top] for x in stack], sequences, begin, middle)
            pushed = [set_at(x, top + 1, s) for x, s in zip(stack, states, strict=True)]
            return top + 1, set_at(starts, top + 1, middle), pushed

        top, starts, stack = while_loop(lambda carry: end - carry[1][carry[0]] > 1, advance, (top, starts, stack))
        values = dict(enumerate([*constants, *[x[top] for x in stack]]))
        return [end - 1, top - 1, starts, *stack], values

    def run_steps(self, constants: Any, states: Any, sequences: Any, begin: Any, end: Any) -> list[Any]:
        """The states before step `end`, from those before step `begin`."""
        shape, last = self.shape, (self.shape.length or 0) - 1

        def step(carry: Any) -> Any:
            i, states = carry
            k = last - i if shape.reverse else i
            return i + 1, self.loop.body.run([*constants, *states, *[x[k] for x in sequences]])[: shape.states]

        found: list[Any] = while_loop(lambda carry: carry[0] < end, step, (begin, states))[1]
        return found

    @staticmethod
    def next_snapshot(table: Any, length: Any, spare: Any) -> Any:
        """`next_snapshot` of traced integers."""
        row = table[spare]
        runs = sum_(row < length)
        return where(spare < 2, length - 1, minimum(row[runs - 1], length - 1))
