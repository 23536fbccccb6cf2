"""Triangular systems of large matrices, solved by NumPy's BLAS."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg

import wengert as wg
from wengert.core import machine
from wengert.core.blas import solver

N = machine.current.min_rows_of_blas_triangle + 6
RNG = np.random.default_rng(5)


def matrices(dtype):
    x = RNG.normal(size=(N, N)) / N + 2.0 * np.eye(N)
    y = RNG.normal(size=(N, 4))
    return (x + 1j * x[::-1] / 3.0 if np.dtype(dtype).kind == "c" else x).astype(dtype), y.astype(dtype)


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize(("lower", "trans", "unit"), list(itertools.product([True, False], [0, 1], [True, False])))
def test_all_kinds_of_systems(dtype, lower, trans, unit):
    x, y = matrices(dtype)
    expected = scipy.linalg.solve_triangular(x, y, lower=lower, trans=trans, unit_diagonal=unit)
    tolerance = 2e-4 if np.dtype(dtype).itemsize // (2 if dtype in "FD" else 1) == 4 else 1e-12
    out = y.copy()
    solver(dtype)(x, out, lower, bool(trans), unit)
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)
    for a in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
        for b in (y, np.asfortranarray(y), np.repeat(y, 2, axis=1)[:, ::2]):
            found = wg.linalg.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
            assert found.dtype == np.dtype(dtype)


def test_operands_are_left_alone():
    x, y = matrices("d")
    before = x.copy(), y.copy()
    wg.linalg.solve_triangular(x, y, lower=True)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_gradients_of_large_systems():
    x, y = matrices("d")
    a = x @ x.T
    direction = RNG.normal(size=a.shape)
    direction = direction + direction.T
    f = lambda a: (np.linalg.cholesky(a) ** 3).sum()
    step = 1e-5
    differences = (f(a + step * direction) - f(a - step * direction)) / (2 * step)
    np.testing.assert_allclose((wg.grad(f)(a) * direction).sum(), differences, rtol=1e-7)
    np.testing.assert_allclose(wg.jvp(f, (a,), (direction,))[1], differences, rtol=1e-7)
