"""Optimisers and schedules against PyTorch: stored values everywhere, PyTorch itself where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from tools import torch_optim as oracle

import wengert as wg

STORED = np.load(oracle.STORED)


def own_steps(name: str) -> np.ndarray:
    data = oracle.problem()
    w, b = (wg.tensor(data[k], requires_grad=True) for k in ("w", "b"))
    method, hyperparameters = oracle.OPTIMIZERS[name]
    optimizer = getattr(wg.optim, method)([w, b], **hyperparameters)
    loss = lambda: (
        ((np.tanh(data["x"] @ w.T + b) - data["y"]) ** 2).mean() + 0.05 * (w * w).sum() + 0.05 * (b * b).sum()
    )
    return oracle.run_steps(optimizer, (w, b), loss, lambda p: p.detach().numpy())


def own_rates(name: str) -> np.ndarray:
    p, q = (wg.tensor([0.0], requires_grad=True) for _ in range(2))
    optimizer = wg.optim.SGD([{"params": [p]}, {"params": [q], "lr": 0.3}], lr=0.1, momentum=0.9)
    return oracle.run_schedule(oracle.SCHEDULES[name](wg.optim.lr_scheduler, optimizer), optimizer)


@pytest.mark.parametrize("name", oracle.OPTIMIZERS)
def test_a_hundred_steps(name):
    np.testing.assert_allclose(own_steps(name), STORED[name], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", oracle.SCHEDULES)
def test_forty_epochs(name):
    np.testing.assert_allclose(own_rates(name), STORED[f"schedule {name}"], rtol=1e-12, atol=1e-14)


def test_the_steps_differ():
    """Stored values that were all alike would prove nothing."""
    ends = np.stack([STORED[name][-1] for name in oracle.OPTIMIZERS if "lbfgs" not in name])
    distances = np.abs(ends[:, None] - ends).max(axis=-1)
    assert (distances[~np.eye(len(ends), dtype=bool)] > 1e-6).all()


@pytest.mark.skipif(find_spec("torch") is None or find_spec("optax") is None, reason="stored values are compared")
@pytest.mark.filterwarnings("ignore")
def test_stored_values_are_those_of_torch():
    for name in oracle.OPTIMIZERS:
        np.testing.assert_allclose(oracle.torch_steps(name), STORED[name], rtol=1e-11, atol=1e-12, err_msg=name)
    for name in oracle.SCHEDULES:
        np.testing.assert_allclose(oracle.torch_rates(name), STORED[f"schedule {name}"], rtol=1e-13, err_msg=name)
