"""Products of matrices and triangular systems in compiled functions, by BLAS where it takes their dtypes.

A system without a solution raises the error of the eager function.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wengert as wg
from wengert.linalg import solve_triangular

PRODUCTS = {
    "x @ y.T": lambda x, y: x @ y.T,
    "x.T @ y": lambda x, y: x.T @ y,
    "x.T @ y.T": lambda x, y: x.T @ y.T,
    "swapaxes": lambda x, y: np.matmul(x, np.swapaxes(y, 0, 1)),
    "dot": lambda x, y: np.dot(x, y.T),
    "inner": np.inner,
    "tensordot": lambda x, y: np.tensordot(x, y, axes=([1], [1])),
    "einsum": lambda x, y: np.einsum("ij,kj->ik", x, y),
    "einsum of a transpose": lambda x, y: np.einsum("ij,jk->ik", x.T, y),
    "vecdot": lambda x, y: np.vecdot(x.T, y.T),
    "a vector": lambda x, y: x[0] @ y.T,
    "a stack": lambda x, y: np.stack([x, x + x]) @ y.T,
    "a stack of transposes": lambda x, y: np.stack([x, x]) @ np.stack([y, y]).transpose(0, 2, 1),
    "both ways": lambda x, y: (x @ y.T) + (y.T @ x),
}
DTYPES = [
    ("c16", "f8"),
    ("f8", "c16"),
    ("c8", "f4"),
    ("i4", "i4"),
    ("?", "?"),
    ("f8", "i4"),
    ("f4", "f8"),
    ("f4", "f2"),
    ("u1", "?"),
]


@pytest.mark.parametrize("dtypes", DTYPES, ids="-".join)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_transposes(name, dtypes):
    f, rng = PRODUCTS[name], np.random.default_rng(0)
    x, y = [
        (4.0 * rng.random((20, 20))).astype(dtype) if dtype != "?" else rng.random((20, 20)) > 0.5 for dtype in dtypes
    ]
    expected = f(x, y)
    out = wg.compile(f)(x, y)
    assert out.dtype == expected.dtype
    np.testing.assert_allclose(out, expected, rtol=1e-2 if expected.dtype == "f2" else 1e-5)


def test_a_transpose_for_blas_and_for_numpy():
    rng = np.random.default_rng(1)
    x, z = rng.random((20, 20)), rng.random((20, 20)) + 1j
    f = wg.compile(lambda x, z: (x @ (2.0 * x).T, z @ (2.0 * x).T))
    for out, expected in zip(f(x, z), (2.0 * x @ x.T, 2.0 * z @ x.T), strict=True):
        np.testing.assert_allclose(out, expected, rtol=1e-13)


# Triangular systems

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(5, 14, 14)) + 9.0 * np.eye(14), RNG.normal(size=(5, 14, 3))
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
    assert len(report.routines) == 1
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
    f = lambda a: (np.linalg.cholesky(a @ a.T) * np.arange(14.0)).sum()
    np.testing.assert_allclose(wg.compile(wg.grad(f))(A[0]), wg.grad(f)(A[0]), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.hessian(f))(A[0]), wg.hessian(f)(A[0]), rtol=1e-8, atol=1e-9)
