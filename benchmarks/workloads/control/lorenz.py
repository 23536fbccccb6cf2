"""The Lorenz system by 1 000 Euler steps, in scalar code: as a scan, and as the loop that one writes in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_jax, write_for_wengert

DT = 0.01


def data(steps: int) -> tuple:
    """The three parameters, and the number of steps as the length of an array of no interest."""
    return np.array([10.0, 28.0, 8.0 / 3.0]), np.zeros(steps)


def step(x: Any, y: Any, z: Any, p: Any) -> tuple:
    """One step of Euler's method."""
    return x + DT * p[0] * (y - x), y + DT * (x * (p[1] - z) - y), z + DT * (x * y - p[2] * z)


def loss(p: Any, steps: Any, face: Face) -> Any:
    """A function of the state at the end."""
    (x, y, z), _ = face.scan(lambda s, _: (step(*s, p), None), (1.0, 1.0, 1.0), length=len(steps))
    return x * x + y + z


def loss_in_python(p: Any, steps: Any, face: Face) -> Any:
    """The same as a plain loop."""
    x = y = z = 1.0
    for _ in range(len(steps)):
        x, y, z = x + DT * p[0] * (y - x), y + DT * (x * (p[1] - z) - y), z + DT * (x * y - p[2] * z)
    return x * x + y + z


workload, in_python = [
    Workload(
        name,
        f"the Lorenz system, 1 000 Euler steps in scalar code, {form}: value and gradient in the parameters",
        data=data,
        sizes={"medium": 1_000},
        targets={"medium": {"jax": 0.5}},
        compile_targets={"medium": {"jax": 1.0}},
        subject="wengert compiled",
        reference="wengert",
        family="loops",
        tolerance=1e-6,  # the system is chaotic
    )
    for name, form in (("lorenz", "`scan`"), ("lorenz-for", "a Python `for`"))
]
write_for_wengert(workload, loss)
write_for_wengert(in_python, loss_in_python)
for made in (workload, in_python):
    write_for_jax(made, loss)
