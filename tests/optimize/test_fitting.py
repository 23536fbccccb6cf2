"""Least squares and curve fitting: against SciPy, with exact Jacobians and standard errors."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sps
from rich.console import Console

import wengert as wg
from wengert.optimize import curve_fit, least_squares, root

T = np.linspace(0.0, 2.0, 30)
Y = 2.0 * np.exp(-1.5 * T) + 0.1 + 0.02 * np.sin(40.0 * T)
model = lambda t, a, b, c: a * np.exp(-b * t) + c


def residual(p):
    return p["a"] * np.exp(-p["b"] * T) + p["c"] - Y


P0 = {"a": 1.0, "b": 1.0, "c": 0.0}


@pytest.mark.parametrize("compile", ["auto", False])
@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares_of_a_tree_is_that_of_scipy(method, compile):
    expected = scipy.optimize.least_squares(lambda p: model(T, *p) - Y, [1.0, 1.0, 0.0], jac="3-point", method=method)
    found = least_squares(residual, P0, method=method, compile=compile)
    np.testing.assert_allclose([found.x[k] for k in "abc"], expected.x, rtol=1e-5)
    np.testing.assert_allclose(found.cost, expected.cost)
    assert set(found.grad) == set("abc")
    assert found.how.startswith(f"{method}; residual {'native code' if compile else 'by Python'}; Jacobian dense")


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
def test_robust_losses_and_bounds(loss):
    spoilt = Y.copy()
    spoilt[7] += 10.0
    f = lambda p: p["a"] * np.exp(-p["b"] * T) + p["c"] - spoilt
    found = least_squares(f, P0, loss=loss, options={"f_scale": 0.05}, bounds=({"a": 0.0, "b": None, "c": 0.0}, 3.0))
    assert found.success
    np.testing.assert_allclose([found.x[k] for k in "abc"], [2.0, 1.5, 0.1], atol=0.1)


def test_residuals_may_be_trees():
    found = least_squares(lambda p: {"u": p[0] - 1.0, "v": [p[1] * np.ones((2, 2)) - 3.0]}, (0.0, 0.0))
    assert isinstance(found.x, np.ndarray)
    np.testing.assert_allclose(found.x, (1.0, 3.0))
    assert found.fun["v"][0].shape == (2, 2)


def test_large_and_sparse():
    n = 3000
    f = lambda x: np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x])
    found = least_squares(f, np.full(n, 1.2))
    assert sps.issparse(found.jac)
    assert f"Jacobian sparse, {3 * n - 2} of {2 * n - 1} x {n}, 2 colours, native code" in found.how
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)


def test_compressed_but_dense_where_the_method_wants_it_so():
    f = lambda x: np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x])
    for options in ({"method": "lm"}, {"options": {"tr_solver": "exact"}}):
        found = least_squares(f, np.full(120, 1.2), **options)
        assert isinstance(found.jac, np.ndarray)
        assert "Jacobian sparse" in found.how
        np.testing.assert_allclose(found.x, 1.0, atol=1e-6)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_callback_and_progress(method):
    points, written = [], io.StringIO()

    def stop(p):
        points.append(p["a"])
        if len(points) == 2:
            raise StopIteration

    found = least_squares(residual, P0, method=method, callback=stop)
    assert len(points) == 2
    assert found.x["a"] == points[-1]
    assert not found.success
    found = least_squares(residual, P0, method=method, progress=Console(file=written, width=200))
    assert re.search(rf"{method}  iteration \d+  value \S+ .*evaluations \d+  \d+\.\d s\n$", written.getvalue())


@pytest.mark.parametrize(
    ("f", "options", "kind", "match"),
    [
        (residual, {"method": "newton"}, ValueError, "no method 'newton'"),
        (residual, {"loss": "square"}, ValueError, "no loss 'square'"),
        (residual, {"method": "lm", "bounds": (-9.0, 9.0)}, ValueError, "lm takes no bounds"),
        (residual, {"options": {"jac": "2-point"}}, ValueError, r"options has \['jac'\]"),
        (lambda p: p["a"], {"method": "lm"}, ValueError, "as many residuals as variables, and there are 1 and 3"),
        (lambda p: np.log(-p["a"]) * T, {}, ValueError, "Element 0 of the residual is nan"),
        (lambda p: p["a"] * 1j, {}, TypeError, "real"),
        (lambda p: np.zeros(0), {}, ValueError, "no elements"),
    ],
)
def test_bad_least_squares(f, options, kind, match):
    with pytest.raises(kind, match=match):
        least_squares(f, P0, **options)


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("kind", [None, "one", "each", "matrix"])
def test_standard_errors_are_those_of_scipy(kind, absolute):
    spread = np.linspace(0.5, 1.5, T.size)
    covariance = np.diag(spread**2) + 0.1
    sigma = {None: None, "one": 0.3, "each": spread, "matrix": covariance}[kind]
    expected, matrix = scipy.optimize.curve_fit(
        model, T, Y, [1.0, 1.0, 0.0], sigma=np.full(T.size, 0.3) if kind == "one" else sigma, absolute_sigma=absolute
    )
    by_name = curve_fit(model, T, Y, P0, sigma, absolute)
    in_order = curve_fit(model, T, Y, np.array([1.0, 1.0, 0.0]), sigma, absolute)
    listed = curve_fit(model, T, Y, [1.0, 1.0, 0.0], sigma, absolute)
    np.testing.assert_allclose([by_name.params[k] for k in "abc"], expected, rtol=1e-5)
    np.testing.assert_allclose(in_order.params, expected, rtol=1e-5)
    np.testing.assert_allclose(listed.params, expected, rtol=1e-5)
    np.testing.assert_allclose(by_name.covariance, matrix, rtol=1e-4)
    np.testing.assert_allclose([by_name.errors[k] for k in "abc"], np.sqrt(np.diag(matrix)), rtol=1e-4)
    assert by_name.degrees == 27
    assert "Jacobian dense, native code" in by_name.how


def test_errors_cover_the_truth():
    """Of many lines in noisy data, fitted at once, about 68 in 100 have the true slope within one standard error."""
    rng, x = np.random.default_rng(1), np.linspace(0.0, 1.0, 20)
    line = lambda x, slope, offset: slope[:, None] * x + offset[:, None]
    lines = np.full(60, 2.0), np.full(60, 1.0)
    data = line(x, *lines) + 0.1 * rng.standard_normal((60, 20))
    fit = curve_fit(line, x, data, {"slope": np.zeros(60), "offset": np.zeros(60)})
    inside = np.abs(fit.params["slope"] - 2.0) < fit.errors["slope"]
    assert 0.5 < inside.mean() < 0.85


def test_parameters_that_are_arrays():
    x = np.linspace(-1.0, 1.0, 20)
    f = lambda x, w, b: w[0] * x + w[1] * x**2 + b
    fit = curve_fit(f, x, f(x, np.array([2.0, 3.0]), 1.0) + 0.01 * np.cos(20.0 * x), {"w": np.zeros(2), "b": 0.0})
    np.testing.assert_allclose(fit.params["w"], [2.0, 3.0], atol=0.02)
    assert fit.errors["w"].shape == (2,)
    assert fit.covariance.shape == (3, 3)
    assert "chi_square" in repr(fit)


def test_bounds_of_a_fit():
    fit = curve_fit(model, T, Y, {"a": 1.0, "b": 1.0, "c": 0.3}, bounds=({"a": None, "b": None, "c": 0.2}, None))
    np.testing.assert_allclose(fit.params["c"], 0.2, atol=1e-6)


def test_what_the_data_do_not_determine():
    with pytest.warns(scipy.optimize.OptimizeWarning, match="do not determine"):
        fit = curve_fit(lambda x, a, b: (a + b) * x, T, T, {"a": 0.0, "b": 0.0}, method="trf")
    assert np.isinf(fit.errors["a"])
    with pytest.warns(scipy.optimize.OptimizeWarning, match="1 points, 2 parameters"):
        curve_fit(lambda x, a, b: a * x + b, np.ones(1), np.ones(1), {"a": 0.0, "b": 0.0})


@pytest.mark.parametrize(
    ("changed", "kind", "match"),
    [
        ({"ydata": Y[:-1]}, ValueError, r"the model has shape \(30,\), and ydata \(29,\)"),
        ({"ydata": np.where(T > 1.0, np.nan, Y)}, ValueError, "ydata has elements that are not finite"),
        ({"ydata": np.zeros(0)}, ValueError, "ydata is empty"),
        ({"sigma": np.ones(3)}, ValueError, r"sigma has shape \(3,\)"),
        ({"sigma": np.zeros(30)}, ValueError, "sigma must be positive"),
        ({"sigma": -np.eye(30)}, ValueError, "positive definite"),
        ({"p0": {"a": 1j, "b": 1.0, "c": 0.0}}, TypeError, r"p0\['a'\] has dtype complex128"),
    ],
)
def test_bad_fits(changed, kind, match):
    given = {"xdata": T, "ydata": Y, "p0": P0} | changed
    with pytest.raises(kind, match=match):
        curve_fit(model, **given)


def test_a_gradient_through_a_fit_is_refused():
    with pytest.raises(wg.GradientError, match="would be lost"):
        wg.grad(lambda s: curve_fit(model, T, s * Y, P0).params["a"])(1.0)


def test_root_is_the_differentiable_one():
    solve = lambda a: root(lambda x, a: x**3 - a, 1.0, a)
    np.testing.assert_allclose(solve(8.0), 2.0)
    np.testing.assert_allclose(wg.grad(solve)(8.0), 1.0 / 12.0)


def test_bounds_of_two_parameters_are_lower_and_upper_as_in_scipy():
    residual = lambda x: x - np.array([3.0, 4.0])
    for bounds in (([-1, 5], [0, 9]), ((-1.0, 5.0), (0.0, 9.0))):
        found = least_squares(residual, [-0.5, 6.0], bounds=bounds).x
        np.testing.assert_allclose(
            found, scipy.optimize.least_squares(residual, [-0.5, 6.0], bounds=bounds).x, atol=1e-6
        )
    x = np.linspace(0.0, 1.0, 9)
    line = lambda x, a, b: a * x + b
    bounds = ([0.0, 0.0], [1.0, 5.0])
    found = curve_fit(line, x, 2 * x + 1, [0.5, 0.5], bounds=bounds).params
    np.testing.assert_allclose(
        found, scipy.optimize.curve_fit(line, x, 2 * x + 1, [0.5, 0.5], bounds=bounds)[0], atol=1e-6
    )


def test_lists_of_parameters_give_vectors_even_where_nothing_is_determined():
    x = np.arange(5.0)
    with pytest.warns(scipy.optimize.OptimizeWarning, match="do not determine"):
        fit = curve_fit(lambda x, a, b: a * b * x, x, x, [1.0, 1.0])
    assert isinstance(fit.params, np.ndarray)
    np.testing.assert_array_equal(fit.errors, np.array([np.inf, np.inf]), strict=True)


def test_a_fit_unpacks_as_in_scipy():
    t = np.linspace(0.0, 1.0, 9)
    popt, pcov = curve_fit(lambda t, a, b: a * np.exp(-b * t), t, 2.0 * np.exp(-t), [1.0, 0.5])
    np.testing.assert_allclose(popt, [2.0, 1.0], rtol=1e-6)
    assert pcov.shape == (2, 2)
