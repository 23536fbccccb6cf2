"""Compiled histograms and searches, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

EDGES = {
    "of one width": np.linspace(-2.0, 2.0, 9),
    "equal": np.array([-1.0, 0.0, 0.0, 2.0, 2.0]),
    "irregular": np.array([-1.5, -1.4, 0.0, 0.01, 3.0]),
    "infinite": np.array([-np.inf, 0.0, np.inf]),
    "one point": np.array([1.0, 1.0]),
    "many": np.linspace(-3.0, 3.0, 5001),
}


def count(x, edges):
    return np.histogram(x, edges)[0]


def numbers(n, dtype):
    """Numbers of which some are edges, outside of all bins, infinite or NaN."""
    x = (2.0 * np.random.default_rng(n).standard_normal(n)).astype(dtype)
    if x.dtype.kind == "f":
        x[::5], x[1::7], x[2::11], x[3::13] = 0.0, np.nan, 2.0, -np.inf
    return x


@pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize(("dtype", "edge_dtype"), [("f8", "f8"), ("f4", "f4"), ("i8", "f8"), ("f4", "f8")])
def test_counts_are_those_of_numpy(edges, dtype, edge_dtype):
    compiled, edges = wg.compile(count), edges.astype(edge_dtype)
    for n in (1, 16, 1003):
        x = numbers(n, dtype)
        np.testing.assert_array_equal(compiled(x, edges), count(x, edges))
    assert not compiled.report(x, edges).fallbacks


def test_integers_are_counted_between_integers():
    x, edges = np.arange(-5, 30), np.array([0, 3, 3, 20])
    np.testing.assert_array_equal(wg.compile(count)(x, edges), count(x, edges))


def test_all_cores_count_together():
    x = numbers(200_003, "f8")
    for edges in (EDGES["of one width"], EDGES["irregular"]):
        np.testing.assert_array_equal(wg.compile(count)(x, edges), count(x, edges))


def test_edges_that_do_not_rise_are_left_to_numpy():
    compiled, x = wg.compile(count), numbers(100, "f8")
    compiled(x, np.array([0.0, 1.0, 2.0]))
    with pytest.raises(ValueError, match="monotonically"):
        compiled(x, np.array([0.0, 2.0, 1.0]))
    odd = np.array([0.0, np.nan, 1.0])  # which NumPy takes
    np.testing.assert_array_equal(compiled(x, odd), count(x, odd))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [1, 2, 3, 16, 17, 1000])
def test_searches_of_few_and_many_numbers(size, side):
    sorted_numbers = np.sort(numbers(77, "f8"))
    x = numbers(size, "f8")
    search = lambda a, v: np.searchsorted(a, v, side)
    np.testing.assert_array_equal(wg.compile(search)(sorted_numbers, x), search(sorted_numbers, x))
