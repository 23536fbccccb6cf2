"""Distributions of real numbers, with the formulas of `wg.stats`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from wengert import stats
from wengert.compat.torch.distributions.constraints import greater_than, nonnegative, positive, real, unit_interval
from wengert.compat.torch.distributions.distribution import Distribution, as_parameters, generator
from wengert.compat.torch.values import adopt, plain
from wengert.ops.elementwise.exponential import exp

__all__ = [
    "Beta", "Cauchy", "Chi2", "Exponential", "Gamma", "Gumbel", "HalfNormal", "InverseGamma", "Laplace", "LogNormal",
    "Normal", "Pareto", "StudentT", "Uniform", "VonMises", "Weibull",
]  # fmt: skip


class ContinuousNumbers(Distribution):
    """A distribution of real numbers: a family of `wg.stats`, and its parameters there (`settings`).

    The parameters are those of `arg_constraints`, in this order; some have `defaults`.
    """

    family: ClassVar[Any]
    settings: ClassVar[Callable[..., dict[str, Any]]]
    defaults: ClassVar[dict[str, float]] = {}
    has_rsample = True

    def __init__(self, *args: Any, validate_args: bool | None = None, **kwargs: Any):
        names = tuple(self.arg_constraints)
        given = {**self.defaults, **dict(zip(names, args, strict=False)), **kwargs}
        if given.keys() != set(names) or len(args) > len(names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}")
        self.__dict__.update(zip(names, as_parameters(*[given[name] for name in names]), strict=True))
        super().__init__(self.__dict__[names[0]].shape, (), validate_args)

    def ask(self, what: str, *values: Any, **options: Any) -> Any:
        """A function of the family, for these parameters."""
        settings = type(self).settings(**{name: plain(self.__dict__[name]) for name in self.arg_constraints})
        return adopt(getattr(self.family, what)(*plain(values), **settings, **options))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        return self.ask("logpdf", self.as_value(value))

    def cdf(self, value: Any) -> Any:
        """The probability of numbers up to this one."""
        return self.ask("cdf", self.as_value(value))

    def icdf(self, value: Any) -> Any:
        """The number up to which the probability is this one."""
        return self.ask("ppf", value)

    def entropy(self) -> Any:
        """The entropy."""
        return self.ask("entropy").expand(self._batch_shape)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.ask("mean").expand(self._batch_shape)

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.ask("var").expand(self._batch_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws with derivatives with respect to the parameters."""
        return self.ask("rvs", size=tuple(self._extended_shape(sample_shape)), random_state=generator())


class LocScale(ContinuousNumbers):
    """A family whose parameters are those of `wg.stats`."""

    arg_constraints: ClassVar = {"loc": real, "scale": positive}
    settings = staticmethod(lambda loc, scale: {"loc": loc, "scale": scale})
    support = real


class Normal(LocScale):
    """The normal distribution.

    >>> import wengert.compat.torch as torch
    >>> round(Normal(0.0, 1.0).log_prob(torch.tensor(0.0)).item(), 4)
    -0.9189
    """

    family = stats.norm


class Laplace(LocScale):
    """The Laplace distribution."""

    family = stats.laplace


class Cauchy(LocScale):
    """The Cauchy distribution."""

    family = stats.cauchy


class Gumbel(LocScale):
    """The Gumbel distribution of largest values."""

    family = stats.gumbel_r


class LogNormal(LocScale):
    """Numbers whose logarithm is normal, with mean `loc` and standard deviation `scale`."""

    family, support = stats.lognorm, positive
    settings = staticmethod(lambda loc, scale: {"s": scale, "scale": exp(loc)})


class HalfNormal(ContinuousNumbers):
    """The absolute value of a normal number of mean 0."""

    family, support = stats.halfnorm, nonnegative
    arg_constraints: ClassVar = {"scale": positive}
    settings = staticmethod(lambda scale: {"scale": scale})


class Uniform(ContinuousNumbers):
    """The uniform distribution from `low` to `high`."""

    family = stats.uniform
    arg_constraints: ClassVar = {"low": real, "high": real}
    settings = staticmethod(lambda low, high: {"loc": low, "scale": high - low})

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None):
        super().__init__(low, high, validate_args=validate_args)
        if self.validates:
            self.check(self.__dict__["high"], greater_than(self.__dict__["low"]), "parameter high")


class Exponential(ContinuousNumbers):
    """The exponential distribution."""

    family, support = stats.expon, nonnegative
    arg_constraints: ClassVar = {"rate": positive}
    settings = staticmethod(lambda rate: {"scale": 1 / rate})


class Gamma(ContinuousNumbers):
    """The gamma distribution, by its shape and the inverse of its scale."""

    family, support = stats.gamma, nonnegative
    arg_constraints: ClassVar = {"concentration": positive, "rate": positive}
    settings = staticmethod(lambda concentration, rate: {"a": concentration, "scale": 1 / rate})


class InverseGamma(Gamma):
    """The inverse of a gamma number."""

    family = stats.invgamma
    settings = staticmethod(lambda concentration, rate: {"a": concentration, "scale": rate})


class Chi2(ContinuousNumbers):
    """The chi-squared distribution."""

    family, support = stats.chi2, nonnegative
    arg_constraints: ClassVar = {"df": positive}
    settings = staticmethod(lambda df: {"df": df})


class Beta(ContinuousNumbers):
    """The beta distribution."""

    family, support = stats.beta, unit_interval
    arg_constraints: ClassVar = {"concentration1": positive, "concentration0": positive}
    settings = staticmethod(lambda concentration1, concentration0: {"a": concentration1, "b": concentration0})


class StudentT(ContinuousNumbers):
    """Student's t."""

    family, support = stats.t, real
    arg_constraints: ClassVar = {"df": positive, "loc": real, "scale": positive}
    defaults: ClassVar = {"loc": 0.0, "scale": 1.0}
    settings = staticmethod(lambda df, loc, scale: {"df": df, "loc": loc, "scale": scale})


class Weibull(ContinuousNumbers):
    """The Weibull distribution."""

    family, support = stats.weibull_min, positive
    arg_constraints: ClassVar = {"scale": positive, "concentration": positive}
    settings = staticmethod(lambda scale, concentration: {"c": concentration, "scale": scale})


class Pareto(ContinuousNumbers):
    """The Pareto distribution."""

    family = stats.pareto
    arg_constraints: ClassVar = {"scale": positive, "alpha": positive}
    settings = staticmethod(lambda scale, alpha: {"b": alpha, "scale": scale})


class VonMises(ContinuousNumbers):
    """The von Mises distribution of angles."""

    family, support = stats.vonmises, real
    arg_constraints: ClassVar = {"loc": real, "concentration": positive}
    settings = staticmethod(lambda loc, concentration: {"kappa": concentration, "loc": loc})

    @property
    def mean(self) -> Any:
        """The direction of the mean."""
        return self.__dict__["loc"]
