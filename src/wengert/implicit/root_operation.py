"""The root of an equation as an operation that holds the equation, for graphs.

The operation runs a solver, a loop that is native in compiled functions, and is differentiated by the implicit function
theorem: dx = -A^{-1} dr, where A is the derivative of the residual with respect to x. The linear system of a derivative
is solved by elimination, or, where the equation is solved by a Krylov method, is another such operation. So derivatives
of any order follow, in loops and branches too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from wengert.control.bodies import batch_body, specs_of, trace_body
from wengert.control.linear_tape import LinearTape
from wengert.core.array import Array
from wengert.core.axis_names import name_of_level
from wengert.core.definition import Definition
from wengert.core.levels import find_own, is_own, new_level, payloads, strip_level
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.implicit import krylov_loops, solution_loops
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual, zeros_like
from wengert.modes.symbolic import Symbol
from wengert.modes.taylor import Jet, Series
from wengert.modes.tensor import Tensor
from wengert.ops.shape.reshaping import broadcast_to
from wengert.transforms.products import jvp, vjp


class RootProblem(NamedTuple):
    """An equation and how it is solved.

    The body gives the residual of x, its first input, and of the operands. `method` is "newton", "iterate", "known"
    (the guess is the solution), or "dense" or a Krylov method for an equation that is linear in x. `tol` and `maxiter`
    are for the loop. A residual above `check` makes the solution NaN.
    """

    body: Graph
    method: str
    tol: float
    maxiter: int
    restart: int = 0
    check: float = 1e-6

    def residual(self, operands: Sequence[Any], x: Any) -> Any:
        """The residual at x."""
        return self.body.run([x, *operands])[0]

    def solve(self, start: Any, operands: Sequence[Any]) -> Any:
        """The solution, by a loop."""
        f = partial(self.residual, operands)
        if self.method == "known":
            return start
        if self.method == "newton":
            x = solution_loops.newton_loop(f, start, self.maxiter, self.tol)
        elif self.method == "iterate":
            x = solution_loops.iteration_loop(f, start, self.maxiter, self.tol)
        else:
            x = self.solve_linear(f, start)
        return solution_loops.mark_unsolved(f, x, start, self.check)

    def solve_linear(self, f: solution_loops.Vector, start: Any) -> Any:
        """The solution of a linear equation."""
        zero = start * 0.0
        b = -f(zero)
        if self.method == "dense":
            return solution_loops.solve_jacobian(f, zero, b)
        product = lambda v: f(v) + b
        if self.method == "gmres":
            return krylov_loops.generalized_minimal_residual(product, b, self.tol, self.maxiter, self.restart)
        loop = krylov_loops.conjugate_gradients if self.method == "cg" else krylov_loops.biconjugate_gradients
        return loop(product, b, self.tol, self.maxiter)

    def solve_derivative(self, x: Any, operands: Sequence[Any], b: Any, transpose: bool) -> Any:
        """The solution of the system whose matrix is the derivative of the residual with respect to x."""
        if self.method in ("newton", "iterate", "known", "dense"):
            return solution_loops.solve_jacobian(partial(self.residual, operands), x, b, transpose)
        problem = self._replace(body=derivative_body(self.body, transpose))
        return ROOT.op(zeros_like(b), b, x, *operands, problem=problem)


@lru_cache(256)
def derivative_body(body: Graph, transpose: bool) -> Graph:
    """The residual of the linear system: the derivative times v, minus b, of (v, b, x, operands)."""

    def residual(symbols: list[Any]) -> list[Any]:
        v, b, x, *operands = symbols
        f = lambda x: body.run([x, *operands])[0]
        return [(vjp(f, x)[1](v)[0] if transpose else jvp(f, (x,), (v,))[1]) - b]

    spec = body.inputs[0].spec
    return trace_body(residual, [spec, spec, *specs_of(body.inputs)])


def root_in_mode(primitive: Primitive, top: Array, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The root on values, of which `top` has the highest level."""
    level, problem = top.level, params["problem"]
    if isinstance(top, Symbol):
        return top.process(primitive, level, args, params)
    args = (strip_derivative(args[0], level), *args[1:])
    if isinstance(top, Batched):
        return root_of_batch(primitive, args, problem, top)
    if not recording.is_recording() or not any(is_own(a, Array, level) for a in args[1:]):
        return primitive.op(*[strip_level(a, level) for a in args], problem=problem)
    if isinstance(top, Tensor):
        return top.process(primitive, level, args, params)
    operands = args[1:]
    values = [strip_level(a, level) for a in operands]
    x = primitive.op(args[0], *values, problem=problem)
    if isinstance(top, Jet):
        return push_series(problem, x, operands, values, top)
    inner = new_level()
    duals = [Dual(v, a.tangent, inner) if is_own(a, Dual, level) else v for v, a in zip(values, operands, strict=True)]
    r = problem.residual(duals, x)
    if not is_own(r, Dual, inner):
        return x
    return Dual(x, -problem.solve_derivative(x, values, r.tangent, False), level)


def strip_derivative(x: Any, level: int) -> Any:
    """The initial guess, on which the solution does not depend; a batch stays one."""
    return x if is_own(x, Batched, level) else strip_level(x, level)


def push_series(problem: RootProblem, x: Any, operands: Sequence[Any], values: Sequence[Any], top: Jet) -> Jet:
    """The root as a jet: with x right up to order k - 1, coefficient k of the residual gives that of x."""
    run, level = top.series.run, top.level
    terms: list[Any] = [x]
    for k in range(1, run.order + 1):
        r = problem.residual(operands, Jet(Series(run, terms + [None] * (run.order + 1 - k)), level))
        lacking = r.series[k] if is_own(r, Jet, level) else None
        terms.append(None if lacking is None else -problem.solve_derivative(x, values, lacking, False))
    return Jet(Series(run, terms), level)


def root_of_batch(primitive: Primitive, args: tuple[Any, ...], problem: RootProblem, top: Batched) -> Batched:
    """The roots of a batch, in one loop: the body on a batch has one more axis."""
    n, level = len(top.value), top.level
    own = find_own(args, Batched, level)
    x, *operands = payloads(args, own)
    x = x if own[0] else broadcast_to(x, (n, *np.shape(x)))
    body, _ = batch_body(problem.body, (True, *own[1:]), n, name_of_level(level), (True,))
    return Batched(primitive.op(x, *operands, problem=problem._replace(body=body)), level)


def pull_root(t: Any, operands: Sequence[Any], out: Any, problem: RootProblem) -> tuple[Any, ...]:
    """The cotangents of the operands; the initial guess has none."""
    values = operands[1:]
    u = -problem.solve_derivative(out, values, t, True)
    with LinearTape([v if Spec.of(v).dtype.kind == "f" else None for v in values]) as tape:
        inputs = [v if i is None else i for v, i in zip(values, tape.inputs, strict=True)]
        r = problem.residual(inputs, out)
        return (None, *tape.transpose([r], [u]))


ROOT = Primitive(
    Definition(
        name="implicit_root",
        impl=lambda *operands, problem: np.asarray(problem.solve(operands[0], operands[1:])),
        kind="general",
        inputs=("*operands",),
        takes_params=True,
        spec=lambda x, *_operands, problem: x,
        vjp=pull_root,
        in_mode=root_in_mode,
    )
)
