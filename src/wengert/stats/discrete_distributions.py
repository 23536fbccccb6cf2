"""Distributions on integers; names and parameters are those of `scipy.stats`."""

from __future__ import annotations

import math

from wengert.ops.elementwise.exponential import exp, expm1, log, log1p
from wengert.ops.special.entropy import xlog1py, xlogy
from wengert.ops.special.gamma import betaln, gammaln
from wengert.ops.special.incomplete import betainc, gammainc, gammaincc
from wengert.stats.families import DiscreteFamily

COUNTS = (0.0, math.inf)

poisson = DiscreteFamily(
    "poisson",
    "mu",
    lambda k, mu: xlogy(k, mu) - mu - gammaln(k + 1.0),
    support=COUNTS,
    valid=lambda mu: mu >= 0,
    cdf=lambda k, mu: gammaincc(k + 1.0, mu),
    sf=lambda k, mu: gammainc(k + 1.0, mu),
    mean=lambda mu: mu,
    var=lambda mu: mu,
    rvs=lambda rng, mu, size: rng.poisson(mu, size),
)
binom = DiscreteFamily(
    "binom",
    "n p",
    lambda k, n, p: xlogy(k, p) + xlog1py(n - k, -p) - betaln(n - k + 1.0, k + 1.0) - log1p(n),
    support=(0.0, lambda n, p: n),
    inside=0.0,
    valid=lambda n, p: (n >= 0) & (p >= 0) & (p <= 1),
    cdf=lambda k, n, p: betainc(n - k, k + 1.0, 1.0 - p),
    sf=lambda k, n, p: betainc(k + 1.0, n - k, p),
    mean=lambda n, p: n * p,
    var=lambda n, p: n * p * (1.0 - p),
    rvs=lambda rng, n, p, size: rng.binomial(n, p, size),
)
bernoulli = DiscreteFamily(
    "bernoulli",
    "p",
    lambda k, p: xlogy(k, p) + xlog1py(1.0 - k, -p),
    support=(0.0, 1.0),
    inside=0.0,
    valid=lambda p: (p >= 0) & (p <= 1),
    cdf=lambda k, p: 1.0 - p + 0.0 * k,
    sf=lambda k, p: p + 0.0 * k,
    mean=lambda p: p,
    var=lambda p: p * (1.0 - p),
    rvs=lambda rng, p, size: rng.bernoulli(p, size),
)
geom = DiscreteFamily(
    "geom",
    "p",
    lambda k, p: xlog1py(k - 1.0, -p) + log(p),
    support=(1.0, math.inf),
    valid=lambda p: (p > 0) & (p <= 1),
    cdf=lambda k, p: -expm1(k * log1p(-p)),
    sf=lambda k, p: exp(k * log1p(-p)),
    mean=lambda p: 1.0 / p,
    var=lambda p: (1.0 - p) / (p * p),
    rvs=lambda rng, p, size: rng.geometric(p, size),
)
nbinom = DiscreteFamily(
    "nbinom",
    "n p",
    lambda k, n, p: n * log(p) + xlog1py(k, -p) - betaln(n, k + 1.0) - log(n + k),
    support=COUNTS,
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    cdf=lambda k, n, p: betainc(n, k + 1.0, p),
    sf=lambda k, n, p: betainc(k + 1.0, n, 1.0 - p),
    mean=lambda n, p: n * (1.0 - p) / p,
    var=lambda n, p: n * (1.0 - p) / (p * p),
    rvs=lambda rng, n, p, size: rng.negative_binomial(n, p, size),
)
