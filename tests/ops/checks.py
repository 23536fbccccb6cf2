"""Checks that the tests of products and factors share."""

from __future__ import annotations

import numpy as np
from tests.oracle import check_derivatives

from wengert.modes.tensor import Tensor, tensor


def normal(shape, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return np.asarray(x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x, dtype)


def arguments(shapes, dtype=np.float64):
    return [normal(shape, i, dtype) for i, shape in enumerate(shapes)]


def gradients(function, arrays, weights, create_graph=False):
    leaves = [tensor(a, requires_grad=True) for a in arrays]
    function(*leaves).backward(weights, create_graph=create_graph)
    return leaves


def check(function, reference, arrays, orders=2):
    """The value against NumPy's, the derivatives against differences."""
    expected = np.asarray(reference(*arrays))
    out = function(*map(tensor, arrays))
    assert isinstance(out, Tensor)
    assert out.shape == expected.shape
    assert out.dtype == expected.dtype
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12, atol=1e-12)
    check_derivatives(function, arrays, range(len(arrays)), orders)
