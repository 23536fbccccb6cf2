"""Random draws: the numbers are NumPy's, and the derivatives those with respect to the parameters of their
distribution.
"""

from __future__ import annotations

import inspect

import mpmath
import numpy as np
import pytest
from tests.oracle import check_derivatives
from tests.random.seeded_draws import DISCRETE, seeded, tensors

import wengert as wg
from wengert.random import Generator, default_rng

PATHWISE = {
    "normal": (1.0, 2.0),
    "uniform": (1.0, 3.0),
    "exponential": (2.0,),
    "gumbel": (1.0, 2.0),
    "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "rayleigh": (2.0,),
    "lognormal": (0.3, 0.5),
    "weibull": (1.7,),
    "pareto": (2.0,),
    "power": (2.5,),
    "triangular": (0.5, 1.0, 3.0),
}
IMPLICIT = {
    "standard_gamma": (2.5,),
    "gamma": (0.5, 2.0),
    "chisquare": (3.0,),
    "f": (3.0, 4.0),
    "beta": (0.5, 2.0),
    "standard_t": (4.0,),
    "wald": (2.0, 3.0),
    "vonmises": (0.2, 1.5),
}
OTHERS = {
    "random": (),
    "standard_normal": (),
    "standard_exponential": (),
    "standard_cauchy": (),
    "noncentral_chisquare": (3.0, 2.0),
    "noncentral_f": (3.0, 4.0, 2.0),
    "integers": (2, 9),
    "dirichlet": ([0.5, 2.0, 1.0],),
    "multivariate_normal": ([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]),
    "multinomial": (8, [0.2, 0.5, 0.3]),
    "multivariate_hypergeometric": ([3, 4, 5], 6),
    "choice": (7,),
}
COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]])
SMOOTH = PATHWISE | IMPLICIT


@pytest.mark.parametrize(
    ("name", "parameters"), (SMOOTH | DISCRETE | OTHERS).items(), ids=lambda x: x if isinstance(x, str) else ""
)
@pytest.mark.parametrize("size", [None, 4, (2, 3)])
def test_plain_draws_are_those_of_numpy(name, parameters, size):
    theirs = np.random.default_rng(5)
    np.testing.assert_array_equal(seeded(name, size)(*parameters), getattr(theirs, name)(*parameters, size=size))


def test_every_method_of_numpy_is_there():
    theirs = {name for name in dir(np.random.Generator) if not name.startswith("_")}
    assert theirs <= set(dir(Generator))
    for name in theirs - {"bit_generator"}:
        expected, found = (
            inspect.signature(getattr(g, name)).parameters.values() for g in (np.random.Generator, Generator)
        )
        names = [(p.name, p.kind is p.KEYWORD_ONLY) for p in found]
        assert [(p.name, p.kind is p.KEYWORD_ONLY) for p in expected] == names, name


def test_draws_into_an_array():
    out = np.zeros(3)
    assert default_rng(5).standard_normal(out=out) is out
    np.testing.assert_array_equal(out, np.random.default_rng(5).standard_normal(3))
    with pytest.raises(TypeError, match="out"):
        default_rng(5).standard_gamma(wg.tensor([1.0, 2.0, 3.0]), out=out)


@pytest.mark.parametrize(("name", "parameters"), SMOOTH.items(), ids=SMOOTH)
@pytest.mark.parametrize("size", [(), (2, 3)])
def test_draws_on_values_are_those_of_numpy(name, parameters, size):
    found = seeded(name, size)(*tensors(parameters))
    assert found.requires_grad
    expected = getattr(np.random.default_rng(5), name)(*parameters, size=size)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=5e-16, atol=4e-16 if name == "vonmises" else 0.0)
    rng = default_rng(5)
    getattr(rng, name)(*tensors(parameters), size=size)
    theirs = np.random.default_rng(5)
    getattr(theirs, name)(*parameters, size=size)
    assert rng.numpy.random() == theirs.random()  # and the generator is where NumPy's is


@pytest.mark.parametrize(("name", "parameters"), PATHWISE.items(), ids=PATHWISE)
def test_pathwise_derivatives(name, parameters):
    args = [np.float64(p) for p in parameters]
    check_derivatives(seeded(name, (3,)), args, range(len(args)), rtol=1e-6)
    spread = [np.float64(parameters[0]) + np.array([[0.0], [0.01]]), *args[1:]]
    check_derivatives(seeded(name, (2, 3)), spread, range(len(args)), orders=1, rtol=1e-6)


def slope(distribution, a, z, direction=0):
    """-(dF/da) / (dF/dz) of a distribution function F(z, *a), in high precision."""
    a = [mpmath.mpf(float(p)) for p in a]
    moved = lambda s: distribution(mpmath.mpf(float(z)), *a[:direction], s, *a[direction + 1 :])
    return float(-mpmath.diff(moved, a[direction]) / mpmath.diff(lambda x: distribution(x, *a), mpmath.mpf(float(z))))


def gamma_distribution(z, a):
    return mpmath.gammainc(a, 0, z, regularized=True)


def beta_distribution(z, a, b):
    return mpmath.betainc(a, b, 0, z, regularized=True)


def t_distribution(z, df):
    tail = mpmath.betainc(df / 2, mpmath.mpf(1) / 2, 0, df / (df + z * z), regularized=True) / 2
    return tail if z < 0 else 1 - tail


def wald_distribution(z, mean, scale):
    r = mpmath.sqrt(scale / z)
    return mpmath.ncdf(r * (z / mean - 1)) + mpmath.exp(2 * scale / mean) * mpmath.ncdf(-r * (z / mean + 1))


def vonmises_distribution(z, mu, kappa):
    """With bounds at which mpmath's rule sees the peak."""
    ends = [-mpmath.pi, *[x for x in (-9 / mpmath.sqrt(kappa), 0) if -mpmath.pi < x < z], z]
    scale = 2 * mpmath.pi * mpmath.besseli(0, kappa) / mpmath.exp(kappa)
    return mpmath.quad(lambda u: mpmath.exp(kappa * (mpmath.cos(u) - 1)), ends) / scale


@pytest.mark.parametrize(
    ("name", "distribution", "parameters"),
    [
        *[("standard_gamma", gamma_distribution, (a,)) for a in (0.05, 0.7, 1.0, 9.0, 11.0, 300.0, 2e4)],
        *[("beta", beta_distribution, p) for p in ((0.3, 0.4), (2.0, 0.5), (5.0, 40.0), (0.05, 3.0))],
        *[("standard_t", t_distribution, (df,)) for df in (0.6, 1.0, 4.0, 50.0, 499.0, 501.0, 1e5)],
        *[("vonmises", vonmises_distribution, (0.0, kappa)) for kappa in (0.05, 1.5, 2e4)],
        *[("wald", wald_distribution, p) for p in ((2.0, 3.0), (0.5, 20.0), (3.0, 0.1))],
    ],
)
def test_implicit_derivatives(name, distribution, parameters):
    numbers = getattr(np.random.default_rng(5), name)(*parameters, size=3)
    with mpmath.workdps(24 if name == "vonmises" else 40):  # its oracle is a slow one
        for i in range(name == "vonmises", len(parameters)):
            expected = [slope(distribution, parameters, z, i) for z in numbers]
            found = wg.jacobian(seeded(name, 3), argnums=i)(*parameters)
            np.testing.assert_allclose(found, expected, rtol=1e-9 if name in ("standard_t", "vonmises") else 2e-10)


def test_f_is_a_quotient_of_gamma_draws():
    num, den = 3.0, 4.5
    first, second = np.random.default_rng(5).standard_gamma([0.5 * num, 0.5 * den])
    z = first * den / (second * num)
    moves = [slope(gamma_distribution, (0.5 * df,), g) / g for df, g in ((num, first), (den, second))]
    found = wg.grad(seeded("f"), argnums=(0, 1))(num, den)
    np.testing.assert_allclose(found, [z * (0.5 * moves[0] - 1.0 / num), z * (1.0 / den - 0.5 * moves[1])], rtol=1e-11)


@pytest.mark.parametrize(
    ("name", "distribution", "a"),
    [
        ("standard_gamma", gamma_distribution, 1.7),
        ("standard_gamma", gamma_distribution, 25.0),
        ("standard_t", t_distribution, 3.0),
    ],
)
def test_second_derivatives_at_a_fixed_probability(name, distribution, a):
    z = getattr(np.random.default_rng(5), name)(a)
    with mpmath.workdps(50):
        level, a_, z_ = distribution(mpmath.mpf(z), mpmath.mpf(a)), mpmath.mpf(a), mpmath.mpf(z)
        quantile = lambda s: mpmath.findroot(lambda x: distribution(x, s) - level, z_, solver="newton")
        h = mpmath.mpf("1e-12")
        expected = float((quantile(a_ + h) - 2 * z_ + quantile(a_ - h)) / h**2)
    f = seeded(name)
    np.testing.assert_allclose(wg.hessian(f)(a), expected, rtol=1e-8)
    np.testing.assert_allclose(2.0 * wg.taylor(f, a, 2)[2], expected, rtol=1e-8)
    np.testing.assert_allclose(wg.jacfwd(wg.jacfwd(f))(a), expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("name", "parameters"), [("standard_gamma", (1e-3,)), ("beta", (1e-3, 2e-3)), ("beta", (1e-2, 1e-3))]
)
def test_draws_that_underflow_do_not_move(name, parameters):
    numbers = seeded(name, 40)(*parameters)
    ends = (numbers == 0.0) | (numbers == 1.0)
    assert ends.any()
    f = lambda a: seeded(name, 40)(a, *parameters[1:])
    for found in (wg.jacrev(f)(parameters[0]), wg.jacfwd(f)(parameters[0]), wg.jacfwd(wg.jacrev(f))(parameters[0])):
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found[ends], 0.0)


@pytest.mark.parametrize(("name", "parameters"), SMOOTH.items(), ids=SMOOTH)
def test_modes_agree(name, parameters):
    f = seeded(name, 4)
    argnums = tuple(range(len(parameters)))
    rows, columns = wg.jacrev(f, argnums=argnums)(*parameters), wg.jacfwd(f, argnums=argnums)(*parameters)
    np.testing.assert_allclose(rows, columns, rtol=1e-13)
    series = wg.taylor(lambda s: f(*[p + s for p in parameters]), 0.0, 1)
    np.testing.assert_allclose(series[1], sum(columns), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize(("name", "parameters"), (SMOOTH | DISCRETE).items(), ids=SMOOTH | DISCRETE)
def test_each_element_of_a_batch_has_draws_of_its_own(name, parameters):
    batch = np.repeat(np.asarray(parameters[0]), 3)
    rng = default_rng(5)
    found = wg.vmap(lambda p: getattr(rng, name)(p, *parameters[1:], size=2))(batch)
    expected = getattr(np.random.default_rng(5), name)(*parameters, size=(3, 2))
    np.testing.assert_allclose(found, expected, rtol=5e-16, atol=4e-16 if name == "vonmises" else 0.0)


def test_draws_without_a_batched_parameter_are_shared():
    rng = default_rng(5)
    found = wg.vmap(lambda x: x + rng.normal(size=2))(np.zeros(3))
    np.testing.assert_array_equal(found, np.tile(found[:1], (3, 1)))


@pytest.mark.parametrize("alpha", [[0.5, 2.0, 1.2], [0.05, 0.02, 0.09]])
def test_dirichlet(alpha):
    alpha = np.array(alpha)
    found = default_rng(5).dirichlet(wg.tensor(alpha, requires_grad=True), size=(2, 2))
    np.testing.assert_allclose(
        found.detach().numpy(), np.random.default_rng(5).dirichlet(alpha, size=(2, 2)), rtol=1e-15
    )
    slopes = wg.jacobian(lambda a: default_rng(5).dirichlet(a))(alpha)
    np.testing.assert_allclose(slopes.sum(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(wg.jacfwd(lambda a: default_rng(5).dirichlet(a))(alpha), slopes, rtol=1e-12)
    second = wg.hessian(lambda a: default_rng(5).dirichlet(a)[0])(alpha)
    np.testing.assert_allclose(second, second.T, rtol=1e-9)
    if alpha.max() > 0.1:
        parts = np.random.default_rng(5).standard_gamma(alpha)
        with mpmath.workdps(40):
            moves = np.array([slope(gamma_distribution, (a,), g) for a, g in zip(alpha, parts, strict=True)])
        shares, total = parts / parts.sum(), parts.sum()
        np.testing.assert_allclose(slopes, (np.eye(3) - shares[:, None]) * moves / total, rtol=1e-10)


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(method):
    mean = np.array([1.0, -2.0, 0.5])
    expected = np.random.default_rng(5).multivariate_normal(mean, COVARIANCE, size=(2, 2), method=method)
    for args in ((wg.tensor(mean), COVARIANCE), (mean, wg.tensor(COVARIANCE))):
        np.testing.assert_allclose(
            default_rng(5).multivariate_normal(*args, size=(2, 2), method=method).numpy(), expected, rtol=1e-13
        )
    f = lambda mean, cov: default_rng(5).multivariate_normal(mean, cov, size=2, method=method)
    in_mean, in_cov = wg.jacobian(f, argnums=(0, 1))(mean, COVARIANCE)
    np.testing.assert_array_equal(in_mean, np.stack([np.eye(3)] * 2))
    np.testing.assert_allclose(in_cov, np.swapaxes(in_cov, -1, -2), rtol=1e-12)
    if method == "cholesky":
        check_derivatives(lambda c: f(mean, (c + c.T) / 2), [COVARIANCE], [0])
    degenerate = wg.jacobian(lambda s: f(mean, s * np.eye(3)))(4.0)  # equal eigenvalues: x - mean grows as sqrt(s)
    np.testing.assert_allclose(degenerate, (f(mean, 4.0 * np.eye(3)) - mean) / 8.0, rtol=1e-12)
    batch = wg.vmap(lambda c: default_rng(5).multivariate_normal(mean, c, method=method))(np.stack([COVARIANCE] * 2))
    assert batch.shape == (2, 3)
    assert np.abs(batch[0] - batch[1]).max() > 0.01


@pytest.mark.parametrize(("name", "parameters"), (PATHWISE | IMPLICIT).items(), ids=PATHWISE | IMPLICIT)
def test_single_precision_stays(name, parameters):
    leaves = [wg.tensor(np.float32(p), requires_grad=True) for p in parameters]
    out = seeded(name, 3)(*leaves)
    assert out.dtype == np.float32
    np.testing.assert_allclose(
        out.detach().numpy(), getattr(np.random.default_rng(5), name)(*parameters, size=3), rtol=2e-6, atol=2e-6
    )
    out.sum().backward()
    expected = wg.grad(lambda *p: seeded(name, 3)(*p).sum(), argnums=tuple(range(len(leaves))))(*parameters)
    np.testing.assert_allclose([x.grad.item() for x in leaves], expected, rtol=2e-4)


def test_a_trace_refuses_to_draw():
    rng = default_rng(5)
    for f in (
        lambda x: x + rng.normal(),
        lambda x: rng.normal(x),
        lambda x: rng.gamma(x),
        lambda x: x * rng.poisson(2.0),
        lambda x: rng.poisson(x),
        lambda x: rng.permutation(x * np.ones(3)),
        lambda x: x * rng.random(3).sum(),
    ):
        with pytest.raises(wg.TrackedValueError, match=r"same in every call, at .*test_draw.py:\d+\. .* draw outside"):
            wg.compile(f)(2.0)
    with pytest.raises(wg.TrackedValueError, match="draw outside"):
        rng.normal(wg.symbol("x"))
    noise = rng.standard_normal(3)
    np.testing.assert_allclose(wg.compile(lambda scale, z: scale * z)(2.0, noise), 2.0 * noise)


def test_vonmises_turns():
    found = default_rng(5).vonmises(wg.tensor(3.0, requires_grad=True), 2.0, size=50)
    np.testing.assert_allclose(found.detach().numpy(), np.random.default_rng(5).vonmises(3.0, 2.0, size=50), rtol=1e-13)
    np.testing.assert_array_equal(wg.jacobian(lambda mu: default_rng(5).vonmises(mu, 2.0, size=50))(3.0), 1.0)


def test_parameters_out_of_range():
    rng = default_rng(5)
    with pytest.raises(ValueError, match="scale < 0"):
        rng.normal(wg.tensor(1.0), -1.0)
    with pytest.raises(ValueError, match="shape < 0"):
        rng.gamma(wg.tensor([1.0, -2.0]))
    with pytest.raises(ValueError, match=r"shape \(2,\) cannot make draws of size \(3,\), at .*test_draw"):
        rng.normal(wg.tensor([1.0, 2.0]), size=3)
    with pytest.raises(ValueError, match="takes a vector alpha"):
        rng.dirichlet(wg.tensor([[1.0, 2.0]]))
    with pytest.raises(ValueError, match="does not fit"):
        rng.multivariate_normal(wg.tensor([1.0, 2.0]), np.eye(3))
    with pytest.raises(ValueError, match="'svd', 'eigh' or 'cholesky'"):
        rng.multivariate_normal(wg.tensor([1.0, 2.0]), np.eye(2), method="qr")


def test_generators():
    rng = default_rng(np.random.default_rng(5))
    assert default_rng(rng) is rng
    assert rng.bit_generator is rng.numpy.bit_generator
    assert rng.bytes(4) == np.random.default_rng(5).bytes(4)
    first, second = default_rng(5).spawn(2)
    assert first.random() != second.random()
    assert first.random() != default_rng(5).random()
    assert repr(rng) == "wengert.random.Generator(PCG64)"


@pytest.mark.parametrize(
    ("name", "method"), [("normal", "normal"), ("randn", "standard_normal"), ("randint", "integers")]
)
def test_functions_without_a_generator_name_its_method(name, method):
    with pytest.raises(AttributeError, match=rf"default_rng\(seed\), and rng\.{method}\("):
        getattr(wg.random, name)
    assert not hasattr(wg.random, "no_such_name")
