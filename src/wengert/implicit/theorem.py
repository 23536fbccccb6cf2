"""The implicit function theorem on values of any mode.

A solution x of r(x) = 0 changes with whatever r depends on by dx = -A^{-1} dr, where A is the derivative of r in x, and
dr is taken with x held. So nothing needs to be known of what r depends on, arguments or captured values: r itself,
evaluated at the solution, carries it. The levels of nested transforms are added one at a time, the lowest first: for
each, r is evaluated at the solution that knows all lower levels, and A belongs to those, which makes derivatives of
derivatives right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.kinds import unchanged
from wengert.core.primitive import OUTPUT, Primitive
from wengert.implicit.maps import LinearMap, Vector, below, unsupported
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.reverse import Tensor
from wengert.modes.symbolic import Symbol
from wengert.modes.tape import Node, by_sequence, contributions, next_sequence, unpacked
from wengert.modes.taylor import Jet, Series
from wengert.modes.walk import lift
from wengert.ops.elementwise.predicates import logical_and
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import broadcast_to, reshape
from wengert.transforms.checkpoint import NOTHING, made_before


def solved(matrix: LinearMap, b: Any, transpose: bool = False) -> Any:
    """The solution of a linear system, in the last axis of b.

    In levels that the map does not have it is a linear operation on b.
    """
    return SOLVE.op(b, matrix=matrix, transpose=transpose)


def solve_op(b: Any, *, matrix: LinearMap, transpose: bool) -> Any:
    if isinstance(b, Array) and b.level >= matrix.bound:
        if isinstance(b, Symbol):
            raise unsupported(b)
        return b.process(SOLVE, b.level, (b,), {"matrix": matrix, "transpose": transpose})
    return solution(matrix, b, transpose)


def solution(matrix: LinearMap, b: Any, transpose: bool) -> Any:
    """The solution with all its levels: those of the matrix and of b."""
    row = b if b.ndim == 1 else b[0] if len(b) else np.zeros(b.shape[1:])
    r = matrix.product(np.zeros(row.shape, matrix.dtype), transpose) - row
    if not isinstance(r, Array):
        return matrix.solve(b, transpose)
    if b.ndim > 1:
        return stack([solution(matrix, row, transpose) for row in b])
    level = r.level
    if isinstance(r, Batched):
        n = len(r.value)
        rows = b.value if isinstance(b, Batched) and b.level == level else broadcast_to(b, (n, *b.shape))
        stacked = matrix.stacked(n, level)
        return Batched(reshape(solution(stacked, reshape(rows, (-1,)), transpose), (n, -1)), level)
    lower = solution(matrix.below(level), below(b, level), transpose)
    return attached(
        level,
        lambda y: matrix.product(y, transpose) - b,
        lower,
        lambda y, bound, recorded: (matrix.below(bound), transpose),
    )


SOLVE = Primitive(
    "implicit_solve",
    lambda x, matrix, transpose: solution(matrix, x, transpose),
    "linear",
    ("x",),
    (lambda t, matrix, transpose: solved(matrix, t, not transpose),),
    params={},
    batch=unchanged,
)
SOLVE.op = solve_op

Derivative = Callable[[Any, float, bool], tuple[LinearMap, bool]]
"""The derivative of a residual at a point, as the levels below a bound know it, to keep or not.

And whether it is to be transposed.
"""


class Attachment:
    """How the solution depends on the residual, at one level of the tape.

    `anchors` are the nodes that the residual was made of.
    """

    def __init__(self, level: int, residual: Vector, x: Any, derivative: Derivative, anchors: Sequence[Node]):
        self.level, self.residual, self.x, self.derivative, self.anchors = level, residual, x, derivative, anchors
        self.here = derivative(x, level, True)

    def pull(self, t: Any, out: Any) -> tuple:
        """The cotangent of the residual, or those of the anchors where the walk back is recorded.

        On the tape the residual was evaluated at a solution that is a number: right for one walk back, but a derivative
        of that walk would miss how the solution changes. So a recorded walk goes back through another residual, of the
        solution with its history.
        """
        if not (isinstance(out, Array) and out.level == self.level):
            matrix, transpose = self.here
            return -solved(matrix, t, not transpose), *[None] * len(self.anchors)
        matrix, transpose = self.derivative(out, self.level + 1, False)
        start = next_sequence()
        r = below(self.residual(out), self.level + 1)
        found = (
            partials(r.node, -solved(matrix, t, not transpose), start)
            if isinstance(r, Tensor) and r.node is not None
            else {}
        )
        if not found.keys() <= {*self.anchors, out.node}:
            raise changed()
        return None, *[found.get(node) for node in self.anchors]


def partials(root: Node, t: Any, start: int) -> dict[Node, Any]:
    """What a cotangent of the root gives to the nodes that were there at the start, each held while the others change.

    Recorded.
    """
    seen, left = {root}, [root]
    while left:
        node = left.pop()
        new = [p for p in node.parents if p is not None and p not in seen] if node.sequence >= start else []
        seen.update(new)
        left += new
    cotangents: dict[Node, Any] = {root: t}
    dead: dict[Node, Any] = {}
    for node in sorted(seen, key=by_sequence, reverse=True):
        if node not in cotangents or node.sequence < start or node.primitive is None:
            continue
        t = cotangents[node]
        if node.primitive is OUTPUT:
            whole, i = node.parents[0], node.params["index"]
            parts = cotangents.setdefault(whole, [None] * len(whole.shape))
            parts[i] = t if parts[i] is None else parts[i] + t
            continue
        for parent, c, lanes in contributions(node, t, lift(node, unpacked(node)), dead.get(node), None):
            if parent in cotangents:
                cotangents[parent] = cotangents[parent] + c
                lanes = logical_and(dead[parent], lanes) if lanes is not None and parent in dead else None
            else:
                cotangents[parent] = c
            dead.pop(parent, None)
            if lanes is not None:
                dead[parent] = lanes
    return {node: c for node, c in cotangents.items() if node.sequence < start}


ATTACH = Primitive(
    "implicit_solution",
    lambda *r, attachment: attachment.x,
    "general",
    ("*r",),
    vjp=lambda t, out, attachment: attachment.pull(t, out),
    params={},
)
ATTACH.op = lambda *r, attachment: attachment.x


def attached(level: int, residual: Vector, x: Any, derivative: Derivative) -> Any:
    """The solution x, which knows all lower levels, with what its residual knows at this one."""
    start = next_sequence()
    r = below(residual(x), level + 1)
    if isinstance(r, Tensor) and r.level == level:
        if r.node is None:
            return Tensor(x, level)
        anchors = [] if level else made_before(start, [r.node])
        attachment = Attachment(level, residual, x, derivative, anchors)
        return Tensor.process(
            ATTACH, level, (r, *[Tensor(NOTHING, 0, node) for node in anchors]), {"attachment": attachment}
        )
    if isinstance(r, Dual) and r.level == level:
        matrix, transpose = derivative(x, level, False)
        return Dual(x, -solved(matrix, r.tangent, transpose), level)
    if isinstance(r, Jet) and r.level == level:
        return series(level, residual, x, derivative, r)
    if isinstance(r, Array) and r.level == level:
        raise unsupported(r)
    raise changed()


def changed() -> GradientError:
    return user_error(
        GradientError, "A function under implicit differentiation did not do the same when it was called again"
    )


def series(level: int, residual: Vector, x: Any, derivative: Derivative, r: Jet) -> Jet:
    """The Taylor coefficients of the solution: with x right up to order k - 1, the coefficient k of the residual tells
    what x lacks.
    """
    run = r.series.run
    matrix, transpose = derivative(x, level, False)
    terms: list = [x]
    for k in range(1, run.order + 1):
        r = below(residual(Jet(Series(run, terms + [None] * (run.order + 1 - k)), level)), level + 1)
        lacking = r.series[k]
        terms.append(None if lacking is None else -solved(matrix, lacking, transpose))
    return Jet(Series(run, terms), level)


def implicit(residual: Vector, x: Any, derivative: Derivative, bound: float = math.inf) -> Any:
    """A solution x of residual(x) = 0, plain numbers or batches of them, with the derivatives that the residual gives
    it.
    """
    r = below(residual(x), bound)
    if not isinstance(r, Array):
        return x
    level = r.level
    if not isinstance(r, Batched):
        return attached(level, residual, implicit(residual, x, derivative, level), derivative)
    if not (isinstance(x, Batched) and x.level == level):
        raise unsupported(r)
    n = len(x.value)

    def stacked(v: Any) -> Any:
        return reshape(below(residual(Batched(reshape(v, (n, -1)), level)), level + 1).value, (-1,))

    def stacked_derivative(v: Any, bound: float, recorded: bool) -> tuple[LinearMap, bool]:
        matrix, transpose = derivative(Batched(reshape(v, (n, -1)), level), bound, recorded)
        return matrix.stacked(n, level).below(bound), transpose

    return Batched(reshape(implicit(stacked, reshape(x.value, (-1,)), stacked_derivative, level), (n, -1)), level)
