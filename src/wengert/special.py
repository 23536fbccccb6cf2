"""Special functions, by the names and with the arguments of `scipy.special`, whose ufuncs come here when called on
values.
"""

from __future__ import annotations

from wengert.core.array import SCIPY_UFUNCS
from wengert.ops.elementwise.arithmetic import cbrt
from wengert.ops.elementwise.exponential import exp2, expm1, log1p
from wengert.ops.special.bessel import i0, i0e, i1, i1e, iv, j0, j1, jn, jv, kv, y0, y1, yv
from wengert.ops.special.entropy import (
    entr,
    expit,
    kl_div,
    log_expit,
    log_softmax,
    logit,
    logsumexp,
    rel_entr,
    softmax,
    xlog1py,
    xlogy,
)
from wengert.ops.special.error import erf, erfc, erfcinv, erfcx, erfinv, log_ndtr, ndtr, ndtri
from wengert.ops.special.gamma import beta, betaln, digamma, gamma, gammaln, polygamma, zeta
from wengert.ops.special.incomplete import betainc, gammainc, gammaincc
from wengert.ops.special.integrals import expn, lambertw, sici
from wengert.ops.special.quantile import betaincinv, gammainccinv, gammaincinv, stdtr, stdtrit

psi = digamma

__all__ = [
    "beta",
    "betainc",
    "betaincinv",
    "betaln",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "expit",
    "expn",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "j0",
    "j1",
    "jn",
    "jv",
    "kl_div",
    "kv",
    "lambertw",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "rel_entr",
    "sici",
    "softmax",
    "stdtr",
    "stdtrit",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "yv",
    "zeta",
]

SCIPY_UFUNCS.update({name: globals()[name] for name in __all__})
SCIPY_UFUNCS.update({"_zeta": zeta, "_riemann_zeta": zeta, "_lambertw": lambertw})
SCIPY_UFUNCS.update({"cbrt": cbrt, "exp2": exp2, "expm1": expm1, "log1p": log1p})
