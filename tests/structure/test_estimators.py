"""Hutchinson's estimators against exact traces and diagonals."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.structure.estimators import hutchinson
from wengert.structure.operators import hessian_operator, jacobian_operator

RNG = np.random.default_rng(5)
A = RNG.standard_normal((30, 30))
MATRIX = A + A.T


def f(x):
    return np.exp(0.1 * MATRIX @ x).sum() + (x**3).sum()


X = 0.1 * RNG.standard_normal(30)
HESSIAN = wg.hessian(f)(X)


@pytest.mark.parametrize("kind", ["signs", "normal"])
@pytest.mark.parametrize("what", ["trace", "diagonal"])
def test_the_truth_is_within_a_few_standard_errors(kind, what):
    exact = np.trace(HESSIAN) if what == "trace" else np.diagonal(HESSIAN)
    found = hutchinson(f, X, what=what, probes=400, rng=1, kind=kind)
    assert found.probes == 400
    assert np.shape(found.value) == np.shape(exact)
    assert np.all(np.abs(found.value - exact) < 4.5 * found.standard_error)
    assert np.all(found.standard_error > 0)


def test_the_standard_error_is_that_of_many_estimates():
    estimates = [hutchinson(MATRIX, probes=16, rng=seed) for seed in range(300)]
    spread = np.std([e.value for e in estimates])
    expected = np.sqrt(np.mean([e.standard_error**2 for e in estimates]))
    assert spread == pytest.approx(expected, rel=0.15)
    assert spread == pytest.approx(np.sqrt(2 * (np.sum(MATRIX**2) - np.sum(np.diagonal(MATRIX) ** 2)) / 16), rel=0.15)


def test_signs_are_exact_for_a_diagonal_matrix():
    found = hutchinson(
        lambda x: (x["a"] ** 4).sum() + x["b"] ** 4, {"a": np.arange(3.0), "b": 2.0}, what="diagonal", probes=2, rng=0
    )
    assert found.value["a"].tolist() == [0.0, 12.0, 48.0]
    assert found.value["b"] == 48.0
    assert found.standard_error["b"] == 0.0


def test_operators_matrices_and_seeds():
    H = hessian_operator(f, X)
    generator = np.random.default_rng(2)
    first, second = hutchinson(H, rng=2), hutchinson(H, rng=generator)
    assert first == second
    assert hutchinson(H, rng=2, chunk_size=32) == pytest.approx(hutchinson(f, X, rng=2, chunk_size=32))
    assert hutchinson(H, rng=3) != first
    np.testing.assert_allclose(hutchinson(np.diag([1.0, 2.0]), what="diagonal", rng=0).value, [1.0, 2.0])


@pytest.mark.parametrize(
    ("args", "options", "error"),
    [
        ((MATRIX,), {"what": "norm"}, "the trace or the diagonal"),
        ((MATRIX,), {"kind": "cauchy"}, "signs or normal"),
        ((MATRIX,), {"probes": 1}, "at least 2 probes"),
        ((f,), {}, "needs x"),
        ((MATRIX, X), {}, "an operator alone"),
        ((MATRIX[:3],), {}, "square"),
        ((jacobian_operator(lambda x: x[:2], X),), {}, "square"),
    ],
)
def test_bad_input(args, options, error):
    with pytest.raises((ValueError, TypeError), match=error):
        hutchinson(*args, **options)
