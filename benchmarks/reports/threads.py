"""Two threads beside one: a pool must not make small programs slower."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np

from benchmarks.reports.figure import Figure
from benchmarks.timing import calls_per_block

SIZES = (3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
BLOCK = 0.01
"""Seconds of calls in a row on one number of threads, before it is the other's turn."""
REST = 0.002
"""Seconds after which the threads of the pool are asleep."""
NOISE = 0.05
"""By so much the ratios of equal programs differ from 1."""


def rosenbrock(x: Any) -> Any:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def elementwise(x: Any) -> Any:
    return (np.tanh(np.sin(x) * x + np.exp(-(x**2))) * np.log(1.0 + x**2)).sum()


def softmax(x: Any) -> Any:
    """The entropies of rows of a hundred weights."""
    rows = np.exp(x.reshape(-1, 100) - x.reshape(-1, 100).max(axis=1, keepdims=True))
    weights = rows / rows.sum(axis=1, keepdims=True)
    return (weights * np.log(weights)).sum()


def network(parameters: Any) -> Any:
    """The loss of a network of 8 and 16 units on sixty points: its Hessian has small products and few large loops."""
    points = np.linspace(-1.0, 1.0, 480).reshape(60, 8)
    hidden = np.tanh(points @ parameters[:128].reshape(8, 16))
    return ((hidden @ parameters[128:] - points[:, 0]) ** 2).mean()


def programs() -> dict[str, Callable[[], Any]]:
    """Compiled programs of a few microseconds to some milliseconds, without BLAS, which has threads of its own."""
    import wengert as wg

    rng = np.random.default_rng(0)
    made: dict[str, Callable[[], Any]] = {}
    for f in (rosenbrock, elementwise, softmax):
        gradient = wg.compile(wg.value_and_grad(f))
        for size in SIZES:
            x = rng.standard_normal(size // 100 * 100)
            if "on all cores" in str(gradient.report(x)):
                made[f"{f.__name__} ({size})"] = lambda gradient=gradient, x=x: gradient(x)
    second, parameters = wg.compile(wg.hessian(network)), rng.standard_normal(144)
    second.report(parameters)
    made["hessian of a small network"] = lambda: second(parameters)
    return made


@contextmanager
def number_of_threads() -> Iterator[Callable[[int], None]]:
    """A function that sets the number of threads of compiled programs, for a while."""
    from wengert.compiler.threads.pool import LIMITS

    before = LIMITS.threads
    try:
        yield lambda count: setattr(LIMITS, "threads", count)
    finally:
        LIMITS.threads = before


def thread_figures(rounds: int = 25) -> list[Figure]:
    """The time of small compiled programs on two threads over that on one, in calls in a row and after rests."""
    figures = []
    for name, run in programs().items():
        figures.append(Figure(f"{name}: two threads / one, in a row", ratio_in_a_row(run, rounds)))
        figures.append(Figure(f"{name}: two threads / one, after a rest", ratio_after_rests(run, rounds)))
    return [*figures, Figure("worst: two threads / one", max(f.value for f in figures), target=1.0 + NOISE)]


def ratio_in_a_row(run: Callable[[], Any], rounds: int) -> float:
    """The best block of calls on two threads over the best on one."""
    best = {1: float("inf"), 2: float("inf")}
    with number_of_threads() as use:
        calls = calls_per_block(run, BLOCK)
        for _ in range(rounds):
            for count in best:
                use(count)
                run()
                start = perf_counter()
                for _ in range(calls):
                    run()
                best[count] = min(best[count], perf_counter() - start)
    return best[2] / best[1]


def ratio_after_rests(run: Callable[[], Any], rounds: int) -> float:
    """The median of single calls on two threads over that on one, each after threads have fallen asleep."""
    times: dict[int, list[float]] = {1: [], 2: []}
    with number_of_threads() as use:
        for _ in range(2 * rounds):
            for count, taken in times.items():
                use(count)
                sleep(REST)
                start = perf_counter()
                run()
                taken.append(perf_counter() - start)
    return median(times[2]) / median(times[1])
