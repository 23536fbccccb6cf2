"""What passes over the same data find in memory, what they compute again, and which of them are one loop."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.schedule.cheapest_cut import ALWAYS, SINK, SOURCE, Network
from wengert.core import machine

RNG = np.random.default_rng(11)


def kernels_over(function, size, *args, **fields):
    """The lines of a report on the kernels over so many elements, and the bytes of intermediate values."""
    with machine.using(**fields):
        report = wg.compile(function).report(*args)
    return [line for line in report.kernels if f"loop over [{size}" in line], report.arena_bytes


def cut_cost(arcs, near):
    """The cost of the arcs from some places to all others."""
    return sum(cost for (start, end), cost in arcs.items() if start in near and end not in near)


@pytest.mark.parametrize("trial", range(40))
def test_no_cut_costs_less(trial):
    places = [SOURCE, *range(5), SINK]
    arcs = {
        (start, end): int(RNG.integers(0, 9))
        for start in places
        for end in places
        if start != end and RNG.uniform() < 0.5 and start != SINK and end != SOURCE
    }
    network = Network()
    for (start, end), cost in arcs.items():
        network.connect(start, end, cost)
    near = network.cut()
    subsets = [{SOURCE, *inside} for k in range(6) for inside in combinations(range(5), k)]
    assert SOURCE in near
    assert SINK not in near
    assert cut_cost(arcs, near) == min(cut_cost(arcs, subset) for subset in subsets)


def test_arcs_that_are_never_cut_are_not():
    network = Network()
    for start, end, cost in ((SOURCE, "x", ALWAYS), ("x", "y", 5), ("y", "z", ALWAYS), ("z", SINK, 7), ("y", SINK, 1)):
        network.connect(start, end, cost)
    assert network.cut() == {SOURCE, "x"}


def variance(p, x):
    """Whose gradient needs the mean of all elements first."""
    y = x
    for k in range(6):
        y = np.sin(p[k] * y) + y * (1.0 - p[k] * y)
    return np.mean(y**2) - np.mean(y) ** 2


def test_a_second_pass_reads_few_values_and_computes_the_rest_again():
    n = 1 << 18
    args = RNG.normal(size=6) / 4, RNG.normal(size=n)
    kernels, arena = kernels_over(wg.value_and_grad(variance), n, *args)
    assert len(kernels) == 2
    assert arena <= 14 * 8 * n  # at most the six sines, their cosines and one state
    value, gradient = wg.compile(wg.value_and_grad(variance))(*args)
    expected, slope = wg.value_and_grad(variance)(*args)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9)


def test_what_is_cheap_to_compute_is_not_stored():
    n = 1 << 18
    kernels, arena = kernels_over(
        lambda x, y: x * y + 1.0 - np.mean(x * y + 1.0), n, RNG.normal(size=n), RNG.normal(size=n)
    )
    assert len(kernels) == 2
    assert arena < n


def weibull(p, times, ended):
    """A loss with a sum that waits for nothing, and others that wait for a function of a parameter."""
    scaled = np.exp(p[0]) * (np.log(times) - p[1])
    return -np.sum(ended * (p[0] - np.log(times) + scaled) - np.exp(scaled)) + np.exp(p[1]) * np.sum(ended)


def test_a_loss_is_added_up_where_its_gradient_is_computed():
    n = 1 << 18
    args = np.array([0.2, 0.1]), RNG.uniform(0.1, 3.0, n), RNG.uniform(size=n)
    kernels, arena = kernels_over(wg.value_and_grad(weibull), n, *args)
    assert len(kernels) == 1
    assert arena < n
    value, gradient = wg.compile(wg.value_and_grad(weibull))(*args)
    expected, slope = wg.value_and_grad(weibull)(*args)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    np.testing.assert_allclose(gradient, slope, rtol=1e-10)


def poisson(w, x, y):
    """A likelihood of counts, with few columns."""
    z = x @ w
    return np.sum(np.exp(z) - y * z)


def test_narrow_rows_are_read_once():
    n = 1000
    args = RNG.normal(size=5) / 4, RNG.normal(size=(n, 5)), RNG.uniform(size=n)
    kernels, _ = kernels_over(wg.value_and_grad(poisson), n, *args)
    assert len(kernels) == 1
    value, gradient = wg.compile(wg.value_and_grad(poisson))(*args)
    expected, slope = wg.value_and_grad(poisson)(*args)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12)


@pytest.mark.parametrize("function", [variance, weibull])
def test_threads_change_no_bits(function):
    n = 40_003
    args = (
        (RNG.normal(size=6) / 4, RNG.normal(size=n))
        if function is variance
        else (np.array([0.2, 0.1]), RNG.uniform(0.1, 3.0, n), RNG.uniform(size=n))
    )
    results = []
    for threads, vector_bytes in ((1, 64), (2, 32), (4, 16)):
        with machine.using(threads=threads, vector_bytes=vector_bytes, min_operations_per_thread=1):
            results.append(wg.compile(wg.value_and_grad(function))(*args))
    assert all(value == results[0][0] and (gradient == results[0][1]).all() for value, gradient in results)
