"""The gamma function and its relations: logarithm, derivatives, the beta function, and Hurwitz's zeta.

`polygamma` and `zeta` are differentiable with respect to their second argument, not the order.
"""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.core.kinds import case, describe, elementwise, keep_params, nondifferentiable
from wengert.core.levels import bottom_array
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.choices import POSITIVE, where
from wengert.ops.elementwise.complex_numbers import real
from wengert.ops.elementwise.exponential import PI
from wengert.ops.elementwise.trigonometric import cos, sin
from wengert.ops.special.scipy_functions import constants_for, keeps_precision, of_scipy, scipy_special, with_constants

__all__ = [
    "beta", "betaln", "digamma", "gamma", "gammaln", "gammasgn", "loggamma", "multigammaln", "polygamma", "psi",
    "rgamma", "zeta",
]  # fmt: skip

SHIFT, TERMS = 16, 12
"""How far up and how many terms: enough for all digits of a double."""

DEEPEST = -1e4
"""The real part below which there would be too many terms to add."""

TINY = 1e-300


@keeps_precision
def _log_gamma(x: Any) -> Any:
    """SciPy's `gammaln`, accurate around its zeros at 1 and 2.

    Where x is tiny it is log(1 / |x|), and at -inf, where there is no limit, it is infinite as in C.
    """
    out = np.asarray(scipy_special("gammaln")(x))
    size = np.abs(np.asarray(x, out.dtype))
    with np.errstate(divide="ignore", invalid="ignore"):
        if np.isinf(out).any():
            out = np.where(size < TINY, -np.log(size), np.where(np.isneginf(out), np.inf, out))
        near = np.abs(np.abs(np.asarray(x, out.dtype) - 1.5) - 0.5) < 0.2
    if near.any():
        out = out.copy()
        out[near] = scipy_special("loggamma")(size[near] + 0.0j).real + 0.0  # no negative zeros
    return out[()]


gamma = elementwise("gamma", of_scipy("gamma"), lambda t, x, out: t * (out * digamma(x)), domain=POSITIVE)
gammaln = elementwise("gammaln", _log_gamma, lambda t, x: t * digamma(x), domain=POSITIVE)
digamma = elementwise("digamma", of_scipy("psi"), lambda t, x: t * polygamma(1, x), domain=POSITIVE)

loggamma = elementwise("loggamma", of_scipy("loggamma"), lambda t, x: t * digamma(x), domain=POSITIVE)
gammasgn = nondifferentiable(
    "gammasgn", of_scipy("gammasgn"), batch=keep_params, reason="it is constant between the poles of gamma"
)
rgamma = elementwise(
    "rgamma",
    of_scipy("rgamma"),
    lambda t, x: t * rgamma_slope(x),
    domain=(-1.8, 3.0),
    singular={(0.0,): (1.0,), (-1.0,): (-1.0,)},
)


def rgamma_slope(x: Any) -> Any:
    """The derivative of 1 / gamma, also at its zeros -n, where digamma has poles.

    Left of 1/2 it is that of gamma(1 - x) sin(pi x) / pi.
    """
    is_left = real(x) < 0.5
    right, left = where(is_left, 1.0, x), where(is_left, x, 0.0)
    beyond = gamma(1.0 - left) * (cos(PI * left) - digamma(1.0 - left) * (sin(PI * left) / PI))
    return where(is_left, beyond, -digamma(right) * rgamma(right))


def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the multivariate gamma function in d dimensions, for a > (d - 1) / 2.

    >>> multigammaln([2.0, 3.5], 2)
    array([0.45158271, 2.46648573])
    """
    d, a = index(d), as_operand(a)
    numbers: Any = bottom_array(a)
    if isinstance(numbers, np.ndarray | np.generic) and not np.all(np.asarray(numbers) > 0.5 * (d - 1)):
        raise user_error(ValueError, f"multigammaln in {d} dimensions needs a > {0.5 * (d - 1):g}")
    return sum([gammaln(a - 0.5 * j) for j in range(d)]) + 0.25 * d * (d - 1) * math.log(math.pi)


def _polygamma(n: np.ndarray, x: np.ndarray) -> Any:
    if x.dtype.kind != "c":
        return scipy_special("polygamma")(n, x)
    with np.errstate(all="ignore"):
        return np.where(
            n == 0, scipy_special("psi")(x), (-1.0) ** (n + 1) * scipy_special("gamma")(n + 1.0) * _hurwitz(n + 1.0, x)
        )


def _hurwitz(s: np.ndarray, z: np.ndarray) -> Any:
    """The sum of (z + k)^-s over k >= 0 for complex z, by the formula of Euler and Maclaurin beyond z + 16."""
    z = np.where(z.real > DEEPEST, z, np.nan)
    steps = SHIFT - math.floor(np.nanmin(np.minimum(z.real, 0.0), initial=0.0))
    total = sum([(z + k) ** -s for k in range(steps)])
    w = z + steps
    total = total + w ** (1.0 - s) / (s - 1.0) + 0.5 * w**-s
    factor = s * w ** (-s - 1.0)
    for j in range(1, TERMS + 1):  # B_2j / (2j)! is 2 zeta(2j) / (2 pi)^2j, with the sign of (-1)^(j + 1)
        total = (
            total
            + (-1.0) ** (j + 1) * 2.0 * float(scipy_special("zeta")(2.0 * j)) / (2.0 * math.pi) ** (2 * j) * factor
        )
        factor = factor * ((s + 2 * j - 1) * (s + 2 * j)) / (w * w)
    return total


_polygamma_op = with_constants(
    "polygamma",
    _polygamma,
    lambda t, n, x: t * polygamma(n + 1, x),
    ("n", "x"),
    ("order n",),
    (
        case(np.array([0, 1, 2]), np.array([0.5, 1.5, 3.0])),
        case(np.array(1), np.array([[0.7, 1.1], [2.0, 4.5]])),
        case(np.array([[1], [2]]), np.array([0.8, -0.4, 2.0])),
        case(np.array(1), np.ones((0, 2))),
    ),
)


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of `digamma`.

    >>> polygamma(1, [0.5, 1.0])
    array([4.9348022 , 1.64493407])
    """
    x = as_operand(x)
    return _polygamma_op(*constants_for(x, n), x)


_zeta = with_constants(
    "zeta",
    lambda s, q: _hurwitz(s, q) if q.dtype.kind == "c" else scipy_special("zeta")(s, q),
    lambda t, x, q: t * (-x * zeta(x + 1, q)),
    ("x", "q"),
    ("exponent x",),
    (case(np.array([2, 3, 4]), np.array([0.5, 1.5, 3.0])), case(np.array([[2], [3]]), np.array([0.8, 1.0, 2.0]))),
)


def zeta(x: Any, q: Any = 1.0) -> Any:
    """The sum of (q + k)^-x over k >= 0, differentiable with respect to q.

    >>> zeta([2.0, 4.0])
    array([1.64493407, 1.08232323])
    """
    q = constants_for(as_operand(x), q)[0] if q.__class__ in (bool, int, float) else as_operand(q)
    return _zeta(*constants_for(q, x), q)


beta = elementwise(
    "beta",
    of_scipy("beta"),
    lambda t, x, y, out: t * (out * (digamma(x) - digamma(x + y))),
    lambda t, x, y, out: t * (out * (digamma(y) - digamma(x + y))),
    domain=POSITIVE,
)
betaln = elementwise(
    "betaln",
    of_scipy("betaln"),
    lambda t, x, y: t * (digamma(x) - digamma(x + y)),
    lambda t, x, y: t * (digamma(y) - digamma(x + y)),
    domain=POSITIVE,
)


describe(
    {
        gamma: "The gamma function, (x - 1)! of positive integers. >>> gamma([1.0, 5.0]) -> array([ 1., 24.])",
        gammaln: "The logarithm of the absolute value of the gamma function. "
        ">>> gammaln([1.0, 5.0]) -> array([0.        , 3.17805383])",
        digamma: "The derivative of the logarithm of the gamma function. "
        ">>> digamma([1.0, 2.0]) -> array([-0.57721566,  0.42278434])",
        loggamma: "The logarithm of the gamma function, continued to complex numbers; NaN for negative numbers. "
        ">>> loggamma([1.0, 5.0]) -> array([0.        , 3.17805383])",
        gammasgn: "The sign of the gamma function. >>> gammasgn([-0.5, 2.0]) -> array([-1.,  1.])",
        rgamma: "1 / gamma(x), which is 0 at the poles of gamma. >>> rgamma([-1.0, 3.0]) -> array([0. , 0.5])",
        beta: "The beta function, gamma(x) gamma(y) / gamma(x + y). "
        ">>> beta([1.0, 2.0], 3.0) -> array([0.33333333, 0.08333333])",
        betaln: "The logarithm of the absolute value of the beta function. "
        ">>> betaln([1.0, 2.0], 3.0) -> array([-1.09861229, -2.48490665])",
    }
)


# Other names

psi = digamma
