"""Eager code beside PyTorch's: the median of all ratios, and the rows that are too slow."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.reports.figure import Figure
from benchmarks.runner import Measurement
from benchmarks.workloads import EVERY_WORKLOAD

EAGER, EAGER_PEER = "wengert", "torch"
WARM = 4.0
"""Seconds that a loop runs before it is timed, in which it compiles what comes again."""
MOST, MEDIAN = 1.2, 0.8
"""The largest ratio of a row, and of the median."""


def is_eager(name: str) -> bool:
    """Whether both systems have a workload in eager code."""
    return {EAGER, EAGER_PEER} <= set(EVERY_WORKLOAD[name].implementations)


def eager_figures(measurements: Sequence[Measurement]) -> list[Figure]:
    """The median, and each ratio that is too large."""
    ratios = {f"{m.workload} ({m.size})": m.ratio(EAGER_PEER) for m in measurements if EAGER_PEER in m.seconds}
    slow = [Figure(name, ratio, target=MOST) for name, ratio in ratios.items() if ratio > MOST]
    middle = Figure(f"median of {len(ratios)} ratios to PyTorch", median(ratios.values()), target=MEDIAN)
    return [middle, Figure("largest ratio", max(ratios.values()), target=MOST), *slow]
