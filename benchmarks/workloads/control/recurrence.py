"""An array that is filled element by element, each from the one before: time and memory are linear in its length."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_jax, write_for_wengert


def data(n: int) -> tuple:
    """A parameter, and an array of the length that is asked for."""
    return np.array(0.9), np.zeros(n)


def loss(a: Any, x: Any, face: Face) -> Any:
    """The mean of x, where x[k] = sin(a x[k-1]) + 0.1, assigned in place."""
    import wengert as wg

    def step(k: Any, x: Any) -> Any:
        x[k] = np.sin(a * x[k - 1]) + 0.1
        return x

    return np.mean(wg.fori_loop(1, len(x), step, wg.zeros(len(x))))


def loss_by_scan(a: Any, x: Any, face: Face) -> Any:
    """The same with outputs that are stacked."""
    m = face.numpy

    def step(y: Any, _: Any) -> tuple:
        y = m.sin(a * y) + 0.1
        return y, y

    _, rows = face.scan(step, x[0], length=len(x) - 1)
    return m.sum(rows) / len(x)


workload = Workload(
    "recurrence",
    "x[k] = sin(a x[k-1]) + 0.1, assigned in place over 100 000 steps: value and gradient in a (JAX: `lax.scan`)",
    data=data,
    sizes={"large": 100_000},
    subject="wengert compiled",
    reference="wengert",
    family="loops",
)
write_for_wengert(workload, loss)
write_for_jax(workload, loss_by_scan)
