"""The likelihood of a Kalman filter: products and solves of 4 x 4 matrices in a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_all

DT = 0.1
STATES = 4


def data(steps: int) -> tuple:
    """Parameters: the transition of a point with a position and a velocity in the plane, and logarithms of variances.

    The matrix by which the state is seen, and what was seen.
    """
    rng = np.random.default_rng(0)
    transition = 0.99 * np.eye(STATES) + DT * np.eye(STATES, k=2)
    seen_by = np.eye(STATES) + 0.1 * rng.standard_normal((STATES, STATES))
    path = np.cumsum(rng.standard_normal((steps, STATES)), axis=0) * DT
    return [transition, np.full(STATES, -2.0), np.full(STATES, -1.0)], seen_by, path @ seen_by.T


def loss(params: Any, seen_by: Any, seen: Any, face: Face) -> Any:
    """The negative logarithm of the likelihood, without its constant."""
    m = face.numpy
    transition, noise, error = params[0], m.diag(m.exp(params[1])), m.diag(m.exp(params[2]))

    def step(state: tuple, y: Any) -> tuple:
        x, P = state
        x, P = transition @ x, transition @ P @ transition.T + noise
        S = seen_by @ P @ seen_by.T + error
        residual = y - seen_by @ x
        gain = m.linalg.solve(S, seen_by @ P).T
        surprise = 0.5 * (residual @ m.linalg.solve(S, residual) + m.linalg.slogdet(S)[1])
        return (x + gain @ residual, P - gain @ seen_by @ P), surprise

    start = m.zeros(STATES, dtype=seen.dtype), m.eye(STATES, dtype=seen.dtype)
    _, surprises = face.scan(step, start, seen)
    return m.sum(surprises)


workload = Workload(
    "kalman",
    "the likelihood of a Kalman filter with 4 states and 4 measurements, 100 and 1 000 steps: value and gradients",
    data=data,
    sizes={"small": 100, "large": 1_000},
    subject="wengert compiled",
    reference="wengert",
    tolerance=1e-8,
    family="linear algebra",
)
write_for_all(workload, loss, is_compiled_by_torch=False)
