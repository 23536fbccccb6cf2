"""The error function and the normal distribution, their inverses and logarithms.

Inverses have an infinite slope at the ends of their domain. `log_ndtr` has its slope from the scaled function `erfcx`,
so that it is accurate however far down the tail; the derivatives of `erfcx` come from a continued fraction, since its
own recurrence cancels there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.devices import as_payload
from wengert.core.errors import user_error
from wengert.core.kinds import describe, elementwise
from wengert.core.parallel import share
from wengert.ops.elementwise.arithmetic import divide_live
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.exponential import exp
from wengert.ops.elementwise.predicates import equal, logical_or
from wengert.ops.special.scipy_functions import keeps_precision, of_scipy, scipy_special

__all__ = ["erf", "erfc", "erfcinv", "erfcx", "erfinv", "log_ndtr", "ndtr", "ndtri"]

TWO_OVER_ROOT_PI = 2.0 / math.sqrt(math.pi)
ROOT_TWO, ROOT_TWO_PI = math.sqrt(2.0), math.sqrt(2.0 * math.pi)
LEVELS = 150
"""Of the continued fraction, which has all digits of a double from x = 1 on."""


# erf(x) / x for |x| <= 3.95 as a quotient of polynomials in x^2, highest powers first; relative error of the fit
# 2^-28.9. Beyond, erf rounds to 1 in single precision.
END_OF_SINGLES = 3.95
NUMERATOR = (
    -1.298023919679034e-08, 4.6430138990604646e-06, 0.0003780325322915882, 0.003843592811311645, 0.054276764281765304,
    0.18516737071461345, 1.1283791692502612,
)  # fmt: skip
DENOMINATOR = (
    6.271700730228135e-05, 0.0013042369579429965, 0.01544449259763718, 0.11391226965659496, 0.49743371930789226, 1.0,
)  # fmt: skip


def _horner(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """A polynomial; the coefficient of the highest power comes first."""
    total = coefficients[0] * x
    for c in coefficients[1:-1]:
        total += c
        total *= x
    total += coefficients[-1]
    return total


@keeps_precision
def _erf(x: Any) -> Any:
    """SciPy's function; of large arrays in single precision a quotient of polynomials, which is faster."""
    if x.__class__ is not np.ndarray or x.dtype != np.float32 or x.size < machine.current.min_singles_of_rational_erf:
        return scipy_special("erf")(x)
    out = np.empty(x.shape, np.float32)
    source, target = x.reshape(-1), out.reshape(-1)

    def fill(start: int, stop: int) -> None:
        block = machine.current.block_singles_of_erf
        for i in range(start, stop, block):
            part = slice(i, min(i + block, stop))
            y = source[part].astype(np.float64)
            np.clip(y, -END_OF_SINGLES, END_OF_SINGLES, out=y)
            square = y * y
            y *= _horner(square, NUMERATOR)
            y /= _horner(square, DENOMINATOR)
            target[part] = y

    if x.size < machine.current.min_expensive_elements_shared:
        fill(0, x.size)
    else:
        share(fill, x.size)
    return out


erf = elementwise("erf", _erf, lambda t, x: t * (TWO_OVER_ROOT_PI * exp(-x * x)), singular={(30.0,): (0.0,)})
erfc = elementwise(
    "erfc", of_scipy("erfc"), lambda t, x: t * (-TWO_OVER_ROOT_PI * exp(-x * x)), singular={(-30.0,): (0.0,)}
)
erfinv = elementwise(
    "erfinv",
    of_scipy("erfinv"),
    lambda t, out: divide_live(t / TWO_OVER_ROOT_PI, exp(-out * out)),
    domain=(-0.9, 0.9),
    singular={(1.0,): (math.inf,), (-1.0,): (math.inf,), (2.0,): (math.nan,)},
)
erfcinv = elementwise(
    "erfcinv",
    of_scipy("erfcinv"),
    lambda t, out: divide_live(t / -TWO_OVER_ROOT_PI, exp(-out * out)),
    domain=(0.1, 1.9),
    singular={(0.0,): (-math.inf,), (2.0,): (-math.inf,), (-1.0,): (math.nan,)},
)


def _erfcx_derivative(x: Any, order: int) -> Any:
    """The n-th derivative g_n of exp(x^2) erfc(x).

    With the repeated integrals of erfc, g_n = (-2)^n n! exp(x^2) i^n erfc(x).

    These obey i^(n-2) erfc = 2 x i^(n-1) erfc + 2 n i^n erfc, which runs down to the ratios of neighbours where x is
    above 1; elsewhere g_(n+1) = 2 x g_n + 2 n g_(n-1) runs up.
    """
    x = as_payload(x)
    if x.dtype.kind == "c":
        raise user_error(TypeError, "erfcx of complex numbers is not in the table")
    wide = x.astype(float)
    value = scipy_special("erfcx")(wide)
    if order:
        with np.errstate(all="ignore"):
            before, up = np.full_like(value, -TWO_OVER_ROOT_PI / 2.0), value
            for n in range(order):
                before, up = up, 2.0 * wide * up + (2.0 * n * before if n else -TWO_OVER_ROOT_PI)
            ratio, down = 1.0 / (wide + np.sqrt(wide * wide + 2.0 * (order + LEVELS))), value
            for n in range(order + LEVELS, 1, -1):
                ratio = 1.0 / (2.0 * wide + 2.0 * n * ratio)
                down = down * (-2.0 * (n - 1) * ratio) if n - 1 <= order else down
            value = np.where(wide > 1.0, down, up)
    return value.astype(x.dtype if x.dtype.kind == "f" else float)[()]


_erfcx = elementwise(
    "erfcx", _erfcx_derivative, lambda t, x, order: t * _erfcx(x, order=order + 1), params={"order": 0}
)


def erfcx(x: Any) -> Any:
    """exp(x^2) erfc(x), of real numbers; its derivatives are accurate where it decays.

    >>> erfcx([0.0, 100.0])
    array([1.        , 0.00564161])
    """
    return _erfcx(x, order=0)


def _log_ndtr_rule(t: Any, x: Any, out: Any) -> Any:
    """t exp(-x^2 / 2) / (sqrt(2 pi) ndtr(x)), by the formula that neither cancels nor overflows."""
    if x.dtype.kind == "c":
        return t * (exp(-0.5 * x * x - out) / ROOT_TWO_PI)
    tail, end = x < 0, equal(x, -math.inf)
    below, above = where(logical_or(end, x >= 0), 0.0, x), where(tail, 0.0, x)
    far = divide_live(t * (2.0 / ROOT_TWO_PI), where(end, 0.0, erfcx(below / -ROOT_TWO)))
    return where(tail, far, t * (exp(-0.5 * above * above) / (ROOT_TWO_PI * ndtr(above))))


ndtr = elementwise(
    "ndtr", of_scipy("ndtr"), lambda t, x: t * (exp(-0.5 * x * x) / ROOT_TWO_PI), singular={(-40.0,): (0.0,)}
)
log_ndtr = elementwise(
    "log_ndtr",
    of_scipy("log_ndtr"),
    _log_ndtr_rule,
    singular={(-math.inf,): (math.inf,), (math.inf,): (0.0,), (40.0,): (0.0,)},
)
ndtri = elementwise(
    "ndtri",
    of_scipy("ndtri"),
    lambda t, out: divide_live(t * ROOT_TWO_PI, exp(-0.5 * out * out)),
    domain=(0.1, 0.9),
    singular={(0.0,): (math.inf,), (1.0,): (math.inf,)},
)


describe(
    {
        erf: "The error function. >>> erf([0.0, 1.0]) -> array([0.        , 0.84270079])",
        erfc: "The complement of the error function, 1 - erf(x). "
        ">>> erfc([0.0, 1.0]) -> array([1.        , 0.15729921])",
        erfinv: "The inverse of the error function. >>> erfinv([0.0, 0.5]) -> array([0.        , 0.47693628])",
        erfcinv: "The inverse of erfc. >>> erfcinv([0.5, 1.0]) -> array([ 0.47693628, -0.        ])",
        ndtr: "The distribution function of the standard normal distribution. "
        ">>> ndtr([0.0, 1.0]) -> array([0.5       , 0.84134475])",
        log_ndtr: "The logarithm of ndtr, accurate far down the tail. "
        ">>> log_ndtr([0.0, -40.0]) -> array([-6.93147181e-01, -8.04608442e+02])",
        ndtri: "The inverse of ndtr: quantiles of the standard normal distribution. "
        ">>> ndtri([0.5, 0.975]) -> array([0.        , 1.95996398])",
    }
)
