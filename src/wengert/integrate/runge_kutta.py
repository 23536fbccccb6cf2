"""Steps of explicit Runge-Kutta methods on the parts of a state, for loops in graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.integrate.controller import Controller
from wengert.integrate.right_hand_side import Parts, RightHandSide
from wengert.integrate.tableau import read_tableau
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.exponential import sqrt
from wengert.transforms.products import stop_gradient

Interpolant = Callable[[Any], Any]
"""The state at a fraction of a step: in parts, or joined to a vector."""


class Trial(NamedTuple):
    """A step that was tried: the new state, what the next step needs of this one, and the error relative to the scale.

    `stages` are what the interpolant is made of.
    """

    y: Parts
    carried: Parts
    error: Any
    stages: list[Parts]


def combine(weights: Any, stages: Sequence[Parts]) -> Parts:
    """A linear combination of stages."""
    used = [(w, stage) for w, stage in zip(weights, stages, strict=False) if w != 0.0]
    first, *rest = used
    total = [float(first[0]) * part for part in first[1]]
    for w, stage in rest:
        total = [a + float(w) * part for a, part in zip(total, stage, strict=True)]
    return total


class RungeKutta:
    """An explicit method of SciPy: RK23, RK45 or DOP853. The last derivative of a step is the first of the next."""

    def __init__(self, name: str, equation: RightHandSide):
        self.equation, self.tableau = equation, read_tableau(name)
        self.order = self.tableau.order

    def start(self, t: Any, y: Parts) -> Parts:
        """What the first step needs."""
        return self.equation.rate(t, y)

    def along(self, y: Parts, h: Any, weights: Any, stages: Sequence[Parts]) -> Parts:
        """The state after a combination of stages."""
        return [a + h * b for a, b in zip(y, combine(weights, stages), strict=True)]

    def step(self, t: Any, h: Any, y: Parts, carried: Parts, controller: Controller) -> Trial:
        """One step."""
        method, stages = self.tableau, [carried]
        for a, c in zip(method.a[1:], method.c[1:], strict=True):
            stages.append(self.equation.rate(t + float(c) * h, self.along(y, h, a, stages)))
        new = self.along(y, h, method.b, stages)
        stages.append(self.equation.rate(t + h, new))
        scale = controller.scale(y, new)
        squares = [controller.mean_square(combine(e, stages), scale) for e in method.errors]
        return Trial(new, stages[-1], stop_gradient(abs(h)) * relative_error(squares), stages)

    def interpolant(self, t: Any, h: Any, y: Parts, stages: list[Parts]) -> Interpolant:
        """The state as a function of the fraction of a step."""
        method, stages = self.tableau, list(stages)
        for c, a in method.extra:
            stages.append(self.equation.rate(t + c * h, self.along(y, h, a, stages)))
        rows = [[h * part for part in combine(weights, stages)] for weights in method.weights]

        def at(x: Any) -> Parts:
            total = y
            for factor, row in zip(method.basis(x, len(rows)), rows, strict=True):
                total = [a + factor * b for a, b in zip(total, row, strict=True)]
            return total

        return at


def relative_error(squares: Sequence[Any]) -> Any:
    """The error of a step of length one: the norm of one estimate, or DOP853's mean of its two."""
    if len(squares) == 1:
        return sqrt(squares[0])
    fifth, third = squares
    total = fifth + 0.01 * third
    is_zero = total == 0.0
    return where(is_zero, np.float64(0.0), fifth / sqrt(where(is_zero, 1.0, total)))
