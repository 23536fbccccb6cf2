"""Cholesky's factorisation in blocks, and its derivative: blocks that are not full, and matrices without a factor."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import has_wide_vectors
from wengert.compiler.threads.pool import LIMITS
from wengert.core.primitive import TABLE, plain_impl

CHOLESKY, PULL = TABLE["cholesky"], TABLE["cholesky_pull"]
SIZES = [16, 31, 32, 33, 47, 64, 77, 100, 141, 200]

pytestmark = pytest.mark.skipif(not has_wide_vectors(), reason="LAPACK factors matrices where vectors are short")


def draw(n, dtype=float):
    root = np.random.default_rng(n).standard_normal((n, n))
    return (root @ root.T + np.eye(n)).astype(dtype)


def factor(x):
    """The factor from native code."""
    return wg.compile(wg.linalg.cholesky)(x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", SIZES)
def test_the_product_of_the_factor_is_the_matrix_to_the_accuracy_of_lapack(n, dtype):
    x = draw(n, dtype)
    lower = factor(x)
    assert lower.dtype == dtype
    np.testing.assert_array_equal(lower, np.tril(lower))
    wide = lower.astype(np.longdouble)
    error = abs(wide @ wide.T - x) / np.sqrt(np.outer(x.diagonal(), x.diagonal()))
    assert error.max() <= 8 * np.finfo(dtype).eps


@pytest.mark.parametrize("n", [20, 90])
def test_elements_above_the_diagonal_are_not_used(n):
    x = draw(n)
    np.testing.assert_array_equal(factor(np.where(np.tri(n, dtype=bool), x, np.nan)), factor(x))


@pytest.mark.parametrize("row", [0, 31, 32, 99])
def test_a_matrix_that_is_not_positive_definite_is_an_error(row):
    x = draw(100)
    x[row, row] = -1.0
    with pytest.raises(np.linalg.LinAlgError):
        factor(x)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_have_the_outcome_of_numpy(value):
    x = draw(64)
    x[40, 3] = x[3, 40] = value
    try:
        expected = np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError):
            factor(x)
    else:
        np.testing.assert_array_equal(np.isnan(factor(x)), np.isnan(expected))


# The derivative


def draw_cotangent(n, dtype=float):
    """The cotangent of a factor, whose elements above the diagonal play no part, and the factor."""
    return np.random.default_rng(n + 1).standard_normal((n, n)).astype(dtype), np.linalg.cholesky(draw(n, dtype))


@pytest.mark.parametrize("n", [1, 13, 24, 31, 32, 33, 47, 64, 77, 100, 141, 200, 600])
def test_the_derivative_is_that_of_the_formula(n):
    t, lower = draw_cotangent(n)
    found, expected = wg.compile(PULL.op)(t, lower), plain_impl(PULL)(t, lower)
    np.testing.assert_array_equal(found, np.tril(found))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * abs(expected).max())
    np.testing.assert_array_equal(wg.compile(PULL.op)(np.tril(t), lower), found)


def test_it_is_not_blas_that_computes_the_derivative():
    report = wg.compile(PULL.op).report(*draw_cotangent(100))
    assert "wengert.cholesky_pull" in report.llvm
    assert "dtrsm" not in report.llvm
    assert "dgemm" not in report.llvm


def test_the_bits_of_the_derivative_do_not_depend_on_threads(monkeypatch):
    operands, f = draw_cotangent(300), wg.compile(PULL.op)
    several = f(*operands)
    monkeypatch.setattr(LIMITS, "threads", 1)
    np.testing.assert_array_equal(f(*operands), several)


def test_derivatives_of_stacks_are_computed_one_by_one():
    pairs = [draw_cotangent(n)[0] for n in (40, 40, 40)], [draw_cotangent(40)[1]] * 3
    found = wg.compile(PULL.op)(*map(np.stack, pairs))
    for one, t, lower in zip(found, *pairs, strict=True):
        np.testing.assert_array_equal(one, wg.compile(PULL.op)(t, lower))


def test_the_gradient_of_a_determinant_is_the_inverse():
    x = draw(90)
    loss = lambda x: 2.0 * wg.sum(wg.log(wg.diagonal(wg.linalg.cholesky((x + x.T) / 2.0))))
    found = wg.compile(wg.grad(loss))(x)
    np.testing.assert_allclose(found, np.linalg.inv(x), rtol=0, atol=1e-10 * abs(found).max())
