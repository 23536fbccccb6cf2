"""A mixture of Gaussians with full covariances, parametrised as in ADBench: small matrix products, a reduction, and
many points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload

DIMENSIONS, COMPONENTS = 10, 25
PARAMETERS = (0, 1, 2, 3)


def data(points: int) -> tuple:
    """Weights (K) before softmax, means (K, D), the inverse square roots of the covariances as log-diagonals (K, D) and
    what stands below the diagonal (K, D (D - 1) / 2), and the points (N, D).
    """
    rng = np.random.default_rng(0)
    normal = rng.standard_normal
    below = DIMENSIONS * (DIMENSIONS - 1) // 2
    means, points_ = normal((COMPONENTS, DIMENSIONS)), normal((points, DIMENSIONS))
    return normal(COMPONENTS), means, 0.3 * normal((COMPONENTS, DIMENSIONS)), 0.3 * normal((COMPONENTS, below)), points_


def packed_indices(dimensions: int) -> np.ndarray:
    """Where each entry of a matrix stands in its packed lower part.

    Everything else is at the next index, where a zero follows.
    """
    below = np.tril_indices(dimensions, -1)
    where = np.full((dimensions, dimensions), len(below[0]))
    where[below] = np.arange(len(below[0]))
    return where


def log_likelihood(weights: Any, means: Any, logs: Any, below: Any, points: Any, m: Any, logsumexp: Callable) -> Any:
    """The sum over n of log sum_k w_k N(x_n | mean_k, (Q_k^T Q_k)^-1), with the lower triangular Q_k = diag(exp(log_k))
    + below_k.
    """
    n, d = points.shape
    padded = m.concatenate([below, m.zeros((len(means), 1))], axis=1)
    q = m.exp(logs)[:, :, None] * m.eye(d) + padded[:, packed_indices(d)]
    z = (points - means[:, None]) @ m.swapaxes(q, 1, 2)
    exponents = (weights + logs.sum(axis=1))[:, None] - 0.5 * (z**2).sum(axis=2)
    return logsumexp(exponents, axis=0).sum() - n * logsumexp(weights, axis=0) - 0.5 * n * d * math.log(2.0 * math.pi)


workload = Workload(
    "gmm",
    "the log-likelihood of 1 000 and 10 000 points in 10 dimensions under 25 Gaussians with full covariances, "
    "compiled: gradient",
    data=data,
    sizes={"medium": 1_000, "large": 10_000},
    targets={"medium": {"jax": 1 / 1.3}, "large": {"jax": 1 / 2}},
    subject="wengert compiled",
    family="statistics",
)


@workload.implementation("wengert compiled")
def wengert(*problem: np.ndarray) -> Run:
    import wengert as wg

    gradient = wg.compile(wg.grad(lambda *a: log_likelihood(*a, np, wg.logsumexp), argnums=PARAMETERS))
    return lambda: gradient(*problem)


@workload.implementation("jax")
def jax(*problem: np.ndarray) -> Run:
    import jax
    import jax.numpy as jnp

    gradient = jax.jit(jax.grad(lambda *a: log_likelihood(*a, jnp, jax.nn.logsumexp), argnums=PARAMETERS))
    arrays = [jnp.asarray(a) for a in problem]
    return lambda: jax.block_until_ready(gradient(*arrays))


@workload.implementation("numpy")
def numpy(weights: np.ndarray, means: np.ndarray, logs: np.ndarray, below: np.ndarray, points: np.ndarray) -> Run:
    n, d = points.shape
    rows, columns = np.tril_indices(d, -1)

    def softmax(a: np.ndarray) -> np.ndarray:
        e = np.exp(a - a.max(axis=0))
        return e / e.sum(axis=0)

    def run() -> tuple:
        scales = np.exp(logs)
        q = np.zeros((len(means), d, d))
        q[:, rows, columns] = below
        np.einsum("kii->ki", q)[:] = scales
        centred = points - means[:, None]
        z = centred @ q.swapaxes(1, 2)
        shares = softmax((weights + logs.sum(axis=1))[:, None] - 0.5 * (z**2).sum(axis=2))
        totals = shares.sum(axis=1)
        dz = -shares[:, :, None] * z
        dq = dz.swapaxes(1, 2) @ centred
        dlogs = totals[:, None] + np.einsum("kii->ki", dq) * scales
        return totals - n * softmax(weights), -(dz @ q).sum(axis=1), dlogs, dq[:, rows, columns]

    return run
