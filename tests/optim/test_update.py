"""Optimisers on trees: `init` and `update`, in compiled functions, loops and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from tests.optim.small_problem import METHODS, loss, numbers, start, tensors

import wengert as wg


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", METHODS)
def test_both_faces_give_the_same_bits(name, dtype):
    hyperparameters = {"lr": 0.01, "weight_decay": 0.1, **METHODS[name]}
    p = tensors(dtype)
    optimizer = getattr(wg.optim, name)(p.values(), **hyperparameters)
    pure = getattr(wg.optim, name)(**hyperparameters)
    params = start(dtype)
    state = pure.init(params)
    update = wg.compile(pure.update)
    for _ in range(5):
        grads = {k: np.array(v) for k, v in wg.grad(loss)(params).items()}
        for k, g in grads.items():
            p[k].grad = g
        optimizer.step()
        params, state = update(params, grads, state)
        assert numbers(p) == numbers(params)
    assert all(x.dtype == dtype for x in params.values())
    for part, tree in state.items():
        kept = [optimizer.state[p[k]][part] for k in p]
        expected = [tree] * 2 if part in ("step", "mu_product") else tree.values()
        assert all(np.array_equal(a.numpy(), b) for a, b in zip(kept, expected, strict=True))


def test_update_in_a_scan():
    optimizer = wg.optim.Adam(lr=0.1)

    @wg.compile
    def fit(params, rates):
        def body(carry, lr):
            params, state = carry
            value, grads = wg.value_and_grad(loss)(params)
            return optimizer.update(params, grads, state, lr=lr), value

        return wg.scan(body, (params, optimizer.init(params)), rates)

    (params, state), values = fit(start(), np.full(20, 0.1))
    assert values[-1] < values[0] - 1
    assert state["step"] == 20.0
    expected, other = start(), optimizer.init(start())
    for _ in range(20):
        expected, other = optimizer.update(expected, wg.grad(loss)(expected), other)
    np.testing.assert_allclose(params["w"], expected["w"], rtol=1e-10)


def test_update_is_differentiable():
    optimizer = wg.optim.SGD()

    def after(lr):
        params = start()
        return loss(optimizer.update(params, wg.grad(loss)(params), {}, lr=lr)[0])

    step = 1e-6
    np.testing.assert_allclose(wg.grad(after)(0.01), (after(0.01 + step) - after(0.01 - step)) / (2 * step), rtol=1e-6)


def test_update_of_tensors_gives_leaves():
    p = tensors()
    optimizer = wg.optim.SGD(lr=0.1)
    new, _ = optimizer.update(p, wg.grad(loss)(p), optimizer.init(p))
    assert all(x.is_leaf and x.requires_grad for x in new.values())
    assert numbers(p) == numbers(start())


def test_update_of_modules():
    model = wg.nn.Linear(3, 2, rng=0)
    x, y = np.ones((4, 3), np.float32), np.zeros((4, 2), np.float32)
    objective = lambda model: ((model(x) - y) ** 2).sum()
    method = wg.optim.Adam(lr=0.1)
    state, before = method.init(model), model.weight.detach().numpy().copy()
    new, state = method.update(model, wg.grad(objective)(model), state)
    assert isinstance(new, wg.nn.Linear)
    assert objective(new).item() < objective(model).item()
    assert new.weight.is_leaf
    assert np.array_equal(model.weight.detach().numpy(), before)
    assert state["exp_avg"].weight.shape == (2, 3)


def test_trees_that_do_not_match():
    optimizer, params = wg.optim.Adam(), start()
    state = optimizer.init(params)
    with pytest.raises(ValueError, match="grads has 1 arrays, and the parameters 2"):
        optimizer.update(params, [params["w"]], state)
    with pytest.raises(ValueError, match=r"grads\['b'\] has shape \(2,\)"):
        optimizer.update(params, {"w": params["w"], "b": np.ones(2)}, state)
    with pytest.raises(TypeError, match="Adam has no hyperparameter 'rate'"):
        optimizer.update(params, params, state, rate=0.1)
