"""Events outside of graphs: SciPy finds their times, and Newton's method gives these their derivatives.

At the time t of an event g(t, y(t)) is zero, also if the parameters change. Two steps of Newton's method, of which only
the derivatives are kept, make t a function of them (up to the third derivative).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.primitive import as_operand
from wengert.integrate.flow import ROSENBROCK, Batch, Flow, Method, check_completed, has_derivative, strip_derivatives
from wengert.ops.shape.joining import stack
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.products import jvp, stop_gradient

Solve = Callable[[tuple, Any], Any]
"""From a span and points in it to the states at the points, in rows."""


class PlainEvents:
    """Events for SciPy: functions of plain numbers. `captured` says that one of them met a value with a derivative."""

    def __init__(self, events: Sequence[Callable], args: tuple, method: Method, flow: Flow):
        refuse_batch(flow.batch)
        if method.name == ROSENBROCK:
            raise user_error(
                ValueError,
                f"Events of {ROSENBROCK} are found in compiled functions only",
                "Use wg.compile, or method='Radau'.",
            )
        self.originals, self.args, self.captured = events, args, False
        plain = tree.map(strip_derivatives, args)
        self.functions = [self.strip(event, plain) for event in events]

    def strip(self, event: Callable, args: tuple) -> Callable:
        """An event as a function of t and y alone, with the attributes of the original."""

        @wraps(event)
        def value(t: float, y: np.ndarray) -> float:
            g = event(t, y, *args)
            refuse_batch(Batch([g]))
            self.captured = self.captured or has_derivative(g)
            return float(np.reshape(strip_derivatives(g), ()))

        return value


def refuse_batch(batch: Batch) -> None:
    """Raise for a batch, whose elements have events at different times."""
    if batch.sizes:
        raise user_error(
            ValueError, "Events under vmap are found in compiled functions only", "Use wg.compile(wg.vmap(f))."
        )


class Observed(NamedTuple):
    """A solution with events: its times and states in rows, the span up to its end, and SciPy's result."""

    times: Any
    rows: Any
    span: tuple
    result: Any


def solve_with_events(
    solve: Solve, span: tuple, points: Any, method: Method, flow: Flow, events: PlainEvents
) -> Observed:
    """The solution, with derivatives in everything."""
    numbers = None if points is None else flow.solver_times(points)
    result = check_completed(flow.solve(method, t_eval=numbers, dense_output=True, events=events.functions))
    ended = result.status == 1
    if ended:
        span = span[0], float(result.sol.interpolants[-1].t)  # the end of the step with the last event
    states = lambda t: solve(span, t)
    last: Any = None
    for i, event in enumerate(events.originals):
        found = result.t_events[i]
        if not len(found):
            continue
        t = differentiable_times(event, states, found, events.args)
        if ended and getattr(event, "terminal", False) and found[-1] == result.sol.ts[-1]:
            last = t[-1]
        result.t_events[i], result.y_events[i] = t, states(t)
    return Observed(*solution_times(result, span, points, last, states), span, result)


def differentiable_times(event: Callable, states: Callable, found: np.ndarray, args: tuple) -> Any:
    """The times of an event, where their derivatives follow from the event being zero."""

    def values(t: Any) -> Any:
        y = states(t)
        return stack([reshape(as_operand(event(t[i], y[i], *args)), ()) for i in range(len(found))])

    t: Any = found
    for _ in range(2):
        g, slope = jvp(values, (t,), (np.ones(len(found)),))
        change = g / slope
        t = t - (change - stop_gradient(change))
    return t


def solution_times(result: Any, span: tuple, points: Any, last: Any, states: Callable) -> tuple[Any, Any]:
    """The times of the solution and its states: at the points before the end, or at the steps and the last event."""
    count = len(result.t)
    if points is not None:
        times = points[:count]
    else:
        times = result.t
        if any(isinstance(t, Array) for t in span):
            low, high = map(float, map(strip_derivatives, span))
            times = span[0] + (result.t - low) / (high - low) * (span[1] - span[0])
        if last is not None:
            times = concatenate([times[:-1], reshape(last, (1,))])
    return times, states(times)
