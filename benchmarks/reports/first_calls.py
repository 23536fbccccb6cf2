"""How long it takes to compile, and how long a program that was compiled before waits for its first result."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

import numpy as np

from benchmarks.first_call import Job, in_fresh_process
from benchmarks.reports.figure import Figure
from benchmarks.reports.tracing import tracing_figures
from benchmarks.systems import named
from benchmarks.workloads import COMPILED_WORKLOADS

DEPTHS = (30, 100, 300, 1_000)
OURS = "wengert compiled"
AGAINST_JAX = {("chain-compiled", 300): 1 / 4, ("lstm", 12): 1 / 5}
"""The largest ratio of our time to compile to JAX's, by workload and size."""

WARM = 0.05
"""Seconds that the first call may take where the cache on disk has the code."""


def compile_figures(rounds: int = 3) -> list[Figure]:
    """Seconds to compile value and gradient, against JAX, and against a straight line through chains of depth 30 to 1
    000; and to trace one operation.
    """
    systems = [OURS, "jax"] if named("jax").installed else [OURS]
    jobs = [Job("chain-compiled", depth, OURS) for depth in DEPTHS]
    jobs += [
        Job(*problem, system) for problem in AGAINST_JAX for system in systems if Job(*problem, system) not in jobs
    ]
    seconds = compile_seconds(jobs, rounds)
    figures = [
        Figure(f"{job.workload} ({job.size}): compile, {named(job.system).title}", t, "s") for job, t in seconds.items()
    ]
    if "jax" in systems:
        for (name, size), target in AGAINST_JAX.items():
            ratio = seconds[Job(name, size, OURS)] / seconds[Job(name, size, "jax")]
            figures.append(Figure(f"{name} ({size}): compile, Wengert / JAX (jit)", ratio, target=target))
    intercept, slope, deviation = straight_line(
        DEPTHS, [seconds[Job("chain-compiled", depth, OURS)] for depth in DEPTHS]
    )
    return [
        *tracing_figures(),
        *figures,
        Figure("straight line through the chains: at depth 0", intercept, "s"),
        Figure("straight line through the chains: each step", slope, "s"),
        Figure("straight line through the chains: worst deviation", deviation, target=0.2),
    ]


def compile_seconds(jobs: Sequence[Job], rounds: int) -> dict[Job, float]:
    """The shortest time of a first call less that of a second, over several rounds in which the jobs take turns.

    Each is compiled in a process of its own with an empty cache, so that nothing is compiled twice; a small function is
    compiled before it, so that the start of the compiler does not count.
    """
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for job in jobs:
            with tempfile.TemporaryDirectory() as cache:
                seconds = in_fresh_process(job, cache, started=True)
            best[job] = min(best[job], seconds.first - seconds.second)
    return best


def straight_line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Intercept and slope of the line with the least squares of relative deviations, and the largest of these.

    >>> a, b, worst = straight_line([1, 2, 4], [3.0, 5.0, 9.0])
    >>> round(a, 6), round(b, 6), worst < 1e-12
    (1.0, 2.0, True)
    """
    measured = np.asarray(y)
    slope, intercept = np.polyfit(x, measured, 1, w=1 / measured)
    deviations = (intercept + slope * np.asarray(x)) / measured - 1
    return float(intercept), float(slope), float(np.abs(deviations).max())


def warm_figures(runs: int = 3) -> list[Figure]:
    """The first call of each compiled workload in a second process, with the cache on disk that an earlier one left."""
    figures = []
    with tempfile.TemporaryDirectory() as cache:
        for name, workload in COMPILED_WORKLOADS.items():
            for size in workload.sizes.values():
                job = Job(name, size, OURS)
                in_fresh_process(job, cache, started=False)
                first = min(in_fresh_process(job, cache, started=False).first for _ in range(runs))
                figures.append(Figure(f"{name} ({size}): first call", first, "s", target=WARM))
    return figures
