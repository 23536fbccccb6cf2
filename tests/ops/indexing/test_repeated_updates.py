"""Updates at indices that repeat: every value is applied, in time and memory that are linear, in every mode."""

from __future__ import annotations

import tracemalloc
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core import machine
from wengert.ops.indexing import repeated_updates
from wengert.ops.indexing.updates import At

RNG = np.random.default_rng(11)
UFUNCS = {"multiply": np.multiply, "divide": np.divide, "power": np.power, "max": np.maximum, "min": np.minimum}
every_update = pytest.mark.parametrize("name", UFUNCS)
every_product = pytest.mark.parametrize("name", ["multiply", "divide", "power"])
KEYS: dict[str, Any] = {
    "repeated": np.array([0, 3, 0, 2, 0, 3]),
    "negative": np.array([-1, 3, -4, 0, -1]),
    "matrix": np.array([[1, 1, 0], [0, 2, 1]]),
    "empty": np.zeros(0, int),
    "apart": np.array([2, 0, 3]),
    "mask": np.array([True, False, True, True]),
    "pair": (np.array([0, 1, 0]), np.array([2, 2, 2])),
    "rows": np.array([2, 2, 0]),
}


def problem(key: str) -> tuple[np.ndarray, Any, np.ndarray]:
    x = RNG.uniform(0.5, 2.0, (4, 3) if key in ("pair", "rows") else 4)
    return x, KEYS[key], RNG.uniform(0.5, 2.0, x[KEYS[key]].shape)


def update(name: str, x: Any, key: Any, v: Any) -> Any:
    return getattr(At(x)[key], name)(v)


def one_by_one(name: str, x: Any, key: Any, v: Any) -> Any:
    """The same, a value at a time, at indices that are plain integers."""
    places = np.arange(x.size).reshape(x.shape)[key].reshape(-1)
    v = np.reshape(v, (-1,))
    for k, place in enumerate(places.tolist()):
        x = update(name, x, tuple(map(int, np.unravel_index(place, x.shape))), v[k])
    return x


def slopes(f, x, v):
    """The gradients of a sum with weights, with respect to the array and to the values."""
    weights = np.cos(np.arange(x.size)).reshape(x.shape)
    return wg.grad(lambda x, v: (f(x, v) * weights).sum(), (0, 1))(x, v)


@every_update
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_values_are_those_of_ufunc_at(name, key, dtype):
    x, index, v = problem(key)
    x, v = (np.ceil(1.4 * a).astype(dtype) for a in (x, v))
    expected = x.copy()
    if name == "divide" and dtype is int:
        quotients = expected.astype(float)
        for place, value in zip(np.arange(x.size).reshape(x.shape)[index].reshape(-1), v.reshape(-1), strict=True):
            quotients.reshape(-1)[place] = np.trunc(quotients.reshape(-1)[place] / value)
        expected = quotients.astype(int)
    else:
        UFUNCS[name].at(expected, index, v)
    run = lambda x, v: update(name, x, index, v)
    results = [run(x, v)]
    if name == "divide" and dtype is int and v.size:
        with pytest.raises(TypeError, match="lose its gradient"):  # an array of NumPy rounds, as in assignments
            wg.compile(run)(x, v)
    else:
        results.append(wg.compile(run)(x, v))
    for found in map(np.asarray, results):
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found, expected, rtol=100 * np.finfo(dtype).eps if dtype is not int else 0)


@every_update
@pytest.mark.parametrize("key", KEYS)
def test_derivatives_are_those_of_one_value_after_the_other(name, key):
    x, index, v = problem(key)
    f, g = (lambda x, v: update(name, x, index, v)), (lambda x, v: one_by_one(name, x, index, v))
    for found, expected in zip(slopes(f, x, v), slopes(g, x, v), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    dx, dv = np.sin(x), np.cos(v)
    np.testing.assert_allclose(wg.jvp(f, (x, v), (dx, dv))[1], wg.jvp(g, (x, v), (dx, dv))[1], rtol=1e-12, atol=1e-14)
    for n in (0, 1):
        second = [wg.grad(lambda x, v, h=h, n=n: (slopes(h, x, v)[n] ** 2).sum(), (0, 1))(x, v) for h in (f, g)]
        for found, expected in zip(*second, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@every_update
@pytest.mark.parametrize("key", ["repeated", "negative", "matrix", "empty", "rows"])
def test_indices_that_are_traced_or_batched(name, key):
    """Values and gradients, for numbers of indices that are not known when the program is made."""
    x, index, v = problem(key)
    f = lambda x, index, v: (update(name, x, index, v), *slopes(lambda x, v: update(name, x, index, v), x, v))
    expected = f(x, index, v)
    for found, wanted in zip(wg.compile(f)(x, index, v), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    stacks = [np.stack([a, a[::-1], a]) for a in (x, index, v)]
    rows = [f(*row) for row in zip(*stacks, strict=True)]
    for batched in (wg.vmap(f), wg.compile(wg.vmap(f))):
        for k, found in enumerate(batched(*stacks)):
            np.testing.assert_allclose(found, np.stack([row[k] for row in rows]), rtol=1e-12, atol=1e-14)
    shared = wg.vmap(f, (0, None, None))(stacks[0], index, v)
    np.testing.assert_allclose(shared[0][1], f(stacks[0][1], index, v)[0], rtol=1e-12)


@every_update
@pytest.mark.parametrize("batched", [(True, True, True), (False, True, False), (True, False, True)])
def test_batches_of_integers(name, batched):
    """As one element after the other, without warnings."""
    x, index, v = np.array([3, 1, 2, 4]), np.array([0, 0, 2, -1]), np.array([2, 3, 1, 2])
    stacks = [np.stack([a, a[::-1]]) if b else a for a, b in zip((x, index, v), batched, strict=True)]
    rows = [[a[i] if b else a for a, b in zip(stacks, batched, strict=True)] for i in range(2)]
    expected = np.stack([np.asarray(update(name, *row)) for row in rows])
    f = wg.vmap(partial(update, name), tuple([0 if b else None for b in batched]))
    if name == "divide":  # in a trace, no number of an array is known
        with pytest.raises(TypeError, match="lose its gradient"):
            wg.compile(f)(*stacks)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for run in (f, wg.compile(f)):
            found = np.asarray(run(*stacks))
            assert found.dtype == x.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("zeros", [(), (1,), (1, 3), (0, 2)])
def test_factors_of_zero_have_the_product_of_the_others_as_derivative(zeros):
    x, index, v = np.array([2.0, 3.0, 5.0]), np.array([0, 1, 0, 1, 0]), np.array([7.0, 11.0, 13.0, 17.0, 19.0])
    v[list(zeros)] = 0.0
    weights = np.cos(np.arange(3.0))
    of_v = [
        weights[i] * x[i] * np.prod([v[j] for j in range(5) if j != k and index[j] == i]) for k, i in enumerate(index)
    ]
    of_x = weights * [np.prod(v[index == i]) for i in range(3)]
    for run in (slopes, wg.compile(slopes, static_argnums=0)):
        found_x, found_v = run(lambda x, v: update("multiply", x, index, v), x, v)
        np.testing.assert_allclose(found_v, of_v, rtol=1e-14)
        np.testing.assert_allclose(found_x, of_x, rtol=1e-14)


@pytest.mark.parametrize("name", ["max", "min"])
def test_all_ties_share_equally(name):
    x, index = np.array([1.0, 2.0, 0.5]), np.array([0, 0, 0, 1, 2])
    v = np.array([1.0, 1.0, 1.0, 2.0, 7.0]) if name == "max" else np.array([1.0, 1.0, 1.0, 2.0, -7.0])
    for run in (wg.grad, lambda f, i: wg.compile(wg.grad(f, i))):
        of_x, of_v = run(lambda x, v: update(name, x, index, v).sum(), (0, 1))(x, v)
        np.testing.assert_allclose(of_x, [0.25, 0.5, 0.0])
        np.testing.assert_allclose(of_v, [0.25, 0.25, 0.25, 0.5, 1.0])
    tangent = wg.jvp(lambda x, v: update(name, x, index, v), (x, v), (np.array([8.0, 4.0, 2.0]), np.zeros(5)))[1]
    np.testing.assert_allclose(tangent, [2.0, 2.0, 0.0])


@every_product
def test_runs_of_all_lengths(name):
    """Long runs are computed by themselves, short ones together: the same bits."""
    index = np.repeat([3, 0, 2, 1], [40, 1, 7, 90])[RNG.permutation(138)]
    x, v = RNG.uniform(0.9, 1.1, 4), RNG.uniform(0.9, 1.1, 138)
    found = []
    for values in (1, 8, 1000):
        with machine.using(min_elements_of_single_run=values):
            found.append([update(name, x, index, v), *slopes(lambda x, v: update(name, x, index, v), x, v)])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(found[0][1:], slopes(lambda x, v: one_by_one(name, x, index, v), x, v), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


@every_update
@pytest.mark.parametrize("is_compiled", [False, True])
def test_memory_is_linear(name, is_compiled):
    """A comparison of all values with all elements would have 4 * 10**8 of them."""
    n = 20_000
    x, v, index = RNG.uniform(0.5, 1.5, n), RNG.uniform(0.5, 1.5, n), RNG.integers(0, n, n)
    f = lambda x, index, v: slopes(lambda x, v: update(name, x, index, v), x, v)
    run = wg.compile(f) if is_compiled else f
    if is_compiled:
        assert run.report(x, index, v).arena_bytes < 400 * n
        return
    tracemalloc.start()
    run(x, index, v)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1000 * n


def test_native_code_has_all_of_it():
    """What a program with floats runs is native, values and gradients."""
    x, index, v = problem("repeated")
    for name in UFUNCS:
        f = wg.compile(lambda x, index, v, name=name: slopes(lambda x, v: update(name, x, index, v), x, v))
        assert not f.report(x, index, v).fallbacks


@every_update
def test_a_value_with_too_many_axes_is_refused(name):
    with pytest.raises(ValueError, match="broadcast|more dimensions"):
        update(name, wg.tensor(np.ones((3, 2))), [0, 1], np.ones((1, 2, 2)))


@every_update
def test_a_fraction_for_integers_is_refused(name):
    with pytest.raises(TypeError, match="lose its gradient"):
        wg.grad(lambda v: update(name, np.arange(1, 4), np.array([0, 0]), v).sum())(np.array([1.5, 2.5]))


def test_a_run_begins_with_each_row():
    first = np.zeros((2, 3), bool)
    found = repeated_updates.running(np.full((2, 3), 2.0), np.full((2, 3), 3.0), first, update="multiply")
    np.testing.assert_array_equal(found, [[2.0, 6.0, 18.0]] * 2)
    native = wg.compile(partial(repeated_updates.running, update="multiply"))
    np.testing.assert_array_equal(native(np.full((2, 3), 2.0), np.full((2, 3), 3.0), first), found)
