"""A neural differential equation, by 50 steps of the classical Runge-Kutta method."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_jax, write_for_wengert

BATCH, DIMENSION, HIDDEN = 32, 4, 32


def data(steps: int) -> tuple:
    """The weights of the right-hand side, initial states, targets, and the number of steps as a length."""
    rng = np.random.default_rng(0)
    normal = lambda scale, *shape: scale * rng.standard_normal(shape)
    params = [normal(0.5, DIMENSION, HIDDEN), normal(0.1, HIDDEN), normal(0.2, HIDDEN, DIMENSION), np.zeros(DIMENSION)]
    return params, normal(1.0, BATCH, DIMENSION), normal(1.0, BATCH, DIMENSION), np.zeros(steps)


def loss(params: Any, start: Any, targets: Any, steps: Any, face: Face) -> Any:
    """The mean squared difference between final states and targets."""
    m = face.numpy
    W1, b1, W2, b2 = params
    f = lambda y: m.tanh(y @ W1 + b1) @ W2 + b2
    h = 1.0 / len(steps)

    def step(y: Any, _: Any) -> tuple:
        k1 = f(y)
        k2 = f(y + 0.5 * h * k1)
        k3 = f(y + 0.5 * h * k2)
        k4 = f(y + h * k3)
        return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    y, _ = face.scan(step, start, length=len(steps))
    return m.mean((y - targets) ** 2)


workload = Workload(
    "neural-ode",
    "a neural differential equation, 4 dimensions, 32 hidden units, batch 32, 50 steps of RK4: value and gradients",
    data=data,
    sizes={"medium": 50},
    targets={"medium": {"jax": 0.4}},
    compile_targets={"medium": {"jax": 0.5}},
    subject="wengert compiled",
    reference="wengert",
    family="loops",
)
write_for_wengert(workload, loss)
write_for_jax(workload, loss)
