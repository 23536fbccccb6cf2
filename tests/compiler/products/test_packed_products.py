"""Products of large matrices without BLAS: tiles and panels that are not full, chunks, sums with what is there."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import has_wide_vectors
from wengert.compiler.products.order import order_of
from wengert.compiler.products.product import Product
from wengert.core import machine

SIZES = [(6, 5, 32), (13, 70, 33), (20, 40, 18), (50, 64, 7), (25, 131, 47), (12, 3, 100)]


@pytest.fixture(autouse=True)
def small_limits():
    """Small products, too, have several chunks and blocks."""
    with machine.using(
        min_multiplications_of_packed_product=0,
        chunk_bytes_of_packed_product=256,
        block_bytes_of_packed_product=2048,
        max_multiplications_of_own_product=0,
        max_right_bytes_of_any_own_product=0,
    ):
        yield


def factors(m, k, n, forms, dtype):
    """Factors that are stored in these forms."""
    rng = np.random.default_rng(m * k + n)
    x = rng.standard_normal((m, k) if forms[0] == "N" else (k, m)).astype(dtype)
    y = rng.standard_normal((k, n) if forms[1] == "N" else (n, k)).astype(dtype)
    return x, y


def product_of(forms):
    return lambda x, y: (x if forms[0] == "N" else x.T) @ (y if forms[1] == "N" else y.T)


def assert_close(found, expected, terms, dtype):
    tolerance = 4 * np.finfo(dtype).eps * terms**0.5 * abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("forms", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_products_agree_with_numpy(m, k, n, forms, dtype):
    x, y = factors(m, k, n, forms, dtype)
    multiply = product_of(forms)
    f = wg.compile(multiply)
    assert_close(f(x, y), multiply(x.astype(float), y.astype(float)), k, dtype)
    expected = "product (packed" if has_wide_vectors() else "gemm"
    assert f.report(x, y).routines[0].startswith(expected)


@pytest.mark.parametrize("forms", ["NN", "TT"])
@pytest.mark.parametrize("shape", [(25, 47), (47,)])
def test_products_are_added_to_matrices_and_to_rows(forms, shape):
    x, y = factors(25, 131, 47, forms, np.float64)
    initial = np.random.default_rng(1).standard_normal(shape)
    multiply = product_of(forms)
    f = wg.compile(lambda c, x, y: c + multiply(x, y))
    assert_close(f(initial, x, y), initial + multiply(x, y), 131, float)
    assert "added to" in f.report(initial, x, y).routines[0]


def test_stacks_of_products():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((3, 2, 13, 70)), rng.standard_normal((2, 70, 33))
    assert_close(wg.compile(np.matmul)(x, y), x @ y, 70, float)


@pytest.mark.parametrize("forms", ["NN", "TN"])
def test_sums_run_in_order_on_any_number_of_threads(monkeypatch, forms):
    """The parts of several threads end within a high tile; what is left are low tiles, of which one is not full."""
    x, y = factors(301, 131, 260, forms, np.float32)
    results = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
        results.append(wg.compile(product_of(forms))(x, y))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    if has_wide_vectors():
        total, left = np.zeros((301, 260), np.float32), x if forms == "NN" else x.T
        for p in range(131):  # the product of two float32 is exact in float64, so this rounds nearly as an fma
            total = (total + left[:, p, None].astype(float) * y[p].astype(float)).astype(np.float32)
        assert np.mean(results[0] == total) > 0.999


def test_values_that_are_not_finite_stay_in_their_rows_and_columns():
    x, y = factors(13, 70, 33, "NN", np.float64)
    x[3, 69], y[2, 32] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isfinite(wg.compile(np.matmul)(x, y)), np.isfinite(x @ y))


def test_gradients_of_a_product():
    x, y = factors(13, 70, 33, "NN", np.float64)
    w = np.random.default_rng(3).standard_normal((13, 33))
    f = wg.compile(wg.grad(lambda x, y: np.sum(w * (x @ y)), argnums=(0, 1)))
    for found, expected in zip(f(x, y), (w @ y.T, x.T @ w), strict=True):
        assert_close(found, expected, 70, float)


def test_which_products_are_packed():
    order = lambda kind, m, n, k: order_of(Product(kind, m, n, k, False, False, k, n), is_in_loop=False).kind
    assert order("f32", 1024, 128, 512) == ("terms" if has_wide_vectors() else "library")
    with machine.using(min_multiplications_of_packed_product=1 << 20):
        assert order("f64", 10, 10, 10) == "library"
    assert order("f64", 4000, 4000, 4000) == "library"
    assert order("c128", 256, 256, 256) == "library"
