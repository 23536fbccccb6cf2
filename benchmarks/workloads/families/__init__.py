"""Problems as users have them, by families, compiled: value and gradient, or values, beside their peers."""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads.families import (
    attention,
    convolution,
    counting,
    fourier,
    gaussian,
    kalman,
    quantile,
    quantum,
    regression,
    rows,
    small_matrices,
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
        *attention.workloads,
        *convolution.workloads,
        rows.embedding,
        rows.factorisation,
        *gaussian.normals,
        regression.logistic,
        regression.negative_binomial,
        regression.hmc,
        quantile.workload,
        *counting.workloads,
    )
}
