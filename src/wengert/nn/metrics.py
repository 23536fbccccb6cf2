"""Metrics: numbers that say how good outputs are, from arrays of outputs and targets. Those of `fit` are means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.errors import user_error


def accuracy(output: Any, target: Any) -> float:
    """The share of samples whose class is predicted, from scores `(N, C, ...)` and classes `(N, ...)`.

    If the shapes are equal, there are two classes: a positive output (a logit) predicts the class 1.

    >>> accuracy(np.array([[0.1, 2.0], [3.0, 1.0]]), np.array([1, 1]))
    0.5
    """
    output, target = np.asarray(output), np.asarray(target)
    if output.shape == target.shape:
        return float(((output > 0) == (target > 0.5)).mean())
    check_scores(output, target)
    return float((output.argmax(1) == target).mean())


def top_k_accuracy(k: int) -> Callable[[Any, Any], float]:
    """A metric: the share of samples whose class is among the k with the highest scores.

    >>> top_k_accuracy(2)(np.array([[0.1, 2.0, 1.0], [3.0, 1.0, 2.0]]), np.array([2, 1]))
    0.5
    """

    def metric(output: Any, target: Any) -> float:
        output, target = np.asarray(output), np.asarray(target)
        check_scores(output, target)
        chosen = np.take_along_axis(output, np.expand_dims(target, 1), 1)
        return float(((output > chosen).sum(1) < k).mean())

    metric.__name__ = f"top_{k}_accuracy"
    return metric


def mean_absolute_error(output: Any, target: Any) -> float:
    """The mean of the absolute differences.

    >>> mean_absolute_error(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    1.0
    """
    return float(np.abs(np.asarray(output) - np.asarray(target)).mean())


def mean_squared_error(output: Any, target: Any) -> float:
    """The mean of the squared differences.

    >>> mean_squared_error(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    2.0
    """
    return float(np.square(np.asarray(output) - np.asarray(target)).mean())


def check_scores(output: np.ndarray, target: np.ndarray) -> None:
    """Raise an error if the shapes are not those of scores and classes."""
    if output.ndim < 2 or (output.shape[0], *output.shape[2:]) != target.shape:
        raise user_error(
            ValueError,
            f"Scores of shape {output.shape} do not belong to classes of shape {target.shape}",
            "Scores are (N, C, ...) and classes (N, ...).",
        )
