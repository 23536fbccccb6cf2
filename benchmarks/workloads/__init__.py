"""The workloads, one problem a file."""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads import chain, diamond, elementwise, mlp, rosenbrock

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (chain.workload, rosenbrock.workload, elementwise.workload, mlp.workload, diamond.workload, diamond.fan)
}
