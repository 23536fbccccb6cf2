"""Products that are added to other numbers: as exact as sums of products, whatever is added and wherever it is."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg

SMALL, LARGE = 21, 130
"""Orders of matrices whose products are functions of their own, and by BLAS."""


def random(*shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(sum(shape) + seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def assert_sum(out, *terms):
    """Whether a sum of numbers, and of products of pairs, is as exact as the number of its terms allows."""
    exact = bound = 0.0
    for term in terms:
        x, y = term if isinstance(term, tuple) else (np.ones((1, 1)), term)
        wide = np.clongdouble if out.dtype.kind == "c" else np.longdouble
        exact = exact + (x.astype(wide) @ y.astype(wide) if isinstance(term, tuple) else term.astype(wide))
        bound = bound + (np.abs(x).astype(float) @ np.abs(y).astype(float) if isinstance(term, tuple) else np.abs(term))
    assert out.shape == exact.shape
    assert np.all(np.abs(out - exact) <= 40 * np.finfo(out.dtype).eps * bound)


def steps_of(f, *args):
    return [step.strip() for step in wg.compile(f).report(*args).steps]


SUMMANDS = {
    "whole": lambda c: c,
    "a row": lambda c: c[0],
    "a row as a matrix": lambda c: c[2:3],
    "a column": lambda c: c[:, 3:4],
    "a transpose": lambda c: c.T,
    "rows in reverse": lambda c: c[::-1],
    "columns in reverse": lambda c: c[:, ::-1],
    "computed": lambda c: np.exp(c),
    "one number": lambda c: c[1, 1],
    "a constant": lambda c: 2.5,
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("name", SUMMANDS)
def test_what_is_added(name, n, dtype):
    summand = SUMMANDS[name]
    a, b, c = (random(n, n, dtype=dtype, seed=i) for i in range(3))
    before = c.copy()
    added = np.broadcast_to(np.asarray(summand(c), a.dtype), (n, n))
    first, second = wg.compile(lambda a, b, c: (summand(c) + a @ b, a @ b.T + summand(c)))(a, b, c)
    assert_sum(first, added, (a, b))
    assert_sum(second, added, (a, b.T))
    np.testing.assert_array_equal(c, before)


@pytest.mark.parametrize("sizes", [(33, 17, 40), (9, 40, 5), (200, 3, 64), (7, 70, 100), (130, 140, 150)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_parts_of_larger_arrays(sizes, dtype):
    m, k, n = sizes
    c, a, b = random(m + 4, n + 5, dtype=dtype), random(m, k + 3, dtype=dtype), random(n, k, dtype=dtype)
    f = lambda c, a, b: c[3:-1, 2:-3] + a[:, 1:-2] @ b.T
    assert_sum(wg.compile(f)(c, a, b), c[3:-1, 2:-3], (a[:, 1:-2], b.T))
    assert len(steps_of(f, c, a, b)) == 1


@pytest.mark.parametrize("sizes", [(40, 300), (7, 513), (257, 100)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_vectors(sizes, dtype):
    m, k = sizes
    x, v, u, w = [random(*s, dtype=dtype) for s in ((m, k), (k,), (m,), (2 * m,))]
    f = lambda x, v, u, w: (x @ v + u, w[3 : m + 3] + x @ v, v + u @ x, v + x.T @ u, w[::2] + x @ v)
    out = wg.compile(f)(x, v, u, w)
    assert_sum(out[0], u, (x, v))
    assert_sum(out[1], w[3 : m + 3], (x, v))
    assert_sum(out[2], v, (u, x))
    assert_sum(out[3], v, (x.T, u))
    assert_sum(out[4], w[::2], (x, v))


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_sums_of_several_products(n):
    a, b, c, d = (random(n, n, seed=i) for i in range(4))
    r = random(n)
    for f, added in (
        (lambda a, b, c, d, r: a @ b + c @ d + r, 2),
        (lambda a, b, c, d, r: r + a @ b + c @ d, 2),
        (lambda a, b, c, d, r: (a @ b + r) + c @ d, 2),
        (lambda a, b, c, d, r: np.tanh(a @ b + c @ d), 1),
    ):
        steps = steps_of(f, a, b, c, d, r)
        assert sum("added to" in step for step in steps) == added, steps
        np.testing.assert_allclose(wg.compile(f)(a, b, c, d, r), f(a, b, c, d, r), rtol=1e-10, atol=1e-11)
    assert_sum(
        wg.compile(lambda a, b, c, d, r: a @ b + c @ d + r)(a, b, c, d, r), (a, b), (c, d), np.broadcast_to(r, a.shape)
    )


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_stacks_and_reshaped_products(n):
    x, y, z, w, r = random(2, n, n), random(2, n, n, seed=1), random(2, n, n, seed=2), random(n, n), random(n)
    f = lambda x, y, z, w, r: (z + x @ y, x @ w + r, x @ w + z, z[:1] + x @ y, x @ w + z[:, :1])
    for out, expected in zip(wg.compile(f)(x, y, z, w, r), f(x, y, z, w, r), strict=True):
        np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-11)
    assert len(steps_of(lambda x, w, r: x @ w + r, x, w, r)) == 1


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_values_that_are_read_later_stay(n):
    """What a product is added to is overwritten only if nothing else reads it."""
    a, b, c = (random(n, n, seed=i) for i in range(3))
    programs = [
        lambda a, b, c: (lambda p: (p + a @ c, p))(a @ b),
        lambda a, b, c: (lambda p: (p + a @ c, np.sin(p)))(a @ b),
        lambda a, b, c: (lambda p: (p + p @ c) @ p)(a @ b),
        lambda a, b, c: (lambda p: (p + a @ c, p + b @ c))(a @ b),
        lambda a, b, c: (lambda p: (p + a @ p, p.T))(np.exp(a)),
        lambda a, b, c: (c + a @ b, c + b @ a, c),
        lambda a, b, c: a + a @ a,
        lambda a, b, c: a.T + a.T @ b,
    ]
    for f in programs:
        out, expected = wg.compile(f)(a, b, c), f(a, b, c)
        pairs = zip(out, expected, strict=True) if isinstance(expected, tuple) else [(out, expected)]
        for x, y in pairs:
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_in_loops(n):
    u, w, b, xs = 0.1 * random(n, n), 0.1 * random(n, n, seed=1), random(n), random(7, n, n)

    def run(u, w, b, xs):
        def step(state, x):
            h, total = state
            h = np.tanh(x @ w + h @ u + b)
            return (h, total + h @ u), total

        return wg.scan(step, (xs[0], xs[1]), xs)

    (h, total), totals = run(u, w, b, xs)
    (compiled_h, compiled_total), compiled_totals = wg.compile(run)(u, w, b, xs)
    for x, y in ((compiled_h, h), (compiled_total, total), (compiled_totals, totals)):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
    assert sum("added to" in step for step in steps_of(run, u, w, b, xs)) == 3


def test_gradients_of_a_recurrent_network():
    w, u, b, xs = 0.1 * random(9, 20), 0.1 * random(20, 20), random(20), random(12, 16, 9)

    def loss(w, u, b, xs):
        return wg.scan(lambda h, z: (np.tanh(z + h @ u), h), np.zeros((16, 20)), xs @ w + b)[1].var()

    grad = wg.grad(loss, (0, 1, 2))
    for x, y in zip(wg.compile(grad)(w, u, b, xs), grad(w, u, b, xs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_one_bad_number(n, bad):
    a, b, c = (random(n, n, seed=i) for i in range(3))
    c[n - 1, 0] = bad
    out = wg.compile(lambda a, b, c: c + a @ b)(a, b, c)
    np.testing.assert_array_equal(np.isfinite(out), np.isfinite(c))


THREADS = """
import hashlib
import numpy as np, wengert as wg
rng = np.random.default_rng(0)
x, v, u = rng.standard_normal((1501, 1203)), rng.standard_normal(1203), rng.standard_normal(1501)
a, b, c = rng.standard_normal((331, 70)), rng.standard_normal((70, 90)), rng.standard_normal((331, 90))
f = wg.compile(lambda x, v, u, a, b, c: (u + x @ v, v + u @ x, c + a @ b, c[0] + a @ b))
print(*[hashlib.sha1(y.tobytes()).hexdigest() for y in f(x, v, u, a, b, c)])
"""


def test_the_bits_do_not_depend_on_threads():
    run = lambda n: subprocess.run(
        [sys.executable, "-c", THREADS],
        env={**os.environ, "WENGERT_NUM_THREADS": str(n)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert run(1) == run(2) == run(3)
