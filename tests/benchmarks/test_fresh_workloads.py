"""Programs that no mechanism was made for agree with eager code, and with finite differences along a direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks import runner
from benchmarks.agreement import check
from benchmarks.workloads import FRESH_WORKLOADS

import wengert as wg

OURS = "wengert compiled"


@pytest.mark.parametrize("name", FRESH_WORKLOADS)
def test_fresh_workloads_agree_with_eager_code(name, monkeypatch):
    workload = FRESH_WORKLOADS[name]
    size = {"size": workload.sizes["small"] // 3}
    monkeypatch.setattr(workload, "sizes", size)
    found, expected = [runner.observed(workload, "size", system) for system in (OURS, workload.reference)]
    check(name, found, expected, workload.tolerance)


@pytest.mark.parametrize("name", FRESH_WORKLOADS)
def test_their_gradients_are_those_of_finite_differences(name):
    workload = FRESH_WORKLOADS[name]
    params, *problem = workload.data(workload.sizes["small"] // 3)
    rng = np.random.default_rng(1)
    direction = wg.tree.map(lambda a: rng.normal(size=np.shape(a)), params)
    run = workload.implementations["wengert"]

    def value(t: float) -> Any:
        return run(wg.tree.map(lambda a, d: a + t * d, params, direction), *problem)()[0]

    _, *gradient = run(params, *problem)()
    slope = sum(float(np.sum(g * d)) for g, d in zip(gradient, wg.tree.leaves(direction), strict=True))
    step = 1e-6
    assert slope == pytest.approx((value(step) - value(-step)) / (2.0 * step), rel=1e-5, abs=1e-6)
