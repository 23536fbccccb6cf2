"""Derivatives as linear operators of SciPy: a matrix that is only ever multiplied.

`cg`, `minres`, `lsmr`, `eigsh` and `svds` of `scipy.sparse.linalg` take them as they are. The function is recorded
once, at the point; each product after that is one pass over the record, and a product with several columns is one
batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.ops.elementwise.exponential import exp, softplus
from wengert.ops.reductions.sums import logsumexp
from wengert.structure.flat_tree import FlatTree
from wengert.transforms.boundary import detach_parameters
from wengert.transforms.gradients import grad
from wengert.transforms.products import jvp, linearize, vjp
from wengert.transforms.vmap import vmap


class DerivativeOperator(LinearOperator):
    """A derivative at a point.

    `at(x)` is the same derivative elsewhere; `tree(v)` and `vector(tree)` go between vectors and trees.
    """

    def __init__(self, products: Products, x: Any):
        x = detach_parameters(x)
        self.products, self.input = products, FlatTree(x, "x")
        self.point = np.array(self.input.vector(x))
        self.here = products.at(self.input, self.point)
        super().__init__(self.input.dtype, (self.here.rows, self.input.size))

    def at(self, x: Any) -> DerivativeOperator:
        """The same derivative at another point."""
        return DerivativeOperator(self.products, x)

    def vector(self, tree: Any) -> Any:
        """A tree like the argument as one vector."""
        return self.input.vector(tree)

    def tree(self, v: Any) -> Any:
        """A vector as a tree like the argument."""
        return self.input.tree(v if isinstance(v, Array) else np.asarray(v))

    def _multiply(self, v: Any, transpose: bool) -> np.ndarray:
        return self.here.multiply(np.asarray(v, self.dtype), transpose)

    def _matvec(self, v: Any) -> np.ndarray:
        return self._multiply(v.reshape(-1), False)

    def _rmatvec(self, u: Any) -> np.ndarray:
        return self._multiply(u.reshape(-1), True)

    def _matmat(self, v: Any) -> np.ndarray:
        return self._multiply(v.T, False).T

    def _rmatmat(self, u: Any) -> np.ndarray:
        return self._multiply(u.T, True).T

    def _adjoint(self) -> Any:
        return self if self.products.is_symmetric else super()._adjoint()


class Products:
    """The products of an operator: with J, the Jacobian of `f`, or with J^T H J, if a `loss` has the Hessian H."""

    def __init__(self, f: Callable, loss: Callable | None, is_symmetric: bool, compile: bool):
        self.f, self.loss, self.is_symmetric, self.compile = f, loss, is_symmetric, compile
        self.native: dict[tuple[bool, int], Callable] = {}

    def at(self, flat: FlatTree, point: np.ndarray) -> CompiledProducts | RecordedProducts:
        """The products at one point."""
        function = flat.function(self.f)
        return CompiledProducts(self, function, point) if self.compile else RecordedProducts(self, function, point)

    @property
    def slope(self) -> Callable:
        """The gradient of the loss, whose Jacobian is H."""
        return (lambda y: y) if self.loss in (None, half_squares) else grad(self.loss)


def half_squares(y: Any) -> Any:
    """The loss whose Hessian is the identity."""
    return 0.5 * (y * y).sum()


class RecordedProducts:
    """Products at one point, from a record of the function."""

    def __init__(self, products: Products, function: Callable, point: np.ndarray):
        self.of, self.function, self.point = products, function, point
        self.rows = len(point) if products.is_symmetric else self.pullback[0].size

    @cached_property
    def pullback(self) -> tuple:
        """The value, and the product with the transpose of J."""
        return vjp(self.function, self.point)

    @cached_property
    def push(self) -> Callable:
        """The product with J."""
        return linearize(self.function, self.point)[1]

    @cached_property
    def curvature(self) -> Callable:
        """The product with H."""
        return linearize(self.of.slope, self.pullback[0])[1]

    def product(self, v: Any) -> Any:
        """The product with a vector."""
        if self.of.loss is None:
            return self.push(v)
        return self.pullback[1](self.curvature(self.push(v)))[0]

    def transpose_product(self, u: Any) -> Any:
        """The product of the transpose with a vector."""
        return self.product(u) if self.of.is_symmetric else self.pullback[1](u)[0]

    def multiply(self, v: np.ndarray, transpose: bool) -> Any:
        """The product with a vector, or the products with the rows of a matrix."""
        product = self.transpose_product if transpose else self.product
        return product(v) if v.ndim == 1 else vmap(product)(v)


class CompiledProducts:
    """Products at one point by native code, which takes the point as an argument and serves all points."""

    def __init__(self, products: Products, function: Callable, point: np.ndarray):
        self.of, self.function, self.point = products, function, point
        self.rows = len(point) if products.is_symmetric else len(function(point))

    def multiply(self, v: np.ndarray, transpose: bool) -> Any:
        """The product with a vector, or the products with the rows of a matrix."""
        kind = transpose, v.ndim
        if kind not in self.of.native:
            from wengert.compiler.call.compiled import compile as compiled  # LLVM is loaded when something is compiled

            product = self.transpose_product if transpose else self.product
            self.of.native[kind] = compiled(product if v.ndim == 1 else vmap(product, in_axes=(None, 0)))
        return self.of.native[kind](self.point, np.ascontiguousarray(v))

    def product(self, x: Any, v: Any) -> Any:
        """The product with a vector at `x`."""
        if self.of.loss is None:
            return jvp(self.function, (x,), (v,))[1]
        y, pull = vjp(self.function, x)
        return pull(jvp(self.of.slope, (y,), (jvp(self.function, (x,), (v,))[1],))[1])[0]

    def transpose_product(self, x: Any, u: Any) -> Any:
        """The product of the transpose with a vector at `x`."""
        return self.product(x, u) if self.of.is_symmetric else vjp(self.function, x)[1](u)[0]


def jacobian_operator(f: Callable, x: Any, compile: bool = False) -> Any:
    """The Jacobian of `f` at `x` as a SciPy `LinearOperator`: `J @ v` goes forward, `J.T @ u` backward.

    `x` and the value of f may be trees, which the operator sees as vectors; `compile` makes native code of the
    products.

    >>> J = jacobian_operator(lambda x: x[1:] * x[:-1], np.array([1.0, 2.0, 3.0]))
    >>> J @ np.ones(3), J.T @ np.ones(2)
    (array([3., 5.]), array([2., 4., 2.]))
    """
    return DerivativeOperator(Products(f, None, False, compile), x)


def hessian_operator(f: Callable, x: Any, compile: bool = False) -> Any:
    """The Hessian of a scalar function at `x` as a SciPy `LinearOperator`, symmetric.

    >>> H = hessian_operator(lambda x: (x**3).sum(), np.array([1.0, 2.0]))
    >>> H @ np.array([1.0, 1.0])
    array([ 6., 12.])
    """
    return DerivativeOperator(Products(grad(f), None, True, compile), x)


def gauss_newton_operator(f: Callable, x: Any, loss: Callable | None = None, compile: bool = False) -> Any:
    """J^T H J at `x` as a SciPy `LinearOperator`: J is the Jacobian of `f`, H the Hessian of `loss` at its value.

    Without a loss it is J^T J, for least squares. It is positive semidefinite if the loss is convex. The loss takes
    what f returns.

    >>> G = gauss_newton_operator(lambda x: x**2, np.array([1.0, 2.0]))
    >>> G @ np.ones(2)
    array([ 4., 16.])
    """
    squares = loss is None or loss is half_squares
    return DerivativeOperator(Products(f, half_squares if squares else on_vectors(f, x, loss), True, compile), x)


def on_vectors(f: Callable, x: Any, loss: Any) -> Callable:
    """A loss of a tree as a loss of a vector."""
    flat = FlatTree(f(x), "the value of the function")
    return lambda v: loss(flat.tree(v))


LOG_PARTITIONS: dict[str, Callable] = {
    "normal": half_squares,
    "bernoulli": lambda y: softplus(y).sum(),
    "poisson": lambda y: exp(y).sum(),
    "categorical": lambda y: logsumexp(y, axis=-1).sum(),
}
"""The log-partition function of each family in its natural parameter: its Hessian is the Fisher information of that
parameter.
"""


def fisher_operator(f: Callable, x: Any, family: str | None = None, compile: bool = False) -> Any:
    """The Fisher information of the parameters `x`, of all samples together, as a SciPy `LinearOperator`.

    With a `family`, f gives the natural parameter of each sample: the mean of a "normal" with variance 1, logits of a
    "bernoulli", logits of a "categorical" along the last axis, the logarithm of the rate of a "poisson". Without one, f
    gives the log-likelihood of each sample, and this is the empirical information, the sum of the outer products of
    their gradients.

    >>> F = fisher_operator(lambda w: np.array([1.0, 2.0]) * w, 0.0, family="bernoulli")
    >>> F @ np.ones(1)
    array([1.25])
    """
    if family is not None and family not in LOG_PARTITIONS:
        raise user_error(
            ValueError, f"fisher_operator has no family {family!r}", f"It has {', '.join(LOG_PARTITIONS)}."
        )
    return gauss_newton_operator(f, x, LOG_PARTITIONS[family or "normal"], compile)
