"""Events inside compiled functions: SciPy's times, with derivatives."""

import numpy as np
import pytest
import scipy.integrate

import wengert as wg
from wengert.integrate import solve_ivp

TIGHT = {"rtol": 1e-9, "atol": 1e-9}


def fall(t, y, g):
    return [y[1], -g + 0.0 * y[0]]


def hit(t, y, g):
    return y[0]


hit.terminal, hit.direction = True, -1  # type: ignore[attr-defined]  # as in SciPy


def apex(t, y, g):
    return y[1]


def thrown(v, g, solve=solve_ivp, **options):
    return solve(fall, (0.0, 100.0), wg.stack([0.0 * v + 1.0, v]), args=(g,), events=[hit, apex], **TIGHT, **options)


def flight_time(v, g):
    return (v + np.sqrt(v * v + 2.0 * g)) / g


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
def test_a_terminal_event(method):
    f = wg.compile(lambda v, g: (lambda r: (r.t_events, r.y_events, r.t, r.y, r.status))(thrown(v, g, method=method)))
    (hits, apexes), (states, _), t, y, status = f(10.0, 9.81)
    np.testing.assert_allclose(hits, [flight_time(10.0, 9.81)], rtol=1e-8)
    np.testing.assert_allclose(apexes[:1], [10.0 / 9.81], rtol=1e-8)
    assert np.isnan(apexes[1:]).all()
    assert status == 1
    np.testing.assert_allclose(t, [0.0, hits[0]])
    np.testing.assert_allclose(y[:, -1], states[0], atol=1e-12)


def test_derivatives_of_its_time():
    f = lambda v, g: thrown(v, g).t_events[0][0]
    for derive in (lambda f: wg.grad(f, (0, 1)), lambda f: wg.grad(wg.grad(f)), lambda f: wg.grad(wg.grad(f, 1))):
        np.testing.assert_allclose(wg.compile(derive(f))(10.0, 9.81), derive(flight_time)(10.0, 9.81), rtol=1e-9)
    speed = wg.compile(wg.grad(lambda v: thrown(v, 9.81).y[1, -1]))(10.0)
    np.testing.assert_allclose(speed, wg.grad(lambda v: -np.sqrt(v * v + 2.0 * 9.81))(10.0), rtol=1e-9)


def test_a_batch():
    v = np.array([5.0, 10.0])
    found = wg.compile(wg.vmap(lambda v: thrown(v, 9.81).t_events[0][0]))(v)
    np.testing.assert_allclose(found, flight_time(v, 9.81), rtol=1e-8)


def test_points_after_the_end():
    points = [0.5, 1.0, 3.0]
    y = wg.compile(lambda v: thrown(v, 9.81, t_eval=points).y)(10.0)
    wanted = scipy.integrate.solve_ivp(
        fall, (0.0, 100.0), [1.0, 10.0], t_eval=points, args=(9.81,), events=hit, **TIGHT
    ).y
    np.testing.assert_allclose(y[:, :2], wanted, rtol=1e-12)
    assert np.isnan(y[:, 2]).all()


def test_events_after_the_last_point():
    f = wg.compile(lambda v: (lambda r: (r.y, r.t_events[0]))(thrown(v, 9.81, t_eval=[0.5])))
    y, hits = f(10.0)
    assert not np.isnan(y).any()
    np.testing.assert_allclose(hits, [flight_time(10.0, 9.81)], rtol=1e-8)


@pytest.mark.parametrize(("direction", "first"), [(0, 0.5), (1, 1.5), (-1, 0.5)])
def test_directions_of_crossings(direction, first):
    event = lambda t, y: y[0]
    event.direction = direction
    oscillate = lambda t, y: [y[1], -(np.pi**2) * y[0]]
    f = wg.compile(lambda y0: solve_ivp(oscillate, (0.0, 4.2), y0, events=event, **TIGHT).t_events[0])
    wanted = scipy.integrate.solve_ivp(oscillate, (0.0, 4.2), [1.0, 0.0], events=event, **TIGHT).t_events[0]
    found = f(np.array([1.0, 0.0]))
    np.testing.assert_allclose(found[: len(wanted)], wanted, rtol=1e-10)
    assert np.isnan(found[len(wanted) :]).all()
    assert abs(found[0] - first) < 1e-6


def test_an_event_that_ends_the_third_time():
    event = lambda t, y: y[0]
    event.terminal = 3
    oscillate = lambda t, y: [y[1], -(np.pi**2) * y[0]]
    f = wg.compile(
        lambda y0: (lambda r: (r.t_events[0], r.t))(solve_ivp(oscillate, (0.0, 9.0), y0, events=event, **TIGHT))
    )
    found, t = f(np.array([1.0, 0.0]))
    np.testing.assert_allclose(found, [0.5, 1.5, 2.5], rtol=1e-7)
    np.testing.assert_allclose(t[-1], 2.5, rtol=1e-7)


def test_the_continuous_adjoint_has_none():
    with pytest.raises(ValueError, match="no events"):
        wg.compile(lambda v: thrown(v, 9.81, adjoint="continuous").y)(10.0)
