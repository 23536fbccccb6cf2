"""Functions of `scipy.special` that the library lacks, or has in another way: SciPy's pass arrays on to all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.device_calls import device_call
from wengert.core.devices import ArrayLibrary
from wengert.ops.special.gamma import _polygamma_op, _zeta, gammaln
from wengert.ops.special.hypergeometric import _hyp2f1
from wengert.ops.special.integrals import _lambertw
from wengert.ops.special.quantile import stdtr, stdtrit
from wengert.ops.special.scipy_functions import floating_dtype

device_call.without("CuPy does not have the hypergeometric function", _hyp2f1)


@device_call(gammaln)
def gammaln_on_device(library: ArrayLibrary, x: Any) -> Any:
    """The library's function, which has all digits around 1 and 2."""
    return library.scipy("special").gammaln(x)


def _call_with_constants(library: ArrayLibrary, name: str, n: Any, x: Any) -> Any:
    """A function of a constant and x; a number takes the precision of x."""
    xp = library.numpy
    x = xp.asarray(x)
    dtype = floating_dtype(x)
    n = xp.asarray(n, dtype if np.ndim(n) == 0 and not hasattr(n, "dtype") else None)
    n = n.astype(dtype) if n.dtype.kind in "iub" else n
    out = getattr(library.scipy("special"), name)(n, x.astype(dtype, copy=False))
    return out.astype(np.result_type(dtype, n.dtype), copy=False)


@device_call(_polygamma_op)
def polygamma_on_device(library: ArrayLibrary, n: Any, x: Any) -> Any:
    """The n-th derivative of digamma."""
    return _call_with_constants(library, "polygamma", n, x)


@device_call(_zeta)
def zeta_on_device(library: ArrayLibrary, n: Any, x: Any) -> Any:
    """The zeta function of Hurwitz."""
    return _call_with_constants(library, "zeta", n, x)


@device_call(_lambertw)
def lambertw_on_device(library: ArrayLibrary, x: Any, k: int, tol: float) -> Any:
    """Real for real arguments, NaN where it is not."""
    xp = library.numpy
    w = library.scipy("special").lambertw(x, k, tol)
    if x.dtype.kind == "c":
        return w.astype(x.dtype, copy=False)
    return xp.where(w.imag == 0, w.real, np.nan).astype(floating_dtype(x), copy=False)


@device_call(stdtr)
def stdtr_on_device(library: ArrayLibrary, df: Any, t: Any) -> Any:
    """From the incomplete beta function: half of it is the smaller tail."""
    xp, special = library.numpy, library.scipy("special")
    tail = 0.5 * special.betainc(0.5 * df, 0.5, df / (df + t * t))
    return xp.where(t > 0, 1.0 - tail, tail).astype(np.result_type(*[getattr(v, "dtype", v) for v in (df, t)]))


@device_call(stdtrit)
def stdtrit_on_device(library: ArrayLibrary, df: Any, p: Any) -> Any:
    """From the inverse of the incomplete beta function, on the side where it keeps its digits."""
    xp, special = library.numpy, library.scipy("special")
    tail = 2.0 * xp.minimum(p, 1.0 - p)
    outer, inner = special.betaincinv(0.5 * df, 0.5, tail), special.betaincinv(0.5, 0.5 * df, 1.0 - tail)
    ratio = xp.where(tail < 0.5, (1.0 - outer) / outer, inner / (1.0 - inner))
    return (xp.sign(p - 0.5) * xp.sqrt(df * ratio)).astype(np.result_type(*[getattr(v, "dtype", v) for v in (df, p)]))
