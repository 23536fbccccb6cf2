"""The heat equation on a square, and its gradient with respect to the initial temperatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_jax, write_for_wengert

SIDE, RATE = 64, 0.2


def data(steps: int) -> tuple:
    """Initial temperatures, temperatures at the end, and the number of steps as a length."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((SIDE, SIDE)), rng.standard_normal((SIDE, SIDE)), np.zeros(steps)


def loss(u: Any, targets: Any, steps: Any, face: Face) -> Any:
    """The mean squared difference between the temperatures at the end and targets; it is zero outside."""
    m = face.numpy

    def step(u: Any, _: Any) -> tuple:
        p = m.pad(u, 1)
        around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        return u + RATE * (around - 4.0 * u) - 0.01 * u**3, None

    u, _ = face.scan(step, u, length=len(steps))
    return m.mean((u - targets) ** 2)


workload = Workload(
    "heat",
    "a heat equation that loses heat by u^3, 64 x 64, 100 steps: value and gradient in the initial temperatures",
    data=data,
    sizes={"medium": 100},
    targets={"medium": {"jax": 0.6}},
    compile_targets={"medium": {"jax": 0.5}},
    subject="wengert compiled",
    reference="wengert",
    family="stencils",
)
write_for_wengert(workload, loss)
write_for_jax(workload, loss)
