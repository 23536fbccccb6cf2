"""Loops in an evaluation trace: the same instructions again and again, whatever made them run again.

A `for` of Python, `wg.scan` and `wg.while_loop` all repeat instructions of the source. A loop is folded to one step,
how often it ran, and its states: what one step computes and the next one reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.explain.explanation import Explanation
from wengert.explain.steps import TraceStep
from wengert.graph.ir import Node, Operation

LEAST = 3
"""How often instructions must follow each other to be a loop."""
DEPTH = 8
"""How many loops around each other are told apart."""
PERIODS = 64
"""The most numbers of operations for which it is checked whether they repeat."""


class LoopState(NamedTuple):
    """What one step computes and the next one reads: its name, and its nodes before the first and after the last."""

    name: str
    before: Node
    after: Node


class TraceLoop(NamedTuple):
    """Lines of a trace that are the same instructions `rounds` times; `first` is the index of the first line."""

    first: int
    period: int
    rounds: int

    @property
    def end(self) -> int:
        """The index behind the last line."""
        return self.first + self.period * self.rounds

    def round_of(self, i: int) -> int:
        """The step that a line belongs to, from zero."""
        return (i - self.first) // self.period


def find_loops(steps: list[TraceStep]) -> list[TraceLoop]:
    """The outermost loops of a trace, in order."""
    keys = number_keys(steps)
    following = next_occurrences(keys)
    breaks: dict[int, np.ndarray] = {}
    found: list[TraceLoop] = []
    i = 0
    while i < len(keys):
        outermost = None
        for loop in candidates(keys, i, following, breaks):
            outermost = loop if loop.rounds >= LEAST else outermost
        if outermost is not None:
            found.append(outermost)
        i = i + 1 if outermost is None else outermost.end
    return found


def candidates(keys: np.ndarray, i: int, following: np.ndarray, breaks: dict[int, np.ndarray]) -> Iterator[TraceLoop]:
    """Loops that may begin at line i, from the innermost one out: each ends before its first line runs once more."""
    last = i
    for _ in range(DEPTH):
        if following[last] < 0:
            return
        period = int(following[last]) - i
        rounds = count_rounds(keys, i, period, breaks)
        yield TraceLoop(i, period, rounds)
        last = i + period * max(rounds - 1, 1)


def number_keys(steps: list[TraceStep]) -> np.ndarray:
    """A number for each line, equal if the same instruction ran the same operation; inputs have none in common."""
    known: dict[Any, int] = {}
    numbers = np.empty(len(steps), np.int64)
    for i, step in enumerate(steps):
        node = step.node
        key: Any = i
        if isinstance(node, Operation):
            source = node.source
            key = node.primitive, source and source.code, source and source.instruction
        numbers[i] = known.setdefault(key, len(known))
    return numbers


def next_occurrences(keys: np.ndarray) -> np.ndarray:
    """For each line, the next one with the same key, or -1."""
    following = np.full(len(keys), -1)
    order = np.argsort(keys, kind="stable")
    same = keys[order[:-1]] == keys[order[1:]]
    following[order[:-1][same]] = order[1:][same]
    return following


def count_rounds(keys: np.ndarray, i: int, period: int, breaks: dict[int, np.ndarray]) -> int:
    """How often the lines from i on repeat; `breaks` has, for each period, where they do not."""
    if period not in breaks:
        if len(breaks) >= PERIODS:
            return 1
        breaks[period] = np.append(np.flatnonzero(keys[:-period] != keys[period:]), len(keys) - period)
    stop = breaks[period][np.searchsorted(breaks[period], i)]
    return 1 + int(stop - i) // period


def find_states(explanation: Explanation, loop: TraceLoop) -> list[LoopState]:
    """The states of a loop."""
    return list(iterate_states(explanation, loop))


def iterate_states(explanation: Explanation, loop: TraceLoop) -> Iterator[LoopState]:
    """The operands of the second step that the first one computed."""
    steps = explanation.steps
    index: dict[Node, int] = {steps[i].node: i for i in range(loop.first, loop.first + loop.period)}
    seen: set[int] = set()
    for q in range(loop.period):
        second, first = steps[loop.first + loop.period + q].node, steps[loop.first + q].node
        if not (isinstance(second, Operation) and isinstance(first, Operation)):
            continue
        for new, old in zip(second.args, first.args, strict=False):
            made = index.get(new)
            if made is not None and made not in seen and old is not new and old not in index:
                seen.add(made)
                last = steps[loop.end - loop.period + made - loop.first]
                yield LoopState(last.name or steps[made].name or last.label, old, last.node)
