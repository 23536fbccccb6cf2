"""Slopes by differences of values along a line, with an estimate of their error that notices kinks and jumps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

STEPS = (2e-3, 2e-4, 2e-5)
ROUNDING = 1e-14
"""The error of a value, relative to its size, that a difference is assumed to suffer from."""


class Slope(NamedTuple):
    value: float
    error: float
    """How far off it may be; infinite where the line bends or jumps at the point itself."""


def slope(phi: Callable[[float], float]) -> Slope:
    """The derivative of phi at 0: the best of the stencils (8 f(h) - 8 f(-h) - f(2h) + f(-2h)) / 12h for several h.

    Each is compared with that for h/2. A smooth function has equal slopes on both sides up to a multiple of h; where
    the difference of the two does not shrink with h, the function has a kink at 0, and no error bounds the slope.
    """
    at_zero = phi(0.0)
    best = Slope(np.nan, np.inf)
    for h in STEPS:
        values = {k: phi(k * h / 2) for k in (-4, -2, -1, 1, 2, 4)}
        wide = (8 * (values[2] - values[-2]) - (values[4] - values[-4])) / (12 * h)
        narrow = (8 * (values[1] - values[-1]) - (values[2] - values[-2])) / (6 * h)
        rounding = ROUNDING * max(map(abs, [at_zero, *values.values()])) / h
        bends = [abs(values[k] - 2 * at_zero + values[-k]) / (k * h / 2) for k in (1, 2, 4)]
        is_kink = bends[2] > 100 * rounding and bends[0] > 0.7 * bends[1] > 0.49 * bends[2]
        error = np.inf if is_kink else abs(wide - narrow) + 10 * rounding
        if error < best.error:
            best = Slope(narrow, error)
        if error < 1e-8 * max(1.0, abs(narrow)):
            break
    return best
