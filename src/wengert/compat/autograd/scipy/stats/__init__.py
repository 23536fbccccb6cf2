"""Distributions, differentiable: `autograd.scipy.stats`."""

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.scipy.stats import beta, chi2, dirichlet, gamma, multivariate_normal, norm, poisson, t
from wengert.compat.differences import without

__all__ = ["beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"]

__getattr__ = without(__name__, ABSENT)
