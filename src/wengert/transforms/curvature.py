"""Second and higher derivatives: Hessians, their products, diagonals and traces, and n-th derivatives along a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Never

from wengert.core.errors import GradientError, user_error
from wengert.core.foreign_keywords import refuse_keywords
from wengert.core.levels import has_user_tensor, numpy_of
from wengert.core.spec import Spec
from wengert.core.tree import Structure
from wengert.transforms.boundary import (
    Argnums,
    Arguments,
    P,
    flatten_arrays,
    hand_out,
    map_arrays,
    to_array,
    unflatten_arrays,
)
from wengert.transforms.gradients import grad
from wengert.transforms.jacobians import Jacobian, assemble_columns, basis, jacfwd, jacrev, run_each
from wengert.transforms.products import directional
from wengert.transforms.series import jet, taylor
from wengert.transforms.transformed_function import TransformedFunction

__all__ = ["derivative", "hessian", "hessian_diag", "hvp", "laplacian", "vhp"]


def hessian(
    f: Callable[P, Any],
    argnums: Argnums = 0,
    chunk_size: int | None = None,
    holomorphic: bool = False,
    **foreign: Never,
) -> Jacobian[P]:
    """The function that computes all second derivatives of `f`, by forward over reverse mode.

    For each result it returns a tree of trees like the argument.

    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    if foreign:
        refuse_keywords(foreign)
    columns = jacfwd(jacrev(f, argnums, chunk_size, holomorphic), argnums, chunk_size, holomorphic)
    columns.shown = "Hessian", f, argnums
    return columns


def hvp(f: Callable[..., Any], x: Any, v: Any) -> Any:
    """The product of the Hessian of a scalar function at x with v.

    It is the derivative of the gradient along v; the Hessian is not formed.

    >>> import numpy as np
    >>> hvp(lambda x: (x**3).sum(), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    return directional(grad(f), x, v)


def vhp(f: Callable[..., Any], x: Any, v: Any) -> Any:
    """The product of v with the Hessian of a scalar function at x.

    It is the gradient of the derivative along v, by reverse over forward mode.

    >>> import numpy as np
    >>> vhp(lambda x: (x**3).sum(), np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    array([ 0., 12.])
    """
    return grad(lambda x: directional(f, x, v))(x)


def hessian_diag(f: Callable[P, Any], argnums: Argnums = 0, chunk_size: int | None = None) -> Callable[P, Any]:
    """The function that computes the diagonal of the Hessian of `f`.

    These are the second derivatives with respect to each element of the argument.

    >>> import numpy as np
    >>> hessian_diag(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([ 6., 12.])
    """

    def diagonal(*args: Any, **kwargs: Any) -> Any:
        chosen = Arguments("hessian_diag", argnums, args, kwargs)
        columns, structure = second_derivatives(f, chosen, chunk_size)
        return unflatten_arrays(structure, [assemble_columns(column, chosen) for column in columns])

    return TransformedFunction(f, "diagonal of the Hessian", argnums, diagonal)


def laplacian(f: Callable[P, Any], argnums: Argnums = 0, chunk_size: int | None = None) -> Callable[P, Any]:
    """The function that computes the trace of the Hessian of `f`.

    >>> import numpy as np
    >>> laplacian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    np.float64(18.0)
    """

    def trace(*args: Any, **kwargs: Any) -> Any:
        chosen = Arguments("laplacian", argnums, args, kwargs)
        columns, structure = second_derivatives(f, chosen, chunk_size)
        user = any(map(has_user_tensor, chosen.leaves))
        return unflatten_arrays(
            structure, [hand_out(column.sum(axis=0), user, chosen.call_arguments) for column in columns]
        )

    return TransformedFunction(f, "Laplacian", argnums, trace)


def second_derivatives(f: Callable[..., Any], chosen: Arguments, chunk_size: int | None) -> tuple[list[Any], Any]:
    """The second derivatives of all outputs along each unit vector, by Taylor mode, and the outputs' structure."""
    chosen.refuse_complex("Second derivatives by element are for real numbers.")
    structures: list[Structure] = []

    def run(tangents: Any) -> list[Any]:
        line = [[t, numpy_of(t).zeros(t.shape)] for t in tangents]
        _, (_, second) = jet(lambda *leaves: chosen.call(f, leaves), chosen.leaves, line)
        leaves, structure = flatten_arrays(second)
        structures[:] = [structure]
        return [2.0 * c for c in leaves]

    columns = run_each(run, basis(chosen.leaves, list(map(Spec.of, chosen.leaves))), chunk_size)
    return columns, structures[0]


def derivative(f: Callable[..., Any], n: int = 1) -> Callable[..., Any]:
    """The function that computes the n-th derivative of `f` with respect to its first argument.

    The argument is a number, and `f` may return any tree; or it is an array, on which `f` acts element by element.
    Taylor mode computes the derivative, at a cost that is quadratic in n.

    >>> import numpy as np
    >>> derivative(np.sin, 2)(np.array([0.0, np.pi / 2]))
    array([ 0., -1.])
    """
    if not isinstance(n, int) or n < 0:
        raise user_error(ValueError, f"derivative: n={n!r}", "The order is 0, 1, 2, ...")
    if n == 0:
        return f

    def nth_derivative(x: Any, *args: Any, **kwargs: Any) -> Any:
        x = to_array(x)
        coefficient = taylor(lambda x: f(x, *args, **kwargs), x, n)[n]
        if x.ndim:
            map_arrays(lambda t: refuse_reshaped(t, x), coefficient)
        return map_arrays(
            lambda t: hand_out(t * float(math.factorial(n)), has_user_tensor(x), (x, args, kwargs)), coefficient
        )

    what = "derivative" if n == 1 else f"derivative of order {n}"
    return TransformedFunction(f, what, None, nth_derivative)


def refuse_reshaped(t: Any, x: Any) -> None:
    """Raise if a derivative does not have the shape of the argument."""
    if t.shape != x.shape:
        raise user_error(
            GradientError,
            f"derivative of a function that maps shape {x.shape} to {t.shape}",
            because="on arrays, it acts element by element. Use grad or jacobian.",
        )
