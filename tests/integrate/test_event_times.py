"""Events outside of compiled functions: SciPy's result, and derivatives of all of it."""

import numpy as np
import pytest
import scipy.integrate
from tests.integrate.test_events import TIGHT, fall, flight_time, hit, thrown

import wengert as wg
from wengert.integrate import solve_ivp

METHODS = ["RK45", "DOP853", "Radau", "LSODA"]


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_a_terminal_event(method):
    f = lambda v, g: thrown(v, g, method=method).t_events[0][0]
    found = wg.grad(f, (0, 1))(10.0, 9.81)
    np.testing.assert_allclose(found, wg.grad(flight_time, (0, 1))(10.0, 9.81), rtol=1e-6)
    speed = wg.grad(lambda v: thrown(v, 9.81, method=method).y[1, -1])(10.0)
    np.testing.assert_allclose(speed, -10.0 / np.sqrt(100.0 + 2.0 * 9.81), rtol=1e-6)
    last = wg.grad(lambda v: thrown(v, 9.81, method=method).t[-1])(10.0)
    np.testing.assert_allclose(last, found[0], rtol=1e-9)


def test_higher_derivatives():
    f = lambda v, g: thrown(v, g).t_events[0][0]
    for derive in (lambda f: wg.grad(wg.grad(f)), lambda f: wg.grad(wg.grad(f, 1)), lambda f: wg.hessian(f, 1)):
        np.testing.assert_allclose(derive(f)(10.0, 9.81), derive(flight_time)(10.0, 9.81), rtol=1e-7)


@pytest.mark.parametrize("points", [None, [0.5, 1.0, 3.0]])
def test_the_result_is_that_of_scipy(points):
    found = wg.jvp(lambda v: vars_of(thrown(v, 9.81, t_eval=points)), (10.0,), (1.0,))[0]
    wanted = vars_of(thrown(10.0, 9.81, scipy.integrate.solve_ivp, t_eval=points))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def vars_of(result):
    return [result.t, result.y, *result.t_events, *result.y_events]


def test_states_at_events():
    apex_height = lambda v: thrown(v, 9.81).y_events[1][0][0]
    np.testing.assert_allclose(wg.grad(apex_height)(10.0), 10.0 / 9.81, rtol=1e-9)


def test_what_only_the_event_captures():
    def f(k):
        event = lambda t, y: y[0] - k
        return solve_ivp(lambda t, y: -y, (0.0, 3.0), [1.0], events=event, **TIGHT).t_events[0][0]

    for derive in (wg.grad, lambda f: wg.compile(wg.grad(f))):
        np.testing.assert_allclose(derive(f)(0.5), -2.0, rtol=1e-7)


def test_a_solution_that_blows_up_behind_the_event():
    event = lambda t, y: y[0] - 10.0
    event.terminal = True
    f = lambda y0: solve_ivp(lambda t, y: y**2, (0.0, 5.0), [1.0 * y0], events=event, **TIGHT).t_events[0][0]
    np.testing.assert_allclose(wg.grad(f)(1.0), -1.0, rtol=1e-6)  # t = 1 / y0 - 1 / 10


def test_dense_output_up_to_the_event():
    f = lambda v: thrown(v, 9.81, dense_output=True).sol(0.7)[0]
    np.testing.assert_allclose(wg.grad(f)(10.0), 0.7, rtol=1e-9)


def test_moving_ends_and_no_events():
    def f(start):
        event = lambda t, y: y[0] - 0.5
        return solve_ivp(lambda t, y: -y, (start, 3.0), [1.0], events=event, **TIGHT)

    np.testing.assert_allclose(wg.grad(lambda s: f(s).t_events[0][0])(0.2), 1.0, rtol=1e-7)
    np.testing.assert_allclose(wg.grad(lambda s: f(s).y[0, -1])(0.2), np.exp(-2.8), rtol=1e-6)
    never = lambda t, y: y[0] + 1.0
    found = wg.grad(lambda k: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], events=never, **TIGHT).y[0, -1])
    np.testing.assert_allclose(found(2.0), -np.exp(-2.0), rtol=1e-7)


def test_a_span_of_length_zero():
    result = solve_ivp(lambda t, y: -y, (1.0, 1.0), [1.0], events=hit)
    assert [len(t) for t in result.t_events] == [0]


def test_what_only_compiled_functions_have():
    with pytest.raises(ValueError, match="under vmap"):
        wg.vmap(lambda v: thrown(v, 9.81).t_events[0][0])(np.array([5.0, 10.0]))
    with pytest.raises(ValueError, match="under vmap"):
        wg.vmap(lambda k: solve_ivp(fall, (0.0, 1.0), [1.0, 0.0], args=(9.81,), events=lambda t, y, g: y[0] - k).y)(
            np.array([0.5, 0.6])
        )
    with pytest.raises(ValueError, match="Rodas5P"):
        solve_ivp(fall, (0.0, 1.0), [1.0, 0.0], "Rodas5P", args=(9.81,), events=hit)
