"""Distributions with a density, each in standard form; names and parameters are those of `scipy.stats`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.exponential import exp, expm1, log, log1p, power, softplus
from wengert.ops.elementwise.predicates import isinf
from wengert.ops.elementwise.trigonometric import arctan2, sin, tan
from wengert.ops.special.bessel import i0e, i1e
from wengert.ops.special.entropy import expit, log_expit, logit, xlog1py, xlogy
from wengert.ops.special.error import erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from wengert.ops.special.gamma import betaln, digamma, gammaln
from wengert.ops.special.gamma import gamma as gamma_function
from wengert.ops.special.incomplete import betainc, gammainc, gammaincc
from wengert.ops.special.quantile import betaincinv, betaln_half, gammainccinv, gammaincinv, stdtr, stdtrit
from wengert.random.draw import Draw
from wengert.stats.families import ContinuousFamily

LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
ROOT_TWO = math.sqrt(2.0)
EULER = 0.57721566490153286061
POSITIVE = (0.0, math.inf)


def _symmetric(cdf: Callable, logcdf: Callable, ppf: Callable) -> dict[str, Any]:
    """Both tails of a distribution that is symmetric about zero."""
    return {
        "cdf": cdf,
        "sf": lambda z: cdf(-z),
        "logcdf": logcdf,
        "logsf": lambda z: logcdf(-z),
        "ppf": ppf,
        "isf": lambda q: -ppf(q),
    }


norm = ContinuousFamily(
    "norm",
    "",
    lambda z: -0.5 * z * z - LOG_ROOT_TWO_PI,
    **_symmetric(ndtr, log_ndtr, ndtri),
    mean=lambda: 0.0,
    var=lambda: 1.0,
    entropy=lambda: LOG_ROOT_TWO_PI + 0.5,
    rvs=lambda draw: draw("standard_normal"),
)
halfnorm = ContinuousFamily(
    "halfnorm",
    "",
    lambda z: -0.5 * z * z - LOG_ROOT_TWO_PI + math.log(2.0),
    support=POSITIVE,
    cdf=lambda z: erf(z / ROOT_TWO),
    sf=lambda z: erfc(z / ROOT_TWO),
    logsf=lambda z: log_ndtr(-z) + math.log(2.0),
    ppf=lambda q: ROOT_TWO * erfinv(q),
    isf=lambda q: ROOT_TWO * erfcinv(q),
    mean=lambda: math.sqrt(2.0 / math.pi),
    var=lambda: 1.0 - 2.0 / math.pi,
    entropy=lambda: 0.5 * math.log(math.pi / 2.0) + 0.5,
    rvs=lambda draw: absolute(draw("standard_normal")),
)
lognorm = ContinuousFamily(
    "lognorm",
    "s",
    lambda z, s: -0.5 * (log(z) / s) ** 2 - log(s * z) - LOG_ROOT_TWO_PI,
    support=POSITIVE,
    closed=False,
    valid=lambda s: s > 0,
    cdf=lambda z, s: ndtr(log(z) / s),
    sf=lambda z, s: ndtr(-log(z) / s),
    logcdf=lambda z, s: log_ndtr(log(z) / s),
    logsf=lambda z, s: log_ndtr(-log(z) / s),
    ppf=lambda q, s: exp(s * ndtri(q)),
    isf=lambda q, s: exp(-s * ndtri(q)),
    mean=lambda s: exp(0.5 * s * s),
    var=lambda s: expm1(s * s) * exp(s * s),
    entropy=lambda s: 0.5 + LOG_ROOT_TWO_PI + log(s),
    rvs=lambda draw, s: exp(s * draw("standard_normal")),
)
t = ContinuousFamily(
    "t",
    "df",
    lambda z, df: -0.5 * (df + 1.0) * log1p(z * z / df) - 0.5 * log(df) - betaln_half(0.5 * df),
    valid=lambda df: df > 0,
    cdf=lambda z, df: stdtr(df, z),
    sf=lambda z, df: stdtr(df, -z),
    ppf=lambda q, df: stdtrit(df, q),
    isf=lambda q, df: -stdtrit(df, q),
    mean=lambda df: where(df > 1.0, 0.0, math.inf),
    var=lambda df: where(df > 2.0, df / (df - 2.0), where(df > 1.0, math.inf, math.nan)),
    entropy=lambda df: (
        0.5 * (df + 1.0) * (digamma(0.5 * (df + 1.0)) - digamma(0.5 * df)) + 0.5 * log(df) + betaln_half(0.5 * df)
    ),
    rvs=Draw.t,
)


def _cauchy_ppf(q: Any) -> Any:
    """tan(pi (q - 1/2)), computed by the tangent of a small angle."""
    middle = absolute(q - 0.5) < 0.25
    return where(middle, tan(math.pi * (where(middle, q, 0.5) - 0.5)), -1.0 / tan(math.pi * where(middle, 0.25, q)))


cauchy = ContinuousFamily(
    "cauchy",
    "",
    lambda z: -math.log(math.pi) - log1p(z * z),
    cdf=lambda z: arctan2(1.0, -z) / math.pi,
    sf=lambda z: arctan2(1.0, z) / math.pi,
    ppf=_cauchy_ppf,
    isf=lambda q: -_cauchy_ppf(q),
    mean=lambda: math.nan,
    var=lambda: math.nan,
    entropy=lambda: math.log(4.0 * math.pi),
    rvs=lambda draw: draw("standard_cauchy"),
)


def _laplace_cdf(z: Any) -> Any:
    half = 0.5 * exp(-absolute(z))
    return where(z < 0, half, 1.0 - half)


def _laplace_logcdf(z: Any) -> Any:
    return where(z < 0, z - math.log(2.0), log1p(-0.5 * exp(-absolute(z))))


def _laplace_ppf(q: Any) -> Any:
    low = q < 0.5
    return where(low, log(2.0 * where(low, q, 0.5)), -log(2.0 * (1.0 - where(low, 0.5, q))))


laplace = ContinuousFamily(
    "laplace",
    "",
    lambda z: -absolute(z) - math.log(2.0),
    **_symmetric(_laplace_cdf, _laplace_logcdf, _laplace_ppf),
    mean=lambda: 0.0,
    var=lambda: 2.0,
    entropy=lambda: math.log(2.0) + 1.0,
    rvs=lambda draw: draw("laplace"),
)
logistic = ContinuousFamily(
    "logistic",
    "",
    lambda z: z - 2.0 * softplus(z),
    **_symmetric(expit, log_expit, logit),
    mean=lambda: 0.0,
    var=lambda: math.pi**2 / 3.0,
    entropy=lambda: 2.0,
    rvs=lambda draw: draw("logistic"),
)
gumbel_r = ContinuousFamily(
    "gumbel_r",
    "",
    lambda z: -z - exp(-z),
    cdf=lambda z: exp(-exp(-z)),
    sf=lambda z: -expm1(-exp(-z)),
    logcdf=lambda z: -exp(-z),
    ppf=lambda q: -log(-log(q)),
    isf=lambda q: -log(-log1p(-q)),
    mean=lambda: EULER,
    var=lambda: math.pi**2 / 6.0,
    entropy=lambda: EULER + 1.0,
    rvs=lambda draw: draw("gumbel"),
)
uniform = ContinuousFamily(
    "uniform",
    "",
    lambda z: 0.0 * z,
    support=(0.0, 1.0),
    inside=0.5,
    cdf=lambda z: z,
    sf=lambda z: 1.0 - z,
    ppf=lambda q: q,
    mean=lambda: 0.5,
    var=lambda: 1.0 / 12.0,
    entropy=lambda: 0.0,
    rvs=lambda draw: draw("random"),
)
expon = ContinuousFamily(
    "expon",
    "",
    lambda z: -z,
    support=POSITIVE,
    cdf=lambda z: -expm1(-z),
    sf=lambda z: exp(-z),
    logsf=lambda z: -z,
    ppf=lambda q: -log1p(-q),
    isf=lambda q: -log(q),
    mean=lambda: 1.0,
    var=lambda: 1.0,
    entropy=lambda: 1.0,
    rvs=lambda draw: draw("standard_exponential"),
)
gamma = ContinuousFamily(
    "gamma",
    "a",
    lambda z, a: xlogy(a - 1.0, z) - z - gammaln(a),
    support=POSITIVE,
    valid=lambda a: a > 0,
    cdf=lambda z, a: gammainc(a, z),
    sf=lambda z, a: gammaincc(a, z),
    ppf=lambda q, a: gammaincinv(a, q),
    isf=lambda q, a: gammainccinv(a, q),
    mean=lambda a: a,
    var=lambda a: a,
    entropy=lambda a: digamma(a) * (1.0 - a) + a + gammaln(a),
    rvs=Draw.gamma,
)
invgamma = ContinuousFamily(
    "invgamma",
    "a",
    lambda z, a: -(a + 1.0) * log(z) - gammaln(a) - 1.0 / z,
    support=POSITIVE,
    closed=False,
    valid=lambda a: a > 0,
    cdf=lambda z, a: gammaincc(a, 1.0 / z),
    sf=lambda z, a: gammainc(a, 1.0 / z),
    ppf=lambda q, a: 1.0 / gammainccinv(a, q),
    isf=lambda q, a: 1.0 / gammaincinv(a, q),
    mean=lambda a: where(a > 1.0, 1.0 / (a - 1.0), math.inf),
    var=lambda a: where(a > 2.0, 1.0 / ((a - 1.0) ** 2 * (a - 2.0)), math.inf),
    entropy=lambda a: a - (a + 1.0) * digamma(a) + gammaln(a),
    rvs=lambda draw, a: 1.0 / draw.gamma(a),
)
chi2 = ContinuousFamily(
    "chi2",
    "df",
    lambda z, df: xlogy(0.5 * df - 1.0, z) - 0.5 * z - gammaln(0.5 * df) - (0.5 * math.log(2.0)) * df,
    support=POSITIVE,
    valid=lambda df: df > 0,
    cdf=lambda z, df: gammainc(0.5 * df, 0.5 * z),
    sf=lambda z, df: gammaincc(0.5 * df, 0.5 * z),
    ppf=lambda q, df: 2.0 * gammaincinv(0.5 * df, q),
    isf=lambda q, df: 2.0 * gammainccinv(0.5 * df, q),
    mean=lambda df: df,
    var=lambda df: 2.0 * df,
    entropy=lambda df: 0.5 * df + math.log(2.0) + gammaln(0.5 * df) + (1.0 - 0.5 * df) * digamma(0.5 * df),
    rvs=lambda draw, df: 2.0 * draw.gamma(0.5 * df),
)
beta = ContinuousFamily(
    "beta",
    "a b",
    lambda z, a, b: xlogy(a - 1.0, z) + xlog1py(b - 1.0, -z) - betaln(a, b),
    support=(0.0, 1.0),
    inside=0.5,
    valid=lambda a, b: (a > 0) & (b > 0),
    cdf=lambda z, a, b: betainc(a, b, z),
    sf=lambda z, a, b: betainc(b, a, 1.0 - z),
    ppf=lambda q, a, b: betaincinv(a, b, q),
    isf=lambda q, a, b: 1.0 - betaincinv(b, a, q),
    mean=lambda a, b: a / (a + b),
    var=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1.0)),
    entropy=lambda a, b: (
        betaln(a, b) - (a - 1.0) * digamma(a) - (b - 1.0) * digamma(b) + (a + b - 2.0) * digamma(a + b)
    ),
    rvs=Draw.beta,
)
weibull_min = ContinuousFamily(
    "weibull_min",
    "c",
    lambda z, c: log(c) + xlogy(c - 1.0, z) - power(z, c),
    support=POSITIVE,
    valid=lambda c: c > 0,
    cdf=lambda z, c: -expm1(-power(z, c)),
    sf=lambda z, c: exp(-power(z, c)),
    logsf=lambda z, c: -power(z, c),
    ppf=lambda q, c: power(-log1p(-q), 1.0 / c),
    isf=lambda q, c: power(-log(q), 1.0 / c),
    mean=lambda c: gamma_function(1.0 + 1.0 / c),
    var=lambda c: gamma_function(1.0 + 2.0 / c) - gamma_function(1.0 + 1.0 / c) ** 2,
    entropy=lambda c: EULER * (1.0 - 1.0 / c) - log(c) + 1.0,
    rvs=lambda draw, c: power(draw("standard_exponential"), 1.0 / c),
)
pareto = ContinuousFamily(
    "pareto",
    "b",
    lambda z, b: log(b) - (b + 1.0) * log(z),
    support=(1.0, math.inf),
    inside=2.0,
    valid=lambda b: b > 0,
    cdf=lambda z, b: -expm1(-b * log(z)),
    sf=lambda z, b: exp(-b * log(z)),
    logsf=lambda z, b: -b * log(z),
    ppf=lambda q, b: exp(-log1p(-q) / b),
    isf=lambda q, b: exp(-log(q) / b),
    mean=lambda b: where(b > 1.0, b / (b - 1.0), math.inf),
    var=lambda b: where(b > 2.0, b / ((b - 1.0) ** 2 * (b - 2.0)), math.inf),
    entropy=lambda b: 1.0 + 1.0 / b - log(b),
    rvs=lambda draw, b: exp(draw("standard_exponential") / b),
)


# The normal distribution between two ends


def _normal_mass(low: Any, high: Any) -> Any:
    """The probability between two points, in the lower tail: a difference of small numbers."""
    flips = low > 0
    return ndtr(where(flips, -low, high)) - ndtr(where(flips, -high, low))


def _log_normal_mass(low: Any, high: Any) -> Any:
    """Its logarithm, in a tail by the ratio of both ends."""
    flips = low > 0
    low, high = where(flips, -high, low), where(flips, -low, high)
    tail = high < 0
    end = where(tail, high, -1.0)
    ratio = exp(log_ndtr(where(tail, low, -2.0)) - log_ndtr(end))
    middle = 1.0 - ndtr(where(tail, -1.0, low)) - ndtr(where(tail, -1.0, -high))
    return where(tail, log_ndtr(end) + log1p(-ratio), log(middle))


def _truncnorm_ppf(q: Any, a: Any, b: Any) -> Any:
    """On the side where probabilities are small."""
    flips = a > 0
    low, high = ndtr(where(flips, -b, a)), ndtr(where(flips, -a, b))
    z = ndtri(low + where(flips, 1.0 - q, q) * (high - low))
    return where(flips, -z, z)


def _weighted_density(power_: int, x: Any) -> Any:
    far = isinf(x)
    x = where(far, 0.0, x)
    return where(far, 0.0, x**power_ * exp(-0.5 * x * x - LOG_ROOT_TWO_PI))


def _truncnorm_mean(a: Any, b: Any) -> Any:
    return (_weighted_density(0, a) - _weighted_density(0, b)) / _normal_mass(a, b)


truncnorm = ContinuousFamily(
    "truncnorm",
    "a b",
    lambda z, a, b: -0.5 * z * z - LOG_ROOT_TWO_PI - _log_normal_mass(a, b),
    support=(lambda a, b: a, lambda a, b: b),
    inside=lambda a, b: where(isinf(a), where(isinf(b), 0.0, b), a),
    valid=lambda a, b: a < b,
    cdf=lambda z, a, b: _normal_mass(a, z) / _normal_mass(a, b),
    sf=lambda z, a, b: _normal_mass(z, b) / _normal_mass(a, b),
    ppf=_truncnorm_ppf,
    mean=_truncnorm_mean,
    var=lambda a, b: (
        1.0 + (_weighted_density(1, a) - _weighted_density(1, b)) / _normal_mass(a, b) - _truncnorm_mean(a, b) ** 2
    ),
    rvs=lambda draw, a, b: _truncnorm_ppf(draw("random"), a, b),
)


vonmises = ContinuousFamily(
    "vonmises",
    "kappa",
    lambda z, kappa: -2.0 * kappa * sin(0.5 * z) ** 2 - math.log(2.0 * math.pi) - log(i0e(kappa)),
    valid=lambda kappa: kappa >= 0,
    entropy=lambda kappa: kappa * (1.0 - i1e(kappa) / i0e(kappa)) + math.log(2.0 * math.pi) + log(i0e(kappa)),
    rvs=Draw.vonmises,
)
