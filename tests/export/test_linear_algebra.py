"""Products, systems and eigenvalues in exported code, where there is no BLAS and no LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from tests.export.native_calls import run_for

import wengert as wg
from wengert.export.targets import find_target

NATIVE = find_target(None)
SCALAR = NATIVE._replace(vector_bytes=4)
TARGETS = pytest.mark.parametrize("target", [NATIVE, SCALAR], ids=["vectors", "one lane"])
rng = np.random.default_rng(11)


def matrix(*shape: int, dtype: type = float) -> np.ndarray:
    found = rng.normal(size=shape)
    return (found + 1j * rng.normal(size=shape) if dtype in (complex, np.complex64) else found).astype(dtype)


def positive(n: int) -> np.ndarray:
    x = matrix(n, n)
    return x @ x.T + n * np.eye(n)


@TARGETS
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("sizes", [(3, 2, 3), (1, 6, 8), (19, 33, 13)])
def test_products(target, dtype, sizes):
    m, k, n = sizes
    x, y = matrix(m, k, dtype=dtype), matrix(k, n, dtype=dtype)
    tolerance = 50 * np.finfo(dtype).eps
    cases = {
        "plain": (lambda x, y: x @ y, x, y),
        "left transposed": (lambda x, y: x.T @ y, x.T.copy(), y),
        "right transposed": (lambda x, y: x @ y.T, x, y.T.copy()),
        "added": (lambda x, y, z: z + x @ y, x, y, matrix(m, n, dtype=dtype)),
        "with itself": (lambda x: x @ x.T, x),
    }
    for name, (f, *args) in cases.items():
        (found,) = run_for(target, f, *args)
        expected = f(*args)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * k, err_msg=name)


@TARGETS
def test_a_large_product_and_a_symmetric_one(target):
    x, y = matrix(150, 130), matrix(130, 170)
    np.testing.assert_allclose(run_for(target, lambda x, y: x @ y, x, y)[0], x @ y, rtol=1e-12, atol=1e-12)
    f = lambda x, y: (x @ x.T) @ y
    np.testing.assert_allclose(run_for(target, f, x, x[:, :90])[0], f(x, x[:, :90]), rtol=1e-11, atol=1e-10)


@TARGETS
@pytest.mark.parametrize("n", [3, 12, 30])
def test_systems_and_their_derivatives(target, n):
    a, b, c = matrix(n, n) + n * np.eye(n), matrix(n), matrix(n, 4)
    functions = {
        "solve": (np.linalg.solve, a, b),
        "solve many": (np.linalg.solve, a, c),
        "gradients": (wg.grad(lambda a, b: (np.linalg.solve(a, b) ** 2).sum(), (0, 1)), a, b),
        "inverse": (np.linalg.inv, a),
        "determinant": (wg.grad(lambda a: np.linalg.slogdet(a)[1]), a),
        "cholesky": (np.linalg.cholesky, positive(n)),
        "gradient of cholesky": (wg.grad(lambda a: (np.linalg.cholesky(a) ** 3).sum()), positive(n)),
    }
    for name, (f, *args) in functions.items():
        found, expected = run_for(target, f, *args), wg.tree.leaves(f(*args))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-11, err_msg=name)


@TARGETS
@pytest.mark.parametrize("n", [2, 5, 20])
def test_eigenvalues_and_vectors(target, n):
    a = positive(n)
    values, vectors = run_for(target, np.linalg.eigh, a)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), rtol=1e-12)
    np.testing.assert_allclose(a @ vectors, vectors * values, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-12)


def test_eigenvalues_of_matrices_that_are_almost_diagonal():
    a = np.diag([3.0, 1.0, 2.0] * 4) + 1e-14 * np.ones((12, 12))
    values, vectors = run_for(NATIVE, np.linalg.eigh, a)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), rtol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-12)
