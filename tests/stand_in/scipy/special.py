"""The stand-in for `cupyx.scipy.special`: the functions of SciPy that CuPy 14 has."""

from __future__ import annotations

from typing import Any

import scipy.special
from tests.stand_in.wrapping import on_device

NAMES = frozenset((
    "bdtr", "bdtrc", "bdtri", "beta", "betainc", "betaincinv", "betaln", "binom", "boxcox", "boxcox1p", "btdtr",
    "btdtri", "cbrt", "chdtr", "chdtrc", "chdtri", "cosdg", "cosm1", "cotdg", "digamma", "ellipeinc", "ellipj",
    "ellipk", "ellipkinc", "ellipkm1", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp1", "exp10", "exp2",
    "expi", "expit", "expm1", "expn", "exprel", "fdtr", "fdtrc", "fdtri", "gamma", "gammainc", "gammaincc",
    "gammainccinv", "gammaincinv", "gammaln", "gammasgn", "gdtr", "gdtrc", "huber", "i0", "i0e", "i1", "i1e",
    "inv_boxcox", "inv_boxcox1p", "j0", "j1", "k0", "k0e", "k1", "k1e", "kl_div", "lambertw", "log1p", "log_expit",
    "log_ndtr", "log_softmax", "loggamma", "logit", "logsumexp", "lpmv", "multigammaln", "nbdtr", "nbdtrc",
    "nbdtri", "ndtr", "ndtri", "pdtr", "pdtrc", "pdtri", "poch", "polygamma", "pseudo_huber", "psi", "radian",
    "rel_entr", "rgamma", "round", "shichi", "sici", "sinc", "sindg", "softmax", "sph_harm_y", "spherical_yn",
    "tandg", "wright_bessel", "xlog1py", "xlogy", "y0", "y1", "yn", "zeta", "zetac",
))  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(name)
    return on_device(getattr(scipy.special, name)) if name != "lambertw" else on_device(_lambertw)


def _lambertw(x: Any, k: int = 0, tol: float = 1e-8) -> Any:
    return scipy.special.lambertw(x, k, tol)
