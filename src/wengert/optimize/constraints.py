"""Constraints with their derivatives, in the forms that SciPy's methods take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.optimize.matrices import DerivativeMatrix
from wengert.optimize.traced_function import TracedFunction
from wengert.optimize.variables import Variables, as_arguments, plain_array
from wengert.transforms.gradients import grad
from wengert.transforms.products import jvp

KINDS = ("eq", "ineq")


class Constraint:
    """`lower <= c(x) <= upper`, elementwise, for a vector c(x) that is flattened from the user's function."""

    def __init__(
        self,
        name: str,
        f: Callable,
        args: tuple,
        lower: Any,
        upper: Any,
        keep: Any,
        variables: Variables,
        compile: Any,
        sparse: Any,
    ):
        self.name, self.keep, self.variables, self.asked = name, keep, variables, sparse
        self.traced = TracedFunction(name, f, args, variables, compile, is_scalar=False)
        self.size = self.traced.first.size
        wrong = ~np.isfinite(self.traced.first)
        if wrong.any():
            raise user_error(
                ValueError, f"{name} is {self.traced.first[np.argmax(wrong)]} at x0", "Start where it is finite."
            )
        self.lower, self.upper = constraint_bounds(name, lower, upper, self.traced.first)
        self.values = self.traced.derive(lambda f: f, variables.start)
        self.jacobian: DerivativeMatrix | None = None

    def value(self, x: np.ndarray) -> np.ndarray:
        return plain_array(self.values(x))

    @property
    def is_sparse(self) -> bool:
        return self.jacobian is not None and self.jacobian.is_sparse

    def differentiate(self, sparse: bool) -> list[str]:
        """Choose how its Jacobian is computed, and describe that."""
        self.jacobian = DerivativeMatrix(self.traced, self.asked if sparse else False)
        return [f"{self.name[0].lower()}{self.name[1:]}: Jacobian {self.jacobian.description}", *self.traced.notes]

    def rows(self) -> list[tuple[str, np.ndarray, float, np.ndarray]]:
        """Equations ("eq") and inequalities ("ineq") `sign * (c(x)[rows] - limit)`, which are zero or not negative."""
        equal = self.lower == self.upper
        below, above = ~equal & np.isfinite(self.lower), ~equal & np.isfinite(self.upper)
        found = ("eq", equal, 1.0, self.lower), ("ineq", below, 1.0, self.lower), ("ineq", above, -1.0, self.upper)
        return [(kind, np.nonzero(mine)[0], sign, limit[mine]) for kind, mine, sign, limit in found if mine.any()]

    def as_dicts(self) -> list[dict[str, Any]]:
        """For SLSQP and COBYLA."""
        return [self.as_dict(*row) for row in self.rows()]

    def as_dict(self, kind: str, rows: np.ndarray, sign: float, limit: np.ndarray) -> dict[str, Any]:
        """Some rows as SciPy's dictionary."""
        found: dict[str, Any] = {"type": kind, "fun": lambda x: sign * (self.value(x)[rows] - limit)}
        if (jacobian := self.jacobian) is not None:
            found["jac"] = lambda x: sign * jacobian.dense(x)[rows]
        return found

    def as_nonlinear(self) -> Any:
        """For trust-constr, and for COBYQA, which takes no derivatives."""
        make = import_module("scipy.optimize").NonlinearConstraint
        if self.jacobian is None:
            return make(self.value, self.lower, self.upper, keep_feasible=self.keep)
        return make(self.value, self.lower, self.upper, jac=self.jacobian, hess=self.hessian(), keep_feasible=self.keep)

    def as_dense(self) -> Any:
        """The same without sparse matrices."""
        return self.as_nonlinear()

    def hessian(self) -> Callable:
        """The Hessian of the weighted sum of the constraints, as an operator: trust-constr only multiplies with it."""
        LinearOperator = import_module("scipy.sparse.linalg").LinearOperator
        n, start = self.variables.size, self.variables.start
        products = self.traced.derive(weighted_hessian_product, start, np.ones(self.size), start)

        def weighted_hessian(x: np.ndarray, w: np.ndarray) -> Any:
            x, w = np.array(x), np.array(w, float)
            return LinearOperator(
                (n, n), matvec=lambda p: plain_array(products(x, w, np.array(p, float).reshape(-1))), dtype=np.float64
            )

        return weighted_hessian


def constraint_bounds(name: str, lower: Any, upper: Any, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of a constraint, as vectors like its value."""
    found = []
    for side, what in ((lower, "lower"), (upper, "upper")):
        given = np.asarray(side, float)
        flat = given.reshape(-1) if given.ndim > 1 and given.size == value.size else given
        if flat.shape not in ((), (1,), value.shape):
            raise user_error(
                ValueError,
                f"{name} has the wrong shape: it has {value.size} elements, and its {what} bound the shape "
                f"{given.shape}",
                "Give a bound that is one number, or one for each element.",
            )
        found.append(np.broadcast_to(flat, value.shape).copy())
    if not (found[0] <= found[1]).all():
        raise user_error(ValueError, f"{name} cannot be fulfilled: a lower bound is above its upper bound, or NaN")
    return found[0], found[1]


def make_constraints(given: Any, variables: Variables, compile: Any, sparse: Any) -> list[Constraint]:
    """Constraints as users write them: dicts, NonlinearConstraint, LinearConstraint, or a sequence of them."""
    optimize = import_module("scipy.optimize")
    listed = given if isinstance(given, Sequence) else [given]
    return [make_constraint(f"Constraint {i}", c, variables, compile, sparse, optimize) for i, c in enumerate(listed)]


def make_constraint(name: str, c: Any, variables: Variables, compile: Any, sparse: Any, optimize: Any) -> Constraint:
    """One constraint as users write it."""
    if isinstance(c, dict):
        kind, unknown = c.get("type"), set(c) - {"type", "fun", "args"}
        if kind not in KINDS or "fun" not in c:
            raise user_error(ValueError, f"{name} needs 'type', one of {KINDS}, and 'fun'; it has {c!r}")
        if unknown:
            raise user_error(
                ValueError, f"{name} has {sorted(unknown)}", "It takes 'type', 'fun', 'args'; derivatives are computed."
            )
        upper = 0.0 if kind == "eq" else np.inf
        return Constraint(
            name, c["fun"], as_arguments(c.get("args", ())), 0.0, upper, False, variables, compile, sparse
        )
    if isinstance(c, optimize.NonlinearConstraint):
        if callable(c.jac) or callable(c.hess):
            raise user_error(ValueError, f"{name} has jac or hess", "Leave them out: derivatives are computed.")
        return Constraint(name, c.fun, (), c.lb, c.ub, c.keep_feasible, variables, compile, sparse)
    if isinstance(c, optimize.LinearConstraint):
        return linear_constraint(name, c, variables)
    raise user_error(
        TypeError,
        f"{name} is a {type(c).__name__}",
        "Give a dict with 'type' and 'fun', a scipy.optimize.NonlinearConstraint, or a LinearConstraint on the "
        "elements of x0 one after the other.",
    )


class MatrixConstraint(Constraint):
    """`lower <= A x <= upper`, which needs no differentiation."""

    def __init__(self, name: str, matrix: Any, lower: Any, upper: Any, keep: Any, variables: Variables):
        self.name, self.matrix, self.keep, self.variables = name, matrix, keep, variables
        self.lower, self.upper = constraint_bounds(name, lower, upper, np.zeros(matrix.shape[0]))
        self.jacobian = None

    def value(self, x: np.ndarray) -> np.ndarray:
        return self.matrix @ x

    @property
    def is_sparse(self) -> bool:
        return hasattr(self.matrix, "toarray")

    def differentiate(self, _sparse: bool) -> list[str]:
        return [f"{self.name[0].lower()}{self.name[1:]}: linear"]

    def as_dict(self, kind: str, rows: np.ndarray, sign: float, limit: np.ndarray) -> dict[str, Any]:
        matrix = self.matrix.toarray() if self.is_sparse else self.matrix
        return super().as_dict(kind, rows, sign, limit) | {"jac": lambda x: sign * matrix[rows]}

    def as_nonlinear(self) -> Any:
        return import_module("scipy.optimize").LinearConstraint(
            self.matrix, self.lower, self.upper, keep_feasible=self.keep
        )

    def as_dense(self) -> Any:
        rows = self.matrix.toarray() if self.is_sparse else self.matrix
        return MatrixConstraint(self.name, rows, self.lower, self.upper, self.keep, self.variables).as_nonlinear()


def linear_constraint(name: str, c: Any, variables: Variables) -> MatrixConstraint:
    """A LinearConstraint of SciPy."""
    sparse = import_module("scipy.sparse")
    matrix: Any = c.A.tocsr() if sparse.issparse(c.A) else np.atleast_2d(np.asarray(c.A, float))
    if matrix.shape[1] != variables.size:
        raise user_error(
            ValueError,
            f"{name} has the wrong shape: its matrix is {matrix.shape[0]} x {matrix.shape[1]}, and x0 has "
            f"{variables.size} elements",
        )
    return MatrixConstraint(name, matrix, c.lb, c.ub, c.keep_feasible, variables)


def weighted_hessian_product(c: Callable) -> Callable:
    """The product of a vector with the Hessian of the weighted sum of a function's values."""

    def product(x: Any, w: Any, p: Any) -> Any:
        def weighted_sum(v: Any) -> Any:
            return (w * c(v)).sum()

        return jvp(grad(weighted_sum), (x,), (p,))[1]

    return product
