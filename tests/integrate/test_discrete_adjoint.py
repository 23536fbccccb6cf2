"""The discrete adjoint: the steps are SciPy's, the derivatives exact for them, and reverse mode keeps few states."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
from tests.integrate.problems import EXPLICIT, TIGHT, Y0, P, differences, pendulum

import wengert as wg
from wengert.core.errors import GradientError
from wengert.integrate import odeint, solve_ivp
from wengert.integrate.discrete_adjoint import replay
from wengert.integrate.tableau import read_tableau


@pytest.mark.parametrize("method", EXPLICIT)
def test_replayed_steps_are_those_of_scipy(method):
    points = np.array([0.0, 0.1, 0.11, 0.9, 1.2])
    plain = scipy.integrate.solve_ivp(pendulum, (0.0, 1.2), Y0, method, points, args=(P,))
    live = wg.jvp(lambda y0: solve_ivp(pendulum, (0.0, 1.2), y0, method, points, args=(P,)).y, (Y0,), (Y0,))[0]
    np.testing.assert_allclose(live, plain.y, rtol=1e-13, atol=1e-14)
    steps = scipy.integrate.solve_ivp(pendulum, (0.0, 1.2), Y0, method, args=(P,))
    result = solve_ivp(pendulum, (0.0, 1.2), wg.tensor(Y0, requires_grad=True), method, args=(P,))
    np.testing.assert_allclose(result.y.detach(), steps.y, rtol=1e-13, atol=1e-14)
    assert (result.nfev, result.success, result.status) == (steps.nfev, True, 0)


@pytest.mark.parametrize("method", EXPLICIT)
def test_the_discrete_adjoint_is_exact_at_loose_tolerances(method):
    """The derivative of the numbers: differences with the same steps agree to rounding, where the solution has three
    digits.
    """
    steps = scipy.integrate.solve_ivp(pendulum, (0.0, 3.0), Y0, method, args=(P,)).t
    points = np.linspace(0.2, 2.9, 5)

    def frozen(p):
        return replay(read_tableau(method), pendulum, steps, Y0, (p,), points, (steps, points), keep=True)[:, 0]

    found = wg.jacobian(lambda p: solve_ivp(pendulum, (0.0, 3.0), Y0, method, points, args=(p,)).y[0], mode="reverse")(
        P
    )
    np.testing.assert_allclose(found, differences(frozen, P, 1e-3), rtol=1e-9, atol=1e-9)
    close = wg.jacobian(
        lambda p: solve_ivp(pendulum, (0.0, 3.0), Y0, "DOP853", points, args=(p,), rtol=1e-9, atol=1e-9).y[0]
    )(P)
    assert np.abs(found - close).max() > 1e-6


class TestCaptured:
    """A value that the function uses without being given it: a gradient, or an error, never silence."""

    def test_discrete(self):
        f = lambda w: solve_ivp(lambda t, y: -w * y, (0.0, 1.0), Y0, **TIGHT).y[0, -1]
        np.testing.assert_allclose(wg.grad(f)(2.0), -np.exp(-2.0), rtol=1e-7)
        np.testing.assert_allclose(wg.grad(wg.grad(f))(2.0), np.exp(-2.0), rtol=1e-7)
        np.testing.assert_allclose(wg.jvp(f, (2.0,), (1.0,))[1], -np.exp(-2.0), rtol=1e-7)
        np.testing.assert_allclose(wg.vmap(wg.grad(f))(np.array([1.0, 2.0])), -np.exp([-1.0, -2.0]), rtol=1e-7)
        w = wg.tensor(2.0, requires_grad=True)
        f(w).backward()
        np.testing.assert_allclose(w.grad, -np.exp(-2.0), rtol=1e-7)

    def test_discrete_beside_a_state_that_is_tracked(self):
        f = lambda w: wg.grad(lambda y0: solve_ivp(lambda t, y: -w * y, (0.0, 1.0), y0, **TIGHT).y[0, -1])(Y0)[0]
        np.testing.assert_allclose(wg.vmap(f)(np.array([1.0, 2.0])), np.exp([-1.0, -2.0]), rtol=1e-7)
        np.testing.assert_allclose(wg.grad(f)(2.0), -np.exp(-2.0), rtol=1e-7)

    def test_discrete_where_it_is_used_late(self):
        f = lambda w: solve_ivp(lambda t, y: -w * y if t > 0.5 else -y, (0.0, 1.0), [1.0], **TIGHT).y[0, -1]
        assert abs(wg.grad(f)(2.0) + 0.5 * np.exp(-1.5)) < 1e-3

    def test_odeint_where_it_is_used_late(self):
        late = lambda w: lambda y, t: -w * y if t > 0.5 else -y
        f = lambda w, **options: odeint(late(w), [1.0], [0.0, 1.0], method="RK45", **options)[-1, 0]
        with pytest.raises(GradientError, match='adjoint="discrete"'):
            wg.grad(f)(2.0)
        assert abs(wg.grad(lambda w: f(w, adjoint="discrete"))(2.0) + 0.5 * np.exp(-1.5)) < 1e-3

    @pytest.mark.parametrize("method", ["RK45", "LSODA", "Radau"])
    def test_continuous(self, method):
        f = lambda w, y0: solve_ivp(lambda t, y: -w * y, (0.0, 1.0), y0, method, adjoint="continuous").y[0, -1]
        for slope in (
            wg.grad(f)(2.0, Y0),
            wg.grad(f, (0, 1))(2.0, Y0)[0],
            wg.jvp(lambda w: f(w, Y0), (2.0,), (1.0,))[1],
        ):
            np.testing.assert_allclose(slope, -np.exp(-2.0), rtol=2e-2)
        np.testing.assert_allclose(wg.grad(f, 1)(2.0, Y0), [np.exp(-2.0), 0.0], rtol=1e-2)

    def test_continuous_with_a_branch(self):
        f = lambda w: solve_ivp(lambda t, y: -w * y if t > 0.5 else -w * y, (0.0, 1.0), Y0, "LSODA").y[0, -1]
        with pytest.raises(GradientError, match="Pass it in args="):
            wg.grad(f)(2.0)


def test_reverse_mode_keeps_few_states():
    def peak(span):
        y0 = wg.tensor(np.ones(2000), requires_grad=True)
        gc.collect()
        tracemalloc.start()
        y = solve_ivp(lambda t, y: -np.sin(y), (0.0, span), y0, t_eval=[span], max_step=0.1, rtol=1e-2).y
        y.sum().backward()
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(0.5)
    assert peak(16.0) < 4.0 * peak(1.0)  # sixteen times the steps
