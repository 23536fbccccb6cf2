"""Special functions: forms of many digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core.aspects import primitive_of
from wengert.explain.comparing.digits import Form, digits, of_mpmath, on_numbers
from wengert.ops.special.bessel import _iv, _ive, _jv, _kv, _yv, i0, i0e, i1, i1e, j0, j1, y0, y1
from wengert.ops.special.entropy import entr, kl_div, logit, rel_entr, xlog1py, xlogy
from wengert.ops.special.error import _erfcx, erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from wengert.ops.special.gamma import _polygamma_op, _zeta, beta, betaln, digamma, gamma, gammaln
from wengert.ops.special.incomplete import betainc_in_order, gammainc_in_order, gammaincc
from wengert.ops.special.integrals import _ci, _expn, _lambertw, _si
from wengert.ops.special.quantile import betaincinv, gammainccinv, gammaincinv, odd_integral, stdtr, stdtrit

NAMES = (
    (_jv, "besselj"), (_yv, "bessely"), (_iv, "besseli"), (_kv, "besselk"), (erf, "erf"), (erfc, "erfc"), (erfinv, "erfinv"),
    (ndtr, "ncdf"), (gamma, "gamma"), (beta, "beta"), (digamma, "digamma"), (_zeta, "zeta"), (_si, "si"), (_ci, "ci"),
)  # fmt: skip
for operation, name in NAMES:
    digits.enter(of_mpmath(name), operation)

# Bessel functions

for order, (j, y, i, scaled) in enumerate(((j0, y0, i0, i0e), (j1, y1, i1, i1e))):
    digits.enter(on_numbers(lambda mp, x, n=order: mp.besselj(n, x)), j)
    digits.enter(on_numbers(lambda mp, x, n=order: mp.bessely(n, x)), y)
    digits.enter(on_numbers(lambda mp, x, n=order: mp.besseli(n, x)), i)
    digits.enter(on_numbers(lambda mp, x, n=order: mp.exp(-abs(x)) * mp.besseli(n, x)), scaled)
digits.enter(on_numbers(lambda mp, x, v: mp.exp(-abs(x)) * mp.besseli(v, x)), _ive)

# Entropies


def log_product(mp: Any, x: Any, y: Any) -> Any:
    """x log y, zero where x is."""
    return x * mp.log(y) if x else x


digits.enter(on_numbers(log_product), xlogy)
digits.enter(on_numbers(lambda mp, x, y: x * mp.log1p(y) if x else x), xlog1py)
digits.enter(on_numbers(lambda mp, x: -log_product(mp, x, x)), entr)
digits.enter(on_numbers(lambda mp, x, y: log_product(mp, x, x / y)), rel_entr)
digits.enter(on_numbers(lambda mp, x, y: log_product(mp, x, x / y) - x + y), kl_div)
digits.enter(on_numbers(lambda mp, x: mp.log(x) - mp.log1p(-x)), logit)

# The error function and the normal distribution


def inverse_erfc(mp: Any, x: Any) -> Any:
    """With so many digits more as 1 - x needs for a small x."""
    with mp.extradps(max(0, int(-mp.log10(x)))):
        return mp.erfinv(1 - x)


digits.enter(on_numbers(inverse_erfc), erfcinv)
digits.enter(on_numbers(lambda mp, x, order: mp.diff(lambda x: mp.exp(x * x) * mp.erfc(x), x, order)), _erfcx)
digits.enter(on_numbers(lambda mp, x: mp.log(mp.ncdf(x))), log_ndtr)
digits.enter(on_numbers(lambda mp, x: -mp.sqrt(2) * inverse_erfc(mp, 2 * x)), ndtri)

# The gamma function and its relatives

digits.enter(on_numbers(lambda mp, x: mp.re(mp.loggamma(x))), gammaln)
digits.enter(on_numbers(lambda mp, x, y: mp.log(abs(mp.beta(x, y)))), betaln)
digits.enter(on_numbers(lambda mp, n, x: mp.polygamma(int(n), x)), _polygamma_op)
digits.enter(on_numbers(lambda mp, x, n: mp.expint(n, x)), _expn)


@digits(_lambertw)
@on_numbers
def lambert(mp: Any, x: Any, k: int, tol: float) -> Any:
    w = mp.lambertw(x, k)
    return mp.re(w) if mp.im(w) == 0 else mp.nan


def lower(mp: Any, a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def upper(mp: Any, a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, regularized=True)


def incomplete_beta(mp: Any, a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


def student(mp: Any, df: Any, z: Any) -> Any:
    """The probability of less than z."""
    tail = incomplete_beta(mp, df / 2, mp.mpf(1) / 2, df / (df + z * z)) / 2
    return tail if z < 0 else 1 - tail


@digits(betainc_in_order)
@on_numbers
def beta_in_order(mp: Any, a: Any, b: Any, x: Any, order: tuple[int, int]) -> Any:
    if not any(order):
        return incomplete_beta(mp, a, b, x)
    return mp.diff(lambda a, b: incomplete_beta(mp, a, b, x), (a, b), order)


@digits(odd_integral)
@on_numbers
def odd_beta(mp: Any, b: Any, w: Any, order: int) -> Any:
    y = w * w / (1 + w * w)
    return mp.sign(w) * mp.diff(lambda b: incomplete_beta(mp, mp.mpf(1) / 2, b, y), b, order)


digits.enter(on_numbers(lambda mp, a, x, order: mp.diff(lambda a: lower(mp, a, x), a, order)), gammainc_in_order)
digits.enter(on_numbers(upper), gammaincc)
digits.enter(on_numbers(student), stdtr)


def inverse(function: Callable, operation: Any) -> Form:
    """Where a function of its last argument has a value, sought from the place that floating-point numbers find."""
    start = primitive_of(operation).impl

    def solve(mp: Any, *args: Any) -> Any:
        *parameters, value = args
        near = mp.mpf(float(start(*map(float, args))))
        return mp.findroot(lambda x: function(mp, *parameters, x) - value, (near, near * (1 + mp.mpf(10) ** -12)))

    return on_numbers(solve)


for function, operation in (
    (lower, gammaincinv),
    (upper, gammainccinv),
    (incomplete_beta, betaincinv),
    (student, stdtrit),
):
    digits.enter(inverse(function, operation), operation)
