"""Matrices that are known by their products, which may be values of any mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.levels import new_level
from wengert.implicit.solvers import DENSE, Factors, SparseFactors, solve_krylov
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
    """A value as the levels below this one know it."""
    while isinstance(x, Array) and x.level >= level:
        if not isinstance(x, Tensor | Dual | Jet):
            raise unsupported_error(x)
        x = x.value
    return x


def unsupported_error(x: Array) -> GradientError:
    if isinstance(x, Symbol):
        return user_error(
            GradientError,
            "A solver needs numbers, and a traced or compiled function has none",
            "Call it outside of compile, and compile the functions that it is given.",
        )
    if isinstance(x, Batched):
        return user_error(
            GradientError,
            "A solver met a value that vmap batches and that is not among its arguments",
            "Pass it as an argument.",
        )
    return user_error(GradientError, f"Implicit differentiation does not know values of the kind {type(x).__name__}")


FEW = 64
"""A large matrix with no more entries than this in each row, on average, is factored."""


class LinearMap:
    """A square matrix that is multiplied, and solved with: `blocks` of `size` unknowns each, which do not know each
    other.

    `forward` and `backward` multiply by it and by its transpose; what they return may have levels from `bound` on,
    which are not its own: the products of this map are without them. `method` is None, the name of a Krylov method, or
    a function of a product and a vector.
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
        self.forward, self.backward, self.size, self.dtype, self.blocks, self.bound = (
            forward,
            backward,
            size,
            dtype,
            blocks,
            bound,
        )
        self.method, self.options, self.what = method, options or {}, what
        self.lower: dict[float, LinearMap] = {}
        self.factors: list[Factors] = []
        self.sparse: list[SparseFactors | None] = []

    def product(self, v: Any, transpose: bool) -> Any:
        return strip_derivatives((self.backward if transpose else self.forward)(v), self.bound)

    def below(self, level: float) -> LinearMap:
        """The map as lower levels know it."""
        if level >= self.bound:
            return self
        if level not in self.lower:
            self.lower[level] = self.with_products(self.forward, self.backward, self.blocks, level)
        return self.lower[level]

    def with_products(self, forward: Vector, backward: Vector, blocks: int, bound: float) -> LinearMap:
        return LinearMap(forward, backward, self.size, self.dtype, self.method, self.options, self.what, blocks, bound)

    def stack_batch(self, n: int, level: int) -> LinearMap:
        """The maps of a batch of n, as one map of more blocks."""

        def whole(product: Vector) -> Vector:
            def stacked(v: Any) -> Any:
                out = strip_derivatives(product(Batched(reshape(v, (n, -1)), level)), level + 1)
                return reshape(out.value, (-1,))

            return stacked

        return self.with_products(whole(self.forward), whole(self.backward), n * self.blocks, min(self.bound, level))

    def solve(self, b: np.ndarray, transpose: bool) -> np.ndarray:
        """The solution for plain numbers, in the last axis of b."""
        if self.method is None and self.size <= DENSE:
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
            return self.method(product, b)
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
        """The blocks as matrices: all of them times one basis vector after the other, in one batch."""
        basis = np.repeat(np.eye(self.size, dtype=self.dtype)[:, None, :], self.blocks, axis=1).reshape(self.size, -1)
        return np.moveaxis(self.products(basis).reshape(self.size, self.blocks, self.size), 0, -1)

    def products(self, vectors: np.ndarray) -> np.ndarray:
        """The matrix times each row of an array, in one batch."""
        level = new_level()
        try:
            out = strip_derivatives(self.forward(Batched(vectors, level)), level + 1)
            is_zero = not (
                isinstance(out, Batched) and out.level == level
            )  # a product that does not depend on its vector
            return np.zeros_like(vectors) if is_zero else strip_derivatives(out.value, self.bound)
        except TrackedValueError:  # plain NumPy code that takes no batches
            return np.stack([self.product(v, False) for v in vectors])

    def sparse_factors(self) -> SparseFactors | None:
        """The factors of a large matrix with few entries, found by their pattern.

        None where it has many, or where it cannot be traced.
        """
        from wengert.structure.coloring import color  # which bring SciPy along
        from wengert.structure.patterns import sparsity

        n = self.size * self.blocks
        probes = np.zeros((3, n), self.dtype)
        probes[range(3), np.random.default_rng(0).integers(n, size=3)] = 1
        if np.count_nonzero(self.products(probes)) > 3 * FEW:
            return None
        try:
            pattern = sparsity(self.forward, np.zeros(n, self.dtype))
        except (TrackedValueError, GradientError):
            return None
        if pattern.shape != (n, n) or pattern.nnz > FEW * n:
            return None
        colors = color(pattern, "column")
        seeds = np.zeros((colors.number, n), self.dtype)
        seeds[colors.columns, range(n)] = 1
        return SparseFactors(
            pattern.filled(self.products(seeds)[colors.columns[pattern.cols], pattern.rows]), self.what
        )


def residual_derivative(residual: Vector, x: Any, is_symmetric: bool, like: LinearMap, recorded: bool) -> LinearMap:
    """The derivative of a residual at x, to be solved with as `like` is.

    A tape wants it `recorded` at once: what the residual captures may have changed by the time of the walk back.
    Otherwise the first product runs the residual, which is all that a matrix needs; for a second one it is worth
    recording.
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
    """The transpose of a linear function, recorded when it is first called."""
    known: list[Vector] = []

    def transpose(v: Any) -> Any:
        if not known:
            known.append(vjp(linear, zeros)[1])
        return known[0](v)[0]

    return transpose
