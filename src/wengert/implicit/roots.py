"""Differentiable solutions of equations: `root`, `fixed_point`, `argmin`, `custom_root`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from wengert.core.errors import GradientError, user_error
from wengert.core.levels import iterate_payloads
from wengert.core.tree import flatten, unflatten
from wengert.core.tree import map as map_tree
from wengert.implicit.equation import Equation, PlainEquation, Solver, copy_array, is_constant
from wengert.implicit.solvers import (
    iterate,
    newton,
    scipy_minimum,
    scipy_root,
)
from wengert.transforms.gradients import grad
from wengert.transforms.products import stop_gradient


def root(
    f: Callable[..., Any],
    x0: Any,
    *theta: Any,
    solver: Solver = None,
    tol: float = 1e-6,
    linear: Solver = None,
    **options: Any,
) -> Any:
    """The solution x of `f(x, *theta) = 0` that is found from `x0`, differentiable with respect to theta.

    Values that f captures have derivatives too, x0 has none. `solver` is None for Newton's method with the exact
    Jacobian, the name of a method of `scipy.optimize.root`, or a function `solver(f, x0) -> x` of plain arrays, where f
    takes x only; it gets the `options`. A residual above `tol`, relative to 1 and to the residual at x0, is an error.
    Each derivative solves one linear system, by `linear`: see `linear_solve`.

    >>> grad(lambda a: root(lambda x, a: x**2 - a, 1.0, a))(4.0)
    np.float64(0.25)
    """
    equation = Equation("root", f, lambda f: f, x0, theta, linear)
    if equation.is_traced:
        return equation.solve_in_graph(solver or "newton", tol, options)
    return equation.solve(lambda plain: solve_root(plain, "newton" if solver is None else solver, options), tol)


def fixed_point(
    f: Callable[..., Any],
    x0: Any,
    *theta: Any,
    solver: Solver = None,
    tol: float = 1e-6,
    linear: Solver = None,
    **options: Any,
) -> Any:
    """The solution of `x = f(x, *theta)` that is found from `x0`, differentiable with respect to theta.

    `solver` is None for plain iteration (`maxiter=10000`), "newton", the name of a method of `scipy.optimize.root`
    ("anderson"), or a function `solver(f, x0) -> x` of plain arrays; everything else is as for `root`.

    >>> float(fixed_point(lambda x: np.cos(x), 1.0).round(6))
    0.739085
    """
    equation = Equation(
        "fixed_point", f, lambda f: lambda x, *theta: subtract_trees(f(x, *theta), x), x0, theta, linear
    )

    if equation.is_traced:
        return equation.solve_in_graph(solver or "iterate", tol, options)

    def solve(plain: PlainEquation) -> np.ndarray:
        if solver is None:
            return iterate(lambda x: plain.residual(x) + x, plain.start, **options)
        return solve_root(plain, solver, options)

    return equation.solve(solve, tol)


def solve_root(plain: PlainEquation, solver: str | Callable[..., Any], options: dict[str, Any]) -> np.ndarray:
    """The root of an equation on plain arrays, by Newton's method, a user's function, or a method of SciPy."""
    if solver == "newton":
        return newton(plain.residual, plain.step, plain.start, **options)
    if callable(solver):
        return plain.vector(solver(plain.function, plain.x0, **options))
    return scipy_root(solver, plain.residual, plain.jacobian, plain.start, options)


def argmin(
    f: Callable[..., Any],
    x0: Any,
    *theta: Any,
    solver: Solver = None,
    tol: float = 1e-6,
    linear: Solver = None,
    **options: Any,
) -> Any:
    """The x that minimises the scalar `f(x, *theta)`, found from `x0`, differentiable with respect to theta.

    It is the root of the gradient. `solver` is None for a trust-region method with Hessian products, followed by
    Newton's method, the name of a method of `scipy.optimize.minimize`, or a function `solver(f, x0) -> x` of plain
    arrays. Everything else is as for `root`, but systems of more than 512 unknowns are solved by conjugate gradients.

    >>> float(grad(lambda a: argmin(lambda x, a: (x - a) ** 2 + x**2, 0.0, a))(3.0).round(6))
    0.5
    """
    equation = Equation("argmin", f, grad, x0, theta, linear, is_symmetric=True)
    if equation.is_traced:
        return equation.solve_in_graph(solver or "newton", tol, options)

    def solve(plain: PlainEquation) -> np.ndarray:
        if callable(solver):
            return plain.vector(solver(plain.function, plain.x0, **options))
        value = lambda x: float(np.asarray(plain.function(plain.flat.tree(x))))
        method: str = solver or "trust-ncg"
        size = float(np.max(np.abs(plain.residual(plain.start)), initial=1.0))
        x = scipy_minimum(
            method, value, plain.residual, plain.product, plain.start, options, 1e-10 if solver else 1e-5 * size
        )
        return x if solver else newton(plain.residual, plain.step, x)

    return equation.solve(solve, tol)


def custom_root(
    optimality: Callable[..., Any],
    *,
    has_aux: bool = False,
    tol: float = 1e-6,
    linear: Solver = None,
    is_symmetric: bool = False,
) -> Callable[..., Any]:
    """Decorator for a solver `solve(x0, *theta) -> x` of the equation `optimality(x, *theta) = 0`.

    Its results are differentiated by the equation. The solver gets plain arrays, and keyword arguments as they are.
    With `has_aux` it returns (x, anything). `is_symmetric` says that the derivative of the optimality with respect to x
    is symmetric, as it is for a gradient.

    >>> @custom_root(lambda x, a: x**2 - a)
    ... def square_root(x, a):
    ...     for _ in range(60):
    ...         x = 0.5 * (x + a / x)
    ...     return x
    >>> grad(square_root, argnums=1)(1.0, 4.0)
    np.float64(0.25)
    """

    def decorate(solver: Callable[..., Any]) -> Callable[..., Any]:
        name = getattr(solver, "__name__", "solver")

        @wraps(solver)
        def differentiable(x0: Any, *theta: Any, **kwargs: Any) -> Any:
            for leaf in flatten(kwargs)[0]:
                if not all(map(is_constant, iterate_payloads(leaf))):
                    raise user_error(
                        GradientError,
                        f"{name} got a tracked value by keyword",
                        because="its gradient would be lost. Pass it by position.",
                    )
            equation = Equation(name, optimality, lambda f: f, x0, theta, linear, is_symmetric)
            if equation.is_traced:
                found = solver(*map_tree(stop_gradient, (x0, *theta)), **kwargs)
                x = equation.solve_in_graph("known", tol, {}, found[0] if has_aux else found)
                return (x, found[1]) if has_aux else x
            extras: list[Any] = []

            def solve(plain: PlainEquation) -> np.ndarray:
                x = solver(plain.x0, *map_tree(copy_array, plain.theta[: len(theta)]), **kwargs)
                if has_aux:
                    x, aux = x
                    extras.append(aux)
                return plain.vector(x)

            x = equation.solve(solve, tol)
            return (x, extras[0] if len(extras) == 1 else extras) if has_aux else x

        return differentiable

    return decorate


def subtract_trees(x: Any, y: Any) -> Any:
    """The difference of two trees."""
    (a, structure), (b, other) = flatten(x), flatten(y)
    if structure != other:
        raise user_error(TypeError, f"fixed_point: x has the structure {other!r}, and f(x) {structure!r}")
    return unflatten(structure, [u - v for u, v in zip(a, b, strict=True)])
