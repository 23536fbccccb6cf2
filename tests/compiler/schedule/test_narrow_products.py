"""Products with tall, narrow matrices in one loop over rows: the predictors of a regression, and its gradient."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.core import machine

ROWS = [64, 65, 71, 1000]
COLUMNS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 20, 33, 63]


def loss(w, x, y):
    z = x @ w
    return np.sum(np.logaddexp(0.0, z) - y * z)


def expected(w, x, y):
    """The loss and its gradient in double precision."""
    w, x, y = [np.asarray(a, np.float64) for a in (w, x, y)]
    z = x @ w
    return np.sum(np.logaddexp(0.0, z) - y * z), x.T @ (1.0 / (1.0 + np.exp(-z)) - y)


def problem(m, shape, dtype=np.float64):
    rng = np.random.default_rng(m)
    k = shape[0]
    w, x = 0.3 * rng.standard_normal(shape), rng.standard_normal((m, k))
    return [a.astype(dtype) for a in (w, x, rng.random((m, *shape[1:])))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", COLUMNS)
@pytest.mark.parametrize("m", ROWS)
def test_values_and_gradients_of_regressions(m, k, dtype):
    w, x, y = problem(m, (k,), dtype)
    value, gradient = wg.compile(wg.value_and_grad(loss))(w, x, y)
    exact = expected(w, x, y)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(value, exact[0], rtol=50 * eps)
    np.testing.assert_allclose(gradient, exact[1], rtol=0, atol=50 * eps * np.abs(x).sum(0).max())


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("k", [7, 17, 20])
def test_several_predictors(k, n):
    w, x, y = problem(333, (k, n))
    f = wg.compile(wg.value_and_grad(loss))
    value, gradient = f(w, x, y)
    exact = expected(w, x, y)
    np.testing.assert_allclose(value, exact[0], rtol=1e-13)
    np.testing.assert_allclose(gradient, exact[1], rtol=1e-11, atol=1e-11)
    assert not f.report(w, x, y).routines


def test_a_matrix_is_read_once():
    w, x, y = problem(5000, (20,))
    f = wg.compile(wg.value_and_grad(loss))
    f(w, x, y)
    loops = [step for step in f.report(w, x, y).steps if "[5000]" in step]
    assert len(loops) == 1
    assert not f.report(w, x, y).routines


@pytest.mark.parametrize(
    "view",
    [lambda x: x, lambda x: x[:, 3:23], lambda x: x[::2, :20], lambda x: x[:, ::2], lambda x: x.T, lambda x: x[::-1]],
    ids=["rows", "columns", "every second row", "every second column", "transposed", "reversed"],
)
def test_any_layout(view):
    rng = np.random.default_rng(0)
    whole = rng.standard_normal((800, 40))
    inside = lambda w, x, y: loss(w, view(x), y)
    if view(whole).shape[0] < view(whole).shape[1]:
        whole = rng.standard_normal((20, 800))
    m, k = view(whole).shape
    w, y = 0.3 * rng.standard_normal(k), rng.random(m)
    value, gradient = wg.compile(wg.value_and_grad(inside))(w, whole, y)
    exact = expected(w, view(whole), y)
    np.testing.assert_allclose(value, exact[0], rtol=1e-13)
    np.testing.assert_allclose(gradient, exact[1], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("m", [64, 69])
@pytest.mark.parametrize("k", [8, 20])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_one_bad_element_stays_in_its_row_and_column(m, k, bad):
    w, x, y = problem(m, (k,))
    f = wg.compile(lambda w, x, y: (x @ w, x.T @ np.tanh(x @ w + y)))
    for row, column in ((0, 0), (m - 1, k - 1), (m - 5, 3)):
        changed = x.copy()
        changed[row, column] = bad
        z, g = f(w, changed, y)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(z, changed @ w, rtol=1e-12)
            np.testing.assert_allclose(g, changed.T @ np.tanh(changed @ w + y), rtol=1e-11)


@pytest.mark.parametrize("k", [5, 20])
def test_leapfrog_steps_in_a_loop(k):
    w, x, y = problem(200, (k,))
    force = wg.grad(loss)

    def leap(state, _):
        w, p = state
        p = p - 0.01 * force(w, x, y)
        return (w + 0.01 * p, p), None

    run = lambda w: wg.scan(leap, (w, np.zeros_like(w)), length=7)[0]
    f = wg.compile(run)
    for out, wanted in zip(f(w), run(w), strict=True):
        np.testing.assert_allclose(out, wanted, rtol=1e-11, atol=1e-13)


def test_wide_layers_are_not_written_out():
    rng = np.random.default_rng(0)
    x, w, v = rng.standard_normal((64, 16)), rng.standard_normal((16, 100)), rng.standard_normal((100, 2))
    f = wg.compile(lambda x, w, v: np.tanh(np.tanh(x @ w) @ v))
    np.testing.assert_allclose(f(x, w, v), np.tanh(np.tanh(x @ w) @ v), rtol=1e-9)
    assert f.report(x, w, v).routines


def test_columns_of_batches_are_transposed_in_registers():
    rng = np.random.default_rng(2)
    for n in (2, 3, 5, 6, 9, 12):
        x = rng.standard_normal((101, n, n))
        f = wg.compile(lambda x: (x @ x @ x).sum((-1, -2)))
        np.testing.assert_allclose(f(x), (x @ x @ x).sum((-1, -2)), rtol=1e-9, atol=1e-9)
        single = x.astype(np.float32)
        np.testing.assert_allclose(f(single), (x @ x @ x).sum((-1, -2)), rtol=0, atol=2e-3 * n**2)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("k", [3, 5, 12])
def test_the_order_of_a_product_does_not_depend_on_the_width_of_vectors(k, dtype):
    rng = np.random.default_rng(k)
    x, w = rng.normal(size=(101, 4, k)).astype(dtype), rng.normal(size=k).astype(dtype)
    g = wg.grad(lambda w: (np.tanh(x[:, 0] @ w) ** 2).sum())
    bits = set()
    for width in (8, 16, 32, 64):
        with machine.using(vector_bytes=width):
            found = wg.compile(lambda x, w: np.einsum("abc,c->ba", x, w))(x, w), wg.compile(g)(w)
        bits.add(b"".join(np.asarray(y).tobytes() for y in found))
    assert len(bits) == 1


@pytest.mark.parametrize("sum_bytes", [1, 8, 16, 32])
def test_sums_may_have_fewer_lanes_than_vectors(sum_bytes):
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(11, 23)), rng.normal(size=23)
    with machine.using(sum_bytes=sum_bytes, vector_bytes=32):
        np.testing.assert_allclose(wg.compile(lambda x: x @ w)(x), x @ w, rtol=1e-13)


@pytest.mark.parametrize("width", [8, 12, 16, 17])
def test_a_network_of_points_is_few_loops_over_points(width):
    """The terms of a product are no rows: loops over them would compute its factors again for each."""
    rng = np.random.default_rng(width)
    weights = [rng.standard_normal(shape) for shape in ((3, width), (width, width), (width,))]
    x = rng.standard_normal((500, 3))

    def f(weights, x):
        u, v, w = weights
        return np.mean(np.square(np.tanh(np.tanh(x @ u) @ v) @ w))

    g = wg.compile(wg.grad(f))
    for found, exact in zip(g(weights, x), wg.grad(f)(weights, x), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-13)
    assert len(g.report(weights, x).nests) <= 4
