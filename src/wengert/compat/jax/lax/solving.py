"""Equations of `jax.lax`: solutions with the derivatives of the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compat.jax.arrays import as_arrays, to_arrays
from wengert.core import tree
from wengert.implicit.linear import linear_solve
from wengert.transforms.products import linearize, stop_gradient

PUBLIC = ["custom_linear_solve", "custom_root"]


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[..., Any],
    tangent_solve: Callable[..., Any],  # noqa: ARG001  # Wengert solves linear equations itself
    has_aux: bool = False,
) -> Any:
    """The solution of f(x) = 0 that `solve(f, initial_guess)` finds, differentiable with respect to what f captures.

    Its derivatives, up to the third, are those of two steps of Newton's method that begin at the solution.

    >>> import numpy as np
    >>> from wengert.compat.jax.differentiation import grad
    >>> square_root = lambda a: custom_root(lambda x: x * x - a, 1.0, lambda f, x: np.sqrt(2.0), None)
    >>> grad(square_root)(2.0)
    Array(0.35355339, dtype=float64)
    """
    found = solve(f, as_arrays(initial_guess))
    solution, aux = found if has_aux else (found, None)
    start = x = stop_gradient(as_arrays(solution))
    for _ in range(2):
        value, derivative = linearize(f, x)
        x = tree.map(lambda v, step: v - step, x, linear_solve(derivative, value))
    x = tree.map(lambda v, new: v + (new - stop_gradient(new)), start, x)
    return (to_arrays(x), to_arrays(aux)) if has_aux else to_arrays(x)


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None,  # noqa: ARG001  # Wengert solves transposed equations itself
    symmetric: bool = False,  # noqa: ARG001  # the same
    has_aux: bool = False,
) -> Any:
    """The solution x of matvec(x) = b that `solve(matvec, b)` finds, differentiable with respect to b and the matrix.

    Its derivatives are those of Wengert's own solution.
    """
    b = as_arrays(b)
    found = solve(matvec, b)
    solution, aux = found if has_aux else (found, None)
    exact = linear_solve(matvec, b)
    x = tree.map(lambda v, new: v + (new - stop_gradient(new)), stop_gradient(as_arrays(solution)), exact)
    return (to_arrays(x), to_arrays(aux)) if has_aux else to_arrays(x)
