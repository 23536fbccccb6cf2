"""Integers that say where: as NumPy has them, in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.as_numpy import assert_as_numpy, assert_same, calls
from tests.versions import at_least

import wengert as wg

X = np.random.default_rng(24).normal(size=(4, 5))
N = np.array([[2, 0, 1], [0, 1, 2]])

VALUES: dict[str, list[tuple[Any, ...]]] = {
    "unravel_index": [(N, (3, 2)), (np.array(5), (2, 3, 4)), (N, (3, 2), "F"), (N, 7)],
    "ravel_multi_index": [
        ((N, N[::-1]), (3, 4)),
        ((N, N), (3, 3), {"order": "F"}),
        ((N * 5, N - 3), (3, 2), {"mode": ("clip", "wrap")}),
    ],
    "tril_indices_from": [(X,), (X, 1)],
    "triu_indices_from": [(X,), (X, -1)],
    "diag_indices_from": [(X[:, :4],), (np.ones((2, 2, 2)),)],
    "ix_": [(N[0], np.array([True, False, True])), (N[0], N[1], N[0]), (N[0], [])],
    "size": [(X,), (X, 1), *([(X, (0, 1))] if at_least(np, 2, 4) else [])],
    "shape": [(X,)],
    "ndim": [(X,)],
    "iscomplexobj": [(X,), (X + 1j,)],
    "isrealobj": [(X,), (X + 1j,)],
    "array_equiv": [(X, X), (X, X[0]), (X, X[:, 0]), (np.ones((2, 3)), np.ones(3))],
    "lexsort": [((N[0], N[1]),), (N,), ((N, N[::-1]), {"axis": 0}), ((X[0, :3], N[0]),)],
}


@calls(VALUES)
def test_values(name, args, kwargs):
    assert_as_numpy(name, args, kwargs)


def test_the_place_of_the_largest_element():
    x = wg.tensor(X, requires_grad=True)
    x[np.unravel_index(np.argmax(x), x.shape)].backward()
    assert_same(x.grad, (X.max() == X).astype(float))

    def indices(x):
        return np.unravel_index(np.argmax(x), x.shape)

    several = np.stack([X, -X])
    assert_same(wg.vmap(indices)(several), [np.array(axis) for axis in zip(*map(indices, several), strict=True)])
    assert_same(wg.compile(indices)(X), indices(X))


def test_triangles_and_parts_of_values():
    x = wg.tensor(X, requires_grad=True)
    (x[np.tril_indices_from(x)].sum() + x[np.ix_([0, 2], [1, 3])].sum()).backward()
    expected = np.tril(np.ones_like(X))
    expected[np.ix_([0, 2], [1, 3])] += 1.0
    assert_same(x.grad, expected)


def test_errors_say_where():
    x, i = wg.tensor(X), wg.tensor(N)
    for call, error, message in (
        (lambda: np.unravel_index(i, (2, 1)), ValueError, "between 0 and 1"),
        (lambda: np.unravel_index(x, (2, 1)), TypeError, "for integers"),
        (lambda: np.unravel_index(i, (3, 1), "A"), ValueError, "order"),
        (lambda: np.ravel_multi_index((i, i), (2, 3)), ValueError, "between 0 and 1"),
        (lambda: np.ravel_multi_index((i, i), (2, 3, 4)), ValueError, "3 axes"),
        (lambda: np.tril_indices_from(x[0]), ValueError, "needs a matrix"),
        (lambda: np.diag_indices_from(x), ValueError, "equally long"),
        (lambda: np.ix_(i), ValueError, "vectors"),
    ):
        with pytest.raises(error, match=message + r".*test_index_arrays\.py:\d+"):
            call()
