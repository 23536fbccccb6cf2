"""One equation to be solved: its residual at values of every mode, and on plain numbers for the solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.control.closures import close_over, is_for_graph
from wengert.control.values import match_given
from wengert.core import machine
from wengert.core.array import Array
from wengert.core.axis_names import name_of_level
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import is_own, iterate_payloads
from wengert.core.primitive import SHAPED
from wengert.core.tree import flatten, unflatten
from wengert.core.tree import map as map_tree
from wengert.implicit.linear import method_of
from wengert.implicit.maps import (
    CapturedBatch,
    LinearMap,
    residual_derivative,
    strip_derivatives,
    unsupported_error,
    untraceable_error,
)
from wengert.implicit.solvers import (
    ConvergenceError,
    as_start,
    refuse_unconverged,
)
from wengert.implicit.theorem import differentiate_solution
from wengert.implicit.traced_root import find_root
from wengert.modes.batch import Batched, bind_axis
from wengert.modes.forward import Dual
from wengert.modes.in_place import snapshot
from wengert.modes.taylor import Jet
from wengert.modes.tensor import Tensor
from wengert.ops.shape.joining import stack
from wengert.structure.flat_tree import FlatTree

Solver = str | Callable[..., Any] | None
LOOPS = {"newton": 100, "iterate": 10_000, "known": 0}
"""The solvers that are loops in graphs, and how many steps they make at most."""


class Equation:
    """An equation: the residual, which `make` makes of f, is zero at the solution; `x0` is the initial guess."""

    def __init__(
        self,
        name: str,
        f: Callable[..., Any],
        make: Callable[..., Any],
        x0: Any,
        theta: tuple[Any, ...],
        linear: Solver,
        is_symmetric: bool = False,
    ):
        x0 = as_start(x0)
        self.name, self.x0, self.theta, self.is_symmetric = name, x0, theta, is_symmetric
        self.user, self.make, self.f = f, make, make(f)
        self.flat = FlatTree(x0, "x0")
        is_large = self.flat.size > machine.current.max_unknowns_of_dense_system
        self.method = method_of(linear, self.flat, 1e-6) or ("cg" if is_symmetric and is_large else None)

    @property
    def is_traced(self) -> bool:
        """Whether the solution becomes part of a graph."""
        x = self.flat.tree(np.zeros(self.flat.size, self.flat.dtype))
        return is_for_graph(lambda x, x0, *theta: self.f(x, *theta), (x, self.x0, *self.theta))

    def solve_in_graph(self, solver: Any, tol: float, options: dict[str, Any], start: Any = None) -> Any:
        """The solution as an operation of a graph; by Newton's method, by iteration, or known already."""
        if solver not in LOOPS or options.keys() - {"maxiter", "tol"}:
            raise untraceable_error()
        leaves, structure = flatten(self.theta)
        arrays = [i for i, leaf in enumerate(leaves) if isinstance(leaf, SHAPED)]

        def residual(x: Any, *values: Any) -> Any:
            whole = list(leaves)
            for i, value in zip(arrays, values, strict=True):
                whole[i] = value
            return self.evaluate(x, unflatten(structure, whole))

        precision = 4 * float(np.finfo(self.flat.dtype).eps)
        settings = {"tol": precision, "maxiter": LOOPS[solver]} | {k: v for k, v in options.items() if v is not None}
        guess = self.flat.vector(self.x0 if start is None else start)
        values = [leaves[i] for i in arrays]
        return self.flat.tree(find_root(residual, guess, values, self.name, method=solver, check=tol, **settings))

    def residual(self, v: Any) -> Any:
        return self.evaluate(v, self.theta)

    def evaluate(self, v: Any, theta: tuple[Any, ...]) -> Any:
        x = self.flat.tree(copy_array(v))
        out = FlatTree(y := self.f(x, *theta), f"the residual of {self.name}").vector(y)
        if out.shape != v.shape:
            raise user_error(
                ValueError,
                f"{self.name}: there are {v.size} unknowns and {out.size} equations",
                "There must be as many of both.",
            )
        return out

    def derivative(self, x: Any, bound: float, recorded: bool) -> tuple[LinearMap, bool]:
        return self.map(self.residual, x, recorded).below(bound), False

    def map(self, residual: Callable[..., Any], x: Any, recorded: bool = False) -> LinearMap:
        like = LinearMap(
            residual,
            residual,
            self.flat.size,
            self.flat.dtype,
            self.method,
            None,
            f"the derivative of the equation of {self.name} with respect to x",
        )
        return residual_derivative(residual, x, self.is_symmetric, like, recorded)

    def solve(self, solver: Callable[[PlainEquation], np.ndarray], tol: float) -> Any:
        """The solution that a solver on plain arrays finds, with its derivatives."""
        try:
            x = self.solve_plain(solver, tol, *map_tree(strip_history, (self.x0, self.theta)))
        except CapturedBatch:
            self.close()
            x = self.solve_plain(solver, tol, *map_tree(strip_history, (self.x0, self.theta)))
        self.theta = map_tree(snapshot, self.theta)  # which the user may change before the backward pass
        return self.flat.tree(
            match_given(differentiate_solution(self.residual, x, self.derivative), (self.x0, self.theta))
        )

    def close(self) -> None:
        """Make the values that the function captured the last parameter, as batches must be among the parameters."""
        x = self.flat.tree(np.zeros(self.flat.size, self.flat.dtype))
        self.user, captured = close_over(self.user, (x, *self.theta), self.name)
        self.f, self.theta = self.make(self.user), (*self.theta, captured)

    def solve_plain(
        self, solver: Callable[[PlainEquation], np.ndarray], tol: float, x0: Any, theta: tuple[Any, ...]
    ) -> Any:
        """The solution without derivatives, element by element if there are batches."""
        found = batch_lengths((x0, theta))
        if not found:
            plain = PlainEquation(self, x0, theta)
            x = solver(plain)
            with np.errstate(over="ignore", invalid="ignore"):
                refuse_unconverged(self.name, x, plain.residual(x), plain.residual(plain.start), tol)
            plain.refuse_lost(self.evaluate(x, plain.theta))
            return x
        level, n = max(found.items())
        if not n:
            raise user_error(ValueError, f"{self.name} of an empty batch", because="there is nothing to solve.")
        with bind_axis(name_of_level(level), None):
            rows = [self.solve_plain(solver, tol, *batch_element((x0, theta), i, level)) for i in range(n)]
        return Batched(stack(rows), level)


class PlainEquation:
    """An equation without derivatives, for solvers: its functions take and return plain vectors."""

    def __init__(self, equation: Equation, x0: Any, theta: tuple[Any, ...]):
        self.equation, self.flat, self.theta = equation, equation.flat, theta
        self.start = np.array(self.flat.vector(x0), self.flat.dtype)
        self.levels: set[int] = set()  # of the values that a user's solver returned
        self.latest: tuple[Any, Any] = None, None

    @property
    def x0(self) -> Any:
        return self.flat.tree(self.start.copy())

    def residual(self, x: Any) -> np.ndarray:
        residual: np.ndarray = strip_derivatives(
            self.equation.evaluate(np.asarray(x, self.flat.dtype).reshape(-1), self.theta), 0
        )
        return residual

    def matrix(self, x: Any) -> LinearMap:
        """The derivative at x; the latest one is kept, because solvers need several products with it."""
        if self.latest[0] is None or not np.array_equal(x, self.latest[0]):
            equation, theta = self.equation, self.theta  # not self, which refers to the map
            self.latest = (
                np.array(x),
                equation.map(lambda v: equation.evaluate(v, theta), np.array(x, self.flat.dtype)).below(0),
            )
        latest: LinearMap = self.latest[1]
        return latest

    def step(self, x: Any, r: Any) -> np.ndarray:
        try:
            return self.matrix(x).solve(r, False)
        except np.linalg.LinAlgError as error:
            raise user_error(
                ConvergenceError,
                f"Newton's method in {self.equation.name} met a singular system",
                "Start elsewhere, or take another solver.",
            ) from error

    def jacobian(self, x: Any) -> np.ndarray:
        matrix: np.ndarray = self.matrix(x).matrices()[0]
        return matrix

    def product(self, x: Any, v: Any) -> np.ndarray:
        return np.asarray(self.matrix(x).product(np.asarray(v, self.flat.dtype), False))

    def function(self, x: Any) -> Any:
        """The user's function on plain arrays."""
        return map_tree(lambda y: strip_derivatives(y, 0), self.equation.user(x, *self.theta))

    def vector(self, x: Any) -> np.ndarray:
        """The result of a user's solver as a plain vector."""
        self.levels |= {
            layer.level for leaf in flatten(x)[0] for layer in iterate_payloads(leaf) if not is_constant(layer)
        }
        return np.array(strip_derivatives(self.flat.vector(x), 0), self.flat.dtype)

    def refuse_lost(self, r: Any) -> None:
        """Raise if the solver used captured values of transforms that the residual r does not depend on."""
        known = {layer.level for leaf in (r, *flatten(self.equation.theta)[0]) for layer in iterate_payloads(leaf)}
        if self.levels - known:
            raise user_error(
                GradientError,
                f"The solver of {self.equation.name} used a tracked value that its equation does not have",
                because="its gradient would be lost. Let the equation depend on it, or detach it.",
            )


def copy_array(x: Any) -> Any:
    """A copy of a plain array, which the user's code may change in place; anything else as it is."""
    return x.copy() if isinstance(x, np.ndarray) else x


def is_constant(x: Array) -> bool:
    """Whether x is a tensor of the user's without history."""
    return isinstance(x, Tensor) and x.node is None and not x.level


def strip_history(x: Any) -> Any:
    """A leaf of the arguments without derivatives: a plain array, or a batch."""
    if not isinstance(x, Array):
        return x
    if isinstance(x, Batched):
        return Batched(strip_history(x.value), x.level)
    if not isinstance(x, Tensor | Dual | Jet):
        raise unsupported_error(x)
    return strip_history(x.value)


def batch_lengths(tree: Any) -> dict[int, int]:
    """The levels of the batches in a tree, and their lengths."""
    return {
        layer.level: len(layer.value)
        for leaf in flatten(tree)[0]
        for layer in iterate_payloads(leaf)
        if isinstance(layer, Batched)
    }


def batch_element(tree: Any, i: int, level: int) -> Any:
    """Element i of a batch, in each leaf of a tree."""
    return map_tree(lambda x: x.value[i] if is_own(x, Batched, level) else x, tree)
