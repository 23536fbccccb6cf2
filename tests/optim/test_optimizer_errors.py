"""Optimisers: what they cannot use, and what they say then."""

from __future__ import annotations

import numpy as np
import pytest
from tests.optim.small_problem import tensors, train

import wengert as wg


def test_parameters_that_are_none():
    w = wg.tensor([1.0], requires_grad=True)
    for given, kind, message in (
        ([], ValueError, "no parameters"),
        ([w, w], ValueError, "twice"),
        ([{"params": [w]}, {"params": [w]}], ValueError, "twice"),
        ([w * 2], ValueError, "no leaf: it was made by"),
        ([np.ones(2)], TypeError, "Parameter 0 of SGD is a ndarray"),
        (w, TypeError, r"one tensor.*\[p\]"),
        (3.0, TypeError, "a list of parameters"),
        ([wg.tensor([1j])], TypeError, "real and imaginary parts"),
    ):
        with pytest.raises(kind, match=message) as caught:
            wg.optim.SGD(given)
        assert "test_optimizer_errors.py" in str(caught.value)


def test_hyperparameters_out_of_range():
    w = wg.tensor([1.0], requires_grad=True)
    for name, hyperparameters, message in (
        ("SGD", {"lr": -0.1}, "SGD was given lr=-0.1"),
        ("SGD", {"lr": float("nan")}, "lr=nan"),
        ("Adam", {"betas": (0.9, 1.0)}, "less than 1"),
        ("Adam", {"eps": -1e-8}, "eps"),
        ("SGD", {"nesterov": True}, "Nesterov's momentum"),
    ):
        with pytest.raises(ValueError, match=message):
            getattr(wg.optim, name)([w], **hyperparameters)
    optimizer = wg.optim.Adam([w])
    with pytest.raises(ValueError, match="lr=-1"):
        optimizer.add_param_group({"params": [wg.tensor([1.0])], "lr": -1.0})
    with pytest.raises(ValueError, match="betas consists of 2 numbers"):
        optimizer.param_groups[0]["betas"] = (0.9,)
    with pytest.raises(KeyError, match="cannot be removed"):
        del optimizer.param_groups[0]["lr"]


def test_states_that_do_not_match():
    p = tensors()
    optimizer = wg.optim.Adam(p.values())
    train(p, optimizer, 1)
    state = optimizer.state_dict()
    with pytest.raises(ValueError, match=r"groups of \[1\] parameters, and the state dict of \[2\]"):
        wg.optim.Adam([p["w"]]).load_state_dict(state)
    with pytest.raises(ValueError, match="The state dict has no 'momentum'"):
        wg.optim.SGD(p.values()).load_state_dict(state)
    with pytest.raises(ValueError, match="and Adam needs"):
        wg.optim.Adam(p.values(), amsgrad=True).load_state_dict(
            state | {"param_groups": wg.optim.Adam(p.values(), amsgrad=True).state_dict()["param_groups"]}
        )
    with pytest.raises(ValueError, match=r"has shape \(3, 2\), and not \(3,\)"):
        wg.optim.Adam([p["b"], p["w"]]).load_state_dict(state)


def test_schedules_are_outside_of_programs():
    p = tensors()
    optimizer = wg.optim.SGD(p.values())
    schedule = wg.optim.StepLR(optimizer, 1)
    with pytest.raises(TypeError, match="StepLR.step.. inside a compiled function"):
        wg.compile(lambda x: (schedule.step(), x)[1])(1.0)
