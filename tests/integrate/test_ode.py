"""Initial value problems: against SciPy, closed forms and differences, by both adjoints and in every mode."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
from tests.integrate.problems import EXPLICIT, POINTS, TIGHT, Y0, P, differences, pendulum, weighted

import wengert as wg
from wengert.core.errors import GradientError
from wengert.integrate import odeint, solve_ivp

WAYS = [(m, "discrete") for m in EXPLICIT] + [(m, "continuous") for m in [*EXPLICIT, "Radau", "BDF", "LSODA"]]
BOTH = pytest.mark.parametrize("adjoint", ["discrete", "continuous"])


def predator(t, y, p):
    return [p[0] * y[0] - y[0] * y[1], p[1] * y[0] * y[1] - y[1] * np.cos(t)]


@pytest.mark.parametrize("fun", [pendulum, predator])
@pytest.mark.parametrize(("method", "adjoint"), WAYS)
def test_gradients_are_those_of_differences_of_scipy(method, adjoint, fun):
    tolerances = {"rtol": 1e-7, "atol": 1e-8} if method in ("RK23", "BDF", "LSODA") else TIGHT
    args = (Y0, P, np.array([0.0, 1.2]), POINTS)
    found = wg.grad(weighted(method, adjoint, fun, tolerances), (0, 1, 2, 3))(*args)

    def exact(y0, p, ends, points):
        y = scipy.integrate.solve_ivp(fun, ends, y0, "DOP853", points, args=(p,), rtol=1e-12, atol=1e-12).y
        return (y * np.array([[1.0, 2.0, 3.0, 4.0], [2.0, -1.0, 1.0, 0.5]])).sum()

    inside = np.array([1e-3, 0.3, 0.8, 1.1])
    for i, x in enumerate(args[:2]):
        wanted = differences(lambda v, i=i: exact(*args[:i], v, *args[i + 1 :]), x)
        np.testing.assert_allclose(found[i], wanted, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(found[2][1], 0.0, atol=2e-4)  # the end of the span is no point
    slopes = wg.grad(weighted(method, adjoint, fun, tolerances), 3)(Y0, P, args[2], inside)
    np.testing.assert_allclose(slopes, differences(lambda t: exact(Y0, P, args[2], t), inside), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize(("method", "adjoint"), WAYS)
def test_linear_systems_have_the_derivatives_of_the_exponential(method, adjoint):
    A, v = np.array([[-0.5, 1.0], [-2.0, -0.1]]), np.array([1.0, -1.0])
    end = lambda A, T: solve_ivp(
        lambda t, y, A: A @ y, (0.0, T), v, method, args=(A,), adjoint=adjoint, rtol=1e-8, atol=1e-9
    ).y[:, -1]
    weights = np.array([1.0, 3.0])
    dA, dT = wg.grad(lambda A, T: (weights * end(A, T)).sum(), (0, 1))(A, 1.5)
    for index in np.ndindex(2, 2):
        E = np.zeros((2, 2))
        E[index] = 1.0
        wanted = weights @ scipy.linalg.expm_frechet(1.5 * A, 1.5 * E, compute_expm=False) @ v
        np.testing.assert_allclose(dA[index], wanted, rtol=1e-5, atol=2e-6)
    np.testing.assert_allclose(dT, weights @ A @ scipy.linalg.expm(1.5 * A) @ v, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "adjoint"),
    [("RK45", "discrete"), ("DOP853", "discrete"), ("RK45", "continuous"), ("LSODA", "continuous")],
)
class TestModes:
    """The oscillator y'' = -k y from (1, 0) is cos(sqrt(k) t)."""

    K = 2.0

    def end(self, method, adjoint):
        def f(k, T=1.3):
            return solve_ivp(
                lambda t, y, k: [y[1], -k * y[0]], (0.0, T), [1.0, 0.0], method, args=(k,), adjoint=adjoint, **TIGHT
            ).y[0, -1]

        return f

    def exact(self, order):
        return wg.taylor(lambda k: np.cos(np.sqrt(k) * 1.3), self.K, order)

    def test_second_derivatives(self, method, adjoint):
        f, wanted = self.end(method, adjoint), 2.0 * self.exact(2)[2]
        np.testing.assert_allclose(wg.grad(wg.grad(f))(self.K), wanted, rtol=1e-6)
        np.testing.assert_allclose(wg.hessian(f)(self.K), wanted, rtol=1e-6)
        np.testing.assert_allclose(wg.grad(lambda k: wg.jvp(f, (k,), (1.0,))[1])(self.K), wanted, rtol=1e-6)
        pushed = wg.jvp(lambda k: wg.jvp(f, (k,), (1.0,))[1], (self.K,), (1.0,))
        np.testing.assert_allclose(pushed[1], wanted, rtol=1e-6)

    def test_third_derivatives(self, method, adjoint):
        f = self.end(method, adjoint)
        np.testing.assert_allclose(wg.grad(wg.grad(wg.grad(f)))(self.K), 6.0 * self.exact(3)[3], rtol=1e-5)

    def test_mixed_derivative_in_parameter_and_time(self, method, adjoint):
        found = wg.grad(lambda T: wg.grad(self.end(method, adjoint))(self.K, T))(1.3)
        root = np.sqrt(self.K)
        np.testing.assert_allclose(found, -np.sin(root * 1.3) / (2 * root) - 1.3 * np.cos(root * 1.3) / 2, rtol=1e-6)

    def test_taylor(self, method, adjoint):
        np.testing.assert_allclose(wg.taylor(self.end(method, adjoint), self.K, 3), self.exact(3), rtol=1e-6)

    def test_batches(self, method, adjoint):
        f, batch = self.end(method, adjoint), np.array([0.5, 2.0, 7.0])
        np.testing.assert_allclose(wg.vmap(f)(batch), np.cos(np.sqrt(batch) * 1.3), rtol=1e-6)
        slopes = -np.sin(np.sqrt(batch) * 1.3) * 1.3 / (2 * np.sqrt(batch))
        np.testing.assert_allclose(wg.vmap(wg.grad(f))(batch), slopes, rtol=1e-6)
        np.testing.assert_allclose(wg.grad(lambda b: wg.vmap(f)(b).sum())(batch), slopes, rtol=1e-6)
        both = wg.vmap(lambda k: wg.vmap(lambda T: f(k, T))(np.array([0.4, 1.3])))(batch)
        np.testing.assert_allclose(both, np.cos(np.sqrt(batch)[:, None] * [0.4, 1.3]), rtol=1e-6)
        spans = np.array([0.5, 1.0, 2.0])
        turned = -np.sqrt(self.K) * np.sin(np.sqrt(self.K) * spans)
        np.testing.assert_allclose(wg.vmap(wg.grad(lambda T: f(self.K, T)))(spans), turned, rtol=1e-6)

    def test_eager(self, method, adjoint):
        k = wg.tensor(self.K, requires_grad=True)
        self.end(method, adjoint)(k).backward()
        np.testing.assert_allclose(k.grad, self.exact(1)[1], rtol=1e-6)

    def test_times_of_the_steps(self, method, adjoint):
        f = lambda T: solve_ivp(lambda t, y: -y, (0.5, T), [1.0], method, adjoint=adjoint).t
        times, slopes = wg.jvp(f, (2.0,), (1.0,))
        np.testing.assert_allclose(slopes, (times - 0.5) / 1.5, atol=1e-14)


@BOTH
def test_complex_states(adjoint):
    f = lambda z: solve_ivp(lambda t, y, z: z * y, (0.0, 1.0), [1.0 + 0j], args=(z,), adjoint=adjoint, **TIGHT).y[0, -1]
    z = 0.3 + 1.0j
    np.testing.assert_allclose(wg.grad(f, holomorphic=True)(z), np.exp(z), rtol=1e-7)
    np.testing.assert_allclose(wg.jvp(f, (z,), (1.0 + 0j,))[1], np.exp(z), rtol=1e-7)
    g = lambda z: (
        abs(
            solve_ivp(lambda t, y, z: z * np.conj(y), (0.0, 1.0), [1.0 + 0.5j], args=(z,), adjoint=adjoint, **TIGHT).y[
                0, -1
            ]
        )
        ** 2
    )
    wanted = differences(lambda v: g(v[0] + 1j * v[1]), [0.3, 1.0])
    np.testing.assert_allclose(wg.grad(g)(z), wanted[0] + 1j * wanted[1], rtol=1e-6)


@BOTH
def test_single_precision_stays(adjoint):
    y0, p = Y0.astype(np.float32), P.astype(np.float32)
    f = lambda y0, p: solve_ivp(pendulum, (0.0, 1.0), y0, args=(p,), adjoint=adjoint).y
    assert f(y0, p).dtype == np.float32
    gradients = wg.grad(lambda y0, p: f(y0, p).sum(), (0, 1))(y0, p)
    assert [g.dtype for g in gradients] == [np.float32] * 2


@BOTH
def test_trees_of_parameters_and_constants(adjoint):
    fun = lambda t, y, p, kind, n: -p["rates"][0] * y * n if kind == "decay" else y
    f = lambda p: solve_ivp(fun, (0.0, 1.0), [2.0], args=(p, "decay", np.int64(2)), adjoint=adjoint, **TIGHT).y[0, -1]
    found = wg.grad(f)({"rates": [0.5, 1.0]})
    np.testing.assert_allclose(found["rates"], [-4.0 * np.exp(-1.0), 0.0], rtol=1e-7, atol=1e-12)


@BOTH
def test_backwards_in_time_and_spans_of_length_zero(adjoint):
    f = lambda T: solve_ivp(lambda t, y: -y, (T, 0.0), [1.0], t_eval=[0.7, 0.1], adjoint=adjoint, **TIGHT).y[0]
    np.testing.assert_allclose(f(1.0), np.exp([0.3, 0.9]), rtol=1e-7)
    np.testing.assert_allclose(wg.jacobian(f)(1.0), np.exp([0.3, 0.9]), rtol=1e-7)
    end = lambda T: solve_ivp(lambda t, y: -y, (0.0, T), [2.0], adjoint=adjoint).y[0, -1]
    np.testing.assert_allclose(wg.grad(end)(0.0), -2.0)
    np.testing.assert_allclose(
        wg.grad(lambda t: solve_ivp(lambda t, y: -y, (0.0, 0.0), [2.0], t_eval=t[None], adjoint=adjoint).y[0, 0])(0.0),
        -2.0,
    )


@BOTH
def test_histories_are_freed_without_the_garbage_collector(adjoint):
    gc.collect()
    gc.disable()
    try:
        y0 = wg.tensor(Y0, requires_grad=True)
        result = solve_ivp(pendulum, (0.0, 1.0), y0, args=(P,), adjoint=adjoint)
        node = weakref.ref(result.y.node)
        result.y.sum().backward()
        del result
        assert node() is None
    finally:
        gc.enable()


def van_der_pol(t, y, mu):
    return [y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]]


def test_stiff_systems():
    f = lambda mu: solve_ivp(van_der_pol, (0.0, 50.0), [2.0, 0.0], "Radau", args=(mu,), rtol=1e-7, atol=1e-8).y[0, -1]
    exact = lambda mu: scipy.integrate.solve_ivp(
        van_der_pol, (0.0, 50.0), [2.0, 0.0], "Radau", args=(mu,), rtol=1e-10, atol=1e-11
    ).y[0, -1]
    wanted = differences(exact, 100.0, 0.1)
    np.testing.assert_allclose(wg.grad(f)(100.0), wanted, rtol=1e-3)
    np.testing.assert_allclose(wg.jvp(f, (100.0,), (1.0,))[1], wanted, rtol=1e-3)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_the_jacobian_is_exact(method):
    calls = 0

    def fun(t, y):
        nonlocal calls
        calls += isinstance(y, np.ndarray)
        return van_der_pol(t, y, 30.0)

    found = solve_ivp(fun, (0.0, 20.0), [2.0, 0.0], method, rtol=1e-7, atol=1e-8)
    theirs = scipy.integrate.solve_ivp(fun, (0.0, 20.0), [2.0, 0.0], method, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(found.y[:, -1], theirs.y[:, -1], rtol=1e-4)
    assert found.njev > 0
    black_box = lambda t, y: np.array([float(v) for v in (y[1], -y[0])])  # which no value of Wengert's survives
    np.testing.assert_allclose(
        solve_ivp(black_box, (0.0, 1.0), [1.0, 0.0], method, **TIGHT).y[0, -1], np.cos(1.0), rtol=1e-6
    )


class TestPlain:
    def test_without_derivatives_the_result_is_that_of_scipy(self):
        hit = lambda t, y, p: y[0]
        hit.terminal = True
        options = {"args": (P,), "dense_output": True, "events": hit}
        found, wanted = (
            solve_ivp(pendulum, (0.0, 5.0), Y0, **options),
            scipy.integrate.solve_ivp(pendulum, (0.0, 5.0), Y0, **options),
        )
        np.testing.assert_array_equal(found.y, wanted.y)
        np.testing.assert_array_equal(found.t_events[0], wanted.t_events[0])
        np.testing.assert_array_equal(found.sol(0.3), wanted.sol(0.3))
        assert (found.status, found.nfev, set(found)) == (1, wanted.nfev, set(wanted))

    def test_failure_is_reported_as_scipy_does(self):
        with np.errstate(all="ignore"):
            assert not solve_ivp(lambda t, y: y**2, (0.0, 2.0), [1.0]).success

    def test_constant_tensors(self):
        y = solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), wg.tensor([1.0]), args=(wg.tensor(1.0),), **TIGHT).y
        assert isinstance(y, wg.Tensor)
        assert not y.requires_grad
        np.testing.assert_allclose(y[0, -1], np.exp(-1.0), rtol=1e-8)
        with wg.no_grad():
            y = solve_ivp(lambda t, y: -y, (0.0, 1.0), wg.tensor([1.0], requires_grad=True)).y
        assert isinstance(y, wg.Tensor)
        assert not y.requires_grad


class TestErrors:
    def test_solutions_that_are_not_found(self):
        with np.errstate(all="ignore"), pytest.raises(RuntimeError, match="stopped before the end"):
            wg.grad(lambda y: solve_ivp(lambda t, y: y**2, (0.0, 2.0), y).y[0, -1])(np.array([1.0]))
        with np.errstate(all="ignore"), pytest.raises(RuntimeError, match="not finite"):
            odeint(lambda y, t: y**2, [1.0], [0.0, 2.0])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"method": "Radau", "adjoint": "discrete"},
                "discrete adjoint knows the steps of RK23, RK45, DOP853 and Rodas5P only",
            ),
            ({"adjoint": "exact"}, "Choose 'discrete' or 'continuous'"),
            ({"method": "Euler"}, "no method 'Euler'"),
            ({"t_eval": [0.5, 3.0]}, "not within"),
            ({"t_eval": [0.5, 0.4]}, "not in the order"),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises(ValueError, match=message):
            wg.grad(lambda y: solve_ivp(lambda t, y: -y, (0.0, 1.0), y, **options).y.sum())(Y0)

    def test_second_derivatives_of_complex_solutions_by_the_continuous_adjoint(self):
        f = lambda z: abs(
            solve_ivp(lambda t, y, z: z * y, (0.0, 1.0), [1.0 + 0j], args=(z,), adjoint="continuous").y[0, -1]
        )
        with pytest.raises(GradientError, match="second derivatives of complex"):
            wg.grad(lambda z: abs(wg.grad(f)(z)))(1.0 + 1j)

    def test_shapes_and_arguments(self):
        with pytest.raises(ValueError, match="one derivative for each component"):
            solve_ivp(lambda t, y: [1.0, 2.0, 3.0], (0.0, 1.0), Y0)
        with pytest.raises(ValueError, match="1-dimensional"):
            solve_ivp(lambda t, y: -y, (0.0, 1.0), np.ones((2, 2)))
        with pytest.raises(TypeError, match=r"args=\(value,\)"):
            solve_ivp(pendulum, (0.0, 1.0), Y0, args=3.0)
        with pytest.raises(TypeError, match="Start from y0 \\+ 0j"):
            solve_ivp(lambda t, y: 1j * y, (0.0, 1.0), Y0)

    def test_uneven_batches(self):
        points = np.array([[0.1, 1.0], [0.2, 1.0]])
        with pytest.raises(ValueError, match="in the same way"):
            wg.vmap(lambda t: solve_ivp(lambda t, y: -y, (0.0, 1.0), Y0, t_eval=t).y)(points)


class TestOdeint:
    T = np.linspace(0.0, 3.0, 7)

    def test_is_that_of_scipy(self):
        func = lambda y, t, p: pendulum(t, y, p)
        np.testing.assert_allclose(
            odeint(func, Y0, self.T, (P,)), scipy.integrate.odeint(func, Y0, self.T, (P,)), atol=1e-6
        )
        np.testing.assert_allclose(
            odeint(pendulum, Y0, self.T, (P,), tfirst=True), scipy.integrate.odeint(func, Y0, self.T, (P,)), atol=1e-6
        )
        assert odeint(lambda y, t: -y, 1.0, self.T).shape == scipy.integrate.odeint(lambda y, t: -y, 1.0, self.T).shape
        np.testing.assert_array_equal(odeint(lambda y, t: -y, Y0, [0.0]), [Y0])

    @pytest.mark.parametrize("method", ["LSODA", "DOP853"])
    def test_gradients(self, method):
        f = lambda rate, t: (
            odeint(lambda y, t, rate: -rate * y, [2.0], t, (rate,), method=method)[:, 0] * np.arange(7.0)
        ).sum()
        rate, t = wg.grad(f, (0, 1))(0.7, self.T)
        decay = 2.0 * np.exp(-0.7 * self.T) * np.arange(7.0)
        np.testing.assert_allclose(rate, (-self.T * decay).sum(), rtol=1e-5)
        np.testing.assert_allclose(t[1:], -0.7 * decay[1:], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(t[0], 0.7 * decay.sum(), rtol=1e-4)

    @pytest.mark.parametrize("method", ["LSODA", "RK45"])
    def test_states_of_any_shape(self, method):
        A = np.array([[0.1, 0.4], [-0.3, 0.2]])
        f = lambda Y: odeint(lambda Y, t: A @ Y, Y, [0.0, 1.0], method=method)[-1]
        np.testing.assert_allclose(f(np.eye(2)), scipy.linalg.expm(A), rtol=1e-6)
        np.testing.assert_allclose(
            wg.jacobian(f)(np.eye(2)), np.einsum("ik,jl->ijkl", scipy.linalg.expm(A), np.eye(2)), atol=1e-6
        )

    @pytest.mark.parametrize("method", ["LSODA", "RK45"])
    def test_trees(self, method):
        state = {"x": np.ones(2), "v": 0.0}
        move = lambda s, t: {"x": s["v"] * np.ones(2), "v": -s["x"][0]}
        f = lambda s: odeint(move, s, [0.0, 0.5, 1.0], method=method)
        np.testing.assert_allclose(f(state)["v"], -np.sin([0.0, 0.5, 1.0]), atol=1e-6)
        found = wg.grad(lambda s: f(s)["x"][-1, 1])(state)
        np.testing.assert_allclose(found["x"], [np.cos(1.0) - 1.0, 1.0], atol=1e-6)
        np.testing.assert_allclose(found["v"], np.sin(1.0), atol=1e-6)
        with pytest.raises(ValueError, match="for a state that is"):
            odeint(lambda s, t: [s["x"]], state, [0.0, 1.0])


CAPTURES = {
    "grad": wg.grad,
    "jvp": lambda f: lambda k: wg.jvp(f, (k,), (1.0,)),
    "hessian": lambda f: wg.grad(wg.grad(f)),
    "vmap": lambda f: lambda k: wg.vmap(f)(np.array([k, 2.0 * k])),
    "vmap of grad": lambda f: lambda k: wg.vmap(wg.grad(f))(np.array([k, 2.0 * k])),
}


@pytest.mark.parametrize("transform", CAPTURES)
@pytest.mark.parametrize(("method", "adjoint"), [("RK45", "discrete"), ("RK45", "continuous"), ("Radau", None)])
def test_what_is_captured_has_derivatives(method, adjoint, transform):
    options = {"method": method, "adjoint": adjoint, **TIGHT}

    def passed(k):
        fun = lambda t, y, k: [y[1], -k * k * y[0]]
        return solve_ivp(fun, (0.0, 1.0), [1.0, 0.0], args=(k,), **options).y[0, -1]

    def captured(k):
        square = k * k
        return solve_ivp(lambda t, y: [y[1], -square * y[0]], (0.0, 1.0), [1.0, 0.0], **options).y[0, -1]

    def of_odeint(k):
        return odeint(lambda y, t: [y[1], -k * k * y[0]], [1.0, 0.0], [0.0, 1.0], **options)[-1, 0]

    wanted = CAPTURES[transform](passed)(1.5)
    for f in (captured, of_odeint):
        np.testing.assert_allclose(CAPTURES[transform](f)(1.5), wanted, rtol=1e-7)
