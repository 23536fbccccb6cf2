"""Products of small matrices without BLAS: any shape, stored by rows or by columns."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.products.in_place import ProductFunction
from wengert.compiler.products.order import order_of
from wengert.compiler.products.policy import decide
from wengert.compiler.products.product import Product
from wengert.compiler.simd.lanes import Code

SIZES = [(16, 64, 64), (7, 13, 21), (33, 5, 37), (3, 64, 48), (17, 32, 129), (32, 4, 32), (5, 128, 40), (1, 50, 9)]
SIZES += [(4, 4, 4), (5, 5, 5), (2, 16, 16), (9, 2, 7), (3, 11, 6)]  # few terms, and squares of all sizes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("forms", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_products_agree_with_numpy(m, k, n, forms, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, k) if forms[0] == "N" else (k, m)).astype(dtype)
    y = rng.standard_normal((k, n) if forms[1] == "N" else (n, k)).astype(dtype)

    def loop(x, y):
        def step(state, _):
            x, y, _ = state
            out = (x if forms[0] == "N" else x.T) @ (y if forms[1] == "N" else y.T)
            return (x * dtype(1), y * dtype(1), out), None

        return wg.scan(step, (x, y, np.zeros((m, n), dtype)), length=2)[0][2]

    expected = (x if forms[0] == "N" else x.T).astype(float) @ (y if forms[1] == "N" else y.T).astype(float)
    f = wg.compile(loop)
    np.testing.assert_allclose(f(x, y), expected, rtol=0, atol=20 * np.finfo(dtype).eps * k**0.5 * abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_few_rows_times_a_large_matrix(is_transposed, dtype):
    """The right operand is read once for each block of rows, so it may be larger; threads of BLAS would wait."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((64, 10) if is_transposed else (10, 64)), rng.standard_normal((64, 1568))
    x, y = x.astype(dtype), y.astype(dtype)
    f = wg.compile(lambda x, y: (x.T if is_transposed else x) @ y)
    assert f.report(x, y).routines[0].startswith("product")
    expected = (x.T if is_transposed else x).astype(float) @ y.astype(float)
    np.testing.assert_allclose(f(x, y), expected, rtol=0, atol=200 * np.finfo(dtype).eps * abs(expected).max())


def test_small_products_in_loops_do_not_call_blas():
    W = np.ones((64, 64), np.float32)
    f = wg.compile(lambda h: wg.scan(lambda h, _: (np.tanh(h @ W), None), h, length=3)[0])
    report = f.report(np.ones((16, 64), np.float32))
    assert len(report.routines) == 1
    assert report.routines[0].startswith("product")


def test_products_of_few_terms_have_functions_of_their_own():
    """Kernels would read columns with strides, and fold lanes for each element; very few terms are unrolled."""
    loop = lambda step: lambda x: wg.scan(lambda x, _: (step(x), None), x, length=3)[0]
    report = lambda n, *shape: wg.compile(loop(lambda x: np.tanh(np.ones((n, n)) @ x))).report(np.ones(shape))
    assert [name.split(" (")[0] for name in report(20, 20).routines] == ["product"]
    assert [name.split(" (")[0] for name in report(4, 4, 4).routines] == ["product"]
    assert not report(5, 5).routines
    assert not report(3, 3, 3).routines
    assert not report(4, 100, 4, 4).routines  # of a stack: lanes are neighbouring matrices


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("m", [1, 3, 10, 16, 31, 33, 200])
@pytest.mark.parametrize("k", [7, 9, 24, 50])
def test_a_vector_times_a_narrow_matrix(m, k, dtype):
    rng = np.random.default_rng(0)
    x, y, initial = [rng.standard_normal(shape).astype(dtype) for shape in (k, (k, m), m)]
    loop = lambda x, y, b: wg.scan(lambda total, _: (total + (b + x @ y), None), b, length=2)[0]
    found = wg.compile(loop)(x, y, initial)
    exact = 3 * initial.astype(float) + 2 * (x.astype(float) @ y)
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=50 * k * np.finfo(dtype).eps)


def test_a_narrow_result_has_several_sums_for_each_vector():
    """Those of one vector would wait for each other, and the columns of the last one would be sums of their own."""
    n = vector_lanes(8) + 2
    product = Product("f64", 1, n, 50, False, False, 50, n)
    order, code = order_of(product, False), Code()
    ProductFunction(product, order, decide(product, order, False)).write(code)
    sums = [
        line for line in code.lines if f"<{vector_lanes(8)} x double>" in line and ("fma" in line or "fadd" in line)
    ]
    assert len(sums) >= 8 + 50 % 8
    assert not [line for line in code.lines if " fadd double" in line or "fma.f64(" in line]


@pytest.mark.parametrize(
    ("sizes", "forms", "in_loops", "elsewhere"),
    [
        ((16, 64, 64), "NN", "terms", "terms"),
        ((16, 64, 64), "TN", "terms", "terms"),
        ((16, 64, 64), "NT", "lanes", "lanes"),
        ((1000, 1000, 2000), "NN", "library", "library"),
        ((30, 1, 2_000), "NN", "lanes", "lanes"),
        ((30, 1, 2_000), "TN", "terms", "terms"),
        ((1, 9, 50), "NN", "sums", "sums"),
        ((16, 2, 64), "NN", "library", "library"),
        ((64, 64, 4_000), "NN", "pieces", "pieces"),
        ((16, 2_000, 64), "NN", "terms", "terms"),  # few rows, for which the right operand is read
        ((17, 1_000, 50), "NN", "library", "library"),
        ((16, 64, 65), "NT", "library", "library"),
        ((16, 64, 64), "TT", "library", "library"),
        ((100, 5, 50), "NN", "terms", "library"),  # the lanes would be partly empty
        ((100_000, 20, 20), "NN", "terms", "terms"),
        ((5, 5, 5), "NT", "terms", "terms"),  # a call of BLAS takes longer than empty lanes
    ],
)
def test_orders_of_additions(sizes, forms, in_loops, elsewhere):
    (m, n, k), (x, y) = sizes, [form == "T" for form in forms]
    product = Product("f64", m, n, k, x, y, m if x else k, k if y else n)
    assert order_of(product, is_in_loop=True).kind == in_loops
    assert order_of(product, is_in_loop=False).kind == elsewhere


def test_stacks_of_products():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((3, 8, 20)), rng.standard_normal((3, 20, 20))
    f = wg.compile(lambda x, y: wg.scan(lambda x, _: (x @ y, None), x, length=2)[0])
    np.testing.assert_allclose(f(x, y), x @ y @ y, rtol=1e-12)
