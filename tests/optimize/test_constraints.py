"""Constraints: Jacobians and Hessians are filled in, sparse where the method takes them so."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sps
from scipy.optimize import LinearConstraint, NonlinearConstraint

import wengert as wg
from wengert.optimize import minimize
from wengert.optimize.constraints import make_constraints
from wengert.optimize.variables import Variables

METHODS = ["SLSQP", "trust-constr", "COBYQA", "COBYLA"]
EXACT = ["SLSQP", "trust-constr"]
START = np.array([0.5, 0.2, 0.1])
TARGET = np.array([1.0, 2.0, 2.0])


def distance(x):
    return ((x - TARGET) ** 2).sum()


SPHERE = [
    {"type": "ineq", "fun": lambda x: 1.0 - (x**2).sum()},
    {"type": "ineq", "fun": lambda x, r: r**2 - (x**2).sum(), "args": (1.0,)},
    NonlinearConstraint(lambda x: (x**2).sum(), -np.inf, 1.0),
    [NonlinearConstraint(lambda x: np.sqrt((x**2).sum()), 0.01, 1.0), LinearConstraint(np.eye(3), -1.0, 1.0)],
]


@pytest.mark.parametrize("constraint", SPHERE, ids=range(len(SPHERE)))
@pytest.mark.parametrize("method", METHODS)
def test_the_nearest_point_of_a_ball(method, constraint):
    found = minimize(distance, START, method=method, constraints=constraint)
    np.testing.assert_allclose(found.x, TARGET / 3.0, atol=2e-3)


@pytest.mark.parametrize(
    "equation",
    [
        {"type": "eq", "fun": lambda x: x.sum() - 1.0},
        NonlinearConstraint(lambda x: x.sum(), 1.0, 1.0),
        LinearConstraint(np.ones(3), 1.0, 1.0),
        LinearConstraint(sps.csr_array(np.ones((1, 3))), 1.0, 1.0),
    ],
    ids=range(4),
)
@pytest.mark.parametrize("method", METHODS)
def test_the_nearest_point_of_a_plane(method, equation):
    found = minimize(distance, START, method=method, constraints=[equation])
    np.testing.assert_allclose(found.x, TARGET - 4.0 / 3.0, atol=1e-3)


@pytest.mark.parametrize("method", EXACT)
def test_constraints_of_trees_that_give_trees(method):
    f = lambda p: (p["a"] - 3.0) ** 2 + ((p["b"] - 2.0) ** 2).sum()
    both = NonlinearConstraint(
        lambda p: {"sum": p["a"] + p["b"].sum(), "size": p["b"] ** 2}, [4.0, -1.0, -1.0], [4.0, 0.25, 9.0]
    )
    found = minimize(f, {"a": 1.0, "b": np.array([0.1, 0.2])}, method=method, constraints=both)
    np.testing.assert_allclose(
        found.x["b"], [0.5, 1.25], atol=1e-3
    )  # b[0] is at its bound, the others share what is left
    np.testing.assert_allclose(found.x["a"], 2.25, atol=1e-3)


@pytest.mark.parametrize("compile", ["auto", False])
def test_derivatives_of_constraints_are_exact(compile):
    n = 150
    variables = Variables(np.linspace(0.5, 1.5, n))
    c = lambda x: x[1:] ** 3 * x[:-1]
    (made,) = make_constraints({"type": "ineq", "fun": c}, variables, compile, "auto")
    made.differentiate(True)
    x, rng = np.linspace(-1.0, 1.0, n), np.random.default_rng(0)
    handed = made.as_nonlinear()
    J = handed.jac(x)
    assert sps.issparse(J)
    assert J.nnz == 2 * (n - 1)
    np.testing.assert_allclose(J.toarray(), wg.jacobian(c)(x), rtol=1e-12)
    w, p = rng.standard_normal(n - 1), rng.standard_normal(n)
    H = np.einsum("i,ijk->jk", w, wg.jacobian(wg.jacobian(c))(x))
    np.testing.assert_allclose(handed.hess(x, w) @ p, H @ p, rtol=1e-10, atol=1e-12)
    (row,) = made.as_dicts()
    np.testing.assert_allclose(row["jac"](x), J.toarray())


OTHERS = [
    [],
    [LinearConstraint(np.ones((1, 150)), -np.inf, 100.0)],
    [{"type": "ineq", "fun": lambda x: 100.0 - x.sum()}],
]


@pytest.mark.parametrize("others", OTHERS, ids=range(len(OTHERS)))
def test_sparse_jacobians_go_to_trust_constr(others):
    f, x0 = lambda x: ((x - 2.0) ** 2).sum(), np.full(150, 0.5)
    pairs = NonlinearConstraint(lambda x: x[1:] ** 2 + x[:-1] ** 2, -np.inf, 1.5)
    found = minimize(f, x0, method="trust-constr", constraints=[pairs, *others], bounds=(0.0, 3.0))
    assert "constraint 0: Jacobian sparse, 298 of 149 x 150, 2 colours, native code" in found.how
    assert found.constr_violation < 1e-6
    dense = minimize(f, x0, method="SLSQP", constraints=[pairs, *others], bounds=(0.0, 3.0))
    assert "constraint 0: Jacobian dense" in dense.how
    np.testing.assert_allclose(found.fun, dense.fun, rtol=1e-3)


def test_a_constraint_with_control_flow_runs_by_python_and_says_so():
    c = lambda x: 1.0 - (x**2).sum() if x[0] > -5.0 else x[0]
    found = minimize(distance, START, constraints={"type": "ineq", "fun": c})
    np.testing.assert_allclose(found.x, TARGET / 3.0, atol=1e-4)
    assert "constraint 0: Jacobian dense, by Python; constraint 0 was not compiled: TrackedValueError" in found.how


@pytest.mark.parametrize(
    ("constraint", "kind", "match"),
    [
        (
            NonlinearConstraint(lambda x: x, np.zeros(2), 1.0),
            ValueError,
            r"Constraint 0 has the wrong shape: it has 3 elements.*\(2,\)",
        ),
        (
            NonlinearConstraint(lambda x: x.sum(), 0.0, np.ones(3)),
            ValueError,
            r"wrong shape: it has 1 elements.*upper bound the shape",
        ),
        (NonlinearConstraint(lambda x: x, 1.0, 0.0), ValueError, "cannot be fulfilled"),
        (LinearConstraint(np.ones((2, 4)), 0.0, 1.0), ValueError, "its matrix is 2 x 4, and x0 has 3 elements"),
        ({"type": "ineq", "fun": lambda x: np.log(x - 1.0)}, ValueError, "Constraint 0 is nan at x0"),
        ({"type": "le", "fun": distance}, ValueError, "needs 'type', one of"),
        ({"type": "eq"}, ValueError, "and 'fun'"),
        ({"type": "eq", "fun": 3.0}, TypeError, "Constraint 0 is a function, and not a float"),
        ({"type": "eq", "fun": distance, "jac": distance}, ValueError, r"has \['jac'\].*derivatives are computed"),
        (NonlinearConstraint(distance, 0.0, 1.0, jac=lambda x: x), ValueError, "has jac or hess"),
        ([{"type": "eq", "fun": distance}, distance], TypeError, "Constraint 1 is a function"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", EXACT)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_bad_constraints(constraint, kind, match, method):
    with pytest.raises(kind, match=match):
        minimize(distance, START, method=method, constraints=constraint)
