"""The Helmholtz free energy of a mixture: a scalar function of n variables, for the cost of a gradient as n grows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

R, T = 8.3145, 300.0
SQRT2 = math.sqrt(2.0)


def data(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mole fractions, co-volumes, and the symmetric matrix of attractions of n components."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 1.0, n)
    b = rng.uniform(0.01, 0.1, n) / n
    a = rng.uniform(0.5, 1.5, (n, n))
    return x / x.sum(), b, (a + a.T) / 2


def helmholtz(x: Any, b: np.ndarray, a: np.ndarray) -> Any:
    """R T sum(log(x / (1 - b.x))) - (x.A.x) / (sqrt(8) b.x) log((1 + (1 + sqrt 2) b.x) / (1 + (1 - sqrt 2) b.x))"""
    bx = b @ x
    ideal = R * T * np.sum(np.log(x / (1.0 - bx)))
    return ideal - (x @ a @ x) / (math.sqrt(8.0) * bx) * np.log((1.0 + (1.0 + SQRT2) * bx) / (1.0 + (1.0 - SQRT2) * bx))
