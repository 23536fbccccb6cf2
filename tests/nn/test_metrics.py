"""Metrics against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.nn import metrics

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_accuracy(shape):
    scores, classes = RNG.normal(size=(20, 5, *shape)), RNG.integers(5, size=(20, *shape))
    moved = np.moveaxis(scores, 1, -1).reshape(-1, 5)
    expected = np.mean([row.argmax() == c for row, c in zip(moved, classes.ravel(), strict=True)])
    assert metrics.accuracy(scores, classes) == pytest.approx(expected)
    top = np.mean([c in row.argsort()[-2:] for row, c in zip(moved, classes.ravel(), strict=True)])
    metric = metrics.top_k_accuracy(2)
    assert metric(scores, classes) == pytest.approx(top)
    assert metric.__name__ == "top_2_accuracy"
    assert metrics.top_k_accuracy(1)(scores, classes) == metrics.accuracy(scores, classes)


def test_accuracy_of_two_classes():
    assert metrics.accuracy(np.array([-1.0, 2.0, 3.0, -4.0]), np.array([0, 1, 0, 1])) == 0.5
    assert metrics.accuracy(np.array([[-1.0], [2.0]]), np.array([[0.0], [1.0]])) == 1.0


def test_errors_of_shape():
    with pytest.raises(ValueError, match=r"Scores of shape \(3, 4\) do not belong to classes of shape \(3, 1\)"):
        metrics.accuracy(np.ones((3, 4)), np.ones((3, 1), int))


def test_distances():
    x, y = RNG.normal(size=(2, 7, 3))
    assert metrics.mean_absolute_error(x, y) == pytest.approx(np.abs(x - y).sum() / 21)
    assert metrics.mean_squared_error(x, y) == pytest.approx(((x - y) ** 2).sum() / 21)
