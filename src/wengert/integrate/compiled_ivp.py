"""Eager integrations by native code: a function that is integrated again and again is compiled.

A first call costs less by SciPy than by a compiler. So the calls of each function are counted, and from the `WARM`-th
on a compiled function runs, which does the same steps. A function that cannot be traced stays with SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.levels import bottom_array
from wengert.integrate.flow import EXPLICIT, ROSENBROCK, Method, make_result, stopped_error
from wengert.integrate.traced_ivp import OPTIONS, solve_in_graph

WARM = 32
"""The number of calls of a function from which on it is compiled."""


class History:
    """The calls of one function with one method: how many there were, and the compiled function."""

    def __init__(self, method: Method, adjoint: str):
        self.method, self.adjoint = method, adjoint
        self.calls = 0
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


HISTORIES: WeakKeyDictionary[Callable, dict[Any, History]] = WeakKeyDictionary()


def history_of(fun: Callable, method: Method, adjoint: str, layout: tuple) -> History | None:
    """The history of a user's function; None if no graph has this method."""
    if method.name not in (*EXPLICIT, ROSENBROCK) or method.options.keys() - set(OPTIONS):
        return None
    atol = np.asarray(method.atol)
    key = method.name, method.rtol, atol.tobytes(), atol.shape, tuple(sorted(method.options.items())), adjoint, layout
    try:
        return HISTORIES.setdefault(fun, {}).setdefault(key, History(method, adjoint))
    except TypeError:  # not hashable, or without weak references
        return History(method, adjoint)


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
    history = history_of(user or fun, method, adjoint, layout)
    if history is None:
        return None
    history.calls += 1
    is_ours = method.name == ROSENBROCK
    if not is_in_order(span, points):
        if is_ours:
            raise user_error(ValueError, "Values in `t_eval` are not within `t_span`, or not in its order")
        return None
    if not is_ours and (history.calls < WARM or points is None or not history.is_traceable):
        return None
    try:
        rows, failed, trials = history.run(fun, (span, points, y0, args))
    except (TrackedValueError, GradientError):
        if is_ours:
            raise
        history.is_traceable = False
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
