"""Small linear systems in operations on numbers, against LAPACK."""

import numpy as np
import pytest

import wengert as wg
from wengert.implicit.elimination import Elimination, solve_small


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_random_systems(n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        matrix, b = rng.normal(size=(n, n)), rng.normal(size=n)
        np.testing.assert_allclose(Elimination.of(matrix).solve(b), np.linalg.solve(matrix, b), rtol=1e-9)


def test_rows_are_exchanged():
    matrix = np.array([[0.0, 1.0, 2.0], [1e-20, 3.0, 1.0], [4.0, 0.0, 1.0]])
    b = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(Elimination.of(matrix).solve(b), np.linalg.solve(matrix, b), rtol=1e-14)


def test_derivatives():
    matrix, b = np.array([[0.5, 2.0], [1.0, -1.0]]), np.array([1.0, 2.0])
    by_elimination = lambda a, b: (wg.stack(Elimination.of([list(row) for row in a]).solve(list(b))) ** 2).sum()
    by_lapack = lambda a, b: (np.linalg.solve(a, b) ** 2).sum()
    for derive in (lambda f: wg.grad(f, (0, 1)), lambda f: wg.hessian(f, 0)):
        for a, c in zip(derive(by_elimination)(matrix, b), derive(by_lapack)(matrix, b), strict=True):
            np.testing.assert_allclose(a, c, rtol=1e-12, atol=1e-13)


MODES = {
    "grad": lambda f: wg.grad(f, (0, 1)),
    "hessian": lambda f: wg.hessian(f, 0),
    "jvp of grad": lambda f: lambda a, b: wg.jvp(wg.grad(f), (a, b), (np.ones_like(a), np.ones_like(b))),
    "grad in a loop": lambda f: wg.grad(lambda a, b: wg.fori_loop(0, 3, lambda i, s: s + f(a * (1.0 + s), b), 0.0)),
}


@pytest.mark.parametrize("mode", MODES)
def test_the_rule_for_one_system(mode):
    matrix, b = np.array([[0.5, 2.0, 0.1], [1.0, -1.0, 0.3], [0.0, 0.4, 2.0]]), np.array([1.0, 2.0, -1.0])
    small = lambda a, b: (wg.stack(list(solve_small([list(row) for row in a], list(b)))) ** 2).sum()
    by_lapack = lambda a, b: (np.linalg.solve(a, b) ** 2).sum()
    wanted = MODES[mode](by_lapack)(matrix, b)
    for derive in (MODES[mode], lambda f: wg.compile(MODES[mode](f))):
        for a, c in zip(derive(small)(matrix, b), wanted, strict=True):
            np.testing.assert_allclose(a, c, rtol=1e-10, atol=1e-12)
