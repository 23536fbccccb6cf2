"""Sums and largest elements of windows: against loops, in every mode, and compiled."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.oracle import numerical_gradient

import wengert as wg
from wengert.ops.signal.windows import (
    adaptive_windows,
    are_disjoint,
    averaging_matrix,
    sliding_windows,
    tile_size,
    window_pick,
    window_place,
    window_spread,
    window_sum,
)

TILES = sliding_windows((4, 6), (2, 3), (2, 3), (1, 1))
OVERLAPPING = sliding_windows((5, 7), (3, 2), (1, 2), (1, 2))
UNEVEN = adaptive_windows((5, 4), (3, 2))
LAYOUTS = {"tiles": (TILES, (4, 6)), "overlapping": (OVERLAPPING, (5, 7)), "uneven": (UNEVEN, (5, 4))}


def first_largest(x, windows):
    """The index of the first largest element of each window, by loops."""
    counts = [len(elements[0]) for elements in windows]
    found = np.empty((*x.shape[:-2], *counts, 2), int)
    for at in np.ndindex(*x.shape[:-2]):
        for position in np.ndindex(*counts):
            best = None
            for element in product(*windows):
                index = tuple(indices[i] for indices, i in zip(element, position, strict=True))
                if best is None or x[at][index] > x[at][best]:
                    best = index
            found[at + position] = best
    return found


@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_first_largest_element(layout, has_ties):
    windows, lengths = LAYOUTS[layout]
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(2, 2, *lengths))
    x = np.round(x) if has_ties else x
    at = first_largest(x, windows)
    expected = np.stack([u[i][at[i, ..., 0], at[i, ..., 1]] for i in range(2)])
    np.testing.assert_array_equal(window_pick(u, x, windows=windows), expected)
    t = rng.normal(size=expected.shape)
    placed = np.zeros_like(u)
    for i in range(2):
        np.add.at(placed[i], (at[i, ..., 0], at[i, ..., 1]), t[i])
    np.testing.assert_allclose(window_place(t, x, windows=windows), placed, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_functions_have_the_same_numbers(layout, dtype):
    windows, lengths = LAYOUTS[layout]
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (2, *lengths)).astype(dtype)
    largest = lambda x: window_pick(x, wg.stop_gradient(x), windows=windows)
    total = lambda x: window_sum(x, windows=windows)
    for f in (largest, total):
        slope = wg.grad(lambda x, f=f: (f(x) ** 2).sum())
        tangent = lambda x, f=f: wg.jvp(f, (x,), (np.sin(x),))[1]
        curved = lambda x, slope=slope: wg.jvp(slope, (x,), (np.cos(x),))[1]
        for g in (f, slope, tangent, curved):
            np.testing.assert_allclose(wg.compile(g)(x), g(x), rtol=1e-6 if dtype == np.float32 else 1e-13)
    if layout != "uneven":
        assert not wg.compile(wg.grad(lambda x: largest(x).sum() + total(x).sum())).report(x).fallbacks


def test_nan_is_largest():
    x = np.array([[1.0, np.nan, 3.0, 2.0, 5.0, 4.0]])
    windows = sliding_windows((6,), (2,), (2,), (1,))
    largest = lambda x: window_pick(x, wg.stop_gradient(x), windows=windows)
    for run in (largest, wg.compile(largest)):
        np.testing.assert_array_equal(run(x), [[np.nan, 3.0, 5.0]])
    pulled = window_place(np.ones((1, 3)), x, windows=windows)
    np.testing.assert_array_equal(pulled, [[0.0, 1.0, 1.0, 0.0, 1.0, 0.0]])


def test_infinite_cotangents_stay_where_they_are():
    windows = sliding_windows((4,), (2,), (2,), (1,))
    pulled = window_place(np.array([np.inf, 1.0]), np.array([1.0, 2.0, 4.0, 3.0]), windows=windows)
    assert pulled.tolist() == [0.0, np.inf, 1.0, 0.0]


def test_gradients_against_differences():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(5, 7)), rng.normal(size=(3, 3))
    f = lambda x: (window_pick(x, wg.stop_gradient(x), windows=OVERLAPPING) ** 2 * weights).sum()
    np.testing.assert_allclose(wg.grad(f)(x), numerical_gradient(f, (x,), 0), rtol=1e-6, atol=1e-8)


def test_sums_and_their_transpose():
    rng = np.random.default_rng(0)
    for windows, lengths in LAYOUTS.values():
        x = rng.normal(size=(2, *lengths))
        y = window_sum(x, windows=windows)
        t = rng.normal(size=y.shape)
        pulled = window_spread(t, windows=windows, lengths=lengths)
        np.testing.assert_allclose((pulled * x).sum(), (t * y).sum(), rtol=1e-12)


def test_batches():
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(3, 4, 6)), rng.normal(size=(4, 6))
    pick = lambda u, x: window_pick(u, x, windows=TILES)
    np.testing.assert_array_equal(wg.vmap(pick, in_axes=(None, 0))(t, x), np.stack([pick(t, part) for part in x]))
    np.testing.assert_array_equal(wg.vmap(pick, in_axes=(0, None))(x, t), np.stack([pick(part, t) for part in x]))


def test_layouts():
    assert are_disjoint(TILES)
    assert not are_disjoint(OVERLAPPING)
    assert tile_size(TILES, (4, 6)) == (2, 3)
    assert tile_size(TILES, (5, 6)) is None
    assert tile_size(OVERLAPPING, (5, 7)) is None
    np.testing.assert_allclose(averaging_matrix(7, 3).sum(1), 1.0)
