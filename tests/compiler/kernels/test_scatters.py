"""Scatters in native code: rows as vectors, lanes one after the other, ranges of the result on all cores."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.nests.decisions import Decision, find
from wengert.compiler.nests.legality import refuse
from wengert.compiler.nests.policy import decide
from wengert.compiler.threads.pool import LIMITS
from wengert.core import machine
from wengert.ops.indexing.subscripts import add_at, set_at


@contextmanager
def threads(count: int):
    """As if the machine had so many cores."""
    before = LIMITS.threads
    LIMITS.threads = count
    try:
        yield
    finally:
        LIMITS.threads = before


def share(nest, machine):
    """The decisions of the policy, but threads share what they may: the loop, or else ranges of the result."""
    found = [d for d in decide(nest, machine) if d.kind not in ("threads", "ranges")]
    lanes = find(found, "lanes")
    shared = [Decision(kind, 0, 1 if lanes is None else lanes.amount) for kind in ("threads", "ranges")]
    return [*found, *[d for d in shared if refuse(nest, d, found) is None][:1]]


def numbers(shape, dtype: str = "f8"):
    x = np.random.default_rng(0).integers(-1000, 1000, shape)
    return (x / 64).astype(dtype) if dtype[0] == "f" else x.astype(dtype)


def indices(n: int, shape):
    return np.random.default_rng(1).integers(-n, n, shape)


KEYS = {
    "elements": ((40,), lambda i, j: i % 40, (1000,)),
    "rows": ((40, 16), lambda i, j: i % 40, (1000,)),
    "odd rows": ((40, 21), lambda i, j: i % 40, (1000,)),
    "short rows": ((40, 3), lambda i, j: i % 40, (1000,)),
    "rows of matrices": ((40, 3, 5), lambda i, j: i % 40, (100,)),
    "columns": ((21, 40), lambda i, j: (slice(None), i % 40), (100,)),
    "pairs": ((30, 40), lambda i, j: (i % 30, j % 40), (10, 33)),
    "pairs and rows": ((3, 4, 9), lambda i, j: (i % 3, j % 4), (50,)),
    "apart": ((30, 4, 40), lambda i, j: (i % 30, slice(1, 3), j % 40), (50,)),
    "strided rows": ((40, 30), lambda i, j: (i % 40, slice(3, None, 2)), (70,)),
    "a number": ((40, 30), lambda i, j: (i % 40, 7), (70,)),
    "one element": ((40,), lambda i, j: i % 40, (1,)),
    "one row": ((40, 30), lambda i, j: i % 40, ()),
    "no element": ((40,), lambda i, j: i % 40, (0,)),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "c16", "c8"])
@pytest.mark.parametrize(("shape", "key", "count"), KEYS.values(), ids=KEYS)
def test_additions_and_assignments(shape, key, count, dtype):
    i, j = indices(1000, count), indices(999, count)
    x = numbers(shape, dtype)
    v = numbers(x[key(i, j)].shape, dtype)
    for update in (add_at, set_at):
        f = wg.compile(lambda x, v, i, j, update=update: update(x, key(i, j), v))
        assert not f.report(x, v, i, j).fallbacks
        np.testing.assert_array_equal(f(x, v, i, j), update(x, key(i, j), v))
    if dtype[0] == "f":
        gradient = wg.grad(lambda x, v, i, j: (x[key(i, j)] * v).sum())
        np.testing.assert_allclose(wg.compile(gradient)(x, v, i, j), gradient(x, v, i, j), rtol=1e-6)


LARGE = {
    "elements": ((5000,), (400_000,), ()),
    "rows": ((5000, 16), (30_000,), (16,)),
    "odd rows": ((5000, 21), (30_000,), (21,)),
    "few elements": ((3,), (400_000,), ()),
    "batch": ((32, 200), (20_000,), None),
}


@pytest.mark.parametrize(("shape", "count", "row"), LARGE.values(), ids=LARGE)
def test_threads_do_not_change_bits(shape, count, row):
    rng = np.random.default_rng(0)
    x, n = rng.standard_normal(shape), shape[0] if row is not None else shape[1]
    i = rng.integers(-n, n, count)
    key = (lambda i: i) if row is not None else (lambda i: (slice(None), i))
    v = rng.standard_normal((*count, *row) if row is not None else (shape[0], *count))
    f = wg.compile(lambda x, v, i: add_at(x, key(i), np.sin(v) * 2.0))
    assert "on all cores" in str(f.report(x, v, i))
    found = []
    for n in (1, 2, 3, 7):
        with threads(n):
            found.append(f(x, v, i))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].view(np.int64), other.view(np.int64))
    np.testing.assert_allclose(found[0], add_at(x, key(i), np.sin(v) * 2.0), rtol=1e-9, atol=1e-9)
    bad = i.copy()
    bad[-1] = n + 5000
    with threads(2), pytest.raises(IndexError):
        f(x, v, bad)


def warp(image, rows, columns):
    i, j = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int32)
    down, right = rows - i, columns - j
    upper = image[i, j] * (1.0 - right) + image[i, j + 1] * right
    lower = image[i + 1, j] * (1.0 - right) + image[i + 1, j + 1] * right
    return upper * (1.0 - down) + lower * down


@pytest.mark.parametrize("n", [9, 300])
def test_several_scatters_share_one_array(n):
    rng = np.random.default_rng(0)
    image = rng.standard_normal((n, n))
    where = rng.uniform(0.0, n - 1.001, (2, n + 1, n))
    gradient = wg.grad(lambda image, where: (warp(image, *where) ** 2).sum(), (0, 1))
    compiled = wg.compile(gradient)
    expected = gradient(image, where)
    for count in (1, 2):
        with threads(count):
            for y, z in zip(compiled(image, where), expected, strict=True):
                np.testing.assert_allclose(y, z, rtol=1e-10, atol=1e-10)
    report = str(compiled.report(image, where))
    assert report.count("add_at") == 1
    assert "-> scatter" not in report


def test_additions_that_depend_on_each_other_are_not_joined():
    def f(x, i):
        y = add_at(x, i, np.sin(x[i]))
        return add_at(y, i, y[i] * 0.5)

    x, i = numbers((50,)), indices(50, (300,))
    np.testing.assert_allclose(wg.compile(f)(x, i), f(x, i), rtol=1e-12)


def test_values_that_read_the_updated_array():
    def f(x, i):
        y = x * 2.0
        return add_at(y, i, y[i + 1] * np.cos(y[i])), y[3]

    x, i = numbers((500,)), indices(499, (300,))
    for found, expected in zip(wg.compile(f)(x, i), f(x, i), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_signs_of_zeros_stay():
    x = np.full((40, 21), -0.0)
    found = wg.compile(lambda x, v, i: add_at(x, i, v))(x, np.full((5, 21), -0.0), np.array([1, 2, 2, 1, 0]))
    assert np.signbit(found).all()


def test_a_wrong_number_of_threads_is_not_ignored():
    with threads(5):
        assert ctypes.c_int64.from_address(ctypes.addressof(LIMITS)).value == 5


@pytest.mark.parametrize("n", [0, 2])
def test_a_small_program_updates_an_empty_array(n):
    z = numbers((n,))
    sine, updated = wg.compile(lambda z: (wg.sin(z[:1]) + 1.0, z.at[0:0].set(1.0)))(wg.asarray(z))
    np.testing.assert_allclose(sine, np.sin(z[:1]) + 1.0, rtol=1e-15)
    np.testing.assert_array_equal(updated, z)


TWO_USES = {
    "terms": lambda a, s, t: (a[s] ** 3).mean() + (a[t] ** 2).mean(),
    "difference": lambda a, s, t: ((a[s] - a[t]) ** 2).mean(),
    "choice": lambda a, s, t: (np.where(s[:, None] > t[:, None], a[s], a[t]) ** 2).mean(),
    "taken": lambda a, s, t: (np.take(a, s, axis=0) * np.take(a, t, axis=0)).sum(),
    "added": lambda a, s, t: (a.at[s].add(a[t]).at[t].add(a[s]) ** 2).sum(),
}


@pytest.mark.parametrize("use", TWO_USES)
def test_threads_add_rows_at_two_indices_to_one_array(use):
    """Each thread adds the rows of its range only, also where one of two targets is in the range and the other not."""
    rng = np.random.default_rng(3)
    h, b = rng.normal(size=(12, 3)), rng.normal(size=(3, 16))
    s, t = rng.integers(0, 12, 40), rng.integers(0, 12, 40)
    loss = lambda h, b: TWO_USES[use](h @ b, s, t)
    expected = wg.grad(loss, argnums=(0, 1))(h, b)
    bits = set()
    for count in (1, 2, 4, 8):
        with machine.using(threads=count, **SHRUNKEN):
            g = wg.compile(wg.grad(loss, argnums=(0, 1)), decide=share)
            assert any("ranges" in nest for nest in g.report(h, b).nests)
            for _ in range(20):
                found = g(h, b)
                for x, y in zip(found, expected, strict=True):
                    np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
                bits.add(b"".join(x.tobytes() for x in found))
    assert len(bits) == 1


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_parts_of_a_scatter_along_a_loop_end_with_a_vector(dtype):
    z, v = numbers((101, 33), dtype), numbers(101, dtype)
    expected = z.copy()
    expected[:, 0] += v
    for count in (1, 2, 3, 4, 8):
        with machine.using(threads=count, **SHRUNKEN):
            f = wg.compile(lambda z, v: (z * 1.0).at[:, 0].add(v), decide=share)
            np.testing.assert_array_equal(f(wg.asarray(z), v), expected)


def test_the_order_of_additions_does_not_depend_on_the_width_of_vectors():
    """The axis with lanes is the innermost loop: an axis of index arrays is not, if it would pass another one."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(5, 5))
    v, w = rng.normal(size=(2, 11, 5, 2))
    i = rng.integers(0, 5, (2, 11))
    f = lambda x, v, w, i: add_at(x, i, np.transpose(v * w, (2, 0, 1)))
    bits = set()
    for width in (8, 16, 32, 64):
        for kind in ("", "rows"):
            leave_out = lambda nest, machine, kind=kind: [d for d in decide(nest, machine) if d.kind != kind]
            with machine.using(threads=1, vector_bytes=width):
                bits.add(np.asarray(wg.compile(f, decide=leave_out)(x, v, w, i)).tobytes())
    assert len(bits) == 1


SHRUNKEN = {
    "min_operations_per_thread": 1,
    "min_operations_to_wake": 1,
}
"""A machine whose threads share the smallest kernels."""
