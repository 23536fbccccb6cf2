"""Likelihoods, regressions, kernels and sums over groups."""

from __future__ import annotations

import numpy as np
from tests.large.cases import Case

import wengert as wg


def logistic_regression(x, w, y):
    z = x @ w
    return np.logaddexp(0.0, np.where(y, -z, z)).mean() + 0.01 * (w**2).sum()


def poisson_regression(x, w, y):
    z = np.clip(x @ w, -4, 4)
    return (np.exp(z) - y * z).mean()


def random_effects(y, group, effect):
    residual = y - effect[group]
    return (residual**2).mean() + 0.1 * (effect**2).sum()


def two_random_effects(y, group, other, effect):
    residual = y - effect[group] + 0.5 * effect[other]
    return np.log1p(residual**2).sum()


def sums_of_groups(y, group):
    count = wg.zeros(500).at[group].add(1.0) + 1.0
    mean = wg.zeros(500).at[group].add(y) / count
    return ((y - mean[group]) ** 2).mean() + (mean**2).sum()


def mixture(x, means, scales):
    z = (x[:, None] - means) / (0.5 + scales**2)
    return -wg.logsumexp(-0.5 * z**2 - np.log(0.5 + scales**2), axis=1).mean()


def gaussian_process(x, y, length):
    r2 = ((x[:, None] - x[None]) ** 2).sum(axis=-1)
    k = np.exp(-r2 / (1.0 + length**2).sum()) + 0.5 * np.eye(len(x))
    low = np.linalg.cholesky(k)
    return (wg.linalg.solve_triangular(low, y, lower=True) ** 2).sum() + np.log(np.diagonal(low)).sum()


def ranking(score, s, t):
    return np.log1p(np.exp(score[t] - score[s])).mean()


def factorisation(u, v, s, t, r):
    return ((r - (u[s] * v[t]).sum(axis=1)) ** 2).mean() + 0.01 * ((u[s] ** 2).sum() + (v[t] ** 2).sum()) / len(s)


def survival(x, w, order):
    risk = np.exp(np.clip(x @ w, -3, 3))[order]
    return (np.log(np.cumsum(risk)) - np.log(risk)).mean()


def correlation(x, _):
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return ((z.T @ z / len(x)) ** 2).sum()


def robust_location(x, m):
    d = np.abs(x - m)
    return np.where(d < 1.0, 0.5 * d**2, d - 0.5).sum()


FAMILY = {
    "logistic regression": Case(logistic_regression, lambda d: (d.normal(9000, 20), d.normal(20), d.mask(9000))),
    "Poisson regression": Case(poisson_regression, lambda d: (d.normal(9000, 20), d.normal(20), d.positive(9000))),
    "random effects": Case(random_effects, lambda d: (d.normal(80_000), d.indices(300, 80_000), d.normal(300))),
    "two random effects": Case(
        two_random_effects,
        lambda d: (d.normal(50_000), d.indices(3000, 50_000), d.indices(3000, 50_000), d.normal(3000)),
    ),
    "sums of groups": Case(sums_of_groups, lambda d: (d.normal(80_000), d.indices(500, 80_000))),
    "mixture": Case(mixture, lambda d: (d.normal(20_000), d.normal(8), d.positive(8))),
    "Gaussian process": Case(gaussian_process, lambda d: (d.normal(160, 3), d.normal(160), d.positive(3))),
    "ranking": Case(ranking, lambda d: (d.normal(2000), d.indices(2000, 40_000), d.indices(2000, 40_000))),
    "factorisation": Case(
        factorisation,
        lambda d: (d.normal(600, 12), d.normal(900, 12), d.indices(600, 9000), d.indices(900, 9000), d.normal(9000)),
    ),
    "survival": Case(survival, lambda d: (d.normal(12_000, 6), d.normal(6) / 3, d.rng.permutation(12_000))),
    "correlation": Case(correlation, lambda d: (d.normal(5000, 12), d.normal(1))),
    "robust location": Case(robust_location, lambda d: (d.normal(200_000), d.normal(1))),
}
