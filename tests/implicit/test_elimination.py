"""Small linear systems in operations on numbers, against LAPACK."""

import numpy as np
import pytest

import wengert as wg
from wengert.implicit.elimination import Elimination


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
