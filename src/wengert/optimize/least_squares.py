"""`least_squares`: sums of squares, with the exact Jacobian, sparse where that pays."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core.errors import user_error
from wengert.implicit.solvers import as_start
from wengert.optimize.matrices import DerivativeMatrix
from wengert.optimize.minimize import restore_trees
from wengert.optimize.progress import Watch
from wengert.optimize.traced_function import TracedFunction
from wengert.optimize.variables import Variables, as_arguments, plain_array

METHODS = ("trf", "dogbox", "lm")
LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")


class Residuals:
    """The vector that is squared and summed, and its Jacobian.

    `watch` is called with each point whose Jacobian is asked for.
    """

    def __init__(
        self,
        f: Callable,
        args: tuple,
        variables: Variables,
        compile: bool | str,
        sparse: bool | str,
        must_be_dense: bool,
    ):
        self.traced = TracedFunction("The residual", f, args, variables, compile, is_scalar=False)
        first = self.traced.first
        if not first.size:
            raise user_error(ValueError, "The residual has no elements", because="there is nothing to minimise.")
        wrong = ~np.isfinite(first)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise user_error(
                ValueError, f"Element {i} of the residual is {first[i]} at x0", "Start elsewhere; see wg.why_nan."
            )
        self.values = self.traced.derive(lambda f: f, variables.start)
        self.matrix, self.must_be_dense = DerivativeMatrix(self.traced, sparse), must_be_dense
        self.evaluations = 0
        self.watch: Watch | None = None
        self.latest: tuple[np.ndarray, np.ndarray] | None = None
        self.slope: Any = None

    def value(self, x: np.ndarray) -> np.ndarray:
        """The residuals at x."""
        self.evaluations += 1
        self.latest = np.array(x), np.asarray(plain_array(self.values(x)), float)
        return self.latest[1]

    def jacobian(self, x: np.ndarray) -> Any:
        """The Jacobian at x."""
        matrix = self.matrix.dense(x) if self.must_be_dense else self.matrix(x)
        if self.watch is not None:
            self.slope = matrix
            if self.watch.point is None:
                self.watch.point = np.array(x)  # the start is no iteration
            elif not np.array_equal(self.watch.point, x):
                self.watch(x)
        return matrix

    def measure(self, x: np.ndarray) -> tuple:
        """Half the sum of squares and its gradient, for the line of progress."""
        if self.latest is None or not np.array_equal(self.latest[0], x):
            return None, None, self.evaluations
        r = self.latest[1]
        return 0.5 * float(r @ r), self.slope.T @ r, self.evaluations


def least_squares(
    f: Callable,
    x0: Any,
    args: Any = (),
    method: str = "trf",
    bounds: Any = None,
    loss: str = "linear",
    callback: Callable | None = None,
    progress: Any = False,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    compile: bool | str = "auto",
    sparse: bool | str = "auto",
) -> Any:
    """The x that minimises half the sum of the squares of `f(x, *args)`, by a method of `scipy.optimize.least_squares`.

    `x0` and what f gives may be trees. The Jacobian is exact: sparse, with products alone ("lsmr") for the steps, where
    x has many elements and the pattern few colours; dense otherwise. `tol` stands for ftol, xtol and gtol; `options`
    are SciPy's other arguments (`f_scale`, `x_scale`, `max_nfev`, `tr_solver` ...). The rest is as for `minimize`.

    The result is SciPy's, with x and grad as trees like x0, fun as f gives it, and `how`, which says what was used.

    >>> t = np.linspace(0.0, 1.0, 5)
    >>> found = least_squares(lambda p: p["a"] * np.exp(p["b"] * t) - 2.0 * np.exp(-t), {"a": 1.0, "b": 0.0})
    >>> round(float(found.x["a"]), 6), round(float(found.x["b"]), 6)
    (2.0, -1.0)
    """
    if method not in METHODS:
        raise user_error(ValueError, f"least_squares has no method {method!r}", f"It has {', '.join(METHODS)}.")
    if not callable(loss) and loss not in LOSSES:
        raise user_error(
            ValueError, f"least_squares has no loss {loss!r}", f"It has {', '.join(LOSSES)}; or pass a function."
        )
    if method == "lm" and (bounds is not None or loss != "linear"):
        raise user_error(ValueError, "lm takes no bounds and only the linear loss", "Choose trf or dogbox.")
    options = dict(options or {})
    taken = sorted({"jac", "jac_sparsity", "args", "kwargs", "bounds", "method", "loss", "callback"} & set(options))
    if taken:
        raise user_error(
            ValueError, f"least_squares: options has {taken}", "Pass it as an argument, or leave it out: jac is exact."
        )
    variables = Variables(as_start(x0))
    limits = variables.bounds(bounds, prefer_pairs=False)
    must_be_dense = method == "lm" or options.get("tr_solver") == "exact"
    residuals = Residuals(f, as_arguments(args), variables, compile, sparse, must_be_dense)
    m, n = residuals.traced.first.size, variables.size
    if method == "lm" and m < n:
        raise user_error(
            ValueError, f"lm needs as many residuals as variables, and there are {m} and {n}", "Choose trf or dogbox."
        )
    if tol is not None:
        options = {"ftol": tol, "xtol": tol, "gtol": tol} | options
    traced = residuals.traced
    notes = [
        method,
        f"residual {traced.code}",
        f"Jacobian {residuals.matrix.description}",
        *traced.notes,
        *variables.notes,
    ]
    scipy = import_module("scipy.optimize")
    with Watch(method, variables, callback, progress, residuals.measure) as watch:
        residuals.watch = watch if callback is not None or progress else None
        try:
            result = scipy.least_squares(
                residuals.value,
                variables.start.copy(),
                jac=residuals.jacobian,
                bounds=(-np.inf, np.inf) if limits is None else limits,
                method=method,
                loss=loss,
                **options,
            )
        except StopIteration:
            assert watch.point is not None
            fun = residuals.value(watch.point)
            result = scipy.OptimizeResult(
                x=watch.point, fun=fun, cost=0.5 * float(fun @ fun), nfev=residuals.evaluations, success=False,
                status=-2, message="`callback` raised `StopIteration`.",
            )  # fmt: skip
        watch.show(result.x, last=True)
    traced.warn_if_stale(result.x, residuals.value)
    assert traced.out is not None
    result["fun"] = traced.out.tree(result.fun)
    return restore_trees(result, variables, notes)
