"""The coefficients of SciPy's explicit Runge-Kutta methods, and one step with them on values of any mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.integrate.explicit_methods import coefficients_of
from wengert.integrate.flow import time_derivative
from wengert.ops.contraction.products import matmul
from wengert.ops.shape.joining import stack, unstack


class Tableau(NamedTuple):
    """The coefficients of a method.

    Stage i is `f(t + c[i] h, y + h a[i] K)`, and `b` gives the step. The stage behind those is the first one of the
    next step. `extra` has (c, a) of the stages that only the interpolant needs: `y + h basis(x) (weights K)` at the
    fraction x of the step. `errors` give estimates of the error, whose order is `order`.
    """

    a: list[np.ndarray]
    b: np.ndarray
    c: np.ndarray
    extra: list[tuple[float, np.ndarray]]
    weights: np.ndarray
    basis: Callable[[Any, int], list]
    errors: tuple[np.ndarray, ...]
    order: int


@cache
def read_tableau(name: str) -> Tableau:
    """The coefficients of a method."""
    method = coefficients_of(name)
    stages = len(method.B)
    a = [np.asarray(row[:i]) for i, row in enumerate(method.A)]
    if name != "DOP853":
        return Tableau(a, method.B, method.C, [], method.P.T, powers, (method.E,), method.error_estimator_order)
    extra = [
        (float(c), row[: stages + 1 + i]) for i, (c, row) in enumerate(zip(method.C_EXTRA, method.A_EXTRA, strict=True))
    ]
    total = method.D.shape[1]
    step, first, last = np.zeros((3, total))
    step[:stages], first[0], last[stages] = method.B, 1.0, 1.0
    return Tableau(
        a,
        method.B,
        method.C,
        extra,
        np.stack([step, first - step, 2.0 * step - first - last, *method.D]),
        alternating_powers,
        (method.E5, method.E3),
        method.error_estimator_order,
    )


def powers(x: Any, count: int) -> list:
    """x, x x, x x x, ..."""
    return cumulative_products(x, [x] * (count - 1))


def alternating_powers(x: Any, count: int) -> list:
    """x, x (1 - x), x (1 - x) x, ..."""
    return cumulative_products(x, [1.0 - x if i % 2 else x for i in range(1, count)])


def cumulative_products(x: Any, factors: Sequence[Any]) -> list:
    """x, and its products with one factor after the other."""
    products = [x]
    for factor in factors:
        products.append(products[-1] * factor)
    return products


class RungeKuttaStep:
    """One step from (t, y), where the derivative is f, to (t + h, `y`), where it is `f`."""

    def __init__(self, method: Tableau, fun: Callable, t: Any, h: Any, y: Any, f: Any, args: tuple):
        self.method, self.fun, self.args = method, fun, args
        self.t, self.h, self.y_old, self.stages = t, h, y, [f]
        for a, c in zip(method.a[1:], method.c[1:], strict=True):
            self.stage(c, self.along(a))
        self.y = self.along(method.b)
        self.f = self.stage(1.0, self.y)

    def along(self, a: np.ndarray) -> Any:
        """The state after a combination of the stages so far."""
        used = np.flatnonzero(a)
        stages = [self.stages[i] for i in used]
        if isinstance(self.h, Array):
            return self.y_old + self.h * matmul(a[used], stack(stages))
        # two operations, not four
        return matmul(np.concatenate([[1.0], self.h * a[used]]), stack([self.y_old, *stages]))

    def stage(self, c: float, y: Any) -> Any:
        """One more stage."""
        self.stages.append(time_derivative(self.fun, self.t + c * self.h, y, self.args))
        return self.stages[-1]

    def at(self, points: Any, is_empty: bool) -> Any:
        """The states at points in time inside the step, in rows, by the interpolant of the method.

        `is_empty` says that the step has length zero: it has no fractions, so each point has a step of its own.
        """
        if is_empty:
            start = self.method, self.fun, self.t
            lengths = unstack(points - self.t)
            return stack([RungeKuttaStep(*start, h, self.y_old, self.stages[0], self.args).y for h in lengths])
        for c, a in self.method.extra:
            self.stage(c, self.along(a))
        weights = self.method.weights
        coefficients = matmul(weights, stack(self.stages))
        basis = stack(self.method.basis((points - self.t) / self.h, len(weights)), axis=-1)
        return self.y_old + self.h * matmul(basis, coefficients)
