"""Distributions of integers, of classes and of counts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from wengert.compat.torch.creation import as_tensor, make
from wengert.compat.torch.distributions.constraints import (
    boolean,
    nonnegative,
    nonnegative_integer,
    real,
    simplex,
    unit_interval,
)
from wengert.compat.torch.distributions.distribution import Distribution, as_parameters, generator
from wengert.compat.torch.drawing import numbers_of
from wengert.compat.torch.elementwise import log_softmax, logit, softmax, xlogy
from wengert.compat.torch.indexing import gather
from wengert.compat.torch.nn.functional import one_hot, softplus
from wengert.core.errors import user_error

__all__ = [
    "Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial", "NegativeBinomial", "OneHotCategorical",
    "Poisson",
]  # fmt: skip


def one_of(name: str, probs: Any, logits: Any) -> bool:
    """Whether probabilities were given, rather than their logits; one of them must be."""
    if (probs is None) == (logits is None):
        raise user_error(ValueError, f"{name} takes either probs or logits")
    return probs is not None


class TwoOutcomes(Distribution):
    """What distributions have that come from trials with two outcomes: `probs`, or `logits`."""

    arg_constraints: ClassVar = {"probs": unit_interval, "logits": real}
    support = nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self.is_given_probs = one_of(type(self).__name__, probs, logits)
        (given,) = as_parameters(probs if self.is_given_probs else logits)
        self.__dict__["probs" if self.is_given_probs else "logits"] = given
        super().__init__(given.shape, (), validate_args)

    def __getattr__(self, name: str) -> Any:
        if name == "probs" and "logits" in self.__dict__:
            return self.logits.sigmoid()
        if name == "logits" and "probs" in self.__dict__:
            return logit(self.probs, eps=np.finfo(self.probs.dtype).eps.item())
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def draw(self, method: str, sample_shape: Any, *args: Any) -> Any:
        """Draws of NumPy's generator, in the type of the parameters."""
        numbers = getattr(generator().numpy, method)(*args, tuple(self._extended_shape(sample_shape)))
        return make(np.asarray(numbers).astype(self.probs.dtype))


class Bernoulli(TwoOutcomes):
    """1 with probability `probs`, and 0 otherwise.

    >>> import wengert.compat.torch as torch
    >>> round(Bernoulli(torch.tensor(0.25)).log_prob(torch.tensor(1.0)).item(), 4)
    -1.3863
    """

    support = boolean

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        return -cross_entropy(self.logits, self.as_value(value))

    def entropy(self) -> Any:
        """The entropy."""
        return cross_entropy(self.logits, self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Zeros and ones."""
        return self.draw("binomial", sample_shape, 1, numbers_of(self.probs))

    @property
    def mean(self) -> Any:
        """The probability of 1."""
        return self.probs

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.probs * (1 - self.probs)


def cross_entropy(logits: Any, targets: Any) -> Any:
    """The cross entropy between two outcomes, of which the first has these logits and the second these shares."""
    return logits.logaddexp(as_tensor(0.0, logits.dtype)) - logits * targets


class Geometric(TwoOutcomes):
    """The number of failures before the first success."""

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        return self.as_value(value) * (-self.probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        """The entropy."""
        return cross_entropy(self.logits, self.probs) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of failures."""
        return self.draw("geometric", sample_shape, numbers_of(self.probs)) - 1

    @property
    def mean(self) -> Any:
        """The mean."""
        return 1 / self.probs - 1

    @property
    def variance(self) -> Any:
        """The variance."""
        return (1 / self.probs - 1) / self.probs


class Trials(TwoOutcomes):
    """What distributions have that count: the number `total_count`."""

    arg_constraints: ClassVar = {"total_count": nonnegative, "probs": unit_interval, "logits": real}

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        given = probs if one_of(type(self).__name__, probs, logits) else logits
        total, given = as_parameters(total_count, as_tensor(given))
        self.total_count = total.to(given.dtype)
        is_probs = probs is not None
        super().__init__(given if is_probs else None, None if is_probs else given, validate_args)


class Binomial(Trials):
    """The number of successes in `total_count` trials."""

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        k, n = self.as_value(value), self.total_count
        ways = (n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()
        return ways + k * self.logits - n * softplus(self.logits)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of successes."""
        return self.draw("binomial", sample_shape, numbers_of(self.total_count).astype(int), numbers_of(self.probs))

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.mean * (1 - self.probs)


class NegativeBinomial(Trials):
    """The number of successes before `total_count` failures."""

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        k, n = self.as_value(value), self.total_count
        ways = (n + k).lgamma() - (k + 1).lgamma() - n.lgamma()
        return ways - n * softplus(self.logits) - k * softplus(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Numbers of successes."""
        return self.draw("negative_binomial", sample_shape, numbers_of(self.total_count), 1 - numbers_of(self.probs))

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * self.logits.exp()

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.mean / (1 - self.probs)


class Poisson(Distribution):
    """The Poisson distribution."""

    arg_constraints: ClassVar = {"rate": nonnegative}
    support = nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None):
        (self.rate,) = as_parameters(rate)
        super().__init__(self.rate.shape, (), validate_args)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = self.as_value(value)
        return xlogy(value, self.rate) - self.rate - (value + 1).lgamma()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts."""
        numbers = generator().numpy.poisson(numbers_of(self.rate), tuple(self._extended_shape(sample_shape)))
        return make(np.asarray(numbers).astype(self.rate.dtype))

    @property
    def mean(self) -> Any:
        """The rate."""
        return self.rate

    @property
    def variance(self) -> Any:
        """The rate."""
        return self.rate


class Categorical(Distribution):
    """A class with probabilities `probs` of the last axis, which are normalised, or with `logits`.

    >>> import wengert.compat.torch as torch
    >>> round(Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1)).item(), 4)
    -0.2877
    """

    arg_constraints: ClassVar = {"probs": simplex, "logits": real}
    support = nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if one_of(type(self).__name__, probs, logits):
            self.probs = probs / probs.sum(-1, keepdim=True)
            eps = np.finfo(self.probs.dtype).eps.item()
            self.logits = self.probs.clamp(min=eps, max=1 - eps).log()
        else:
            self.logits = log_softmax(logits, -1)
            self.probs = softmax(logits, -1)
        super().__init__(self.logits.shape[:-1], (), validate_args)

    @property
    def _num_events(self) -> int:
        return int(self.logits.shape[-1])

    @property
    def param_shape(self) -> Any:
        """The shape of the parameters."""
        return self.logits.shape

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        index = self.as_value(value).long().unsqueeze(-1)
        shape = np.broadcast_shapes(tuple(index.shape[:-1]), tuple(self.logits.shape[:-1]))
        chosen = gather(self.logits.expand(*shape, self._num_events), -1, index.expand(*shape, 1))
        return chosen.squeeze(-1)

    def entropy(self) -> Any:
        """The entropy."""
        least = np.finfo(self.logits.dtype).min.item()
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Classes."""
        numbers = numbers_of(self.logits)
        shape = tuple(self._extended_shape(sample_shape))
        noise = generator().numpy.gumbel(size=(*shape, numbers.shape[-1]))
        return make(np.argmax(numbers + noise, -1))

    def enumerate_support(self, expand: bool = True) -> Any:
        """All classes, along a new first axis."""
        n, batch = self._num_events, self._batch_shape
        values = make(np.arange(n).reshape(-1, *(1,) * len(batch)))
        return values.expand(n, *batch) if expand else values

    @property
    def mode(self) -> Any:
        """The class of the highest probability."""
        return self.probs.argmax(dim=-1)


class OneHotCategorical(Categorical):
    """As `Categorical`, with classes as vectors of zeros and a one."""

    support = simplex

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        super().__init__(probs, logits, validate_args)
        self._event_shape = self.logits.shape[-1:]

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        return (self.as_value(value) * self.logits).sum(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Vectors with a one for the class."""
        classes = Categorical(logits=self.logits, validate_args=False).sample(sample_shape)
        return one_hot(classes, self._num_events).to(self.logits.dtype)

    @property
    def mean(self) -> Any:
        """The probabilities."""
        return self.probs


class Multinomial(Distribution):
    """How often each class is drawn in `total_count` trials."""

    arg_constraints: ClassVar = {"probs": simplex, "logits": real}
    total_count: int

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        one = Categorical(probs, logits, validate_args)
        self.total_count, self.probs, self.logits = total_count, one.probs, one.logits
        super().__init__(one.batch_shape, self.probs.shape[-1:], validate_args)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability."""
        value = self.as_value(value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + xlogy(value, self.probs).sum(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts."""
        shares = numbers_of(self.probs).astype(np.float64)
        numbers = generator().numpy.multinomial(
            self.total_count, shares / shares.sum(-1, keepdims=True), (*sample_shape, *self._batch_shape)
        )
        return make(numbers.astype(self.probs.dtype))

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Any:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)
