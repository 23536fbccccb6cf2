"""Which solvers run inside, on what, and what is said when they fail."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.fresh_python import run_python

import wengert as wg
from wengert import implicit
from wengert.core.array import Array
from wengert.core.errors import GradientError, TrackedValueError
from wengert.implicit.solvers import KRYLOV, MINIMISERS, ROOTS

RNG = np.random.default_rng(3)
A = RNG.standard_normal((6, 6))
SYMMETRIC, GENERAL = A @ A.T + np.eye(6), A + 6.0 * np.eye(6)
B = RNG.standard_normal(6)


def square_root(a, **how):
    return implicit.root(lambda x, a: x**2 - a, np.array([1.5, 1.5]), a, **how).sum()


class TestLinearSolve:
    @pytest.mark.parametrize(
        "solver", [None, *KRYLOV, lambda matvec, b: np.linalg.solve(np.stack([*map(matvec, np.eye(6))], 1), b)]
    )
    def test_every_solver_gives_the_same_derivatives(self, solver):
        matrix = SYMMETRIC if solver in ("cg", "minres") else GENERAL
        options = {"rtol": 1e-13} if isinstance(solver, str) else {}

        def implicitly(s, b):
            return (implicit.linear_solve(lambda y: matrix @ y + s * y, b, solver, **options) ** 2).sum()

        def directly(s, b):
            return (np.linalg.solve(matrix + s * np.eye(6), b) ** 2).sum()

        for found, expected in zip(wg.grad(implicitly, (0, 1))(0.3, B), wg.grad(directly, (0, 1))(0.3, B), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-8)
        np.testing.assert_allclose(
            wg.hessian(lambda b: implicitly(0.3, b))(B), wg.hessian(lambda b: directly(0.3, b))(B), rtol=1e-7, atol=1e-9
        )

    def test_the_transpose_is_solved_with_the_transposed_product(self):
        transpose = wg.linear_transpose(
            lambda b: implicit.linear_solve(lambda y: GENERAL @ y, b, solver="gmres", rtol=1e-13), B
        )
        np.testing.assert_allclose(transpose(np.ones(6))[0], np.linalg.solve(GENERAL.T, np.ones(6)), rtol=1e-10)

    def test_trees(self):
        matvec = lambda y: {"u": 3.0 * y["u"] + y["v"], "v": 2.0 * y["v"] - y["u"].sum()}
        y = implicit.linear_solve(matvec, {"u": np.ones(2), "v": 1.0})
        np.testing.assert_allclose(matvec(y)["u"], np.ones(2))
        np.testing.assert_allclose(matvec(y)["v"], 1.0)

    def test_batches_of_right_hand_sides_and_of_matrices(self):
        rows, scales = RNG.standard_normal((4, 6)), np.array([0.1, 0.5, 1.0, 2.0])
        solve = lambda s, b: implicit.linear_solve(lambda y: GENERAL @ y + s * y, b)
        expected = [np.linalg.solve(GENERAL + s * np.eye(6), b) for s, b in zip(scales, rows, strict=True)]
        np.testing.assert_allclose(wg.vmap(solve)(scales, rows), expected, rtol=1e-12)
        np.testing.assert_allclose(
            wg.vmap(solve, in_axes=(None, 0))(0.5, rows), np.linalg.solve(GENERAL + 0.5 * np.eye(6), rows.T).T
        )
        np.testing.assert_allclose(
            wg.vmap(solve, in_axes=(0, None))(scales, B), [np.linalg.solve(GENERAL + s * np.eye(6), B) for s in scales]
        )
        custom = lambda matvec, b: np.linalg.solve(np.stack([*map(matvec, np.eye(6))], 1), b)
        by_custom = wg.vmap(lambda s, b: implicit.linear_solve(lambda y: GENERAL @ y + s * y, b, custom))
        np.testing.assert_allclose(by_custom(scales, rows), expected, rtol=1e-12)

    def test_without_a_matrix(self):
        n = 20_000
        matvec = lambda y, d: d * y - 0.4 * np.concatenate([y[1:], y[:1]]) - 0.4 * np.concatenate([y[-1:], y[:-1]])
        d, b = 1.5 + RNG.random(n), RNG.standard_normal(n)
        loss = lambda d, b: (implicit.linear_solve(lambda y: matvec(y, d), b, "cg", rtol=1e-13) ** 2).sum()
        v = RNG.standard_normal(n)
        slope = (loss(d + 1e-5 * v, b) - loss(d - 1e-5 * v, b)) / 2e-5
        np.testing.assert_allclose(wg.grad(loss)(d, b) @ v, slope, rtol=1e-7)

    def test_float32_stays(self):
        assert implicit.linear_solve(lambda y: np.float32(2) * y, np.ones(3, np.float32)).dtype == np.float32

    @pytest.mark.parametrize("solver", [None, "gmres", "cg"])
    def test_a_singular_system(self, solver):
        singular = np.ones((3, 3))
        with pytest.raises((np.linalg.LinAlgError, implicit.ConvergenceError), match="singular"):
            implicit.linear_solve(lambda y: singular @ y, np.array([1.0, 2.0, 3.0]), solver)

    def test_a_function_that_is_not_linear(self):
        with pytest.raises(ValueError, match="not linear"):
            implicit.linear_solve(lambda y: y + y**3, B)
        with pytest.raises(ValueError, match="not linear"):
            wg.grad(lambda a: implicit.linear_solve(lambda y: a * y + y**3, B).sum())(2.0)
        with pytest.raises(ValueError, match="adds a constant"):
            implicit.linear_solve(lambda y: y + 1.0, B)

    def test_a_solver_that_does_not_solve(self):
        with pytest.raises(implicit.ConvergenceError, match="did not solve the system"):
            implicit.linear_solve(lambda y: GENERAL @ y, B, lambda matvec, b: b)
        with pytest.raises(implicit.ConvergenceError, match="gmres did not solve"):
            implicit.linear_solve(lambda y: GENERAL @ y, B, "gmres", maxiter=1, restart=1)
        with pytest.raises(ValueError, match="no linear solver 'gauss'"):
            implicit.linear_solve(lambda y: y, B, "gauss")


class TestSolvers:
    @pytest.mark.parametrize(
        "solver", [None, "newton", *(m for m in ROOTS if "mixing" not in m and m != "diagbroyden")]
    )
    @pytest.mark.filterwarnings("ignore:An ill-conditioned matrix")  # of SciPy's, in the history that "anderson" keeps
    def test_roots_by_name(self, solver):
        np.testing.assert_allclose(wg.grad(square_root)(4.0, solver=solver), 0.5, rtol=1e-6)

    @pytest.mark.parametrize("solver", ["L-BFGS-B", "TNC", "SLSQP"])
    def test_methods_do_not_end_while_the_gradient_is_large(self, solver):
        rng = np.random.default_rng(0)
        for theta, matrix in [(rng.standard_normal(3), rng.standard_normal((3, 3))) for _ in range(8)]:
            f = lambda x, t, matrix=matrix: ((x - t) ** 4).sum() + np.cosh(matrix @ x).sum()
            found, expected = (implicit.argmin(f, np.zeros(3), theta, solver=s) for s in (solver, None))
            np.testing.assert_allclose(found, expected, atol=1e-5)

    @pytest.mark.parametrize("solver", [None, *MINIMISERS])
    def test_minima_by_name(self, solver):
        f = lambda a: implicit.argmin(lambda x, a: (x - a) ** 4 + x**2, np.float64(0.5), a, solver=solver, tol=1e-4)
        x = float(implicit.root(lambda x: 4 * (x - 2.0) ** 3 + 2 * x, 0.5))
        np.testing.assert_allclose(wg.grad(f)(2.0), 12 * (x - 2) ** 2 / (12 * (x - 2) ** 2 + 2), rtol=1e-3)

    @pytest.mark.parametrize("solver", [None, "newton", "hybr", lambda f, x: x * 0.0 + 0.7390851332151607])
    def test_fixed_points_by_name(self, solver):
        f = lambda a: implicit.fixed_point(lambda x, a: np.cos(a * x), 0.5, a, solver=solver)
        x = 0.7390851332151607
        np.testing.assert_allclose(wg.grad(f)(1.0), -x * np.sin(x) / (1 + np.sin(x)), rtol=1e-9)

    @pytest.mark.parametrize(
        "make", [wg.grad, lambda f: wg.grad(wg.grad(f)), lambda f: lambda a: wg.jvp(f, (a,), (1.0,)), wg.vmap]
    )
    def test_the_solver_sees_plain_numbers(self, make):
        seen = []

        def bisect(f, x0):
            seen.append((type(x0), type(f(x0))))
            return np.float64(2.0) if f(np.float64(2.0)) == 0 else np.float64(3.0)

        make(lambda a: implicit.root(lambda x, a: x**2 - a, np.float64(1.0), a, solver=bisect))(
            np.array([4.0, 9.0]) if make is wg.vmap else 4.0
        )
        assert seen
        assert not any(issubclass(kind, Array) for pair in seen for kind in pair)

    def test_a_custom_solver_with_more_to_say(self):
        @implicit.custom_root(lambda x, a: x**2 - a, has_aux=True)
        def heron(x, a, steps):
            for _ in range(steps):
                x = 0.5 * (x + a / x)
            return x, {"steps": steps}

        value, (slope, aux) = heron(1.0, 4.0, steps=40), wg.grad(heron, argnums=1, has_aux=True)(1.0, 4.0, steps=40)
        assert value == (2.0, {"steps": 40})
        assert aux == {"steps": 40}
        np.testing.assert_allclose(slope, 0.25)

    def test_a_solver_may_capture_what_its_equation_has(self):
        def f(a):
            return implicit.custom_root(lambda x, a: x**2 - a)(lambda x, number: a**0.5)(1.0, a)

        np.testing.assert_allclose([wg.grad(f)(4.0), wg.grad(wg.grad(f))(4.0)], [0.25, -1 / 32])

    def test_functions_may_change_what_they_are_given(self):
        @implicit.custom_root(lambda x, a: x * x - a)
        def heron(x, a):
            a /= 4.0
            for _ in range(50):
                x = 0.5 * (x + 4.0 * a / x)
            return x

        a = wg.tensor(np.array([4.0, 9.0]), requires_grad=True)
        heron(np.ones(2), a).sum().backward()
        np.testing.assert_allclose(a.grad.numpy(), [1 / 4, 1 / 6])
        assert a.tolist() == [4.0, 9.0]

        def equation(x, a):
            x *= x
            return x - a

        np.testing.assert_allclose(
            wg.jacrev(lambda a: implicit.root(equation, np.ones(2), a))(np.array([4.0, 9.0])), np.diag([1 / 4, 1 / 6])
        )

    def test_no_derivative_flows_to_the_start(self):
        assert wg.grad(lambda x0: implicit.root(lambda x: x**2 - 4.0, x0))(1.0) == 0.0

    def test_batches_of_starts(self):
        f = lambda x0: implicit.root(lambda x: x**2 - 4.0, x0)
        np.testing.assert_allclose(wg.vmap(f)(np.array([1.0, -1.0])), [2.0, -2.0])

    def test_many_unknowns(self):
        n = 3000
        f = lambda x, t: 3.0 * x + x**3 - 0.5 * np.concatenate([x[1:], x[:1]]) - t
        t, v = RNG.standard_normal((2, n))
        loss = lambda t: (implicit.root(f, np.zeros(n), t) ** 2).sum()
        np.testing.assert_allclose(wg.grad(loss)(t) @ v, (loss(t + 1e-5 * v) - loss(t - 1e-5 * v)) / 2e-5, rtol=1e-7)

    def test_a_compiled_equation(self):
        f = wg.compile(lambda x, a: x**2 - a)
        assert wg.grad(wg.grad(lambda a: implicit.root(f, 1.0, a)))(4.0) == pytest.approx(-1 / 32)

    def test_dead_masks_stay_at_second_order(self):
        f = lambda x, a: x - np.where(a > 0, a**2, np.sqrt(-np.abs(a)))
        a = wg.tensor(3.0, requires_grad=True)
        with np.errstate(invalid="ignore"):
            (first,) = wg.autograd.grad(implicit.root(f, 1.0, a), a, create_graph=True)
            (second,) = wg.autograd.grad(first, a)
        assert (first.item(), second.item()) == (6.0, 2.0)


class TestErrors:
    def test_solvers_that_do_not_converge(self):
        with pytest.raises(implicit.ConvergenceError, match="root did not converge"):
            implicit.root(lambda x: x**2 + 1.0, 0.7)
        with pytest.raises(implicit.ConvergenceError, match="fixed_point did not converge"):
            implicit.fixed_point(lambda x: 2.0 * x + 1.0, 0.7)
        with pytest.raises(implicit.ConvergenceError, match="argmin did not converge"):
            implicit.argmin(lambda x: (x**2 - 3.0 * x) ** 2, 0.1, solver=lambda f, x0: x0)
        with pytest.raises(implicit.ConvergenceError, match="singular system"):
            implicit.root(lambda x: x**2 - 1.0, 0.0)

    def test_a_function_without_a_minimum(self):
        with pytest.raises(implicit.ConvergenceError, match="singular system"):
            implicit.argmin(lambda x: x.sum(), np.zeros(2))

    def test_gmres_gives_up_after_a_bounded_number_of_steps(self):
        steps = []

        def shifted(y):  # a cycle, on which GMRES makes no progress before its last step
            steps.append(1)
            return np.roll(y, 1)

        with pytest.raises(implicit.ConvergenceError, match="gmres did not solve"):
            implicit.linear_solve(shifted, np.eye(300)[0], "gmres", restart=20)
        assert len(steps) < 3500

    def test_a_singular_derivative(self):
        equations = lambda x, a: np.stack([x[0] + x[1] - a, 2.0 * (x[0] + x[1] - a)])
        solve = lambda a: implicit.root(equations, np.array([0.5, 0.5]), a, solver="lm").sum()
        assert solve(1.0) == pytest.approx(1.0)
        with pytest.raises(np.linalg.LinAlgError, match="derivative of the equation of root with .* is singular"):
            wg.grad(solve)(1.0)

    def test_wrong_shapes_dtypes_and_names(self):
        with pytest.raises(ValueError, match="2 unknowns and 1 equations"):
            implicit.root(lambda x: x[:1], np.ones(2))
        with pytest.raises(TypeError, match=r"given a ndarray, at .*test_solvers.*lambda y: A @ y"):
            implicit.linear_solve(GENERAL, B)
        with pytest.raises(TypeError, match="must be real"):
            implicit.root(lambda x: x, np.ones(2) + 0j)
        with pytest.raises(TypeError, match="structure"):
            implicit.fixed_point(lambda x: (x, x), 1.0)
        for solve in (implicit.root, implicit.argmin, implicit.fixed_point):
            with pytest.raises(ValueError, match="no solver 'nope'"):
                solve(lambda x: x * x, 1.0, solver="nope")

    def test_a_batch_that_is_captured(self):
        a = np.array([1.0, 4.0])
        found = lambda a: implicit.root(lambda x: x**2 - a, 1.0)
        np.testing.assert_allclose(wg.vmap(found)(a), np.sqrt(a))
        np.testing.assert_allclose(wg.vmap(wg.grad(found))(a), 0.5 / np.sqrt(a))
        np.testing.assert_allclose(wg.vmap(lambda a: implicit.argmin(lambda x: (x - a) ** 2, 1.0))(a), a)
        np.testing.assert_allclose(wg.vmap(lambda a: implicit.fixed_point(lambda x: (x + a / x) / 2, 1.0))(a), [1, 2])
        with pytest.raises(ValueError, match="empty batch"):
            wg.vmap(square_root)(np.zeros(0))

    def test_gradients_that_would_be_lost(self):
        solve = implicit.custom_root(lambda x: x**3 - 8.0)
        with pytest.raises(GradientError, match="would be lost"):
            wg.grad(lambda a: solve(lambda x: 2.0 + 0.0 * a)(1.0))(3.0)
        with pytest.raises(GradientError, match="by keyword"):
            wg.grad(lambda a: solve(lambda x, a: a)(1.0, a=a))(2.0)
        with pytest.raises(TrackedValueError):
            wg.grad(lambda a: implicit.root(lambda x: x - float(a), 1.0))(2.0)


def test_no_reference_cycles():
    def run():
        wg.grad(square_root)(4.0)
        a = wg.tensor(4.0, requires_grad=True)
        square_root(a).backward()
        implicit.linear_solve(lambda y: a * y, B, "gmres").sum().backward()

    run()
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            run()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_scipy_is_imported_by_the_first_solve():
    code = "import sys, wengert.implicit; print('scipy' in sys.modules, 'llvmlite' in sys.modules)"
    assert run_python(code).stdout.split() == [
        "False",
        "False",
    ]


def test_a_list_of_numbers_is_a_vector():
    found = wg.implicit.root(lambda x, a: [x[0] ** 2 - a, x[1] - x[0]], [1.0, 1.0], 4.0)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, [2.0, 2.0])
    np.testing.assert_allclose(wg.implicit.argmin(lambda x: ((x - 3.0) ** 2).sum(), [0, 0]), [3.0, 3.0])


def bratu(u, force):
    """The discrete u'' - u**3 + force, zero at both ends: too ill-conditioned for a Krylov method, and sparse."""
    r = np.zeros_like(u)
    r[1:-1] = u[2:] - 2.0 * u[1:-1] + u[:-2]
    r[0] = u[1] - 2.0 * u[0]
    r[-1] = u[-2] - 2.0 * u[-1]
    return r * (u.size + 1) ** 2 - u**3 + force


@pytest.mark.parametrize("n", [600, 3000])
def test_large_sparse_equations_are_factored(n):
    force, direction = np.ones(n), np.sin(np.arange(n))
    total = lambda force: implicit.root(bratu, np.zeros(n), force).sum()
    np.testing.assert_allclose(bratu(implicit.root(bratu, np.zeros(n), force), force), 0.0, atol=1e-7)
    forward, backward = wg.jvp(total, (force,), (direction,))[1], wg.grad(total)(force)
    np.testing.assert_allclose(backward @ direction, forward, rtol=1e-7)
    wide = 1e-2 * force
    differences = (total(force + wide) - total(force - wide)) / 2e-2
    np.testing.assert_allclose(backward.sum(), differences, rtol=1e-6)


def test_a_large_sparse_system_without_a_solution_says_so():
    singular = lambda x, b: np.concatenate([x[:1] - x[1:2], x[:-1] - x[1:]]) - b
    with pytest.raises(implicit.ConvergenceError, match="singular"):
        implicit.root(singular, np.zeros(600), np.ones(600))
