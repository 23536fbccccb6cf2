"""Losses of what is sorted: quantiles, and the Lorenz curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Workload
from benchmarks.workloads.faces import Face, write_for_all


def data(n: int) -> tuple:
    """Positive numbers; the quantiles that they should have; the levels of these."""
    rng = np.random.default_rng(0)
    return rng.lognormal(size=n), np.sort(rng.lognormal(size=n)), (np.arange(n) + 0.5) / n


def loss(x: Any, quantiles: Any, levels: Any, face: Face) -> Any:
    """The mean quantile loss of the sorted numbers, and the distance of their Lorenz curve from equality."""
    m = face.numpy
    ordered = face.sort(x)
    error = quantiles - ordered
    shares = m.cumsum(ordered, axis=0) / m.sum(ordered)
    return m.mean(m.maximum(levels * error, (levels - 1.0) * error)) + m.mean((shares - levels) ** 2)


workload = Workload(
    "quantile",
    "quantile loss and Lorenz curve of 10 000 and 1 000 000 numbers, by `sort` and `cumsum`: value and gradient",
    data=data,
    sizes={"small": 10_000, "large": 1_000_000},
    subject="wengert compiled",
    reference="wengert",
    family="statistics",
)
write_for_all(workload, loss)
