"""The normal distribution of vectors: `autograd.scipy.stats.multivariate_normal`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats as scipy_stats

import wengert as wg
from wengert import stats
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.numpy.numpy_wrapper import on_values
from wengert.compat.differences import without
from wengert.core.array import Array
from wengert.core.errors import user_error

__all__ = ["entropy", "logpdf", "pdf"]

__getattr__ = without(__name__, ABSENT)

entropy = on_values(scipy_stats.multivariate_normal.entropy, stats.multivariate_normal.entropy)
logpdf_of_values = on_values(scipy_stats.multivariate_normal.logpdf, stats.multivariate_normal.logpdf)


def logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """The logarithm of the density. With `allow_singular`, cov is a constant that may be singular.

    The derivative is then that of the quadratic form at all points, as in autograd. That of `wg.stats` is zero where
    no points are possible.

    >>> round(float(logpdf(np.zeros(2), np.zeros(2), np.eye(2))), 6)
    -1.837877
    """
    if not allow_singular:
        return logpdf_of_values(x, mean, cov)
    if isinstance(cov, Array):
        raise user_error(NotImplementedError, "The density has no derivative with respect to a singular covariance")
    if not isinstance(x, Array) and not isinstance(mean, Array):
        return scipy_stats.multivariate_normal.logpdf(x, mean, cov, allow_singular=True)
    cov = np.atleast_2d(cov)
    centre = np.zeros(len(cov))
    highest = scipy_stats.multivariate_normal.logpdf(centre, centre, cov, allow_singular=True)
    apart = x - (centre if mean is None else mean)
    return highest - 0.5 * wg.einsum("...i,ij,...j->...", apart, np.linalg.pinv(cov), apart)


def pdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
    """The density."""
    return wg.exp(logpdf(x, mean, cov, allow_singular))
