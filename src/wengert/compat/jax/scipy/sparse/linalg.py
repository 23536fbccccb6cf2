"""`jax.scipy.sparse.linalg`: linear systems by Krylov methods, differentiable."""

from __future__ import annotations

from typing import Any

from wengert.compat.differences import without
from wengert.compat.jax.arrays import as_arrays, to_arrays
from wengert.compat.jax.differences import ABSENT
from wengert.core.errors import user_error
from wengert.implicit.linear import linear_solve

__all__ = ["bicgstab", "cg", "gmres"]

__getattr__ = without(__name__, ABSENT)


def solve_by(method: str, A: Any, b: Any, given: dict[str, Any]) -> tuple[Any, None]:
    """The solution, and None, as JAX returns it."""
    for name in ("x0", "M"):
        if given.get(name) is not None:
            raise user_error(NotImplementedError, f"{method} has no {name} here", "Leave it out.")
    if given.get("atol"):
        raise user_error(NotImplementedError, f"{method} has no atol here", "Use tol, which is relative to b.")
    product = A if callable(A) else lambda v: A @ v
    options = {"rtol": given["tol"], "maxiter": given.get("maxiter")}
    options = {name: value for name, value in options.items() if value is not None}
    return to_arrays(linear_solve(product, as_arrays(b), method, **options)), None


def cg(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """The solution of a symmetric positive definite system: a function, or a matrix, and its right side.

    >>> import numpy as np
    >>> cg(lambda x: 2.0 * x, np.ones(2))[0]
    Array([0.5, 0.5], dtype=float64)
    """
    return solve_by("cg", A, b, {"x0": x0, "tol": tol, "atol": atol, "maxiter": maxiter, "M": M})


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M: Any = None
) -> tuple[Any, None]:
    """The solution of a linear system."""
    return solve_by("bicgstab", A, b, {"x0": x0, "tol": tol, "atol": atol, "maxiter": maxiter, "M": M})


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,  # noqa: ARG001  # a matter of memory
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",  # noqa: ARG001  # the same
) -> tuple[Any, None]:
    """The solution of a linear system."""
    return solve_by("gmres", A, b, {"x0": x0, "tol": tol, "atol": atol, "maxiter": maxiter, "M": M})
