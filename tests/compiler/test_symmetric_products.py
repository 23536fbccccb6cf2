"""Products with `x.T @ x`: BLAS reads one triangle of it where nothing else reads the matrix."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg


def random(*shape, dtype=np.float64):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


X, B, C = random(90, 400), random(400, 40), random(40, 400)
PROGRAMS = {
    "left": (lambda x, b, c: (x.T @ x) @ b, 1),
    "right": (lambda x, b, c: c @ (x.T @ x), 1),
    "rows": (lambda x, b, c: (b @ b.T) @ x.reshape(400, 90), 1),
    "its transpose": (lambda x, b, c: (x.T @ x).T @ b, 1),
    "several": (lambda x, b, c: (lambda s: np.maximum(s @ b, (c @ s).reshape(400, 40)))(x.T @ x), 2),
    "a part of a matrix": (lambda x, b, c: (x.T @ x) @ b[:, 1:-2], 1),
    "two of them": (lambda x, b, c: (x.T @ x) @ (b @ b.T), 1),
    "with itself": (lambda x, b, c: (lambda s: s @ s)(x.T @ x), 0),
    "a transposed factor": (lambda x, b, c: (x.T @ x) @ c.T, 0),
    "a kernel reads it": (lambda x, b, c: (lambda s: s @ b + s[:, :1])(x.T @ x), 0),
    "a small product reads it": (lambda x, b, c: (lambda s: np.maximum((s @ b)[:, :9], s @ b[:, :9]))(x.T @ x), 0),
    "a small matrix": (lambda x, b, c: (x[:, :200].T @ x[:, :200]) @ b.reshape(200, 80), 0),
    "not symmetric": (lambda x, b, c: (x.T @ (2.0 * x)) @ b, 0),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_numpy(name, dtype):
    f, count = PROGRAMS[name]
    args = [a.astype(dtype) for a in (X, B, C)]
    compiled = wg.compile(f)
    exact = f(*[a.astype(np.float64) for a in args])
    bound = f(*[np.abs(a).astype(np.float64) for a in args])
    assert np.all(np.abs(compiled(*args) - exact) <= 100 * np.finfo(dtype).eps * bound)
    assert sum("symm" in step for step in compiled.report(*args).steps) == count


def test_a_symmetric_output_is_whole():
    product, symmetric = wg.compile(lambda x, b: (lambda s: (s @ b, s))(x.T @ x))(X, B)
    np.testing.assert_array_equal(symmetric, symmetric.T)
    np.testing.assert_allclose(product, X.T @ X @ B, rtol=1e-10, atol=1e-9)


def test_gradients():
    f = lambda x, b: (((x.T @ x) @ b) ** 2).sum()
    np.testing.assert_allclose(wg.compile(wg.grad(f))(X, B), wg.grad(f)(X, B), rtol=1e-9, atol=1e-6)
