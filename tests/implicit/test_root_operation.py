"""Solutions of equations inside compiled functions: native loops, and derivatives by the implicit function theorem."""

import numpy as np
import pytest

import wengert as wg
from wengert import implicit

X0 = np.array([0.5, 0.7])
RNG = np.random.default_rng(0)
M = RNG.normal(size=(12, 12))
SYMMETRIC, GENERAL, B = M @ M.T + 12 * np.eye(12), M + 6 * np.eye(12), RNG.normal(size=12)


def cubic(x, a):
    return x**3 + a * x - 1.0 + 0.1 * x[::-1]


def pair(s, a):
    return {"x": s["x"] ** 2 - a, "y": s["y"] - s["x"]}


SOLUTIONS = {
    "root": lambda a: implicit.root(cubic, X0, a).sum(),
    "captured": lambda a: implicit.root(lambda x: cubic(x, a), X0).sum(),
    "fixed_point": lambda a: implicit.fixed_point(lambda x, a: np.cos(x * a) / 2, X0, a / 4).sum(),
    "fixed_point by newton": lambda a: implicit.fixed_point(lambda x, a: np.cos(x * a), X0, a, solver="newton").sum(),
    "argmin": lambda a: implicit.argmin(lambda x, a: ((x - a) ** 2 + np.exp(-a * x)).sum(), X0, a).sum(),
    "tree": lambda a: implicit.root(lambda s: pair(s, a), {"x": 1.0, "y": np.ones(2)})["y"].sum(),
    "cg": lambda a: implicit.linear_solve(lambda y: SYMMETRIC @ y + a * y, a * B, "cg")[:3].sum(),
    "bicgstab": lambda a: implicit.linear_solve(lambda y: GENERAL @ y + a * y, a * B, "bicgstab")[:3].sum(),
    "gmres": lambda a: implicit.linear_solve(lambda y: GENERAL @ y + a * y, a * B, "gmres")[:3].sum(),
    "dense": lambda a: implicit.linear_solve(lambda y: GENERAL[:3, :3] @ y + a * y, a * B[:3]).sum(),
}
MODES = {
    "value": lambda f: f,
    "grad": wg.grad,
    "jvp": lambda f: lambda a: wg.jvp(f, (a,), (1.0,)),
    "second": lambda f: wg.grad(wg.grad(f)),
    "third": lambda f: lambda a: wg.jvp(wg.grad(wg.grad(f)), (a,), (1.0,))[1],
    "vmap": lambda f: lambda a: wg.vmap(f)(a * np.array([1.0, 1.2, 0.7])),
    "vmap of grad": lambda f: lambda a: wg.vmap(wg.grad(f))(a * np.array([1.0, 1.2, 0.7])),
    "grad of vmap": lambda f: wg.grad(lambda a: (wg.vmap(f)(a * np.array([1.0, 1.2, 0.7])) ** 2).sum()),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SOLUTIONS)
def test_same_as_eager(name, mode):
    f = MODES[mode](SOLUTIONS[name])
    compiled = wg.compile(f)
    for a, b in zip(leaves(compiled(2.0)), leaves(f(2.0)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def leaves(tree):
    return [np.asarray(x) for x in wg.core.tree.flatten(tree)[0]]


@pytest.mark.parametrize("name", [name for name in SOLUTIONS if name not in ("dense",)])
def test_no_python_inside(name):
    for f in (SOLUTIONS[name], wg.grad(SOLUTIONS[name])):
        compiled = wg.compile(f)
        compiled(2.0)
        assert not compiled.report(2.0).fallbacks


def test_inside_a_loop():
    def f(a):
        step = lambda x, _: (implicit.root(lambda y: y**3 + a * y - x, 1.0), None)
        return wg.scan(step, 1.0, length=4)[0]

    def written_out(a):
        x = 1.0
        for _ in range(4):
            x = implicit.root(lambda y, x=x: y**3 + a * y - x, 1.0)
        return x

    for derive in (lambda f: f, wg.grad, lambda f: wg.grad(wg.grad(f))):
        np.testing.assert_allclose(wg.compile(derive(f))(2.0), derive(written_out)(2.0), rtol=1e-10)


def test_a_graph_is_differentiated_afterwards():
    f = SOLUTIONS["root"]
    np.testing.assert_allclose(wg.grad(wg.compile(f))(2.0), wg.grad(f)(2.0), rtol=1e-12)
    np.testing.assert_allclose(wg.vmap(wg.compile(f))(np.array([1.0, 2.0])), [f(1.0), f(2.0)], rtol=1e-12)
    graph = wg.trace(f, 2.0)
    assert [node.primitive.name for node in graph.operations].count("implicit_root") == 1
    np.testing.assert_allclose(graph.evaluate(2.0), f(2.0), rtol=1e-14)


def test_custom_root():
    @implicit.custom_root(lambda x, a: x**2 - a)
    def heron(x, a):
        return wg.fori_loop(0, 40, lambda i, x: 0.5 * (x + a / x), x)

    np.testing.assert_allclose(wg.compile(wg.grad(lambda a: heron(1.0, a)))(4.0), 0.25, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.grad(wg.grad(lambda a: heron(1.0, a))))(4.0), -1 / 32, rtol=1e-12)


class TestFailure:
    def test_no_root(self):
        assert np.isnan(wg.compile(lambda a: implicit.root(lambda x: x**2 + a, 1.0))(1.0))
        assert np.isnan(wg.compile(lambda a: implicit.fixed_point(lambda x: a * x + 1.0, 1.0))(2.0))

    def test_one_of_a_batch(self):
        found = wg.compile(wg.vmap(lambda a: implicit.root(lambda x: x**2 - a, 1.0)))(np.array([4.0, -1.0, 9.0]))
        np.testing.assert_allclose(found, [2.0, np.nan, 3.0])

    def test_a_singular_system(self):
        solve = lambda a: implicit.linear_solve(
            lambda y: a * np.stack([y[0] + y[1], y[0] + y[1]]), np.array([1.0, 2.0])
        )
        assert np.isnan(wg.compile(solve)(1.0)).all()

    def test_solvers_of_scipy(self):
        for f in (
            lambda a: implicit.root(lambda x: x**2 - a, 1.0, solver="hybr"),
            lambda a: implicit.root(lambda x: x**2 - a, 1.0, solver=lambda f, x: x),
            lambda a: implicit.linear_solve(lambda y: a * y, B, "minres"),
        ):
            with pytest.raises(wg.GradientError, match="compile the functions that it is given"):
                wg.compile(f)(4.0)


def test_a_solution_of_constants():
    f = wg.compile(lambda x: x * implicit.root(lambda y: y**2 - 4.0, 1.0, solver="hybr"))
    np.testing.assert_allclose(f(3.0), 6.0, rtol=1e-9)
