"""Exponential, sine and cosine integrals, and Lambert's W."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.kinds import describe, elementwise
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import divide_live
from wengert.ops.elementwise.choices import POSITIVE
from wengert.ops.elementwise.exponential import PI, exp
from wengert.ops.elementwise.trigonometric import cos, sinc
from wengert.ops.shape.casting import astype
from wengert.ops.special.scipy_functions import for_each_order, of_scipy, plain_numbers, scipy_special

__all__ = ["exp1", "expi", "expn", "lambertw", "sici"]


def _expn_of_order(x: Any, n: int) -> Any:
    """SciPy has orders from 0 on; derivatives lead below, by E_-m = (exp(-x) + m E_(1 - m)) / x."""
    if n >= 0:
        return scipy_special("expn")(float(n), x)
    with np.errstate(all="ignore"):
        decay = np.exp(-x)
        out = decay / x
        for m in range(1, 1 - n):
            out = (decay + m * out) / x
    return out


_expn = elementwise("expn", _expn_of_order, lambda t, x, n: -t * _expn(x, n=n - 1), domain=POSITIVE, params={"n": 2})


def expn(n: Any, x: Any) -> Any:
    """The integral of exp(-x t) / t^n over t > 1, for integers n; differentiable with respect to x.

    >>> expn(2, [0.5, 1.0])
    array([0.32664386, 0.14849551])
    """
    orders = plain_numbers(n, "expn", "order n")
    if np.any(orders % 1):
        raise user_error(ValueError, "The order of expn is an integer", "Round it first.")
    return for_each_order(orders, lambda n: _expn(as_operand(x), n=int(n)))


exp1 = elementwise(
    "exp1",
    of_scipy("exp1"),
    lambda t, x: divide_live(-t * exp(-x), x),
    domain=POSITIVE,
    singular={(0.0,): (-math.inf,)},
)
expi = elementwise(
    "expi",
    of_scipy("expi"),
    lambda t, x: divide_live(t * exp(x), x),
    domain=POSITIVE,
    singular={(0.0,): (math.inf,)},
)
describe(
    {
        exp1: "The integral of exp(-t) / t over t > x. >>> exp1([0.5, 1.0]) -> array([0.55977359, 0.21938393])",
        expi: "The integral of exp(t) / t over t < x, its principal value for x > 0. "
        ">>> expi([0.5, 1.0]) -> array([0.4542199 , 1.89511782])",
    }
)

_si = elementwise("si", lambda x: scipy_special("sici")(x)[0], lambda t, x: t * sinc(x / PI), singular={(0.0,): (1.0,)})
_ci = elementwise(
    "ci",
    lambda x: scipy_special("sici")(x)[1],
    lambda t, x: divide_live(t * cos(x), x),
    domain=POSITIVE,
    singular={(0.0,): (math.inf,)},
)


def sici(x: Any) -> tuple[Any, Any]:
    """The sine and the cosine integral.

    >>> sici(1.0)[0].round(6)
    np.float64(0.946083)
    """
    x = as_operand(x)
    return _si(x), _ci(x)


def _lambert(x: Any, k: int, tol: float) -> Any:
    """A branch of W: real for real arguments (NaN where it is not), so that derivatives of real functions stay real."""
    x = np.asarray(x)
    w = scipy_special("lambertw")(x, k, tol)
    if x.dtype.kind == "c":
        return np.asarray(w, x.dtype)[()]
    return np.where(np.imag(w) == 0, np.real(w), np.nan).astype(x.dtype if x.dtype.kind == "f" else float)[()]


_lambertw = elementwise(
    "lambertw",
    _lambert,
    lambda t, out: divide_live(t * exp(-out), 1.0 + out),
    domain=(-0.2, 3.0),
    params={"k": 0, "tol": 1e-8},
    singular={(0.0,): (1.0,)},
)


def lambertw(z: Any, k: int = 0, tol: float = 1e-8) -> Any:
    """Lambert's W: branch k of the function with W exp(W) = z.

    It is a complex number, as in SciPy: take its real part where it is known to be real.

    >>> lambertw([1.0]).real
    array([0.56714329])
    """
    z = as_operand(z)
    return _lambertw(astype(z, np.result_type(z.dtype, np.complex64), copy=False), k=int(k), tol=float(tol))
