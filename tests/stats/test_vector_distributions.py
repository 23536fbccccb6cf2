"""Distributions of vectors: values against SciPy, derivatives against differences and known formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from tests.oracle import check_derivatives

import wengert as wg
from wengert import stats
from wengert.random import default_rng

MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]])
POINTS = np.random.default_rng(3).normal(size=(4, 3))
SHARES = np.array([[0.2, 0.5], [0.3, 0.1], [0.5, 0.4]])
ALPHA = np.array([0.5, 2.0, 3.5])


@pytest.mark.parametrize("cov", [COVARIANCE, 2.5, np.array([1.0, 2.0, 0.5])], ids=["matrix", "number", "diagonal"])
@pytest.mark.parametrize("points", [POINTS, POINTS[0], POINTS.reshape(2, 2, 3)], ids=["points", "point", "grid"])
def test_normal_and_t_values(cov, points):
    matrix = cov if np.ndim(cov) == 2 else np.eye(3) * cov
    for method in ("logpdf", "pdf"):
        found = getattr(stats.multivariate_normal, method)(points, MEAN, cov)
        np.testing.assert_allclose(
            found, getattr(scipy.stats.multivariate_normal, method)(points, MEAN, matrix), rtol=1e-12
        )
        found = getattr(stats.multivariate_t, method)(points, MEAN, cov, 3.5)
        np.testing.assert_allclose(
            found, getattr(scipy.stats.multivariate_t, method)(points, MEAN, matrix, 3.5), rtol=1e-12
        )
    np.testing.assert_allclose(
        stats.multivariate_normal.entropy(MEAN, cov), scipy.stats.multivariate_normal.entropy(MEAN, matrix)
    )


def test_normal_defaults():
    np.testing.assert_allclose(
        stats.multivariate_normal.logpdf(POINTS), scipy.stats.multivariate_normal.logpdf(POINTS, np.zeros(3))
    )
    line = np.linspace(-1.0, 1.0, 5)
    np.testing.assert_allclose(
        stats.multivariate_normal.logpdf(line, 0.5, 2.0), scipy.stats.multivariate_normal.logpdf(line, 0.5, 2.0)
    )


def test_a_covariance_for_each_point():
    covs = np.stack([COVARIANCE, 2.0 * COVARIANCE, np.eye(3), COVARIANCE + np.eye(3)])
    found = stats.multivariate_normal.logpdf(POINTS, MEAN, covs)
    expected = [scipy.stats.multivariate_normal.logpdf(x, MEAN, c) for x, c in zip(POINTS, covs, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(
        wg.vmap(lambda x, c: stats.multivariate_normal.logpdf(x, MEAN, c))(POINTS, covs), expected, rtol=1e-12
    )


def test_normal_derivatives():
    def f(x, mean, cov):
        return stats.multivariate_normal.logpdf(x, mean, cov)

    check_derivatives(f, [POINTS, MEAN, COVARIANCE], range(3))
    away = POINTS[0] - MEAN
    inverse = np.linalg.inv(COVARIANCE)
    expected = 0.5 * (inverse @ np.outer(away, away) @ inverse - inverse)
    np.testing.assert_allclose(wg.grad(f, argnums=2)(POINTS[0], MEAN, COVARIANCE), expected, rtol=1e-12)
    _, pushed = wg.jvp(f, (POINTS, MEAN, COVARIANCE), (np.ones((4, 3)), np.ones(3), np.eye(3)))
    rows = wg.jacrev(f, argnums=(0, 1, 2))(POINTS, MEAN, COVARIANCE)
    combined = rows[0].sum((1, 2)) + rows[1].sum(1) + np.trace(rows[2], axis1=1, axis2=2)
    np.testing.assert_allclose(combined, pushed, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(f)(POINTS, MEAN, COVARIANCE), f(POINTS, MEAN, COVARIANCE), rtol=1e-12)


def test_t_derivatives():
    check_derivatives(lambda *a: stats.multivariate_t.logpdf(*a), [POINTS, MEAN, COVARIANCE, np.float64(3.5)], range(4))


def test_dirichlet():
    np.testing.assert_allclose(
        stats.dirichlet.logpdf(SHARES, ALPHA), scipy.stats.dirichlet.logpdf(SHARES, ALPHA), rtol=1e-12
    )
    np.testing.assert_allclose(
        stats.dirichlet.logpdf(SHARES[:2], ALPHA), scipy.stats.dirichlet.logpdf(SHARES[:2], ALPHA), rtol=1e-12
    )
    for method in ("mean", "var", "entropy"):
        np.testing.assert_allclose(
            getattr(stats.dirichlet, method)(ALPHA), getattr(scipy.stats.dirichlet, method)(ALPHA), rtol=1e-12
        )
    check_derivatives(lambda x, a: stats.dirichlet.logpdf(x, a), [SHARES, ALPHA], (0, 1))
    edge = np.array([0.0, 0.4, 0.6])
    np.testing.assert_array_equal(stats.dirichlet.pdf(edge, [2.0, 1.0, 3.0]), 0.0)
    assert stats.dirichlet.logpdf([1.2, -0.4, 0.2], ALPHA) == -math.inf
    for f in (stats.dirichlet.logpdf, stats.dirichlet.pdf):
        for gradient in wg.grad(f, argnums=(0, 1))(edge, np.array([2.0, 1.0, 3.0])):
            np.testing.assert_array_equal(gradient, 0.0)
    assert np.isnan(stats.dirichlet.logpdf([0.2, 0.3, 0.5], [1.0, -1.0, 2.0]))
    with pytest.raises(ValueError, match="3 parameters do not fit 4 shares"):
        stats.dirichlet.logpdf(np.full(4, 0.25), ALPHA)


def test_multinomial():
    counts, p = np.array([[1, 2, 4], [0, 0, 7], [1, 1, 1], [-1, 4, 4]]), np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(
        stats.multinomial.logpmf(counts, 7, p), scipy.stats.multinomial.logpmf(counts, 7, p), rtol=1e-12
    )
    np.testing.assert_allclose(
        stats.multinomial.pmf(counts, 7, p), scipy.stats.multinomial.pmf(counts, 7, p), rtol=1e-12
    )
    np.testing.assert_allclose(stats.multinomial.mean(7, p), 7 * p)
    check_derivatives(lambda p: stats.multinomial.logpmf(counts[:2], 7, p), [p], [0])
    np.testing.assert_array_equal(wg.jacobian(lambda p: stats.multinomial.logpmf(counts, 7, p))(p)[2:], 0.0)
    assert stats.multinomial.rvs(7, p, size=4, random_state=5).sum() == 28
    with pytest.raises(wg.GradientError, match="pvals"):
        wg.grad(lambda p: stats.multinomial.rvs(7, p, random_state=5).sum())(p)


def test_single_precision_stays():
    single = lambda *args: [np.float32(a) for a in args]
    assert stats.multivariate_normal.logpdf(*single(POINTS, MEAN, COVARIANCE)).dtype == np.float32
    assert stats.multivariate_normal.logpdf(np.float32(POINTS)).dtype == np.float32
    assert stats.multivariate_t.logpdf(*single(POINTS, MEAN, COVARIANCE), 3.5).dtype == np.float32
    assert stats.dirichlet.logpdf(*single(SHARES, ALPHA)).dtype == np.float32
    assert stats.multinomial.logpmf([1, 2], 3, np.float32([0.4, 0.6])).dtype == np.float32


def test_draws():
    rng = np.random.default_rng(5)
    found = stats.multivariate_normal.rvs(MEAN, COVARIANCE, size=4, random_state=default_rng(5))
    np.testing.assert_allclose(found, rng.multivariate_normal(MEAN, COVARIANCE, size=4, method="cholesky"), rtol=1e-14)
    np.testing.assert_allclose(
        stats.dirichlet.rvs(ALPHA, 4, 5), np.random.default_rng(5).dirichlet(ALPHA, 4), rtol=1e-14
    )
    many = stats.multivariate_t.rvs(MEAN, COVARIANCE, 9.0, size=4000, random_state=5)
    np.testing.assert_allclose(np.cov(many.T), COVARIANCE * 9.0 / 7.0, atol=0.25)
    np.testing.assert_allclose(many.mean(0), MEAN, atol=0.1)
    grow = wg.jacobian(lambda df: stats.multivariate_t.rvs(MEAN, COVARIANCE, df, size=2, random_state=5))(9.0)
    away = stats.multivariate_t.rvs(MEAN, COVARIANCE, 9.0, size=2, random_state=5) - MEAN
    np.testing.assert_allclose(grow * away[:, :1], grow[:, :1] * away, rtol=1e-12)  # along the vector


def test_shapes_that_do_not_fit():
    with pytest.raises(
        ValueError, match=r"A covariance of shape \(3, 3\) does not fit vectors of 2 numbers, at .*test_vector"
    ):
        stats.multivariate_normal.logpdf(np.ones(2), np.ones(2), COVARIANCE)


class TestSingularCovariance:
    FACTOR = np.array([[1.0, 0.2], [0.3, -1.0], [0.5, 0.4]])
    POSSIBLE = np.random.default_rng(4).normal(size=(4, 2)) @ FACTOR.T

    def logpdf(self, factor, weights=(0.3, 0.5)):
        return stats.multivariate_normal.logpdf(factor @ np.array(weights), MEAN * 0, factor @ factor.T, True)

    @pytest.mark.parametrize("points", [POSSIBLE, POINTS], ids=["possible", "impossible"])
    def test_values(self, points):
        cov = self.FACTOR @ self.FACTOR.T
        for method in ("logpdf", "pdf"):
            found = getattr(stats.multivariate_normal(MEAN * 0, cov, allow_singular=True), method)(points)
            expected = getattr(scipy.stats.multivariate_normal(MEAN * 0, cov, allow_singular=True), method)(points)
            np.testing.assert_allclose(found, expected, rtol=1e-10)

    def test_entropy_and_draws(self):
        cov = self.FACTOR @ self.FACTOR.T
        found = stats.multivariate_normal(MEAN, cov, allow_singular=True)
        expected = scipy.stats.multivariate_normal(MEAN, cov, allow_singular=True)
        np.testing.assert_allclose(found.entropy(), expected.entropy(), rtol=1e-10)
        draws = found.rvs(5, random_state=0)
        assert draws.shape == (5, 3)
        assert np.isfinite(found.logpdf(draws)).all()

    def test_of_full_rank(self):
        found = stats.multivariate_normal.logpdf(POINTS, MEAN, COVARIANCE, allow_singular=True)
        np.testing.assert_allclose(found, stats.multivariate_normal.logpdf(POINTS, MEAN, COVARIANCE), rtol=1e-12)

    def test_a_stack(self):
        covs = np.stack([self.FACTOR @ self.FACTOR.T, COVARIANCE])
        points = np.stack([self.POSSIBLE[0], POINTS[0]])
        found = stats.multivariate_normal.logpdf(points, None, covs, True)
        expected = [scipy.stats.multivariate_normal.logpdf(x, None, c, True) for x, c in zip(points, covs, strict=True)]
        np.testing.assert_allclose(found, expected, rtol=1e-10)

    def test_derivatives_are_those_among_covariances_of_the_same_rank(self):
        with pytest.warns(wg.linalg.GaugeWarning, match="among matrices of the same rank"):
            check_derivatives(self.logpdf, [self.FACTOR], [0], orders=1)

    def test_not_a_covariance(self):
        assert math.isnan(stats.multivariate_normal.logpdf([0.0, 0.0], None, np.diag([1.0, -1.0]), True))
