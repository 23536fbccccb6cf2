"""Special functions: their forms in SymPy."""

from __future__ import annotations

from typing import Any

from wengert.graph.sympy import sympy_form, sympy_function
from wengert.ops.special.bessel import _iv, _ive, _jv, _kv, _yv, i0, i0e, i1, i1e, j0, j1, y0, y1
from wengert.ops.special.entropy import entr, kl_div, logit, rel_entr, xlog1py, xlogy
from wengert.ops.special.error import _erfcx, erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from wengert.ops.special.gamma import _polygamma_op, _zeta, beta, betaln, digamma, gamma, gammaln
from wengert.ops.special.incomplete import betainc_in_order, gammainc_in_order, gammaincc
from wengert.ops.special.integrals import _ci, _expn, _lambertw, _si
from wengert.ops.special.quantile import betaincinv, gammainccinv, gammaincinv, odd_integral, stdtr, stdtrit

# Bessel functions

sympy_form.enter(sympy_function("besselj"), _jv)
sympy_form.enter(sympy_function("bessely"), _yv)
sympy_form.enter(sympy_function("besseli"), _iv)
sympy_form.enter(sympy_function("besselk"), _kv)
sympy_form.enter(lambda sympy, x: sympy.besselj(0, x), j0)
sympy_form.enter(lambda sympy, x: sympy.besselj(1, x), j1)
sympy_form.enter(lambda sympy, x: sympy.bessely(0, x), y0)
sympy_form.enter(lambda sympy, x: sympy.bessely(1, x), y1)
sympy_form.enter(lambda sympy, x: sympy.besseli(0, x), i0)
sympy_form.enter(lambda sympy, x: sympy.besseli(1, x), i1)
sympy_form.enter(lambda sympy, x, v: scaled_besseli(sympy, v, x), _ive)
sympy_form.enter(lambda sympy, x: scaled_besseli(sympy, 0, x), i0e)
sympy_form.enter(lambda sympy, x: scaled_besseli(sympy, 1, x), i1e)


def scaled_besseli(sympy: Any, v: Any, x: Any) -> Any:
    return sympy.exp(-sympy.Abs(sympy.re(x))) * sympy.besseli(v, x)


# Entropy and logarithms


def zero_times(sympy: Any, x: Any, y: Any) -> Any:
    """x times y, and zero where x is zero."""
    return sympy.Piecewise((0, sympy.Eq(x, 0)), (x * y, True))


sympy_form.enter(lambda sympy, x, y: zero_times(sympy, x, sympy.log(y)), xlogy)
sympy_form.enter(lambda sympy, x, y: zero_times(sympy, x, sympy.log(1 + y)), xlog1py)
sympy_form.enter(lambda sympy, x: -zero_times(sympy, x, sympy.log(x)), entr)
sympy_form.enter(lambda sympy, x, y: zero_times(sympy, x, sympy.log(x / y)), rel_entr)
sympy_form.enter(lambda sympy, x, y: zero_times(sympy, x, sympy.log(x / y)) - x + y, kl_div)
sympy_form.enter(lambda sympy, x: sympy.log(x / (1 - x)), logit)


# The error function and the normal distribution


def normal_distribution(sympy: Any, x: Any) -> Any:
    return sympy.erfc(-x / sympy.sqrt(2)) / 2


@sympy_form(_erfcx)
def sympy_erfcx(sympy: Any, x: Any, order: int) -> Any:
    t = sympy.Dummy(real=True)
    return (sympy.exp(t**2) * sympy.erfc(t)).diff(t, order).subs(t, x)


sympy_form.enter(sympy_function("erf"), erf)
sympy_form.enter(sympy_function("erfc"), erfc)
sympy_form.enter(sympy_function("erfinv"), erfinv)
sympy_form.enter(lambda sympy, x: sympy.erfinv(1 - x), erfcinv)  # SymPy does not evaluate its erfcinv
sympy_form.enter(normal_distribution, ndtr)
sympy_form.enter(lambda sympy, x: sympy.log(normal_distribution(sympy, x)), log_ndtr)
sympy_form.enter(lambda sympy, x: sympy.sqrt(2) * sympy.erfinv(2 * x - 1), ndtri)


# Gamma functions


@sympy_form(gammainc_in_order)
def sympy_gammainc(sympy: Any, a: Any, x: Any, order: int) -> Any:
    t = sympy.Dummy(positive=True)
    return (sympy.lowergamma(t, x) / sympy.gamma(t)).diff(t, order).subs(t, a)


@sympy_form(betainc_in_order)
def sympy_betainc(sympy: Any, a: Any, b: Any, x: Any, order: tuple[int, int]) -> Any:
    """SymPy has no derivatives with respect to a and b."""
    return None if any(order) else sympy.betainc_regularized(a, b, 0, x)


@sympy_form(stdtr)
def sympy_stdtr(sympy: Any, df: Any, z: Any) -> Any:
    tail = sympy.betainc_regularized(df / 2, sympy.Rational(1, 2), 0, df / (df + z**2)) / 2
    return sympy.Piecewise((tail, sympy.Le(z, 0)), (1 - tail, True))


sympy_form.enter(sympy_function("gamma"), gamma)
sympy_form.enter(sympy_function("digamma"), digamma)
sympy_form.enter(sympy_function("polygamma"), _polygamma_op)
sympy_form.enter(sympy_function("zeta"), _zeta)
sympy_form.enter(sympy_function("beta"), beta)
sympy_form.enter(lambda sympy, x: sympy.log(sympy.Abs(sympy.gamma(x))), gammaln)
sympy_form.enter(lambda sympy, x, y: sympy.log(sympy.Abs(sympy.beta(x, y))), betaln)
sympy_form.enter(lambda sympy, a, x: sympy.uppergamma(a, x) / sympy.gamma(a), gammaincc)
sympy_form.without("SymPy has no inverses of incomplete functions", gammaincinv, gammainccinv, betaincinv, stdtrit)
sympy_form.without(
    "a derivative of the incomplete beta function with respect to its parameter, which SymPy has not", odd_integral
)


# Integrals and inverses

sympy_form.enter(sympy_function("Si"), _si)
sympy_form.enter(sympy_function("Ci"), _ci)
sympy_form.enter(lambda sympy, x, n: sympy.expint(n, x), _expn)
sympy_form.enter(lambda sympy, x, k, tol: sympy.LambertW(x, k), _lambertw)
