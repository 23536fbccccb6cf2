"""Special functions: their forms in SymPy, and in Python."""

from __future__ import annotations

from typing import Any

from wengert.graph.python_source import python_call, template
from wengert.graph.sympy import enter_same_names, sympy_form, sympy_function
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

# Bessel functions

sympy_form.enter(sympy_function("besselj"), bessel._jv)
sympy_form.enter(sympy_function("bessely"), bessel._yv)
sympy_form.enter(sympy_function("besseli"), bessel._iv)
sympy_form.enter(sympy_function("besselk"), bessel._kv)
sympy_form.enter(lambda sympy, x: sympy.besselj(0, x), bessel.j0)
sympy_form.enter(lambda sympy, x: sympy.besselj(1, x), bessel.j1)
sympy_form.enter(lambda sympy, x: sympy.bessely(0, x), bessel.y0)
sympy_form.enter(lambda sympy, x: sympy.bessely(1, x), bessel.y1)
sympy_form.enter(lambda sympy, x: sympy.besseli(0, x), bessel.i0)
sympy_form.enter(lambda sympy, x: sympy.besseli(1, x), bessel.i1)
sympy_form.enter(lambda sympy, x, v: scaled_besseli(sympy, v, x), bessel._ive)
sympy_form.enter(lambda sympy, v, x: sympy.exp(x) * sympy.besselk(v, x), bessel._kve)
sympy_form.enter(lambda sympy, x: scaled_besseli(sympy, 0, x), bessel.i0e)
sympy_form.enter(lambda sympy, x: scaled_besseli(sympy, 1, x), bessel.i1e)


def scaled_besseli(sympy: Any, v: Any, x: Any) -> Any:
    """The modified Bessel function, divided by its growth."""
    return sympy.exp(-sympy.Abs(sympy.re(x))) * sympy.besseli(v, x)


# Entropy and logarithms


def zero_times(sympy: Any, x: Any, y: Any) -> Any:
    """x times y, and zero where x is zero."""
    return sympy.Piecewise((0, sympy.Eq(x, 0)), (x * y, True))


sympy_form.enter(lambda sympy, x, y: zero_times(sympy, x, sympy.log(y)), entropy.xlogy)
sympy_form.enter(lambda sympy, x, y: zero_times(sympy, x, sympy.log(1 + y)), entropy.xlog1py)
sympy_form.enter(lambda sympy, x: -zero_times(sympy, x, sympy.log(x)), entropy.entr)
sympy_form.enter(lambda sympy, x, y: zero_times(sympy, x, sympy.log(x / y)), entropy.rel_entr)
sympy_form.enter(lambda sympy, x, y: zero_times(sympy, x, sympy.log(x / y)) - x + y, entropy.kl_div)
sympy_form.enter(lambda sympy, x: sympy.log(x / (1 - x)), entropy.logit)
sympy_form.enter(lambda sympy, x, axis: sympy.Integer(1), entropy._softmax)  # a row of one number
python_call.enter(template("wg.special.softmax({0}, axis={axis})"), entropy._softmax)

# The error function and the normal distribution


def normal_distribution(sympy: Any, x: Any) -> Any:
    """The distribution function of the normal distribution."""
    return sympy.erfc(-x / sympy.sqrt(2)) / 2


@sympy_form(error._erfcx)
def sympy_erfcx(sympy: Any, x: Any, order: int) -> Any:
    """A derivative of the scaled complementary error function."""
    t = sympy.Dummy(real=True)
    return (sympy.exp(t**2) * sympy.erfc(t)).diff(t, order).subs(t, x)


enter_same_names(error.erf, error.erfc, error.erfinv)
sympy_form.enter(lambda sympy, x: sympy.erfinv(1 - x), error.erfcinv)  # SymPy does not evaluate its erfcinv
sympy_form.enter(normal_distribution, error.ndtr)
sympy_form.enter(lambda sympy, x: sympy.log(normal_distribution(sympy, x)), error.log_ndtr)
sympy_form.enter(lambda sympy, x: sympy.sqrt(2) * sympy.erfinv(2 * x - 1), error.ndtri)


# Gamma functions


@sympy_form(incomplete.gammainc_in_order)
def sympy_gammainc(sympy: Any, a: Any, x: Any, order: int) -> Any:
    """The regularized incomplete gamma function, or its derivative with respect to a."""
    t = sympy.Dummy(positive=True)
    return (sympy.lowergamma(t, x) / sympy.gamma(t)).diff(t, order).subs(t, a)


@sympy_form(incomplete.betainc_in_order)
def sympy_betainc(sympy: Any, a: Any, b: Any, x: Any, order: tuple[int, int]) -> Any:
    """SymPy has no derivatives with respect to a and b."""
    return None if any(order) else sympy.betainc_regularized(a, b, 0, x)


@sympy_form(quantile.stdtr)
def sympy_stdtr(sympy: Any, df: Any, z: Any) -> Any:
    """The distribution function of Student's t."""
    tail = sympy.betainc_regularized(df / 2, sympy.Rational(1, 2), 0, df / (df + z**2)) / 2
    return sympy.Piecewise((tail, sympy.Le(z, 0)), (1 - tail, True))


enter_same_names(gamma.gamma, gamma.loggamma, gamma.digamma, gamma._polygamma_op, gamma._zeta, gamma.beta)
sympy_form.enter(lambda sympy, x: 1 / sympy.gamma(x), gamma.rgamma)
sympy_form.enter(lambda sympy, x: sympy.sign(sympy.gamma(x)), gamma.gammasgn)
sympy_form.enter(sympy_function("binomial"), combinatorial.binom)
sympy_form.enter(lambda sympy, a, b, c, z: sympy.hyper((a, b), (c,), z), hypergeometric._hyp2f1)
sympy_form.enter(lambda sympy, x: sympy.log(sympy.Abs(sympy.gamma(x))), gamma.gammaln)
sympy_form.enter(lambda sympy, x, y: sympy.log(sympy.Abs(sympy.beta(x, y))), gamma.betaln)
sympy_form.enter(lambda sympy, a, x: sympy.uppergamma(a, x) / sympy.gamma(a), incomplete.gammaincc)
sympy_form.without(
    "SymPy has no inverses of incomplete functions",
    quantile.gammaincinv,
    quantile.gammainccinv,
    quantile.betaincinv,
    quantile.stdtrit,
)
sympy_form.without(
    "a derivative of the incomplete beta function with respect to its parameter, which SymPy does not have",
    quantile.odd_integral,
)


# Integrals and inverses

sympy_form.enter(sympy_function("Si"), integrals._si)
sympy_form.enter(sympy_function("Ei"), integrals.expi)
sympy_form.enter(lambda sympy, x: sympy.expint(1, x), integrals.exp1)
sympy_form.enter(sympy_function("Ci"), integrals._ci)
sympy_form.enter(lambda sympy, x, n: sympy.expint(n, x), integrals._expn)
sympy_form.enter(lambda sympy, x, k, tol: sympy.LambertW(x, k), integrals._lambertw)
