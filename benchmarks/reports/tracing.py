"""How long a trace takes: the Python that records a program before anything is compiled."""

from __future__ import annotations

from collections.abc import Callable
from timeit import timeit
from typing import Any

import numpy as np

from benchmarks.reports.figure import Figure

OPERATIONS = 1_000
TARGET = 25e-6
"""Seconds that the trace of one operation may take."""

FORMS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: np.sin(x),
    lambda x, y: x + y,
    lambda x, y: x.T,
    lambda x, y: x - x.sum(axis=0),
    lambda x, y: x @ y,
    lambda x, y: np.exp(-x),
    lambda x, y: x * 0.5,
    lambda x, y: np.flip(x, 0),
    lambda x, y: x / x.mean(axis=1, keepdims=True),
    lambda x, y: np.einsum("ij,jk->ik", x, y),
    lambda x, y: np.tanh(x),
    lambda x, y: 1.0 - x,
    lambda x, y: np.concatenate([x[4:], x[:4]]),
    lambda x, y: x - np.max(x),
    lambda x, y: np.outer(x[0], y[:, 0]),
    lambda x, y: np.sqrt(x),
    lambda x, y: x**2,
    lambda x, y: np.roll(x, 1, axis=1),
    lambda x, y: np.where(x > 0.0, x, y),
    lambda x, y: np.tensordot(x, y, 1),
    lambda x, y: np.arctan2(x, y),
    lambda x, y: np.abs(x),
    lambda x, y: np.pad(x[1:-1, 1:-1], 1),
    lambda x, y: x * np.var(x, axis=0),
    lambda x, y: np.log1p(x),
    lambda x, y: np.maximum(x, 0.1),
    lambda x, y: np.reshape(np.ravel(x), (8, 8)),
    lambda x, y: np.stack([x[0], *x[1:]]),
    lambda x, y: np.cumsum(x, axis=1),
    lambda x, y: np.linalg.solve(x, y),
)
"""Operations of all kinds on two matrices of 8 x 8 numbers, which give such a matrix."""


def program(count: int) -> Callable[[Any, Any], Any]:
    """A function of so many forms, one after the other."""

    def run(x: Any, y: Any) -> Any:
        for i in range(count):
            x = FORMS[i % len(FORMS)](x, y)
        return x.sum()

    return run


def tracing_figures(rounds: int = 15, operations: int = OPERATIONS) -> list[Figure]:
    """Seconds to trace one operation, in a program of a thousand of all kinds and in its gradient.

    As in all measurements here, the garbage collector is off while the clock runs.
    """
    import wengert as wg

    x, y = np.ones((8, 8)), np.ones((8, 8))
    count = operations * len(FORMS) // len(wg.trace(program(len(FORMS)), x, y).operations)
    functions = {"forward": program(count), "value and gradient": wg.value_and_grad(program(count))}
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, f in functions.items():
            compiled = wg.compile(f, unroll=True)
            seconds = timeit(lambda compiled=compiled: compiled.trace(x, y), number=1)
            best[name] = min(best[name], seconds / len(compiled.trace(x, y).operations))
    return [Figure(f"trace of one operation, {name}", t, "s", target=TARGET) for name, t in best.items()]
