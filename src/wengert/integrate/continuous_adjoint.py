"""The continuous adjoint: the derivative of the solution of the equation, which is the solution of another equation.

With y' = f(t, y, p), a tangent v of y follows the variational equation v' = f_y v + f_p dp forward in time. A cotangent
a follows the adjoint equation a' = -a f_y backward, with a jump at each time where the solution was read, and the
cotangent of p is the integral of a f_p. Both are solved by the same method of SciPy as the equation itself, with the
same tolerances, so that derivatives are as accurate as the solution, but are not exactly those of the computed numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control.call import ARRAY, Call, call_operation
from wengert.control.linear_tape import LinearTape
from wengert.control.values import is_smooth
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.primitive import SHAPED
from wengert.integrate.flow import (
    IMPLICIT,
    Batch,
    Flow,
    Method,
    block_diagonal,
    check_completed,
    has_derivative,
    strip_derivatives,
    time_derivative,
)
from wengert.ops.shape.joining import stack
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.jacobians import jacobian
from wengert.transforms.products import jvp
from wengert.transforms.vmap import vmap

TRAJECTORY = call_operation("solve_ivp")


def solve_trajectory(fun: Callable, span: tuple, points: Any, y0: Any, args: tuple, method: Method) -> tuple[Any, Any]:
    """The states at `points`, in rows, and SciPy's result."""
    call = Trajectory(fun, span, points, y0, args, method)
    rows = call(TRAJECTORY)
    result, call.result = call.result, None  # avoids a cycle: it holds the states, whose history holds the call
    return rows, result


class Trajectory(Call):
    """A solution as one operation on (span, points, y0, args)."""

    has_rule = True
    result: Any = None

    def __init__(self, fun: Callable, span: tuple, points: Any, y0: Any, args: tuple, method: Method):
        super().__init__("solve_ivp", (span, points, y0, args))
        self.fun, self.method = fun, method
        self.dense: Any = None  # the solution on plain numbers, for the backward pass

    def run(self, x: Sequence[Any]) -> tuple:
        rows = self.solve(self.assemble(x), dense=self.is_tracked)
        self.dense = self.result.sol
        return tuple(self.flatten_results(rows))

    def function(self, *args: Any) -> Any:
        return self.solve(args, dense=False)

    def solve(self, parts: tuple, dense: bool) -> Any:
        """The states on plain numbers; with `dense`, SciPy's result has those in between too."""
        span, points, y0, args = parts
        flow = Flow(self.fun, span, y0, args)
        times = flow.solver_times(points)
        forward = -1.0 if flow.span[1] < flow.span[0] else 1.0
        wanted, inverse = np.unique(forward * times, return_inverse=True)
        result = flow.solve(self.method, t_eval=forward * wanted, dense_output=dense)
        if flow.captured:
            raise self.captured_error()
        self.result = check_completed(result)
        states = np.asarray(result.y).reshape(*flow.y.shape, len(wanted))[..., inverse]
        return flow.batch.split(np.moveaxis(states, -1, -2))

    def captured_error(self) -> GradientError:
        return user_error(
            GradientError,
            "The function to integrate uses a tracked value that is not among its arguments, and cannot be traced to "
            "find it",
            because="the continuous adjoint would lose its gradient. Pass it in args=, which may hold lists and dicts "
            'of arrays, or use an explicit method with adjoint="discrete", or detach it.',
        )

    def time_derivatives(self, points: Any, rows: Any, args: tuple) -> Any:
        """The derivative with respect to time at each of the points."""
        count = np.shape(points)[0]
        return stack([time_derivative(self.fun, points[j], rows[j], args) for j in range(count)])

    # Forward

    def push(self, x: Sequence[Any], t: Sequence[Any]) -> tuple[list, list]:
        span, points, y0, args = self.assemble(x)
        (dt0, _), dpoints, dy, dargs = self.assemble(t, lambda fixed: None)
        n = y0.shape[0]
        smooth = SmoothArrays(args)
        tangents = smooth.pick_tangents(tree.leaves(dargs), self.leaves[4:])

        def variational(t: Any, z: Any, args: tuple, tangents: list) -> Any:
            smooth = SmoothArrays(args)
            f, pushed = jvp(
                lambda y, *new: time_derivative(self.fun, t, y, smooth.replace(new)),
                (z[:n], *smooth.values),
                (z[n:], *tangents),
            )
            return concatenate([f, pushed])

        if is_nonzero(dt0):
            dy = dy - time_derivative(self.fun, span[0], y0, args) * dt0
        rows, self.result = solve_trajectory(
            variational, span, points, concatenate([y0, dy]), (args, tangents), self.method.extend(2)
        )
        out, tangent = rows[:, :n], rows[:, n:]
        if is_nonzero(dpoints):
            tangent = tangent + self.time_derivatives(points, out, args) * dpoints[:, None]
        return self.flatten_results(out), [tangent]

    # Backward

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list:
        span, points, y0, args = self.assemble(x)
        lives = iter(live)
        wanted = [next(lives) if a is ARRAY else False for a in self.leaves]
        smooth = SmoothArrays(args, wanted[4:])
        is_plain = not any(map(has_derivative, (*t, *x)))
        back = self.by_adjoint if is_plain else self.by_sensitivities
        c0, cargs, rows = back(t[0], span, points, y0, args, smooth)
        ct0 = -(c0 * time_derivative(self.fun, span[0], y0, args)).sum() if wanted[0] else None
        cpoints = (t[0] * self.time_derivatives(points, rows, args)).sum(-1) if wanted[2] else None
        return self.select_arrays([ct0, None, cpoints, c0, *smooth.spread(cargs)])

    def by_adjoint(self, c: Any, span: tuple, points: Any, y0: Any, args: tuple, smooth: SmoothArrays) -> tuple:
        """The cotangents of y0 and of the parameters, and the states, all of them numbers."""
        flow = Flow(self.fun, span, y0, args)
        known = not flow.batch.sizes and self.dense is not None
        solution = self.dense if known else check_completed(flow.solve(self.method, dense_output=True)).sol
        if flow.captured:
            raise self.captured_error()
        c = strip_derivatives(c)
        adjoint = Adjoint(
            flow,
            solution,
            Batch([*tree.leaves((span, points, y0, args)), c, flow.batch.split(flow.y)]),
            self.method,
            smooth,
        )
        times = flow.solver_times(points)
        states = solution(times).reshape(*flow.y.shape, len(times))
        return *adjoint.propagate(c, times), flow.batch.split(np.moveaxis(states, -1, -2))

    def by_sensitivities(self, c: Any, span: tuple, points: Any, y0: Any, args: tuple, smooth: SmoothArrays) -> tuple:
        """The same on values of any mode: the derivatives along all directions, then weighted.

        They are solved forward in time, which is stable.
        """
        if any(is_complex(v) for v in (c, y0, *smooth.values)):
            raise user_error(
                GradientError,
                "The continuous adjoint has no second derivatives of complex solutions",
                'Use an explicit method with adjoint="discrete", or real and imaginary parts as a state of twice the '
                "size.",
            )
        n = y0.shape[0]
        sizes = [n, *[v.size for v in smooth.values]]
        total = sum(sizes)
        units = np.split(np.eye(total), np.cumsum(sizes)[:-1], axis=1)
        directions = [u.reshape(total, *v.shape).astype(v.dtype) for u, v in zip(units[1:], smooth.values, strict=True)]

        def sensitivities(t: Any, z: Any, args: tuple) -> Any:
            y, values = z[:n], smooth.pick(args)
            f = lambda y, *new: time_derivative(self.fun, t, y, smooth.replace(new, args))
            along = vmap(lambda v, *d: jvp(f, (y, *values), (v, *d))[1])
            return concatenate([f(y, *values), reshape(along(reshape(z[n:], (total, n)), *directions), (-1,))])

        start = concatenate([y0, units[0].ravel()])
        rows, _ = solve_trajectory(sensitivities, span, points, start, (args,), self.method.extend(1 + total))
        pulled = (reshape(rows[:, n:], (-1, total, n)) * c[:, None, :]).sum((0, 2))
        bounds = np.cumsum([0, *sizes])
        parts = [pulled[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]
        return parts[0], [reshape(p, v.shape) for p, v in zip(parts[1:], smooth.values, strict=True)], rows[:, :n]


class SmoothArrays:
    """The arrays in a tree that can have a derivative, and of them those that are `wanted`."""

    def __init__(self, args: tuple, wanted: Sequence[bool] | None = None):
        self.leaves, self.structure = tree.flatten(args)
        wanted = wanted if wanted is not None else [True] * len(self.leaves)
        self.chosen = [
            i
            for i, (leaf, w) in enumerate(zip(self.leaves, wanted, strict=True))
            if w and isinstance(leaf, SHAPED) and is_smooth(leaf)
        ]
        self.values = [self.leaves[i] for i in self.chosen]

    def pick(self, args: tuple) -> list:
        """The chosen leaves of another tree of the same structure."""
        leaves = tree.leaves(args)
        return [leaves[i] for i in self.chosen]

    def pick_tangents(self, arrays: Sequence[Any], leaves: Sequence[Any]) -> list:
        """The tangents of the chosen leaves, from one for each leaf that is an array."""
        rest = iter(arrays)
        spread = [next(rest) if a is ARRAY else None for a in leaves]
        return [spread[i] for i in self.chosen]

    def replace(self, new: Sequence[Any], args: tuple | None = None) -> tuple:
        """The tree with other values for the chosen leaves."""
        leaves = list(self.leaves if args is None else tree.leaves(args))
        for i, value in zip(self.chosen, new, strict=True):
            leaves[i] = value
        return tree.unflatten(self.structure, leaves)

    def spread(self, chosen: Sequence[Any]) -> list:
        """One entry for each leaf, None where it is not chosen."""
        found = dict(zip(self.chosen, chosen, strict=True))
        return [found.get(i) for i in range(len(self.leaves))]


class Adjoint:
    """The adjoint equation on plain numbers, along a solution that is known between its steps."""

    def __init__(self, flow: Flow, solution: Callable, batch: Batch, method: Method, smooth: SmoothArrays):
        self.flow, self.solution, self.batch, self.smooth = flow, solution, batch, smooth
        self.method = flow.fit_method(method.extend(1))
        self.values = smooth.pick(flow.args)
        self.totals: list = [None] * len(self.values)
        nodes, weights = np.polynomial.legendre.leggauss(8 if method.name == "DOP853" else 5)
        self.nodes, self.weights = (nodes + 1.0) / 2.0, weights / 2.0

    def propagate(self, c: Any, times: np.ndarray) -> tuple[Any, list]:
        """From the cotangents of the states at some times, in rows, back to the start."""
        rows = np.moveaxis(self.batch.join(c), -2, 0)
        self.shape = rows.shape[1:]
        # the equation is linear: tolerances are relative to the cotangents
        scale = float(np.abs(rows).max(initial=0.0)) or 1.0
        if not np.isfinite(scale):
            raise user_error(GradientError, "The gradient that arrives at solve_ivp is not finite")
        a, time = np.zeros(self.shape, np.result_type(rows, self.flow.y)), None
        for j in reversed(range(len(rows))):
            if rows[j].any():
                a = a if time is None else self.step_back(a, time, times[j])
                a, time = a + rows[j] / scale, times[j]
        if time is not None:
            a = self.step_back(a, time, self.flow.span[0])
        found = [
            np.zeros(v.shape, v.dtype) if g is None else g * scale
            for g, v in zip(self.totals, self.values, strict=True)
        ]
        return self.batch.split(a * scale), found

    def step_back(self, a: np.ndarray, start: float, stop: float) -> np.ndarray:
        """From one time back to an earlier one, with the integrals for the parameters by Gauss's rule on each step."""
        if start == stop:
            return a
        jac = None if self.method.name not in IMPLICIT else self.jacobian
        span = (float(start), float(stop))
        result = check_completed(
            self.method.solve(self.rhs, span, a.ravel(), jac, self.batch, dense_output=bool(self.values))
        )
        if self.values:
            for later, earlier in zip(result.t, result.t[1:], strict=False):
                for node, weight in zip(self.nodes, self.weights, strict=True):
                    s = earlier + node * (later - earlier)
                    self.add(s, result.sol(s), weight * (later - earlier))
        return result.y[:, -1].reshape(self.shape)

    def pull_cotangents(self, s: float, vector: np.ndarray, by_parameters: bool) -> list:
        """The cotangents of the state, or of the parameters, at one time, for those of the derivative."""
        t, y = self.flow.time(s), self.flow.state(self.solution(s))
        a = self.batch.split(vector.reshape(self.shape))
        with LinearTape(self.values if by_parameters else [y]) as tape:
            args = self.smooth.replace(tape.inputs, self.flow.args) if by_parameters else self.flow.args
            f = time_derivative(self.flow.fun, t, y if by_parameters else tape.inputs[0], args)
            return tape.transpose([f], [a])

    def rhs(self, s: float, vector: np.ndarray) -> np.ndarray:
        """The right-hand side of the adjoint equation."""
        (c,) = self.pull_cotangents(s, vector, False)
        return np.zeros(len(vector)) if c is None else -self.batch.join(self.flow.rate(c)).ravel()

    def jacobian(self, s: float, _vector: np.ndarray) -> np.ndarray:
        """The Jacobian of `rhs`, which does not depend on the cotangent."""
        t, y = self.flow.time(s), self.flow.state(self.solution(s))
        found = self.batch.join(
            self.flow.rate(jacobian(lambda y: time_derivative(self.flow.fun, t, y, self.flow.args))(y))
        )
        return -block_diagonal(np.swapaxes(found, -1, -2))

    def add(self, s: float, vector: np.ndarray, weight: float) -> None:
        for i, c in enumerate(self.pull_cotangents(s, vector, True)):
            if c is not None:
                c = self.flow.rate(c * weight)
                self.totals[i] = c if self.totals[i] is None else self.totals[i] + c


def is_nonzero(t: Any) -> bool:
    """Whether a tangent is there and may be other than zero."""
    return t is not None and (isinstance(t, Array) or bool(np.any(t)))


def is_complex(x: Any) -> bool:
    """Whether a value is complex."""
    return x.dtype.kind == "c"
