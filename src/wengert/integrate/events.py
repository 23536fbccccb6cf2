"""Events inside graphs: the times at which functions of the solution are zero, and whether they end the integration.

A change of sign over a step is located on its interpolant, by bisection. Two steps of Newton's method, which change
nothing in the number, give the time its derivatives (up to the third). A graph has arrays of fixed length: an event is
logged up to `LOGGED` times, or as often as it takes to end the integration, and NaN fills the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.control.branches import cond
from wengert.control.iteration import fori_loop
from wengert.core.primitive import as_operand
from wengert.ops.elementwise.choices import minimum, where
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.products import jvp, stop_gradient

LOGGED = 16
"""How often an event is logged that does not end the integration."""
HALVINGS = 55
"""The steps of the bisection, after which a fraction of a step is known to rounding."""

Interpolant = Callable[[Any], Any]
"""The state, a vector, at a fraction of a step."""


class EventLog(NamedTuple):
    """For each event: its present value, how often it happened, and when and in which states."""

    values: list[Any]
    counts: list[Any]
    times: list[Any]
    states: list[Any]


class Events:
    """The events of an integration, with SciPy's attributes `terminal` and `direction`."""

    def __init__(self, events: Any, args: tuple):
        functions: Sequence[Callable] = [events] if callable(events) else list(events)
        self.functions = [lambda t, y, f=f: reshape(as_operand(f(t, y, *args)), ()) for f in functions]
        self.directions = [float(getattr(f, "direction", 0.0)) for f in functions]
        self.limits = [int(getattr(f, "terminal", 0) or 0) for f in functions]

    def begin(self, t: Any, y: Any) -> EventLog:
        """The log at the start."""
        lengths = [limit or LOGGED for limit in self.limits]
        return EventLog(
            [stop_gradient(f(t, y)) for f in self.functions],
            [np.int64(0) for _ in lengths],
            [np.full(n, np.nan) for n in lengths],
            [np.full((n, *y.shape), np.nan, y.dtype) for n in lengths],
        )

    def observe(self, log: EventLog, t: Any, h: Any, at: Interpolant, y: Any, accepts: Any) -> tuple[EventLog, Any]:
        """The log after a step from t of length h, and the fraction of it where the integration ends; infinite if not.

        `at` is the interpolant of the step, and y the state at its end.
        """
        values = [
            where(accepts, stop_gradient(f(t + h, y)), old) for f, old in zip(self.functions, log.values, strict=True)
        ]
        happens = [
            accepts & changes_sign(old, new, direction)
            for old, new, direction in zip(log.values, values, self.directions, strict=True)
        ]
        any_happens = happens[0]
        for one in happens[1:]:
            any_happens = any_happens | one
        fractions = cond(
            any_happens,
            lambda: tuple([
                where(one, self.locate(f, t, h, at, old), np.inf)
                for f, one, old in zip(self.functions, happens, log.values, strict=True)
            ]),
            lambda: tuple([np.float64(np.inf) for _ in happens]),
        )  # fmt: skip
        end: Any = np.float64(np.inf)
        for x, count, limit in zip(fractions, log.counts, self.limits, strict=True):
            if limit:
                end = minimum(end, where(count + 1 >= limit, x, np.inf))
        numbers = stop_gradient(end)
        counts, times, states = [], [], []
        for x, count, seen, kept in zip(fractions, log.counts, log.times, log.states, strict=True):
            counts_now = (stop_gradient(x) <= numbers) & (stop_gradient(x) <= 1.0)
            here = counts_now & (np.arange(seen.shape[0]) == count)
            x = where(counts_now, x, 0.0)
            times.append(where(here, t + x * h, seen))
            states.append(where(here[:, None], at(x), kept))
            counts.append(count + counts_now)
        return EventLog(values, counts, times, states), end

    def locate(self, f: Callable, t: Any, h: Any, at: Interpolant, first: Any) -> Any:
        """The fraction of a step where an event is zero; `first` is its value at the beginning."""
        value = lambda x: f(t + x * h, at(x))

        def halve(_: Any, bounds: tuple) -> tuple:
            low, high = bounds
            middle = 0.5 * (low + high)
            is_before = stop_gradient(value(middle)) * where(first == 0.0, 1.0, first) > 0.0
            return where(is_before, middle, low), where(is_before, high, middle)

        low, high = fori_loop(0, HALVINGS, halve, (np.float64(0.0), np.float64(1.0)))
        x = stop_gradient(0.5 * (low + high))
        for _ in range(2):
            g, slope = jvp(value, (x,), (np.float64(1.0),))
            x = x - where(slope == 0.0, 0.0, g / where(slope == 0.0, 1.0, slope))
        return x


def changes_sign(old: Any, new: Any, direction: float) -> Any:
    """Whether a value goes through zero in this direction, as SciPy decides it."""
    up, down = (old <= 0.0) & (new >= 0.0), (old >= 0.0) & (new <= 0.0)
    return up if direction > 0.0 else down if direction < 0.0 else up | down
