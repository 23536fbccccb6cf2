"""A deep program, compiled: 300 times the same three operations, on arrays that fit the nearest cache."""

from __future__ import annotations

import numpy as np

from benchmarks.workload import Run, Workload
from benchmarks.workloads import chain as eager

workload = Workload(
    "chain-compiled",
    "y = sin(y) * x + y, 300 times on 8 000 doubles, summed, compiled: value and gradient",
    data=lambda repeats: (np.linspace(0.0, 1.0, 8_000), repeats),
    sizes={"medium": 300},
    targets={"medium": {"jax": 1 / 1.5}},
    subject="wengert compiled",
)
workload.implementation("jax")(eager.jax)
workload.implementation("numpy")(eager.numpy)


@workload.implementation("wengert compiled")
def wengert(x: np.ndarray, repeats: int) -> Run:
    import wengert as wg

    value_and_grad = wg.compile(wg.value_and_grad(lambda a: eager.chain(a, np.sin, repeats)))
    return lambda: value_and_grad(x)
