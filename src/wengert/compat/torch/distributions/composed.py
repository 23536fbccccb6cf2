"""Distributions made of others: independent ones as one, transformed ones, mixtures."""

from __future__ import annotations

from typing import Any

from wengert.compat.torch.distributions.discrete import Categorical
from wengert.compat.torch.distributions.distribution import Distribution
from wengert.compat.torch.distributions.transforms import ComposeTransform, Transform
from wengert.compat.torch.indexing import gather

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]


def sum_last(x: Any, axes: int) -> Any:
    """The sum over a number of last axes."""
    return x.sum(tuple(range(-axes, 0))) if axes else x


class Independent(Distribution):
    """The last axes of a batch of distributions as axes of one event.

    >>> import wengert.compat.torch as torch
    >>> from wengert.compat.torch.distributions import Normal
    >>> Independent(Normal(torch.zeros(3), torch.ones(3)), 1).log_prob(torch.zeros(3)).shape
    torch.Size([])
    """

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None):
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        shape = tuple(base_distribution.batch_shape)
        kept = len(shape) - reinterpreted_batch_ndims
        super().__init__(shape[:kept], (*shape[kept:], *base_distribution.event_shape), validate_args)
        self.has_rsample = base_distribution.has_rsample  # type: ignore[misc]  # of this one

    def log_prob(self, value: Any) -> Any:
        """The sum of the logarithms."""
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """The sum of the entropies."""
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws without derivatives."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws with derivatives."""
        return self.base_dist.rsample(sample_shape)

    @property
    def mean(self) -> Any:
        """The means."""
        return self.base_dist.mean

    @property
    def variance(self) -> Any:
        """The variances."""
        return self.base_dist.variance


class TransformedDistribution(Distribution):
    """What transforms make of the draws of a distribution."""

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None):
        self.base_dist = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        self.transform = ComposeTransform(self.transforms)
        super().__init__(base_distribution.batch_shape, base_distribution.event_shape, validate_args)
        self.has_rsample = base_distribution.has_rsample  # type: ignore[misc]  # of this one

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density of what the transforms started from, less that of their slope."""
        x = self.transform._inverse(self.as_value(value))
        slope = self.transform.log_abs_det_jacobian(x, value)
        return self.base_dist.log_prob(x) - sum_last(slope, len(self.base_dist.event_shape))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws without derivatives."""
        return self.transform(self.base_dist.sample(sample_shape)).detach()

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws with derivatives."""
        return self.transform(self.base_dist.rsample(sample_shape))


class MixtureSameFamily(Distribution):
    """A mixture of the last axis of a batch of distributions."""

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Any, validate_args: bool | None = None
    ):
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        shape = tuple(component_distribution.batch_shape)
        super().__init__(shape[:-1], component_distribution.event_shape, validate_args)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        value = self.as_value(value).unsqueeze(-1 - len(self._event_shape))
        logs = self.component_distribution.log_prob(value) + self.mixture_distribution.logits
        return logs.logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws."""
        chosen = self.mixture_distribution.sample(sample_shape)
        draws = self.component_distribution.sample(sample_shape)
        events = len(self._event_shape)
        index = chosen.reshape(*chosen.shape, *(1,) * (events + 1))
        index = index.expand(*chosen.shape, 1, *self._event_shape)
        return gather(draws, -1 - events, index).squeeze(-1 - events).detach()

    @property
    def mean(self) -> Any:
        """The mean."""
        weights = self.mixture_distribution.probs
        weights = weights.reshape(*weights.shape, *(1,) * len(self._event_shape))
        return (weights * self.component_distribution.mean).sum(-1 - len(self._event_shape))
