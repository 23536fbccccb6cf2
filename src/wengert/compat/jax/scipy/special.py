"""`jax.scipy.special`."""

from __future__ import annotations

from typing import Any

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.jax.arrays import array, lift_names
from wengert.compat.jax.differences import ABSENT
from wengert.compat.jax.nn import logsumexp as logsumexp

NAMES = """
    beta betainc betaln comb digamma entr erf erfc erfcx erfinv exp1 expi expit expn gamma gammainc gammaincc gammaln
    gammasgn hyp2f1 i0 i0e i1 i1e kl_div log_ndtr log_softmax logit loggamma multigammaln ndtr ndtri polygamma rel_entr
    sici softmax xlog1py xlogy zeta
"""
globals().update(lift_names(wg.special, NAMES))

__all__ = sorted([*NAMES.split(), "boxcox", "boxcox1p", "factorial", "logsumexp", "poch"])

__getattr__ = without(__name__, ABSENT)


def factorial(n: Any, exact: bool = False) -> Any:  # noqa: ARG001  # JAX has no exact one either
    """n!."""
    return wg.exp(wg.special.gammaln(array(n) + 1.0))


def poch(z: Any, m: Any) -> Any:
    """gamma(z + m) / gamma(z)."""
    z = array(z)
    return wg.exp(wg.special.gammaln(z + m) - wg.special.gammaln(z))


def boxcox(x: Any, lmbda: Any) -> Any:
    """(x**lmbda - 1) / lmbda, which is log(x) at 0."""
    x, lmbda = array(x), array(lmbda)
    is_zero = lmbda == 0
    safe = wg.where(is_zero, 1.0, lmbda)
    return wg.where(is_zero, wg.log(x), wg.expm1(safe * wg.log(x)) / safe)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """The same of 1 + x."""
    return boxcox(1.0 + array(x), lmbda)
