"""Second and higher derivatives: Hessians, their products, diagonal and trace, and n-th derivatives along a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from wengert.core.errors import GradientError, user_error
from wengert.core.spec import Spec
from wengert.core.tree import Structure
from wengert.transforms.arguments import Argnums, Chosen, array, closed, mapped, opened
from wengert.transforms.gradients import grad
from wengert.transforms.jacobians import Jacobian, assembled, basis, jacfwd, jacrev, several
from wengert.transforms.products import directional
from wengert.transforms.runs import is_users, settled
from wengert.transforms.series import jet, taylor

__all__ = ["derivative", "hessian", "hessian_diag", "hvp", "laplacian", "vhp"]


def hessian(f: Callable, argnums: Argnums = 0, chunk_size: int | None = None, holomorphic: bool = False) -> Jacobian:
    """The function that computes all second derivatives of `f`, forward over reverse: for each result, a tree of trees
    like the argument.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    return jacfwd(jacrev(f, argnums, chunk_size, holomorphic), argnums, chunk_size, holomorphic)


def hvp(f: Callable, x: Any, v: Any) -> Any:
    """The product of the Hessian of a scalar function at x with v, without the Hessian: the gradient's derivative along
    v.

    >>> hvp(lambda x: (x**3).sum(), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    return directional(grad(f), x, v)


def vhp(f: Callable, x: Any, v: Any) -> Any:
    """The product of v with the Hessian of a scalar function at x: the gradient of the derivative along v, reverse over
    forward.

    >>> vhp(lambda x: (x**3).sum(), np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    array([ 0., 12.])
    """
    return grad(lambda x: directional(f, x, v))(x)


def hessian_diag(f: Callable, argnums: Argnums = 0, chunk_size: int | None = None) -> Callable:
    """The function that computes the second derivative of `f` in each element of its argument: the diagonal of the
    Hessian.

    >>> hessian_diag(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([ 6., 12.])
    """

    @wraps(f, updated=())
    def diagonal(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen("hessian_diag", argnums, args, kwargs)
        columns, structure = seconds(f, chosen, chunk_size)
        return closed(structure, [assembled(column, chosen) for column in columns])

    return diagonal


def laplacian(f: Callable, argnums: Argnums = 0, chunk_size: int | None = None) -> Callable:
    """The function that computes the sum of the second derivatives of `f` in each element of its argument.

    >>> laplacian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    np.float64(18.0)
    """

    @wraps(f, updated=())
    def trace(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen("laplacian", argnums, args, kwargs)
        columns, structure = seconds(f, chosen, chunk_size)
        user = any(map(is_users, chosen.leaves))
        return closed(structure, [settled(column.sum(axis=0), user, chosen.given) for column in columns])

    return trace


def seconds(f: Callable, chosen: Chosen, chunk_size: int | None) -> tuple[list, Any]:
    """The second derivative of all outputs along each unit vector, from the Taylor coefficient, with the structure of
    the outputs.
    """
    for i, x in enumerate(chosen.leaves):
        if x.dtype.kind == "c":
            raise user_error(
                GradientError,
                f"{chosen.place(i)} has dtype {x.dtype}",
                "Second derivatives by element are for real numbers.",
            )
    structures: list[Structure] = []

    def run(tangents: Any) -> list:
        line = [[t, np.zeros(t.shape)] for t in tangents]
        _, (_, second) = jet(lambda *leaves: chosen.call(f, leaves), chosen.leaves, line)
        leaves, structure = opened(second)
        structures[:] = [structure]
        return [2.0 * c for c in leaves]

    columns = several(run, basis(list(map(Spec.of, chosen.leaves))), chunk_size)
    return columns, structures[0]


def derivative(f: Callable, n: int = 1) -> Callable:
    """The function that computes the n-th derivative of `f` in its first argument: a number, or an array that f treats
    element by element.

    Taylor mode computes it, at a cost that is quadratic in n. A function of a number may return any tree.

    >>> derivative(np.sin, 2)(np.array([0.0, np.pi / 2]))
    array([ 0., -1.])
    """
    if not isinstance(n, int) or n < 0:
        raise user_error(ValueError, f"derivative: n={n!r}", "The order is 0, 1, 2, ...")
    if n == 0:
        return f

    @wraps(f, updated=())
    def differentiated(x: Any, *args: Any, **kwargs: Any) -> Any:
        x = array(x)
        coefficient = taylor(lambda x: f(x, *args, **kwargs), x, n)[n]
        if x.ndim:
            mapped(lambda t: refuse_reshaped(t, x), coefficient)
        return mapped(lambda t: settled(t * float(math.factorial(n)), is_users(x), (x, args, kwargs)), coefficient)

    return differentiated


def refuse_reshaped(t: Any, x: Any) -> None:
    if t.shape != x.shape:
        raise user_error(
            GradientError,
            f"derivative of a function that maps shape {x.shape} to {t.shape}",
            because="on arrays, it acts element by element. Use grad or jacobian.",
        )
