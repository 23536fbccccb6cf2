"""Draws from distributions with a density: smooth functions of the parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import refuse_out, user_error
from wengert.core.levels import bottom_array
from wengert.core.primitive import as_operand, stack_lists
from wengert.ops.elementwise.arithmetic import sqrt
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.exponential import exp, expm1, power
from wengert.ops.elementwise.predicates import rint
from wengert.ops.linear_algebra.cholesky import cholesky
from wengert.ops.linear_algebra.spectral import eigh, svd
from wengert.ops.linear_algebra.triangular import solve_triangular
from wengert.ops.reductions.cumulative import cumsum
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.joining import stack
from wengert.ops.shape.rearranging import concatenate, flip
from wengert.ops.shape.reshaping import broadcast_to, reshape, swapaxes
from wengert.random.draw import Draw, Size, refuse_gradient, refuse_trace, size_tuple
from wengert.transforms.products import stop_gradient


class ContinuousDraws:
    """Methods of `np.random.Generator`, by their names and signatures.

    On plain parameters each is NumPy's. On values it draws the same numbers, up to rounding, in the precision of the
    values.
    """

    numpy: np.random.Generator

    def _pathwise(self, name: str, parameters: Sequence[Any], size: Size, path: Callable) -> Any:
        """NumPy's method, or `path(draw, *parameters)` where a parameter is a value."""
        parameters = list(map(stack_lists, parameters))
        if not any(isinstance(p, Array) for p in parameters):
            refuse_trace()
            return getattr(self.numpy, name)(*parameters, size=size)
        return path(Draw(self.numpy, parameters, size, checks=name), *parameters)

    def _plain(self, name: str, **arguments: Any) -> Any:
        refuse_trace()
        return getattr(self.numpy, name)(**arguments)

    # Without parameters

    def random(self, size: Size = None, dtype: Any = np.float64, out: np.ndarray | None = None) -> Any:
        """Uniform on [0, 1)."""
        return self._plain("random", size=size, dtype=dtype, out=out)

    def standard_normal(self, size: Size = None, dtype: Any = np.float64, out: np.ndarray | None = None) -> Any:
        """Normal with mean 0 and standard deviation 1."""
        return self._plain("standard_normal", size=size, dtype=dtype, out=out)

    def standard_exponential(
        self, size: Size = None, dtype: Any = np.float64, method: str = "zig", out: np.ndarray | None = None
    ) -> Any:
        """Exponential with mean 1."""
        return self._plain("standard_exponential", size=size, dtype=dtype, method=method, out=out)

    def standard_cauchy(self, size: Size = None) -> Any:
        """Cauchy around 0."""
        return self._plain("standard_cauchy", size=size)

    # Location and scale

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Any:
        """loc + scale z, z standard normal."""
        return self._pathwise(
            "normal", (loc, scale), size, lambda draw, loc, scale: loc + scale * draw("standard_normal")
        )

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = None) -> Any:
        """low + (high - low) u, u uniform on [0, 1)."""
        return self._pathwise("uniform", (low, high), size, lambda draw, low, high: low + (high - low) * draw("random"))

    def exponential(self, scale: Any = 1.0, size: Size = None) -> Any:
        """scale z, z standard exponential."""
        return self._pathwise("exponential", (scale,), size, lambda draw, scale: scale * draw("standard_exponential"))

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Any:
        """loc + scale z, z standard Gumbel."""
        return self._pathwise("gumbel", (loc, scale), size, lambda draw, loc, scale: loc + scale * draw("gumbel"))

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Any:
        """loc + scale z, z standard Laplace."""
        return self._pathwise("laplace", (loc, scale), size, lambda draw, loc, scale: loc + scale * draw("laplace"))

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Any:
        """loc + scale z, z standard logistic."""
        return self._pathwise("logistic", (loc, scale), size, lambda draw, loc, scale: loc + scale * draw("logistic"))

    def rayleigh(self, scale: Any = 1.0, size: Size = None) -> Any:
        """scale z, z standard Rayleigh."""
        return self._pathwise("rayleigh", (scale,), size, lambda draw, scale: scale * draw("rayleigh"))

    # Functions of standard draws

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Size = None) -> Any:
        """exp(mean + sigma z), z standard normal."""
        return self._pathwise(
            "lognormal", (mean, sigma), size, lambda draw, mean, sigma: exp(mean + sigma * draw("standard_normal"))
        )

    def weibull(self, a: Any, size: Size = None) -> Any:
        """z^(1 / a), z standard exponential."""
        return self._pathwise("weibull", (a,), size, lambda draw, a: power(draw("standard_exponential"), 1.0 / a))

    def pareto(self, a: Any, size: Size = None) -> Any:
        """exp(z / a) - 1, z standard exponential."""
        return self._pathwise("pareto", (a,), size, lambda draw, a: expm1(draw("standard_exponential") / a))

    def power(self, a: Any, size: Size = None) -> Any:
        """(1 - exp(-z))^(1 / a), z standard exponential."""
        return self._pathwise(
            "power", (a,), size, lambda draw, a: power(-np.expm1(-draw("standard_exponential")), 1.0 / a)
        )

    def triangular(self, left: Any, mode: Any, right: Any, size: Size = None) -> Any:
        """The quantile of a uniform draw."""

        def path(draw: Draw, left: Any, mode: Any, right: Any) -> Any:
            u, width = draw("random"), right - left
            rises = u <= stop_gradient((mode - left) / width)
            return where(
                rises, left + sqrt(u * ((mode - left) * width)), right - sqrt((1.0 - u) * ((right - mode) * width))
            )

        return self._pathwise("triangular", (left, mode, right), size, path)

    def vonmises(self, mu: Any, kappa: Any, size: Size = None) -> Any:
        """On the circle, between -pi and pi."""

        def path(draw: Draw, mu: Any, kappa: Any) -> Any:
            turned = mu + draw.vonmises(kappa)
            return turned - 2.0 * math.pi * rint(turned / (2.0 * math.pi))

        return self._pathwise("vonmises", (mu, kappa), size, path)

    # Shapes: derivatives at a fixed probability

    def standard_gamma(
        self, shape: Any, size: Size = None, dtype: Any = np.float64, out: np.ndarray | None = None
    ) -> Any:
        """The derivative is that of the quantile: see `ops/samples/draws.py`."""
        shape = stack_lists(shape)
        if not isinstance(shape, Array):
            return self._plain("standard_gamma", shape=shape, size=size, dtype=dtype, out=out)
        refuse_out(out)
        return self._pathwise("standard_gamma", (shape,), size, Draw.gamma)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Size = None) -> Any:
        """scale z, z standard gamma."""
        return self._pathwise("gamma", (shape, scale), size, lambda draw, shape, scale: scale * draw.gamma(shape))

    def chisquare(self, df: Any, size: Size = None) -> Any:
        """Twice a gamma draw."""
        return self._pathwise("chisquare", (df,), size, lambda draw, df: 2.0 * draw.gamma(0.5 * df))

    def f(self, dfnum: Any, dfden: Any, size: Size = None) -> Any:
        """The quotient of two gamma draws.

        The derivative is that of the quotient of two quantiles.
        """

        def path(draw: Draw, dfnum: Any, dfden: Any) -> Any:
            shapes = stack([broadcast_to(as_operand(df), draw.size) for df in (dfnum, dfden)], -1)
            pair = draw.gamma(0.5 * shapes, core=(2,))
            return (2.0 * pair[..., 0] * dfden) / (2.0 * pair[..., 1] * dfnum)

        return self._pathwise("f", (dfnum, dfden), size, path)

    def beta(self, a: Any, b: Any, size: Size = None) -> Any:
        """The derivative is that of the quantile: see `ops/samples/draws.py`."""
        return self._pathwise("beta", (a, b), size, Draw.beta)

    def standard_t(self, df: Any, size: Size = None) -> Any:
        """The derivative is that of the quantile: see `ops/samples/draws.py`."""
        return self._pathwise("standard_t", (df,), size, Draw.t)

    def wald(self, mean: Any, scale: Any, size: Size = None) -> Any:
        """The inverse Gaussian distribution; the derivative is that of the quantile of scale / mean, times the mean."""
        return self._pathwise("wald", (mean, scale), size, lambda draw, mean, scale: mean * draw.wald(scale / mean))

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Size = None) -> Any:
        """No derivative is known here."""
        refuse_gradient("noncentral_chisquare", df=stack_lists(df), nonc=stack_lists(nonc))
        return self._pathwise(
            "noncentral_chisquare", (df, nonc), size, lambda draw, *p: draw("noncentral_chisquare", *p)
        )

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Size = None) -> Any:
        """No derivative is known here."""
        refuse_gradient("noncentral_f", dfnum=stack_lists(dfnum), dfden=stack_lists(dfden), nonc=stack_lists(nonc))
        return self._pathwise("noncentral_f", (dfnum, dfden, nonc), size, lambda draw, *p: draw("noncentral_f", *p))

    # Vectors

    def dirichlet(self, alpha: Any, size: Size = None) -> Any:
        """Shares of gamma draws; where all alpha are below 0.1, as in NumPy, sticks broken off by beta draws."""
        alpha = stack_lists(alpha)
        if not isinstance(alpha, Array):
            return self._plain("dirichlet", alpha=alpha, size=size)
        if alpha.ndim != 1:
            raise user_error(
                ValueError, f"dirichlet takes a vector alpha, and was given shape {alpha.shape}", "Batch it by wg.vmap."
            )
        return draw_shares(Draw(self.numpy, (alpha[0],), size_tuple(size)), alpha)

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Size = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
    ) -> Any:
        """mean + A z, with a factor A of cov by svd, eigh or cholesky.

        The derivative with respect to cov is taken with Cholesky's factor, rotated so that the draws are those of the
        method: it is smooth wherever cov is positive definite, while that of the others breaks down at equal
        eigenvalues.
        """
        mean, cov = stack_lists(mean), stack_lists(cov)
        if not isinstance(mean, Array) and not isinstance(cov, Array):
            return self._plain(
                "multivariate_normal", mean=mean, cov=cov, size=size, check_valid=check_valid, tol=tol, method=method
            )
        mean, cov = as_operand(mean), as_operand(cov)
        if mean.ndim != 1 or cov.shape != mean.shape * 2:
            raise user_error(ValueError, f"A mean of shape {mean.shape} does not fit a covariance of shape {cov.shape}")
        draw = Draw(self.numpy, (mean[0], cov[0, 0]), size_tuple(size))
        return mean + correlate_noise(draw("standard_normal", core=mean.shape), cov, method)


def draw_shares(draw: Draw, alpha: Any) -> Any:
    """A Dirichlet draw, by the steps of NumPy's."""
    n = alpha.shape[0]
    if _are_all_small(alpha):
        rest = flip(cumsum(flip(alpha)))
        broken = draw.beta(alpha[:-1], rest[1:], core=(n - 1,))
        ones = np.ones((*draw.size, 1), draw.dtype)
        left = concatenate([ones, np.cumprod(1.0 - broken, -1)], -1)
        return left * concatenate([broken, ones], -1)
    parts = draw.gamma(alpha, core=(n,))
    return parts * (1.0 / sum_(parts, -1, keepdims=True))


def _are_all_small(alpha: Any) -> bool:
    """Whether all are below 0.1, in the whole batch."""
    return bool(np.max(bottom_array(alpha), initial=0.0) < 0.1)


def correlate_noise(noise: Any, cov: Any, method: str) -> Any:
    """Standard normal vectors as vectors with this covariance."""
    if method not in ("svd", "eigh", "cholesky"):
        raise user_error(ValueError, f"method is 'svd', 'eigh' or 'cholesky', and not {method!r}")
    lower = cholesky(0.5 * (cov + swapaxes(cov, -1, -2))) if method == "cholesky" or isinstance(cov, Array) else None
    if method != "cholesky":
        fixed = stop_gradient(cov)
        if method == "svd":
            u, s, _ = svd(fixed)
        else:
            s, u = eigh(fixed)
        noise = noise @ swapaxes(u * sqrt(abs(s)), -1, -2)
        if lower is None:
            return noise
        flat = reshape(noise, (-1, noise.shape[-1]))
        noise = reshape(swapaxes(solve_triangular(stop_gradient(lower), flat.T, lower=True), -1, -2), noise.shape)
    return noise @ swapaxes(lower, -1, -2)
