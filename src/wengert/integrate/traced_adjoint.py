"""The continuous adjoint inside graphs: the state, its cotangent and those of the parameters, back in time.

From each point to the one before, the state is integrated again together with the adjoint equation a' = -a f_y and the
integral of -a f_p, by the same method, and starts from its known value at each point. Reverse mode keeps nothing of the
steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.control.call import ARRAY, Call, call_operation
from wengert.control.iteration import scan
from wengert.control.values import strip_tensor
from wengert.core.array import Array
from wengert.core.primitive import Primitive
from wengert.integrate.continuous_adjoint import SmoothArrays
from wengert.integrate.flow import Method, time_derivative
from wengert.modes.tensor import Tensor
from wengert.ops.shape.joining import stack
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.products import vjp

TRACED_TRAJECTORY = call_operation("solve_ivp")

Solve = Callable[[Callable, tuple, Any, Any, tuple, Method], Any]
"""From a function, a span, points, an initial state, arguments and a method to the states at the points, in rows."""


class TracedTrajectory(Call):
    """A solution as one operation on (span, points, y0, args), inside a graph."""

    def __init__(self, solve: Solve, fun: Callable, span: tuple, points: Any, y0: Any, args: tuple, method: Method):
        super().__init__("solve_ivp", (span, points, y0, args))
        self.solve, self.fun, self.method = solve, fun, method

    def function(self, span: tuple, points: Any, y0: Any, args: tuple) -> Any:
        return self.solve(self.fun, span, points, y0, args, self.method)

    def in_mode(self, primitive: Primitive, top: Array, x: Sequence[Any]) -> tuple[Any, ...]:
        return self.in_reverse_mode(primitive, top, x) if isinstance(top, Tensor) else self.run_inline(x)

    def pull(self, t: Sequence[Any], x: Sequence[Any], live: Sequence[bool]) -> list:
        span, points, y0, args = self.assemble(x)
        lives = iter(live)
        wanted = [next(lives) if a is ARRAY else False for a in self.leaves]
        smooth = SmoothArrays(args, wanted[len(self.leaves) - len(SmoothArrays(args).leaves) :])
        times = stack(list(span)) if points is None else points
        rows = strip_tensor(self.function(span, points, y0, args))
        a, sums = self.propagate(t[0], times, rows, span[0], args, smooth)
        slopes = lambda: stack([time_derivative(self.fun, times[j], rows[j], args) for j in range(times.shape[0])])
        start = -(a * time_derivative(self.fun, span[0], y0, args)).sum() if wanted[0] else None
        end = None
        of_points: list = []
        if points is None:
            end = (t[0][1] * slopes()[1]).sum() if wanted[1] else None
        else:
            of_points = [(t[0] * slopes()).sum(-1) if wanted[2] else None]
        return self.select_arrays([start, end, *of_points, a, *smooth.spread(sums)])

    def propagate(
        self, c: Any, times: Any, rows: Any, start: Any, args: tuple, smooth: SmoothArrays
    ) -> tuple[Any, list]:
        """From cotangents of the rows back to those of the initial state, and of the parameters."""
        n, sizes = rows.shape[1], [v.size for v in smooth.values]
        bounds = np.cumsum([2 * n, *sizes])

        def augmented(t: Any, z: Any, args: tuple) -> Any:
            values = smooth.pick(args)
            f, pull = vjp(lambda y, *new: time_derivative(self.fun, t, y, smooth.replace(new, args)), z[:n], *values)
            return concatenate([f, *[reshape(part, (-1,)) for part in pull(-z[n : 2 * n])]])

        method = self.method.extend(1)
        atol = np.asarray(self.method.atol)
        if atol.ndim:
            others = np.full(sum(sizes), atol.min())
            method = Method(method.solver, method.rtol, np.concatenate([atol, atol, others]), method.options)

        def step(carry: tuple, given: tuple) -> tuple:
            a, sums = carry
            later, earlier, y, c = given
            z = concatenate([y, a + c, sums])
            found = self.solve(augmented, (later, earlier), None, z, (args,), method)[1]
            return (found[n : 2 * n], found[2 * n :]), None

        earlier = concatenate([reshape(start, (1,)), times[:-1]])
        zeros = (np.zeros(n, rows.dtype), np.zeros(sum(sizes), rows.dtype))
        (a, sums), _ = scan(step, zeros, (times, earlier, rows, c), reverse=True)
        parts = [sums[i - 2 * n : j - 2 * n] for i, j in zip(bounds, bounds[1:], strict=False)]
        return a, [reshape(p, v.shape) for p, v in zip(parts, smooth.values, strict=True)]
