"""Distributions on integers: values against SciPy, derivatives with respect to parameters against differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from tests.oracle import check_derivatives

import wengert as wg
from wengert import stats
from wengert.random import default_rng
from wengert.stats.families import DiscreteFamily

EXAMPLES: dict[str, list[tuple[float, ...]]] = {
    "poisson": [(0.3,), (7.5,)],
    "binom": [(9.0, 0.3), (40.0, 0.85)],
    "bernoulli": [(0.3,)],
    "geom": [(0.2,), (0.7,)],
    "nbinom": [(3.5, 0.4), (20.0, 0.7)],
}
CASES = [pytest.param(name, shapes, id=f"{name}{shapes}") for name, every in EXAMPLES.items() for shapes in every]
COUNTS = np.array([-3, -1, 0, 1, 2, 5, 8, 9, 10, 39, 40, 60])


def test_all_distributions_have_an_example():
    assert {name for name in stats.__all__ if isinstance(getattr(stats, name), DiscreteFamily)} == set(EXAMPLES)


@pytest.mark.parametrize(("name", "shapes"), CASES)
@pytest.mark.parametrize("method", ["logpmf", "pmf", "cdf", "sf", "logcdf", "logsf"])
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_values(name, shapes, method, offset):
    k = COUNTS + offset
    found = getattr(getattr(stats, name), method)(k, *shapes)
    with np.errstate(all="ignore"):
        expected = getattr(getattr(scipy.stats, name), method)(k, *shapes)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-300 if "log" not in method else 1e-12)
    np.testing.assert_array_equal(getattr(getattr(stats, name), method)(k + 2, *shapes, loc=2), found)


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_moments(name, shapes):
    for method in ("mean", "var", "std"):
        found, expected = (
            getattr(getattr(stats, name), method)(*shapes, loc=1),
            getattr(getattr(scipy.stats, name), method)(*shapes, loc=1),
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "shapes"), CASES)
@pytest.mark.parametrize("method", ["logpmf", "cdf"])
def test_derivatives_in_the_parameters(name, shapes, method):
    live = [i for i, s in enumerate(getattr(stats, name).shapes) if not (name == "binom" and s == "n")]
    args = [np.float64(s) for s in shapes]
    check_derivatives(lambda *p: finite(getattr(getattr(stats, name), method)(COUNTS, *p)), args, live, rtol=1e-6)


def finite(x):
    return wg.where(wg.isinf(x), 0.0, x)


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_modes_agree(name, shapes):
    f = lambda *p: getattr(stats, name).logpmf(COUNTS, *p)
    value, pushed = wg.jvp(f, shapes, (1.0,) * len(shapes))
    np.testing.assert_array_equal(value, f(*shapes))
    pulled = wg.jacrev(f, argnums=tuple(range(len(shapes))))(*shapes)
    np.testing.assert_allclose(sum(pulled), pushed, rtol=1e-12)
    assert np.isfinite(pushed).all()
    np.testing.assert_array_equal(pushed[np.isinf(value)], 0.0)
    np.testing.assert_allclose(wg.trace(f, *shapes).evaluate(*shapes), value, rtol=1e-14)
    np.testing.assert_allclose(wg.vmap(lambda k: getattr(stats, name).logpmf(k, *shapes))(COUNTS), value, rtol=1e-14)


def test_counts_have_no_derivative():
    for differentiate in (wg.grad, lambda f: lambda x: wg.jvp(f, (x,), (1.0,))):
        with pytest.raises(wg.GradientError, match="count k, an integer, .*test_discrete_distributions"):
            differentiate(lambda k: stats.poisson.logpmf(k, 3.0))(2.0)


def test_ends_of_the_parameters():
    np.testing.assert_array_equal(stats.poisson.pmf([0, 1], 0.0), [1.0, 0.0])
    np.testing.assert_array_equal(stats.binom.pmf([0, 1, 4], 4, 0.0), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(stats.binom.pmf([0, 1, 4], 4, 1.0), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(stats.geom.pmf([1, 2], 1.0), [1.0, 0.0])
    for family, parameters in (
        (stats.poisson, (-1.0,)),
        (stats.binom, (4, 1.5)),
        (stats.geom, (0.0,)),
        (stats.nbinom, (-1.0, 0.5)),
    ):
        assert np.isnan(family.logpmf(1, *parameters))
        assert np.isnan(family.cdf(1, *parameters))


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_single_precision_stays(name, shapes):
    family = getattr(stats, name)
    for method in ("logpmf", "pmf", "cdf", "sf"):
        assert getattr(family, method)(COUNTS, *map(np.float32, shapes)).dtype == np.float32
        assert getattr(family, method)(COUNTS.astype(np.float32), *shapes).dtype == np.float32


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_draws(name, shapes):
    shapes = tuple(int(s) if name == "binom" and s > 1 else s for s in shapes)
    draws = getattr(stats, name).rvs(*shapes, loc=3, size=500, random_state=default_rng(5))
    np.testing.assert_array_equal(draws, 3 + getattr(stats, name).rvs(*shapes, size=500, random_state=5))
    assert draws.dtype.kind == "i"
    mean, std = getattr(stats, name).mean(*shapes, loc=3), getattr(stats, name).std(*shapes)
    assert abs(draws.mean() - mean) < 4.0 * std / np.sqrt(500)
    with pytest.raises(wg.GradientError, match="no derivative"):
        wg.grad(lambda s: getattr(stats, name).rvs(*shapes[:-1], s, random_state=5))(shapes[-1])
