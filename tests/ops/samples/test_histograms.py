"""Counting in bins: NumPy's values, no derivatives with respect to the sample, but to the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.as_numpy import assert_as_numpy, assert_call, assert_same, calls, check_modes

import wengert as wg

RNG = np.random.default_rng(23)
X, Y, Z = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5)), RNG.normal(size=6)
N = np.array([2, 0, 1, 1, 0])
EDGES = np.array([-1.5, -0.4, 0.3, 1.2])

VALUES: dict[str, list[tuple[Any, ...]]] = {
    "bincount": [(N,), (N, X[0]), (N, None, 7), (N, N[::-1]), (N[:0], {"minlength": 2}), (N.astype("u1"),)],
    "digitize": [(X, EDGES), (X, EDGES[::-1]), (EDGES, EDGES, True), (EDGES, EDGES[::-1], True), (EDGES, EDGES)],
    "histogram2d": [
        (X[0], Y[0]), (X[0], Y[0], 3, {"weights": Z[:5]}), (X[0], Y[0], [EDGES, 4], {"density": True}),
        (X[0], Y[0], EDGES),
        (X[0], Y[0], (2, 3), {"range": [(-1, 1), (-1, 2)]}), (EDGES, EDGES, EDGES),
    ],
}  # fmt: skip


@calls(VALUES)
def test_values(name, args, kwargs):
    assert_as_numpy(name, args, kwargs)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"bins": 3},
        {"bins": (2, EDGES, 3)},
        {"bins": 2, "range": [(-1, 1)] * 3},
        {"bins": 2, "density": True, "weights": Z[:5] ** 2},
    ],
)
def test_histogramdd(given):
    points = RNG.normal(size=(5, 3))
    counts, edges = np.histogramdd(points, **given)
    for sample in (wg.tensor(points), [wg.tensor(c) for c in points.T]):
        found, found_edges = np.histogramdd(sample, **given)
        assert_same(found, counts)
        assert_same(found_edges, edges)
    assert_same(wg.histogramdd(X[0], bins=4)[0], np.histogramdd(X[0], bins=4)[0])


SMOOTH = {
    "bincount": (lambda w: np.bincount(N, w, 4), [X[0]]),
    "histogram2d": (lambda w: np.histogram2d(X[0], Y[0], 2, weights=w)[0], [Z[:5] ** 2]),
    "density": (lambda w: np.histogramdd([X[0], Y[0]], 2, weights=w, density=True)[0], [Z[:5] ** 2]),
}


@pytest.mark.parametrize(("f", "args"), SMOOTH.values(), ids=SMOOTH)
def test_derivatives_in_the_weights(f, args):
    check_modes(f, args)


def test_no_gradient_flows_to_the_numbers():
    x = wg.tensor(X[0], requires_grad=True)
    assert not np.histogram2d(x, Y[0], 2)[0].requires_grad
    assert not np.digitize(x, EDGES).requires_grad


def test_errors_say_where():
    x = wg.tensor(X)
    for call, error, message in (
        (lambda: np.bincount(x[0]), TypeError, "vector of integers"),
        (lambda: np.bincount(wg.tensor(N - 1)), ValueError, "negative"),
        (lambda: np.bincount(wg.tensor(N), x), ValueError, "weight for each"),
        (lambda: np.bincount(wg.tensor(N), minlength=-1), ValueError, "minlength"),
        (lambda: wg.compile(lambda i: np.bincount(i))(N), TypeError, "The length of what bincount gives"),
        (lambda: np.digitize(x, [1.0, 3.0, 2.0]), ValueError, "monotonically"),
        (lambda: np.digitize(x, X), ValueError, "vector"),
        (lambda: np.digitize(x * 1j, EDGES), TypeError, "real numbers"),
        (lambda: np.histogram2d(x[0], Z), ValueError, "same length"),
        (lambda: np.histogramdd(x, bins=[1, 2]), ValueError, "5 coordinates"),
        (lambda: np.histogramdd(x[0], bins=[EDGES[::-1]]), ValueError, "rising"),
        (lambda: np.histogramdd(x[0], weights=Z), ValueError, "weights"),
        (lambda: np.histogramdd(x[None]), ValueError, "rows of a matrix"),
    ):
        with pytest.raises(error, match=message + r".*test_histograms\.py:\d+"):
            call()


HISTOGRAMS = [
    {}, {"bins": 4}, {"bins": np.array([-1.0, 0.0, 0.5, 2.0])}, {"bins": 3, "range": (-1, 1)}, {"bins": "sturges"},
    {"bins": 4, "density": True}, {"weights": Y}, {"bins": [-1.0, 0.0, 1.0], "weights": Y, "density": True},
    {"bins": 3, "weights": np.arange(20).reshape(4, 5)},
]  # fmt: skip


@pytest.mark.parametrize("options", HISTOGRAMS, ids=str)
def test_histograms(options):
    assert_call("histogram", X, **options)
    assert_call("histogram", (4 * X).astype(int), **options)
    assert_call("histogram", X.astype("f4"), **options)


def test_bin_edges():
    for options in ({}, {"bins": 4, "range": (-1, 1)}, {"bins": "fd"}, {"bins": [0.0, 0.5, 2.0]}):
        assert_call("histogram_bin_edges", X, **options)


def test_histograms_have_no_gradient_in_the_numbers():
    counts, edges = np.histogram(wg.tensor(X, requires_grad=True))
    assert not counts.requires_grad
    assert not edges.requires_grad
    counted = wg.compile(lambda x: np.histogram(x, 3))(X)
    assert_same(counted, np.histogram(X, 3))
