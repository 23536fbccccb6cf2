"""Fixed points, differentiable: `autograd.misc.fixed_points`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compat.autograd.core import make_vjp
from wengert.compat.autograd.differences import ABSENT
from wengert.compat.autograd.spaces import vspace
from wengert.compat.differences import without
from wengert.control.custom import custom_vjp
from wengert.core import tree
from wengert.core.levels import bottom_array

__all__ = ["fixed_point"]

__getattr__ = without(__name__, ABSENT)

Distance = Callable[[Any, Any], Any]


def fixed_point(f: Callable[[Any], Callable[[Any], Any]], a: Any, x0: Any, distance: Distance, tol: float) -> Any:
    """The point x with `x = f(a)(x)`, by iteration from x0 until steps are no longer than `tol`.

    Its derivative with respect to a solves a fixed-point equation of its own, in the same way.

    >>> root = fixed_point(lambda a: lambda x: 0.5 * (x + a / x), 2.0, 1.0, lambda x, y: abs(x - y), 1e-12)
    >>> round(float(root), 9)
    1.414213562
    """

    def iterate(a: Any) -> Any:
        step = f(a)
        x, before = step(x0), x0
        while tree.map(bottom_array, distance(x, before)) > tol:
            x, before = step(x), x
        return x

    solution = custom_vjp(iterate)

    def forward(a: Any) -> tuple[Any, Any]:
        x = solution(a)
        return x, (a, x)

    def backward(residuals: Any, g: Any) -> tuple[Any]:
        a, x = residuals
        pull_x, _ = make_vjp(f(a), x)
        pull_a, _ = make_vjp(lambda a: f(a)(x), a)
        space = vspace(x)
        return (pull_a(fixed_point(lambda g: lambda t: space.add(pull_x(t), g), g, space.zeros(), distance, tol)),)

    solution.defvjp(forward, backward)
    return solution(a)
