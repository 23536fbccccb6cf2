"""The time that the cost of nests predicts for compiled workloads, beside the time that they take.

The compiler decides about loops by that cost (`compiler/nests/cost.py`). A prediction has an error factor: the larger
of both times over the smaller one. It knows the caches and cores of no machine but the one in its record.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import NamedTuple

from benchmarks.reports.figure import Figure
from benchmarks.roofline import PROGRAMS, programs_of, seconds_of_call
from benchmarks.runner import prepared
from benchmarks.tables import Table, quantity
from benchmarks.timing import BLOCK, REST, best_of_rounds
from benchmarks.workloads import EVERY_WORKLOAD
from wengert.compiler.program.step_costs import StepCost

WORST = 10
"""The workloads with the largest errors that are shown."""
SHARE = 4
"""Rounds are as many times shorter than in other benchmarks: some fall between whatever else the machine does."""
READING = "Each measured time is the best round of several; predictions know what is in the machine record, no more."
KERNEL = "kernel."
"""What the names of kernels contain: other steps are routines."""


class Prediction(NamedTuple):
    """A workload at one size: the measured and the predicted seconds, and how much of the latter kernels have."""

    workload: str
    size: int
    measured: float
    predicted: float
    share_of_kernels: float

    @property
    def error(self) -> float:
        """The larger time over the smaller one."""
        return max(self.measured / self.predicted, self.predicted / self.measured)


def predict(programs: Sequence[Sequence[StepCost]]) -> tuple[float, float] | None:
    """The seconds of programs that are called one after the other, and those of their kernels; None if steps of loops
    depend on numbers.
    """
    costs = [cost for program in programs for cost in program]
    if any(cost.runs is None for cost in costs):
        return None
    seconds = sum([cost.seconds * (cost.runs or 0) for cost in costs])
    kernels = sum([cost.seconds * (cost.runs or 0) for cost in costs if KERNEL in cost.name])
    return len(programs) * seconds_of_call() + seconds, kernels


def measure_prediction(name: str, size: str, rounds: int) -> Prediction | None:
    """Predict and time a workload."""
    workload = EVERY_WORKLOAD[name]
    found = predict(programs_of(workload, size))
    if found is None:
        return None
    run = prepared(workload, size, workload.subject)
    measured = best_of_rounds({name: run}, rounds, BLOCK / SHARE, REST / SHARE)[name]
    return Prediction(name, workload.sizes[size], measured, found[0], found[1] / found[0])


def mean_error(rows: Sequence[Prediction]) -> float:
    """The geometric mean of the errors."""
    return exp(sum([log(row.error) for row in rows]) / len(rows))


def of_loops(rows: Sequence[Prediction]) -> list[Prediction]:
    """The workloads whose kernels have at least half of the time."""
    return [row for row in rows if row.share_of_kernels >= 0.5]


def prediction_tables(rows: Sequence[Prediction]) -> list[Table]:
    """The means, and the workloads with the largest errors."""
    loops = of_loops(rows)
    means = [
        ["all", str(len(rows)), f"{mean_error(rows):.2f}"],
        ["those that are mostly loops", str(len(loops)), f"{mean_error(loops):.2f}" if loops else ""],
    ]
    worst = sorted(rows, key=lambda row: -row.error)[:WORST]
    lines = [
        [
            row.workload,
            f"{row.size:,}".replace(",", " "),
            quantity(row.measured, "s"),
            quantity(row.predicted, "s"),
            f"{row.error:.2f}",
            f"{100 * row.share_of_kernels:.0f} %",
        ]
        for row in worst
    ]
    columns = ["workload", "size", "measured", "predicted", "error", "loops"]
    return [
        Table("Predicted times: geometric mean of the error factor", ["workloads", "number", "error"], means),
        Table("The largest errors", columns, lines),
    ]


def prediction_figures(rows: Sequence[Prediction]) -> list[Figure]:
    """The error of each workload, and their mean."""
    return [
        *[Figure(f"{row.workload} ({row.size}): error of the predicted time", row.error) for row in rows],
        Figure("geometric mean of the errors of predicted times", mean_error(rows)),
    ]


def predictable(names: Sequence[str]) -> list[str]:
    """The compiled ones of some workloads."""
    return [name for name in names if name in PROGRAMS]
