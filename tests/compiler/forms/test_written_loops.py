"""Loops of elementwise steps on large arrays are written out: what the schedule stores and moves, and equal values."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.core import machine

N = 1000
X, C = np.linspace(-0.9, 1.1, N), np.linspace(-1.0, 1.0, 30)


@pytest.fixture(autouse=True)
def small_caches():
    """Arrays of a thousand elements are beyond the cache."""
    with machine.using(min_bytes_of_written_out_loop=8 * N):
        yield


def horner(c, x):
    y = 0.0 * x
    for i in range(30):
        y = y * x + c[i]
    return y.sum()


def clenshaw(c, x):
    a, b = 0.0 * x, 0.0 * x
    for i in range(30):
        a, b = c[i] + 2.0 * x * a - b, a
    return (a * a).mean()


def trajectory(c, x):
    """All states are a result."""
    return wg.scan(lambda y, a: (y * x + a, y), np.sin(x), c)


def backwards(c, x):
    return wg.scan(lambda y, a: (y * x - a, a), x, c, reverse=True)[0]


def normalized(c, x):
    """Each step waits for a sum over the one before."""
    y = x
    for i in range(30):
        y = y * c[i] + 1.0
        y = y / (y * y).mean()
    return y.sum()


def neighbours(c, x):
    """Each step reads elements at other positions."""
    y = x
    for i in range(30):
        y = c[i] * (np.roll(y, 1) + y)
    return y.sum()


def loops(f, *args) -> int:
    return sum("loop of" in step for step in wg.compile(f).report(*args).steps)


@pytest.mark.parametrize("f", [horner, clenshaw])
@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_no_step_stores_a_large_array(f, argnums):
    """One kernel reads the points; what it stores is the gradient. With loops, every step stored several arrays."""
    report = wg.compile(wg.value_and_grad(f, argnums)).report(C, X)
    assert not [step for step in report.steps if "loop of" in step]
    assert report.arena_bytes < 8 * N * 2
    passes = [step for step in report.kernels if f"[{N}]" in step]
    assert len(passes) <= 2
    moved = sum(cost.read + cost.written for cost in report.costs)
    assert moved < 4 * 8 * N


@pytest.mark.parametrize("f", [horner, clenshaw, normalized, neighbours])
def test_values_and_gradients_are_those_of_eager_code(f):
    found = wg.compile(wg.value_and_grad(f, (0, 1)))(C, X)
    expected = wg.value_and_grad(f, (0, 1))(C, X)
    for a, b in zip(wg.tree.flatten(found)[0], wg.tree.flatten(expected)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12 * np.abs(b).max())


@pytest.mark.parametrize("f", [trajectory, backwards])
def test_scans_with_results_of_each_step(f):
    assert loops(f, C, X) == 0
    for a, b in zip(wg.tree.flatten(wg.compile(f)(C, X))[0], wg.tree.flatten(f(C, X))[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_rows_of_a_table_and_second_derivatives():
    table = np.sin(np.arange(5.0 * N)).reshape(5, N)
    f = lambda x, t: (wg.scan(lambda y, row: (np.sin(y) * row + x, None), x, t)[0] ** 2).sum()
    assert loops(wg.grad(f), X, table) == 0
    found = wg.compile(wg.grad(lambda x, t: wg.grad(f)(x, t).sum(), (0, 1)))(X, table)
    expected = wg.grad(lambda x, t: wg.grad(f)(x, t).sum(), (0, 1))(X, table)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("f", [normalized, neighbours])
def test_steps_that_wait_for_all_elements_or_for_neighbours_stay_a_loop(f):
    assert loops(f, C, X) == 1


def test_steps_that_run_in_registers_are_not_written_out():
    """They may end early, and their code is short."""

    def escape(c, x):
        y, steps = 0.0 * x, 0.0 * x
        for _ in range(30):
            stays = y * y <= 4.0
            y, steps = np.where(stays, y * y + x, y), np.where(stays, steps + 1.0, steps)
        return steps

    f = wg.compile(escape)
    assert f.report(C, X).operations < 10
    np.testing.assert_array_equal(f(C, X), escape(C, X))


def test_small_and_long_loops_stay_loops():
    assert loops(horner, C, X[:10]) == 1
    with machine.using(max_operations_of_written_out_loops=30):
        assert loops(horner, C, X) == 1


def test_an_index_outside_is_an_error():
    f = wg.compile(lambda c, x: wg.fori_loop(0, 32, lambda i, y: y * x + c[i], x))
    with pytest.raises(IndexError):
        f(C, X)
