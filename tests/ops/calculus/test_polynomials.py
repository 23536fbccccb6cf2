"""Polynomials: NumPy's values, derivatives in every mode, and leading coefficients that are 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.as_numpy import assert_as_numpy, assert_same, calls, check_modes

import wengert as wg

RNG = np.random.default_rng(25)
X, Z = RNG.normal(size=(4, 5)), RNG.normal(size=6)
N = np.array([2, 0, 1, 1, 3])
KNOTS = np.array([0.0, 0.7, 1.5, 3.1])
SINGLE = Z.astype("f4")

VALUES: dict[str, list[tuple[Any, ...]]] = {
    "poly": [(Z,), (X[:, :4],), (N,), (SINGLE,)],
    "polyadd": [(Z, Z[:3]), (N[:2], X[0]), (Z, 2.0)],
    "polysub": [(Z, Z[:3]), (N[:2], X[0])],
    "polymul": [(Z, Z[:3]), (N, X[0]), (Z, np.array(3.0))],
    "polydiv": [(Z, Z[:3]), (Z[:2], Z), (Z, Z[:1]), (np.array([1.0, -3.0, 2.0]), Z[:2])],
    "polyder": [(Z,), (Z, 3), (Z, 0), (N, 2), (SINGLE,), (Z, 9)],
    "polyint": [(Z,), (Z, 3), (Z, 2, [3.0, 4.0]), (N, 2, 5), (SINGLE,), (Z, 0)],
    "polyfit": [
        (Z, Z[::-1] ** 2, 2), (X[0], X.T, 2), (Z, Z[::-1], 2, {"cov": True}), (SINGLE, SINGLE**2, 1),
        (Z, Z[::-1], 1, {"w": np.arange(1.0, 7.0)}), (X[0], X.T, 1, {"cov": "unscaled", "w": X[1] ** 2}),
        (X[0], X.T, 1, {"cov": True}),
    ],
}  # fmt: skip


@calls(VALUES)
def test_values(name, args, kwargs):
    assert_as_numpy(name, args, kwargs)


@pytest.mark.parametrize("p", [[1.0, -1.0, 3.0, 2.0], [0.0, 2.0, -10.0, 12.0, 0.0, 0.0], [3.0], [0.0, 0.0], [2, -4], Z])
def test_roots(p):
    expected = np.asarray(np.roots(p), complex)
    found = np.roots(wg.tensor(p))
    np.testing.assert_allclose(np.sort_complex(np.asarray(found)), np.sort_complex(expected), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(wg.roots(p), np.roots(p))


SMOOTH = {
    "poly": (np.poly, [Z]),
    "characteristic polynomial": (np.poly, [X[:, :4]]),
    "polyadd": (np.polyadd, [Z, X[0]]),
    "polysub": (np.polysub, [X[0], Z]),
    "polymul": (np.polymul, [Z, X[0]]),
    "polydiv": (np.polydiv, [Z, np.array([1.5, 0.3, -0.4])]),
    "polyder": (lambda p: np.polyder(p, 2), [Z]),
    "polyint": (lambda p, k: np.polyint(p, 2, k), [Z, X[0, :2]]),
    "roots": (lambda p: np.sort(np.roots(p).real), [np.array([1.0, -6.0, 11.0, -6.1])]),
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), [KNOTS, Z[:4]]),
    "polyfit of columns with weights": (
        lambda y, w: np.polyfit(KNOTS, y, 1, w=w),
        [X[:, :2], np.array([1.0, 2.0, 0.5, 1.5])],
    ),
    "polyfit, covariance": (lambda x, y: np.polyfit(x, y, 1, cov=True), [KNOTS, Z[:4]]),
}


@pytest.mark.parametrize(("f", "args"), SMOOTH.values(), ids=SMOOTH)
def test_derivatives(f, args):
    check_modes(f, args)


def test_all_of_a_fit():
    found, expected = np.polyfit(wg.tensor(Z), wg.tensor(Z[::-1]), 1, full=True), np.polyfit(Z, Z[::-1], 1, full=True)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12)


def test_a_root_moves_against_its_coefficients():
    """At a simple root r of p, dr/dp_k is -r^(n-k) / p'(r)."""
    p = np.array([2.0, -3.0, 4.0, 1.0])
    roots = np.asarray(wg.roots(p), complex)
    slopes = wg.jacfwd(lambda p: np.roots(p))(p)
    for r, slope in zip(np.asarray(np.roots(wg.tensor(p))), np.asarray(slopes), strict=True):
        assert np.abs(roots - r).min() < 1e-12
        np.testing.assert_allclose(slope, -np.vander([r], 4)[0] / np.polyval(np.polyder(p), r), rtol=1e-11)


def test_coefficients_that_are_zero_keep_their_derivative():
    p = wg.tensor([0.0, 1.0], requires_grad=True)
    assert_same(np.polymul(p, [1.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    np.polymul(p, [1.0, 2.0]).sum().backward()
    assert p.grad.tolist() == [3.0, 3.0]
    quotient, rest = np.polydiv(wg.tensor([1.0, -3.0, 2.0]), [1.0, -1.0])
    assert_same((quotient, rest), (np.array([1.0, -2.0]), np.array([0.0])))


def test_errors_say_where():
    x = wg.tensor(X)
    for call, error, message in (
        (lambda: np.polyadd(x, [1.0]), ValueError, "vector of coefficients"),
        (lambda: np.poly(x), ValueError, "square matrix"),
        (lambda: np.roots(x), ValueError, "vector of coefficients"),
        (lambda: np.polyder(x[0], -1), ValueError, "order of a derivative"),
        (lambda: np.polyint(x[0], -1), ValueError, "order of an integral"),
        (lambda: np.polyint(x[0], 3, [1.0, 2.0]), ValueError, "3 of them"),
        (lambda: np.polyfit(x, x, 1), TypeError, "vector x"),
        (lambda: np.polyfit(x[0], x[0], -1), ValueError, "deg >= 0"),
        (lambda: np.polyfit(x[0], x[0], 1, w=Z), TypeError, "weight for each"),
        (lambda: np.polyfit(x[0], x[0], 4, cov=True), ValueError, "more than 5 samples"),
    ):
        with pytest.raises(error, match=message + r".*test_polynomials\.py:\d+"):
            call()
    with pytest.warns(np.exceptions.RankWarning):
        np.polyfit(wg.tensor([1.0, 1.0, 1.0]), wg.tensor([1.0, 2.0, 3.0]), 1)
