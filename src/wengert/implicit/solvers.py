"""Solvers on plain vectors, which are never differentiated.

Linear systems: dense LU for few unknowns, sparse LU for larger sparse matrices, and SciPy's Krylov methods.
Nonlinear systems: Newton's method with the exact Jacobian, plain iteration for fixed points, a trust-region method for
minima, or any method of `scipy.optimize` by name.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from numbers import Real
from typing import Any

import numpy as np

from wengert.core.errors import user_error

KRYLOV = ("cg", "gmres", "minres", "bicgstab", "lgmres", "tfqmr", "gcrotmk")
ROOTS = (
    "hybr",
    "lm",
    "broyden1",
    "broyden2",
    "anderson",
    "krylov",
    "df-sane",
    "linearmixing",
    "diagbroyden",
    "excitingmixing",
)
MINIMISERS = {
    "Nelder-Mead": 0, "Powell": 0, "CG": 1, "BFGS": 1, "L-BFGS-B": 1, "TNC": 1, "SLSQP": 1,
    "Newton-CG": 2, "trust-ncg": 2, "trust-krylov": 2, "trust-constr": 2,
}  # fmt: skip
"""How many derivatives each method takes."""

TOLERANCE = 1e-10
"""The residual of a Krylov method, relative to the right-hand side."""


def as_start(x0: Any) -> Any:
    """An initial guess: a list of numbers is a vector, as in SciPy; any other list is a tree."""
    return np.array(x0) if isinstance(x0, list | tuple) and x0 and all(isinstance(x, Real) for x in x0) else x0


class ConvergenceError(RuntimeError):
    """A solver did not find a solution."""


class Factors:
    """The LU factors of a matrix, which must not be singular."""

    def __init__(self, matrix: np.ndarray, what: str):
        lapack = import_module("scipy.linalg").get_lapack_funcs
        factor, self.back, estimate = lapack(("getrf", "getrs", "gecon"), (matrix,))
        if not np.isfinite(matrix).all():
            raise user_error(np.linalg.LinAlgError, f"{what} has elements that are not finite")
        self.lu, self.pivots, info = factor(matrix)
        rcond = 0.0 if info else estimate(self.lu, np.linalg.norm(matrix, 1))[0]
        if rcond < np.finfo(matrix.dtype).eps:
            raise user_error(
                np.linalg.LinAlgError,
                f"{what} is singular (its reciprocal condition number is {rcond:.1e})",
                because="there is no unique solution, and none of its derivatives exists.",
            )

    def solve(self, b: np.ndarray, transpose: bool) -> np.ndarray:
        solved: np.ndarray = self.back(self.lu, self.pivots, b, trans=int(transpose))[0]
        return solved


class SparseFactors:
    """The LU factors of a sparse matrix."""

    def __init__(self, matrix: Any, what: str):
        try:
            self.factors = import_module("scipy.sparse.linalg").splu(matrix.tocsc())
        except RuntimeError as error:  # SuperLU says so of a singular matrix
            raise user_error(
                np.linalg.LinAlgError,
                f"{what} is singular",
                because="there is no unique solution, and none of its derivatives exists.",
            ) from error

    def solve(self, b: np.ndarray, transpose: bool) -> np.ndarray:
        solved: np.ndarray = self.factors.solve(np.ascontiguousarray(b), "T" if transpose else "N")
        return solved


def solve_krylov(method: str, product: Callable[..., Any], b: np.ndarray, options: dict[str, Any]) -> np.ndarray:
    """The solution by a Krylov method of SciPy, which must report that it has converged."""
    sparse = import_module("scipy.sparse.linalg")
    if not b.any():
        return np.zeros_like(b)
    operator = sparse.LinearOperator((b.size, b.size), matvec=product, dtype=b.dtype)
    options = {"rtol": max(TOLERANCE, 50 * float(np.finfo(b.dtype).eps))} | options
    if method == "gmres":
        options = {"restart": min(b.size, 100)} | options
        options = {"maxiter": 10 * -(-b.size // options["restart"])} | options  # it counts restarts, not steps
    solution: np.ndarray
    solution, info = getattr(sparse, method)(operator, b, **options)
    if info or not np.isfinite(solution).all():
        left = float(np.linalg.norm(product(solution) - b) / np.linalg.norm(b))
        raise user_error(
            ConvergenceError,
            f"{method} did not solve a linear system of {b.size} unknowns (info {info}, relative residual {left:.1e}, "
            f"rtol {options['rtol']:.1e})",
            f"The system may be singular, or not of the kind that {method} takes; give it a preconditioner (M=), more "
            f"steps (maxiter=), a looser rtol=, or choose another solver.",
        )
    return solution


def newton(
    f: Callable[..., Any], solve: Callable[..., Any], x: np.ndarray, maxiter: int = 100, tol: float | None = None
) -> np.ndarray:
    """Newton's method: `solve(x, r)` is the step of the linearised system, which is halved until the residual shrinks.

    It ends when steps are as small as rounding errors, or when no step makes the residual smaller. The caller checks
    the residual.
    """
    tol, norm = 4 * float(np.finfo(x.dtype).eps) if tol is None else tol, np.linalg.norm
    r = f(x)
    size = norm(r)
    for _ in range(maxiter):
        if not size or not np.isfinite(size):
            break
        step, scale = solve(x, r), 1.0
        is_last = norm(step) <= 1e-8 * norm(x)  # only rounding errors are left, which smaller steps do not reduce
        while True:
            trial = x - scale * step
            r_trial = f(trial)
            size_trial = norm(r_trial)
            if size_trial < size * (1 - 1e-4 * scale) or scale < 1e-10 or is_last:
                break
            scale /= 2
        if not size_trial < size:
            break
        moved = scale * norm(step)
        x, r, size = trial, r_trial, size_trial
        if moved <= tol * (norm(x) + tol):
            break
    return x


def iterate(g: Callable[..., Any], x: np.ndarray, maxiter: int = 10_000, tol: float | None = None) -> np.ndarray:
    """Iterate x = g(x) until x does not change."""
    tol = 4 * float(np.finfo(x.dtype).eps) if tol is None else tol
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(maxiter):
            new = g(x)
            moved = np.max(np.abs(new - x), initial=0.0)
            x = new
            if moved <= tol * np.max(np.abs(x), initial=0.0) or not np.isfinite(moved):
                break
    return x


def scipy_root(
    method: str, f: Callable[..., Any], jacobian: Callable[..., Any], x: np.ndarray, options: dict[str, Any]
) -> np.ndarray:
    """The root by a method of `scipy.optimize.root`, with the exact Jacobian if the method takes one."""
    if method not in ROOTS:
        raise user_error(
            ValueError, f"There is no solver {method!r} of equations", f"There are newton, {', '.join(ROOTS)}."
        )
    root = import_module("scipy.optimize").root
    if method in ("hybr", "lm"):
        result = root(f, x, jac=jacobian, method=method, tol=1e-12, options=options)
    else:
        result = root(f, x, method=method, options={"fatol": 1e-10} | options)
    return np.asarray(result.x)


def scipy_minimum(
    method: str,
    f: Callable[..., Any],
    gradient: Callable[..., Any],
    product: Callable[..., Any],
    x: np.ndarray,
    options: dict[str, Any],
    tol: float,
) -> np.ndarray:
    """The minimum by a method of `scipy.optimize.minimize`, with exact gradients, and Hessian products for some."""
    if method not in MINIMISERS:
        raise user_error(ValueError, f"There is no solver {method!r} of minima", f"There are {', '.join(MINIMISERS)}.")
    if method in ("L-BFGS-B", "TNC", "SLSQP"):
        options = {"ftol": 1e-15} | options  # by default they end when values, not gradients, stop changing
    more = dict(zip(("jac", "hessp")[: MINIMISERS[method]], (gradient, product), strict=False))
    return np.asarray(import_module("scipy.optimize").minimize(f, x, method=method, tol=tol, options=options, **more).x)


def refuse_unconverged(what: str, x: np.ndarray, residual: np.ndarray, start: np.ndarray, tol: float) -> None:
    """Raise unless the residual is small relative to 1 and to that of the initial guess."""
    left, before = (float(np.max(np.abs(r), initial=0.0)) for r in (residual, start))
    if not (np.isfinite(x).all() and left <= tol * max(1.0, before if np.isfinite(before) else 1.0)):
        raise user_error(
            ConvergenceError,
            f"The solver of {what} did not converge: the residual is {left:.2e}, from {before:.2e} at the start",
            "Start nearer to the solution, choose another solver or give it more steps; tol= says what is small "
            "enough.",
        )
