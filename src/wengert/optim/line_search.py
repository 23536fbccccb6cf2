"""A line search for the strong Wolfe conditions, by cubic interpolation (Nocedal and Wright 2006, section 3.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

DECREASE, CURVATURE = 1e-4, 0.9
"""The constants of the conditions: which part of the expected decrease is enough, and of the slope may remain."""


class LinePoint(NamedTuple):
    """A step length with the value, the gradient and the slope along the line there."""

    t: float
    value: float
    gradient: np.ndarray
    slope: float


class StrongWolfe:
    """The search along one line: first for an interval that has a good step, then inside it."""

    def __init__(self, evaluate: Callable[[float], LinePoint], start: LinePoint, most: int):
        self.evaluate, self.start, self.remaining = evaluate, start, most

    def is_too_high(self, trial: LinePoint) -> bool:
        """Whether a trial has not decreased enough; NaN has not."""
        return not trial.value <= self.start.value + DECREASE * trial.t * self.start.slope

    def is_flat(self, trial: LinePoint) -> bool:
        """Whether the slope of a trial has become small enough."""
        return abs(trial.slope) <= -CURVATURE * self.start.slope

    def search(self, t: float, shortest: float) -> LinePoint:
        """A step that fulfils the conditions, or the best one found; intervals below `shortest` are not divided."""
        previous, trial = self.start, self.evaluate(t)
        is_first = True
        while self.remaining > 0:
            if self.is_too_high(trial) or (not is_first and trial.value >= previous.value):
                return self.zoom(previous, trial, shortest)
            if self.is_flat(trial):
                return trial
            if trial.slope >= 0:
                return self.zoom(previous, trial, shortest)
            bounds = trial.t + 0.01 * (trial.t - previous.t), 10.0 * trial.t
            previous, trial = trial, self.evaluate(cubic_minimum(previous, trial, bounds))
            self.remaining -= 1
            is_first = False
        return min(self.start, trial, key=lambda x: x.value)

    def zoom(self, a: LinePoint, b: LinePoint, shortest: float) -> LinePoint:
        """A good step between two trials."""
        low, high = (a, b) if a.value <= b.value else (b, a)
        was_near = False
        while self.remaining > 0 and abs(high.t - low.t) >= shortest:
            left, right = sorted((low.t, high.t))
            t = cubic_minimum(low, high, (left, right))
            t, was_near = keep_distance(t, left, right, was_near)
            trial = self.evaluate(t)
            self.remaining -= 1
            if self.is_too_high(trial) or trial.value >= low.value:
                high = trial
            elif self.is_flat(trial):
                return trial
            else:
                high = low if trial.slope * (high.t - low.t) >= 0 else high
                low = trial
            if high.value < low.value:
                low, high = high, low
        return low


def keep_distance(t: float, left: float, right: float, was_near: bool) -> tuple[float, bool]:
    """Move a step that is near the end of an interval for the second time a tenth inwards."""
    margin = 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if was_near or t >= right or t <= left:
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
    return t, True


def cubic_minimum(a: LinePoint, b: LinePoint, bounds: tuple[float, float]) -> float:
    """The minimum, within bounds, of the cubic polynomial that has the values and slopes of two trials."""
    if a.t > b.t:
        a, b = b, a
    middle = a.slope + b.slope - 3.0 * (a.value - b.value) / (a.t - b.t)
    discriminant = middle * middle - a.slope * b.slope
    if not discriminant >= 0 or not math.isfinite(discriminant):
        return (bounds[0] + bounds[1]) / 2.0
    root = math.sqrt(discriminant)
    denominator = b.slope - a.slope + 2.0 * root
    if denominator == 0.0:
        return (bounds[0] + bounds[1]) / 2.0
    t = b.t - (b.t - a.t) * (b.slope + root - middle) / denominator
    return min(max(t, bounds[0]), bounds[1])
