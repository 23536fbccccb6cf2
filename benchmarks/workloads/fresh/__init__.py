"""Programs of different fields, drawn from papers and libraries, that no mechanism was made for."""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads.fresh import biology, images, learning, physics

FRESH_WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (*biology.workloads, *physics.workloads, *learning.workloads, *images.workloads)
}
