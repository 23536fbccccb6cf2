"""Linear operators of SciPy as operands: products that a Python function computes, differentiable with respect to x."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from wengert.core.definition import Definition
from wengert.core.errors import user_error
from wengert.core.primitive import Primitive, as_operand
from wengert.core.spec import Spec
from wengert.ops.shape.reshaping import swapaxes

__all__ = ["LinearMap", "linear_operator"]

new_number = itertools.count().__next__


class LinearMap:
    """A linear operator as an operand of `@`; `linear_operator` makes it.

    >>> from scipy.sparse.linalg import LinearOperator
    >>> double = LinearOperator((2, 2), matvec=lambda x: 2 * x, rmatvec=lambda x: 2 * x, dtype=float)
    >>> linear_operator(double) @ np.array([1.0, 2.0])
    array([2., 4.])
    """

    __array_ufunc__ = None  # so that NumPy's arrays leave `x @ A` to this class

    def __init__(self, operator: Any, number: int, transposed: bool = False):
        self.operator, self.number, self.transposed = operator, number, transposed

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        rows, columns = self.operator.shape
        return (columns, rows) if self.transposed else (rows, columns)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the operator."""
        return np.dtype(self.operator.dtype)

    @property
    def T(self) -> LinearMap:  # noqa: N802  # NumPy's name
        """The transpose, by the operator's `rmatvec`."""
        return LinearMap(self.operator, self.number, not self.transposed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearMap) and self.operator is other.operator and self.transposed == other.transposed

    def __hash__(self) -> int:
        return hash((id(self.operator), self.transposed))

    def __matmul__(self, x: Any) -> Any:
        x = as_operand(x)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise user_error(
                ValueError,
                f"The product of a linear operator of shape {self.shape} and an array of shape {x.shape}",
                "It must have one or two axes, the first as long as the operator has columns.",
            )
        return APPLY_OPERATOR.op(x, operator=self)

    def __rmatmul__(self, x: Any) -> Any:
        x = as_operand(x)
        return self.T @ x if x.ndim < 2 else swapaxes(self.T @ swapaxes(x, 0, 1), 0, 1)

    def multiply(self, x: np.ndarray) -> np.ndarray:
        """The product with numbers."""
        try:
            return np.asarray((self.operator.T if self.transposed else self.operator) @ x)
        except NotImplementedError as error:
            raise user_error(
                NotImplementedError,
                f"The product with the transpose of {self.operator!r}",
                "Give the operator an rmatvec.",
                because="a gradient needs it, and the operator does not have it.",
            ) from error

    def __repr__(self) -> str:
        return f"<linear operator {self.number}{'.T' * self.transposed} of shape {self.shape}>"


APPLY_OPERATOR = Primitive(
    Definition(
        name="apply_operator",
        impl=lambda x, operator: operator.multiply(x),
        kind="linear",
        inputs=("x",),
        takes_params=True,
        rules=(lambda t, operator: APPLY_OPERATOR.op(t, operator=operator.T),),
        spec=lambda x, operator: Spec((operator.shape[0], *x.shape[1:]), np.result_type(operator.dtype, x.dtype)),
        conforms=True,
    )
)


def is_linear_operator(x: Any) -> bool:
    """Whether x is a linear operator, as SciPy has them."""
    return isinstance(x, LinearMap) or (hasattr(x, "matvec") and hasattr(x, "rmatvec"))


def linear_operator(operator: Any) -> LinearMap:
    """A `LinearOperator` of SciPy as an operand of `@`, differentiable with respect to the vector.

    Its `matvec` runs on numbers; gradients use its `rmatvec`. In compiled functions, Python calls it.

    >>> from scipy.sparse.linalg import LinearOperator
    >>> back = lambda y: -np.diff(y, prepend=0, append=0)
    >>> differences = LinearOperator((2, 3), matvec=np.diff, rmatvec=back, dtype=float)
    >>> from wengert.transforms.gradients import grad
    >>> grad(lambda x: ((linear_operator(differences) @ x) ** 2).sum())(np.array([0.0, 1.0, 3.0]))
    array([-2., -2.,  4.])
    """
    if isinstance(operator, LinearMap):
        return operator
    if not is_linear_operator(operator):
        raise user_error(
            TypeError,
            f"wg.linear_operator takes a LinearOperator of scipy.sparse.linalg, and was given a "
            f"{type(operator).__name__}",
            "Matrices are operands themselves; scipy.sparse.linalg.aslinearoperator makes operators of others.",
        )
    return LinearMap(operator, new_number())
