"""Eager integrations of functions that the user has compiled."""

import numpy as np
import pytest
import scipy.integrate
from tests.integrate.problems import POINTS, TIGHT, Y0, P, differences

import wengert as wg
from wengert.integrate import compiled_ivp, odeint, solve_ivp


def swing(t, y, p):
    return [y[1], -p[0] * np.sin(y[0]) - p[1] * y[1]]


@pytest.fixture
def runs(monkeypatch):
    """The number of native runs."""
    monkeypatch.setattr(compiled_ivp, "INTEGRATIONS", type(compiled_ivp.INTEGRATIONS)())
    found = []
    run = compiled_ivp.Integration.run
    monkeypatch.setattr(compiled_ivp.Integration, "run", lambda *args: found.append(1) or run(*args))
    return found


def test_a_compiled_function_runs_natively_from_the_first_call_on(runs):
    f = lambda p, fun: solve_ivp(fun, (0.0, 1.2), Y0, t_eval=POINTS, args=(p,), **TIGHT)
    plain, compiled = [f(P, swing) for _ in range(40)], wg.compile(swing)
    assert not runs
    assert len({result.y.tobytes() for result in plain}) == 1
    results = [f(P, compiled) for _ in range(3)]
    assert len(runs) == 3
    assert len({result.y.tobytes() for result in results}) == 1
    for result in results:
        np.testing.assert_allclose(result.y, plain[0].y, rtol=1e-13)
        assert result.success
        assert isinstance(result.y, np.ndarray)
        np.testing.assert_array_equal(result.t, POINTS)


def test_derivatives(runs):
    f = lambda p, fun=swing: (solve_ivp(fun, (0.0, 1.2), Y0, t_eval=POINTS, args=(p,), **TIGHT).y ** 2).sum()
    wanted, compiled = (wg.grad(f)(P), wg.hessian(f)(P)), wg.compile(swing)
    assert not runs
    np.testing.assert_allclose(wg.grad(lambda p: f(p, compiled))(P), wanted[0], rtol=1e-11)
    np.testing.assert_allclose(wg.hessian(lambda p: f(p, compiled))(P), wanted[1], rtol=1e-9)
    assert runs


def decay(y, t):
    return {"x": -y["x"]} if isinstance(y, dict) else -y


def test_odeint(runs):
    compiled = wg.compile(decay)
    for state in (Y0, {"x": Y0}):
        first, *others = [odeint(fun, state, [0.0, 0.5, 1.0], method="RK45") for fun in (decay, compiled, compiled)]
        values = [leaf["x"] if isinstance(leaf, dict) else leaf for leaf in (first, *others)]
        for y in values:
            np.testing.assert_allclose(y, values[0], rtol=1e-12)
    assert len(runs) == 4


def test_plain_functions_stay_with_scipy(runs):
    bent = lambda t, y: -y if t < 0.5 else -2.0 * y
    first, *others = [solve_ivp(bent, (0.0, 1.0), Y0, t_eval=[0.2, 1.0]).y for _ in range(40)]
    assert not runs
    assert {y.tobytes() for y in others} == {first.tobytes()}


def test_failure_is_reported_as_scipy_does(runs):
    blow_up = wg.compile(lambda t, y: y**2)
    results = [solve_ivp(blow_up, (0.0, 2.0), [1.0], t_eval=[0.5, 2.0]) for _ in range(4)]
    assert runs
    assert all(not r.success and r.message == results[0].message for r in results)


def test_rodas5p(runs):
    rhs = lambda t, y, mu: [y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]]
    f = lambda mu: solve_ivp(rhs, (0.0, 10.0), [2.0, 0.0], "Rodas5P", [5.0, 10.0], args=(mu,), rtol=1e-9, atol=1e-10).y
    exact = lambda mu: (
        scipy.integrate.solve_ivp(
            rhs, (0.0, 10.0), [2.0, 0.0], "Radau", [5.0, 10.0], args=(mu,), rtol=1e-11, atol=1e-12
        ).y
    )
    np.testing.assert_allclose(f(50.0), exact(50.0), rtol=1e-7)
    slope = differences(lambda mu: exact(mu)[0, -1], 50.0, 1e-2)
    np.testing.assert_allclose(wg.grad(lambda mu: f(mu)[0, -1])(50.0), slope, rtol=1e-4)
    with pytest.raises(RuntimeError, match="stopped before the end"):
        solve_ivp(lambda t, y: y**2, (0.0, 2.0), [1.0], "Rodas5P")
    x = odeint(lambda y, t: -50.0 * (y - np.cos(t)), [0.0], [0.0, 1.0, 2.0], method="Rodas5P")
    wanted = scipy.integrate.odeint(lambda y, t: -50.0 * (y - np.cos(t)), [0.0], [0.0, 1.0, 2.0])
    np.testing.assert_allclose(x, wanted, rtol=1e-6)


def test_points_out_of_order(runs):
    for points in ([1.0, 0.5], [0.5, 3.0]):
        for _ in range(4):
            with pytest.raises(ValueError, match="t_eval"):
                solve_ivp(wg.compile(swing), (0.0, 1.2), Y0, t_eval=points, args=(P,))
        with pytest.raises(ValueError, match="t_eval"):
            solve_ivp(swing, (0.0, 1.2), Y0, "Rodas5P", t_eval=points, args=(P,))
    assert not runs
