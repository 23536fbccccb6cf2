"""Newton's iteration until all of a batch have converged: Kepler's equation, differentiated through the iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Run, Workload
from benchmarks.workloads.faces import Face, write_for_wengert

TOLERANCE = 1e-11


def data(n: int) -> tuple:
    """Eccentricities and mean anomalies."""
    rng = np.random.default_rng(0)
    return [rng.uniform(0.1, 0.9, n), rng.uniform(0.3, 2.8, n)]


def loss(params: Any, face: Face) -> Any:
    """The sum of squares of eccentric anomalies E, where E - e sin(E) = M."""
    import wengert as wg

    e, M = params
    is_wrong = lambda E: np.max(np.abs(E - e * np.sin(E) - M)) > TOLERANCE
    better = lambda E: E - (E - e * np.sin(E) - M) / (1.0 - e * np.cos(E))
    return np.sum(wg.while_loop(is_wrong, better, M) ** 2)


workload = Workload(
    "newton",
    "Newton's iteration for Kepler's equation until a batch of 10 000 has converged: value and gradients through it",
    data=lambda n: (data(n),),
    sizes={"large": 10_000},
    targets={"large": {"torch": 0.2}},
    subject="wengert compiled",
    reference="wengert",
    family="loops",
)
write_for_wengert(workload, loss)


@workload.implementation("torch")
def torch(params: list[np.ndarray]) -> Run:
    import torch

    e, M = [torch.tensor(p, requires_grad=True) for p in params]

    def run() -> tuple:
        E = M
        while True:
            sine = torch.sin(E)
            residual = E - e * sine - M
            if residual.detach().abs().max() <= TOLERANCE:
                break
            E = E - residual / (1.0 - e * torch.cos(E))
        value = (E * E).sum()
        return value, *torch.autograd.grad(value, [e, M])

    return run
