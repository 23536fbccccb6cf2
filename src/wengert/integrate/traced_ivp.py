"""`solve_ivp` and `odeint` inside graphs: states at points in time, by native loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.control.closures import close_over
from wengert.core.errors import user_error
from wengert.integrate.controller import Controller
from wengert.integrate.events import Events
from wengert.integrate.flow import EXPLICIT, Method, result_fields
from wengert.integrate.right_hand_side import RightHandSide
from wengert.integrate.rosenbrock import Rosenbrock
from wengert.integrate.runge_kutta import RungeKutta
from wengert.integrate.traced_adjoint import TRACED_TRAJECTORY, TracedTrajectory
from wengert.integrate.traced_solver import Integration, Progress, Span, Stepper
from wengert.ops.elementwise.choices import where
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import broadcast_to

OPTIONS = ("max_step", "first_step", "min_step", "jac")


def solve_in_graph(
    fun: Callable, span: tuple, points: Any, y0: Any, args: tuple, method: Method, adjoint: str, events: Any = None
) -> tuple[Any, Any, Progress]:
    """The times, the states at them in rows, and where the integration ended.

    Without points, the times are both ends of the span: how many steps there are is not known before the loop runs.
    """
    if adjoint == "discrete":
        return solve_discrete(fun, span, points, y0, args, method, events)
    if events is not None:
        raise user_error(ValueError, "The continuous adjoint has no events", 'Use adjoint="discrete".')
    closed, captured = close_over(fun, (np.float64(0.0), y0, *args), "solve_ivp")
    ends: list[Progress] = []

    def rows_of(*problem: Any) -> Any:
        _, rows, end = solve_discrete(*problem)
        ends.append(end)
        return rows

    rows = TracedTrajectory(rows_of, closed, span, points, y0, (*args, captured), method)(TRACED_TRAJECTORY)
    return stack(list(span)) if points is None else points, rows, ends[0]


def solve_discrete(
    fun: Callable, span: tuple, points: Any, y0: Any, args: tuple, method: Method, events: Any = None
) -> tuple[Any, Any, Progress]:
    """The same, where derivatives are those of the steps."""
    equation = RightHandSide(fun, y0, args)
    stepper = make_stepper(method, equation)
    controller = make_controller(method, equation, stepper.order)
    watched = None if events is None else Events(events, args)
    integration = Integration(stepper, controller, Span(*span), watched)
    start = integration.begin(equation.split(y0), method.options.get("first_step"))
    if points is None:
        end = integration.run(start)
        times = stack([span[0], span[1] if watched is None else where(end.has_ended, end.t, span[1])])
        return times, where(end.has_failed, np.nan, stack([y0, equation.join(end.y)])), end
    rows, end = integration.run_through(start, points)
    return points, where(end.has_failed, np.nan, rows), end


def make_stepper(method: Method, equation: RightHandSide) -> Stepper:
    """The method on the parts of a state."""
    unknown = method.options.keys() - set(OPTIONS)
    if unknown:
        raise user_error(
            ValueError,
            f"solve_ivp in a traced or compiled function has no option {min(unknown)!r}",
            f"It has {', '.join(OPTIONS)}.",
        )
    return RungeKutta(method.name, equation) if method.name in EXPLICIT else Rosenbrock(equation)


def make_controller(method: Method, equation: RightHandSide, order: int) -> Controller:
    """The choice of steps for these tolerances, which SciPy limits to 100 times the precision."""
    rtol = max(method.rtol, 100.0 * float(np.finfo(float).eps))
    atol = np.asarray(method.atol, float)
    if atol.ndim and atol.shape != (equation.n,):
        raise user_error(ValueError, f"`atol` has shape {atol.shape}, and the state {equation.n} components")
    parts = equation.split(broadcast_to(atol, (equation.n,)))
    return Controller(rtol, parts, float(method.options.get("max_step", np.inf)), order, equation.n)


class TracedResult(dict[str, Any]):
    """A dictionary whose entries are attributes, like SciPy's results; SciPy takes long to load."""

    def __getattr__(self, name: str) -> Any:
        """The entry of this name."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def traced_result(times: Any, y: Any, end: Progress, sol: Any) -> TracedResult:
    """The result as SciPy returns it; whether it succeeded is a value of the graph."""
    status = where(end.has_failed, -1, where(end.has_ended, 1, 0))
    events = {} if end.log is None else {"t_events": end.log.times, "y_events": end.log.states}
    fields = {"y": y, "success": ~end.has_failed, "status": status, "message": "", "sol": sol}
    return TracedResult(result_fields(times, end.steps, **fields, **events))
