"""A search that several tests of optimisation make."""

from __future__ import annotations

import numpy as np

START = np.array([1.3, 0.7, 0.8])


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def start_of(method):
    return np.full(3, 1.3) if method == "dogleg" else START  # which needs a positive definite Hessian
