"""Functions that are compiled, and their derivatives: `wg.compile` beside `jax.jit` and C. One problem a file."""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads.compiled import chain, elementwise, lstm, mixture, mlp, reprojection, rosenbrock, sparse

COMPILED_WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        rosenbrock.workload,
        elementwise.workload,
        chain.workload,
        mixture.workload,
        mlp.workload,
        rosenbrock.hessian,
        reprojection.workload,
        lstm.workload,
        *sparse.workloads,
    )
}
