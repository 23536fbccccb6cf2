"""Krylov methods as loops on values of any mode, native in compiled functions.

Vectors are along the last axis; axes before it are a batch, whose elements stop one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.control.iteration import while_loop
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.exponential import sqrt
from wengert.ops.reductions.logical import any as any_
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.reshaping import expand_dims

Product = Callable[[Any], Any]


def dot(x: Any, y: Any) -> Any:
    """The products of vectors."""
    return sum_(x * y, axis=-1)


def quotient(x: Any, y: Any) -> Any:
    """x / y, zero where y is zero: there nothing is left to do."""
    is_zero = y == 0.0
    return where(is_zero, 0.0, x / where(is_zero, 1.0, y))


def column(x: Any) -> Any:
    """A number for each element of a batch, as it scales a vector."""
    return expand_dims(x, -1)


class GradientState(NamedTuple):
    """The state of conjugate gradients: solution, residual, direction, the squared residual, and the steps so far."""

    x: Any
    r: Any
    p: Any
    size: Any
    steps: Any


def conjugate_gradients(product: Product, b: Any, rtol: float, maxiter: int) -> Any:
    """The solution of a symmetric positive definite system; a loop until the residual is small relative to b."""
    least = rtol * rtol * dot(b, b)
    start = GradientState(b * 0.0, b, b, dot(b, b), np.int64(0))

    def step(s: GradientState) -> GradientState:
        active = s.size > least
        q = product(s.p)
        alpha = column(where(active, quotient(s.size, dot(s.p, q)), 0.0))
        r = s.r - alpha * q
        size = where(active, dot(r, r), s.size)
        p = where(column(active), r + column(quotient(size, s.size)) * s.p, s.p)
        return GradientState(s.x + alpha * s.p, r, p, size, s.steps + 1)

    end = while_loop(lambda s: any_(s.size > least) & (s.steps < maxiter), step, start)
    return end.x


class StabilizedState(NamedTuple):
    """The state of BiCGSTAB."""

    x: Any
    r: Any
    p: Any
    v: Any
    rho: Any
    alpha: Any
    omega: Any
    steps: Any


def biconjugate_gradients(product: Product, b: Any, rtol: float, maxiter: int) -> Any:
    """The solution of any system by the stabilised method of biconjugate gradients (BiCGSTAB)."""
    least = rtol * rtol * dot(b, b)
    zeros, one = b * 0.0, dot(b, b) * 0.0 + 1.0
    start = StabilizedState(zeros, b, zeros, zeros, one, one, one, np.int64(0))

    def step(s: StabilizedState) -> StabilizedState:
        active = dot(s.r, s.r) > least
        rho = dot(b, s.r)
        beta = quotient(rho, s.rho) * quotient(s.alpha, s.omega)
        p = s.r + column(beta) * (s.p - column(s.omega) * s.v)
        v = product(p)
        alpha = quotient(rho, dot(b, v))
        half = s.r - column(alpha) * v
        t = product(half)
        omega = quotient(dot(t, half), dot(t, t))
        x = s.x + column(alpha) * p + column(omega) * half
        new = StabilizedState(x, half - column(omega) * t, p, v, rho, alpha, omega, s.steps + 1)
        masks = [column(active)] * 4 + [active] * 3 + [np.True_]
        return StabilizedState(*[where(mask, a, old) for mask, a, old in zip(masks, new, s, strict=True)])

    end = while_loop(lambda s: any_(dot(s.r, s.r) > least) & (s.steps < maxiter), step, start)
    return end.x


def generalized_minimal_residual(product: Product, b: Any, rtol: float, maxiter: int, restart: int) -> Any:
    """The solution of any system by GMRES: `maxiter` times, the best in a Krylov space of `restart` dimensions.

    The products of the directions are made orthogonal (by Gram and Schmidt's method, twice), so that the residual is
    reduced by one direction after the other. That is the variant GCR, which finds the same solutions and needs no
    least-squares problem.
    """
    least = rtol * sqrt(dot(b, b))
    indices = np.arange(restart)[:, None]

    def cycle(s: tuple) -> tuple:
        x, r, size, count = s
        rows = np.zeros((restart, 1)) * expand_dims(b, -2)

        def extend(state: tuple) -> tuple:
            """One more direction p, whose product q is orthogonal to those before."""
            k, directions, products, x, r, size = state
            p, q = r, product(r)
            for _ in range(2):
                along = sum_(products * expand_dims(q, -2), axis=-1, keepdims=True)
                p, q = p - sum_(along * directions, axis=-2), q - sum_(along * products, axis=-2)
            length = sqrt(dot(q, q))
            p, q = quotient(p, column(length)), quotient(q, column(length))
            step = where(size > least, dot(q, r), 0.0)
            x, r = x + column(step) * p, r - column(step) * q
            here = indices == k
            return (
                k + 1,
                where(here, expand_dims(p, -2), directions),
                where(here, expand_dims(q, -2), products),
                x,
                r,
                sqrt(dot(r, r)),
            )

        goes_on = lambda state: (state[0] < restart) & any_(state[5] > least)
        *_, x, r, size = while_loop(goes_on, extend, (np.int64(0), rows, rows, x, r, size))
        return x, r, size, count + 1

    start = (b * 0.0, b, sqrt(dot(b, b)), np.int64(0))
    return while_loop(lambda s: any_(s[2] > least) & (s[3] < maxiter), cycle, start)[0]
