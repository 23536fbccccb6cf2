"""Problems of Moré, Garbow and Hillstrom: exact sparse derivatives need no more iterations than derivatives written by
hand.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sps

from wengert.optimize import least_squares, minimize


class Rosenbrock:
    """Extended Rosenbrock: pairs of variables."""

    start = np.tile([-1.2, 1.0], 60)
    solution = np.ones(120)

    def residual(self, x):
        return np.concatenate([10.0 * (x[1::2] - x[::2] ** 2), 1.0 - x[::2]])

    def jacobian(self, x):
        n, k = x.size, np.arange(x.size // 2)
        J = np.zeros((n, n))
        J[k, 2 * k], J[k, 2 * k + 1], J[k + n // 2, 2 * k] = -20.0 * x[::2], 10.0, -1.0
        return J

    def second(self, x, r):
        d = np.zeros(x.size)
        d[::2] = -20.0 * r[: x.size // 2]
        return np.diag(d)


class Powell:
    """Extended Powell singular: groups of four, with a singular Hessian at the solution."""

    start = np.tile([3.0, -1.0, 0.0, 1.0], 30)
    solution = np.zeros(120)

    def residual(self, x):
        a, b, c, d = x[::4], x[1::4], x[2::4], x[3::4]
        return np.concatenate([a + 10.0 * b, np.sqrt(5.0) * (c - d), (b - 2.0 * c) ** 2, np.sqrt(10.0) * (a - d) ** 2])

    def jacobian(self, x):
        m, k = x.size // 4, np.arange(x.size // 4)
        a, b, c, d = x[::4], x[1::4], x[2::4], x[3::4]
        J = np.zeros((x.size, x.size))
        J[k, 4 * k], J[k, 4 * k + 1] = 1.0, 10.0
        J[k + m, 4 * k + 2], J[k + m, 4 * k + 3] = np.sqrt(5.0), -np.sqrt(5.0)
        J[k + 2 * m, 4 * k + 1], J[k + 2 * m, 4 * k + 2] = 2.0 * (b - 2.0 * c), -4.0 * (b - 2.0 * c)
        J[k + 3 * m, 4 * k], J[k + 3 * m, 4 * k + 3] = np.sqrt(40.0) * (a - d), -np.sqrt(40.0) * (a - d)
        return J

    def second(self, x, r):
        m, S = x.size // 4, np.zeros((x.size, x.size))
        for k in range(m):
            p, q = r[2 * m + k], np.sqrt(40.0) * r[3 * m + k]
            S[4 * k + 1 : 4 * k + 3, 4 * k + 1 : 4 * k + 3] += p * np.array([[2.0, -4.0], [-4.0, 8.0]])
            S[np.ix_([4 * k, 4 * k + 3], [4 * k, 4 * k + 3])] += q * np.array([[1.0, -1.0], [-1.0, 1.0]])
        return S


class Broyden:
    """Broyden tridiagonal."""

    start = np.full(120, -1.0)
    solution = None

    def residual(self, x):
        padded = np.concatenate([np.zeros(1), x, np.zeros(1)])
        return (3.0 - 2.0 * x) * x - padded[:-2] - 2.0 * padded[2:] + 1.0

    def jacobian(self, x):
        n = x.size
        return np.diag(3.0 - 4.0 * x) - np.diag(np.ones(n - 1), -1) - 2.0 * np.diag(np.ones(n - 1), 1)

    def second(self, x, r):
        return np.diag(-4.0 * r)


class Wood:
    """Wood: groups of four."""

    start = np.tile([-3.0, -1.0], 20)
    solution = np.ones(40)

    def residual(self, x):
        a, b, c, d = x[::4], x[1::4], x[2::4], x[3::4]
        first = [10.0 * (b - a**2), 1.0 - a, np.sqrt(90.0) * (d - c**2), 1.0 - c]
        return np.concatenate([*first, np.sqrt(10.0) * (b + d - 2.0), (b - d) / np.sqrt(10.0)])

    def jacobian(self, x):
        m, k = x.size // 4, np.arange(x.size // 4)
        J = np.zeros((6 * m, x.size))
        J[k, 4 * k], J[k, 4 * k + 1], J[k + m, 4 * k] = -20.0 * x[::4], 10.0, -1.0
        J[k + 2 * m, 4 * k + 2], J[k + 2 * m, 4 * k + 3], J[k + 3 * m, 4 * k + 2] = (
            -2.0 * np.sqrt(90.0) * x[2::4],
            np.sqrt(90.0),
            -1.0,
        )
        J[k + 4 * m, 4 * k + 1] = J[k + 4 * m, 4 * k + 3] = np.sqrt(10.0)
        J[k + 5 * m, 4 * k + 1], J[k + 5 * m, 4 * k + 3] = 1.0 / np.sqrt(10.0), -1.0 / np.sqrt(10.0)
        return J

    def second(self, x, r):
        m, d = x.size // 4, np.zeros(x.size)
        d[::4], d[2::4] = -20.0 * r[:m], -2.0 * np.sqrt(90.0) * r[2 * m : 3 * m]
        return np.diag(d)


PROBLEMS = [Rosenbrock(), Powell(), Broyden(), Wood()]
METHODS = ["Newton-CG", "trust-ncg", "trust-krylov", "trust-exact"]
name = lambda problem: type(problem).__name__

# On Wood the number of iterations of two methods is decided by rounding, near the saddle: if the variables are
# permuted, Newton-CG takes 400 to 1600 (its limit) at n = 8 with derivatives written by hand, and as many with ours;
# trust-exact 47 to 78 at n = 40. There is nothing to compare: for trust-exact the solution is, and Newton-CG may not
# reach it either way.
UNREPEATABLE = [("Wood", "Newton-CG"), ("Wood", "trust-exact")]
PAIRS = [(problem, method) for problem in PROBLEMS for method in METHODS if (name(problem), method) not in UNREPEATABLE]


def by_hand(problem):
    """Value, gradient and Hessian of the sum of squares."""

    def value(x):
        return np.sum(problem.residual(x) ** 2)

    def gradient(x):
        return 2.0 * problem.jacobian(x).T @ problem.residual(x)

    def hessian(x):
        J = problem.jacobian(x)
        return 2.0 * (J.T @ J + problem.second(x, problem.residual(x)))

    return value, gradient, hessian


@pytest.mark.parametrize("problem", PROBLEMS, ids=name)
def test_what_was_written_by_hand_is_right(problem):
    value, gradient, hessian = by_hand(problem)
    x = problem.start + np.random.default_rng(0).uniform(-0.1, 0.1, problem.start.size)
    v = np.random.default_rng(1).standard_normal(x.size)
    along = lambda f: (f(x + 1e-5 * v) - f(x - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(along(value), gradient(x) @ v, rtol=1e-6)
    np.testing.assert_allclose(along(gradient), hessian(x) @ v, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize(("problem", "method"), PAIRS, ids=[f"{name(problem)}-{method}" for problem, method in PAIRS])
def test_no_more_iterations_than_by_hand(problem, method):
    value, gradient, hessian = by_hand(problem)
    tight = {"tol": 1e-8}
    expected = scipy.optimize.minimize(value, problem.start, jac=gradient, hess=hessian, method=method, **tight)
    found = minimize(lambda x: (problem.residual(x) ** 2).sum(), problem.start, method=method, sparse=True, **tight)
    assert found.success == expected.success
    assert found.nit <= expected.nit
    assert found.nfev <= expected.nfev
    assert "Hessian sparse" in found.how
    assert found.fun < 1e-7
    if problem.solution is not None:
        np.testing.assert_allclose(found.x, problem.solution, atol=1e-2 if name(problem) == "Powell" else 1e-5)


def test_wood_by_trust_exact():
    problem = Wood()
    found = minimize(
        lambda x: (problem.residual(x) ** 2).sum(), problem.start, method="trust-exact", sparse=True, tol=1e-8
    )
    assert found.success
    np.testing.assert_allclose(found.x, problem.solution, atol=1e-5)


@pytest.mark.parametrize("problem", PROBLEMS, ids=name)
def test_no_more_evaluations_in_least_squares_than_by_hand(problem):
    expected = scipy.optimize.least_squares(
        problem.residual, problem.start, jac=lambda x: sps.csr_array(problem.jacobian(x))
    )
    found = least_squares(problem.residual, problem.start, sparse=True)
    assert "Jacobian sparse" in found.how
    assert sps.issparse(found.jac)
    assert found.nfev <= expected.nfev
    assert found.njev <= expected.njev
    assert found.success
    assert found.cost < 1e-7
