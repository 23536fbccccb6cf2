"""The discrete adjoint: the derivative of the numbers that a Runge-Kutta method computes, for SciPy's steps.

SciPy steps through the equation on plain numbers. The accepted steps, as fractions of the span, are then taken once
more with the method's coefficients, as operations like all others, so that every mode and every order of
differentiation applies. Reverse mode keeps the states at about sqrt(n) of the n steps, and computes those in between
again in its backward pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.control.checkpoint import checkpoint
from wengert.core.array import Array
from wengert.integrate.flow import time_derivative
from wengert.integrate.tableau import RungeKuttaStep, Tableau
from wengert.ops.shape.joining import unstack
from wengert.ops.shape.rearranging import concatenate


def replay(
    method: Tableau,
    fun: Callable,
    times: Any,
    y0: Any,
    args: tuple,
    points: Any,
    at: tuple[np.ndarray, np.ndarray | None],
    keep: bool,
) -> Any:
    """The states at `points`, in rows, after steps between `times`; without points, those at the times.

    `at` has the numbers of both, which decide in which step a point lies. `keep` says to keep all steps, not only
    checkpoints.
    """
    steps, moments = at
    n = len(steps) - 1
    direction = -1.0 if steps[-1] < steps[0] else 1.0
    if moments is None:
        owner = None
    else:
        owner = np.clip(np.searchsorted(direction * steps, direction * moments, side="left") - 1, 0, n - 1)

    def segment(start: int, stop: int) -> Callable:
        def run(y: Any, f: Any, times: Any, points: Any, args: tuple) -> tuple:
            t = unstack(times) if isinstance(times, Array) else times
            rows, done = [], 0
            for k in range(start, stop):
                step = RungeKuttaStep(method, fun, t[k - start], t[k + 1 - start] - t[k - start], y, f, args)
                if owner is None:
                    rows.append(step.y[None])
                elif count := int(np.count_nonzero(owner == k)):
                    rows.append(step.at(points[done : done + count], steps[k] == steps[k + 1]))
                    done += count
                y, f = step.y, step.f
            return y, f, concatenate(rows) if rows else None

        return run if keep else checkpoint(run)

    y, f = y0, time_derivative(fun, unstack(times)[0] if isinstance(times, Array) else times[0], y0, args)
    rows = [y0[None]] if owner is None else []
    length = max(1, math.isqrt(n))
    for start in range(0, n, length):
        stop = min(start + length, n)
        mine = None
        if owner is not None:
            first, last = np.searchsorted(owner, (start, stop))
            mine = points[first:last]
        y, f, more = segment(start, stop)(y, f, times[start : stop + 1], mine, args)
        rows += [] if more is None else [more]
    return concatenate(rows) if rows else np.zeros((0, *y0.shape), y0.dtype)
