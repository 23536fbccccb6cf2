"""Variances and logsumexp on a GPU read their terms once, and are as accurate as by two reads."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.targets.devices import on_gpu

import wengert as wg
from wengert.compiler.program.prepare import prepare_for_device
from wengert.transforms.tracing import trace

ROWS, COLUMNS, WHOLE = ((9, 10007), 1), ((8191, 521), 0), ((3, 41, 167), None)
"""Shapes, and the axes along which they are reduced, whose terms do not stay in the cache; none is a power of two."""
LENGTHS = pytest.mark.parametrize(("shape", "axis"), [ROWS, COLUMNS, WHOLE], ids=["rows", "columns", "whole"])
DTYPES = pytest.mark.parametrize("dtype", ["f8", "f4"])


def make_numbers(shape, dtype, shift=0.0, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) + shift).astype(dtype)


def operations_of(f, x):
    return {node.primitive.name for node in prepare_for_device(trace(f, x)).operations}


def variance(x, axis):
    """In extended precision."""
    wide = x.astype(np.longdouble)
    return np.mean((wide - wide.mean(axis, keepdims=True)) ** 2, axis)


def log_sum_exp(x, axis):
    """In extended precision."""
    wide = x.astype(np.longdouble)
    largest = wide.max(axis, keepdims=True)
    return np.log(np.exp(wide - largest).sum(axis)) + largest.reshape(wide.max(axis).shape)


def assert_close(found, expected, ulps):
    error = np.abs(np.asarray(found, np.longdouble) - expected)
    assert np.all(error <= ulps * np.finfo(found.dtype).eps * np.abs(expected))


@LENGTHS
@DTYPES
def test_variance(shape, axis, dtype):
    x = make_numbers(shape, dtype, shift=3.0)
    f = lambda x: np.var(x, axis=axis)
    assert "running_squares" in operations_of(f, x)
    assert_close(on_gpu(f)(x), variance(x, axis), 24)


@LENGTHS
@DTYPES
def test_logsumexp(shape, axis, dtype):
    x = make_numbers(shape, dtype, shift=30.0)
    f = lambda x: wg.logsumexp(x, axis=axis)
    assert "running_logsumexp" in operations_of(f, x)
    assert_close(on_gpu(f)(x), log_sum_exp(x, axis), 4)


def test_a_mean_far_from_zero_costs_no_digits():
    x = make_numbers((9, 5003), "f8", shift=1e8)
    by_two_reads = np.abs(np.var(x, axis=1) - variance(x, 1)).max()
    found = on_gpu(lambda x: np.var(x, axis=1))(x)
    assert np.abs(found - variance(x, 1)).max() <= max(by_two_reads, 1e-13)


@pytest.mark.parametrize("numbers", [[1e8], [1e8, -1e8, 3.0], np.arange(100.0)], ids=["outlier", "outliers", "ramp"])
def test_numbers_unlike_the_others_cost_no_digits(numbers):
    x = make_numbers((9, 5003), "f8")
    x[:, : len(numbers)] = numbers
    assert_close(on_gpu(lambda x: np.var(x, axis=1))(x), variance(x, 1), 24)


def test_large_and_small_numbers():
    x = np.full((9, 5003), 2.0**600)
    x[1] = np.linspace(-1e-200, 1e-200, 5003)
    x[2, 17] = np.nextafter(x[2, 17], 0.0)
    x[3, :9] = -x[3, :9]
    np.testing.assert_array_equal(on_gpu(lambda x: np.var(x, axis=1))(x), [0.0, 0.0, np.inf, np.inf, *[0.0] * 5])


def test_rising_exponents_cost_no_digits():
    x = np.linspace(-700.0, 700.0, 5003) + np.zeros((9, 1))
    x[1] = x[1, ::-1]
    assert_close(on_gpu(lambda x: wg.logsumexp(x, axis=1))(x), log_sum_exp(x, 1), 4)


@pytest.mark.parametrize("name", ["var", "logsumexp"])
def test_infinities_and_nan_are_those_of_numpy(name):
    x = make_numbers((12, 5003), "f8")
    x[0], x[1], x[2, 77], x[3, 78] = -np.inf, np.inf, np.inf, -np.inf
    x[4, 0], x[5, [3, 4]], x[6, [9, 10]], x[7, -1] = np.nan, (np.inf, -np.inf), (np.inf, np.nan), np.inf
    x[8, 1:], x[9, :-1] = -np.inf, -np.inf
    f = {"var": lambda x: np.var(x, axis=1), "logsumexp": lambda x: wg.logsumexp(x, axis=1)}[name]
    with np.errstate(all="ignore"):
        expected = np.asarray(f(x))
    np.testing.assert_allclose(on_gpu(f)(x), expected, rtol=1e-14)


def test_sums_and_deviations_are_recognised_as_users_write_them():
    x = make_numbers(*ROWS[:1], "f8")
    deviation = lambda x: x - x.mean(1, keepdims=True)
    forms = [
        lambda x: (deviation(x) ** 2).mean(1),
        lambda x: (deviation(x) * deviation(x)).sum(1, keepdims=True),
        lambda x: np.std(x, axis=1, ddof=1),
        lambda x: np.exp(-np.var(x, axis=1)) + np.sum(x, axis=1),
    ]
    for f in forms:
        assert "running_squares" in operations_of(f, x)
        np.testing.assert_allclose(on_gpu(f)(x), f(x), rtol=1e-12)


def test_a_computed_operand_and_a_reduction_beside_it():
    x = make_numbers((9, 5003), "f8")
    f = lambda x: (np.var(np.exp(x), axis=1), np.sum(np.exp(x), axis=1), wg.logsumexp(x * x, axis=1))
    for found, expected in zip(on_gpu(f)(x), f(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_short_rows_and_gradients_keep_their_form():
    x = make_numbers((9, 500), "f8")
    assert "running_squares" not in operations_of(lambda x: np.var(x, axis=1), x)
    assert "running_logsumexp" not in operations_of(lambda x: wg.logsumexp(x, axis=1), x)
    long = make_numbers((9, 5003), "f8")
    both = wg.value_and_grad(lambda x: wg.logsumexp(x, axis=1).sum())
    assert "running_logsumexp" not in operations_of(both, long)
    for found, expected in zip(on_gpu(both)(long), both(long), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_repeated_calls_have_the_same_bits():
    x = make_numbers((4099, 521), "f8")
    f = on_gpu(lambda x: (np.var(x, axis=0), wg.logsumexp(x, axis=0)))
    for first, second in zip(f(x), f(x), strict=True):
        assert first.tobytes() == second.tobytes()
