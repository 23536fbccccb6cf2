"""Distributions of vectors; names and parameters are those of `scipy.stats`.

Covariances are factored by Cholesky, and may have axes in front: one matrix for each of the points with which they
broadcast. They are symmetric matrices, and so are their derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.ops.contraction.products import matvec
from wengert.ops.elementwise.arithmetic import sqrt
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.exponential import exp, log, log1p
from wengert.ops.elementwise.predicates import floor, logical_or
from wengert.ops.linear_algebra.cholesky import cholesky
from wengert.ops.linear_algebra.least_squares import pinv
from wengert.ops.linear_algebra.norms import norm
from wengert.ops.linear_algebra.spectral import eigvalsh
from wengert.ops.linear_algebra.triangular import solve_triangular
from wengert.ops.reductions.extremes import max as max_
from wengert.ops.reductions.logical import any as any_
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import _stop_gradient as stop_gradient
from wengert.ops.shape.rearranging import concatenate, diagonal
from wengert.ops.shape.reshaping import broadcast_to, moveaxis, reshape, swapaxes
from wengert.ops.special.entropy import xlogy
from wengert.ops.special.gamma import digamma, gammaln
from wengert.random.continuous_draws import draw_shares
from wengert.random.draw import Draw, Size, size_tuple
from wengert.random.generator import default_rng
from wengert.stats.families import as_counts, as_value, common_precision, match_precision, without_warnings
from wengert.stats.frozen import Distribution

LOG_TWO_PI = math.log(2.0 * math.pi)


def covariance_matrix(cov: Any, n: int, *others: Any) -> Any:
    """A number times the identity, a vector as the diagonal, or a matrix as it is; symmetric."""
    cov = as_value(cov)
    if np.ndim(cov) < 2:
        return np.eye(n, dtype=common_precision(cov, *others)) * cov
    if cov.shape[-2:] != (n, n):
        raise user_error(ValueError, f"A covariance of shape {cov.shape} does not fit vectors of {n} numbers")
    return 0.5 * (cov + swapaxes(cov, -1, -2))


def vector_length(x: Any, mean: Any, cov: Any) -> int:
    """The length of the vectors: that of the mean, the covariance, or the points."""
    if mean is not None and np.ndim(mean):
        return as_operand(mean).shape[-1]
    if np.ndim(cov):
        return as_operand(cov).shape[-1]
    return 1 if x is None or mean is not None or not np.ndim(x) else as_operand(x).shape[-1]


def offsets(x: Any, mean: Any, cov: Any) -> tuple[Any, Any, int]:
    """The vectors x - mean, the covariance as a matrix, and the length of the vectors."""
    n = vector_length(x, mean, cov)
    x = as_operand(x)
    if n == 1 and (not x.ndim or x.shape[-1] != 1):
        x = reshape(x, (*x.shape, 1))
    return x - (0.0 if mean is None else mean), covariance_matrix(cov, n, x, mean), n


def singular_logpdf(x: Any, mean: Any, cov: Any) -> Any:
    """The logarithm of the density on the subspace that the covariance spans; SciPy's tolerances."""
    away, cov, _ = offsets(x, mean, cov)
    rank, log_det, limit = spanned_space(cov)
    scaled = matvec(pinv(cov, singular_tolerance(cov), hermitian=True), away)
    outside = norm(stop_gradient(away - matvec(cov, scaled)), axis=-1) >= 1e3 * limit
    out = -0.5 * (rank * LOG_TWO_PI + log_det + sum_(scaled * away, -1))
    return where(outside, -math.inf, out)


def singular_tolerance(cov: Any) -> float:
    """The ratio to the largest eigenvalue below which an eigenvalue counts as zero."""
    return (1e3 if cov.dtype == np.float32 else 1e6) * float(np.finfo(cov.dtype).eps)


def spanned_space(cov: Any) -> tuple[Any, Any, Any]:
    """The rank of a covariance, the log-determinant on the subspace that it spans, and the limit of eigenvalues.

    The log-determinant of what is no covariance is NaN.
    """
    values = eigvalsh(cov)
    limit = singular_tolerance(cov) * max_(stop_gradient(absolute(values)), -1, keepdims=True)
    is_spanned = values > limit
    log_det = sum_(log(where(is_spanned, values, 1.0)), -1)
    return sum_(is_spanned, -1), where(any_(values < -limit, -1), math.nan, log_det), limit[..., 0]


def whiten(x: Any, mean: Any, cov: Any) -> tuple[Any, Any, int]:
    """The squared length of x - mean in units of the covariance, half its log-determinant, and the length of x."""
    away, cov, n = offsets(x, mean, cov)
    lower = cholesky(cov)
    if lower.ndim == 2:
        flat = reshape(away, (-1, n))
        scaled = reshape(swapaxes(solve_triangular(lower, swapaxes(flat, 0, 1), lower=True), 0, 1), away.shape)
    else:
        lead = np.broadcast_shapes(away.shape[:-1], lower.shape[:-2])
        columns = reshape(broadcast_to(away, (*lead, n)), (*lead, n, 1))
        scaled = reshape(solve_triangular(broadcast_to(lower, (*lead, n, n)), columns, lower=True), (*lead, n))
    return sum_(scaled * scaled, -1), sum_(log(diagonal(lower, 0, -2, -1)), -1), n


class MultivariateNormal(Distribution):
    """The normal distribution of vectors.

    >>> multivariate_normal.logpdf([0.0, 0.0], mean=[0.0, 0.0]).round(6)
    np.float64(-1.837877)
    """

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
        """The logarithm of the density at the vectors x, along their last axis.

        With `allow_singular`, the covariance may be singular. The density is then that on the subspace where points
        are possible, and zero elsewhere. Its derivative is that among covariances of the same rank.
        """
        if allow_singular:
            return singular_logpdf(x, mean, cov)
        distance, half_log_det, n = whiten(x, mean, cov)
        return -0.5 * (n * LOG_TWO_PI + distance) - half_log_det

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
        """The density."""
        return exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
        """The differential entropy."""
        n = vector_length(None, mean, cov)
        if allow_singular:
            rank, log_det, _ = spanned_space(covariance_matrix(cov, n))
            return 0.5 * (rank * (LOG_TWO_PI + 1.0) + log_det)
        return 0.5 * n * (LOG_TWO_PI + 1.0) + sum_(log(diagonal(cholesky(covariance_matrix(cov, n)), 0, -2, -1)), -1)

    def rvs(
        self,
        mean: Any = None,
        cov: Any = 1.0,
        size: Size = None,
        random_state: Any = None,
        *,
        allow_singular: bool = False,
    ) -> Any:
        """Draws: `multivariate_normal` of the generator, by Cholesky's factor if the covariance may not be singular."""
        n = vector_length(None, mean, cov)
        mean, method = np.zeros(n) if mean is None else mean, "svd" if allow_singular else "cholesky"
        return default_rng(random_state).multivariate_normal(mean, covariance_matrix(cov, n), size, method=method)


class MultivariateT(Distribution):
    """Student's t distribution of vectors.

    >>> multivariate_t.pdf([0.0], df=1.0).round(6)
    np.float64(0.31831)
    """

    def logpdf(self, x: Any, loc: Any = None, shape: Any = 1.0, df: Any = 1.0) -> Any:
        """The logarithm of the density at the vectors x, along their last axis."""
        distance, half_log_det, n = whiten(x, loc, shape)
        (df,) = match_precision([as_value(df)], distance)
        constant = gammaln(0.5 * (df + n)) - gammaln(0.5 * df) - 0.5 * n * log(math.pi * df)
        return constant - half_log_det - 0.5 * (df + n) * log1p(distance / df)

    def pdf(self, x: Any, loc: Any = None, shape: Any = 1.0, df: Any = 1.0) -> Any:
        """The density."""
        return exp(self.logpdf(x, loc, shape, df))

    def rvs(self, loc: Any = None, shape: Any = 1.0, df: Any = 1.0, size: Size = None, random_state: Any = None) -> Any:
        """Normal vectors over the root of a chi-squared draw, for each vector its own."""
        n = vector_length(None, loc, shape)
        shape, loc = covariance_matrix(shape, n), as_operand(0.0 if loc is None else loc)
        draw = Draw(default_rng(random_state).numpy, (df, shape[..., 0, 0], sum_(loc)), size_tuple(size))
        spread = sqrt(df / (2.0 * draw.gamma(0.5 * as_operand(df))))
        noise = draw("standard_normal", core=(n,)) @ swapaxes(cholesky(shape), -1, -2)
        return loc + reshape(spread, (*spread.shape, 1)) * noise


class Dirichlet(Distribution):
    """The distribution of shares that add up to 1.

    As in SciPy, the shares are along the first axis of x, and the last may be left out.

    >>> dirichlet.mean([1.0, 3.0])
    array([0.25, 0.75])
    """

    def _shares(self, x: Any, alpha: Any) -> tuple[Any, Any]:
        x, alpha = as_operand(x), as_operand(alpha)
        if alpha.ndim != 1:
            raise user_error(
                ValueError, f"dirichlet takes a vector alpha, and was given shape {alpha.shape}", "Batch it by wg.vmap."
            )
        if x.shape[0] == alpha.shape[0] - 1:
            x = concatenate([x, 1.0 - sum_(x, 0, keepdims=True)], 0)
        if x.shape[0] != alpha.shape[0]:
            raise user_error(
                ValueError, f"{alpha.shape[0]} parameters do not fit {x.shape[0]} shares, the first axis of x"
            )
        return moveaxis(x, 0, -1), alpha

    @without_warnings
    def logpdf(self, x: Any, alpha: Any) -> Any:
        """The logarithm of the density. That the shares add up to 1 is taken for granted."""
        x, alpha = self._shares(x, alpha)
        outside = any_(logical_or(x < 0, x > 1), -1)
        inside = where(reshape(outside, (*outside.shape, 1)), 1.0 / alpha.shape[0], x)
        out = sum_(xlogy(alpha - 1.0, inside), -1) + gammaln(sum_(alpha)) - sum_(gammaln(alpha))
        out = where(logical_or(outside, out == -math.inf), -math.inf, out)
        return where(any_(alpha <= 0), math.nan, out)

    def pdf(self, x: Any, alpha: Any) -> Any:
        """The density."""
        return exp(self.logpdf(x, alpha))

    def mean(self, alpha: Any) -> Any:
        """The mean."""
        alpha = as_operand(alpha)
        return alpha / sum_(alpha)

    def var(self, alpha: Any) -> Any:
        """The variance of each share."""
        alpha = as_operand(alpha)
        total = sum_(alpha)
        return alpha * (total - alpha) / (total * total * (total + 1.0))

    def entropy(self, alpha: Any) -> Any:
        """The differential entropy."""
        alpha = as_operand(alpha) * 1.0
        total, n = sum_(alpha), alpha.shape[0]
        return (
            sum_(gammaln(alpha)) - gammaln(total) + (total - n) * digamma(total) - sum_((alpha - 1.0) * digamma(alpha))
        )

    def rvs(self, alpha: Any, size: Size = None, random_state: Any = None) -> Any:
        """Draws with the shares along the last axis, as in SciPy."""
        alpha = as_operand(alpha)
        return draw_shares(Draw(default_rng(random_state).numpy, (alpha[0],), size_tuple(size)), alpha)


class Multinomial(Distribution):
    """How often each of several outcomes happens in n trials, along the last axis.

    >>> multinomial.pmf([1, 1], 2, [0.5, 0.5]).round(6)
    np.float64(0.5)
    """

    @without_warnings
    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """The logarithm of the probability of the counts x; minus infinity where they do not add up to n."""
        p = as_operand(p)
        x, n = as_counts(x, p), as_counts(n, p)
        impossible = logical_or(any_(logical_or(x < 0, floor(x) != x), -1), sum_(x, -1) != n)
        safe = where(reshape(impossible, (*impossible.shape, 1)), 0.0, x)
        out = gammaln(n + 1.0) + sum_(xlogy(safe, p) - gammaln(safe + 1.0), -1)
        out = where(logical_or(impossible, out == -math.inf), -math.inf, out)
        return where(any_(logical_or(p < 0, p > 1), -1), math.nan, out)

    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """The probability of the counts x."""
        return exp(self.logpmf(x, n, p))

    def mean(self, n: Any, p: Any) -> Any:
        """The mean."""
        return as_operand(n)[..., None] * as_operand(p)

    def rvs(self, n: Any, p: Any, size: Size = None, random_state: Any = None) -> Any:
        """Draws: integers, so that probabilities whose derivative is wanted are an error."""
        return default_rng(random_state).multinomial(n, p, size)


multivariate_normal, multivariate_t, dirichlet, multinomial = (
    MultivariateNormal(),
    MultivariateT(),
    Dirichlet(),
    Multinomial(),
)
