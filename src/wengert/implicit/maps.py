"""Matrices that are given by their products, which may be values of any mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import takewhile
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.core.array import Array
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.levels import is_own, iterate_payloads, new_level, strip_from
from wengert.implicit.solvers import Factors, SparseFactors, solve_krylov
from wengert.modes.batch import Batched
from wengert.modes.forward import Dual
from wengert.modes.symbolic import Symbol
from wengert.modes.taylor import Jet
from wengert.modes.tensor import Tensor
from wengert.ops.shape.reshaping import reshape
from wengert.transforms.products import jvp, linearize, vjp

Vector = Callable[[Any], Any]
"""A function from vectors to vectors."""


def strip_derivatives(x: Any, level: float) -> Any:
    """x without this level and those above it, which must be derivatives."""
    for layer in takewhile(lambda layer: layer.level >= level, iterate_payloads(x)):
        if not isinstance(layer, Tensor | Dual | Jet):
            raise unsupported_error(layer)
    return strip_from(x, level)


class CapturedBatch(GradientError):
    """A function given to a solver captures a batch."""


def unsupported_error(x: Array) -> GradientError:
    """The error for a value of a mode that solvers do not support."""
    if isinstance(x, Symbol):
        return untraceable_error()
    if isinstance(x, Batched):
        return user_error(
            CapturedBatch,
            "A solver met a value that vmap batches and that is not among its arguments",
            "Pass it as an argument.",
        )
    return user_error(GradientError, f"Implicit differentiation does not support values of type {type(x).__name__}")


def untraceable_error() -> GradientError:
    """The error for a solver that cannot be part of a graph."""
    return user_error(
        GradientError,
        "This solver needs numbers, and a traced or compiled function has none",
        "Use the default solver, which runs as a loop, without options other than maxiter= and tol=; or call it "
        "outside of compile, and compile the functions that it is given.",
    )


class LinearMap:
    """A square block-diagonal matrix given by its products: `blocks` of `size` unknowns each.

    `forward` and `backward` multiply by it and by its transpose. What they return may have levels from `bound` on,
    which do not belong to this map and are stripped from its products. `method` is None, the name of a Krylov method,
    or a function of a product and a vector.
    """

    def __init__(
        self,
        forward: Vector,
        backward: Vector,
        size: int,
        dtype: np.dtype,
        method: Any = None,
        options: dict[str, Any] | None = None,
        what: str = "the matrix",
        blocks: int = 1,
        bound: float = math.inf,
    ):
        self.forward, self.backward, self.size, self.dtype = forward, backward, size, dtype
        self.blocks, self.bound = blocks, bound
        self.method, self.options, self.what = method, options or {}, what
        self.lower: dict[float, LinearMap] = {}
        self.factors: list[Factors] = []
        self.sparse: list[SparseFactors | None] = []

    def product(self, v: Any, transpose: bool) -> Any:
        return strip_derivatives((self.backward if transpose else self.forward)(v), self.bound)

    def below(self, level: float) -> LinearMap:
        """The map without this level and those above it."""
        if level >= self.bound:
            return self
        if level not in self.lower:
            self.lower[level] = self.with_products(self.forward, self.backward, self.blocks, level)
        return self.lower[level]

    def with_products(self, forward: Vector, backward: Vector, blocks: int, bound: float) -> LinearMap:
        return LinearMap(forward, backward, self.size, self.dtype, self.method, self.options, self.what, blocks, bound)

    def stack_batch(self, n: int, level: int) -> LinearMap:
        """The maps of a batch of n, as one map with more blocks."""

        def whole(product: Vector) -> Vector:
            def product_of_batch(v: Any) -> Any:
                out = strip_derivatives(product(Batched(reshape(v, (n, -1)), level)), level + 1)
                return reshape(out.value, (-1,))

            return product_of_batch

        return self.with_products(whole(self.forward), whole(self.backward), n * self.blocks, min(self.bound, level))

    def solve(self, b: np.ndarray, transpose: bool) -> np.ndarray:
        """The solution for plain arrays, along the last axis of b."""
        if self.method is None and self.size <= machine.current.max_unknowns_of_dense_system:
            return self.solve_by_factors(b, transpose)
        if self.method is None:
            if not self.sparse:
                self.sparse = [self.sparse_factors()]
            if self.sparse[0] is not None:
                return self.sparse[0].solve(b.T, transpose).T
        if b.ndim > 1:
            return np.stack([self.solve(row, transpose) for row in b]) if len(b) else b
        product = lambda v: self.product(np.asarray(v, self.dtype), transpose)
        if not callable(self.method):
            return solve_krylov(self.method or "gmres", product, b, self.options)
        if self.blocks == 1:
            solved: np.ndarray = self.method(product, b)
            return solved
        return np.concatenate(
            [self.method(self.block(product, i), part) for i, part in enumerate(b.reshape(self.blocks, -1))]
        )

    def block(self, product: Vector, i: int) -> Vector:
        """One block of a product."""

        def one(v: Any) -> Any:
            whole = np.zeros((self.blocks, self.size), self.dtype)
            whole[i] = v
            return product(whole.reshape(-1)).reshape(self.blocks, -1)[i]

        return one

    def solve_by_factors(self, b: np.ndarray, transpose: bool) -> np.ndarray:
        if not self.factors:
            self.factors = [Factors(matrix, self.what) for matrix in self.matrices()]
        parts = b.reshape(-1, self.blocks, self.size)
        solved = np.stack([factor.solve(parts[:, i].T, transpose).T for i, factor in enumerate(self.factors)], axis=1)
        return solved.reshape(b.shape)

    def matrices(self) -> np.ndarray:
        """The blocks as matrices: the products with all basis vectors, in one batch."""
        basis = np.repeat(np.eye(self.size, dtype=self.dtype)[:, None, :], self.blocks, axis=1).reshape(self.size, -1)
        return np.moveaxis(self.products(basis).reshape(self.size, self.blocks, self.size), 0, -1)

    def products(self, vectors: np.ndarray) -> np.ndarray:
        """The matrix times each row of an array, in one batch."""
        level = new_level()
        try:
            out = strip_derivatives(self.forward(Batched(vectors, level)), level + 1)
            if not is_own(out, Batched, level):  # a product that does not depend on its vector
                return np.zeros_like(vectors)
            rows: np.ndarray = strip_derivatives(out.value, self.bound)
            return rows
        except TrackedValueError:  # NumPy code that does not support batches
            return np.stack([self.product(v, False) for v in vectors])

    def sparse_factors(self) -> SparseFactors | None:
        """The factors of a large sparse matrix; None if it is not sparse, or cannot be traced."""
        from wengert.structure.coloring import color  # these import SciPy
        from wengert.structure.patterns import sparsity

        n = self.size * self.blocks
        probes = np.zeros((3, n), self.dtype)
        probes[range(3), np.random.default_rng(0).integers(n, size=3)] = 1
        if np.count_nonzero(self.products(probes)) > 3 * machine.current.max_nonzeros_per_row_of_factored_system:
            return None
        try:
            pattern = sparsity(self.forward, np.zeros(n, self.dtype))
        except (TrackedValueError, GradientError):
            return None
        if pattern.shape != (n, n) or pattern.nnz > machine.current.max_nonzeros_per_row_of_factored_system * n:
            return None
        colors = color(pattern, "column")
        seeds = np.zeros((colors.number, n), self.dtype)
        seeds[colors.columns, range(n)] = 1
        return SparseFactors(
            pattern.filled(self.products(seeds)[colors.columns[pattern.cols], pattern.rows]), self.what
        )


def residual_derivative(residual: Vector, x: Any, is_symmetric: bool, like: LinearMap, recorded: bool) -> LinearMap:
    """The derivative of a residual at x, as a map with the solver of `like`.

    It is `recorded` at once for a tape, because captured values may have changed by the time of the backward pass.
    Otherwise the first product runs the residual in forward mode, which is enough to form a matrix; the second one
    records it.
    """
    if recorded:
        pull = vjp(residual, x)[1]
        kept = lambda u: pull(u)[0]
        return like.with_products(
            kept if is_symmetric else transpose_of(kept, np.zeros(x.shape, x.dtype)), kept, like.blocks, like.bound
        )
    known: dict[str, Vector] = {}

    def forward(v: Any) -> Any:
        if not known:
            known["first"] = residual
            return jvp(residual, (x,), (v,))[1]
        if "forward" not in known:
            known["forward"] = linearize(residual, x)[1]
        return known["forward"](v)

    def backward(u: Any) -> Any:
        if "backward" not in known:
            known["backward"] = vjp(residual, x)[1]
        return known["backward"](u)[0]

    return like.with_products(forward, forward if is_symmetric else backward, like.blocks, like.bound)


def transpose_of(linear: Vector, zeros: np.ndarray) -> Vector:
    """The transpose of a linear function, recorded on its first call."""
    known: list[Vector] = []

    def transpose(v: Any) -> Any:
        if not known:
            known.append(vjp(linear, zeros)[1])
        return known[0](v)[0]

    return transpose
