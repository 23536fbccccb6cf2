"""Bodies that attract each other: the gradient of where they end with respect to where they started."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_all

STEPS, RATE, SOFTENING = 20, 0.01, 0.05


def data(n: int) -> tuple:
    """Positions, velocities and masses."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal((n, 3)), 0.1 * rng.standard_normal((n, 3)), rng.uniform(0.5, 1.5, n) / n]


def loss(params: Any, face: Face) -> Any:
    """The mean square of positions after steps of the leapfrog method."""
    m = face.numpy
    start, velocities, masses = params

    def accelerations(x: Any) -> Any:
        between = x[None, :, :] - x[:, None, :]
        squares = m.sum(between * between, axis=2) + SOFTENING
        return m.sum((masses / (squares * m.sqrt(squares)))[:, :, None] * between, axis=1)

    def leap(state: tuple, _: Any) -> tuple:
        x, v = state
        v = v + 0.5 * RATE * accelerations(x)
        x = x + RATE * v
        return (x, v + 0.5 * RATE * accelerations(x)), None

    (x, _), _ = face.scan(leap, (start, velocities), length=STEPS)
    return m.mean(x * x)


workload = Workload(
    "n-body",
    f"{STEPS} leapfrog steps of 16 and 128 bodies: the mean square of positions, and all gradients",
    data=lambda n: (data(n),),
    sizes={"small": 16, "large": 128},
    subject="wengert compiled",
    reference="wengert",
    family="loops",
)
write_for_all(workload, loss, is_compiled_by_torch=False)
