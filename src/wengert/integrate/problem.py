"""An initial value problem, and who solves it: a loop of the graph, compiled code, or SciPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.control.closures import close_over, is_for_graph
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.integrate.compiled_ivp import solve_compiled
from wengert.integrate.continuous_adjoint import solve_trajectory
from wengert.integrate.dense_output import DenseOutput
from wengert.integrate.discrete_adjoint import replay
from wengert.integrate.event_times import PlainEvents, solve_with_events
from wengert.integrate.flow import EXPLICIT, IMPLICIT, ROSENBROCK, Flow, Method, check_completed, has_derivative
from wengert.integrate.tableau import read_tableau
from wengert.integrate.traced_ivp import solve_in_graph, traced_result
from wengert.modes.tensor import Tensor
from wengert.ops.shape.casting import astype
from wengert.ops.shape.joining import stack

ADJOINTS = ("discrete", "continuous")


@dataclass(frozen=True)
class Problem:
    """y' = fun(t, y, *args) from y0 over a span, at points or at all steps; states are returned with this dtype.

    `adjoint` is the one that was asked for, or None.
    """

    fun: Callable
    span: tuple
    points: Any
    y0: Any
    args: tuple
    method: Method
    adjoint: str | None
    events: list[Callable] | None
    dtype: np.dtype

    def solve(self, is_dense: bool) -> Any:
        """The result as SciPy returns it."""
        if self.belongs_to_graph():
            times, rows, end = solve_in_graph(
                self.fun, self.span, self.points, self.y0, self.args, self.method, self.adjoint or "discrete",
                self.events,
            )  # fmt: skip
            return traced_result(times, self.columns(rows), end, self.dense_output() if is_dense else None)
        result = None
        if self.events is None and (self.method.name == ROSENBROCK or not is_dense):
            result = self.solve_natively()
        if result is None:
            return self.solve_by_scipy(is_dense)
        result.sol = self.dense_output() if is_dense else None
        return result

    def belongs_to_graph(self) -> bool:
        """Whether values of the graph that is being traced are in it."""
        functions = (self.fun, *(self.events or ()))
        run = lambda t, y, span, points, *args: [f(t, y, *args) for f in functions]
        return is_for_graph(run, (np.float64(0.0), self.y0, self.span, self.points, *self.args))

    def columns(self, rows: Any) -> Any:
        """States in rows as the user gets them."""
        return astype(rows, self.dtype).T if self.dtype != rows.dtype else rows.T

    def dense_output(self, plain: Any = None) -> DenseOutput:
        """The solution as a function of time; `plain` is SciPy's own."""
        return DenseOutput(lambda points: replace(self, points=points).solve(False).y, self.span, plain)

    def solve_natively(self) -> Any:
        """The result by compiled code; None if SciPy is to solve the problem."""
        adjoint = choose_adjoint(self.method, self.adjoint)
        found = solve_compiled(self.fun, self.span, self.points, self.y0, self.args, self.method, adjoint)
        if found is None:
            return None
        rows, result = found
        result.update(t=stack(list(self.span)) if self.points is None else self.points, y=self.columns(rows))
        return result

    def solve_by_scipy(self, is_dense: bool) -> Any:
        """The result by SciPy, and derivatives by this package."""
        fun, args, flow = close_equation(self.fun, self.span, self.y0, self.args)
        events = None if self.events is None else PlainEvents(self.events, self.args, self.method, flow)
        is_tracked = flow.captured or any(map(has_derivative, (*self.span, self.points, self.y0, *tree.leaves(args))))
        if not is_tracked and not flow.batch.sizes:
            result = self.plain_result(flow, events, is_dense)
            if not flow.captured and (events is None or not events.captured):
                return result
        adjoint, problem = choose_adjoint(self.method, self.adjoint), self
        if events is None:
            times, rows, result = solve_states(fun, self.span, self.points, self.y0, args, self.method, adjoint, flow)
        else:

            def solve(span: tuple, points: Any) -> Any:
                flow = Flow(fun, span, self.y0, args)
                return solve_states(fun, span, points, self.y0, args, self.method, adjoint, flow)[1]

            times, rows, span, result = solve_with_events(solve, self.span, self.points, self.method, flow, events)
            problem = replace(self, span=span, events=None)
        result.update(t=times, y=self.columns(rows), sol=problem.dense_output() if is_dense else None)
        return result

    def plain_result(self, flow: Flow, events: PlainEvents | None, is_dense: bool) -> Any:
        """SciPy's result; its solution as a function of time has a derivative with respect to time."""
        numbers = None if self.points is None else flow.solver_times(self.points)
        functions = None if events is None else events.functions
        result = flow.solve(self.method, t_eval=numbers, dense_output=is_dense, events=functions)
        result.y = np.asarray(result.y, self.dtype)
        if any(isinstance(x, Array) for x in tree.leaves((self.span, self.points, self.y0, self.args))):
            result.update(t=Tensor(np.asarray(result.t)), y=Tensor(result.y))
        if is_dense:
            result.sol = replace(self, events=None).dense_output(result.sol)
        return result


def close_equation(fun: Callable, span: tuple, y: Any, args: tuple) -> tuple[Callable, tuple, Flow]:
    """The function with the values that it captured as a last argument, the arguments with them, and the flow."""
    flow = Flow(fun, span, y, args)
    if not (flow.captured or flow.captured_batch):
        return fun, args, flow
    try:
        closed, captured = close_over(fun, (np.float64(0.0), y, *args), "solve_ivp")
    except (TrackedValueError, GradientError):  # it looks at numbers
        return fun, args, flow
    args = (*args, captured)
    return closed, args, Flow(closed, span, y, args)


def solve_states(
    fun: Callable, span: tuple, points: Any, y0: Any, args: tuple, method: Method, adjoint: str, flow: Flow
) -> tuple[Any, Any, Any]:
    """The times, the states in rows, and SciPy's result."""
    moments = None if points is None else check_order(flow.solver_times(points), flow)
    result = None
    times: Any = None
    if adjoint == "discrete" or points is None:
        result = flow.steps(method) if adjoint == "discrete" else check_completed(flow.solve(method))
        steps = result.t
        low, high = flow.span
        fractions = (steps - low) / (high - low) if high != low else np.linspace(0.0, 1.0, len(steps))
        plain = not any(isinstance(t, Array) for t in span)
        times = steps if plain else span[0] + fractions * (span[1] - span[0])
    if adjoint == "discrete":
        rows = replay(
            read_tableau(method.name),
            fun,
            times,
            y0,
            args,
            points,
            (steps, moments),
            keep=flow.captured or flow.captured_batch,
        )
    else:
        rows, latest = solve_trajectory(fun, span, times if points is None else points, y0, args, method)
        result = latest if latest is not None else result
    return times if points is None else points, rows, result


def choose_adjoint(method: Method, adjoint: str | None) -> str:
    """The adjoint for a method."""
    known = (*EXPLICIT, *IMPLICIT, ROSENBROCK)
    if isinstance(method.solver, str) and method.solver not in known:
        raise user_error(
            ValueError,
            f"There is no method {method.solver!r}",
            f"The methods are {', '.join(known)}, and SciPy's solver classes.",
        )
    if adjoint is None:
        return "continuous" if method.name in IMPLICIT else "discrete"
    if adjoint not in ADJOINTS:
        raise user_error(ValueError, f"adjoint={adjoint!r}", "Choose 'discrete' or 'continuous'.")
    if adjoint == "discrete" and method.name in IMPLICIT:
        raise user_error(
            ValueError,
            f"The discrete adjoint knows the steps of {', '.join(EXPLICIT)} and {ROSENBROCK} only, not those of "
            f"{method.name}",
            "Use one of these methods, or adjoint='continuous'.",
        )
    return adjoint


def check_order(moments: np.ndarray, flow: Flow) -> np.ndarray:
    """Points in time, if they are in order and inside the span."""
    low, high = sorted(flow.span)
    forward = flow.span[1] >= flow.span[0]
    if moments.ndim != 1:
        raise user_error(ValueError, "`t_eval` must be 1-dimensional")
    if np.any(moments < low) or np.any(moments > high):
        raise user_error(ValueError, "Points in time are not within `t_span`")
    if np.any(np.diff(moments) < 0 if forward else np.diff(moments) > 0):
        raise user_error(ValueError, "Points in time are not in the order of `t_span`")
    return moments
