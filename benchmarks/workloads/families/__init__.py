"""Problems as users have them, by families, compiled: value and gradient, or values, beside their peers."""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads.families import (
    attention,
    bodies,
    convolution,
    counting,
    fourier,
    fractal,
    gaussian,
    kalman,
    network,
    options,
    quantile,
    quantum,
    regression,
    rows,
    small_matrices,
    stencils,
    warp,
)

FAMILY_WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        kalman.workload,
        *small_matrices.workloads,
        gaussian.process,
        *quantum.workloads,
        fourier.real,
        fourier.both,
        warp.workload,
        bodies.workload,
        *attention.workloads,
        *convolution.workloads,
        rows.embedding,
        rows.factorisation,
        *gaussian.normals,
        regression.logistic,
        regression.negative_binomial,
        regression.hmc,
        quantile.workload,
        options.workload,
        network.per_sample,
        network.hessian,
        *counting.workloads,
        fractal.workload,
        *stencils.workloads,
    )
}
