"""Quantiles of the gamma, beta and t distributions: the inverses of `gammainc`, `gammaincc`, `betainc` and `stdtr`.

The quantile z of a fixed probability moves with a parameter a of its distribution function F by

    dz/da = -(dF/da) / (dF/dz),

in which z is the only number that depends on a, so that higher orders follow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.kinds import describe, elementwise
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.arithmetic import divide_live, sqrt
from wengert.ops.elementwise.choices import POSITIVE, where
from wengert.ops.elementwise.exponential import exp, log1p
from wengert.ops.elementwise.predicates import equal, isinf, logical_and, logical_or
from wengert.ops.special.entropy import xlog1py, xlogy
from wengert.ops.special.gamma import betaln, gammaln, polygamma
from wengert.ops.special.incomplete import STIRLING, betainc_in_order, gammainc_in_order
from wengert.ops.special.scipy_functions import constants_for, of_scipy

__all__ = ["betaincinv", "gammainccinv", "gammaincinv", "stdtr", "stdtrit"]

PROBABILITY = (0.1, 0.9)


# The gamma distribution


def gamma_mass(a: Any, x: Any) -> Any:
    """x^a exp(-x) / gamma(a).

    For large a by Stirling's series and the distance to the mean, where the logarithms would cancel.
    """
    large = a > 10.0
    b, y = where(large, a, 20.0), where(large, x, 20.0)
    offset, square = (y - b) / b, 1.0 / (b * b)
    correction: Any = 0.0
    for coefficient in STIRLING:
        correction = coefficient + square * correction
    by_stirling = sqrt(b / (2.0 * math.pi)) * exp(-b * (offset - log1p(offset)) - correction / b)
    small, low = where(large, 1.0, a), where(large, 1.0, x)
    return where(large, by_stirling, exp(xlogy(small, low) - low - gammaln(small)))


def gamma_slope(a: Any, x: Any) -> Any:
    """The derivative of the quantile x with respect to a; zero at the ends, which draws reach when they underflow."""
    end = logical_or(equal(x, 0.0), isinf(x))
    x = where(end, 1.0, x)
    return where(end, 0.0, -gammainc_in_order(a, x, order=1) * x / gamma_mass(a, x))


def gamma_density(a: Any, x: Any) -> Any:
    """x^(a - 1) exp(-x) / gamma(a), zero at infinity."""
    far = isinf(x)
    x = where(far, 1.0, x)
    return where(far, 0.0, exp(xlogy(a - 1.0, x) - x - gammaln(a)))


gammaincinv = elementwise(
    "gammaincinv",
    of_scipy("gammaincinv"),
    lambda t, a, out: t * gamma_slope(a, out),
    lambda t, a, out: divide_live(t, gamma_density(a, out)),
    inputs=("a", "p"),
    domain=(POSITIVE, PROBABILITY),
    singular={(1.0, 0.0): (0.0, 1.0), (2.0, 0.0): (0.0, math.inf)},
)
gammainccinv = elementwise(
    "gammainccinv",
    of_scipy("gammainccinv"),
    lambda t, a, out: t * gamma_slope(a, out),
    lambda t, a, out: -divide_live(t, gamma_density(a, out)),
    inputs=("a", "p"),
    domain=(POSITIVE, PROBABILITY),
    singular={(1.0, 1.0): (0.0, -1.0), (2.0, 0.0): (0.0, -math.inf)},
)


# The beta distribution


def beta_density(a: Any, b: Any, x: Any) -> Any:
    return exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - betaln(a, b))


def beta_slope(a: Any, b: Any, x: Any, order: tuple[int, int]) -> Any:
    """The derivative of the quantile x with respect to a, order (1, 0), or b, order (0, 1); zero at the ends."""
    end = logical_or(equal(x, 0.0), equal(x, 1.0))
    x = where(end, 0.5, x)
    return where(end, 0.0, -betainc_in_order(a, b, x, order=order) / beta_density(a, b, x))


betaincinv = elementwise(
    "betaincinv",
    of_scipy("betaincinv"),
    lambda t, a, b, out: t * beta_slope(a, b, out, (1, 0)),
    lambda t, a, b, out: t * beta_slope(a, b, out, (0, 1)),
    lambda t, a, b, out: divide_live(t, beta_density(a, b, out)),
    inputs=("a", "b", "p"),
    domain=(POSITIVE, POSITIVE, PROBABILITY),
    singular={(1.0, 1.0, 0.0): (0.0, 0.0, 1.0), (2.0, 1.0, 0.0): (0.0, 0.0, math.inf)},
)


# Student's t distribution


def betaln_half(b: Any) -> Any:
    """betaln(b, 1/2), in the precision of b: SciPy would take a Python number for a double."""
    b = as_operand(b)
    return betaln(b, *constants_for(b, 0.5))


def t_density(df: Any, z: Any) -> Any:
    return exp(-0.5 * (df + 1.0) * log1p(z * z / df) - betaln_half(0.5 * df)) / sqrt(df)


def _odd_integral(b: Any, w: Any, order: int) -> Any:
    """The function in one of two forms, depending on where the argument keeps its digits."""
    square = w * w
    near = square < 1.0
    small, large = np.where(near, square, 0.0), np.where(near, 1.0, square)
    inner = betainc_in_order(0.5, b, small / (1.0 + small), order=(0, order))
    outer = -betainc_in_order(b, 0.5, 1.0 / (1.0 + large), order=(order, 0))
    return (np.sign(w) * np.where(near, inner, outer if order else 1.0 + outer)).astype(
        np.result_type(*[getattr(v, "dtype", v) for v in (b, w)])
    )[()]


def _odd_integral_slope(b: Any, w: Any, order: int) -> Any:
    """The derivative of 2 (1 + w^2)^(-b - 1/2) / beta(1/2, b) with respect to b, from those of its logarithm."""
    away = log1p(w * w)
    slopes = [polygamma(k, b + 0.5) - polygamma(k, b) - (away if k == 0 else 0.0) for k in range(order)]
    ratios: list = [1.0]
    for n in range(order):
        ratios.append(sum([math.comb(n, j) * slopes[j] * ratios[n - j] for j in range(n + 1)]))
    return 2.0 * exp(-(b + 0.5) * away - betaln_half(b)) * ratios[order]


odd_integral = elementwise(
    "odd_integral",
    _odd_integral,
    lambda t, b, w, order: t * odd_integral(b, w, order=order + 1),
    lambda t, b, w, order: t * _odd_integral_slope(b, w, order),
    inputs=("b", "w"),
    domain=(POSITIVE, (-3.0, 3.0)),
    params={"order": 1},
)
"""A derivative with respect to b of betainc(1/2, b, y), with the sign of w, where w^2 = y / (1 - y).

It is a smooth function of w, while betainc is not smooth at 0.
"""


def t_excess(df: Any, z: Any) -> Any:
    """The part of dF/d(df) at z that is left when z^2 / df is held."""
    return 0.25 * odd_integral(0.5 * df, z / sqrt(df), order=1)


T_SERIES = (
    (-1 / 4, -1 / 4),
    (0.0, -1 / 12, 1 / 12),
    (1 / 8, 1 / 24, 1 / 24, -1 / 24),
    (0.0, 1 / 24, -1 / 120, -1 / 40, 1 / 40),
    (-1 / 4, -1 / 12, -1 / 30, 0.0, 1 / 60, -1 / 60),
    (0.0, -1 / 12, 1 / 60, 3 / 140, 1 / 420, -1 / 84, 1 / 84),
)
"""How z moves with df is z times the sum of df^-(k + 2) P_k(z^2), if z^2 / df is small: the coefficients of P_0, P_1,
...

With f the density, the slope g obeys (log f)_df + g (log f)_z + g_z = 0; of its expansion in 1 / df each term is an odd
polynomial.
"""


def is_nearly_normal(df: Any, z: Any) -> Any:
    """Whether the series has 11 digits, where the difference of two large terms would have fewer."""
    return logical_and(df > 500.0, z * z < 0.01 * df)


def t_slope_near_normal(df: Any, z: Any) -> Any:
    square, total = z * z, 0.0
    for coefficients in reversed(T_SERIES):
        polynomial: Any = 0.0
        for c in reversed(coefficients):
            polynomial = c + square * polynomial
        total = polynomial + total / df
    return z * total / (df * df)


def t_slope(df: Any, z: Any) -> Any:
    """The derivative of the quantile z with respect to df: that of sqrt(df), less that of betainc."""
    far, near = isinf(z), is_nearly_normal(df, z)
    z = where(far, 0.0, z)
    direct = z / (2.0 * df) - divide_live(t_excess(df, z), t_density(df, z))
    return where(far, 0.0, where(near, t_slope_near_normal(df, where(near, z, 0.0)), direct))


def t_probability_slope(df: Any, z: Any) -> Any:
    """The derivative of the probability below z with respect to df."""
    far, near = isinf(z), is_nearly_normal(df, z)
    density, z = t_density(df, z), where(far, 0.0, z)
    return where(
        near, -density * t_slope_near_normal(df, where(near, z, 0.0)), t_excess(df, z) - density * z / (2.0 * df)
    )


stdtr = elementwise(
    "stdtr",
    of_scipy("stdtr"),
    lambda t, df, z: t * t_probability_slope(df, z),
    lambda t, df, z: t * t_density(df, z),
    inputs=("df", "z"),
    domain=((0.5, 6.0), (-3.0, 3.0)),
    singular={(2.0, math.inf): (0.0, 0.0), (2.0, -math.inf): (0.0, 0.0)},
)
stdtrit = elementwise(
    "stdtrit",
    of_scipy("stdtrit"),
    lambda t, df, out: t * t_slope(df, out),
    lambda t, df, out: divide_live(t, t_density(df, out)),
    inputs=("df", "p"),
    domain=((0.5, 6.0), PROBABILITY),
    singular={(2.0, 0.0): (0.0, math.inf), (2.0, 1.0): (0.0, math.inf)},
)


describe(
    {
        gammaincinv: "The x with gammainc(a, x) = p. "
        ">>> gammaincinv(2.0, [0.0, 0.5]) -> array([0.        , 1.67834699])",
        gammainccinv: "The x with gammaincc(a, x) = p. "
        ">>> gammainccinv(2.0, [0.5, 1.0]) -> array([1.67834699, 0.        ])",
        betaincinv: "The x with betainc(a, b, x) = p. "
        ">>> betaincinv(2.0, 2.0, [0.25, 0.5]) -> array([0.32635182, 0.5       ])",
        stdtr: "The distribution function of Student's t distribution with df degrees of freedom. "
        ">>> stdtr(3.0, [0.0, 1.0]) -> array([0.5       , 0.80449889])",
        stdtrit: "The inverse of stdtr: quantiles of Student's t distribution. "
        ">>> stdtrit(3.0, [0.5, 0.75]) -> array([0.        , 0.76489233])",
    }
)
