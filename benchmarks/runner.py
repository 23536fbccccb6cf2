"""Solve a workload with every system, compare what they computed, and time them in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks.agreement import check
from benchmarks.systems import named
from benchmarks.timing import BLOCK, best_of_rounds
from benchmarks.workload import Run, Workload

COMPARED_CALLS = 3
"""What is compared is the result of the third call: a gradient that piles up, or an update that is lost, shows."""


@dataclass(frozen=True)
class Measurement:
    """The best time of each system on one workload at one size, in seconds."""

    workload: str
    size: str
    seconds: dict[str, float]
    targets: dict[str, float]
    missing: tuple[str, ...] = ()
    subject: str = "wengert"

    def ratio(self, peer: str) -> float:
        """Wengert's time in units of the peer's: below one, Wengert is faster."""
        return self.seconds[self.subject] / self.seconds[peer]


def prepared(workload: Workload, size: str, system: str) -> Run:
    """What a system runs, on a problem of its own."""
    named(system).prepare()
    return workload.implementations[system](*workload.data(workload.sizes[size]))


def observed(workload: Workload, size: str, system: str) -> list[np.ndarray]:
    """What a system computes, as arrays."""
    run = prepared(workload, size, system)
    for _ in range(COMPARED_CALLS):
        result = run()
    arrays = tuple(map(named(system).to_numpy, result))
    return [np.asarray(a) for a in workload.observe(workload.data(workload.sizes[size]), arrays)]


def repeat(run: Run, seconds: float) -> None:
    """Call a function until so many seconds have passed."""
    start = perf_counter()
    while perf_counter() - start < seconds:
        run()


def measure(
    workload: Workload,
    size: str,
    peers: Sequence[str],
    rounds: int,
    block: float = BLOCK,
    subject: str | None = None,
    warm: float = 0.0,
) -> Measurement:
    """Compare and time; `subject` is another face of Wengert than the one that the workload measures.

    Wengert runs for `warm` seconds before: a loop of eager operations becomes faster after its first steps.

    Raises DisagreementError, before anything is timed, if a system computes something else than the reference.
    """
    subject = subject or workload.subject
    wanted = [name for name in (subject, *peers) if name in workload.implementations]
    systems = [name for name in wanted if named(name).installed]
    reference = observed(workload, size, workload.reference)
    for name in systems:
        what = f"{named(name).title} on {workload.name} ({size})"
        check(what, observed(workload, size, name), reference, workload.tolerance)
    runs = {name: prepared(workload, size, name) for name in systems}
    repeat(runs[subject], warm)
    seconds = best_of_rounds(runs, rounds, block)
    given = workload.targets.get(size, {}) if subject == workload.subject else {}
    targets = {peer: target for peer, target in given.items() if peer in seconds}
    return Measurement(workload.name, size, seconds, targets, tuple(n for n in wanted if n not in systems), subject)
