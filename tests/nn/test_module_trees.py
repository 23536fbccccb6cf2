"""Modules as trees: every transform takes them as arguments."""

from __future__ import annotations

import numpy as np
import pytest
from tests.nn.test_module import Shared

import wengert as wg
from wengert import nn
from wengert.core import tree

X = np.random.default_rng(0).normal(size=(5, 3))


def mlp(seed: int = 0) -> nn.Sequential:
    rng = np.random.default_rng(seed)
    return nn.Sequential(
        nn.Linear(3, 4, rng=rng, dtype=float),
        nn.Tanh(),
        nn.LayerNorm(4, dtype=float),
        nn.Linear(4, 2, rng=rng, dtype=float),
    )


def loss(model, x=X):
    return (model(x) ** 2).mean()


def vector(module) -> np.ndarray:
    return np.concatenate([np.ravel(wg.stop_gradient(p)) for p in tree.flatten(module)[0]])


def backward_gradient(model) -> np.ndarray:
    model.zero_grad()
    loss(model).backward()
    found = np.concatenate([np.ravel(p.grad) for p in model.parameters()])
    model.zero_grad()
    return found


def test_gradients_are_modules():
    model = mlp()
    value, gradients = wg.value_and_grad(loss)(model)
    assert type(gradients) is nn.Sequential
    assert tree.flatten(gradients)[1] == tree.flatten(model)[1]
    assert [name for name, _ in gradients.named_parameters()] == [name for name, _ in model.named_parameters()]
    np.testing.assert_allclose(vector(gradients), backward_gradient(model), rtol=1e-13)
    assert float(value.detach()) == float(loss(model).detach())
    moved = tree.map(lambda p, t: p - 0.1 * t, model, gradients)
    assert float(loss(moved).detach()) < float(loss(model).detach())


def test_gradients_of_numbers_have_no_history():
    gradients = wg.grad(loss)(wg.stop_gradient(mlp()))
    assert not any(p.requires_grad for p in gradients.parameters())
    assert all(p.requires_grad for p in wg.grad(loss)(mlp()).parameters())


def test_shared_parameters_are_one_leaf():
    model = Shared()
    leaves, structure = tree.flatten(model)
    assert list(tree.leaf_paths(structure)) == [".first.weight", ".first.bias"]
    made = tree.unflatten(structure, [2.0 * p for p in leaves])
    assert made.first is made.again
    assert made.head.weight is made.first.weight
    np.testing.assert_allclose(vector(wg.grad(loss)(model)), backward_gradient(model), rtol=1e-13)
    doubled = tree.map(lambda p: 2.0 * p, model)
    np.testing.assert_allclose(doubled(X).detach(), made(X).detach())


def test_models_that_were_made_alike_can_be_mapped_together():
    models = [nn.Sequential(mlp(i), nn.BatchNorm1d(2, dtype=float)) for i in range(2)]
    assert tree.flatten(models[0])[1] != tree.flatten(models[1])[1]
    average = tree.map(lambda p, q: (p + q) / 2.0, *models)
    np.testing.assert_allclose(vector(average), (vector(models[0]) + vector(models[1])) / 2.0)
    assert average[1].running_mean is models[0][1].running_mean
    with pytest.raises(ValueError, match="different structures"):
        tree.map(lambda p, q: p, models[0], mlp())


def test_products_with_derivatives():
    model = mlp()
    flat = vector(model)
    structure, shapes = tree.flatten(model)[1], [p.shape for p in model.parameters()]

    def rebuilt(v):
        ends = np.cumsum([int(np.prod(s)) for s in shapes])
        parts = [wg.reshape(v[end - int(np.prod(s)) : end], s) for s, end in zip(shapes, ends, strict=True)]
        return tree.unflatten(structure, parts)

    v = np.random.default_rng(1).normal(size=flat.size)
    direction = tree.map(lambda p: p, wg.stop_gradient(rebuilt(v)))
    of_vector = lambda p: loss(rebuilt(p))
    hv = wg.hvp(of_vector, flat, v)
    np.testing.assert_allclose(vector(wg.hvp(loss, model, direction)), hv, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(wg.hessian_operator(loss, model) @ v, hv, rtol=1e-10, atol=1e-12)
    J = wg.jacobian(lambda p: rebuilt(p)(X).reshape(-1))(flat)
    np.testing.assert_allclose(
        wg.gauss_newton_operator(lambda m: m(X), model) @ v, J.T @ (J @ v), rtol=1e-10, atol=1e-12
    )
    tangent = wg.jvp(loss, (model,), (direction,))[1]
    np.testing.assert_allclose(tangent.detach(), backward_gradient(model) @ v, rtol=1e-10)
    np.testing.assert_allclose(wg.sparse_jacobian(lambda m: m(X).reshape(-1))(model).toarray(), J, atol=1e-14)
    assert wg.sparsity(lambda m: m(X).reshape(-1), model).shape == J.shape


def test_derivatives_of_all_modes_agree():
    wg.check.grads(loss, [wg.stop_gradient(mlp())], order=2)


def test_compiled_functions_take_modules():
    model = mlp()
    compiled = wg.compile(wg.value_and_grad(loss))
    value, gradients = compiled(model)
    np.testing.assert_allclose(value.detach(), loss(model).detach(), rtol=1e-14)
    np.testing.assert_allclose(vector(gradients), backward_gradient(model), rtol=1e-12)
    traces = len(compiled.known)
    compiled(mlp(1))
    assert len(compiled.known) == traces, "a model of the same structure has the same trace"
    value = wg.compile(loss)(model)
    value.backward()
    np.testing.assert_allclose(np.ravel(model[0].weight.grad), backward_gradient(model)[:12], rtol=1e-12)
    np.testing.assert_allclose(wg.compile(model)(X).detach(), model(X).detach(), rtol=1e-14)


def test_ensembles():
    models = [mlp(i) for i in range(3)]
    stacked = tree.map(lambda *ps: wg.stack(ps), *models)
    outs = wg.vmap(lambda m, x: m(x), in_axes=(0, None))(stacked, X)
    np.testing.assert_allclose(outs.detach(), np.stack([m(X).detach() for m in models]), rtol=1e-13)
    gradients = wg.vmap(wg.grad(loss))(stacked)
    for i, m in enumerate(models):
        np.testing.assert_allclose(
            np.concatenate([np.ravel(p[i].detach()) for p in gradients.parameters()]), backward_gradient(m), rtol=1e-12
        )
    axes = {name: 0 if name.endswith("weight") else None for name, _ in stacked.named_parameters()}
    pairs = zip(axes.values(), stacked.parameters(), models[0].parameters(), strict=True)
    mixed = tree.unflatten(tree.flatten(stacked)[1], [p if axis == 0 else q for axis, p, q in pairs])
    assert wg.vmap(lambda m: m(X), in_axes=(tree.map(lambda p: 0, stacked),))(stacked).shape == (3, 5, 2)
    with pytest.raises(ValueError, match="in_axes"):
        wg.vmap(lambda m: m(X), in_axes=({"nothing": 0},))(mixed)
    assert wg.vmap(lambda m: m(X), in_axes=(axes,))(mixed).shape == (3, 5, 2)


def test_per_sample_gradients():
    model = wg.stop_gradient(mlp())
    each = wg.vmap(wg.grad(loss), in_axes=(None, 0))(model, X)
    assert each[0].weight.shape == (5, 4, 3)
    for i in range(5):
        np.testing.assert_allclose(each[0].weight[i], wg.grad(loss)(model, X[i])[0].weight, rtol=1e-11, atol=1e-14)


def test_loops_carry_modules():
    model = wg.stop_gradient(mlp())
    update = lambda m: tree.map(lambda p, t: p - 0.1 * t, m, wg.grad(loss)(m))
    expected = update(update(update(model)))
    found = wg.fori_loop(0, 3, lambda i, m: update(m), model)
    np.testing.assert_allclose(vector(found), vector(expected), rtol=1e-12)
    np.testing.assert_allclose(
        vector(wg.compile(lambda m: wg.fori_loop(0, 3, lambda i, m: update(m), m))(model)), vector(expected), rtol=1e-12
    )


def test_searches_start_from_modules():
    y = X @ np.ones((3, 1))
    found = wg.optimize.minimize(lambda m: ((m(X) - y) ** 2).sum(), nn.Linear(3, 1, rng=0, dtype=float))
    np.testing.assert_allclose(found.x.weight, np.ones((1, 3)), atol=1e-4)
    bounds = {"weight": 0.5, "bias": None}, None
    start = tree.map(lambda p: np.full(p.shape, 0.7), nn.Linear(3, 1, dtype=float))
    held = wg.optimize.minimize(lambda m: ((m(X) + y) ** 2).sum(), start, bounds=bounds)
    assert float(held.x.weight.min()) >= 0.5


def test_a_mode_of_training_has_a_trace_of_its_own():
    model = nn.Sequential(nn.Linear(3, 4, rng=0, dtype=float), nn.BatchNorm1d(4, dtype=float))
    compiled = wg.compile(loss)
    other = nn.Sequential(nn.Linear(3, 4, rng=0, dtype=float), nn.BatchNorm1d(4, dtype=float))
    for _ in range(2):
        np.testing.assert_allclose(compiled(model).detach(), loss(other).detach(), rtol=1e-13)
    for name, b in model.named_buffers():
        np.testing.assert_allclose(b, dict(other.named_buffers())[name], rtol=1e-13)
        assert not b.requires_grad
    assert int(model[1].num_batches_tracked) == 2
    model.eval()
    other.eval()
    np.testing.assert_allclose(compiled(model).detach(), loss(other).detach(), rtol=1e-13)
    assert int(model[1].num_batches_tracked) == 2


def test_batch_statistics_in_transforms():
    model = nn.BatchNorm1d(3, dtype=float)
    wg.grad(lambda x: (model(x) ** 2).sum())(X)
    wg.jvp(lambda x: model(x), (X,), (X,))
    wg.hvp(lambda x: (model(x) ** 3).sum(), X, X)
    assert int(model.num_batches_tracked) == 3
    np.testing.assert_allclose(model.running_mean, X.mean(0) * (1.0 - 0.9**3), rtol=1e-12)
    with pytest.raises(wg.GradientError, match="inside vmap"):
        wg.vmap(model)(np.stack([X, X]))
    assert not model.running_mean.requires_grad
    model.eval()
    np.testing.assert_allclose(wg.vmap(model)(np.stack([X, X]))[1].detach(), model(X).detach(), rtol=1e-13)


def test_functions_of_modules_are_read():
    class Clipped(nn.Module):
        def __init__(self):
            self.scale = nn.Parameter(2.0)

        def forward(self, x):
            total = x.sum() * self.scale
            if total > 1.0:
                total = total * 0.5
            return total

    model = Clipped()
    run = wg.compile(lambda m, x: m(x))
    for x in (np.array([0.1, 0.2]), np.array([1.0, 2.0])):
        np.testing.assert_allclose(run(model, x).detach(), model(x).detach())
    within = wg.compile(nn.Sequential(nn.Identity(), model))
    np.testing.assert_allclose(within(np.array([1.0, 2.0])).detach(), 3.0)
