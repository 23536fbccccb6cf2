"""The workloads, one problem a file; those of compiled functions are in `compiled`."""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads import chain, convolution, diamond, elementwise, linalg, mlp, rosenbrock
from benchmarks.workloads.compiled import COMPILED_WORKLOADS

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
EVERY_WORKLOAD = WORKLOADS | COMPILED_WORKLOADS

__all__ = ["COMPILED_WORKLOADS", "EVERY_WORKLOAD", "WORKLOADS"]
