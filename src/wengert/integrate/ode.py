"""Initial value problems with SciPy's signatures, differentiable: initial state, parameters and times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.control.closures import is_for_graph
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.primitive import SHAPED, as_operand
from wengert.integrate.compiled_ivp import solve_compiled
from wengert.integrate.flow import Method, has_derivative
from wengert.integrate.problem import Problem, choose_adjoint, close_equation, solve_states
from wengert.integrate.traced_ivp import solve_in_graph
from wengert.ops.shape.casting import astype
from wengert.ops.shape.rearranging import concatenate
from wengert.ops.shape.reshaping import reshape


def solve_ivp(
    fun: Callable,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,  # noqa: ARG001  # as in SciPy's signature
    args: tuple | None = None,
    *,
    adjoint: str | None = None,
    rtol: float = 1e-3,
    atol: Any = 1e-6,
    **options: Any,
) -> Any:
    """The solution of y' = fun(t, y, *args) from y0 over t_span, by the solvers of `scipy.integrate.solve_ivp`.

    `t` and `y` of the result have derivatives with respect to `y0`, the arrays in `args` (which may be in lists and
    dicts), what `fun` captures, the ends of `t_span` and `t_eval`. Where no derivative is asked for, the result is
    SciPy's own.

    `adjoint="discrete"` (RK23, RK45, DOP853; their default) differentiates the numbers that are computed: the
    Runge-Kutta steps that SciPy accepted, scaled with t_span but not chosen anew, and the method's interpolant at
    t_eval. It works in all modes, to any order. `adjoint="continuous"` (any method; the default of Radau, BDF and
    LSODA) solves the adjoint equation back in time, or the variational equations forward, to the same tolerances.
    Methods that need the Jacobian of `fun` get it by automatic differentiation. `vectorized` is accepted and makes no
    difference.

    >>> def final(rate):
    ...     found = solve_ivp(lambda t, y, rate: -rate * y, (0.0, 1.0), [1.0], args=(rate,), rtol=1e-9, atol=1e-9)
    ...     return found.y[0, -1]
    >>> from wengert.transforms.gradients import grad
    >>> bool(abs(grad(final)(2.0) + np.exp(-2.0)) < 1e-7)
    True
    """
    chosen = Method(method, rtol, atol, options)
    choose_adjoint(chosen, adjoint)
    t0, t1 = t_span
    span, values = (as_time(t0), as_time(t1)), as_tuple(args)
    state = as_operand(y0)
    if state.ndim != 1:
        raise user_error(
            ValueError,
            f"`y0` of solve_ivp must be 1-dimensional, not of shape {state.shape}",
            "Use odeint, or reshape it.",
        )
    kind = state.dtype if state.dtype.kind in "fc" else np.dtype(float)
    points = None if t_eval is None else as_operand(t_eval)
    watched = None if events is None else [events] if callable(events) else list(events)
    y = in_double_precision(state)
    return Problem(fun, span, points, y, values, chosen, adjoint, watched, kind).solve(dense_output)


def odeint(
    func: Callable,
    y0: Any,
    t: Any,
    args: tuple = (),
    Dfun: Callable | None = None,
    *,
    rtol: float | None = None,
    atol: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    tfirst: bool = False,
    method: Any = "LSODA",
    adjoint: str | None = None,
) -> Any:
    """The solution of y' = func(y, t, *args) at the times t, as `scipy.integrate.odeint`; y0 belongs to the first.

    The state may be an array of any shape, or a tree of arrays; the result has the times as its first axis. Its
    derivatives, `method` and `adjoint` are those of `solve_ivp`. LSODA, which SciPy's function uses, has the continuous
    adjoint.

    >>> odeint(lambda y, t: -y, [1.0, 2.0], [0.0, 1.0]).round(4)
    array([[1.    , 2.    ],
           [0.3679, 0.7358]])
    """
    form = StateLayout(y0)
    points = as_operand(t)
    if points.ndim != 1 or not points.shape[0]:
        raise user_error(
            ValueError,
            f"odeint needs times in one dimension, the first of them that of y0, not of shape {points.shape}",
        )
    points = points if points.dtype.kind == "f" else astype(points, float)
    f = func if tfirst else lambda t, y, *args: func(y, t, *args)
    options: dict[str, Any] = {name: h for name, h in (("first_step", h0), ("max_step", hmax), ("min_step", hmin)) if h}
    if Dfun is not None:
        options["jac"] = Dfun if tfirst else lambda t, y, *args: Dfun(y, t, *args)
    chosen = Method(method, 1.49012e-8 if rtol is None else rtol, 1.49012e-8 if atol is None else atol, options)
    way = choose_adjoint(chosen, adjoint)
    vector, values = form.vector(y0), as_tuple(args)
    if points.shape[0] == 1:
        return form.rows(vector[None])
    span = (points[0], points[-1])
    fun = lambda t, v, *args: form.vector(f(t, form.tree(v), *args))
    if is_for_graph(lambda t, y, points, *args: fun(t, y, *args), (np.float64(0.0), vector, points, *values)):
        return form.rows(solve_in_graph(fun, span, points, vector, values, chosen, adjoint or "discrete")[1])
    found = solve_compiled(fun, span, points, vector, values, chosen, way, func, (tfirst, *form.key))
    if found is not None:
        return form.rows(found[0])
    fun, values, flow = close_equation(fun, span, vector, values)
    tracked = flow.captured or flow.batch.sizes or any(map(has_derivative, (points, vector, *tree.leaves(values))))
    if not tracked and adjoint is None:
        way = "continuous"  # one run of the solver, as there is nothing to differentiate
    _, rows, _ = solve_states(fun, span, points, vector, values, chosen, way, flow)
    return form.rows(rows)


def as_time(t: Any) -> Any:
    """One end of the span: a value, or a number."""
    if isinstance(t, Array):
        if t.shape:
            raise user_error(ValueError, f"`t_span` has two numbers, not an array of shape {t.shape}")
        return t if t.dtype.kind == "f" else astype(t, float)
    return float(t)


def as_tuple(args: Any) -> tuple:
    """Further arguments as a tuple."""
    if args is None:
        return ()
    if not isinstance(args, tuple | list):
        raise user_error(
            TypeError, f"`args` is a tuple of further arguments, not a {type(args).__name__}", "Write args=(value,)."
        )
    return tuple(args)


def in_double_precision(y: Any) -> Any:
    """A state in double precision, in which SciPy computes."""
    wanted = np.dtype(complex if y.dtype.kind == "c" else float)
    return y if y.dtype == wanted else astype(y, wanted)


class StateLayout:
    """How a state of any shape, or a tree of arrays, is laid out in one vector.

    A single number is a vector of one, as in SciPy.
    """

    def __init__(self, y0: Any):
        single = y0 if isinstance(y0, list | tuple) and y0 and not has_arrays(y0) else None
        leaves, self.structure = tree.flatten(as_operand(y0)) if single is not None else tree.flatten(y0)
        leaves = [as_operand(leaf) for leaf in leaves]
        self.shapes = [leaf.shape for leaf in leaves]
        if self.structure is tree.LEAF and not leaves[0].ndim:
            self.shapes = [(1,)]
        self.dtypes = [leaf.dtype if leaf.dtype.kind in "fc" else np.dtype(float) for leaf in leaves]
        self.dtype = np.dtype(complex if any(d.kind == "c" for d in self.dtypes) else float)
        self.bounds = np.cumsum([0, *[int(np.prod(shape)) for shape in self.shapes]])

    @property
    def key(self) -> tuple:
        """What makes two layouts equal."""
        return self.structure, tuple(self.shapes), tuple(self.dtypes)

    def vector(self, state: Any) -> Any:
        """A state as one vector."""
        leaves = [state] if self.structure is tree.LEAF else self._flatten(state)
        parts = [reshape(leaf, (-1,)) for leaf in map(as_operand, leaves)]
        parts = [p if p.dtype == self.dtype or p.dtype.kind == "c" else astype(p, self.dtype) for p in parts]
        return parts[0] if len(parts) == 1 else concatenate(parts)

    def _flatten(self, state: Any) -> list:
        leaves, structure = tree.flatten(state)
        if structure != self.structure:
            raise user_error(
                ValueError, f"The function to integrate returned {structure!r} for a state that is {self.structure!r}"
            )
        return leaves

    def tree(self, vector: Any) -> Any:
        """A vector as a state."""
        return self.rows(vector, ())

    def rows(self, rows: Any, leading: tuple | None = None) -> Any:
        """The states in rows as a tree whose arrays have the rows as their first axis."""
        leading = rows.shape[:1] if leading is None else leading
        spans = zip(self.bounds, self.bounds[1:], self.shapes, self.dtypes, strict=False)
        parts = []
        for start, stop, shape, dtype in spans:
            part = reshape(rows[..., start:stop], (*leading, *shape))
            if dtype.kind != "c" and part.dtype.kind == "c":
                part = part.real
            parts.append(part if part.dtype == dtype or leading == () else astype(part, dtype))
        return tree.unflatten(self.structure, parts)


def has_arrays(y0: Any) -> bool:
    """Whether a list has arrays with axes in it, and so is a tree, not one array."""
    return any(isinstance(leaf, SHAPED) and np.ndim(leaf) > 0 for leaf in tree.leaves(y0))
