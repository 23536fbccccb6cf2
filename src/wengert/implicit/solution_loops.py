"""Newton's method and fixed-point iteration as loops on values of any mode, native in compiled functions.

They do what the solvers on plain arrays do (`solvers.py`). Unknowns are along the last axis; axes before it are a
batch, whose elements stop one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.control.iteration import while_loop
from wengert.core import machine
from wengert.implicit.elimination import Elimination
from wengert.implicit.krylov_loops import column, dot
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.exponential import sqrt
from wengert.ops.elementwise.predicates import isfinite
from wengert.ops.linear_algebra.systems import solve
from wengert.ops.reductions.extremes import max as max_
from wengert.ops.reductions.logical import all as all_
from wengert.ops.reductions.logical import any as any_
from wengert.ops.shape.joining import stack
from wengert.ops.shape.reshaping import expand_dims, moveaxis
from wengert.transforms.products import jvp
from wengert.transforms.vmap import vmap

Vector = Callable[[Any], Any]


def norm(x: Any) -> Any:
    """The length of a vector."""
    return sqrt(dot(x, x))


def solve_jacobian(f: Vector, x: Any, b: Any, transpose: bool = False) -> Any:
    """The solution of the system whose matrix is the derivative of f at x, or its transpose."""
    n = x.shape[-1]
    basis = np.broadcast_to(np.eye(n, dtype=x.dtype).reshape(n, *(1,) * (x.ndim - 1), n), (n, *x.shape))
    along = lambda v: jvp(f, (x,), (v,))[1]
    if n > machine.current.max_unknowns_of_written_elimination:
        matrix = moveaxis(vmap(along)(basis), 0, -2 if transpose else -1)
        return solve(matrix, expand_dims(b, -1))[..., 0]
    columns = [along(v) for v in basis]
    rows = [[c[..., i] for c in columns] for i in range(n)]
    matrix = columns_of(rows) if transpose else rows
    return stack(Elimination.of(matrix).solve([b[..., i] for i in range(n)]), axis=-1)


def columns_of(rows: list[list[Any]]) -> list[list[Any]]:
    """The columns of a matrix that is given by its rows."""
    return [list(column) for column in zip(*rows, strict=True)]


class NewtonState(NamedTuple):
    """The state of Newton's method.

    There are the point, its residual with its length, the full step, how much of it is tried, how many steps were
    taken, and whether the method goes on.
    """

    x: Any
    r: Any
    size: Any
    step: Any
    scale: Any
    steps: Any
    active: Any


def newton_loop(f: Vector, x: Any, maxiter: int, tol: float) -> Any:
    """Newton's method; a step is halved until the residual shrinks."""
    direction = lambda x, r: solve_jacobian(f, x, r)
    r = f(x)
    size = norm(r)
    one = size * 0.0 + 1.0
    start = NewtonState(x, r, size, direction(x, r), one, np.zeros(size.shape, int), (size > 0.0) & isfinite(size))

    def trial(s: NewtonState) -> NewtonState:
        length = norm(s.step)
        is_last = length <= 1e-8 * norm(s.x)  # only rounding errors are left, which smaller steps do not reduce
        x = s.x - column(s.scale) * s.step
        r = f(x)
        size = norm(r)
        improves = size < s.size
        ends = (size < s.size * (1.0 - 1e-4 * s.scale)) | (s.scale < 1e-10) | is_last
        moves = s.active & ends & improves
        steps = s.steps + (s.active & ends)
        x, r, size = where(column(moves), x, s.x), where(column(moves), r, s.r), where(moves, size, s.size)
        is_small = s.scale * length <= tol * (norm(x) + tol)
        done = (ends & (~improves | is_small)) | (steps >= maxiter) | (size == 0.0) | ~isfinite(length)
        step = where(column(moves), direction(x, r), s.step)
        return NewtonState(x, r, size, step, where(ends, 1.0, 0.5 * s.scale), steps, s.active & ~done)

    return while_loop(lambda s: any_(s.active), trial, start).x


def iteration_loop(f: Vector, x: Any, maxiter: int, tol: float) -> Any:
    """Iterate x = x + f(x) until x does not change."""
    largest = lambda x: max_(absolute(x), axis=-1)
    start = (x, largest(x) == largest(x), np.int64(0))

    def step(s: tuple) -> tuple:
        x, active, count = s
        change = f(x)
        new = where(column(active), x + change, x)
        moved = largest(new - x)
        return new, active & ~(moved <= tol * largest(new)) & isfinite(moved), count + 1

    return while_loop(lambda s: any_(s[1]) & (s[2] < maxiter), step, start)[0]


def mark_unsolved(f: Vector, x: Any, start: Any, tol: float) -> Any:
    """x, NaN where the residual is not small relative to 1 and to that of the initial guess."""
    left, before = (max_(absolute(f(v)), axis=-1) for v in (x, start))
    known = where(isfinite(before) & (before > 1.0), before, 1.0)
    return where(column((left <= tol * known) & all_(isfinite(x), axis=-1)), x, np.nan)
