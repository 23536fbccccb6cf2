"""solve_ivp and odeint inside compiled functions: SciPy's numbers, eager derivatives, native loops."""

import numpy as np
import pytest
import scipy.integrate
from tests.integrate.problems import EXPLICIT, POINTS, TIGHT, Y0, P, differences, pendulum, weighted

import wengert as wg
from wengert.integrate import odeint, solve_ivp

ENDS = np.array([0.0, 1.2])
ALL = [*EXPLICIT, "Radau"]


@pytest.mark.parametrize("points", [None, POINTS])
@pytest.mark.parametrize("method", ALL)
def test_values_are_those_of_scipy(method, points):
    f = wg.compile(lambda y0, p: solve_ivp(pendulum, ENDS, y0, method, points, args=(p,), **TIGHT).y)
    wanted = scipy.integrate.solve_ivp(pendulum, ENDS, Y0, method, points, args=(P,), **TIGHT).y
    wanted = wanted if points is not None else wanted[:, [0, -1]]
    tolerance = 1e-13 if method in EXPLICIT else 1e-8
    np.testing.assert_allclose(f(Y0, P), wanted, rtol=tolerance, atol=tolerance)
    assert not f.report(Y0, P).fallbacks


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("adjoint", [None, "continuous"])
def test_gradients_are_those_of_eager_code(method, adjoint):
    f = wg.grad(weighted(method, adjoint), (0, 1, 2, 3))
    compiled = wg.compile(f)
    exact = method in EXPLICIT and adjoint is None
    for a, b in zip(compiled(Y0, P, ENDS, POINTS), f(Y0, P, ENDS, POINTS), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11 if exact else 1e-6, atol=1e-11 if exact else 1e-6)
    assert not compiled.report(Y0, P, ENDS, POINTS).fallbacks


MODES = {
    "jvp": lambda f: lambda p: wg.jvp(f, (p,), (np.array([1.0, 2.0]),)),
    "hessian": wg.hessian,
    "jvp of grad": lambda f: lambda p: wg.jvp(wg.grad(f), (p,), (np.array([1.0, 2.0]),)),
    "vmap": lambda f: (
        lambda p: wg.vmap(f)(np.stack([p, 1.1 * p, 0.5 * p]) if isinstance(p, np.ndarray) else stacked(p))
    ),
}


def stacked(p):
    return wg.stack([p, 1.1 * p, 0.5 * p])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_other_modes(method, mode):
    f = lambda p: solve_ivp(pendulum, (0.0, 1.0), Y0, method, args=(p,), **TIGHT).y[0, -1]
    found = wg.compile(MODES[mode](f))(P)
    wanted = [f(q) for q in (P, 1.1 * P, 0.5 * P)] if mode == "vmap" else MODES[mode](f)(P)
    for a, b in zip(leaves(found), leaves(np.array(wanted) if mode == "vmap" else wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_points_in_other_modes():
    f = lambda p: (solve_ivp(pendulum, (0.0, 1.2), Y0, t_eval=POINTS, args=(p,), **TIGHT).y ** 2).sum()
    np.testing.assert_allclose(wg.compile(wg.hessian(f))(P), wg.hessian(f)(P), rtol=1e-9)
    batch = np.stack([P, 1.5 * P])
    gradients = wg.compile(lambda b: wg.vmap(wg.grad(f))(b))(batch)
    np.testing.assert_allclose(gradients, [wg.grad(f)(p) for p in batch], rtol=1e-9)


def leaves(tree):
    return [np.asarray(x) for x in wg.core.tree.flatten(tree)[0]]


def test_stiff_equation():
    def robertson(t, y, k):
        return [
            -k[0] * y[0] + k[2] * y[1] * y[2],
            k[0] * y[0] - k[1] * y[1] ** 2 - k[2] * y[1] * y[2],
            k[1] * y[1] ** 2,
        ]

    k, points = np.array([0.04, 3e7, 1e4]), np.array([0.4, 40.0, 4000.0])
    f = lambda k: (
        solve_ivp(robertson, (0.0, 4000.0), [1.0, 0.0, 0.0], "Rodas5P", points, args=(k,), rtol=1e-8, atol=1e-12).y
    )
    exact = lambda k: (
        scipy.integrate.solve_ivp(
            robertson, (0.0, 4000.0), [1.0, 0.0, 0.0], "LSODA", points, args=(k,), rtol=1e-12, atol=1e-15
        ).y
    )
    np.testing.assert_allclose(wg.compile(f)(k), exact(k), rtol=1e-6)
    scaled = lambda s: wg.stack(list(f(k * s)[0]))
    jacobian = wg.compile(wg.jacrev(scaled))(np.ones(3))
    np.testing.assert_allclose(jacobian, differences(lambda s: exact(k * s)[0], np.ones(3), 1e-3), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_many_components(method):
    A = np.diag(-np.arange(1.0, 13.0)) + 0.1 * np.eye(12, k=1)
    f = lambda A: solve_ivp(lambda t, y: A @ y, (0.0, 1.0), np.ones(12), method, t_eval=[0.5, 1.0], **TIGHT).y.sum()
    tolerance = 1e-10 if method == "RK45" else 1e-6
    np.testing.assert_allclose(wg.compile(f)(A), f(A), rtol=tolerance)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(A), wg.grad(f)(A), rtol=tolerance, atol=tolerance)


class TestOptions:
    def compare(self, fun, *args, **options):
        f = lambda *args: solve_ivp(fun, *args, **options).y
        wanted = f(*args) if "t_eval" in options else f(*args)[:, [0, -1]]
        np.testing.assert_allclose(wg.compile(f)(*args), wanted, rtol=1e-12, atol=1e-13)

    def test_back_in_time(self):
        self.compare(lambda t, y: [y[1], -y[0] + t], np.array([1.0, -0.5]), Y0, t_eval=[0.9, 0.2, -0.5])

    def test_steps(self):
        self.compare(lambda t, y: -y, np.array([0.0, 1.0]), Y0, first_step=0.01, max_step=0.05)
        self.compare(lambda t, y: -y, np.array([0.0, 1.0]), Y0, atol=[1e-3, 1e-9], rtol=1e-8)

    def test_a_span_of_length_zero(self):
        self.compare(lambda t, y: -y, np.array([1.0, 1.0]), Y0, t_eval=[1.0])
        self.compare(lambda t, y: -y, np.array([1.0, 1.0]), Y0)

    def test_complex_states(self):
        self.compare(lambda t, y: 1j * y, np.array([0.0, 1.0]), Y0 + 0.5j, t_eval=[0.3, 1.0])

    def test_single_precision(self):
        y = wg.compile(lambda y0: solve_ivp(lambda t, y: -y, (0.0, 1.0), y0).y)(Y0.astype(np.float32))
        assert y.dtype == np.float32

    def test_an_unknown_option(self):
        with pytest.raises(ValueError, match="no option 'lband'"):
            wg.compile(lambda y0: solve_ivp(lambda t, y: -y, (0.0, 1.0), y0, "LSODA", lband=1).y)(Y0)


def test_a_solution_that_blows_up():
    f = wg.compile(lambda y0: (lambda r: (r.y, r.success, r.status))(solve_ivp(lambda t, y: y**2, (0.0, 2.0), y0)))
    y, success, status = f(np.array([1.0]))
    assert np.isnan(y).all()
    assert not success
    assert status == -1
    y, success, status = f(np.array([0.1]))
    np.testing.assert_allclose(y[0], [0.1, 0.125], rtol=1e-3)
    assert success
    assert status == 0


def test_odeint_with_a_tree():
    rhs = lambda s, t, k: {"x": s["v"], "v": -k * s["x"]}
    f = lambda k, t: odeint(rhs, {"x": np.ones(2), "v": 0.0}, t, (k,), method="DOP853")
    t = np.linspace(0.0, 1.0, 5)
    found, wanted = wg.compile(f)(2.0, t), f(2.0, t)
    for name in ("x", "v"):
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-7)


def test_gradient_of_a_compiled_solution():
    f = lambda p: solve_ivp(pendulum, (0.0, 1.0), Y0, args=(p,), **TIGHT).y[0, -1]
    np.testing.assert_allclose(wg.grad(wg.compile(f))(P), wg.grad(f)(P), rtol=1e-11)


def test_captured_values():
    f = lambda k: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], **TIGHT).y[0, -1]
    for adjoint in ("discrete", "continuous"):
        g = lambda k, adjoint=adjoint: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], adjoint=adjoint, **TIGHT).y[
            0, -1
        ]
        np.testing.assert_allclose(wg.compile(wg.grad(g))(2.0), -np.exp(-2.0), rtol=1e-7)
    k = wg.tensor(2.0)
    compiled = wg.compile(lambda y0: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), y0, **TIGHT).y[0, -1])
    np.testing.assert_allclose(compiled(np.array([1.0])), f(2.0), rtol=1e-12)
    k[...] = 3.0
    np.testing.assert_allclose(compiled(np.array([1.0])), f(3.0), rtol=1e-12)


def test_an_integration_of_constants():
    bent = lambda t, y: -y if t < 0.5 else -2.0 * y  # looks at numbers
    constant = solve_ivp(bent, (0.0, 1.0), [1.0]).y[0, -1]
    f = wg.compile(lambda x: x * solve_ivp(bent, (0.0, 1.0), [1.0]).y[0, -1])
    np.testing.assert_allclose(f(3.0), 3.0 * constant, rtol=1e-14)


EMPTY = {
    "end": (lambda t, s: s((0.5, t))[:, -1], 1.0),
    "start": (lambda t, s: s((t, 0.5))[:, -1], -1.0),
    "both": (lambda t, s: s((t, t))[:, -1], 0.0),
    "point": (lambda t, s: s((0.5, 0.5), t_eval=np.stack([t])), 1.0),
    "points": (lambda t, s: s((0.5, 0.5), t_eval=np.stack([t, 0.5, t])), 2.0),
    "point and end": (lambda t, s: s((0.5, t), t_eval=np.stack([t])), 1.0),
    "start before a point": (lambda t, s: s((t, 0.5), t_eval=np.array([0.5])), -1.0),
    "all": (lambda t, s: s((t, t), t_eval=np.stack([t])), 0.0),
}


@pytest.mark.parametrize("method", ["RK45", "Rodas5P"])
@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
@pytest.mark.parametrize("case", EMPTY)
def test_derivatives_with_respect_to_a_span_of_length_zero(method, adjoint, case):
    rate = lambda t, y: -2.0 * y + t
    of_span, factor = EMPTY[case]

    def f(t):
        return of_span(t, lambda span, **given: solve_ivp(rate, span, Y0, method, adjoint=adjoint, **given).y).sum()

    wanted = factor * rate(0.5, Y0).sum()
    np.testing.assert_allclose(wg.grad(f)(0.5), wanted, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(0.5), wanted, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.vmap(wg.grad(f)))(np.array([0.5, 0.5])), wanted, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(lambda t: wg.jvp(f, (t,), (1.0,))[1])(0.5), wanted, rtol=1e-12)


@pytest.mark.parametrize("t_eval", [None, [0.5]])
def test_second_derivatives_with_respect_to_a_span_of_length_zero(t_eval):
    def f(t):
        points = None if t_eval is None else np.stack([t])
        return solve_ivp(lambda t, y: -2.0 * y + t, (0.5, t), Y0, t_eval=points).y[:, -1].sum()

    wanted = (-2.0 * (-2.0 * Y0 + 0.5) + 1.0).sum()  # y'' = -2 y' + 1
    np.testing.assert_allclose(wg.grad(wg.grad(f))(0.5), wanted, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.grad(wg.grad(f)))(0.5), wanted, rtol=1e-12)


@pytest.mark.parametrize("method", ["RK45", "Rodas5P"])
@pytest.mark.parametrize("span", [(0.0, 2.0), (1.0, 2.0), (0.0, 0.0), (1.0, 1.0)])
@pytest.mark.parametrize("first_step", [None, 0.1])
def test_a_rate_that_is_not_a_number_ends(method, span, first_step):
    solve = lambda a, b, **given: solve_ivp(lambda t, y: y * np.nan, (a, b), Y0, method, first_step=first_step, **given)
    assert not wg.compile(lambda a, b: solve(a, b).success)(*span)
    assert not wg.compile(lambda a, b: solve(a, b, t_eval=np.stack([b])).success)(*span)
