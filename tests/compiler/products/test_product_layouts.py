"""Products of matrices and vectors of any size, layout and dtype agree with NumPy, and do not depend on threads."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg

SIZES = [1, 7, 8, 9, 15, 16, 17, 33]
DTYPES = [np.float64, np.float32]


def close(out, x, y):
    """Whether a product is as exact as the sum of its terms allows."""
    exact = x.astype(np.float64) @ y.astype(np.float64)
    bound = np.abs(x).astype(np.float64) @ np.abs(y).astype(np.float64)
    assert out.shape == exact.shape
    assert out.dtype == x.dtype
    assert np.all(np.abs(out - exact) <= 4 * np.finfo(x.dtype).eps * x.shape[-1] ** 0.5 * bound)


def random(*shape, dtype=np.float64):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", [1, 2, 9, 33, 200])
@pytest.mark.parametrize("k", [1, 7, 8, 100, 513])
def test_matrices_and_vectors(m, k, dtype):
    f = wg.compile(lambda x, v, u: (x @ v, u @ x, x.T @ u, v @ x.T))
    x, v, u = random(m, k, dtype=dtype), random(k, dtype=dtype), random(m, dtype=dtype)
    for out, (a, b) in zip(f(x, v, u), ((x, v), (u, x), (x.T, u), (v, x.T)), strict=True):
        close(out, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("n", SIZES)
def test_sizes_around_blocks(m, n, dtype):
    f = wg.compile(lambda x, y: (x @ y, x @ y[::-1]))
    for k in (3, 16, 65):
        x, y = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
        for out, right in zip(f(x, y), (y, y[::-1]), strict=True):
            close(out, x, right)


PARTS = {
    "columns": lambda a: a[:, 3:43],
    "rows": lambda a: a[5:45, :40],
    "every second row": lambda a: a[::2, :40],
    "every second column": lambda a: a[:, ::2],
    "transposed columns": lambda a: a[:40, 2:42].T,
    "reversed": lambda a: a[::-1, 40::-1],
    "a part of a sum": lambda a: (a + 1.0)[:, 1:41],
    "a row": lambda a: a[3:4, 10:50],
    "a column": lambda a: a[10:50, 4:5],
}


@pytest.mark.parametrize("left", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("right", PARTS.values(), ids=PARTS)
def test_parts_of_matrices(left, right):
    a, b = random(90, 90), random(81, 90)
    k = min(left(a).shape[1], right(b).shape[0])
    f = wg.compile(lambda a, b: left(a)[:, :k] @ right(b)[:k])
    close(f(a, b), left(a)[:, :k], right(b)[:k])


@pytest.mark.parametrize("view", ["columns", "rows", "transposed columns"])
def test_parts_are_not_copied(view):
    f = wg.compile(lambda a, b: PARTS[view](a)[:, :40] @ b)
    steps = f.report(random(90, 90), random(40, 30)).steps
    assert len(steps) == 1, steps


def test_parts_of_vectors():
    a, v = random(60, 60), random(200)
    f = wg.compile(lambda a, v: (a @ v[3:63], a @ v[10:130:2], v[::-1][:60] @ a, a[:, 2] @ a, a[::2, 1:41] @ a[4, :40]))
    parts = (a, v[3:63]), (a, v[10:130:2]), (v[::-1][:60], a), (a[:, 2], a), (a[::2, 1:41], a[4, :40])
    for out, (x, y) in zip(f(a, v), parts, strict=True):
        close(out, x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(24, 5, 7), (30, 17, 40), (40, 33, 64), (70, 60, 50)])
def test_stacks(sizes, dtype):
    m, k, n = sizes
    x, y = random(6, m, k, dtype=dtype), random(6, k, n, dtype=dtype)
    heads, keys = random(m, 6, k, dtype=dtype), random(n, 6, k, dtype=dtype)
    deep = random(2, m, 3, k, dtype=dtype)
    cases = [
        (lambda x, y: (x, y), x, y),
        (lambda x, y: (x[0], y), x, y),
        (lambda x, y: (x, y[2]), x, y),
        (lambda x, y: (x.transpose(1, 0, 2), y.transpose(1, 2, 0)), heads, keys),
        (lambda x, y: (x.transpose(0, 2, 1, 3), y.reshape(2, 3, k, n)), deep, y),
        (lambda x, y: (x.transpose(0, 2, 1, 3), y[:3]), deep, y),
        (lambda x, y: (x[1:4, 1:], y[:3, :, 1:]), x, y),
        (lambda x, y: (x[:, :1], y), x, y),
        (lambda x, y: (x, y[:, :, :1]), x, y),
    ]
    for operands, a, b in cases:
        close(wg.compile(lambda a, b, operands=operands: np.matmul(*operands(a, b)))(a, b), *operands(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", [20, 33, 200, 257])
@pytest.mark.parametrize("k", [20, 300, 2500])
def test_gram_matrices(m, k, dtype):
    x = random(k, m, dtype=dtype)
    first, second, scaled = wg.compile(lambda x: (x.T @ x, x @ x.T if k < 400 else x[:40] @ x[:40].T, (2 * x).T @ x))(x)
    close(first, x.T, x)
    close(second, *((x, x.T) if k < 400 else (x[:40], x[:40].T)))
    close(scaled, 2 * x.T, x)
    np.testing.assert_array_equal(first, first.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [2048, 2500, 40_001])
@pytest.mark.parametrize(("m", "n"), [(20, 17), (9, 5), (64, 10)])
def test_long_sums(m, n, k, dtype):
    f = wg.compile(lambda x, y: x.T @ y)
    x, y = random(k, m, dtype=dtype), random(k, n, dtype=dtype)
    close(f(x, y), x.T, y)
    close(wg.compile(lambda x, y: x @ y)(x.T.copy(), y), x.T, y)
    close(wg.compile(lambda x, y: x @ y.T)(x.T.copy(), y.T.copy()), x.T, y)


@pytest.mark.parametrize("shapes", [((0, 5), (5, 3)), ((4, 0), (0, 3)), ((4, 5), (5, 0)), ((3, 0, 5), (3, 5, 2))])
def test_empty_products(shapes):
    x, y = map(np.ones, shapes)
    np.testing.assert_array_equal(wg.compile(np.matmul)(x, y), x @ y)
    np.testing.assert_array_equal(
        wg.compile(lambda x, y: x @ y[..., 0])(np.ones((70, 0)), np.ones((0, 2))), np.zeros(70)
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sizes", [(33, 17, 40), (300, 300, 1), (5, 300, 1), (20, 3001, 20), (1, 70, 90)])
def test_one_bad_element(sizes, bad):
    m, k, n = sizes
    for at in ((0, 0), (m - 1, k - 1), (m // 2, k // 3)):
        x, y = random(m, k), random(k, n)
        x[at] = bad
        for f in (lambda x, y: x @ y, lambda x, y: x.T.copy().T @ y):
            np.testing.assert_allclose(wg.compile(f)(x, y), x @ y, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(wg.compile(lambda x, y: x.T @ y)(x.T.copy(), y), x @ y, rtol=1e-9, atol=1e-12)


THREADS = """
import hashlib
import numpy as np, wengert as wg
rng = np.random.default_rng(0)
x, v, u = rng.standard_normal((1501, 1203)), rng.standard_normal(1203), rng.standard_normal(1501)
tall, w, r = rng.standard_normal((40_003, 20)), rng.standard_normal(20), rng.standard_normal(40_003)
stack = rng.standard_normal((301, 17, 33))
small = rng.standard_normal((331, 70)), rng.standard_normal((70, 90))
def f(x, v, u, tall, w, r, stack, a, b):
    return (x @ v, u @ x, tall @ w, tall.T @ r, tall.T @ np.tanh(tall @ w), tall.T @ tall,
            stack @ stack.transpose(0, 2, 1), a @ b)
out = [wg.compile(lambda *a, i=i: f(*a)[i])(x, v, u, tall, w, r, stack, *small) for i in range(8)]
print(*[hashlib.sha1(a.tobytes()).hexdigest() for a in out])
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
