"""Special functions: `autograd.scipy.special`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.tracer import notrace_primitive
from wengert.compat.differences import without
from wengert.ops.special.bessel import _ive, i0, i1, iv, j0, j1, jn, y0, y1, yv
from wengert.ops.special.entropy import expit, logit, logsumexp
from wengert.ops.special.error import erf, erfc, erfcinv, erfinv
from wengert.ops.special.gamma import beta, betaln, digamma, gamma, gammaln, polygamma, psi
from wengert.ops.special.incomplete import betainc, gammainc, gammaincc

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "digamma",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "expit",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "i0",
    "i1",
    "iv",
    "ive",
    "j0",
    "j1",
    "jn",
    "logit",
    "logsumexp",
    "multigammaln",
    "polygamma",
    "psi",
    "rgamma",
    "y0",
    "y1",
    "yn",
]

__getattr__ = without(__name__, ABSENT)

yn = yv
gammasgn = notrace_primitive(special.gammasgn)


def ive(v: Any, z: Any) -> Any:
    """The modified Bessel function of the first kind, times exp(-|z|)."""
    return _ive(z, v=v)


def rgamma(x: Any) -> Any:
    """The reciprocal of the gamma function.

    >>> rgamma(4.0)
    np.float64(0.16666666666666666)
    """
    return 1.0 / gamma(x)


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension d.

    >>> round(float(multigammaln(3.0, 2)), 12) == round(float(special.multigammaln(3.0, 2)), 12)
    True
    """
    return sum(gammaln(a - 0.5 * j) for j in range(d)) + 0.25 * d * (d - 1) * np.log(np.pi)
