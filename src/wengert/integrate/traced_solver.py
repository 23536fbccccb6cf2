"""Initial value problems inside graphs: one loop that tries steps until it is done, native in compiled functions.

Reverse mode goes back over the steps, so gradients are those of the numbers that are computed (the discrete adjoint).
The sizes of the steps are not differentiated; with respect to the ends of the span, steps are fractions of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from wengert.control.branches import cond
from wengert.control.iteration import while_loop
from wengert.core.array import Array
from wengert.integrate.controller import Controller
from wengert.integrate.events import EventLog, Events
from wengert.integrate.right_hand_side import Parts, RightHandSide
from wengert.integrate.runge_kutta import Interpolant, Trial
from wengert.ops.elementwise.choices import maximum, minimum, where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.indexing.subscripts import getitem, set_at
from wengert.transforms.products import stop_gradient


class Stepper(Protocol):
    """A method: how a step is made, and the interpolant inside it."""

    equation: RightHandSide
    order: int

    def start(self, t: Any, y: Parts) -> Parts:
        """What the first step needs."""

    def step(self, t: Any, h: Any, y: Parts, carried: Parts, controller: Controller) -> Trial:
        """One step."""

    def interpolant(self, t: Any, h: Any, y: Parts, stages: list[Parts]) -> Interpolant:
        """The state as a function of the fraction of a step."""


class Progress(NamedTuple):
    """Where an integration is: the time and state, the size of the next trial, and whether it goes on.

    `carried` is what the next step needs of the last one. `steps` counts the trials. `log` has the events, and
    `has_ended` says that one of them ended the integration.
    """

    t: Any
    y: Parts
    carried: Parts
    h: Any
    was_rejected: Any
    has_failed: Any
    steps: Any
    has_ended: Any
    log: EventLog | None


class Span:
    """The span of an integration: its numbers, and its derivatives with respect to both ends."""

    def __init__(self, start: Any, end: Any):
        self.ends = start, end
        self.start, self.end = (stop_gradient(t) if isinstance(t, Array) else np.float64(t) for t in (start, end))
        self.direction = where(self.end < self.start, -1.0, 1.0)
        self.is_empty = np.equal(self.end, self.start)

    def differentiable(self, t: Any) -> Any:
        """The same time, as a fraction of the span that is fixed."""
        if not any(isinstance(end, Array) for end in self.ends):
            return t
        x = (t - self.start) / where(self.is_empty, 1.0, self.end - self.start)
        start, end = (a - b for a, b in zip(self.ends, (self.start, self.end), strict=True))  # zero, with a derivative
        return t + (1.0 - x) * start + x * end


class Integration:
    """One integration by a method with steps of its own choice."""

    def __init__(self, stepper: Stepper, controller: Controller, span: Span, events: Events | None = None):
        self.stepper, self.controller, self.span, self.events = stepper, controller, span, events

    def begin(self, y: Parts, first_step: float | None) -> Progress:
        """The beginning."""
        t = self.span.start
        carried = self.stepper.start(self.span.differentiable(t), y)
        if first_step is None:
            rates = carried or self.stepper.equation.rate(t, y)
            h = self.controller.first_step(self.stepper.equation, t, self.span.end, y, rates)
        else:
            h = np.float64(first_step)
        log = None if self.events is None else self.events.begin(t, self.stepper.equation.join(y))
        return Progress(t, y, carried, h, np.False_, np.False_, np.int64(0), np.False_, log)

    def advance(self, now: Progress, target: Any, stays: Any = False) -> tuple[Progress, Trial, Any, Any]:
        """One trial: where the integration is afterwards, the step, whether it was accepted, and its length.

        In a span of length zero, it has the derivatives of a step to the time `target`, and the state `stays` as it was
        if more such steps follow.
        """
        span, controller = self.span, self.controller
        least = controller.least_step(now.t)
        failed = now.was_rejected & (span.is_empty | ~(now.h >= least))  # NaN, too
        size = where(now.was_rejected, now.h, minimum(maximum(now.h, least), controller.max_step))
        ahead = now.t + size * span.direction
        end = where(span.direction * (ahead - span.end) > 0.0, span.end, ahead)
        t = span.differentiable(now.t)
        h = where(span.is_empty, target - t, span.differentiable(end) - t)
        trial = self.stepper.step(t, h, now.y, now.carried, controller)
        accepts = (trial.error < 1.0) & ~failed
        moves = accepts & ~(span.is_empty & stays)
        choose = lambda new, old: [where(moves, a, b) for a, b in zip(new, old, strict=True)]
        after = Progress(
            where(accepts, end, now.t),
            choose(trial.y, now.y),
            choose(trial.carried, now.carried),
            controller.next_step(absolute(end - now.t), trial.error, accepts, now.was_rejected),
            ~accepts,
            failed,
            now.steps + 1,
            now.has_ended,
            now.log,
        )
        return self.observe(now, after, trial, accepts), trial, accepts, h

    def observe(self, now: Progress, after: Progress, trial: Trial, accepts: Any) -> Progress:
        """Where the integration is after a step, with the events in it."""
        if self.events is None or now.log is None:
            return after
        equation, t = self.stepper.equation, self.span.differentiable(now.t)
        h = self.span.differentiable(after.t) - t

        def interpolant() -> Interpolant:
            at = self.stepper.interpolant(t, h, now.y, trial.stages)
            return lambda x: equation.join(at(x))

        log, x, y = self.events.observe(now.log, t, h, interpolant, equation.join(after.y), accepts)
        ends = stop_gradient(x) <= 1.0
        end = where(ends, stop_gradient(t + where(ends, x, 0.0) * h), after.t)
        return after._replace(t=end, y=equation.split(y), has_ended=ends, log=log)

    def is_before(self, now: Progress, t: Any) -> Any:
        """Whether a time is still ahead."""
        return (self.span.direction * (t - now.t) > 0.0) & ~now.has_failed & ~now.has_ended

    def run(self, start: Progress) -> Progress:
        """The state at the end."""
        span = self.span
        is_done = lambda now: ~span.is_empty | now.has_failed | ((now.steps > 0) & ~now.was_rejected)
        goes_on = lambda now: self.is_before(now, span.end) | ~is_done(now)
        found: Progress = while_loop(goes_on, lambda now: self.advance(now, span.ends[1])[0], start)
        return found

    def run_through(self, start: Progress, points: Any) -> tuple[Any, Progress]:
        """The states at points in time, in rows, and where the integration is after the last of them.

        After each step an inner loop writes the states at the points in it. Behind the span, the interpolant of the
        last step goes on. In a span of length zero, where it has no fractions, each point has a step of its own.
        """
        span, equation, count = self.span, self.stepper.equation, points.shape[0]
        numbers = stop_gradient(points) if isinstance(points, Array) else points
        numbers = where(span.direction * (numbers - span.end) > 0.0, span.end, numbers)
        is_ahead = lambda k, t: (k >= count) | (span.direction * (getitem(numbers, minimum(k, count - 1)) - t) > 0.0)

        def step(state: tuple) -> tuple:
            now, k, rows = state
            first = k
            after, trial, accepts, h = self.advance(now, getitem(points, minimum(k, count - 1)), np.True_)
            t = span.differentiable(now.t)

            def write_rows(k: Any, rows: Any) -> Any:
                at = self.stepper.interpolant(t, h, now.y, trial.stages)

                def write(state: tuple) -> tuple:
                    k, rows = state
                    row = minimum(k, count - 1)  # in a batch, one that is done goes on
                    x = where(span.is_empty, 1.0, (getitem(points, row) - t) / where(h == 0.0, 1.0, h))
                    return k + 1, set_at(rows, row, equation.join(at(x)))

                is_left = lambda k: ~is_ahead(k, after.t) & ~(span.is_empty & (k > first))
                return while_loop(lambda state: is_left(state[0]), write, (k, rows))

            return after, *cond(accepts & ~is_ahead(k, after.t), write_rows, lambda k, rows: (k, rows), k, rows)

        def goes_on(state: tuple) -> Any:
            now, k, _ = state
            is_wanted = np.True_ if self.events is not None else k < count
            return is_wanted & self.is_before(now, span.end) | span.is_empty & (k < count) & ~now.has_failed

        rows = np.full((count, equation.n), np.nan, equation.dtype)
        end, _, rows = while_loop(goes_on, step, (start, np.int64(0), rows))
        return rows, end
