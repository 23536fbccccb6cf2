"""Eager integrations by native code: those of functions that the user has compiled.

    solve_ivp(wg.compile(f), ...)

A first call costs less by SciPy than by a compiler, which takes a second, and native steps round in another way than
SciPy's. So the program says which of them it wants, and not how often it has run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.levels import bottom_array
from wengert.integrate.flow import EXPLICIT, ROSENBROCK, Method, make_result, stopped_error
from wengert.integrate.traced_ivp import OPTIONS, solve_in_graph


class Integration:
    """The integrations of one function with one method, as a compiled function."""

    def __init__(self, method: Method, adjoint: str):
        self.method, self.adjoint = method, adjoint
        self.compiled: Callable | None = None
        self.is_traceable = True

    def run(self, fun: Callable, problem: tuple) -> Any:
        """The states in rows, whether the integration failed, and the number of trials."""
        if self.compiled is None:
            method, adjoint = self.method, self.adjoint

            def solve(span: tuple, points: Any, y0: Any, args: tuple) -> tuple:
                _, rows, end = solve_in_graph(fun, span, points, y0, args, method, adjoint)
                return rows, end.has_failed, end.steps

            self.compiled = import_module("wengert.compiler.call.compiled").compile(solve)
        return self.compiled(*problem)


INTEGRATIONS: WeakKeyDictionary[Callable, dict[Any, Integration]] = WeakKeyDictionary()


def integration_of(fun: Callable, method: Method, adjoint: str, layout: tuple) -> Integration | None:
    """The integrations of a user's function; None if no graph has this method."""
    if method.name not in (*EXPLICIT, ROSENBROCK) or method.options.keys() - set(OPTIONS):
        return None
    atol = np.asarray(method.atol)
    key = method.name, method.rtol, atol.tobytes(), atol.shape, tuple(sorted(method.options.items())), adjoint, layout
    try:
        return INTEGRATIONS.setdefault(fun, {}).setdefault(key, Integration(method, adjoint))
    except TypeError:  # not hashable, or without weak references
        return Integration(method, adjoint)


def is_compiled(fun: Callable) -> bool:
    """Whether the user has compiled a function."""
    module = sys.modules.get("wengert.compiler.call.compiled")  # which takes long to import
    return module is not None and isinstance(fun, module.Compiled)


def solve_compiled(
    fun: Callable,
    span: tuple,
    points: Any,
    y0: Any,
    args: tuple,
    method: Method,
    adjoint: str,
    user: Callable | None = None,
    layout: tuple = (),
) -> Any:
    """The states in rows and a result like SciPy's, by native code; None if SciPy is to solve the problem.

    `user` is the function that the user gave, if `fun` was made of it, and `layout` says how.
    """
    is_ours = method.name == ROSENBROCK
    integration = integration_of(user or fun, method, adjoint, layout) if is_ours or is_compiled(user or fun) else None
    if integration is None:
        return None
    if not is_in_order(span, points):
        if is_ours:
            raise user_error(ValueError, "Values in `t_eval` are not within `t_span`, or not in its order")
        return None
    if not is_ours and (points is None or not integration.is_traceable):
        return None
    try:
        rows, failed, trials = integration.run(fun, (span, points, y0, args))
    except (TrackedValueError, GradientError):
        if is_ours:
            raise
        integration.is_traceable = False
        return None
    if np.any(bottom_array(failed)):
        if is_ours:
            raise stopped_error("Required step size is less than spacing between numbers.")
        return None
    return rows, make_result(None, trials)


def is_in_order(span: tuple, points: Any) -> bool:
    """Whether points in time are inside the span and in its order; not if they, or the span, are batches."""
    if points is None:
        return True
    start, end, times = bottom_array(span[0]), bottom_array(span[1]), bottom_array(points)
    if np.ndim(start) or np.ndim(end) or np.ndim(times) != 1:
        return False
    forward = 1.0 if end >= start else -1.0
    path = forward * np.concatenate([[start], times, [end]])
    return bool(np.all(np.diff(path) >= 0.0))
