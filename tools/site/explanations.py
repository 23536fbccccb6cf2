"""Explanations of derivatives that pages show in a frame (`<iframe src="../explanations/...">`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import wengert as wg


def f(x1: float, x2: float) -> float:
    """The example of the course."""
    return np.log(x1) + x1 * x2 - np.sin(x2)


def newton(a: float) -> float:
    """The square root of a number, by Newton's method."""
    x = a
    for _ in range(4):
        x = (x + a / x) / 2
    return x


def loss(w: np.ndarray, b: float) -> float:
    """The loss of one neuron, on two samples."""
    x, y = np.array([[1.0, -2.0], [0.5, 1.0]]), np.array([1.0, 0.0])
    error = wg.sigmoid(x @ w + b) - y
    return (error**2).sum()


EXPLAINED: dict[str, tuple[Callable, tuple, str]] = {
    "running_example": (f, (2.0, 5.0), "both"),
    "newton": (newton, (2.0,), "reverse"),
    "neuron": (loss, (np.array([0.5, -0.25]), 0.1), "reverse"),
}
"""Functions, their arguments, and the mode in which they are explained."""


def files() -> dict[str, str]:
    """The pages, by their paths on the site."""
    return {
        f"explanations/{name}.html": wg.explain(function, *args, mode=mode).html()  # type: ignore[arg-type]
        for name, (function, args, mode) in EXPLAINED.items()
    }
