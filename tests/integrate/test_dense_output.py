"""Solutions as functions of time: SciPy's numbers, and derivatives with respect to everything, in and out of graphs."""

import numpy as np
import pytest
import scipy.integrate
from tests.integrate.problems import EXPLICIT, TIGHT, Y0, P, differences, pendulum

import wengert as wg
from wengert.integrate import solve_ivp

TIMES = np.array([0.7, 0.0, 1.2, 0.3])  # in any order


def dense(p, t, method="RK45", y0=Y0, span=(0.0, 1.2), **options):
    return solve_ivp(pendulum, span, y0, method, dense_output=True, args=(p,), **TIGHT, **options).sol(t)


@pytest.mark.parametrize("method", [*EXPLICIT, "Radau"])
@pytest.mark.parametrize("times", [TIMES, 0.5])
def test_values_are_those_of_scipy(method, times):
    wanted = scipy.integrate.solve_ivp(pendulum, (0.0, 1.2), Y0, method, dense_output=True, args=(P,), **TIGHT)
    exact = {"rtol": 1e-13} if method in EXPLICIT else {"rtol": 1e-7}
    f = lambda p, t: dense(p, t, method)
    np.testing.assert_allclose(wg.compile(f)(P, times), wanted.sol(times), **exact)
    np.testing.assert_allclose(wg.jvp(f, (P, times), (P, times))[0], wanted.sol(times), **exact)


@pytest.mark.parametrize("method", [*EXPLICIT, "Radau"])
def test_derivatives(method):
    f = lambda p, t: (dense(p, t, method) * np.array([[1.0, 2.0, 3.0, 4.0], [2.0, -1.0, 1.0, 0.5]])).sum()
    points = TIMES[[1, 3, 0, 2]]
    number = lambda p, t: (
        solve_ivp(pendulum, (0.0, 1.2), Y0, method, t, args=(p,), **TIGHT).y[:, [2, 0, 3, 1]]
        * np.array([[1.0, 2.0, 3.0, 4.0], [2.0, -1.0, 1.0, 0.5]])
    ).sum()
    of_p, of_t = wg.grad(number, (0, 1))(P, points)
    tolerance = 1e-10 if method in EXPLICIT else 1e-6
    for derive in (wg.grad(f, (0, 1)), wg.compile(wg.grad(f, (0, 1)))):
        found = derive(P, TIMES)
        np.testing.assert_allclose(found[0], of_p, rtol=tolerance)
        np.testing.assert_allclose(found[1], of_t[[2, 0, 3, 1]], rtol=tolerance)


def test_a_time_that_depends_on_the_solution():
    def f(p):
        found = solve_ivp(pendulum, (0.0, 1.2), Y0, dense_output=True, args=(p,), **TIGHT)
        return found.sol(0.5 + 0.1 * found.y[0, -1])[1]

    wanted = differences(f, P)
    np.testing.assert_allclose(wg.grad(f)(P), wanted, rtol=1e-6)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(P), wanted, rtol=1e-6)
    np.testing.assert_allclose(wg.compile(wg.hessian(f))(P), wg.hessian(f)(P), rtol=1e-7, atol=1e-9)


def test_time_alone():
    solution = solve_ivp(pendulum, (0.0, 1.2), Y0, dense_output=True, args=(P,), **TIGHT).sol
    speed = lambda t: pendulum(t, solution(t), P)[0]
    for derive in (wg.grad, lambda f: wg.compile(wg.grad(f))):
        np.testing.assert_allclose(derive(lambda t: solution(t)[0])(0.4), speed(0.4), rtol=1e-6)
    assert solution.ts[0] == solution.t_min == 0.0
    assert len(solution.interpolants) == len(solution.ts) - 1


def test_back_in_time_and_batches():
    f = lambda p, t: dense(p, t, span=(1.0, -1.0))
    times = np.array([-0.5, 0.9, 0.1])
    wanted = scipy.integrate.solve_ivp(pendulum, (1.0, -1.0), Y0, dense_output=True, args=(P,), **TIGHT).sol(times)
    np.testing.assert_allclose(wg.compile(f)(P, times), wanted, rtol=1e-13)
    batch = np.stack([P, 1.2 * P])
    separate = [f(p, times) for p in batch]
    np.testing.assert_allclose(wg.vmap(f, (0, None))(batch, times), separate, rtol=1e-7)
    np.testing.assert_allclose(wg.compile(wg.vmap(f, (0, None)))(batch, times), separate, rtol=1e-7)


def test_times_outside_the_span():
    times = np.array([-0.1, 1.3])
    wanted = scipy.integrate.solve_ivp(pendulum, (0.0, 1.2), Y0, dense_output=True, args=(P,), **TIGHT).sol(times)
    np.testing.assert_allclose(wg.compile(dense)(P, times), wanted, rtol=1e-11)  # as SciPy extrapolates
    with pytest.raises(ValueError, match="not within"):
        wg.grad(lambda p: dense(p, 1.3)[0])(P)


def test_rodas5p():
    for f in (lambda p: dense(p, 0.5, "Rodas5P"), wg.compile(lambda p: dense(p, 0.5, "Rodas5P"))):
        np.testing.assert_allclose(f(P), dense(P, 0.5), rtol=1e-6)


def test_arrays_of_times():
    with pytest.raises(ValueError, match="vector of times"):
        wg.compile(lambda p: dense(p, np.zeros((2, 2))))(P)
