"""The incomplete gamma and beta functions, with derivatives of any order with respect to all arguments.

SciPy has the functions. Derivatives with respect to the parameters are integrals: with pref = x^a exp(-x) / gamma(a),

    gammainc(a, x)  = pref * integral of exp(-a r - x expm1(-r)) over r > 0
    gammaincc(a, x) = pref * integral of exp( a r - x expm1( r)) over r > 0
    betainc(a, b, x) = x^a / beta(a, b) * integral of exp(-a r) (1 - x exp(-r))^(b - 1) over r > 0

and a derivative brings factors r, or log(1 - x exp(-r)), into the integral. The side of the mean on which x lies
decides between a function and its complement, so that all terms of the first derivatives have one sign and nothing
cancels. The integrals are sums over the points of a double exponential grid; where a and x are small it would be too
coarse, and the recurrence leads from a to a + 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.devices import DeviceArray
from wengert.core.errors import user_error
from wengert.core.kinds import describe, elementwise
from wengert.core.levels import numpy_of
from wengert.ops.elementwise.choices import POSITIVE, where
from wengert.ops.elementwise.exponential import exp, log, power
from wengert.ops.elementwise.predicates import equal, logical_or
from wengert.ops.special.entropy import xlog1py, xlogy
from wengert.ops.special.gamma import betaln, digamma, gammaln, polygamma
from wengert.ops.special.scipy_functions import of_scipy, scipy_special

__all__ = ["betainc", "gammainc", "gammaincc"]

STEP = 0.05
GRID = np.arange(-3.7, 9.0, STEP)
POINTS = np.exp(GRID - np.exp(-GRID))
WEIGHTS = STEP * POINTS * (1.0 + np.exp(-GRID))
"""The integral of f over r > 0 is the sum of w f(r) over points r and weights w, to 14 digits for smooth f that decay
like exp(-r).
"""


def _moments(width: np.ndarray, exponent: Callable, factors: Callable, count: int) -> list[np.ndarray]:
    """The integrals of exp(exponent(r)) times each of `count` factors(r) over r > 0.

    The exponent falls by about 1 over a width.
    """
    totals = [np.zeros_like(width) for _ in range(count)]
    for point, weight in zip(POINTS, WEIGHTS, strict=True):
        r = width * point
        height = weight * np.exp(exponent(r))
        for total, factor in zip(totals, factors(r), strict=True):
            total += np.where(height > 0, height * factor, 0.0)  # where the height underflows, a factor may overflow
    return [width * total for total in totals]


def _in_range(inside: np.ndarray, derivative: Callable, *args: np.ndarray) -> np.ndarray:
    """A derivative computed for arguments inside the range; zero elsewhere, as at the ends of the range of x."""
    if isinstance(inside, DeviceArray):  # on a device, whose arrays are computed as a whole
        return np.where(inside, derivative(*[np.where(inside, a, 0.5) for a in args]), 0.0)
    out = np.zeros(inside.shape)
    if inside.any():
        with np.errstate(all="ignore"):
            out[inside] = derivative(*[a[inside] for a in args])
    return out


def _as_doubles(*args: Any) -> tuple[np.dtype, tuple[np.ndarray, ...]]:
    dtype = np.result_type(*[getattr(a, "dtype", a) for a in args])
    if dtype.kind == "c":
        raise user_error(TypeError, "The incomplete gamma and beta functions of complex numbers are not in the table")
    xp = numpy_of(*args)
    doubles = xp.broadcast_arrays(*[xp.asarray(a, float) for a in args])
    return dtype if dtype.kind == "f" else np.dtype(float), tuple(doubles)


# The gamma distribution

STIRLING = (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
"""Of the logarithm of the gamma function: B_2k / (2k (2k - 1)), the highest first."""


def _scaled_power(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x^a exp(-x) / gamma(a).

    For large a by Stirling's series and the distance to the mean, where the logarithms would cancel.
    """
    large = a > 10.0
    b = np.where(large, a, 20.0)
    offset = (x - b) / b
    inverse = 1.0 / b
    square = inverse * inverse
    correction = np.zeros_like(b)
    for coefficient in STIRLING:
        correction = coefficient + square * correction
    by_stirling = np.sqrt(b / (2.0 * math.pi)) * np.exp(-b * (offset - np.log1p(offset)) - inverse * correction)
    return np.where(large, by_stirling, np.exp(a * np.log(x) - x - scipy_special("gammaln")(a)))


def _power_ratios(a: Any, x: Any, order: int) -> list:
    """The derivatives of x^a / gamma(a) with respect to a, up to this order, each divided by the function."""
    slopes = [log(x) - digamma(a), *[-polygamma(j, a) for j in range(1, order)]]
    ratios: list = [1.0]
    for n in range(order):
        ratios.append(sum([math.comb(n, j) * slopes[j] * ratios[n - j] for j in range(n + 1)]))
    return ratios


def _gammainc_inside(a: np.ndarray, x: np.ndarray, order: int) -> np.ndarray:
    step = (a < 1.0) & (x < 1.0)
    b = np.where(step, a + 1.0, a)
    side = np.where(x < b, -1.0, 1.0)
    moments = _moments(
        1.0 / (np.abs(x - b) + np.sqrt(x)),
        lambda r: side * b * r - x * np.expm1(side * r),
        lambda r: [(side * r) ** j for j in range(order + 1)],
        order + 1,
    )
    ratios = _power_ratios(b, x, order)
    total = sum([math.comb(order, j) * ratios[order - j] * moments[j] for j in range(order + 1)])
    power = _scaled_power(b, x)
    return np.where(step, power / x * ratios[order], 0.0) - side * power * total


def _gammainc_derivative(a: Any, x: Any, order: int) -> Any:
    if order == 0:
        return scipy_special("gammainc")(a, x)
    dtype, (a, x) = _as_doubles(a, x)
    out = _in_range((a > 0) & (x > 0) & np.isfinite(x), lambda a, x: _gammainc_inside(a, x, order), a, x)
    return np.where((a > 0) & (x >= 0), out, np.nan).astype(dtype)[()]


def _gamma_density(a: Any, x: Any, order: int = 0) -> Any:
    """The derivative of x^(a - 1) exp(-x) / gamma(a) with respect to a.

    At x = 0 it is infinite, 1 or 0, as a is below, at or above 1.
    """
    zero = equal(x, 0)  # there as a power, whose derivatives at zero are finite where those of the logarithm are not
    at_zero = power(where(zero, x, 1.0), a - 1.0) * exp(-x - gammaln(a))
    density = where(zero, at_zero, exp(xlogy(a - 1.0, where(zero, 1.0, x)) - x - gammaln(a)))
    if order == 0:
        return density
    ratio = _power_ratios(a, where(x > 0, x, 1.0), order)[order]
    return where(x > 0, density * ratio, 0.0)


gammainc_in_order = elementwise(
    "gammainc",
    _gammainc_derivative,
    lambda t, a, x, order: t * gammainc_in_order(a, x, order=order + 1),
    lambda t, a, x, order: t * _gamma_density(a, x, order),
    inputs=("a", "x"),
    domain=POSITIVE,
    params={"order": 0},
    singular={(1.0, 0.0): (0.0, 1.0), (0.5, 0.0): (0.0, math.inf), (2.0, 0.0): (0.0, 0.0), (2.0, 800.0): (0.0, 0.0)},
)
gammaincc = elementwise(
    "gammaincc",
    of_scipy("gammaincc"),
    lambda t, a, x: -t * gammainc_in_order(a, x, order=1),
    lambda t, a, x: -t * _gamma_density(a, x),
    inputs=("a", "x"),
    domain=POSITIVE,
    singular={(1.0, 0.0): (0.0, -1.0), (0.5, 0.0): (0.0, -math.inf), (2.0, 0.0): (0.0, 0.0)},
)
gammaincc.__doc__ = "The regularised upper incomplete gamma function."


def gammainc(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function.

    >>> gammainc(2.0, [0.0, 1.0])
    array([0.        , 0.26424112])
    """
    return gammainc_in_order(a, x, order=0)


# The beta distribution


def _beta_ratio(a: Any, b: Any, both: Any, log_x: Any, log_y: Any, i: int, j: int) -> Any:
    """The derivative (i, j) of x^a y^b gamma(both) / (gamma(a) gamma(b)) with respect to (a, b), divided by it.

    `both` is a + b + constant.
    """
    if i == 0 and j == 0:
        return 1.0
    if i == 0:
        return _beta_ratio(b, a, both, log_y, log_x, j, i)
    total = 0.0
    for p in range(i):
        for q in range(j + 1):
            slope = polygamma(p + q, both)
            if q == 0:
                slope = slope - polygamma(p, a)
            if p == q == 0:
                slope = slope + log_x
            total = total + math.comb(i - 1, p) * math.comb(j, q) * slope * _beta_ratio(
                a, b, both, log_x, log_y, i - 1 - p, j - q
            )
    return total


def _betainc_below(a: np.ndarray, b: np.ndarray, x: np.ndarray, i: int, j: int) -> np.ndarray:
    """The derivative (i, j) of betainc where x is at most the mean."""
    step, both, a = a < 1.0, a + b, np.where(a < 1.0, a + 1.0, a)
    slope = a - (b - 1.0) * x / (1.0 - x)
    width = 1.0 / np.minimum(np.abs(slope) + np.sqrt(np.abs(b - 1.0) * x) / (1.0 - x), 200.0 * a)
    log_x, log_y = np.log(x), np.log1p(-x)

    def factors(r: np.ndarray) -> list:
        rest = np.log1p(-x * np.expm1(-r) / (1.0 - x))
        return [(-r) ** p * rest**q for p in range(i + 1) for q in range(j + 1)]

    relative = lambda r: -a * r + (b - 1.0) * np.log1p(-x * np.expm1(-r) / (1.0 - x))
    moments = iter(_moments(width, relative, factors, (i + 1) * (j + 1)))
    total = np.zeros_like(x)
    for p in range(i + 1):
        for q in range(j + 1):
            ratio = _beta_ratio(a, b, a + b, log_x, log_y, i - p, j - q)
            total += math.comb(i, p) * math.comb(j, q) * ratio * next(moments)
    power = np.exp(xlogy(a, x) + xlog1py(b - 1.0, -x) - betaln(a, b))
    first = power * (1.0 - x) / (x * both) * _beta_ratio(a, b, both, log_x, log_y, i, j)
    return power * total + np.where(step, first, 0.0)


def _betainc_inside(a: np.ndarray, b: np.ndarray, x: np.ndarray, i: int, j: int) -> np.ndarray:
    below = x * (a + b) < a
    if isinstance(x, DeviceArray):
        return np.where(below, _betainc_below(a, b, x, i, j), -_betainc_below(b, a, 1.0 - x, j, i))
    out = np.empty_like(x)
    above = ~below
    out[below] = _betainc_below(a[below], b[below], x[below], i, j)
    out[above] = -_betainc_below(b[above], a[above], 1.0 - x[above], j, i)
    return out


def _betainc_derivative(a: Any, b: Any, x: Any, order: tuple[int, int]) -> Any:
    if order == (0, 0):
        return scipy_special("betainc")(a, b, x)
    dtype, (a, b, x) = _as_doubles(a, b, x)
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1)
    out = _in_range(inside, lambda a, b, x: _betainc_inside(a, b, x, *order), a, b, x)
    return np.where((a > 0) & (b > 0) & (x >= 0) & (x <= 1), out, np.nan).astype(dtype)[()]


def _beta_density(a: Any, b: Any, x: Any, order: tuple[int, int]) -> Any:
    end = logical_or(equal(x, 0), equal(x, 1))  # there by powers, as in the gamma distribution
    outer, inner = where(end, x, 0.5), where(end, 0.5, x)
    at_end = power(outer, a - 1.0) * power(1.0 - outer, b - 1.0) * exp(-betaln(a, b))
    density = where(end, at_end, exp(xlogy(a - 1.0, inner) + xlog1py(b - 1.0, -inner) - betaln(a, b)))
    if order == (0, 0):
        return density
    inside = (x > 0) & (x < 1)
    safe = where(inside, x, 0.5)
    return where(inside, density * _beta_ratio(a, b, a + b, log(safe), log(1.0 - safe), *order), 0.0)


betainc_in_order = elementwise(
    "betainc",
    _betainc_derivative,
    lambda t, a, b, x, order: t * betainc_in_order(a, b, x, order=(order[0] + 1, order[1])),
    lambda t, a, b, x, order: t * betainc_in_order(a, b, x, order=(order[0], order[1] + 1)),
    lambda t, a, b, x, order: t * _beta_density(a, b, x, order),
    inputs=("a", "b", "x"),
    domain=(POSITIVE, POSITIVE, (0.1, 0.9)),
    params={"order": (0, 0)},
    singular={
        (1.0, 2.0, 0.0): (0.0, 0.0, 2.0),
        (2.0, 1.0, 1.0): (0.0, 0.0, 2.0),
        (0.5, 2.0, 0.0): (0.0, 0.0, math.inf),
        (2.0, 2.0, 1.0): (0.0, 0.0, 0.0),
    },
)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function.

    >>> betainc(2.0, 2.0, [0.25, 0.5])
    array([0.15625, 0.5    ])
    """
    return betainc_in_order(a, b, x, order=(0, 0))


describe(
    {
        gammaincc: "The regularised upper incomplete gamma function, 1 - gammainc(a, x). "
        ">>> gammaincc(2.0, [0.0, 1.0]) -> array([1.        , 0.73575888])"
    }
)
