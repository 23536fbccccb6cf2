"""minimize: every method gets its derivatives, on trees, compiled or not; and what it says when it cannot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.optimize
from tests.optimize.searches import START, rosenbrock, start_of

import wengert as wg
from wengert.optimize import minimize
from wengert.optimize.minimize import METHODS
from wengert.optimize.objective import Objective
from wengert.optimize.variables import Variables


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_minimum_of_a_tree(method):
    f = lambda p: np.cosh(p["a"] - 1.0) + ((p["b"][0] - 2.0 * p["a"]) ** 2).sum() + (p["b"][0] ** 2).sum() / 10.0
    found = minimize(f, {"a": 0.5, "b": [np.array([0.0, 1.0])]}, method=method)
    assert found.success
    assert set(found.x) == {"a", "b"}
    assert np.shape(found.x["a"]) == ()
    a = scipy.optimize.brentq(lambda a: np.sinh(a - 1.0) + 16.0 * a / 11.0, 0.0, 1.0)  # b = 20 a / 11 in both elements
    np.testing.assert_allclose(found.x["a"], a, atol=5e-3)
    np.testing.assert_allclose(found.x["b"][0], np.full(2, 20.0 * a / 11.0), atol=5e-3)
    assert found.how.startswith(method)
    assert ("native code" in found.how) == (METHODS[method].order > 0)


@pytest.mark.parametrize("method", [m for m, kind in METHODS.items() if kind.order])
def test_the_path_is_that_of_exact_derivatives_by_hand(method):
    x0 = start_of(method)
    by_hand = {"jac": scipy.optimize.rosen_der} | (
        {"hess": scipy.optimize.rosen_hess} if METHODS[method].order > 1 else {}
    )
    expected = scipy.optimize.minimize(scipy.optimize.rosen, x0, method=method, **by_hand)
    for compile in ("auto", False):
        found = minimize(rosenbrock, x0, method=method, compile=compile)
        assert (found.nit, found.nfev) == (expected.nit, expected.nfev)
        np.testing.assert_allclose(found.x, expected.x, rtol=1e-5)


@pytest.mark.parametrize("compile", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_derivatives_are_exact(compile, sparse):
    x, p = np.linspace(-1.0, 2.0, 7), np.linspace(1.0, 3.0, 7)
    for order in (2, 3):
        objective = Objective(rosenbrock, (), Variables(x), order, compile, sparse)
        y = x + 0.1
        np.testing.assert_allclose(objective.value(y), scipy.optimize.rosen(y), rtol=1e-13)
        np.testing.assert_allclose(objective.gradient(y), scipy.optimize.rosen_der(y), rtol=1e-12)
        if order == 2:
            np.testing.assert_allclose(objective.product(y, p), scipy.optimize.rosen_hess_prod(y, p), rtol=1e-12)
        else:
            np.testing.assert_allclose(objective.hessian(y), scipy.optimize.rosen_hess(y), rtol=1e-12)


def test_value_and_gradient_are_one_evaluation():
    objective = Objective(rosenbrock, (), Variables(START), 1, True, "auto")
    before = objective.evaluations
    objective.value(START + 1.0)
    objective.gradient(START + 1.0)
    objective.value(START + 1.0)
    assert objective.evaluations == before + 1


def test_a_million_variables_in_small():
    n = 20_000
    x0 = np.tile([-1.2, 1.0], n // 2)
    found = minimize(
        lambda x: (100.0 * (x[1::2] - x[::2] ** 2) ** 2 + (1.0 - x[::2]) ** 2).sum(), x0, method="Newton-CG"
    )
    assert found.success
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)
    assert "products with the Hessian, native code" in found.how


def test_without_native_code_a_sparse_hessian_is_chosen():
    found = minimize(rosenbrock, np.full(150, 1.1), method="trust-ncg", compile=False)
    assert found.success
    assert "Hessian sparse, 448 of 150 x 150, 3 colours, by Python" in found.how
    dense = minimize(lambda x: (x.sum() - 1.0) ** 2 + (x**2).sum(), np.ones(150), method="trust-ncg", compile=False)
    assert "products with the Hessian, by Python" in dense.how


def test_methods_are_chosen_by_size():
    square = lambda x: ((x - 1.0) ** 2).sum()
    assert minimize(square, np.zeros(5)).how.startswith("BFGS")
    assert minimize(square, np.zeros(500)).how.startswith("L-BFGS-B")
    assert minimize(square, np.zeros(5), bounds=(None, 0.5)).how.startswith("L-BFGS-B")
    circle = {"type": "eq", "fun": lambda x: (x**2).sum() - 1.0}
    assert minimize(square, np.ones(5), constraints=circle).how.startswith("SLSQP")
    assert minimize(square, np.ones(400), constraints=circle).how.startswith("trust-constr (chosen for many variables)")


def test_dataclasses_and_dtypes():
    @dataclass
    class Line:
        slope: object
        offset: object

    t = np.arange(4.0)
    found = minimize(
        lambda p: ((p.slope * t + p.offset - 2.0 * t - 1.0) ** 2).sum(), Line(np.float32(0.0), np.zeros(1, np.float32))
    )
    assert isinstance(found.x, Line)
    assert found.x.offset.dtype == np.float64
    np.testing.assert_allclose([found.x.slope, found.x.offset[0]], [2.0, 1.0], atol=1e-5)
    assert isinstance(found.jac, Line)


def test_integers_are_promoted_with_notice():
    found = minimize(lambda p: (p["a"] - 1.5) ** 2 + (p["b"] ** 2).sum(), {"a": 3, "b": np.array([1, 2])})
    np.testing.assert_allclose(found.x["a"], 1.5)
    assert "x0['a'] had dtype int64 and was taken as float64" in found.how
    assert "x0['b'] had" in found.how


@pytest.mark.parametrize(
    "through", [lambda a, f: minimize(lambda x: f(x, a), START), lambda a, f: minimize(f, START, (a,))]
)
def test_a_gradient_through_the_search_is_refused(through):
    with pytest.raises(wg.GradientError, match=r"gradient would be lost.*implicit\.argmin"):
        wg.grad(lambda a: through(a, lambda x, a: ((x - a) ** 2).sum()).x.sum())(1.0)
    with pytest.raises(wg.GradientError, match="would be lost"):
        minimize(rosenbrock, wg.tensor(START, requires_grad=True))


# Bounds


BOUNDED = {"a": 0.0, "b": [np.zeros(2), np.zeros((2, 2))]}


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((None, 0.5), (0.5, 0.5, 0.5)),
        ((-1.0, {"a": 0.5, "b": None}), (0.5, 1.0, 1.0)),
        ((None, {"a": None, "b": [np.array([0.25, 0.75]), 0.5]}), (1.0, [0.25, 0.75], 0.5)),
        (scipy.optimize.Bounds(-1.0, np.array([0.5, 1, 2, 0.25, 0.25, 0.25, 0.25])), (0.5, 1.0, 0.25)),
    ],
)
@pytest.mark.parametrize("method", [None, "trust-constr", "SLSQP"])
def test_bounds_of_trees(bounds, expected, method):
    f = lambda p: (p["a"] - 1.0) ** 2 + ((p["b"][0] - 1.0) ** 2).sum() + ((p["b"][1] - 1.0) ** 2).sum()
    found = minimize(f, BOUNDED, bounds=bounds, method=method)
    for y, z in zip([found.x["a"], *found.x["b"]], expected, strict=True):
        np.testing.assert_allclose(y, np.broadcast_to(z, np.shape(y)), atol=2e-3)


def test_bounds_as_pairs_of_a_vector():
    found = minimize(rosenbrock, START, bounds=[(None, 2.0), (0.0, 0.9), (0.5, None)])
    expected = scipy.optimize.minimize(
        scipy.optimize.rosen, START, jac=scipy.optimize.rosen_der, bounds=[(None, 2), (0, 0.9), (0.5, None)]
    )
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-5)


@pytest.mark.parametrize(
    ("bounds", "kind", "match"),
    [
        ((2.0, 3.0), ValueError, r"x0\['a'\] = 0 is below its lower bound: \[2, 3\]"),
        ((None, {"a": 1.0, "b": [1.0, np.full((2, 2), -1.0)]}), ValueError, r"x0\['b'\]\[1\]\[0, 0\] = 0 is above"),
        ((1.0, -1.0), ValueError, "has no number within its bounds"),
        ((np.nan, 1.0), ValueError, "has no number within its bounds"),
        (
            (None, {"a": 1.0, "b": [np.ones(3), 1.0]}),
            ValueError,
            r"The bound of x0\['b'\]\[0\] has shape \(3,\), and not \(2,\)",
        ),
        ((None, {"a": 1.0, "c": 1.0}), TypeError, r"bounds have the keys \['a', 'c'\]"),
        ((None, np.ones(7)), TypeError, "bounds have a ndarray where x0 has the structure"),
        (scipy.optimize.Bounds(-1.0, np.ones(3)), ValueError, r"shape \(3,\) does not fit the 7 elements"),
        ([(0, 1)] * 7, TypeError, "bounds are"),
        ("tight", TypeError, "this is a str"),
    ],
)
def test_bad_bounds(bounds, kind, match):
    with pytest.raises(kind, match=match):
        minimize(lambda p: p["a"] ** 2, BOUNDED, bounds=bounds)


# Errors


@pytest.mark.parametrize(
    ("f", "x0", "kind", "match"),
    [
        (lambda x: x, START, ValueError, r"must be one number, and is an array of shape \(3,\).*least_squares"),
        (lambda x: x[:0], START, ValueError, r"an array of shape \(0,\)"),
        (lambda x: (x[0], x[1]), START, ValueError, "must be one number, and is a tuple"),
        (lambda x: None, START, ValueError, "is a NoneType"),
        (lambda x: "text", START, TypeError, "type str is not a number"),
        (lambda x: (1j * x).sum(), START, TypeError, "is complex"),
        (lambda x: np.log(x).sum(), -START, ValueError, "objective is nan at x0"),
        (lambda x: 1.0 / x.sum(), np.zeros(3), ValueError, "objective is inf at x0"),
        (lambda x: np.sqrt(x).sum(), np.array([1.0, 0.0]), ValueError, r"gradient of the objective is inf in x0\[1\]"),
        (rosenbrock, START + 1j, TypeError, r"x0 has dtype complex128.*real and imaginary parts"),
        (rosenbrock, START > 1.0, TypeError, "x0 has dtype bool"),
        (rosenbrock, np.array([1.0, np.nan]), ValueError, "not finite"),
        (rosenbrock, np.zeros(0), ValueError, "nothing to vary"),
        (rosenbrock, {}, ValueError, "has no arrays"),
        (3.0, START, TypeError, "is a function, and not a float"),
    ],
)
def test_bad_problems(f, x0, kind, match):
    with pytest.raises(kind, match=match):
        minimize(f, x0)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"method": "newton"}, "has no method 'newton'.*Newton-CG"),
        ({"method": 3}, "has no method 3"),
        ({"method": "BFGS", "bounds": (0.0, 2.0)}, "BFGS takes no bounds.*L-BFGS-B"),
        ({"method": "L-BFGS-B", "constraints": {"type": "eq", "fun": lambda x: x}}, "takes no constraints.*SLSQP"),
        ({"compile": "yes"}, "compile='yes'"),
        ({"sparse": "yes", "method": "trust-exact"}, "sparse='yes'"),
    ],
)
def test_bad_options(options, match):
    with pytest.raises(ValueError, match=match):
        minimize(rosenbrock, START, **options)


def test_names_of_methods_do_not_mind_case():
    assert minimize(rosenbrock, START, method="newton-cg").how.startswith("Newton-CG")


def test_lists_of_numbers_are_vectors_and_pairs_are_bounds_as_in_scipy():
    bowl = lambda x: ((x - np.array([-1.0, 5.0])) ** 2).sum()
    for bounds in (((0, 1), (2, 3)), [(0, 1), (2, 3)], [(0, None), (None, 3)]):
        found = minimize(bowl, [0.5, 2.5], bounds=bounds)
        assert isinstance(found.x, np.ndarray)
        np.testing.assert_allclose(found.x, scipy.optimize.minimize(bowl, [0.5, 2.5], bounds=bounds).x, atol=1e-6)
    found = minimize(bowl, [0.5, 2.5], bounds=(np.array([0.0, 1.0]), np.array([2.0, 3.0])))
    np.testing.assert_allclose(found.x, [0.0, 3.0], atol=1e-8)


def test_many_variables_are_all_found():
    n = 20_000
    found = minimize(
        lambda x: (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum(), np.full(n, 1.2), method="Newton-CG"
    )
    np.testing.assert_allclose(found.x, np.ones(n), atol=1e-4)
