"""Schedules: state, several groups, functions on trees, errors. Values are in test_against_torch.py."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg


def optimizer(lr: float = 0.8) -> wg.optim.SGD:
    return wg.optim.SGD([wg.tensor(1.0, requires_grad=True)], lr=lr, momentum=0.9)


MAKE = {
    "step": lambda o: wg.optim.StepLR(o, 2, 0.5),
    "cosine": lambda o: wg.optim.CosineAnnealingLR(o, 7),
    "one-cycle": lambda o: wg.optim.OneCycleLR(o, 1.0, 20),
    "sequence": lambda o: wg.optim.SequentialLR(o, [wg.optim.LinearLR(o, 0.1), wg.optim.ExponentialLR(o, 0.8)], [4]),
}


@pytest.mark.parametrize("name", MAKE)
def test_resuming(name):
    first = optimizer()
    schedule = MAKE[name](first)
    for _ in range(3):
        schedule.step()
    second = optimizer()
    other = MAKE[name](second)
    second.load_state_dict(first.state_dict())
    other.load_state_dict(schedule.state_dict())
    for _ in range(5):
        schedule.step()
        other.step()
        assert schedule.get_last_lr() == other.get_last_lr() == [first.param_groups[0]["lr"]]
        assert first.param_groups[0]["momentum"] == second.param_groups[0]["momentum"]


def test_a_plateau_resumes():
    first, second = optimizer(), optimizer()
    schedule, other = (wg.optim.ReduceLROnPlateau(o, patience=1, factor=0.5) for o in (first, second))
    for value in (3.0, 2.0, 2.0):
        schedule.step(wg.tensor(value))
    second.load_state_dict(first.state_dict())
    other.load_state_dict(schedule.state_dict())
    for s in (schedule, other):
        s.step(2.0)
        assert s.get_last_lr() == [0.4]


def test_rates_for_functions_on_trees():
    method = wg.optim.SGD(lr=0.8)
    schedule = wg.optim.ExponentialLR(method, 0.5)
    params = np.ones(2)
    state = method.init(params)
    for epoch in range(3):
        params, state = method.update(params, np.ones(2), state, lr=schedule.rates(epoch)[0])
    np.testing.assert_allclose(params, 1 - 0.8 - 0.4 - 0.2)
    schedule.step()
    assert schedule.get_last_lr() == [0.4]


def test_betas_cycle_too():
    p = wg.tensor(1.0, requires_grad=True)
    method = wg.optim.Adam([p])
    wg.optim.OneCycleLR(method, 1.0, 10)
    assert method.param_groups[0]["betas"] == (0.95, 0.999)


def test_errors():
    o = optimizer()
    with pytest.raises(TypeError, match="StepLR takes an optimiser"):
        wg.optim.StepLR([0.1], 2)
    with pytest.raises(ValueError, match="2 functions for 1 groups"):
        wg.optim.LambdaLR(o, [lambda t: 1.0] * 2)
    with pytest.raises(ValueError, match="one milestone fewer"):
        wg.optim.SequentialLR(o, [wg.optim.LinearLR(o)], [3])
    with pytest.raises(ValueError, match="another optimiser"):
        wg.optim.SequentialLR(o, [wg.optim.LinearLR(optimizer())], [])
    with pytest.raises(ValueError, match="total_steps, or epochs"):
        wg.optim.OneCycleLR(o, 1.0)
    with pytest.raises(ValueError, match="'cos' or 'linear'"):
        wg.optim.OneCycleLR(o, 1.0, 10, anneal_strategy="step")
    with pytest.raises(ValueError, match="Adagrad has no momentum"):
        wg.optim.OneCycleLR(wg.optim.Adagrad([wg.tensor(1.0)]), 1.0, 10)
    schedule = wg.optim.OneCycleLR(o, 1.0, 2)
    schedule.step()
    schedule.step()
    with pytest.raises(ValueError, match="has 2 steps, and this is step 3"):
        schedule.step()
    with pytest.raises(ValueError, match="mode='best'"):
        wg.optim.ReduceLROnPlateau(o, mode="best")
    with pytest.raises(ValueError, match="less than 1"):
        wg.optim.ReduceLROnPlateau(o, factor=1.0)
