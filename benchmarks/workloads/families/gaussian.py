"""Gaussian densities: the likelihood of a Gaussian process, and a multivariate normal at many points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_all

INPUTS = 3


def process_data(n: int) -> tuple:
    """Logarithms of length scales, of the variance and of the noise; the inputs; what was seen."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, (n, INPUTS))
    y = np.sin(x).sum(axis=1) + 0.1 * rng.standard_normal(n)
    return [np.zeros(INPUTS), np.array(0.3), np.array(-2.0)], x, y


def process_loss(params: Any, x: Any, y: Any, face: Face) -> Any:
    """The negative logarithm of the marginal likelihood, with a squared-exponential kernel."""
    m = face.numpy
    scales, variance, noise = params
    scaled = x / m.exp(scales)
    squares = m.sum((scaled[:, None] - scaled[None]) ** 2, axis=2)
    kernel = m.exp(variance) * m.exp(-0.5 * squares) + m.exp(noise) * m.eye(len(y), dtype=y.dtype)
    factor = m.linalg.cholesky(kernel)
    white = face.solve_triangular(factor, y[:, None])
    return 0.5 * m.sum(white**2) + m.sum(m.log(m.diagonal(factor))) + 0.5 * len(y) * math.log(2.0 * math.pi)


def normal_data(n: int, dimensions: int) -> tuple:
    """The mean and a square root of the covariance; the points."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(dimensions), rng.standard_normal((dimensions, dimensions))], rng.standard_normal(
        (n, dimensions)
    )


def normal_loss(params: Any, points: Any, face: Face) -> Any:
    """The negative logarithm of the likelihood of the points."""
    m = face.numpy
    mean, root = params
    n, d = points.shape
    factor = m.linalg.cholesky(root @ root.T + m.eye(d, dtype=points.dtype))
    white = face.solve_triangular(factor, (points - mean).T)
    return 0.5 * m.sum(white**2) + n * (m.sum(m.log(m.diagonal(factor))) + 0.5 * d * math.log(2.0 * math.pi))


process = Workload(
    "gaussian-process",
    "the likelihood of a Gaussian process at 100 and 800 points: value, and gradients in 5 parameters",
    data=process_data,
    sizes={"small": 100, "large": 800},
    subject="wengert compiled",
    reference="wengert",
    tolerance=1e-8,
    family="linear algebra",
    flops=lambda n: n**3,
)
normals = [
    Workload(
        f"normal-{d}",
        f"the density of a multivariate normal in {d} dimensions at 10 000 and 100 000 points: value and gradients",
        data=lambda n, d=d: normal_data(n, d),
        sizes={"small": 10_000, "large": 100_000},
        subject="wengert compiled",
        reference="wengert",
        tolerance=1e-9,
        family="statistics",
        traffic=lambda n, d=d: 8 * n * d,
    )
    for d in (5, 10)
]
write_for_all(process, process_loss)
for made in normals:
    write_for_all(made, normal_loss)
