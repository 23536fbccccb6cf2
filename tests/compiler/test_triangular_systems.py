"""Triangular systems in compiled functions are calls of BLAS.

One without a solution is the error of the eager function.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wengert as wg
from wengert.linalg import solve_triangular

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(5, 4, 4)) + 4.0 * np.eye(4), RNG.normal(size=(5, 4, 3))
OPERANDS = {
    "one": (A[0], B[0]),
    "stack": (A, B),
    "one matrix": (A[0], B),
    "one column": (A[1], B[1][:, :1]),
    "transposed": (A[0].T, B[0]),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("operands", OPERANDS.values(), ids=OPERANDS)
@pytest.mark.parametrize(
    ("lower", "trans", "unit_diagonal"), list(itertools.product([True, False], [0, 1], [True, False]))
)
def test_as_eager(operands, lower, trans, unit_diagonal, dtype):
    f = lambda a, b: solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit_diagonal)
    a, b = [x.astype(dtype) for x in operands]
    compiled = wg.compile(f)
    np.testing.assert_allclose(compiled(a, b), f(a, b), rtol=1e-4 if dtype is np.float32 else 1e-12)
    report = compiled.report(a, b)
    assert len(report.calls) == 1
    assert not report.fallbacks


@pytest.mark.parametrize(
    ("a", "b"), [(A, B[0]), (A[:, :1, :1], B[:, :1]), (A[0][:1, :1], B[0][:1]), (A[0][:0, :0], B[0][:0])]
)
def test_what_blas_does_not_get(a, b):
    f = lambda a, b: solve_triangular(a, b, lower=True)
    np.testing.assert_allclose(wg.compile(f)(a, b), f(a, b), rtol=1e-12)
    np.testing.assert_allclose(wg.compile(lambda b: f(a, b))(b), f(a, b), rtol=1e-12)


def test_a_singular_matrix_is_an_error_and_the_next_call_is_not():
    solve = wg.compile(lambda a, b: solve_triangular(a, b, lower=True) * 2.0)
    singular = A[0].copy()
    singular[2, 2] = 0.0
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match="zero at index 2 of its diagonal"):
            solve(singular, B[0])
        np.testing.assert_allclose(solve(A[0], B[0]), 2.0 * solve_triangular(A[0], B[0], lower=True))


def test_gradients_through_cholesky():
    f = lambda a: (np.linalg.cholesky(a @ a.T) * np.arange(16.0).reshape(4, 4)).sum()
    np.testing.assert_allclose(wg.compile(wg.grad(f))(A[0]), wg.grad(f)(A[0]), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.hessian(f))(A[0]), wg.hessian(f)(A[0]), rtol=1e-9, atol=1e-10)
