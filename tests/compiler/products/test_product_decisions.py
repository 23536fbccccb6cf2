"""Decisions about products: those that are possible change no bit, and those that are not are refused."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiler.machine.target import has_wide_vectors, vector_lanes
from wengert.compiler.products import routine
from wengert.compiler.products.decisions import Decisions, refuse
from wengert.compiler.products.order import Order, is_large, order_of
from wengert.compiler.products.policy import decide
from wengert.compiler.products.product import Product
from wengert.compiler.products.tile import Tiling
from wengert.core import machine

TERMS, LANES, LIBRARY = Order("terms"), Order("lanes", 8), Order("library")


def draw(rng, product, order):
    """Decisions that are possible, of many that are drawn."""
    while True:
        tile = (0, 0) if rng.random() < 0.4 else tuple(map(int, rng.integers(1, 9, 2)))
        chunk = int(rng.choice([0, 1, 3, 16, 200]))
        grain = int(rng.choice([1, 2, 3, 8, 16, 32]))
        found = Decisions(rng.random() < 0.1, not any(tile), tile, chunk, grain)
        if refuse(product, order, found) is None:
            return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("forms", ["NN", "NT", "TN"])
@pytest.mark.parametrize(("m", "k", "n"), [(13, 40, 21), (1, 70, 50), (30, 64, 33), (5, 50, 7)])
def test_they_change_no_bit(monkeypatch, m, k, n, forms, dtype):
    rng = np.random.default_rng(m * n)
    x = rng.standard_normal((m, k) if forms[0] == "N" else (k, m)).astype(dtype)
    y = rng.standard_normal((k, n) if forms[1] == "N" else (n, k)).astype(dtype)
    c = rng.standard_normal((m, n)).astype(dtype)
    seen = []

    def choose(product, order, *context):
        if order.kind == "library":
            return decide(product, order, *context)
        drawn = draw(rng, product, order)
        while drawn.packed and not is_large(product):  # it has no memory for panels
            drawn = draw(rng, product, order)
        seen.append(drawn._replace(chunk=Tiling(product.kind).chunk) if drawn.packed else drawn)
        return seen[-1]

    def product(c, x, y):
        return c + (x if forms[0] == "N" else x.T) @ (y if forms[1] == "N" else y.T)

    order = {"min_multiplications_of_packed_product": 0, "min_rows_of_packed_product": 1}
    small = {"chunk_bytes_of_packed_product": 128, "min_operations_to_wake": 1, "min_operations_per_thread": 1}
    with machine.using(**order):
        usual = wg.compile(product)(c, x, y)
        monkeypatch.setattr(routine, "decide", choose)
        for threads in (1, 2, 4):
            with machine.using(threads=threads, **small):
                np.testing.assert_array_equal(wg.compile(product)(c, x, y), usual)
    assert seen or not has_wide_vectors()


def test_some_are_refused():
    product = Product("f64", 20, 30, 40, False, False, 40, 30)
    assert order_of(product, False) == TERMS
    assert refuse(product, TERMS, Decisions(tile=(4, 2))) is None
    assert refuse(product, TERMS, Decisions(packed=True, chunk=16)) is None
    assert refuse(product, TERMS, Decisions(library=True))
    assert refuse(product, TERMS, Decisions(tile=(21, 1)))
    assert refuse(product, TERMS, Decisions(tile=(4, 2), chunk=8))
    assert refuse(product, LANES, Decisions(packed=True, chunk=16))
    assert refuse(product, LIBRARY, Decisions(tile=(4, 2)))
    assert refuse(product._replace(kind="c128"), TERMS, Decisions(packed=True, chunk=16))
    row, lanes = product._replace(m=1), vector_lanes(8)
    assert refuse(row, TERMS, Decisions(chunk=8, grain=lanes)) is None
    assert lanes == 1 or refuse(row, TERMS, Decisions(chunk=8, grain=lanes + 1))


def test_tiles_have_the_sums_that_fit_in_registers():
    for m, n in ((1, 9), (3, 40), (64, 64), (200, 17)):
        product = Product("f64", m, n, 50, False, False, 50, n)
        found = decide(product, TERMS, False)
        assert found.chunk if m == 1 else refuse(product, TERMS, found) is None


def test_reports_show_them():
    report = wg.compile(np.matmul).report(np.ones((40, 30)), np.ones((30, 50)))
    (line,) = report.routines
    assert line.startswith("product (tile ")
