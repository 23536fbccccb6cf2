"""Distributions of vectors: the multivariate normal distribution and Dirichlet's."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from wengert import stats
from wengert.compat.torch.distributions.constraints import (
    lower_cholesky,
    positive,
    positive_definite,
    real_vector,
    simplex,
)
from wengert.compat.torch.distributions.distribution import Distribution, generator
from wengert.compat.torch.drawing import default_generator, randn
from wengert.compat.torch.linalg import cholesky, inv, solve_triangular
from wengert.compat.torch.values import adopt, plain
from wengert.core.errors import user_error

__all__ = ["Dirichlet", "MultivariateNormal"]


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, by its covariance, its inverse, or the Cholesky factor of the covariance."""

    arg_constraints: ClassVar = {
        "loc": real_vector,
        "covariance_matrix": positive_definite,
        "precision_matrix": positive_definite,
        "scale_tril": lower_cholesky,
    }
    support, has_rsample = real_vector, True

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ):
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise user_error(
                ValueError, "MultivariateNormal takes one of covariance_matrix, precision_matrix, scale_tril"
            )
        n, batch = loc.shape[-1], tuple((loc[..., 0] + given[0][..., 0, 0]).shape)
        self.loc = loc.expand(*batch, n)
        name = "covariance_matrix" if covariance_matrix is not None else "precision_matrix"
        self.__dict__["scale_tril" if scale_tril is not None else name] = given[0].expand(*batch, n, n)
        super().__init__(batch, (n,), validate_args)
        if covariance_matrix is not None:
            self.scale_tril = cholesky(self.covariance_matrix)
        elif precision_matrix is not None:
            self.scale_tril = cholesky(inv(self.precision_matrix))

    def __getattr__(self, name: str) -> Any:
        if name == "covariance_matrix":
            return self.scale_tril @ self.scale_tril.mT
        if name == "precision_matrix":
            return inv(self.covariance_matrix)
        raise AttributeError(f"MultivariateNormal has no attribute {name!r}")

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        difference = self.as_value(value) - self.loc
        shape = difference.shape[:-1]
        factor = self.scale_tril.expand(*shape, *self.scale_tril.shape[-2:])
        whitened = solve_triangular(factor, difference.unsqueeze(-1), upper=False).squeeze(-1)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + whitened.pow(2).sum(-1)) - self.log_determinant()

    def log_determinant(self) -> Any:
        """The logarithm of the determinant of the Cholesky factor."""
        return self.scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def entropy(self) -> Any:
        """The entropy."""
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self.log_determinant()

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws with derivatives with respect to the parameters."""
        noise = randn(tuple(self._extended_shape(sample_shape)), generator=default_generator, dtype=self.loc.dtype)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> Any:
        """The variances of the elements."""
        return self.scale_tril.pow(2).sum(-1)


class Dirichlet(Distribution):
    """The Dirichlet distribution of shares that add up to 1."""

    arg_constraints: ClassVar = {"concentration": positive}
    support, has_rsample = simplex, True

    def __init__(self, concentration: Any, validate_args: bool | None = None):
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        alpha = self.concentration
        value = self.as_value(value)
        return (value.log() * (alpha - 1)).sum(-1) + alpha.sum(-1).lgamma() - alpha.lgamma().sum(-1)

    def entropy(self) -> Any:
        """The entropy."""
        alpha, n = self.concentration, self._event_shape[0]
        total = alpha.sum(-1)
        return (
            alpha.lgamma().sum(-1)
            - total.lgamma()
            - (n - total) * total.digamma()
            - ((alpha - 1) * alpha.digamma()).sum(-1)
        )

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws with derivatives with respect to the parameters."""
        shape = (*sample_shape, *self._batch_shape)
        alpha = self.concentration.expand(*shape, *self._event_shape)
        gammas = adopt(stats.gamma.rvs(plain(alpha), size=tuple(alpha.shape), random_state=generator()))
        return gammas / gammas.sum(-1, keepdim=True)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def variance(self) -> Any:
        """The variances of the elements."""
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))
