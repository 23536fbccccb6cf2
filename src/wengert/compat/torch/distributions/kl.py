"""Kullback-Leibler divergences: `kl_divergence(p, q)`, by the classes of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compat.torch.distributions.composed import Independent, sum_last
from wengert.compat.torch.distributions.continuous import (
    Beta,
    Exponential,
    Gamma,
    HalfNormal,
    Laplace,
    LogNormal,
    Normal,
    Uniform,
)
from wengert.compat.torch.distributions.discrete import Bernoulli, Categorical, Geometric, Poisson
from wengert.compat.torch.distributions.vectors import Dirichlet, MultivariateNormal
from wengert.compat.torch.elementwise import where, xlogy
from wengert.compat.torch.linalg import solve_triangular
from wengert.core.errors import user_error

__all__ = ["kl_divergence", "register_kl"]

FORMULAS: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[..., Any]:
    """A decorator for the formula of a pair of distributions."""

    def decorate(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        FORMULAS[type_p, type_q] = function
        return function

    return decorate


def kl_divergence(p: Any, q: Any) -> Any:
    """The expectation under p of the logarithm of p / q.

    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0)).item()
    0.5
    """
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in FORMULAS:
                return FORMULAS[a, b](p, q)
    raise user_error(
        NotImplementedError,
        f"There is no formula for the divergence from {type(p).__name__} to {type(q).__name__}",
        "Average p.log_prob(x) - q.log_prob(x) over draws x = p.rsample((n,)).",
    )


@register_kl(LogNormal, LogNormal)
@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    distance = (p.loc - q.loc).abs()
    return (q.scale / p.scale).log() + distance / q.scale + p.scale / q.scale * (-distance / p.scale).exp() - 1


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    return (
        q.concentration1.lgamma()
        + q.concentration0.lgamma()
        + total_p.lgamma()
        - p.concentration1.lgamma()
        - p.concentration0.lgamma()
        - total_q.lgamma()
        + (p.concentration1 - q.concentration1) * p.concentration1.digamma()
        + (p.concentration0 - q.concentration0) * p.concentration0.digamma()
        + (total_q - total_p) * total_p.digamma()
    )


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    inside = (q.low <= p.low) & (p.high <= q.high)
    return where(inside, ((q.high - q.low) / (p.high - p.low)).log(), float("inf"))


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    return xlogy(p.probs, p.probs / q.probs) + xlogy(1 - p.probs, (1 - p.probs) / (1 - q.probs))


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    return (p.probs * (p.logits - q.logits)).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    return (
        total.lgamma()
        - b.sum(-1).lgamma()
        - (a.lgamma() - b.lgamma()).sum(-1)
        + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)
    )


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Any:
    n = p.event_shape[0]
    ratio = solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    distance = solve_triangular(q.scale_tril, (q.loc - p.loc).unsqueeze(-1), upper=False)
    squares = ratio.pow(2).sum((-2, -1)) + distance.pow(2).sum((-2, -1))
    return q.log_determinant() - p.log_determinant() + 0.5 * (squares - n)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
