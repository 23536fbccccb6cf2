"""A sum over shards in every mode: the numbers are those of the function on all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
from tests.distributed.shard_losses import join, make_data, residuals, squares

import wengert as wg

DATA = make_data()
W = np.array([0.3, -0.7, 1.1])


@pytest.fixture
def loss():
    return wg.distributed.sum(squares, DATA)


def whole(w):
    return squares(w, join(DATA))


def close(x, y):
    np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        wg.grad,
        wg.value_and_grad,
        wg.hessian,
        lambda f: lambda w: wg.jvp(f, (w,), (np.cos(w),)),
        lambda f: lambda w: wg.jvp(wg.grad(f), (w,), (np.cos(w),))[1],
        lambda f: lambda w: wg.grad(lambda v: wg.jvp(f, (v,), (np.cos(v),))[1])(w),
        lambda f: lambda w: wg.grad(lambda v: (wg.grad(f)(v) ** 2).sum())(w),
        lambda f: lambda w: wg.vmap(f)(np.stack([w, 2.0 * w])),
        lambda f: lambda w: wg.vmap(wg.grad(f))(np.stack([w, 2.0 * w])),
        lambda f: lambda w: np.exp(0.1 * f(w)) * w[0] + f(2.0 * w),
    ],
    ids=[
        "value",
        "grad",
        "value_and_grad",
        "hessian",
        "jvp",
        "hvp",
        "grad-of-jvp",
        "grad-of-grad",
        "vmap",
        "vmap-grad",
        "composed",
    ],
)
def test_transforms(loss, transform, compiled):
    run = wg.compile if compiled else lambda f: f
    for found, right in zip(wg.tree.leaves(run(transform(loss))(W)), wg.tree.leaves(transform(whole)(W)), strict=True):
        close(found, right)


def test_taylor_series(loss):
    line = lambda f: lambda t: f(W * t)
    close(wg.taylor(line(loss), 1.0, 4), wg.taylor(line(whole), 1.0, 4))


def test_a_gradient_is_one_run_of_the_shards():
    runs = []

    def make():
        runs.append(1)
        return DATA[0]

    loss = wg.distributed.sum(squares, [make], persist=False)
    loss(W)
    runs.clear()
    wg.value_and_grad(loss)(W)
    assert len(runs) == 1
    wg.jvp(wg.grad(loss), (W,), (W,))
    assert len(runs) == 2


def test_results_that_are_vectors():
    moments = lambda w, shard: shard[0].T @ residuals(w, shard)
    found = wg.distributed.sum(moments, DATA)
    right = lambda w: moments(w, join(DATA))
    close(found(W), right(W))
    close(wg.jacobian(found)(W), wg.jacobian(right)(W))
    close(wg.vjp(found, W)[1](np.ones(3))[0], wg.vjp(right, W)[1](np.ones(3))[0])
    close(wg.hessian(lambda w: (found(w) ** 2).sum())(W), wg.hessian(lambda w: (right(w) ** 2).sum())(W))


def test_trees_of_parameters_and_results():
    def f(p, scale, shard):
        x, y = shard
        r = x @ p["w"] + p["b"] - y
        return {"loss": scale * (r**2).sum(), "rows": np.int64(len(y)), "large": (r > 0).sum(), "any": (y > 0).any()}

    p = {"w": W, "b": np.float64(0.5)}
    found, right = wg.distributed.sum(f, DATA)(p, 2.0), f(p, 2.0, join(DATA))
    close(found["loss"], right["loss"])
    assert found["rows"] == right["rows"] == 21
    assert found["large"] == right["large"]
    assert found["any"] == 4  # shards in which there is one
    slope = wg.grad(lambda p: wg.distributed.sum(f, DATA)(p, 2.0)["loss"])(p)
    close(slope["w"], wg.grad(lambda p: f(p, 2.0, join(DATA))["loss"])(p)["w"])


def test_complex_parameters():
    f = lambda z, x: (np.abs(z * x[0]) ** 2).sum()
    z = np.array([1.0 + 2.0j, 0.5 - 1.0j, 2.0j])
    close(wg.grad(wg.distributed.sum(f, DATA))(z), wg.grad(lambda z: f(z, join(DATA)))(z))
    holomorphic = lambda z, x: ((z * x[0]) ** 2).sum()
    found = wg.distributed.sum(holomorphic, DATA)
    close(wg.grad(lambda z: found(z).real)(z), wg.grad(lambda z: holomorphic(z, join(DATA)).real)(z))


def test_captured_tensors_are_trained():
    model = wg.nn.Linear(3, 1, rng=0)
    loss = wg.distributed.sum(lambda shard: ((model(shard[0])[:, 0] - shard[1]) ** 2).sum(), DATA)
    optimizer = wg.optim.SGD(model.parameters(), lr=0.01)
    x, y = join(DATA)
    before = None
    for _ in range(3):
        weight, bias = (p.detach().numpy() for p in (model.weight, model.bias))
        right = ((x @ weight[0] + bias - y) ** 2).sum()
        optimizer.zero_grad()
        value = loss()
        value.backward()
        np.testing.assert_allclose(value.item(), right, rtol=1e-5)  # the parameters are single
        assert before is None or right < before
        before = right
        optimizer.step()


def test_captured_values_of_other_transforms():
    f = lambda a: wg.distributed.sum(lambda w, shard: (a * squares(w, shard)).sum(), DATA)(W)
    close(wg.grad(f)(3.0), whole(W))
    close(wg.vmap(f)(np.array([1.0, 2.0])), [whole(W), 2 * whole(W)])
    g = lambda a: wg.grad(wg.distributed.sum(lambda w, shard: squares(a * w, shard), DATA))(W)
    close(wg.jacobian(g)(2.0), wg.jacobian(lambda a: wg.grad(lambda w: whole(a * w))(W))(2.0))


def test_python_statements_are_read():
    def f(w, x):
        total = 0.0
        for k in range(3):
            total = total + (w**k * x).sum()
        if w > 0:
            return total
        return -total

    loss, x = wg.distributed.sum(f, [np.ones(2), np.ones(3)]), np.ones(5)
    for w in (2.0, -2.0):
        close(wg.grad(loss)(w), wg.grad(lambda w: f(w, x))(w))


def test_graphs_show_the_function():
    loss = wg.distributed.sum(lambda w, x: (w * x).sum(), [np.ones(3), np.ones(2)])
    graph = wg.trace(wg.value_and_grad(loss), 2.0).validate()
    assert [node.primitive.name for node in graph.operations].count("distributed_sum") == 1
    assert "shards of kind 0, 1 time:" in str(graph)
    assert "Σ" in graph.mathematics()
    only = wg.trace(wg.grad(loss), 2.0).optimize()  # the value is not computed for it
    (node,) = [node for node in only.operations if node.primitive.name == "distributed_sum"]
    assert len(node.spec) == 1


def test_an_explanation_has_all_shards():
    text = str(wg.explain(wg.distributed.sum(lambda w, x: w * x.sum(), [np.ones(3), np.ones(2)]), 2.0))
    assert "= 10" in text.splitlines()[0]


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "Newton-CG", "trust-ncg", "trust-exact"])
def test_minimize(loss, method):
    found, right = (wg.optimize.minimize(f, np.zeros(3), method=method) for f in (loss, whole))
    assert found.how == right.how
    assert found.nit == right.nit
    np.testing.assert_allclose(found.x, right.x, rtol=1e-6)


def test_least_squares():
    moments = lambda w, shard: shard[0].T @ residuals(w, shard)
    found = wg.optimize.least_squares(wg.distributed.sum(moments, DATA), np.zeros(3))
    right = wg.optimize.least_squares(lambda w: moments(w, join(DATA)), np.zeros(3))
    np.testing.assert_allclose(found.x, right.x, rtol=1e-8)
    assert found.nfev == right.nfev


def test_products_of_gauss_and_newton():
    product = lambda w, v, shard: wg.vjp(lambda w: residuals(w, shard), w)[1](
        wg.jvp(lambda w: residuals(w, shard), (w,), (v,))[1]
    )[0]
    J = wg.jacobian(lambda w: residuals(w, join(DATA)))(W)
    close(wg.distributed.sum(product, DATA)(W, np.ones(3)), J.T @ (J @ np.ones(3)))
    operator = wg.gauss_newton_operator(lambda w: residuals(w, join(DATA)), W)
    close(wg.distributed.sum(product, DATA)(W, np.ones(3)), operator @ np.ones(3))


def test_a_vmap_inside_of_a_shard():
    each = lambda w, shard: (wg.vmap(lambda x, y: wg.grad(lambda w: (np.tanh(x @ w) - y) ** 2)(w))(*shard) ** 2).sum()
    close(wg.distributed.sum(each, [s for s in DATA if len(s[1])])(W), each(W, join(DATA)))


def test_float32_stays():
    data = [x.astype(np.float32) for x, _ in DATA]
    loss = wg.distributed.sum(lambda w, x: ((x @ w) ** 2).sum(), data)
    value, slope = wg.value_and_grad(loss)(W.astype(np.float32))
    assert value.dtype == slope.dtype == np.float32


def test_no_grad_is_respected(loss):
    w = wg.tensor(W, requires_grad=True)
    with wg.no_grad():
        assert loss(w).grad_fn is None
    loss(w).backward()
    close(w.grad.numpy(), wg.grad(whole)(W))
