"""`torch.special`: special functions under PyTorch's names."""

from __future__ import annotations

from typing import Any

import wengert as wg
from wengert.compat.differences import without
from wengert.compat.torch import elementwise
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.elementwise import log_softmax, logit, polygamma, round, softmax, xlogy
from wengert.compat.torch.reductions import logsumexp
from wengert.compat.torch.values import layered, promote

__getattr__ = without(__name__, ABSENT)

FUNCTIONS = {
    "bessel_j0": wg.special.j0, "bessel_j1": wg.special.j1, "bessel_y0": wg.special.y0, "bessel_y1": wg.special.y1,
    "digamma": wg.special.digamma, "entr": wg.special.entr, "erf": wg.special.erf, "erfc": wg.special.erfc,
    "erfcx": wg.special.erfcx, "erfinv": wg.special.erfinv, "exp2": wg.exp2, "expit": wg.special.expit,
    "expm1": wg.expm1, "gammaln": wg.special.gammaln, "i0": wg.special.i0, "i0e": wg.special.i0e, "i1": wg.special.i1,
    "i1e": wg.special.i1e, "log1p": wg.log1p, "log_ndtr": wg.special.log_ndtr, "ndtr": wg.special.ndtr,
    "ndtri": wg.special.ndtri, "psi": wg.special.psi, "sinc": wg.sinc,
}  # fmt: skip


def of_two(function: Any) -> Any:
    """A function of two tensors, in the type that PyTorch gives them."""

    @layered
    def call(input: Any, other: Any) -> Any:
        _, x, y = promote(input, other)
        return function(x, y)

    return call


gammainc, gammaincc = of_two(wg.special.gammainc), of_two(wg.special.gammaincc)
xlog1py, zeta = of_two(wg.special.xlog1py), of_two(wg.special.zeta)
multigammaln = elementwise.mvlgamma
globals().update(FUNCTIONS)

__all__ = [
    *FUNCTIONS, "gammainc", "gammaincc", "log_softmax", "logit", "logsumexp", "multigammaln", "polygamma", "round",
    "softmax", "xlog1py", "xlogy", "zeta",
]  # fmt: skip
