"""Products that BLAS does not take: of mixed dtypes, integers, booleans and complex numbers, with transposed operands."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

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
