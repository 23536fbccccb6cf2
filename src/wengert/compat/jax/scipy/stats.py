"""`jax.scipy.stats`: distributions, with the functions that JAX has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import lift
from wengert.compat.jax.differences import ABSENT

DISTRIBUTIONS = """
    bernoulli beta binom cauchy chi2 dirichlet expon gamma geom gumbel_r laplace logistic multinomial
    multivariate_normal nbinom norm pareto poisson t truncnorm uniform vonmises
"""
METHODS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


def lift_distribution(distribution: Any) -> SimpleNamespace:
    """The functions of a distribution."""
    return SimpleNamespace(
        **{name: lift(getattr(distribution, name), name) for name in METHODS if hasattr(distribution, name)}
    )


globals().update({name: lift_distribution(getattr(wg.stats, name)) for name in DISTRIBUTIONS.split()})

__all__ = sorted(DISTRIBUTIONS.split())

__getattr__ = without(__name__, ABSENT)
