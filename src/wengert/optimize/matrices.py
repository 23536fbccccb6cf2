"""Derivatives as matrices, sparse or dense, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.errors import TrackedValueError, user_error
from wengert.optimize.traced_function import AUTO, TracedFunction
from wengert.optimize.variables import plain_array
from wengert.structure.sparse_derivatives import SparseDerivative, sparse_hessian, sparse_jacobian
from wengert.transforms.curvature import hessian
from wengert.transforms.jacobians import jacobian


class DerivativeMatrix:
    """The Jacobian of a traced function, or its Hessian, as a function of vectors.

    `is_sparse` says of which kind it is, and `description` why.
    """

    def __init__(self, traced: TracedFunction, sparse: bool | str, is_hessian: bool = False):
        if sparse not in (True, False, AUTO):
            raise user_error(ValueError, f"sparse={sparse!r}", "It is True, False or 'auto'.")
        start = traced.variables.start
        derivative, why = choose_sparse(traced, sparse, is_hessian)
        self.is_sparse = derivative is not None
        if derivative is not None:
            pattern, coloring = derivative.pattern(start), derivative.colors(start)
            entries = f"{pattern.nnz} of {pattern.shape[0]} x {pattern.shape[1]}"
            self.call: Callable = traced.derive(lambda _: derivative, start)
            self.description = f"sparse, {entries}, {coloring.number} colours, {traced.code}"
        else:
            self.call = traced.derive(hessian, start) if is_hessian else traced.derive(jacobian, start)
            self.description = f"dense, {traced.code}" + (f" ({why})" if why else "")

    def __call__(self, x: np.ndarray) -> Any:
        return self.call(x) if self.is_sparse else plain_array(self.call(x))

    def dense(self, x: np.ndarray) -> np.ndarray:
        """The matrix at x as an array."""
        return self(x).toarray() if self.is_sparse else self(x)


def is_worth_a_pattern(n: int) -> bool:
    """Whether the derivatives with respect to n variables may be worth a sparse matrix."""
    now = machine.current
    return now.max_variables_of_dense_derivative < n < now.min_variables_without_pattern


def choose_sparse(traced: TracedFunction, sparse: bool | str, is_hessian: bool) -> tuple[SparseDerivative | None, str]:
    """The sparse derivative, if it is wanted and pays, or None; and the reason, if there is one."""
    start, n = traced.variables.start, traced.variables.size
    if sparse is False or (sparse == AUTO and not is_worth_a_pattern(n)):
        return None, ""
    derivative = (sparse_hessian if is_hessian else sparse_jacobian)(traced.run, compile=traced.is_native)
    try:
        pattern, coloring = derivative.pattern(start), derivative.colors(start)
    except TrackedValueError as error:
        if sparse is True:
            raise
        return None, f"no pattern: {str(error).split('. ')[0]}"
    if sparse == AUTO and coloring.number * machine.current.min_passes_per_color > min(pattern.shape):
        return None, f"its pattern needs {coloring.number} colours"
    return derivative, ""
