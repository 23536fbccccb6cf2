"""Arrays from `zeros_like` and the like, assigned to step by step, are values of every mode."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

X = np.linspace(0.5, 1.5, 6)


def residual(x, like=np.zeros_like):
    r = like(x)
    r[1:-1] = x[2:] - 2.0 * x[1:-1] + x[:-2] ** 2
    r[0] = x[0]
    r[-1] = 0.0
    r[-1] += x[-1] ** 3
    return r


@pytest.mark.parametrize("like", [np.zeros_like, np.ones_like, np.empty_like, lambda x: np.full_like(x, 7.0)])
@pytest.mark.parametrize(
    "jacobian",
    [
        wg.jacfwd,
        wg.jacrev,
        lambda f: wg.compile(wg.jacfwd(f)),
        lambda f: lambda x: wg.vmap(wg.jacfwd(f))(np.stack([x, x]))[1],
        lambda f: lambda x: wg.sparse_jacobian(f)(x).toarray(),
        lambda f: lambda x: wg.sparse_jacobian(f, pattern=wg.sparsity(f, x, scope="local"))(x).toarray(),
    ],
    ids=["forward", "reverse", "compiled", "batched", "sparse", "local pattern"],
)
def test_jacobians(jacobian, like):
    expected = np.diag([1.0, *[-2.0] * 4, 3.0 * X[-1] ** 2])
    expected[np.arange(1, 5), np.arange(2, 6)] = 1.0
    expected[np.arange(1, 5), np.arange(4)] = 2.0 * X[:4]
    np.testing.assert_allclose(jacobian(lambda x: residual(x, like))(X), expected, rtol=1e-14, atol=1e-15)


def test_series_and_second_derivatives():
    np.testing.assert_allclose(wg.taylor(lambda t: residual(t * X)[2], 1.0, 2)[2], X[1] ** 2)
    energy = lambda x: (residual(x) ** 2).sum()
    np.testing.assert_allclose(wg.jacfwd(wg.jacfwd(energy))(X), wg.hessian(energy)(X))


def test_arrays_of_integers_have_no_derivative():
    assert wg.jvp(lambda x: np.zeros_like(x, dtype=int), (X,), (X,))[0].dtype == int


def test_filled_in_under_no_grad():
    def f(x):
        y = wg.zeros(2)
        with wg.no_grad():
            y[0] = x[0] * 2.0
        return y.sum()

    rows = np.arange(6.0).reshape(3, 2)
    for g in (f, wg.compile(f)):
        np.testing.assert_array_equal(wg.vmap(g)(rows), [0.0, 4.0, 8.0])
    np.testing.assert_array_equal(wg.compile(wg.vmap(f))(rows), [0.0, 4.0, 8.0])


@pytest.mark.parametrize(("make", "size"), [(wg.zeros, 1), (wg.ones, 1), (wg.eye, 2500)])
def test_a_trace_has_equal_elements_once(make, size):
    graph = wg.trace(lambda x: x + make(50), np.ones((50, 50)))
    assert [node.size for node in graph.constants] == [size]
    np.testing.assert_array_equal(graph.run([np.ones((50, 50))])[0], 1.0 + np.asarray(make(50)) * np.ones((50, 50)))
