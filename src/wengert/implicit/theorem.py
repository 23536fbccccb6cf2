"""The implicit function theorem on values of any mode.

A solution x of r(x) = 0 changes with the values that r depends on by dx = -A^{-1} dr, where A is the derivative of r
with respect to x, and dr is taken at constant x. These values need not be known, whether they are arguments or
captured: r, evaluated at the solution, has their derivatives. The levels of nested transforms are added one at a time,
the lowest first. For each, r is evaluated at the solution with all lower levels, and A has those levels too, which
makes derivatives of derivatives right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.definition import Definition
from wengert.core.errors import GradientError, user_error
from wengert.core.kinds import keep_params
from wengert.core.levels import is_own
from wengert.core.primitive import Primitive
from wengert.implicit.maps import LinearMap, Vector, strip_derivatives, unsupported_error
from wengert.modes.backward import backward_pass
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.history import lift
from wengert.modes.symbolic import Symbol
from wengert.modes.tape import TapeNode, find_older, next_sequence
from wengert.modes.taylor import Jet, Series
from wengert.modes.tensor import Tensor
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import broadcast_to, reshape


def solve_map(matrix: LinearMap, b: Any, transpose: bool = False) -> Any:
    """The solution of a linear system, along the last axis of b.

    For levels that the map does not have, it is a linear operation on b.
    """
    return SOLVE.op(b, matrix=matrix, transpose=transpose)


def solve_in_mode(primitive: Primitive, b: Array, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The solution for a right-hand side b with levels that the map does not have."""
    if b.level < params["matrix"].bound:
        return solve_levels(params["matrix"], b, params["transpose"])
    if isinstance(b, Symbol):
        raise unsupported_error(b)
    return b.process(primitive, b.level, args, params)


def solve_levels(matrix: LinearMap, b: Any, transpose: bool) -> Any:
    """The solution with all its levels: those of the matrix and of b."""
    row = b if b.ndim == 1 else b[0] if len(b) else np.zeros(b.shape[1:])
    r = matrix.product(np.zeros(row.shape, matrix.dtype), transpose) - row
    if not isinstance(r, Array):
        return matrix.solve(b, transpose)
    if b.ndim > 1:
        return stack([solve_levels(matrix, row, transpose) for row in b])
    level = r.level
    if isinstance(r, Batched):
        n = len(r.value)
        rows = b.value if is_own(b, Batched, level) else broadcast_to(b, (n, *b.shape))
        stacked = matrix.stack_batch(n, level)
        return Batched(reshape(solve_levels(stacked, reshape(rows, (-1,)), transpose), (n, -1)), level)
    lower = solve_levels(matrix.below(level), strip_derivatives(b, level), transpose)
    return attach_level(
        level,
        lambda y: matrix.product(y, transpose) - b,
        lower,
        lambda y, bound, recorded: (matrix.below(bound), transpose),
    )


SOLVE = Primitive(
    Definition(
        name="implicit_solve",
        impl=lambda x, matrix, transpose: solve_levels(matrix, x, transpose),
        kind="linear",
        inputs=("x",),
        takes_params=True,
        rules=(lambda t, matrix, transpose: solve_map(matrix, t, not transpose),),
        batch=keep_params,
        in_mode=solve_in_mode,
    )
)

Derivative = Callable[[Any, float, bool], tuple[LinearMap, bool]]
"""From a point, a bound, and whether to record at once: the derivative of a residual with the levels below the bound.

With it comes whether it is to be transposed.
"""


class Attachment:
    """The dependence of the solution on the residual, at one level.

    `anchors` are the nodes that the residual was computed from.
    """

    def __init__(self, level: int, residual: Vector, x: Any, derivative: Derivative, anchors: Sequence[TapeNode]):
        self.level, self.residual, self.x, self.derivative, self.anchors = level, residual, x, derivative, anchors
        self.here = derivative(x, level, True)

    def pull(self, t: Any, out: Any) -> tuple[Any, ...]:
        """The cotangent of the residual, or those of the anchors if the backward pass is recorded.

        On the tape the residual was evaluated at a constant solution. That is right for one backward pass, but
        derivatives of the pass would miss how the solution changes. So a recorded pass evaluates the residual again, at
        the solution with its history, and pulls back through that.
        """
        if not (is_own(out, Array, self.level)):
            matrix, transpose = self.here
            return -solve_map(matrix, t, not transpose), *[None] * len(self.anchors)
        matrix, transpose = self.derivative(out, self.level + 1, False)
        start = next_sequence()
        r = strip_derivatives(self.residual(out), self.level + 1)
        if isinstance(r, Tensor) and r.node is not None:
            found = pull_older(r.node, -solve_map(matrix, t, not transpose), start)
        else:
            found = {}
        if not found.keys() <= {*self.anchors, out.node}:
            raise changed_error()
        return None, *[found.get(node) for node in self.anchors]


def pull_older(root: TapeNode, t: Any, start: int) -> dict[TapeNode, Any]:
    """The cotangents of the nodes older than `start`, for a cotangent of the root, by a recorded backward pass."""
    found: dict[TapeNode, Any] = {}
    targets = set(find_older(start, [root]))
    backward_pass([(root, t)], found.__setitem__, targets=targets, through=False, retain=True, lift=lift)
    return found


NOTHING = np.empty(0)
"""The payload of a tensor that only stands for its node."""

ATTACH = Primitive(
    Definition(
        name="implicit_solution",
        impl=lambda *r, attachment: attachment.x,
        kind="general",
        inputs=("*r",),
        takes_params=True,
        vjp=lambda t, out, attachment: attachment.pull(t, out),
        in_mode=lambda primitive, top, r, params: params["attachment"].x,
    )
)


def attach_level(level: int, residual: Vector, x: Any, derivative: Derivative) -> Any:
    """The solution x, which has all lower levels, with the derivatives of this level that its residual gives it."""
    start = next_sequence()
    r = strip_derivatives(residual(x), level + 1)
    if is_own(r, Tensor, level):
        if r.node is None:
            return Tensor(x, level)
        anchors = [] if level else find_older(start, [r.node])
        attachment = Attachment(level, residual, x, derivative, anchors)
        return Tensor.process(
            ATTACH, level, (r, *[Tensor(NOTHING, 0, node) for node in anchors]), {"attachment": attachment}
        )
    if is_own(r, Dual, level):
        matrix, transpose = derivative(x, level, False)
        return Dual(x, -solve_map(matrix, r.tangent, transpose), level)
    if is_own(r, Jet, level):
        return attach_series(level, residual, x, derivative, r)
    if is_own(r, Array, level):
        raise unsupported_error(r)
    raise changed_error()


def changed_error() -> GradientError:
    """The error for a function that depends on other values when it is called again."""
    return user_error(
        GradientError, "A function under implicit differentiation did not do the same when it was called again"
    )


def attach_series(level: int, residual: Vector, x: Any, derivative: Derivative, r: Jet) -> Jet:
    """The solution as a jet: with x right up to order k - 1, coefficient k of the residual gives that of x."""
    run = r.series.run
    matrix, transpose = derivative(x, level, False)
    terms: list[Any] = [x]
    for k in range(1, run.order + 1):
        r = strip_derivatives(residual(Jet(Series(run, terms + [None] * (run.order + 1 - k)), level)), level + 1)
        lacking = r.series[k]
        terms.append(None if lacking is None else -solve_map(matrix, lacking, transpose))
    return Jet(Series(run, terms), level)


def differentiate_solution(residual: Vector, x: Any, derivative: Derivative, bound: float = math.inf) -> Any:
    """A solution x of residual(x) = 0, a plain array or a batch, with the derivatives that the residual gives it."""
    r = strip_derivatives(residual(x), bound)
    if not isinstance(r, Array):
        return x
    level = r.level
    if not isinstance(r, Batched):
        return attach_level(level, residual, differentiate_solution(residual, x, derivative, level), derivative)
    if not (is_own(x, Batched, level)):
        raise unsupported_error(r)
    n = len(x.value)

    def whole_residual(v: Any) -> Any:
        return reshape(strip_derivatives(residual(Batched(reshape(v, (n, -1)), level)), level + 1).value, (-1,))

    def whole_derivative(v: Any, bound: float, recorded: bool) -> tuple[LinearMap, bool]:
        matrix, transpose = derivative(Batched(reshape(v, (n, -1)), level), bound, recorded)
        return matrix.stack_batch(n, level).below(bound), transpose

    return Batched(
        reshape(differentiate_solution(whole_residual, reshape(x.value, (-1,)), whole_derivative, level), (n, -1)),
        level,
    )
