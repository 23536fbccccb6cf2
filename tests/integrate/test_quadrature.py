"""Definite integrals and their derivatives, against closed forms."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.integrate
from scipy.special import digamma, gamma, polygamma

import wengert as wg
from wengert.core.errors import GradientError
from wengert.integrate import quad


def euler(a):
    """The gamma function."""
    return quad(lambda x, a: x ** (a - 1.0) * np.exp(-x), 0.0, np.inf, (a,))[0]


def window(v):
    """The integral of exp(-s x^2) from a to b, of v = (a, b, s)."""
    return quad(lambda x, s: np.exp(-s * x**2), v[0], v[1], (v[2],))[0]


@pytest.mark.parametrize("a", [0.6, 1.0, 2.5, 4.0])
def test_gamma_and_its_derivatives(a):
    first = gamma(a) * digamma(a)
    second = gamma(a) * (digamma(a) ** 2 + polygamma(1, a))
    np.testing.assert_allclose(euler(a), gamma(a), rtol=1e-8)
    np.testing.assert_allclose(wg.grad(euler)(a), first, rtol=1e-7)
    np.testing.assert_allclose(wg.jvp(euler, (a,), (1.0,))[1], first, rtol=1e-7)
    np.testing.assert_allclose(wg.grad(wg.grad(euler))(a), second, rtol=1e-7)
    np.testing.assert_allclose(wg.jvp(lambda a: wg.jvp(euler, (a,), (1.0,))[1], (a,), (1.0,))[1], second, rtol=1e-7)
    np.testing.assert_allclose(wg.hessian(euler)(a), second, rtol=1e-7)


def test_taylor():
    wanted = [float(c) for c in mpmath.taylor(mpmath.gamma, 2.5, 4)]
    np.testing.assert_allclose(wg.taylor(euler, 2.5, 4), wanted, rtol=1e-8)


def test_limits_and_parameters_together():
    v = np.array([0.3, 1.2, 1.5])
    f = lambda a, b, s: (
        mpmath.sqrt(mpmath.pi / s) / 2 * (mpmath.erf(mpmath.sqrt(s) * b) - mpmath.erf(mpmath.sqrt(s) * a))
    )
    unit = np.eye(3, dtype=int)
    np.testing.assert_allclose(
        wg.grad(window)(v), [float(mpmath.diff(f, tuple(v), tuple(map(int, e)))) for e in unit], rtol=1e-9
    )
    wanted = [[float(mpmath.diff(f, tuple(v), tuple(map(int, e + g)))) for e in unit] for g in unit]
    np.testing.assert_allclose(wg.hessian(window)(v), wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(wg.jacobian(wg.grad(window), mode="reverse")(v), wanted, rtol=1e-8, atol=1e-9)


def test_infinite_limits_have_no_slope():
    f = lambda a, b: quad(lambda x: np.exp(-(x**2)), a, b)[0]
    np.testing.assert_allclose(wg.grad(f, (0, 1))(0.3, np.inf), [-np.exp(-0.09), 0.0], rtol=1e-12)
    np.testing.assert_allclose(wg.jvp(f, (-np.inf, 0.5), (1.0, 1.0))[1], np.exp(-0.25), rtol=1e-12)


def test_limits_where_the_integrand_is_singular():
    f = lambda s: quad(lambda x, s: s / np.sqrt(x), 0, 1, (s,))[0]
    np.testing.assert_allclose(wg.grad(f)(3.0), 2.0, rtol=1e-9)
    np.testing.assert_allclose(wg.jvp(f, (3.0,), (1.0,))[1], 2.0, rtol=1e-9)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("n", [2, 30])
def test_arrays(mode, n):
    p = np.linspace(0.5, 2.0, n)
    f = lambda p: quad(lambda x, p: np.exp(-p * x), 0.0, 1.0, (p,))[0]
    np.testing.assert_allclose(f(p), (1.0 - np.exp(-p)) / p, rtol=1e-9)
    np.testing.assert_allclose(
        wg.jacobian(f, mode=mode)(p), np.diag((np.exp(-p) * (p + 1.0) - 1.0) / p**2), rtol=1e-8, atol=1e-10
    )


def test_complex_integrands():
    f = lambda k: quad(lambda x, k: np.exp(1j * k * x), 0.0, 1.0, (k,))[0]
    np.testing.assert_allclose(f(2.0), (np.exp(2j) - 1.0) / 2j, rtol=1e-12)
    np.testing.assert_allclose(wg.jvp(f, (2.0,), (1.0,))[1], np.exp(2j) / 2.0 - (np.exp(2j) - 1.0) / 4j, rtol=1e-10)
    np.testing.assert_allclose(wg.grad(lambda k: f(k).real)(2.0), np.cos(2.0) / 2.0 - np.sin(2.0) / 4.0, rtol=1e-10)


def test_batches():
    a = np.array([1.0, 2.0, 3.5])
    np.testing.assert_allclose(wg.vmap(euler)(a), gamma(a), rtol=1e-8)
    np.testing.assert_allclose(wg.vmap(wg.grad(euler))(a), gamma(a) * digamma(a), rtol=1e-8)
    upper = wg.vmap(lambda b: quad(np.cos, 0.0, b)[0])
    np.testing.assert_allclose(wg.grad(lambda b: upper(b).sum())(a), np.cos(a), rtol=1e-12)
    infinite = wg.vmap(lambda b: quad(lambda x: np.exp(-x), 0.0, b)[0])(np.array([1.0, np.inf]))
    np.testing.assert_allclose(infinite, [1.0 - np.exp(-1.0), 1.0], rtol=1e-10)


def test_trees_and_eager_tensors():
    found = wg.grad(lambda d: quad(lambda x, d: d["a"] * x**2 + d["b"][0], 0, 1, (d,))[0])({"a": 1.0, "b": [2.0]})
    np.testing.assert_allclose([found["a"], found["b"][0]], [1.0 / 3.0, 1.0], rtol=1e-12)
    a = wg.tensor(2.5, requires_grad=True)
    value, error = quad(lambda x, a: x ** (a - 1.0) * np.exp(-x), 0.0, np.inf, (a,))
    value.backward()
    np.testing.assert_allclose(a.grad, gamma(2.5) * digamma(2.5), rtol=1e-8)
    assert isinstance(error, float)
    assert 0.0 <= error < 1e-6


def test_plain_numbers_are_those_of_scipy():
    assert quad(np.sin, 0, 1) == scipy.integrate.quad(np.sin, 0, 1)
    wanted = scipy.integrate.quad(lambda x, a: abs(x - a), 0, 1, args=0.3, points=[0.3])
    assert quad(lambda x, a: abs(x - a), 0, 1, 0.3, points=[0.3]) == wanted


def test_doubtful_integrals_warn():
    with pytest.warns(scipy.integrate.IntegrationWarning):
        quad(lambda x, a: a / x, 0.0, 1.0, (1.0,))
    with pytest.warns(scipy.integrate.IntegrationWarning):
        quad(lambda x: np.full(20, x**-0.5), 0.0, 1.0, epsabs=0.0, epsrel=1e-16)


S = np.array([3.0, 4.0])


@pytest.mark.parametrize(
    ("differentiate", "s"),
    [
        (wg.grad, 3.0),
        (lambda f: lambda s: wg.jvp(f, (s,), (1.0,)), 3.0),
        (lambda f: wg.grad(wg.grad(f)), 3.0),
        (wg.vmap, S),
        (lambda f: wg.vmap(wg.grad(f)), S),
    ],
)
def test_what_is_captured_has_derivatives(differentiate, s):
    captured = lambda s: quad(lambda x: s * s * np.sin(x * s), 0.0, 1.0)[0]
    passed = lambda s: quad(lambda x, s: s * s * np.sin(x * s), 0.0, 1.0, (s,))[0]
    np.testing.assert_allclose(differentiate(captured)(s), differentiate(passed)(s), rtol=1e-12)


def test_a_captured_value_that_decides():
    with pytest.raises(GradientError, match="cannot be traced"):
        wg.grad(lambda s: quad(lambda x: s * x if x > 0.5 else x, 0.0, 1.0)[0])(3.0)


def test_graphs_have_no_integrals():
    with pytest.raises(TypeError, match="cannot be traced"):
        wg.trace(euler, 2.0)
