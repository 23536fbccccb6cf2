"""The choice of steps, as SciPy's Runge-Kutta methods make it: from an error estimate relative to the tolerances.

None of it is differentiated: steps depend on the parameters through the error control, not through the solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.integrate.right_hand_side import Parts, RightHandSide
from wengert.ops.elementwise.choices import maximum, minimum, where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.exponential import sqrt
from wengert.ops.reductions.sums import sum as sum_
from wengert.transforms.products import stop_gradient

SAFETY, SMALLEST, LARGEST = 0.9, 0.2, 10.0
"""The factor of safety, and the bounds on how much a step may shrink or grow at once."""


class Controller(NamedTuple):
    """Tolerances, and the order of the error estimate; `atol` has the parts of a state, or is one number for all."""

    rtol: float
    atol: Parts
    max_step: float
    order: int
    n: int

    def scale(self, *states: Sequence[Any]) -> Parts:
        """How large an error may be in each component: relative to the largest of these states."""
        sizes = [[absolute(stop_gradient(part)) for part in state] for state in states]
        largest = sizes[0] if len(sizes) == 1 else [maximum(a, b) for a, b in zip(*sizes, strict=True)]
        return [a + size * self.rtol for a, size in zip(self.atol, largest, strict=True)]

    def mean_square(self, x: Sequence[Any], scale: Sequence[Any]) -> Any:
        """The mean of the squares of the components of x, relative to the scale."""
        total: Any = None
        for part, s in zip(x, scale, strict=True):
            ratio = absolute(stop_gradient(part)) / s
            square = sum_(ratio * ratio) if ratio.ndim else ratio * ratio
            total = square if total is None else total + square
        return total / float(self.n)

    def norm(self, x: Sequence[Any], scale: Sequence[Any]) -> Any:
        """The root of the mean square."""
        return sqrt(self.mean_square(x, scale))

    def first_step(self, equation: RightHandSide, t: Any, end: Any, y: Parts, f: Parts) -> Any:
        """A first step, from the sizes of the solution and of its first two derivatives (Hairer, Norsett & Wanner)."""
        length = absolute(end - t)
        direction = where(end < t, -1.0, 1.0)
        scale = self.scale(y)
        d0, d1 = self.norm(y, scale), self.norm(f, scale)
        is_small = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = minimum(where(is_small, 1e-6, 0.01 * d0 / where(is_small, 1.0, d1)), length)
        rates = equation.rate(t + h0 * direction, [a + h0 * direction * b for a, b in zip(y, f, strict=True)])
        d2 = self.norm([b - a for a, b in zip(f, rates, strict=True)], scale) / where(length == 0.0, 1.0, h0)
        steepest = maximum(d1, d2)
        is_flat = steepest <= 1e-15
        h1 = where(
            is_flat, maximum(1e-6, h0 * 1e-3), (0.01 / where(is_flat, 1.0, steepest)) ** (1.0 / (self.order + 1.0))
        )
        return stop_gradient(minimum(minimum(100.0 * h0, h1), minimum(length, self.max_step)))

    def least_step(self, t: Any) -> Any:
        """The smallest step that changes the time; at zero, the smallest normal number."""
        numbers = np.finfo(float)
        return maximum(10.0 * float(numbers.eps) * absolute(t), float(numbers.tiny))

    def next_step(self, h: Any, error: Any, accepts: Any, was_rejected: Any) -> Any:
        """The size of the next step, or of the next trial."""
        factor = SAFETY * where(error == 0.0, 1e-10, error) ** (-1.0 / (self.order + 1.0))
        most = where(was_rejected, 1.0, LARGEST)
        grown = where(factor < most, factor, most)
        shrunk = where(factor > SMALLEST, factor, SMALLEST)  # also for NaN
        return h * where(accepts, grown, shrunk)
