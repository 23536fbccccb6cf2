"""What a large program is: a function of arrays whose result is one number, and the arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Draw:
    """Arrays at random, the same ones each time."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape: int) -> np.ndarray:
        return self.rng.normal(size=shape)

    def positive(self, *shape: int) -> np.ndarray:
        return self.rng.uniform(0.5, 1.5, shape)

    def indices(self, n: int, *shape: int) -> np.ndarray:
        return self.rng.integers(0, n, shape)

    def mask(self, *shape: int) -> np.ndarray:
        return self.rng.random(shape) < 0.5


class Case(NamedTuple):
    """A function whose result is one number, and its arguments."""

    f: Callable[..., Any]
    args: Callable[[Draw], tuple[np.ndarray, ...]]
