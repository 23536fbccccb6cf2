"""Special functions and their derivatives against mpmath, over their domains, and how they are reached."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.special
from tests.fresh_python import run_python
from tests.oracle import check_derivatives

import wengert as wg
from wengert import special
from wengert.core.array import SCIPY_UFUNCS

BESSEL = {
    "jv": mpmath.besselj,
    "yv": mpmath.bessely,
    "iv": mpmath.besseli,
    "kv": mpmath.besselk,
    "ive": lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-abs(x)),
    "kve": lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x),
}


def normal(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def inverse(function, guess):
    """Where `function` has a given value, by its logarithm, which has a slope in both tails."""
    return lambda y: mpmath.findroot(lambda x: mpmath.log(function(x) / y), guess(float(y)))


def uniform(*intervals, n=8, seed=1):
    rng = np.random.default_rng(seed)
    return [tuple(float(rng.uniform(*i)) for i in intervals) for _ in range(n)]


def decades(*intervals, n=8, seed=2):
    return [tuple(10.0**v for v in point) for point in uniform(*intervals, n=n, seed=seed)]


def points(*numbers):
    return [(x,) for x in numbers]


WIDE = points(-26.0, -5.0, -1.0, -1e-3, 1e-8, 0.3, 0.51, 0.99, 1.01, 2.5, 5.0, 26.0)
SIGNED = [*uniform((-30, 30)), *points(1e-9, 300.0)]
POSITIVE = [*uniform((0, 30)), *points(1e-3, 300.0)]
EVERY_SCALE = [
    *decades((-2, 3), (-2, 3)),
    *uniform((50, 60), (45, 70), n=4),
    (1e4, 1.02e4),
    (1e-5, 1e-7),
    (1e-5, 1e-3),
    (1e-3, 20.0),
]
GAMMALN_POINTS = [*uniform((-6, 6)), *decades((0, 10)), *points(1 - 2**-24, 1 + 1e-10, 2 - 1e-12, 1.19, 2.21, 1e-305)]
BETA_POINTS = [(a, b, x) for a, b in decades((-1, 1.5), (-1, 1.5), n=5) for x in (0.1, 0.7)]

# Function, the same in mpmath, points, relative tolerance, decimal digits that the oracle needs (complements of tiny
# tails need many).
ACCURACY = {
    "erf": (special.erf, mpmath.erf, WIDE, 1e-14, 350),
    "erfc": (special.erfc, mpmath.erfc, WIDE, 1e-14, 350),
    "erfcx": (special.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [*WIDE, (1e3,)], 1e-14, 50),
    "erfinv": (special.erfinv, mpmath.erfinv, [*uniform((-1, 1)), *points(1e-10, 1e-12 - 1, 1 - 2**-53)], 1e-13, 100),
    "erfcinv": (
        special.erfcinv,
        inverse(mpmath.erfc, special.erfcinv),
        [*uniform((0, 2)), *points(1e-10, 1e-200)],
        1e-12,
        60,
    ),
    "ndtr": (special.ndtr, normal, WIDE, 1e-12, 350),
    "log_ndtr": (special.log_ndtr, lambda x: mpmath.log(normal(x)), [*WIDE, *points(-40.0, -1000.0)], 1e-12, 350),
    "ndtri": (special.ndtri, inverse(normal, special.ndtri), [*uniform((0, 1)), *points(1e-10, 1e-200)], 1e-12, 60),
    "gamma": (special.gamma, mpmath.gamma, [*uniform((-6, 6)), *uniform((6, 170)), (1e-5,)], 1e-13, 50),
    "gammaln": (special.gammaln, lambda x: mpmath.log(abs(mpmath.gamma(x))), GAMMALN_POINTS, 1e-13, 50),
    "digamma": (special.digamma, mpmath.digamma, [*uniform((-6, 6)), *decades((-5, 10))], 1e-13, 50),
    "beta": (special.beta, mpmath.beta, decades((-2, 1.5), (-2, 1.5)), 1e-12, 50),
    "betaln": (special.betaln, lambda x, y: mpmath.log(mpmath.beta(x, y)), decades((-2, 1.5), (-2, 1.5)), 1e-12, 50),
    "gammainc": (special.gammainc, lambda a, x: mpmath.gammainc(a, 0, x, regularized=True), EVERY_SCALE, 1e-10, 200),
    "gammaincc": (
        special.gammaincc,
        lambda a, x: mpmath.gammainc(a, x, regularized=True),
        EVERY_SCALE[:12],
        1e-11,
        100,
    ),
    "betainc": (
        special.betainc,
        lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True),
        [
            *[(a, b, x) for a, b in decades((-1, 1.5), (-1, 1.5), n=5) for x in (0.1, 0.7)],
            (1e3, 1e3, 0.5),
            (1e-3, 1e-3, 0.5),
            (3, 1e-3, 0.99),
        ],
        1e-11,
        60,
    ),
    "expit": (special.expit, lambda x: 1 / (1 + mpmath.exp(-x)), [*uniform((-700, 15)), *uniform((-5, 5))], 1e-9, 50),
    "log_expit": (
        special.log_expit,
        lambda x: -mpmath.log1p(mpmath.exp(-x)),
        [*uniform((-700, 30)), *uniform((-5, 5))],
        1e-14,
        50,
    ),
    "logit": (
        special.logit,
        lambda x: mpmath.log(x / (1 - x)),
        [*uniform((0, 1)), *points(1e-200, 1 - 2**-53, 0.5 + 1e-9)],
        1e-14,
        100,
    ),
    "xlogy": (
        special.xlogy,
        lambda x, y: x * mpmath.log(y),
        [*uniform((-3, 3), (0, 3)), *decades((-9, 9), (-9, 9))],
        1e-13,
        50,
    ),
    "xlog1py": (
        special.xlog1py,
        lambda x, y: x * mpmath.log1p(y),
        [*uniform((-3, 3), (-1, 3)), *decades((-9, 9), (-9, 9))],
        1e-13,
        50,
    ),
    "entr": (special.entr, lambda x: -x * mpmath.log(x), decades((-9, 9)), 1e-13, 50),
    "rel_entr": (special.rel_entr, lambda x, y: x * mpmath.log(x / y), decades((-9, 9), (-9, 9)), 1e-13, 50),
    "kl_div": (special.kl_div, lambda x, y: x * mpmath.log(x / y) - x + y, decades((-9, 9), (-9, 9)), 1e-13, 50),
    "j0": (special.j0, lambda x: mpmath.besselj(0, x), SIGNED, 1e-12, 50),
    "j1": (special.j1, lambda x: mpmath.besselj(1, x), SIGNED, 1e-12, 50),
    "y0": (special.y0, lambda x: mpmath.bessely(0, x), POSITIVE, 1e-12, 50),
    "y1": (special.y1, lambda x: mpmath.bessely(1, x), POSITIVE, 1e-12, 50),
    "i0": (special.i0, lambda x: mpmath.besseli(0, x), SIGNED, 1e-13, 50),
    "i1": (special.i1, lambda x: mpmath.besseli(1, x), SIGNED, 1e-13, 50),
    "i0e": (special.i0e, lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), [*SIGNED, (1e4,)], 1e-11, 50),
    "i1e": (special.i1e, lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), [*SIGNED, (1e4,)], 1e-11, 50),
    "k0": (special.k0, lambda x: mpmath.besselk(0, x), POSITIVE, 1e-12, 50),
    "k1": (special.k1, lambda x: mpmath.besselk(1, x), POSITIVE, 1e-12, 50),
    "k0e": (special.k0e, lambda x: mpmath.besselk(0, x) * mpmath.exp(x), [*POSITIVE, (1e4,)], 1e-11, 50),
    "k1e": (special.k1e, lambda x: mpmath.besselk(1, x) * mpmath.exp(x), [*POSITIVE, (1e4,)], 1e-11, 50),
    "loggamma": (special.loggamma, mpmath.loggamma, decades((-2, 4)), 1e-13, 50),
    "rgamma": (
        special.rgamma,
        mpmath.rgamma,
        [*uniform((-6, 6)), *uniform((6, 170)), *points(-1e-9, -2.0 - 1e-9, -5.0 + 1e-6, 1e-5)],
        1e-12,
        50,
    ),
    "multigammaln": (
        lambda x: special.multigammaln(x, 3),
        lambda x: mpmath.log(mpmath.pi) * 1.5 + sum(mpmath.loggamma(x - mpmath.mpf(j) / 2) for j in range(3)),
        decades((0.1, 4)),
        1e-12,
        50,
    ),
    "binom": (
        special.binom,
        mpmath.binomial,
        [*uniform((0, 9), (-3, 12)), *uniform((-9, -1), (0, 3)), (300.0, 7.5), (40.0, 20.0)],
        1e-10,
        50,
    ),
    "exp1": (special.exp1, mpmath.e1, decades((-3, 2)), 1e-13, 50),
    "expi": (special.expi, mpmath.ei, [*decades((-3, 2)), *uniform((-20, 0))], 1e-12, 50),
    "si": (lambda x: special.sici(x)[0], mpmath.si, SIGNED, 1e-12, 50),
    "ci": (lambda x: special.sici(x)[1], mpmath.ci, POSITIVE, 1e-12, 50),
    "lambertw": (
        lambda x: wg.real(special.lambertw(x)),
        lambda x: mpmath.lambertw(x).real,
        [*uniform((-0.36, 30)), *points(1e-9, 1e5)],
        1e-13,
        50,
    ),
    "lambertw below": (
        lambda x: wg.real(special.lambertw(x, -1)),
        lambda x: mpmath.lambertw(x, -1).real,
        [*uniform((-0.36, 0)), (-1e-9,)],
        1e-13,
        50,
    ),
}
for _n in (1, 2, 5):
    _both = (lambda x, n=_n: special.polygamma(n, x)), (lambda x, n=_n: mpmath.polygamma(n, x))
    ACCURACY[f"polygamma {_n}"] = (*_both, [*uniform((-6, 6)), *decades((-2, 3))], 1e-13, 50)
for _s in (2, 3.5):
    _both = (lambda q, s=_s: special.zeta(s, q)), (lambda q, s=_s: mpmath.zeta(s, q))
    ACCURACY[f"zeta {_s}"] = (*_both, decades((-2, 3)), 1e-13, 50)
for _n in (0, 1, 2, 5):
    _both = (lambda x, n=_n: special.expn(n, x)), (lambda x, n=_n: mpmath.expint(n, x))
    ACCURACY[f"expn {_n}"] = (*_both, decades((-3, 2)), 1e-13, 50)


def hypergeometric_functions(a, b, c):
    """Gauss's function here, and in mpmath."""
    return (lambda z: special.hyp2f1(a, b, c, z)), (lambda z: mpmath.hyp2f1(a, b, c, z))


for _parameters in ((0.5, 1.5, 2.5), (-2, 3.3, 0.7), (1, 1, 2)):
    _both = hypergeometric_functions(*_parameters)
    ACCURACY[f"hyp2f1 {_parameters}"] = (*_both, uniform((-5, 0.95)), 1e-10, 50)


def bessel_functions(name, order):
    """A Bessel function here, and in mpmath."""
    return (lambda x: getattr(special, name)(order, x)), (lambda x: BESSEL[name](order, x))


for _name in BESSEL:
    for _v in (0, 2.5, 7):
        _both = bessel_functions(_name, _v)
        ACCURACY[f"{_name} {_v}"] = (*_both, uniform((0, 30), n=5), 1e-12, 50)


@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy_of_values_and_first_derivatives(name):
    f, oracle, points, tolerance, digits = ACCURACY[name]
    gradient = wg.grad(lambda *x: f(*x), tuple(range(len(points[0]))))
    with mpmath.workdps(digits):
        for point in points:
            exact = [mpmath.mpf(v) for v in point]
            values, expected = [f(*map(np.float64, point))], [oracle(*exact)]
            values += gradient(*map(np.float64, point))
            for i, x in enumerate(exact):
                along = lambda z, i=i, exact=exact: oracle(*exact[:i], z, *exact[i + 1 :])
                expected.append(mpmath.diff(along, x, h=abs(x) * mpmath.mpf(10) ** (-digits // 3)))
            for found, true in zip(values, expected, strict=True):
                if abs(true) > 1e-300:
                    assert abs(float(found) - true) <= tolerance * abs(true), (point, float(found), float(true))


@pytest.mark.parametrize("x", [-1000.0, -40.0, -0.1, 0.0, 0.1, 8.0])
def test_second_derivative_of_log_ndtr_down_the_tail(x):
    found = wg.grad(wg.grad(special.log_ndtr))(x)
    with mpmath.workdps(400):
        true = mpmath.diff(lambda z: mpmath.log(normal(z)), x, 2)
    np.testing.assert_allclose(found, float(true), rtol=1e-10)


@pytest.mark.parametrize(("order", "x"), [(1, 0.5), (2, 0.5), (4, 0.9), (1, 30.0), (4, 2.0), (5, 100.0), (3, -2.0)])
def test_higher_derivatives_of_erfcx(order, x):
    f = special.erfcx
    for _ in range(order):
        f = wg.grad(f)
    with mpmath.workdps(60):
        true = mpmath.diff(lambda z: mpmath.exp(z * z) * mpmath.erfc(z), x, order)
    np.testing.assert_allclose(f(x), float(true), rtol=1e-12)


def test_mixed_third_derivatives_of_the_incomplete_functions():
    third = wg.grad(wg.grad(wg.grad(special.gammainc, 0), 0), 1)(2.5, 1.3)
    with mpmath.workdps(40):
        density = lambda a: mpmath.mpf("1.3") ** (a - 1) * mpmath.exp(mpmath.mpf("-1.3")) / mpmath.gamma(a)
        np.testing.assert_allclose(third, float(mpmath.diff(density, 2.5, 2)), rtol=1e-12)
        third = wg.grad(wg.grad(wg.grad(special.gammainc, 0), 0), 0)(0.7, 0.4)
        true = mpmath.diff(lambda a: mpmath.gammainc(a, 0, 0.4, regularized=True), 0.7, 3)
        np.testing.assert_allclose(third, float(true), rtol=1e-10)
        third = wg.grad(wg.grad(wg.grad(special.betainc, 0), 1), 1)(0.7, 1.6, 0.45)
        true = mpmath.diff(lambda a, b: mpmath.betainc(a, b, 0, 0.45, regularized=True), (0.7, 1.6), (1, 2))
        np.testing.assert_allclose(third, float(true), rtol=1e-9)


def test_polygamma_and_zeta_of_complex_numbers():
    z = np.array([0.3 + 0.4j, -2.5 + 1.0j, 8.0 - 3.0j])
    for n in (1, 3):
        true = [complex(mpmath.psi(n, complex(v))) for v in z]
        np.testing.assert_allclose(special.polygamma(n, z), true, rtol=1e-12)
    np.testing.assert_allclose(
        special.zeta(3, z[::2]), [complex(mpmath.zeta(3, complex(v))) for v in z[::2]], rtol=1e-12
    )


UFUNCS = [n for n in SCIPY_UFUNCS if isinstance(getattr(scipy.special, n, None), np.ufunc)]


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_of_scipy_run_on_values(name):
    ufunc = getattr(scipy.special, name)
    args = [np.array([1.0, 2.0])] * (ufunc.nin - 1) + [np.array([0.3, 0.6])]
    x = wg.tensor(args[-1], requires_grad=True)
    found, expected = ufunc(*args[:-1], x), ufunc(*args)
    for y, z in zip(found, expected, strict=True) if ufunc.nout > 1 else [(found, expected)]:
        assert y.requires_grad == (name != "gammasgn")  # a step function
        np.testing.assert_allclose(y.detach().numpy(), z, rtol=1e-14)


def test_functions_of_scipy_that_end_in_a_ufunc():
    x = wg.tensor([0.5, 2.0], requires_grad=True)
    np.testing.assert_allclose(scipy.special.lambertw(x).detach().numpy(), scipy.special.lambertw([0.5, 2.0]))
    np.testing.assert_allclose(scipy.special.zeta(3.0, x).detach().numpy(), scipy.special.zeta(3.0, [0.5, 2.0]))
    with pytest.raises(TypeError, match="np.spence is not in Wengert's table"):
        scipy.special.spence(x)


@pytest.mark.parametrize("name", ["polygamma", "zeta", "jv", "yv", "iv", "ive", "kv", "kve", "expn"])
def test_orders_have_no_derivative(name):
    f = getattr(special, name)
    with pytest.raises(wg.GradientError, match=f"No derivative of {name} with respect to its .* at .*test_special.py"):
        wg.grad(lambda v: f(v, 1.5))(2.0)
    with pytest.raises(wg.GradientError, match=f"No derivative of {name} with respect to its"):
        wg.jvp(lambda v: f(v, 1.5), (2.0,), (1.0,))


def test_orders_may_be_arrays():
    x, orders = np.array([0.5, 1.5, 3.0]), np.arange(4)[:, None]
    for name in ("expn", "ive", "jv", "kve"):
        f = getattr(special, name)
        found = wg.grad(lambda x, f=f: f(orders, x).sum())(x)
        np.testing.assert_allclose(
            found, sum(wg.grad(lambda x, f=f, n=n: f(n, x).sum())(x) for n in range(4)), rtol=1e-13
        )
    with pytest.raises(ValueError, match="is an integer"):
        special.expn(0.5, x)


def test_python_orders_keep_float32():
    x = np.array([0.5, 1.5], np.float32)
    for name in ("jv", "ive", "kve", "polygamma", "zeta", "expn"):
        f = getattr(special, name)
        assert f(2, x).dtype == f(2.0, x).dtype == wg.grad(lambda x, f=f: f(2, x).sum())(x).dtype == np.float32
        assert wg.compile(lambda x, f=f: f(2, x))(x).dtype == np.float32


def test_softmax():
    x = np.random.default_rng(0).normal(size=(3, 4)) * 100
    for axis in (None, 0, -1):
        np.testing.assert_allclose(special.softmax(x, axis), scipy.special.softmax(x, axis), rtol=1e-12)
        np.testing.assert_allclose(special.log_softmax(x, axis), scipy.special.log_softmax(x, axis), rtol=1e-12)
    far = np.array([1e8, 1e8 - 40.0, -np.inf])
    np.testing.assert_allclose(special.log_softmax(far), [-np.exp(-40.0), -40.0, -np.inf], rtol=1e-14, atol=1e-16)
    p = special.softmax(x[0])
    np.testing.assert_allclose(wg.jacobian(special.softmax)(x[0]), np.diag(p) - np.outer(p, p), atol=1e-14)
    assert special.softmax([1, 1]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("sign", [False, True])
def test_logsumexp_with_weights(sign):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=4) if sign else np.array([0.5, 0.0, 2.0, 1.0])
    for axis, keepdims in ((1, True), ((0, 1), False), (None, False)):
        found = special.logsumexp(a, axis, b, keepdims, sign)
        np.testing.assert_allclose(found, scipy.special.logsumexp(a, axis, b, keepdims, sign), rtol=1e-13)

    def total(a, b):
        out = special.logsumexp(a, 1, b, return_sign=sign)
        return np.sum(np.sin(out[0] if sign else out))

    check_derivatives(total, [a, b], [0, 1])


def test_logsumexp_weights_may_leave_out_what_would_overflow():
    a, b = np.array([1e4, 1e9]), np.array([1.0, 0.0])
    assert special.logsumexp(a, b=b) == 1e4
    np.testing.assert_array_equal(wg.grad(lambda a: special.logsumexp(a, b=b))(a), [1, 0])
    assert special.logsumexp(np.float32([1, 2]), b=2.0, return_sign=True)[0].dtype == np.float32


@pytest.mark.parametrize("f", [special.logit, special.ndtri, special.erfcinv, special.entr])
def test_zero_cotangents_of_infinite_slopes_stay_zero(f):
    g = wg.grad(lambda x: f(x)[1])(np.array([0.0, 0.5]))
    assert g[0] == 0
    assert np.isfinite(g[1])


@pytest.mark.parametrize("name", ["erf", "erfc", "digamma", "gammaln"])
def test_native(name):
    f = wg.compile(getattr(special, name))
    x = np.linspace(0.2, 5.0, 40)
    assert not f.report(x).fallbacks
    np.testing.assert_allclose(f(x), getattr(scipy.special, name)(x), rtol=1e-12, atol=1e-15)


def test_batches_and_graphs():
    a, x = np.array([0.5, 2.0, 9.0]), np.linspace(0.1, 4.0, 5)
    found = wg.vmap(wg.vmap(wg.grad(special.gammainc), (None, 0)), (0, None))(a, x)
    expected = [[wg.grad(special.gammainc)(p, q) for q in x] for p in a]
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_allclose(
        wg.compile(wg.grad(lambda x: special.jv(3, x).sum()))(x), scipy.special.jvp(3, x), rtol=1e-13
    )


def test_import_leaves_scipy_alone():
    code = "import sys, wengert.special; print('scipy' in sys.modules)"
    assert run_python(code).stdout.strip() == "False"


@pytest.mark.parametrize("x", [np.inf, -np.inf, np.nan, 0.0, -1.0 / math.e, 1e300])
def test_lambertw_at_the_ends(x):
    for k in (0, 1):
        np.testing.assert_array_equal(special.lambertw(wg.tensor(x), k).numpy(), scipy.special.lambertw(x, k))


@pytest.mark.parametrize("q", [(), (1.0,), (2,), (np.float32(2.0),), (np.float64(2.0),)], ids=str)
def test_zeta_in_single_precision(q):
    x = np.array([2.0, 3.5], np.float32)
    expected = scipy.special.zeta(x, *q)
    for found in (special.zeta(wg.tensor(x), *q).numpy(), wg.compile(lambda x: special.zeta(x, *q))(x)):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("x", [0.0, -1.0, -2.0, -7.0])
def test_derivatives_of_rgamma_where_gamma_has_poles(x):
    f = special.rgamma
    for order in range(1, 4):
        f = wg.grad(f)
        with mpmath.workdps(60):
            np.testing.assert_allclose(f(x), float(mpmath.diff(mpmath.rgamma, x, order)), rtol=1e-11)


@pytest.mark.parametrize(("n", "k"), [(2.0, 3.0), (5.0, 7.0), (4.0, -2.0), (3.0, 1.0), (6.0, 6.0)])
def test_derivatives_of_binom_at_integers(n, k):
    with mpmath.workdps(60):
        for i, order in enumerate(((1, 0), (0, 1))):
            expected = float(mpmath.diff(mpmath.binomial, (n, k), order))
            np.testing.assert_allclose(wg.grad(special.binom, i)(n, k), expected, rtol=1e-12, atol=1e-14)
        expected = float(mpmath.diff(mpmath.binomial, (n, k), (0, 2)))
        np.testing.assert_allclose(wg.grad(wg.grad(special.binom, 1), 1)(n, k), expected, rtol=1e-11, atol=1e-13)


def test_comb():
    n, k = np.array([4, 5, 3, -2, 6]), np.array([2, 0, 4, 1, -1])
    np.testing.assert_array_equal(special.comb(n, k), scipy.special.comb(n, k))
    np.testing.assert_allclose(special.comb(n + 9, 3, repetition=True), scipy.special.comb(n + 9, 3, repetition=True))
    assert special.comb(70, 35, exact=True) == scipy.special.comb(70, 35, exact=True)
    np.testing.assert_allclose(wg.grad(special.comb)(4.5, 2.0), 4.0)  # n (n - 1) / 2
    assert wg.grad(special.comb)(2.0, 3.0) == 0.0
    with pytest.raises(TypeError, match="takes Python's integers"):
        special.comb(wg.tensor(4), 2, exact=True)


def test_multigammaln_below_its_domain():
    with pytest.raises(ValueError, match="multigammaln in 3 dimensions needs a > 1"):
        special.multigammaln(1.0, 3)


def test_complex_arguments():
    z = np.array([0.3 + 0.4j, -2.5 + 1.0j, 8.0 - 3.0j])
    for name, derivative in (
        ("loggamma", lambda z: mpmath.psi(0, z)),
        ("rgamma", lambda z: mpmath.diff(mpmath.rgamma, z)),
        ("exp1", lambda z: -mpmath.exp(-z) / z),
        ("expi", lambda z: mpmath.exp(z) / z),
    ):
        found = [wg.grad(getattr(special, name), holomorphic=True)(v) for v in z]
        np.testing.assert_allclose(found, [complex(derivative(mpmath.mpc(v))) for v in z], rtol=1e-11)
