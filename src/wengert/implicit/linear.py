"""Linear systems that are given by a matrix-vector product: `linear_solve`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.control.closures import is_for_graph
from wengert.control.values import match_given
from wengert.core import machine
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import bottom_array, iterate_payloads
from wengert.implicit.maps import LinearMap, transpose_of, untraceable_error
from wengert.implicit.solvers import KRYLOV, TOLERANCE, ConvergenceError
from wengert.implicit.theorem import solve_map
from wengert.implicit.traced_root import find_root
from wengert.modes.in_place import snapshot
from wengert.modes.tensor import Tensor
from wengert.structure.flat_tree import FlatTree

LOOPS = ("dense", "cg", "gmres", "bicgstab")
"""The solvers that are part of a graph."""


def linear_solve(
    matvec: Callable[..., Any],
    b: Any,
    solver: str | Callable[..., Any] | None = None,
    *,
    tol: float = 1e-6,
    **options: Any,
) -> Any:
    """The solution y of `matvec(y) = b`, differentiable with respect to b and everything that `matvec` depends on.

    `b`, and y like it, may be a tree of real arrays. `solver` is the name of a Krylov method of SciPy ("cg", "minres"
    for symmetric systems; "gmres", "bicgstab", "lgmres", "tfqmr", "gcrotmk"), which gets `options` (`rtol=1e-10`,
    `maxiter`, `M` ...), or a function `solver(matvec, b) -> y` on plain arrays. None forms the matrix if there are at
    most 512 unknowns or if it is sparse, and uses GMRES otherwise. Derivatives use the same solver, with the transposed
    product where they need it. A relative residual above `tol` is an error.

    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> linear_solve(lambda y: A @ y, np.array([1.0, 2.0]), solver="cg").round(6)
    array([0.090909, 0.636364])
    """
    if not callable(matvec):
        raise user_error(
            TypeError,
            f"linear_solve takes a function, and was given a {type(matvec).__name__}",
            "For a matrix A pass lambda y: A @ y, or use numpy.linalg.solve.",
        )
    flat = FlatTree(b, "b")
    method = method_of(solver, flat, tol)

    def product(v: Any) -> Any:
        return flat.vector(matvec(flat.tree(v)))

    if is_for_graph(lambda v, b: product(v), (np.zeros(flat.size, flat.dtype), b)):
        return solve_in_graph(product, flat, b, method, tol, options)
    vector = snapshot(flat.vector(b))

    zeros = np.zeros(flat.size, flat.dtype)
    start = product(zeros)  # at zero, to find the levels of the matrix
    if np.any(bottom_array(start)):
        raise user_error(
            ValueError,
            "linear_solve: the function adds a constant (its value at zero is not zero)",
            "Subtract it from b.",
        )
    backward = transpose_of(product, zeros)
    if any(isinstance(layer, Tensor) for x in (start, vector) for layer in iterate_payloads(x)):
        backward(zeros)  # recorded now: captured values may have changed by the time of the backward pass
    bound = start.level + 1 if isinstance(start, Array) else 0
    matrix = LinearMap(
        product, backward, flat.size, flat.dtype, method, options, "the matrix of linear_solve", bound=bound
    )
    y = solve_map(matrix, vector)
    refuse_nonlinear(matrix, bottom_array(y), bottom_array(vector), tol)
    return flat.tree(match_given(y, b))


def solve_in_graph(
    product: Callable[..., Any], flat: FlatTree, b: Any, method: Any, tol: float, options: dict[str, Any]
) -> Any:
    """The solution as an operation of a graph."""
    chosen = method or ("dense" if flat.size <= machine.current.max_unknowns_of_dense_system else "gmres")
    if chosen not in LOOPS or options.keys() - {"rtol", "maxiter", "restart"}:
        raise untraceable_error()
    restart = min(options.get("restart", 100), flat.size)
    steps = 10 * -(-flat.size // restart) if chosen == "gmres" else 10 * flat.size
    rtol = options.get("rtol", max(TOLERANCE, 50 * float(np.finfo(flat.dtype).eps)))
    settings = {"tol": rtol, "maxiter": options.get("maxiter", steps), "restart": restart, "check": tol}
    zeros = np.zeros(flat.size, flat.dtype)
    residual = lambda y, b: product(y) - b
    return flat.tree(find_root(residual, zeros, [flat.vector(b)], "linear_solve", method=chosen, **settings))


def method_of(solver: str | Callable[..., Any] | None, flat: FlatTree, tol: float) -> Any:
    """The solver of a `LinearMap`: a user's function is wrapped to work on vectors, and its result is checked."""
    if not callable(solver):
        if solver is not None and solver not in KRYLOV:
            raise user_error(
                ValueError,
                f"There is no linear solver {solver!r}",
                f"There are {', '.join(KRYLOV)}; or pass a function.",
            )
        return solver

    def solve(product: Callable[..., Any], b: np.ndarray) -> np.ndarray:
        y = solver(lambda v: flat.tree(product(flat.vector(v))), flat.tree(b))
        y = np.asarray(flat.vector(y), flat.dtype)
        left, size = float(np.linalg.norm(product(y) - b)), float(np.linalg.norm(b))
        if not left <= tol * size:
            raise user_error(
                ConvergenceError,
                f"The function given as linear solver did not solve the system: the residual is {left:.2e}, b is "
                f"{size:.2e}",
                "Give it more steps; tol= says what is small enough.",
            )
        return y

    return solve


def refuse_nonlinear(matrix: LinearMap, y: Any, b: Any, tol: float) -> None:
    """Raise if y does not solve the system, since the function is not linear; of a batch, one element is checked."""
    try:
        plain = matrix.below(0)
        y, b = y.reshape(-1, matrix.size)[0], b.reshape(-1, matrix.size)[0]
        left = np.linalg.norm(plain.product(y, False) - b)
        scale = np.linalg.norm(b) + np.linalg.norm(plain.product(np.abs(y), False))
    except GradientError:
        return  # a batch of matrices
    if not left <= 10 * tol * scale:
        raise user_error(
            ValueError, f"linear_solve: the function is not linear (its residual is {left:.2e})", "Use implicit.root."
        )
