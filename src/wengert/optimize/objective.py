"""The function to minimise, as SciPy asks for it: value and gradient, and products with the Hessian or the Hessian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.optimize.matrices import DerivativeMatrix, is_worth_a_pattern
from wengert.optimize.traced_function import AUTO, TracedFunction
from wengert.optimize.variables import Variables, plain_array
from wengert.transforms.gradients import grad, value_and_grad
from wengert.transforms.products import jvp


class Objective:
    """A scalar function of vectors with its derivatives up to an `order`.

    The order is 0, 1, 2 for products with the Hessian, or 3 for the Hessian.
    """

    def __init__(
        self, f: Callable, args: tuple, variables: Variables, order: int, compile: bool | str, sparse: bool | str
    ):
        # without derivatives, the function runs on numbers and is not compiled
        self.traced = TracedFunction("The objective", f, args, variables, compile if order else False, is_scalar=True)
        self.variables, self.order, self.evaluations = variables, order, 0
        self.known: list[tuple[np.ndarray, float, np.ndarray]] = []
        self.reported: list[tuple[np.ndarray, float, np.ndarray]] = []
        self.latest: tuple[np.ndarray, Any] | None = None
        self.sparse: DerivativeMatrix | None = None
        if not np.isfinite(self.traced.first):
            raise user_error(
                ValueError, f"The objective is {self.traced.first} at x0", "Start where it is finite; see wg.why_nan."
            )
        self.notes = ["values alone"]
        if order:
            self.both = self.traced.derive(value_and_grad, variables.start)
            self.notes = [f"value and gradient in one call, {self.traced.code}"]
            self.refuse_bad_gradient()
        if order == 2:
            self.sparse = self.choose_hessian(sparse)
            if self.sparse is None:
                self.multiply_hessian = self.traced.derive(hessian_product, variables.start, variables.start)
            self.notes.append(
                f"Hessian {self.sparse.description}"
                if self.sparse
                else f"products with the Hessian, {self.traced.code}"
            )
        elif order == 3:
            self.sparse = DerivativeMatrix(self.traced, sparse, is_hessian=True)
            self.notes.append(f"Hessian {self.sparse.description}")
        self.notes += self.traced.notes if order else []

    def refuse_bad_gradient(self) -> None:
        """Raise an error if the gradient at the start is not finite."""
        t = self.gradient(self.variables.start)
        wrong = ~np.isfinite(t)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise user_error(
                ValueError,
                f"The gradient of the objective is {t[i]} in {self.variables.element_name(i)}",
                "Start where it is finite; wg.why_nan shows where this comes from.",
            )

    def choose_hessian(self, sparse: bool | str) -> DerivativeMatrix | None:
        """The sparse Hessian, where products with it cost less than products by passes over the function.

        Native passes cost about as much as a product with the sparse matrix, and need no pattern; passes by Python cost
        far more.
        """
        if sparse == AUTO and (self.traced.is_native or not is_worth_a_pattern(self.variables.size)):
            return None
        matrix = DerivativeMatrix(self.traced, sparse, is_hessian=True) if sparse else None
        return matrix if matrix is not None and matrix.is_sparse else None

    def at(self, x: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """Point, value and gradient.

        The latest are kept, because SciPy asks for both at one point, one after the other.
        """
        for found in self.known:
            if np.array_equal(found[0], x):
                return found
        value, t = self.both(x)
        self.evaluations += 1
        self.known = [(np.array(x), float(plain_array(value)), plain_array(t)), *self.known[:1]]
        return self.known[0]

    def value(self, x: np.ndarray) -> float:
        """The value at x."""
        if self.order:
            return self.at(x)[1]
        self.evaluations += 1
        return float(plain_array(self.traced.run(x)))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient at x."""
        return self.at(x)[2]

    def measure(self, x: np.ndarray) -> tuple[float | None, np.ndarray | None, int]:
        """Value and gradient at x, if they were computed lately, and the number of evaluations.

        Without derivatives, values are cheap.
        """
        if not self.order:
            return float(plain_array(self.traced.run(x))), None, self.evaluations
        for found in [*self.known, *self.reported]:
            if np.array_equal(found[0], x):
                self.reported = [found]  # a method may stay at a point for some iterations
                return found[1], found[2], self.evaluations
        return None, None, self.evaluations

    def hessian(self, x: np.ndarray) -> Any:
        """The Hessian at x."""
        assert self.sparse is not None
        if self.latest is None or not np.array_equal(self.latest[0], x):
            self.latest = np.array(x), self.sparse.dense(x) if self.order == 3 else self.sparse(x)
        return self.latest[1]

    def product(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The product of the Hessian at x with a vector."""
        return self.hessian(x) @ p if self.sparse else plain_array(self.multiply_hessian(x, np.ascontiguousarray(p)))

    def derivatives(self) -> dict[str, Callable]:
        """The derivatives of this order, by SciPy's names."""
        found: dict[str, Callable] = {"jac": self.gradient} if self.order else {}
        if self.order == 2:
            found["hessp"] = self.product
        elif self.order == 3:
            found["hess"] = self.hessian
        return found


def hessian_product(f: Callable) -> Callable:
    """The product of a vector with the Hessian of a function."""
    return lambda x, p: jvp(grad(f), (x,), (p,))[1]
