"""Derivatives of solutions, by the implicit function theorem, against differences of the solution and against unrolled
solvers.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import implicit

RNG = np.random.default_rng(7)
X, Y = RNG.standard_normal((12, 4)), RNG.standard_normal(12)
M = RNG.standard_normal((3, 3)) / 4


def ridge(theta):
    """The weights of a ridge regression by conjugate gradients, without the matrix."""
    return implicit.linear_solve(
        lambda w: X.T @ (X @ w) + np.exp(theta[:4]) * w, X.T @ (Y + theta[4]), solver="cg", rtol=1e-14
    )


def nonlinear(theta):
    """A system of three equations, as trees."""

    def f(x, theta):
        u, v = x["u"], x["v"]
        return {"u": u + 0.2 * np.sin(u[::-1]) * v - theta[:2], "v": v**3 + v + u.sum() - theta[2]}

    x = implicit.root(f, {"u": np.zeros(2), "v": 0.5}, theta)
    return np.concatenate([x["u"], x["v"][None]])


def fixed(theta):
    return implicit.fixed_point(lambda x, theta: np.tanh(M @ x + theta), np.zeros(3), theta)


def minimum(theta):
    def f(x, theta):
        return (np.cosh(x - theta[:3])).sum() + 0.5 * (theta[3] * x**2).sum() + 0.1 * x[0] * x[1]

    return implicit.argmin(f, np.zeros(3), theta)


PROBLEMS = {
    "ridge": (ridge, np.array([0.1, -0.2, 0.3, 0.0, 0.4])),
    "root": (nonlinear, np.array([0.3, -0.4, 0.9])),
    "fixed point": (fixed, np.array([0.1, -0.3, 0.5])),
    "argmin": (minimum, np.array([0.3, -0.5, 0.8, 1.3])),
}
EACH = pytest.mark.parametrize(("solve", "theta"), PROBLEMS.values(), ids=PROBLEMS)


def differences(f, x, step=1e-4):
    """Central differences with an error of order six."""
    columns = []
    for e in np.eye(len(x)) * step:
        d = [(f(x + k * e) - f(x - k * e)) for k in (1, 2, 3)]
        columns.append((45 * d[0] - 9 * d[1] + d[2]) / (60 * step))
    return np.stack(columns, axis=-1)


def tape_jacobian(f, theta):
    """Rows by the user's tape."""
    rows = []
    for i in range(len(f(theta))):
        x = wg.tensor(theta, requires_grad=True)
        f(x)[i].backward()
        rows.append(x.grad.numpy())
    return np.stack(rows)


FIRST = {"forward": wg.jacfwd, "reverse": wg.jacrev, "tape": lambda f: lambda theta: tape_jacobian(f, theta)}


@EACH
@pytest.mark.parametrize("mode", FIRST)
def test_first_order_equals_differences_of_the_solution(solve, theta, mode):
    np.testing.assert_allclose(FIRST[mode](solve)(theta), differences(solve, theta, 1e-2), rtol=0, atol=1e-7)


SECOND = {
    "forward over forward": lambda f: wg.jacfwd(wg.jacfwd(f)),
    "forward over reverse": lambda f: wg.jacfwd(wg.jacrev(f)),
    "reverse over forward": lambda f: wg.jacrev(wg.jacfwd(f)),
    "reverse over reverse": lambda f: wg.jacrev(wg.jacrev(f)),
}


@EACH
@pytest.mark.parametrize("mode", SECOND)
def test_second_order_equals_differences_of_the_first(solve, theta, mode):
    expected = differences(wg.jacrev(solve), theta, 1e-2)
    np.testing.assert_allclose(SECOND[mode](solve)(theta), expected, rtol=0, atol=1e-7)


@EACH
def test_second_order_on_the_tape(solve, theta):
    weights = np.linspace(0.5, 1.5, len(solve(theta)))
    x = wg.tensor(theta, requires_grad=True)
    (first,) = wg.autograd.grad((weights * solve(x) ** 2).sum(), x, create_graph=True)
    rows = [wg.autograd.grad(first[i], x, retain_graph=True)[0].numpy() for i in range(len(theta))]
    np.testing.assert_allclose(
        rows, wg.hessian(lambda theta: (weights * solve(theta) ** 2).sum())(theta), rtol=1e-9, atol=1e-10
    )


@EACH
def test_third_order_in_mixed_modes(solve, theta):
    f = lambda theta: (solve(theta) ** 2).sum()
    third = wg.jacfwd(wg.jacrev(wg.grad(f)))(theta)
    np.testing.assert_allclose(third, differences(wg.hessian(f), theta, 1e-2), rtol=1e-6, atol=1e-7)


@EACH
def test_taylor_coefficients(solve, theta):
    direction = np.linspace(-0.5, 0.5, len(theta))
    along = lambda s: (solve(theta + s * direction)).sum()
    terms = wg.taylor(along, 0.0, 3)
    nested = [along, wg.grad(along), wg.grad(wg.grad(along)), wg.grad(wg.grad(wg.grad(along)))]
    np.testing.assert_allclose(
        terms, [f(0.0) / c for f, c in zip(nested, (1, 1, 2, 6), strict=True)], rtol=1e-8, atol=1e-10
    )


@EACH
def test_batches_are_solved_one_by_one(solve, theta):
    batch = theta + 0.1 * RNG.standard_normal((3, len(theta)))
    np.testing.assert_allclose(wg.vmap(solve)(batch), [solve(row) for row in batch], rtol=1e-10, atol=1e-12)
    for derivative in (wg.jacfwd, wg.jacrev, lambda f: wg.jacfwd(wg.jacrev(f))):
        np.testing.assert_allclose(
            wg.vmap(derivative(solve))(batch), [derivative(solve)(row) for row in batch], rtol=1e-7, atol=1e-9
        )
    outside = wg.grad(lambda batch: (wg.vmap(solve)(batch) ** 2).sum())(batch)
    np.testing.assert_allclose(
        outside, [wg.grad(lambda t: (solve(t) ** 2).sum())(row) for row in batch], rtol=1e-7, atol=1e-9
    )


def test_nested_batches():
    theta = 0.1 * RNG.standard_normal((2, 3, 3))
    expected = [[fixed(t) for t in row] for row in theta]
    np.testing.assert_allclose(wg.vmap(wg.vmap(fixed))(theta), expected, atol=1e-12)
    inner = wg.vmap(wg.grad(lambda row: wg.vmap(fixed)(row).sum()))(theta)
    np.testing.assert_allclose(
        inner, [[wg.grad(lambda t: fixed(t).sum())(t) for t in row] for row in theta], atol=1e-10
    )


def unrolled(theta):
    x = np.zeros(3)
    for _ in range(200):
        x = np.tanh(M @ x + theta)
    return x


@pytest.mark.parametrize("derivative", [wg.jacfwd, wg.jacrev, SECOND["reverse over reverse"]])
def test_unrolling_the_solver_gives_the_same(derivative):
    theta = np.array([0.1, -0.3, 0.5])
    np.testing.assert_allclose(derivative(fixed)(theta), derivative(unrolled)(theta), rtol=1e-10, atol=1e-12)


class TestCapturedValues:
    """Values that a function captures are as good as arguments."""

    def solutions(self):
        yield lambda a: implicit.root(lambda x: x**3 + x - a, 0.5)
        yield lambda a: implicit.fixed_point(lambda x: np.cos(a * x), 0.5)
        yield lambda a: implicit.argmin(lambda x: (x - a) ** 4 + x**2, 0.5)
        yield lambda a: implicit.linear_solve(lambda x: (2.0 + a**2) * x, np.float64(3.0))
        yield implicit_by_captured_solver

    @pytest.mark.parametrize("i", range(5))
    def test_in_transforms(self, i):
        f = list(self.solutions())[i]
        slope = differences(lambda a: f(a[0]), np.array([0.7]), 1e-2)
        np.testing.assert_allclose(wg.grad(f)(0.7), slope[0], rtol=1e-8)
        np.testing.assert_allclose(wg.jvp(f, (0.7,), (1.0,))[1], slope[0], rtol=1e-8)
        np.testing.assert_allclose(
            wg.grad(wg.grad(f))(0.7), differences(lambda a: wg.grad(f)(a[0]), np.array([0.7]), 1e-2)[0], rtol=1e-7
        )

    @pytest.mark.parametrize("i", range(5))
    def test_on_the_tape(self, i):
        f = list(self.solutions())[i]
        a = wg.tensor(0.7, requires_grad=True)
        (first,) = wg.autograd.grad(f(a), a, create_graph=True)
        (second,) = wg.autograd.grad(first, a, create_graph=True)
        (third,) = wg.autograd.grad(second, a)
        expected = wg.grad(f)(0.7), wg.grad(wg.grad(f))(0.7), wg.grad(wg.grad(wg.grad(f)))(0.7)
        np.testing.assert_allclose([first.item(), second.item(), third.item()], expected, rtol=1e-8)

    def test_a_value_and_what_it_was_made_of(self):
        a = wg.tensor(0.7, requires_grad=True)
        h = a * a
        x = implicit.root(lambda x: x**3 + h * x - a, 0.5)
        (first,) = wg.autograd.grad(x, a, create_graph=True)
        (second,) = wg.autograd.grad(first, a)
        f = lambda a: implicit.root(lambda x: x**3 + a * a * x - a, 0.5)
        np.testing.assert_allclose(
            [first.item(), second.item()], [wg.grad(f)(0.7), wg.grad(wg.grad(f))(0.7)], rtol=1e-9
        )

    def test_of_two_transforms(self):
        f = lambda a, b: implicit.root(lambda x: x**3 + a * x - b, 0.5)
        mixed = wg.grad(lambda a: wg.grad(lambda b: f(a, b))(1.2))(0.7)
        swapped = wg.grad(lambda b: wg.grad(lambda a: f(a, b))(0.7))(1.2)
        x = f(0.7, 1.2)
        slope = 3 * x**2 + 0.7  # dx/db = 1/slope, dx/da = -x/slope
        np.testing.assert_allclose([mixed, swapped], -(1 + 6 * x * (-x / slope)) / slope**2, rtol=1e-9)


def implicit_by_captured_solver(a):
    @implicit.custom_root(lambda x: x**3 + a * x - 1.0)
    def bisected(x):
        low, high = 0.0, 2.0
        for _ in range(60):
            x = 0.5 * (low + high)
            low, high = (low, x) if x**3 + a * x - 1.0 > 0 else (x, high)
        return x

    return bisected(0.5)


class TestAroundOtherTransforms:
    def bilevel(self, theta):
        """A minimum whose function has a fixed point inside."""
        inner = lambda x: implicit.fixed_point(lambda y, x, theta: 0.5 * np.tanh(y + x * theta), 0.1, x, theta)
        return implicit.argmin(lambda x: (x - theta) ** 2 + inner(x) ** 2, 0.3)

    def test_a_solution_inside_a_solution(self):
        slope = differences(lambda t: self.bilevel(t[0]), np.array([0.8]), 1e-2)[0]
        np.testing.assert_allclose(
            [wg.grad(self.bilevel)(0.8), wg.jvp(self.bilevel, (0.8,), (1.0,))[1]], slope, rtol=1e-8
        )
        curvature = differences(lambda t: wg.grad(self.bilevel)(t[0]), np.array([0.8]), 1e-2)[0]
        np.testing.assert_allclose(wg.grad(wg.grad(self.bilevel))(0.8), curvature, rtol=1e-7)

    @EACH
    def test_under_checkpoint_and_as_a_linear_function(self, solve, theta):
        f = lambda theta: (solve(theta) ** 2).sum()
        np.testing.assert_allclose(wg.grad(wg.checkpoint(f))(theta), wg.grad(f)(theta), rtol=1e-12)
        v = np.linspace(-1.0, 1.0, len(theta))
        np.testing.assert_allclose(wg.linearize(solve, theta)[1](v), wg.jacfwd(solve)(theta) @ v, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(wg.grad(lambda v: wg.jvp(f, (theta,), (v,))[1])(v), wg.grad(f)(theta), rtol=1e-9)

    @EACH
    def test_transforms_inside_the_tape(self, solve, theta):
        x = wg.tensor(theta, requires_grad=True)
        f = lambda theta: (solve(theta) ** 2).sum()
        inner = wg.grad(lambda s: f(s * x))(1.0)
        inner.backward()
        np.testing.assert_allclose(
            x.grad.numpy(), wg.grad(lambda x: wg.grad(lambda s: f(s * x))(1.0))(theta), rtol=1e-8
        )

    @EACH
    def test_batches_on_the_tape_at_second_order(self, solve, theta):
        batch = np.stack([theta, theta + 0.1])
        f = lambda batch: (wg.vmap(solve)(batch) ** 2).sum()
        x = wg.tensor(batch, requires_grad=True)
        (first,) = wg.autograd.grad(f(x), x, create_graph=True)
        (second,) = wg.autograd.grad((first**2).sum(), x)
        expected = wg.grad(lambda batch: (wg.grad(f)(batch) ** 2).sum())(batch)
        np.testing.assert_allclose(second.numpy(), expected, rtol=1e-7, atol=1e-9)

    def test_what_is_changed_before_the_walk_back_does_not_matter(self):
        scale, captured, right = np.array([2.0]), np.array([3.0]), np.array([5.0])
        a = wg.tensor(np.array([4.0]), requires_grad=True)
        x = implicit.root(lambda x, a, scale: captured * scale * x - a, np.array([1.0]), a, scale)
        y = implicit.linear_solve(lambda y: a * captured * y, right)
        z = implicit.linear_solve(lambda y: captured * y, a, "cg")
        scale[:], captured[:], right[:] = 7.0, 11.0, 13.0
        for value, slope in ((x, 1 / 6), (y, -5.0 / 3.0 / 16.0), (z, 1 / 3)):
            a.grad = None
            value.sum().backward()
            np.testing.assert_allclose(a.grad.numpy(), slope)
