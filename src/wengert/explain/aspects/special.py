"""Special functions: forms of many digits, and advice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.aspects import primitive_of
from wengert.explain.comparing.digits import Form, digits, elementwise_form, enter_rounded_forms, mpmath_form
from wengert.explain.why.remedies import FORWARD, Remedy, has_infinity, remedies
from wengert.ops.special import (
    bessel,
    combinatorial,
    entropy,
    error,
    gamma,
    hypergeometric,
    incomplete,
    integrals,
    quantile,
)

for operation, name in (
    (bessel._jv, "besselj"), (bessel._yv, "bessely"), (bessel._iv, "besseli"), (bessel._kv, "besselk"),
    (error.erf, "erf"), (error.erfc, "erfc"), (error.erfinv, "erfinv"), (error.ndtr, "ncdf"),
    (gamma.gamma, "gamma"), (gamma.beta, "beta"), (gamma.digamma, "digamma"), (gamma._zeta, "zeta"),
    (integrals._si, "si"), (integrals._ci, "ci"), (integrals.exp1, "e1"), (integrals.expi, "ei"),
    (gamma.loggamma, "loggamma"), (gamma.rgamma, "rgamma"), (combinatorial.binom, "binomial"),
    (hypergeometric._hyp2f1, "hyp2f1"),
):  # fmt: skip
    digits.enter(mpmath_form(name), operation)

# Bessel functions

for order, (j, y, i, scaled) in enumerate(
    ((bessel.j0, bessel.y0, bessel.i0, bessel.i0e), (bessel.j1, bessel.y1, bessel.i1, bessel.i1e))
):
    digits.enter(elementwise_form(lambda mp, x, n=order: mp.besselj(n, x)), j)
    digits.enter(elementwise_form(lambda mp, x, n=order: mp.bessely(n, x)), y)
    digits.enter(elementwise_form(lambda mp, x, n=order: mp.besseli(n, x)), i)
    digits.enter(elementwise_form(lambda mp, x, n=order: mp.exp(-abs(x)) * mp.besseli(n, x)), scaled)
digits.enter(elementwise_form(lambda mp, x, v: mp.exp(-abs(x)) * mp.besseli(v, x)), bessel._ive)
digits.enter(elementwise_form(lambda mp, v, x: mp.exp(x) * mp.besselk(v, x)), bessel._kve)

# Entropies


def log_product(mp: Any, x: Any, y: Any) -> Any:
    """x log y, and zero where x is zero."""
    return x * mp.log(y) if x else x


digits.enter(elementwise_form(log_product), entropy.xlogy)
digits.enter(elementwise_form(lambda mp, x, y: x * mp.log1p(y) if x else x), entropy.xlog1py)
digits.enter(elementwise_form(lambda mp, x: -log_product(mp, x, x)), entropy.entr)
digits.enter(elementwise_form(lambda mp, x, y: log_product(mp, x, x / y)), entropy.rel_entr)
digits.enter(elementwise_form(lambda mp, x, y: log_product(mp, x, x / y) - x + y), entropy.kl_div)
digits.enter(elementwise_form(lambda mp, x: mp.log(x) - mp.log1p(-x)), entropy.logit)

enter_rounded_forms(entropy._offset)


@digits(entropy._softmax)
def precise_softmax(mp: Any, x: Any, axis: tuple[int, ...]) -> Any:
    """Exponentials over their sum; numbers of many digits do not overflow."""
    powers = np.vectorize(mp.exp, otypes=[object])(x)
    return powers / np.sum(powers, axis, keepdims=True)


remedies.enter(
    (
        Remedy(
            FORWARD,
            has_infinity,
            "an element is inf, or all elements along the axes are -inf",
            "Mask with a large finite number such as -1e9 where a row may have nothing else.",
        ),
    ),
    entropy._softmax,
)

# The error function and the normal distribution


def inverse_erfc(mp: Any, x: Any) -> Any:
    """The inverse of erfc, with the additional digits that 1 - x needs for a small x."""
    with mp.extradps(max(0, int(-mp.log10(x)))):
        return mp.erfinv(1 - x)


digits.enter(elementwise_form(inverse_erfc), error.erfcinv)
digits.enter(
    elementwise_form(lambda mp, x, order: mp.diff(lambda x: mp.exp(x * x) * mp.erfc(x), x, order)), error._erfcx
)
digits.enter(elementwise_form(lambda mp, x: mp.log(mp.ncdf(x))), error.log_ndtr)
digits.enter(elementwise_form(lambda mp, x: -mp.sqrt(2) * inverse_erfc(mp, 2 * x)), error.ndtri)

# The gamma function and its relatives

digits.enter(elementwise_form(lambda mp, x: mp.re(mp.loggamma(x))), gamma.gammaln)
digits.enter(elementwise_form(lambda mp, x: mp.sign(mp.gamma(x))), gamma.gammasgn)
digits.enter(elementwise_form(lambda mp, x, y: mp.log(abs(mp.beta(x, y)))), gamma.betaln)
digits.enter(elementwise_form(lambda mp, n, x: mp.polygamma(int(n), x)), gamma._polygamma_op)
digits.enter(elementwise_form(lambda mp, x, n: mp.expint(n, x)), integrals._expn)


@digits(integrals._lambertw)
@elementwise_form
def precise_lambertw(mp: Any, x: Any, k: int, **_params: Any) -> Any:
    """A branch of Lambert's function, where it is real."""
    w = mp.lambertw(x, k)
    return mp.re(w) if mp.im(w) == 0 else mp.nan


def lower(mp: Any, a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function."""
    return mp.gammainc(a, 0, x, regularized=True)


def upper(mp: Any, a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function."""
    return mp.gammainc(a, x, regularized=True)


def incomplete_beta(mp: Any, a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function."""
    return mp.betainc(a, b, 0, x, regularized=True)


def student(mp: Any, df: Any, z: Any) -> Any:
    """The cumulative probability of Student's distribution."""
    tail = incomplete_beta(mp, df / 2, mp.mpf(1) / 2, df / (df + z * z)) / 2
    return tail if z < 0 else 1 - tail


@digits(incomplete.betainc_in_order)
@elementwise_form
def beta_in_order(mp: Any, a: Any, b: Any, x: Any, order: tuple[int, int]) -> Any:
    """A derivative of the incomplete beta function with respect to its parameters."""
    if not any(order):
        return incomplete_beta(mp, a, b, x)
    return mp.diff(lambda a, b: incomplete_beta(mp, a, b, x), (a, b), order)


@digits(quantile.odd_integral)
@elementwise_form
def odd_beta(mp: Any, b: Any, w: Any, order: int) -> Any:
    """The odd integral behind Student's distribution, by the incomplete beta function."""
    y = w * w / (1 + w * w)
    return mp.sign(w) * mp.diff(lambda b: incomplete_beta(mp, mp.mpf(1) / 2, b, y), b, order)


digits.enter(
    elementwise_form(lambda mp, a, x, order: mp.diff(lambda a: lower(mp, a, x), a, order)), incomplete.gammainc_in_order
)
digits.enter(elementwise_form(upper), incomplete.gammaincc)
digits.enter(elementwise_form(student), quantile.stdtr)


def inverse_form(function: Callable, operation: Any) -> Form:
    """The last argument at which a function has a value, by a root search from the floating-point result."""
    start = primitive_of(operation).impl

    def solve(mp: Any, *args: Any) -> Any:
        *parameters, value = args
        near = mp.mpf(float(start(*map(float, args))))
        return mp.findroot(lambda x: function(mp, *parameters, x) - value, (near, near * (1 + mp.mpf(10) ** -12)))

    return elementwise_form(solve)


for function, operation in (
    (lower, quantile.gammaincinv),
    (upper, quantile.gammainccinv),
    (incomplete_beta, quantile.betaincinv),
    (student, quantile.stdtrit),
):
    digits.enter(inverse_form(function, operation), operation)
