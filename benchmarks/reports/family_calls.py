"""How long a program waits for its first result: with nothing on disk, and after another process, beside JAX."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.first_call import Job, in_fresh_process
from benchmarks.reports.figure import Figure
from benchmarks.systems import named
from benchmarks.workloads import EVERY_WORKLOAD

OURS, PEER = "wengert compiled", "jax"
COLD, WARM = 1.0, 0.2
"""The largest ratios of our first call to JAX's, which keeps nothing on disk: with an empty cache, and a full one."""


class FirstCalls(NamedTuple):
    """Seconds of first calls: ours with an empty cache, ours in the process after, and the peer's."""

    cold: float
    warm: float
    peer: float


def first_calls(workload: str, size: int, rounds: int) -> FirstCalls:
    """The best of several rounds, each call in a process of its own."""
    best = FirstCalls(*[float("inf")] * 3)
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            jobs = [Job(workload, size, system) for system in (OURS, OURS, PEER)]
            best = FirstCalls(*map(min, best, (in_fresh_process(job, cache, started=False).first for job in jobs)))
    return best


def first_call_figures(names: Sequence[str], sizes: Sequence[str], rounds: int = 2) -> list[Figure]:
    """First calls of these workloads over JAX's, of those that are written for both."""
    if not named(PEER).installed:
        return []
    figures = []
    for name in names:
        workload = EVERY_WORKLOAD[name]
        if {OURS, PEER} <= set(workload.implementations):
            for size in (workload.sizes[word] for word in workload.sizes if word in sizes):
                found = first_calls(name, size, rounds)
                title = f"{name} ({size:,})".replace(",", " ")
                figures += [
                    Figure(f"{title}: first call, Wengert", found.cold, "s"),
                    Figure(f"{title}: first call, Wengert / JAX (jit)", found.cold / found.peer, target=COLD),
                    Figure(f"{title}: in a second process, Wengert / JAX (jit)", found.warm / found.peer, target=WARM),
                ]
    return figures
