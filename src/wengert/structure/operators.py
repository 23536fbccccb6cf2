"""Derivatives as linear operators of SciPy: a matrix that is only ever multiplied.

`cg`, `minres`, `lsmr`, `eigsh` and `svds` of `scipy.sparse.linalg` take them as they are. The function is recorded
once, at the point; each product after that is one walk over the record, and a product with several columns is one
batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.spec import Spec
from wengert.ops.elementwise.exponential import exp, softplus
from wengert.ops.reductions.sums import logsumexp
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.boundary import flatten_arrays, leaf_paths, unflatten_arrays
from wengert.transforms.gradients import grad
from wengert.transforms.products import jvp, linearize, vjp
from wengert.transforms.vmap import vmap


class Flat:
    """How a tree of real arrays lies in one vector, and back.

    >>> flat = Flat({"w": np.ones((2, 2)), "b": 3.0}, "example")
    >>> flat.size, flat.vector({"w": np.eye(2), "b": 5.0})
    (5, array([1., 0., 0., 1., 5.]))
    """

    def __init__(self, tree: Any, what: str):
        leaves, self.structure = flatten_arrays(tree)
        if not leaves:
            raise user_error(ValueError, f"{what} has no arrays in it")
        for x, place in zip(leaves, leaf_paths(self.structure), strict=True):
            if x.dtype.kind not in "biuf":
                raise user_error(
                    TypeError,
                    f"{what}{place} has dtype {x.dtype}, and must be real",
                    "Take real and imaginary parts as two arrays.",
                )
        self.what = what
        self.dtype = np.result_type(*[x.dtype if x.dtype.kind == "f" else float for x in leaves])
        self.specs = [Spec(x.shape, x.dtype if x.dtype.kind == "f" else np.dtype(float)) for x in leaves]
        self.size = sum(spec.size for spec in self.specs)

    def vector(self, tree: Any) -> Any:
        """A tree of this structure and these shapes as one vector."""
        leaves, structure = flatten_arrays(tree)
        if structure != self.structure:
            raise user_error(TypeError, f"{self.what} has the structure {self.structure!r}, and not {structure!r}")
        for x, spec, place in zip(leaves, self.specs, leaf_paths(structure), strict=True):
            if x.shape != spec.shape:
                raise user_error(ValueError, f"{self.what}{place} has shape {spec.shape}, and not {x.shape}")
        parts = [reshape(x, (-1,)) if x.dtype == self.dtype else astype(reshape(x, (-1,)), self.dtype) for x in leaves]
        return parts[0] if len(parts) == 1 else concatenate(parts)

    def tree(self, vector: Any) -> Any:
        """The inverse of `vector`."""
        leaves, start = [], 0
        for spec in self.specs:
            part = reshape(vector[start : start + spec.size], spec.shape)
            leaves.append(part if part.dtype == spec.dtype else astype(part, spec.dtype))
            start += spec.size
        return unflatten_arrays(self.structure, [x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in leaves])

    def function(self, f: Callable) -> Callable:
        """`f` of a tree as a function of a vector, with a vector for its value.

        `Flat` of that is found when it is called.
        """
        return lambda v: Flat(y := f(self.tree(v)), "the value of the function").vector(y)


@cache
def operator_class() -> Any:
    """The class of the operators, made when the first one is: SciPy is not imported before."""
    LinearOperator: Any = import_module("scipy.sparse.linalg").LinearOperator

    class DerivativeOperator(LinearOperator):
        """A derivative at a point.

        `at(x)` is the same derivative elsewhere; `tree(v)` and `vector(tree)` go between vectors and trees.
        """

        def __init__(self, products: Products, x: Any):
            self.products, self.input = products, Flat(x, "x")
            self.point = np.array(self.input.vector(x))
            self.now = products.at(self.input, self.point)
            super().__init__(self.input.dtype, (self.now.rows, self.input.size))

        def at(self, x: Any) -> DerivativeOperator:
            return DerivativeOperator(self.products, x)

        def vector(self, tree: Any) -> Any:
            return self.input.vector(tree)

        def tree(self, v: Any) -> Any:
            return self.input.tree(v if isinstance(v, Array) else np.asarray(v))

        def cast(self, v: Any) -> np.ndarray:
            return np.asarray(v, self.dtype)

        def _matvec(self, v: Any) -> np.ndarray:
            return self.now.product(self.cast(v).reshape(-1))

        def _rmatvec(self, u: Any) -> np.ndarray:
            return self.now.transposed(self.cast(u).reshape(-1))

        def _matmat(self, v: Any) -> np.ndarray:
            return self.now.products(self.cast(v).T).T

        def _rmatmat(self, u: Any) -> np.ndarray:
            return self.now.transposes(self.cast(u).T).T

        def _adjoint(self) -> Any:
            return self if self.products.is_symmetric else super()._adjoint()

    DerivativeOperator.__module__ = __name__
    DerivativeOperator.__qualname__ = "DerivativeOperator"
    return DerivativeOperator


class Products:
    """What an operator multiplies with: J, the Jacobian of `f`, or J^T H J, if there is a `loss` with the Hessian H."""

    def __init__(self, f: Callable, loss: Callable | None, is_symmetric: bool, compile: bool):
        self.f, self.loss, self.is_symmetric, self.compile = f, loss, is_symmetric, compile
        self.native: dict[str, Callable] = {}

    def at(self, flat: Flat, point: np.ndarray) -> Native | Recorded:
        function = flat.function(self.f)
        return Native(self, function, point) if self.compile else Recorded(self, function, point)

    @property
    def slope(self) -> Callable:
        """The gradient of the loss, whose Jacobian is H."""
        return (lambda y: y) if self.loss in (None, half_squares) else grad(self.loss)


def half_squares(y: Any) -> Any:
    """The loss whose Hessian is the identity."""
    return 0.5 * (y * y).sum()


class Recorded:
    """Products at one point: the function has run, and what it did is walked over."""

    def __init__(self, products: Products, function: Callable, point: np.ndarray):
        self.of, self.function, self.point = products, function, point
        self.rows = len(point) if products.is_symmetric else self.pulled[0].size

    @cached_property
    def pulled(self) -> tuple:
        """The value, and the product with the transpose of J."""
        return vjp(self.function, self.point)

    @cached_property
    def push(self) -> Callable:
        return linearize(self.function, self.point)[1]

    @cached_property
    def curvature(self) -> Callable:
        return linearize(self.of.slope, self.pulled[0])[1]

    def product(self, v: Any) -> Any:
        if self.of.loss is None:
            return self.push(v)
        return self.pulled[1](self.curvature(self.push(v)))[0]

    def transposed(self, u: Any) -> Any:
        return self.product(u) if self.of.is_symmetric else self.pulled[1](u)[0]

    def products(self, v: np.ndarray) -> Any:
        return vmap(self.product)(v)

    def transposes(self, u: np.ndarray) -> Any:
        return vmap(self.transposed)(u)


class Native:
    """Products at one point by native code, which takes the point as an argument: it is compiled once for all points."""

    def __init__(self, products: Products, function: Callable, point: np.ndarray):
        self.of, self.function, self.point = products, function, point
        self.rows = len(point) if products.is_symmetric else len(function(point))

    def run(self, name: str, v: np.ndarray) -> Any:
        if name not in self.of.native:
            from wengert.compiler.compiled import compile as compiled  # LLVM is loaded when something is compiled

            self.of.native[name] = compiled(getattr(self, f"_{name}"))
        return self.of.native[name](self.point, np.ascontiguousarray(v))

    def _product(self, x: Any, v: Any) -> Any:
        if self.of.loss is None:
            return jvp(self.function, (x,), (v,))[1]
        y, pull = vjp(self.function, x)
        return pull(jvp(self.of.slope, (y,), (jvp(self.function, (x,), (v,))[1],))[1])[0]

    def _transposed(self, x: Any, u: Any) -> Any:
        return self._product(x, u) if self.of.is_symmetric else vjp(self.function, x)[1](u)[0]

    def _products(self, x: Any, v: Any) -> Any:
        return vmap(self._product, in_axes=(None, 0))(x, v)

    def _transposes(self, x: Any, u: Any) -> Any:
        return vmap(self._transposed, in_axes=(None, 0))(x, u)

    def product(self, v: Any) -> Any:
        return self.run("product", v)

    def transposed(self, u: Any) -> Any:
        return self.run("transposed", u)

    def products(self, v: np.ndarray) -> Any:
        return self.run("products", v)

    def transposes(self, u: np.ndarray) -> Any:
        return self.run("transposes", u)


def jacobian_operator(f: Callable, x: Any, compile: bool = False) -> Any:
    """The Jacobian of `f` at `x` as a SciPy `LinearOperator`: `J @ v` goes forward, `J.T @ u` backward.

    `x` and the value of f may be trees, which the operator sees as vectors; `compile` makes native code of the
    products.

    >>> J = jacobian_operator(lambda x: x[1:] * x[:-1], np.array([1.0, 2.0, 3.0]))
    >>> J @ np.ones(3), J.T @ np.ones(2)
    (array([3., 5.]), array([2., 4., 2.]))
    """
    return operator_class()(Products(f, None, False, compile), x)


def hessian_operator(f: Callable, x: Any, compile: bool = False) -> Any:
    """The Hessian of a scalar function at `x` as a SciPy `LinearOperator`, symmetric.

    >>> H = hessian_operator(lambda x: (x**3).sum(), np.array([1.0, 2.0]))
    >>> H @ np.array([1.0, 1.0])
    array([ 6., 12.])
    """
    return operator_class()(Products(grad(f), None, True, compile), x)


def gauss_newton_operator(f: Callable, x: Any, loss: Callable | None = None, compile: bool = False) -> Any:
    """J^T H J at `x`, where J is the Jacobian of `f` and H the Hessian of `loss` at its value, as a SciPy
    `LinearOperator`.

    Without a loss it is J^T J, for least squares. It is positive semidefinite if the loss is convex. The loss takes
    what f returns.

    >>> G = gauss_newton_operator(lambda x: x**2, np.array([1.0, 2.0]))
    >>> G @ np.ones(2)
    array([ 4., 16.])
    """
    squares = loss is None or loss is half_squares
    return operator_class()(Products(f, half_squares if squares else on_vectors(f, x, loss), True, compile), x)


def on_vectors(f: Callable, x: Any, loss: Any) -> Callable:
    """A loss of a tree as a loss of a vector."""
    flat = Flat(f(x), "the value of the function")
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
