"""Optimisers on tensors: groups, frozen parameters, states, programs."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import tracemalloc

import numpy as np
import pytest
from tests.optim.small_problem import METHODS, loss, numbers, start, tensors, train

import wengert as wg


@pytest.mark.parametrize("name", METHODS)
def test_native_code_against_numpy(name, monkeypatch):
    def run():
        p = tensors()
        optimizer = getattr(wg.optim, name)(
            p.values(), lr=0.01, **{k: v for k, v in METHODS[name].items() if k != "lr"}
        )
        train(p, optimizer, 10)
        return np.concatenate([x.detach().numpy().ravel() for x in p.values()])

    native = run()
    monkeypatch.setitem(sys.modules, "wengert.compiler.call.compiled", None)
    np.testing.assert_allclose(run(), native, rtol=1e-12, atol=1e-14)


def test_buffers_are_written_in_place():
    p = wg.tensor(np.ones(64), requires_grad=True)
    optimizer = wg.optim.Adam([p])
    p.grad = np.ones(64)
    optimizer.step()
    optimizer.step()
    addresses = lambda: [x.value.ctypes.data for x in (p, *optimizer.state[p].values())]
    before = addresses()
    for _ in range(3):
        optimizer.step()
    assert addresses() == before
    assert optimizer.state[p]["step"].item() == 5.0


def test_what_others_hold_is_not_changed():
    p = tensors()
    optimizer = wg.optim.SGD(p.values(), lr=0.1)
    before, value = p["w"].detach(), (p["w"] ** 2).sum()
    expected = before.numpy().copy()
    for x in p.values():
        x.grad = np.ones(x.shape)
    optimizer.step()
    assert np.array_equal(before.numpy(), expected)
    assert np.allclose(p["w"].detach().numpy(), expected - 0.1)
    p["w"].grad = None
    value.backward()
    assert np.allclose(p["w"].grad.numpy(), 2 * expected)


def test_groups_have_their_own_hyperparameters():
    p = tensors()
    optimizer = wg.optim.SGD([{"params": [p["w"]]}, {"params": p["b"], "lr": 0.5, "maximize": True}], lr=0.1)
    old = {k: x.detach().numpy().copy() for k, x in p.items()}
    for x in p.values():
        x.grad = np.ones(x.shape)
    optimizer.step()
    np.testing.assert_allclose(p["w"].detach().numpy(), old["w"] - 0.1)
    np.testing.assert_allclose(p["b"].detach().numpy(), old["b"] + 0.5)
    extra = wg.tensor([1.0], requires_grad=True)
    optimizer.add_param_group({"params": [extra], "momentum": 0.9})
    extra.grad = np.ones(1)
    optimizer.step()
    optimizer.step()
    np.testing.assert_allclose(extra.detach().numpy(), [1.0 - 0.1 - 0.19])
    assert "momentum_buffer" in optimizer.state[extra]
    assert not optimizer.state[p["w"]]


def test_hyperparameters_change_without_a_new_program():
    p = wg.tensor([1.0], requires_grad=True)
    optimizer = wg.optim.SGD([p], lr=0.1)
    p.grad = np.ones(1)
    optimizer.step()
    (group,) = optimizer.param_groups
    known = optimizer.program.known
    count = sum(map(len, known.values()))
    group["lr"] = 0.25
    group["weight_decay"] = 0.5
    optimizer.step()
    np.testing.assert_allclose(p.item(), 0.9 - 0.25 * (1 + 0.45))
    assert sum(map(len, known.values())) == count
    group["momentum"] = 0.5  # another state: another program
    optimizer.step()
    optimizer.step()
    assert sum(map(len, known.values())) == count + 1
    assert group["lr"] == 0.25
    assert isinstance(group["lr"], float)


def test_frozen_and_thawed_parameters():
    """A parameter without a gradient is left alone, with its state, and goes on later."""
    p = tensors()
    optimizer = wg.optim.Adam(p.values(), lr=0.1)
    train(p, optimizer, 2)
    p["b"].requires_grad = False
    kept = p["b"].detach().numpy().copy()
    train(p, optimizer, 3)
    assert np.array_equal(p["b"].detach().numpy(), kept)
    assert [optimizer.state[p[k]]["step"].item() for k in p] == [5.0, 2.0]
    p["b"].requires_grad = True
    train(p, optimizer, 1)
    assert [optimizer.state[p[k]]["step"].item() for k in p] == [6.0, 3.0]
    assert not np.array_equal(p["b"].detach().numpy(), kept)


def test_no_state_without_a_gradient():
    p = tensors()
    optimizer = wg.optim.Adam(p.values())
    optimizer.step()
    assert not optimizer.state
    assert optimizer.state_dict()["state"] == {}


@pytest.mark.parametrize("name", METHODS)
def test_resuming_gives_the_same_bits(name):
    def run(parts):
        p, saved = tensors(), None
        for steps in parts:
            optimizer = getattr(wg.optim, name)(p.values(), **METHODS[name])
            if saved is not None:
                optimizer.load_state_dict(pickle.loads(saved))
            train(p, optimizer, steps)
            saved = pickle.dumps(optimizer.state_dict())
        return numbers(p)

    assert run([7]) == run([3, 4])


def test_loading_an_early_state_starts_again():
    p = tensors()
    optimizer = wg.optim.Adam(p.values(), lr=0.1)
    first = optimizer.state_dict()
    train(p, optimizer, 2)
    optimizer.param_groups[0]["lr"] = 0.2
    optimizer.load_state_dict(first)
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert all(not part.numpy().any() for state in optimizer.state.values() for part in state.values())


def test_copies_are_independent():
    p = tensors()
    optimizer = wg.optim.Adam(p.values())
    train(p, optimizer, 1)
    other, q = copy.deepcopy((optimizer, p))
    train(q, other, 1)
    assert [optimizer.state[p["w"]]["step"].item(), other.state[q["w"]]["step"].item()] == [1.0, 2.0]
    train(p, optimizer, 1)
    assert numbers(p) == numbers(q)


def test_a_closure_is_run_with_a_tape():
    p = tensors()
    optimizer = wg.optim.SGD(p.values(), lr=0.1)

    def closure():
        optimizer.zero_grad()
        value = loss(p)
        value.backward()
        return value

    with wg.no_grad():
        first = optimizer.step(closure)
    assert closure().item() < first.item()


def test_the_compiled_step_is_the_eager_one():
    def run(compiled):
        p = tensors()
        optimizer = wg.optim.Adam([{"params": [p["w"]]}, {"params": [p["b"]], "lr": 0.03}], lr=0.01, amsgrad=True)
        schedule = wg.optim.ExponentialLR(optimizer, 0.9)

        def step():
            optimizer.zero_grad()
            value = loss(p)
            value.backward()
            wg.nn.clip_grad_norm_(p.values(), 1.5)
            optimizer.step()
            return value

        run_step = wg.compile(step) if compiled else step
        values = []
        for i in range(12):
            values.append(run_step().item())
            if i % 3 == 2:
                schedule.step()
            if i == 6:
                p["b"].requires_grad = False
            if i == 8:
                p["b"].requires_grad = True
        return [*values, *np.concatenate([x.detach().numpy().ravel() for x in p.values()])], optimizer

    (eager, a), (native, b) = run(False), run(True)
    np.testing.assert_allclose(native, eager, rtol=1e-12)
    assert a.param_groups[0]["lr"] == b.param_groups[0]["lr"]
    for x, y in zip(a.state.values(), b.state.values(), strict=True):
        assert x["step"].item() == y["step"].item()


def test_accumulated_gradients_in_a_compiled_step():
    p = wg.tensor(np.array([1.0, 2.0]), requires_grad=True)
    optimizer = wg.optim.SGD([p], lr=0.1)

    @wg.compile
    def step(batches):
        optimizer.zero_grad()
        for x in batches:
            ((p * x) ** 2).sum().backward()
        optimizer.step()

    step([np.ones(2), 2 * np.ones(2)])
    np.testing.assert_allclose(p.detach().numpy(), np.array([1.0, 2.0]) * (1 - 0.1 * 2 * 5))


def test_memory_is_constant():
    """Over a thousand steps, without the garbage collector."""
    p = {k: wg.tensor(np.tile(x, 50), requires_grad=True) for k, x in start().items() if k == "b"}
    optimizer = wg.optim.Adam(p.values())
    objective = lambda: (p["b"] ** 2).sum()

    def run(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            objective().backward()
            optimizer.step()

    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        run(2500)  # fills the interpreter's lists of free objects
        first = tracemalloc.get_traced_memory()[0]
        run(1000)
        growth = tracemalloc.get_traced_memory()[0] - first
    finally:
        tracemalloc.stop()
        gc.enable()
    assert growth < 4096


def test_repr_shows_the_groups():
    p = tensors()
    assert repr(wg.optim.SGD(p.values(), lr=0.1)) == (
        "SGD(\n  2 parameters, 9 numbers: lr=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, "
        "maximize=False\n)"
    )
    assert repr(wg.optim.Lion(lr=0.1)) == "Lion(lr=0.1, betas=(0.9, 0.99), weight_decay=0.0, maximize=False)"


def test_zero_grad():
    p = tensors()
    optimizer = wg.optim.SGD(p.values())
    loss(p).backward()
    optimizer.zero_grad(set_to_none=False)
    assert all(not x.grad.numpy().any() for x in p.values())
    optimizer.zero_grad()
    assert all(x.grad is None for x in p.values())


def test_a_state_of_torch_can_be_loaded():
    """In PyTorch's form, with its own settings among the hyperparameters."""
    p = tensors()
    state = {
        i: {"step": np.float32(3.0), "exp_avg": np.full(x.shape, 0.1), "exp_avg_sq": np.full(x.shape, 0.2)}
        for i, x in enumerate(p.values())
    }
    known = {"lr": 0.02, "betas": (0.8, 0.9), "eps": 1e-8, "weight_decay": 0, "amsgrad": False, "maximize": False}
    group = {**known, "foreach": None, "capturable": False, "differentiable": False, "fused": None, "params": [0, 1]}
    optimizer = wg.optim.Adam(p.values())
    optimizer.load_state_dict({"state": state, "param_groups": [group]})
    for x in p.values():
        x.grad = np.ones(x.shape)
    optimizer.step()
    mean, variance = 0.8 * 0.1 + 0.2, 0.9 * 0.2 + 0.1
    step = 0.02 * mean / (1 - 0.8**4) / (np.sqrt(variance / (1 - 0.9**4)) + 1e-8)
    np.testing.assert_allclose(p["b"].detach().numpy(), start()["b"] - step, rtol=1e-12)
