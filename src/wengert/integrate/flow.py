"""A differential equation for SciPy: a function of plain numbers, whatever values the user's program has.

SciPy's solvers choose their steps by comparing numbers, so nothing of this is ever recorded. The elements of a batch
(under `vmap`) are solved together, as one large system with common steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import iterate_payloads
from wengert.core.primitive import as_operand
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.symbolic import Symbol
from wengert.modes.tensor import Tensor
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to, reshape
from wengert.transforms.jacobians import jacobian

EXPLICIT = ("RK23", "RK45", "DOP853")
"""The methods whose steps are known in closed form, and can be taken again on values."""
IMPLICIT = ("Radau", "BDF", "LSODA")
ROSENBROCK = "Rodas5P"
"""The implicit method of this package, which runs as a graph."""


def has_derivative(x: Any) -> bool:
    """Whether a value has a derivative that plain numbers would lose."""
    for part in iterate_payloads(x):
        if isinstance(part, Tensor):
            if part.node is not None and (part.level or recording.is_recording()):
                return True
        elif not isinstance(part, Batched):
            return True
    return False


def strip_derivatives(x: Any) -> Any:
    """The numbers of a value, without derivatives: an array, or a batch of arrays."""
    if isinstance(x, Symbol):
        raise user_error(
            TypeError,
            "An integral cannot be traced into a graph",
            because="SciPy chooses its points by looking at numbers. Call it outside the traced or compiled function, "
            "or compile the function that is integrated.",
        )
    if isinstance(x, Batched):
        return Batched(strip_derivatives(x.value), x.level)
    return strip_derivatives(x.value) if isinstance(x, Array) else x


class Batch:
    """The batches among some values, one for each enclosing `vmap`.

    `join` makes one plain array of them all, `split` undoes that.
    """

    def __init__(self, values: Iterable[Any]):
        sizes = {
            part.level: part.value.shape[0] for x in values for part in iterate_payloads(x) if isinstance(part, Batched)
        }
        self.sizes = dict(sorted(sizes.items()))
        self.count = math.prod(self.sizes.values())

    def join(self, x: Any) -> np.ndarray:
        """Plain numbers with all axes of batches in front; what does not depend on a batch is repeated."""
        x = strip_derivatives(x)
        for level, n in reversed(self.sizes.items()):
            mine = isinstance(x, Batched) and x.level == level
            x = x.value if mine else broadcast_to(as_operand(x), (n, *np.shape(x)))
        if isinstance(x, Array):
            raise user_error(
                GradientError,
                "A function under vmap began to use a captured batch after its integration had begun",
                "Pass that value in args=.",
            )
        return np.asarray(x)

    def split(self, x: np.ndarray) -> Any:
        """A plain array as a batch, or a batch of batches."""
        for level in self.sizes:
            x = Batched(x, level)  # type: ignore[assignment]  # the same numbers, seen as one element
        return x


@dataclass(frozen=True)
class Method:
    """One of SciPy's solvers and its options. `atol` may have one entry for each component of the state."""

    solver: Any
    rtol: float
    atol: Any
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the solver."""
        return self.solver if isinstance(self.solver, str) else self.solver.__name__

    def extend(self, copies: int) -> Method:
        """The same for a system of several copies of the state, without options that only fit the original."""
        kept = {k: v for k, v in self.options.items() if k in ("max_step", "min_step")}
        return replace(self, atol=np.tile(self.atol, copies) if np.ndim(self.atol) else self.atol, options=kept)

    def scale_time(self, length: float) -> Method:
        """The same with another unit of time."""
        options = {k: v / length if k.endswith("_step") and v is not None else v for k, v in self.options.items()}
        return replace(self, options=options)

    def settings(self, jac: Callable | None, batch: Batch) -> dict[str, Any]:
        """The options for SciPy.

        Its norm of errors is a mean over all elements of a batch; tolerances are tightened so that each element meets
        its own.
        """
        share = math.sqrt(max(batch.count, 1))
        atol = np.asarray(self.atol) / share
        options = self.options if jac is None or self.options.get("jac") is not None else self.options | {"jac": jac}
        return options | {
            "rtol": max(self.rtol / share, 100 * np.finfo(float).eps) if share > 1 else self.rtol,
            "atol": np.tile(atol, batch.count) if atol.ndim else float(atol),
        }

    def solve(
        self, rhs: Callable, span: tuple[float, float], y: np.ndarray, jac: Callable | None, batch: Batch, **wanted: Any
    ) -> Any:
        """SciPy's result."""
        rhs = stop_at_nonfinite(rhs) if self.name == "LSODA" else rhs
        return import_module("scipy.integrate").solve_ivp(
            rhs, span, y, self.solver, **self.settings(jac, batch), **wanted
        )


class Flow:
    """y' = fun(t, y, *args) for SciPy.

    Where times belong to a batch, it is solved over [0, 1], as fractions of each element's span.
    """

    def __init__(self, fun: Callable, span: Sequence[Any], y0: Any, args: tuple):
        self.fun, self.args = fun, tree.map(strip_derivatives, args)
        t0, t1 = map(strip_derivatives, span)
        y = strip_derivatives(y0)
        first = time_derivative(fun, t0, y, self.args)
        self.captured = has_derivative(first)  # it uses a value with a derivative that was not passed
        passed = [*span, y0, *tree.leaves(args)]
        self.batch = Batch([*passed, first])
        self.captured_batch = self.batch.sizes != Batch(passed).sizes
        self.is_scaled = isinstance(t0, Batched) or isinstance(t1, Batched)
        self.start, self.length = t0, t1 - t0
        self.span = (0.0, 1.0) if self.is_scaled else (float(t0), float(t1))
        self.y = self.batch.join(y)

    def time(self, s: Any) -> Any:
        """The time for SciPy's independent variable."""
        return self.start + s * self.length if self.is_scaled else s

    def rate(self, f: Any) -> Any:
        """A derivative with respect to time as one with respect to SciPy's variable."""
        return f * self.length if self.is_scaled else f

    def solver_times(self, points: Any) -> np.ndarray:
        """Points in time in SciPy's variable, where they are the same for all elements of a batch."""
        points = strip_derivatives(points)
        batch = Batch([points, self.batch.split(self.y)])
        s = batch.join((points - self.start) / self.length if self.is_scaled else points)
        first = s[(0,) * len(batch.sizes)]
        if not np.allclose(s, first, rtol=1e-12, atol=1e-12):
            raise user_error(
                ValueError,
                "Under vmap the points in time must divide t_span in the same way for all elements of the batch",
                "Call solve_ivp in a loop instead.",
            )
        return np.clip(first, 0.0, 1.0) if self.is_scaled else first

    def state(self, vector: np.ndarray) -> Any:
        """SciPy's vector as the state."""
        return self.batch.split(vector.reshape(self.y.shape))

    def rhs(self, s: float, vector: np.ndarray) -> np.ndarray:
        """The right-hand side for SciPy."""
        f = time_derivative(self.fun, self.time(s), self.state(vector), self.args)
        self.captured = self.captured or has_derivative(f)
        return self.batch.join(self.rate(f)).ravel()

    def jacobian(self, s: float, vector: np.ndarray) -> np.ndarray:
        """The Jacobian of `rhs`: for a batch, with one block for each element."""
        t = self.time(s)
        found = jacobian(lambda y: time_derivative(self.fun, t, y, self.args))(self.state(vector))
        return block_diagonal(self.batch.join(self.rate(found)))

    def solve(self, method: Method, **wanted: Any) -> Any:
        """SciPy's result."""
        if self.span[0] == self.span[1]:
            return self.result_at_rest(wanted.get("t_eval"), wanted.get("events") or ())
        method = self.fit_method(method)
        return method.solve(self.rhs, self.span, self.y.ravel(), self.automatic_jacobian(method), self.batch, **wanted)

    def steps(self, method: Method) -> Any:
        """SciPy's result without the states: the times of an explicit method's steps, in memory for one state."""
        if self.span[0] == self.span[1]:
            return self.result_at_rest(None)
        method = self.fit_method(method)
        start, stop = self.span
        solver = getattr(import_module("scipy.integrate"), method.name)(
            self.rhs, start, self.y.ravel(), stop, **method.settings(None, self.batch)
        )
        times = [start]
        while solver.status == "running":
            message = solver.step()
            if solver.status == "failed":
                raise stopped_error(message)
            times.append(solver.t)
        return make_result(np.array(times), solver.nfev)

    def fit_method(self, method: Method) -> Method:
        """The method with options for this system: a user's Jacobian is that of one element of a batch, in time."""
        user = method.options.get("jac")
        if self.batch.sizes:
            method = replace(method, options={k: v for k, v in method.options.items() if k.endswith("_step")})
        elif callable(user):
            method = replace(method, options=method.options | {"jac": lambda t, y: np.asarray(user(t, y, *self.args))})
        return method.scale_time(self.longest) if self.is_scaled else method

    @property
    def longest(self) -> float:
        """The longest span in a batch of them."""
        return float(np.abs(self.batch.join(self.length)).max())

    def result_at_rest(self, points: Any, events: Sequence[Callable] = ()) -> Any:
        """The result for a span of length zero."""
        y, t = self.y.reshape(-1, 1), np.array(self.span) if points is None else np.asarray(points)
        states = lambda s: np.repeat(y, len(s), axis=1) if np.ndim(s) else y[:, 0]
        seen = {"t_events": [np.zeros(0) for _ in events], "y_events": [np.zeros(0) for _ in events]} if events else {}
        return make_result(t, 0, y=states(t), sol=states, **seen)

    def automatic_jacobian(self, method: Method) -> Callable | None:
        """The Jacobian for methods that need one, if the function runs on values; else SciPy takes differences."""
        if method.name not in IMPLICIT or method.options.keys() & {"jac_sparsity", "lband", "uband"}:
            return None
        try:
            self.jacobian(self.span[0], self.y.ravel())
        except (TypeError, ValueError, AttributeError, RuntimeError):  # it may run on arrays only
            return None
        return self.jacobian


def time_derivative(fun: Callable, t: Any, y: Any, args: tuple) -> Any:
    """The result of `fun`, as a value of the state's shape and dtype."""
    f = as_operand(fun(t, y, *args))
    if f.shape != y.shape:
        if f.size != y.size:
            raise user_error(
                ValueError,
                f"The function to integrate returned an array of shape {f.shape} for a state of shape {y.shape}",
                "It must return one derivative for each component.",
            )
        f = reshape(f, y.shape)
    if f.dtype != y.dtype:
        if f.dtype.kind == "c":
            raise user_error(
                TypeError, "The function to integrate is complex and its state is not", "Start from y0 + 0j."
            )
        f = astype(f, y.dtype)
    return f


def block_diagonal(matrices: np.ndarray) -> np.ndarray:
    """Matrices along the diagonal of one."""
    if matrices.ndim == 2:
        return matrices
    return import_module("scipy.linalg").block_diag(*matrices.reshape(-1, *matrices.shape[-2:]))


def make_result(t: Any, nfev: Any, **more: Any) -> Any:
    """A result as SciPy returns it, for an integration that got to the end."""
    return import_module("scipy.optimize").OptimizeResult(result_fields(t, nfev, **more))


def result_fields(t: Any, nfev: Any, **more: Any) -> dict[str, Any]:
    """What a result has, for an integration that got to the end."""
    known = {
        "t": t,
        "y": None,
        "sol": None,
        "t_events": None,
        "y_events": None,
        "nfev": nfev,
        "njev": 0,
        "nlu": 0,
        "status": 0,
        "message": "The solver successfully reached the end of the integration interval.",
        "success": True,
    }
    return known | more


def stop_at_nonfinite(rhs: Callable) -> Callable:
    """A right-hand side that stops LSODA, which would go on for ever, where numbers are no longer finite."""

    def check(t: float, y: np.ndarray) -> np.ndarray:
        f = rhs(t, y)
        if not np.isfinite(f).all():
            raise stopped_error(f"The derivative of the state is not finite at t = {t:g}.")
        return f

    return check


def check_completed(result: Any) -> Any:
    """SciPy's result, if it got to the end."""
    if not result.success:
        raise stopped_error(result.message)
    return result


def stopped_error(why: str) -> RuntimeError:
    """The error for an integration that did not get to the end."""
    return user_error(
        RuntimeError,
        "The integration stopped before the end",
        because=f"{why} Try another method, other tolerances, or a shorter time.",
    )
