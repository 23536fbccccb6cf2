"""Quantiles and covariances: NumPy's values, derivatives against differences of values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.as_numpy import assert_call
from tests.oracle import check_derivatives
from tests.versions import needs_numpy

import wengert as wg
from wengert.ops.samples import statistics

RNG = np.random.default_rng(8)


X, Y, Z = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5)), RNG.normal(size=6)


METHODS = [*statistics.CONTINUOUS, *statistics.DISCRETE]


def test_all_methods_of_numpy_are_there():
    with pytest.raises(ValueError, match="not a valid method") as error:
        np.quantile(Z, 0.5, method="none")
    assert all(method in str(error.value) for method in METHODS)
    assert str(error.value).count("'") == 2 * (len(METHODS) + 1)


@pytest.mark.parametrize("method", METHODS)
def test_quantiles(method):
    ties = np.array([1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 5.0, 8.0])
    for sample in (Z, Z[:1], Z[:2], ties, ties.astype("f4")):
        for q in (0.0, 1.0, 0.5, 0.3, 0, 1, np.linspace(0, 1, 17), np.array([[0.1, 0.9]]), np.float32(0.25)):
            assert_call("quantile", sample, q, method=method)
    for axis, keepdims in product((None, 0, -1, (0, 1), (1, 0)), (False, True)):
        assert_call("quantile", X, [0.2, 0.7], axis, method=method, keepdims=keepdims)
        assert_call("percentile", X, 35, axis, method=method, keepdims=keepdims)
    holes = np.where(X > 0.5, np.nan, X)
    for name in ("quantile", "nanquantile"):
        assert_call(name, holes, [0.0, 0.2, 0.7, 1.0], 1, method=method)
        assert_call(name, holes, 0.4, method=method)
    assert_call("nanpercentile", holes, [25, 50], 0, method=method, keepdims=True)
    if method in statistics.CONTINUOUS and method not in statistics.UPPER:
        check_derivatives(lambda a, q: np.quantile(a, q, method=method), [Z, np.array([0.33, 0.71])], [0, 1])
    else:
        check_derivatives(lambda a: np.quantile(a, [0.33, 0.71], method=method), [Z], [0])


@needs_numpy(2, 4, 6)
@pytest.mark.parametrize("method", METHODS)
def test_quantiles_of_integers(method):
    ties = np.array([1, 2, 2, 3, 5, 5, 5, 8])
    for q in (0.0, 1.0, 0.5, 0.3, 0, 1, np.linspace(0, 1, 17), np.array([[0.1, 0.9]]), np.float32(0.25)):
        assert_call("quantile", ties, q, method=method)


@needs_numpy(2, 4)
def test_weighted_quantiles():
    weights = np.array([0.0, 1.0, 2.0, 0.5, 0.0])
    for q in (0.0, 0.3, 1.0, np.linspace(0, 1, 9)):
        assert_call("quantile", X, q, 1, method="inverted_cdf", weights=weights)
        assert_call("percentile", X, 100 * q, (0, 1), method="inverted_cdf", weights=np.abs(Y))
        assert_call("quantile", X, q, (1, 0), method="inverted_cdf", weights=np.abs(Y).T)
        assert_call("nanquantile", np.where(X > 0.5, np.nan, X), q, method="inverted_cdf", weights=np.abs(Y))


def test_quantiles_of_nothing_but_nan():
    found = np.nanquantile(wg.tensor(np.array([[np.nan, np.nan], [1.0, 2.0]])), 0.5, axis=1)
    np.testing.assert_array_equal(found.numpy(), [np.nan, 1.5])


def test_a_covariance_without_freedom_warns_as_in_numpy():
    with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"), np.errstate(all="ignore"):
        np.cov(wg.tensor(X[:, :1]))


@needs_numpy(2, 4)
@pytest.mark.parametrize("method", ["linear", "midpoint", "hazen"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_have_the_dtype_of_numpy(name, method):
    single = X.astype(np.float32)
    for q in (0.5, np.float32([0.2, 0.5]), np.array([0.2, 0.5])):
        exact = getattr(np, name)(single, q, axis=0, method=method)
        found = getattr(wg, name)(single, q, axis=0, method=method)
        assert found.dtype == exact.dtype
        np.testing.assert_allclose(found, exact, rtol=1e-5)
