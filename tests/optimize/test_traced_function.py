"""The traced function of a search: native code while that is right, Python where it is not."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.optimize.searches import START, rosenbrock

import wengert as wg
from wengert.optimize import minimize
from wengert.optimize.objective import Objective
from wengert.optimize.variables import Variables


def test_the_function_runs_twice_in_all():
    calls = []

    def f(x):
        calls.append(1)
        return rosenbrock(x)

    found = minimize(f, START, method="Newton-CG")
    assert found.nfev > 5
    assert len(calls) == 3  # on numbers, on symbols, and at the end, to see that nothing has changed


def test_arguments_and_captured_arrays_are_those_of_the_call():
    target, scale = np.ones(2), np.ones(2)
    f = lambda x, target: (scale * (x - target) ** 2 + scale * x).sum()
    np.testing.assert_allclose(minimize(f, np.zeros(2), (target,)).x, 0.5, atol=1e-6)
    target[:] = 5.0
    np.testing.assert_allclose(minimize(f, np.zeros(2), (target,)).x, 4.5, atol=1e-6)
    np.testing.assert_allclose(minimize(f, np.zeros(2), target).x, 4.5, atol=1e-6)
    f = lambda x: ((x - target) ** 2).sum()
    np.testing.assert_allclose(minimize(f, np.zeros(2)).x, 5.0, atol=1e-6)
    target[:] = 3.0
    np.testing.assert_allclose(minimize(f, np.zeros(2)).x, 3.0, atol=1e-6)


def test_arguments_of_any_kind():
    f = lambda x, data, power, name: ((x - data["k"][0]) ** power).sum() if name == "right" else None
    np.testing.assert_allclose(minimize(f, np.zeros(2), ({"k": [np.ones(2)]}, 2, "right")).x, 1.0, atol=1e-6)


def test_a_change_during_the_search_is_noticed():
    target = np.ones(3)

    def change(x):
        target[:] = 2.0

    f = lambda x: ((x - target) ** 4).sum() + (x**2).sum()
    with pytest.warns(RuntimeWarning, match="has changed while it was used"):
        minimize(f, np.zeros(3), callback=change)
    target[:] = 1.0
    objective = Objective(f, (), Variables(np.zeros(3)), 1, False, "auto")
    target[:] = 2.0
    assert objective.value(np.full(3, 2.0)) == 12.0
    minimize(f, np.zeros(3), callback=change, compile=False)  # without a warning


def test_random_numbers_are_not_frozen():
    rng = np.random.default_rng(0)
    noisy = lambda x: (x**2).sum() * rng.uniform(0.9, 1.1)
    found = minimize(noisy, np.ones(2), options={"maxiter": 2})
    assert "not compiled: it gives other numbers when it runs again" in found.how
    with pytest.raises(ValueError, match=r"cannot be compiled.*compile=False"):
        minimize(noisy, np.ones(2), compile=True)


def test_control_flow_runs_by_python_and_says_so():
    def f(x):
        return (x**2).sum() if x[0] > 1.0 else (x**2).sum() + (x[0] - 1.0) ** 2

    found = minimize(f, START, method="Newton-CG")
    np.testing.assert_allclose(found.x, [0.5, 0.0, 0.0], atol=1e-5)
    assert re.search(
        r"products with the Hessian, by Python; the objective was not compiled: TrackedValueError: The truth of a",
        found.how,
    )
    with pytest.raises(wg.TrackedValueError):
        minimize(f, START, compile=True)


def test_derivatives_of_the_users_own_are_used():
    @wg.custom_vjp
    def half(x):
        return (x**2).sum()

    half.defvjp(lambda x: ((x**2).sum(), x), lambda x, t: (0.5 * 2.0 * x * t,))
    found = minimize(half, START, options={"maxiter": 1}, method="CG")
    np.testing.assert_allclose(Objective(half, (), Variables(START), 1, "auto", False).gradient(START), START)
    assert found.nit == 1
    shift = np.ones(3)
    with pytest.warns(RuntimeWarning, match="has changed while it was used"):
        minimize(lambda x: half(x - shift), START, callback=lambda x: shift.fill(2.0), method="L-BFGS-B")


def test_captured_tensors():
    shift = wg.tensor(np.ones(3))
    np.testing.assert_allclose(minimize(lambda x: ((x - shift) ** 2).sum(), START, method="Newton-CG").x, 1.0)
    with pytest.raises(wg.GradientError, match=r"gradient would be lost.*implicit\.argmin"):
        minimize(lambda x: ((x - wg.tensor(np.ones(3), requires_grad=True)) ** 2).sum(), START)
