"""Q R of small matrices in native code: LAPACK's reflections, with its signs."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
SHAPES = pytest.mark.parametrize("shape", [(1, 1), (3, 3), (6, 6), (8, 3), (5, 1), (2, 5), (1, 4)], ids=str)


def matrices(stack, shape, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).standard_normal((*stack, *shape)).astype(dtype)


def both(x):
    return tuple(np.linalg.qr(x))


def is_written_out(f, *args):
    report = f.report(*args)
    return not report.fallbacks and not any("geqrf" in step for step in report.steps)


@DTYPES
@SHAPES
@pytest.mark.parametrize("stack", [(), (5,), (3, 30)], ids=str)
def test_factors_and_their_signs_are_those_of_eager_code(shape, stack, dtype):
    x = matrices(stack, shape, dtype)
    compiled = wg.compile(both)
    for found, expected in zip(compiled(x), both(x), strict=True):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, atol=2000 * np.finfo(dtype).eps)
    assert is_written_out(compiled, x)


def test_columns_that_need_no_reflection_keep_their_signs():
    rng = np.random.default_rng(1)
    x = np.triu(rng.integers(-2, 3, (100, 4, 4)).astype(float))
    x[50:, 3, rng.integers(0, 4, 50)] = rng.choice([1.0, 1e-200, -1e-310], 50)
    for found, expected in zip(wg.compile(both)(x), both(x), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-14)
        np.testing.assert_array_equal(found[:50], expected[:50])


@pytest.mark.parametrize("scale", [1e-308, 1e-200, 1e200, 1e307])
def test_columns_whose_squares_are_out_of_range(scale):
    x = matrices((20,), (5, 4), seed=2)
    (q, r), (found, scaled) = both(x), wg.compile(both)(x * [1.0, scale, 1.0, scale])
    np.testing.assert_allclose(found, q, atol=1e-13)
    np.testing.assert_allclose(scaled / [1.0, scale, 1.0, scale], r, atol=1e-13)


@pytest.mark.parametrize("shape", [(4, 3), (8, 2), (6, 5), (5, 1)], ids=str)
def test_complete_bases(shape):
    x = matrices((70,), shape, seed=3)
    f = lambda x: tuple(np.linalg.qr(x, mode="complete"))
    compiled = wg.compile(f)
    for found, expected in zip(compiled(x), f(x), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert is_written_out(compiled, x)


def loss(x):
    q, r = np.linalg.qr(x)
    return (q**3).sum() + (r[..., 0, :] ** 3).sum()


@pytest.mark.parametrize("shape", [(3, 3), (6, 6), (6, 2), (2, 4)], ids=str)
def test_gradients(shape):
    x = matrices((1000,), shape, seed=4)
    square = np.arange(min(shape))
    x[:, square, square] += 4.0
    g = wg.value_and_grad(loss)
    compiled = wg.compile(g)
    (value, gradient), (expected, exact) = compiled(x), g(x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())
    assert is_written_out(compiled, x)


@DTYPES
@pytest.mark.parametrize("stack", [(), (9,)], ids=str)
@pytest.mark.parametrize("factor", [0.0, 3.0])
def test_dependent_columns_have_no_derivative(factor, stack, dtype):
    f = wg.grad(loss)
    compiled = wg.compile(f)
    x = matrices(stack, (4, 3), dtype, seed=5)
    assert np.isfinite(compiled(x)).all()
    one = x[tuple(k - 2 for k in stack)]
    one[:, 2] = one[:, 0] * factor
    for g in (f, compiled):
        with pytest.raises(np.linalg.LinAlgError, match="linearly dependent"):
            g(x)


def test_nan_spreads_as_in_eager_code():
    for i, j in np.ndindex(4, 3):
        x = matrices((9,), (4, 3), seed=6)
        x[4, i, j] = np.nan
        for found, expected in zip(wg.compile(both)(x), both(x), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-13)
