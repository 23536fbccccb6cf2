"""Distributions with a density: values against SciPy, derivatives against differences, at and beyond the ends of the
support.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
import scipy.stats
from tests.oracle import check_derivatives

import wengert as wg
from wengert import stats
from wengert.random import default_rng
from wengert.stats.families import ContinuousFamily


class Example(NamedTuple):
    """Shapes to test a distribution with, points inside, and points at its ends and outside, in standard form."""

    shapes: list[tuple]
    inside: list[float]
    edges: list[float] = []


SIGNED = [-30.0, -3.0, -0.7, 0.3, 1.9, 20.0]
POSITIVE = [1e-3, 0.2, 1.0, 2.7, 30.0]
UNIT = [1e-3, 0.2, 0.5, 0.93]
EXAMPLES = {
    "norm": Example([()], SIGNED),
    "halfnorm": Example([()], POSITIVE, [-1.0]),
    "lognorm": Example([(0.5,), (2.0,)], POSITIVE, [-1.0, 0.0]),
    "t": Example([(0.7,), (3.0,), (40.0,)], SIGNED),
    "cauchy": Example([()], SIGNED),
    "laplace": Example([()], SIGNED),
    "logistic": Example([()], SIGNED),
    "gumbel_r": Example([()], [-4.0, -0.7, 0.3, 1.9, 20.0]),
    "uniform": Example([()], UNIT, [-0.5, 1.5]),
    "expon": Example([()], POSITIVE, [-1.0]),
    "gamma": Example([(0.4,), (2.5,), (30.0,)], POSITIVE, [-1.0]),
    "invgamma": Example([(0.4,), (2.5,), (12.0,)], POSITIVE, [-1.0, 0.0]),
    "chi2": Example([(1.0,), (5.0,)], POSITIVE, [-1.0]),
    "beta": Example([(0.5, 0.7), (2.0, 3.5)], UNIT, [-0.5, 1.5]),
    "weibull_min": Example([(0.6,), (2.5,)], POSITIVE[:-1], [-1.0]),
    "pareto": Example([(0.8,), (3.0,)], [1.1, 2.0, 30.0], [0.5, -2.0]),
    "truncnorm": Example([(-1.0, 2.0), (0.5, 3.0), (-4.0, -1.5)], [], [-5.0, 4.0]),
    "vonmises": Example([(0.3,), (5.0,)], [-3.0, -0.7, 0.3, 1.9]),
}
CASES = [
    pytest.param(name, shapes, id=f"{name}{shapes}") for name, example in EXAMPLES.items() for shapes in example.shapes
]
LOC, SCALE = 0.4, 1.7


def points(name: str, shapes: tuple) -> np.ndarray:
    if name == "truncnorm":
        low, high = shapes
        return low + (high - low) * np.array([0.05, 0.3, 0.8])
    return np.array(EXAMPLES[name].inside)


def orders(name: str, shapes: tuple) -> int:
    """Second derivatives, which take long, with the first of the shapes only."""
    return 2 if shapes == EXAMPLES[name].shapes[0] else 1


def known(name: str, what: str) -> bool:
    return getattr(stats, name).known[what] is not None


def test_all_distributions_have_an_example():
    found = {name for name in stats.__all__ if isinstance(getattr(stats, name), ContinuousFamily)}
    assert found == set(EXAMPLES)


@pytest.mark.parametrize(("name", "shapes"), CASES)
@pytest.mark.parametrize("method", ["logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"])
def test_values(name, shapes, method):
    if not known(name, "cdf") and "pdf" not in method:
        with pytest.raises(NotImplementedError, match=f"{name}.*cdf|{name}.*sf"):
            getattr(stats.vonmises, method)(0.5, *shapes)
        return
    x = LOC + SCALE * np.concatenate([points(name, shapes), EXAMPLES[name].edges, [np.nan]])
    found = getattr(getattr(stats, name), method)(x, *shapes, loc=LOC, scale=SCALE)
    with np.errstate(all="ignore"):
        expected = getattr(getattr(scipy.stats, name), method)(x, *shapes, loc=LOC, scale=SCALE)
    np.testing.assert_allclose(found, expected, rtol=2e-12, atol=2e-13 if method.startswith("log") else 0.0)


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_quantiles(name, shapes):
    if not known(name, "ppf"):
        return
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    q = np.array([0.01, 0.2, 0.5, 0.7, 0.99, -0.5, 1.5, np.nan])
    for method in ("ppf", "isf"):
        found = getattr(ours, method)(q, *shapes, loc=LOC, scale=SCALE)
        np.testing.assert_allclose(
            found, getattr(theirs, method)(q, *shapes, loc=LOC, scale=SCALE), rtol=2e-12, atol=1e-14
        )
    smooth = np.array([0.2, 0.45 if name == "laplace" else 0.5, 0.7])  # the quantile of laplace has a kink at 1/2
    check_derivatives(
        lambda q, *p: ours.ppf(q, *p),
        [smooth, *map(np.float64, (*shapes, LOC, SCALE))],
        range(len(shapes) + 3),
        orders(name, shapes),
        1e-6,
    )


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_moments(name, shapes):
    for method, needs in {"mean": "mean", "var": "var", "std": "var", "entropy": "entropy"}.items():
        if known(name, needs):
            found = getattr(getattr(stats, name), method)(*shapes, loc=LOC, scale=SCALE)
            expected = getattr(getattr(scipy.stats, name), method)(*shapes, loc=LOC, scale=SCALE)
            np.testing.assert_allclose(found, expected, rtol=1e-10, err_msg=method)


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_derivatives_in_all_arguments(name, shapes):
    x = LOC + SCALE * points(name, shapes)
    x = x[np.abs(x) < 15.0] if name != "pareto" else x
    x = x[(points(name, shapes)[: len(x)] > 0.01) | (x < LOC)]  # differences need room
    args = [x, *map(np.float64, (*shapes, LOC, SCALE))]
    for method in ("logpdf", "cdf") if known(name, "cdf") else ("logpdf",):
        check_derivatives(
            lambda *a, m=method: getattr(getattr(stats, name), m)(*a),
            args,
            range(len(args)),
            orders(name, shapes),
            1e-6,
        )


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_modes_agree(name, shapes):
    x, parameters = LOC + SCALE * points(name, shapes), tuple(map(np.float64, (*shapes, LOC, SCALE)))
    f = lambda *a: getattr(stats, name).logpdf(*a)
    tangents = tuple(np.ones_like(a) for a in (x, *parameters))
    value, pushed = wg.jvp(f, (x, *parameters), tangents)
    np.testing.assert_array_equal(value, f(x, *parameters))
    pulled = wg.grad(lambda *a: f(*a).sum(), argnums=tuple(range(len(parameters) + 1)))(x, *parameters)
    np.testing.assert_allclose(sum(np.sum(g) for g in pulled), pushed.sum(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(wg.vmap(f, in_axes=(0, *[None] * len(parameters)))(x, *parameters), value, rtol=1e-14)
    np.testing.assert_allclose(
        wg.taylor(lambda s: f(x + s, *[p + s for p in parameters]), 0.0, 1)[1], pushed, rtol=1e-9, atol=1e-12
    )
    graph = wg.trace(f, x, *parameters)
    np.testing.assert_allclose(graph.evaluate(x, *parameters), value, rtol=1e-14)


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_nothing_flows_from_outside_the_support(name, shapes):
    edges = EXAMPLES[name].edges
    if not edges:
        return
    x = LOC + SCALE * np.array(edges)
    family, parameters = getattr(stats, name), tuple(map(np.float64, (*shapes, LOC, SCALE)))
    for method in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"):
        f = lambda *a, m=method: getattr(family, m)(*a)
        total = lambda *a, f=f: f(*a).sum()
        gradients = wg.grad(total, argnums=tuple(range(len(parameters) + 1)))(x, *parameters)
        _, pushed = wg.jvp(f, (x, *parameters), tuple(np.ones_like(a) for a in (x, *parameters)))
        second = wg.jvp(lambda x, total=total: wg.grad(total)(x, *parameters), (x,), (np.ones_like(x),))[1]
        for found in (*gradients, pushed, second):
            np.testing.assert_array_equal(found, 0.0, err_msg=method)


@pytest.mark.parametrize(
    ("name", "shapes", "x", "logpdf"),
    [
        ("gamma", (2.5,), 0.0, -math.inf),
        ("gamma", (1.0,), 0.0, 0.0),
        ("gamma", (0.5,), 0.0, math.inf),
        ("beta", (2.0, 3.0), 0.0, -math.inf),
        ("beta", (2.0, 3.0), 1.0, -math.inf),
        ("beta", (1.0, 1.0), 1.0, 0.0),
        ("weibull_min", (2.5,), 0.0, -math.inf),
        ("chi2", (4.0,), 0.0, -math.inf),
        ("expon", (), 0.0, 0.0),
        ("uniform", (), 1.0, 0.0),
        ("pareto", (2.0,), 1.0, math.log(2.0)),
    ],
)
def test_ends_of_the_support(name, shapes, x, logpdf):
    family = getattr(stats, name)
    np.testing.assert_allclose(family.logpdf(x, *shapes), logpdf, rtol=1e-15, atol=1e-16)
    if logpdf == -math.inf:
        gradients = wg.grad(family.logpdf, argnums=tuple(range(1 + len(shapes))))(x, *shapes)
        np.testing.assert_array_equal(gradients, 0.0)
        np.testing.assert_array_equal(wg.grad(family.pdf, argnums=tuple(range(1 + len(shapes))))(x, *shapes), 0.0)


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_parameters_that_make_no_distribution(name, shapes):
    family = getattr(stats, name)
    for scale in (-1.0, 0.0):
        assert np.isnan(family.logpdf(0.5, *shapes, 0.0, scale))
        assert np.isnan(family.logpdf(np.float32(0.5), *shapes, 0.0, scale))
    if shapes and name != "truncnorm":
        assert np.isnan(family.logpdf(0.5, *[-s for s in shapes]))
        assert np.isnan(family.mean(*[-s for s in shapes])) if known(name, "mean") else True


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_single_precision_stays(name, shapes):
    x = np.float32(LOC + SCALE * points(name, shapes))
    family = getattr(stats, name)
    for method in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf") if known(name, "cdf") else ("logpdf", "pdf"):
        for parameters in ((*shapes, LOC, SCALE), tuple(map(np.float32, (*shapes, LOC, SCALE)))):
            assert getattr(family, method)(x, *parameters).dtype == np.float32, method
    assert wg.grad(lambda x: family.logpdf(x, *shapes, LOC, SCALE).sum())(x).dtype == np.float32


def test_parameters_given_once():
    x = np.linspace(0.1, 2.0, 5)
    ours, theirs = stats.gamma(2.0, scale=3.0), scipy.stats.gamma(2.0, scale=3.0)
    for method in ("logpdf", "pdf", "cdf", "logsf"):
        np.testing.assert_allclose(getattr(ours, method)(x), getattr(theirs, method)(x), rtol=1e-12)
    np.testing.assert_allclose(ours.ppf(0.3), theirs.ppf(0.3), rtol=1e-12)
    np.testing.assert_allclose([ours.mean(), ours.std()], [theirs.mean(), theirs.std()], rtol=1e-12)
    assert wg.grad(lambda a: stats.gamma(a).logpdf(0.7))(2.0) == wg.grad(lambda a: stats.gamma.logpdf(0.7, a))(2.0)
    np.testing.assert_array_equal(
        ours.rvs(4, default_rng(1)), stats.gamma.rvs(2.0, scale=3.0, size=4, random_state=default_rng(1))
    )
    np.testing.assert_array_equal(stats.poisson(2.0).pmf([0, 1]), stats.poisson.pmf([0, 1], 2.0))
    assert stats.multivariate_normal(np.zeros(2), np.eye(2)).logpdf(np.ones(2)) == stats.multivariate_normal.logpdf(
        np.ones(2), np.zeros(2)
    )
    with pytest.raises(AttributeError, match="fit"):
        ours.fit(x)


def test_arguments():
    x = np.linspace(0.1, 2.0, 5)
    np.testing.assert_array_equal(stats.gamma.logpdf(x, a=2.0, scale=3.0), stats.gamma.logpdf(x, 2.0, 0.0, 3.0))
    assert stats.norm.logpdf(x, np.zeros((4, 1)), np.ones((3, 1, 1))).shape == (3, 4, 5)
    assert stats.norm.logpdf([0.0, 1.0]).shape == (2,)
    with pytest.raises(TypeError, match="gamma needs a, at .*test_continuous"):
        stats.gamma.logpdf(x)
    with pytest.raises(TypeError, match="gamma has the parameters a, loc, scale"):
        stats.gamma.logpdf(x, 2.0, width=3.0)


@pytest.mark.parametrize(("name", "shapes"), CASES)
def test_draws_follow_the_distribution_and_its_parameters(name, shapes):
    family = getattr(stats, name)
    draws = family.rvs(*shapes, loc=LOC, scale=SCALE, size=400, random_state=default_rng(5))
    plain = family.rvs(*shapes, size=400, random_state=np.random.default_rng(5))
    np.testing.assert_allclose(draws, LOC + SCALE * plain, rtol=1e-14)
    if not known(name, "cdf"):
        assert np.isfinite(wg.grad(lambda s: family.rvs(s, random_state=1))(*shapes))
        return
    levels = np.sort(family.cdf(draws, *shapes, LOC, SCALE))
    assert np.abs(levels - np.linspace(0.0, 1.0, 400)).max() < 0.09  # Kolmogorov's 1 in 300, for this seed
    for i, shape in enumerate(shapes):  # at a fixed probability: F(z(a); a) is constant
        level = lambda s, i=i: family.cdf(
            family.rvs(*shapes[:i], s, *shapes[i + 1 :], size=5, random_state=3), *shapes[:i], s, *shapes[i + 1 :]
        )
        _, moved = wg.jvp(level, (shape,), (1.0,))
        np.testing.assert_allclose(moved, 0.0, atol=1e-11)


def test_draws_of_a_batch_are_independent():
    rng = default_rng(5)
    for draw in (
        lambda p: stats.norm.rvs(p, random_state=rng),
        lambda p: stats.expon.rvs(scale=1.0 + p, random_state=rng),
    ):
        assert len(np.unique(wg.vmap(draw)(np.zeros(4)))) == 4
    with pytest.raises(wg.TrackedValueError, match="draw outside"):
        wg.compile(lambda p: stats.norm.rvs(p, random_state=3))(1.0)
