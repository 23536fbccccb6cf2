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
from wengert.integrate.runge_kutta import Interpolant
from wengert.ops.elementwise.choices import minimum, where
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.products import jvp, stop_gradient

LOGGED = 16
"""How often an event is logged that does not end the integration."""
HALVINGS = 55
"""The steps of the bisection, after which a fraction of a step is known to rounding."""


class EventLog(NamedTuple):
    """For each event: its current value, how often it happened, and when and in which states."""

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

    def observe(
        self, log: EventLog, t: Any, h: Any, interpolant: Callable[[], Interpolant], y: Any, accepts: Any
    ) -> tuple[EventLog, Any, Any]:
        """The log after a step from t of length h, the fraction of it where the integration ends, and the state there.

        The fraction is infinite if it does not end, and the state then is y, that at the end of the step.
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

        def register(seen: tuple, y: Any) -> tuple:
            at = interpolant()
            fractions = [
                where(one, self.locate(f, t, h, at, old), np.inf)
                for f, one, old in zip(self.functions, happens, log.values, strict=True)
            ]
            end = self.end_of(fractions, seen[0])
            ends = stop_gradient(end) <= 1.0
            found = [
                write_down(x, count, times, states, end, t, h, at)
                for x, count, times, states in zip(fractions, *seen, strict=True)
            ]
            return tuple(map(list, zip(*found, strict=True))), end, where(ends, at(where(ends, end, 1.0)), y)

        seen = (log.counts, log.times, log.states)
        keep = lambda seen, y: (seen, np.float64(np.inf), y)
        (counts, times, states), end, y = cond(any_happens, register, keep, seen, y)
        return EventLog(values, counts, times, states), end, y

    def end_of(self, fractions: Sequence[Any], counts: Sequence[Any]) -> Any:
        """The fraction of a step where the first event ends the integration; infinite if none does."""
        end: Any = np.float64(np.inf)
        for x, count, limit in zip(fractions, counts, self.limits, strict=True):
            if limit:
                end = minimum(end, where(count + 1 >= limit, x, np.inf))
        return end

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


def write_down(
    x: Any, count: Any, times: Any, states: Any, end: Any, t: Any, h: Any, at: Interpolant
) -> tuple[Any, Any, Any]:
    """How often an event happened, when and in which states, with that at the fraction x if it is not after the end."""
    happens = (stop_gradient(x) <= stop_gradient(end)) & (stop_gradient(x) <= 1.0)
    here = happens & (np.arange(times.shape[0]) == count)
    x = where(happens, x, 0.0)
    return count + happens, where(here, t + x * h, times), where(here[:, None], at(x), states)


def changes_sign(old: Any, new: Any, direction: float) -> Any:
    """Whether a value goes through zero in this direction, as SciPy decides it."""
    up, down = (old <= 0.0) & (new >= 0.0), (old >= 0.0) & (new <= 0.0)
    return up if direction > 0.0 else down if direction < 0.0 else up | down
