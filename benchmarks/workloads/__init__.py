"""The workloads, one problem a file.

Those of compiled functions are in `compiled`, those with loops in `control`, training steps in `training`, those of
users' problems by families in `families`, and in `fresh` programs that no mechanism was made for.
"""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads import chain, convolution, diamond, elementwise, linalg, mlp, rosenbrock
from benchmarks.workloads.compiled import COMPILED_WORKLOADS
from benchmarks.workloads.control import CONTROL_WORKLOADS
from benchmarks.workloads.families import FAMILY_WORKLOADS
from benchmarks.workloads.fresh import FRESH_WORKLOADS
from benchmarks.workloads.training import TRAINING_WORKLOADS

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        chain.workload,
        rosenbrock.workload,
        elementwise.workload,
        mlp.workload,
        diamond.workload,
        diamond.fan,
        *linalg.workloads,
        *convolution.workloads,
    )
}
EVERY_WORKLOAD = (
    WORKLOADS | COMPILED_WORKLOADS | CONTROL_WORKLOADS | TRAINING_WORKLOADS | FAMILY_WORKLOADS | FRESH_WORKLOADS
)

__all__ = [
    "COMPILED_WORKLOADS",
    "CONTROL_WORKLOADS",
    "EVERY_WORKLOAD",
    "FAMILY_WORKLOADS",
    "FRESH_WORKLOADS",
    "TRAINING_WORKLOADS",
    "WORKLOADS",
]
