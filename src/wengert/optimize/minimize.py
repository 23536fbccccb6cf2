"""`minimize`: SciPy's methods, with every derivative that each of them can use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from wengert.core import machine
from wengert.core.errors import user_error
from wengert.implicit.solvers import as_start
from wengert.optimize.constraints import Constraint, MatrixConstraint, make_constraints
from wengert.optimize.objective import Objective
from wengert.optimize.progress import Watch
from wengert.optimize.variables import Variables, as_arguments, join_notes


class MethodTraits(NamedTuple):
    """What a method takes.

    `order` is that of the derivatives: 0, 1, 2 for products with the Hessian, 3 for the Hessian.
    """

    order: int
    bounds: bool = False
    constraints: bool = False


METHODS = {
    "Nelder-Mead": MethodTraits(0, True),
    "Powell": MethodTraits(0, True),
    "COBYLA": MethodTraits(0, True, True),
    "COBYQA": MethodTraits(0, True, True),
    "CG": MethodTraits(1),
    "BFGS": MethodTraits(1),
    "L-BFGS-B": MethodTraits(1, True),
    "TNC": MethodTraits(1, True),
    "SLSQP": MethodTraits(1, True, True),
    "Newton-CG": MethodTraits(2),
    "trust-ncg": MethodTraits(2),
    "trust-krylov": MethodTraits(2),
    "trust-constr": MethodTraits(2, True, True),
    "dogleg": MethodTraits(3),
    "trust-exact": MethodTraits(3),
}


def minimize(
    f: Callable,
    x0: Any,
    args: Any = (),
    method: str | None = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable | None = None,
    progress: Any = False,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    compile: bool | str = "auto",
    sparse: bool | str = "auto",
) -> Any:
    """The minimum of the scalar `f(x, *args)`, found from `x0` by a method of `scipy.optimize.minimize`.

    `x0` is an array or a tree of arrays. Each method gets all derivatives that it takes: value and gradient from one
    call, products with the Hessian or a sparse Hessian, Jacobians of constraints (sparse for trust-constr) and products
    with their Hessians. The function is traced once and runs as native code; if it cannot be traced ("auto"), or with
    compile=False, Python runs it each time. `sparse` asks for sparse matrices, or none.

    `bounds` are (lower, upper), each a number, an array or a tree like x0, or `scipy.optimize.Bounds`. `constraints`
    are dicts with "type" ("eq": zero, "ineq": not negative) and "fun", `NonlinearConstraint`, `LinearConstraint`, or a
    list of them. `callback` gets x, or a result if its parameter is named `intermediate_result`, and stops the search
    by raising StopIteration. `progress` shows a line.

    The result is SciPy's, with x and the gradient as trees like x0, and `how`, which says what was used.

    >>> found = minimize(lambda p: (p["a"] - 1.0) ** 2 + ((p["b"] - p["a"]) ** 2).sum(), {"a": 0.0, "b": np.zeros(2)})
    >>> found.x["b"].round(4)
    array([1., 1.])
    >>> found.how
    'BFGS; value and gradient in one call, native code'
    """
    variables = Variables(as_start(x0))
    many = constraints is not None and (not isinstance(constraints, tuple | list) or len(constraints) > 0)
    name, why = choose_method(method, variables.size, bounds is not None, many)
    kind = METHODS[name]
    limits = variables.bounds(bounds)
    objective = Objective(f, as_arguments(args), variables, kind.order, compile, sparse)
    conditions = make_constraints(constraints, variables, compile if kind.order else False, sparse) if many else []
    notes = [name + why, *objective.notes, *variables.notes]
    if kind.order:
        notes += [note for c in conditions for note in c.differentiate(name == "trust-constr")]
    if name == "trust-constr" and conditions:  # it takes either sparse or dense Jacobians
        options = {"sparse_jacobian": any(c.is_sparse for c in conditions)} | (options or {})
    if name == "Newton-CG" and tol is None and variables.size >= machine.current.min_variables_of_total_tolerance:
        options = {"xtol": 1e-4 / variables.size} | (options or {})
    scipy = import_module("scipy.optimize")
    with Watch(name, variables, callback, progress, objective.measure) as watch:
        try:
            result = scipy.minimize(
                objective.value,
                variables.start.copy(),
                method=name,
                bounds=None if limits is None else scipy.Bounds(*limits),
                constraints=adapt_constraints(name, conditions),
                callback=watch if callback is not None or progress else None,
                tol=tol,
                options=options,
                **objective.derivatives(),
            )
        except StopIteration:  # some methods do not catch it
            result = interrupted_result(scipy, watch, objective)
        watch.show(result.x, last=True)
    checked: list[Objective | Constraint] = [objective, *[c for c in conditions if not isinstance(c, MatrixConstraint)]]
    for part in checked:
        part.traced.warn_if_stale(result.x, part.value)
    return restore_trees(result, variables, notes)


def choose_method(method: str | None, n: int, has_bounds: bool, has_constraints: bool) -> tuple[str, str]:
    """The name of the method, and why it was chosen if it was."""
    if method is None:
        if has_constraints:
            return (
                ("SLSQP", "")
                if n <= machine.current.max_variables_of_dense_method
                else ("trust-constr", " (chosen for many variables)")
            )
        return ("L-BFGS-B", "") if has_bounds or n > machine.current.max_variables_of_dense_method else ("BFGS", "")
    known = {name.lower(): name for name in METHODS}
    if not isinstance(method, str) or method.lower() not in known:
        raise user_error(ValueError, f"minimize has no method {method!r}", f"It has {', '.join(METHODS)}.")
    name = known[method.lower()]
    for what, is_given in (("bounds", has_bounds), ("constraints", has_constraints)):
        if is_given and not getattr(METHODS[name], what):
            able = [other for other, kind in METHODS.items() if getattr(kind, what)]
            raise user_error(ValueError, f"{name} takes no {what}", f"Choose one of {', '.join(able)}.")
    return name, ""


def adapt_constraints(name: str, conditions: list[Constraint]) -> list:
    """Constraints as the method takes them."""
    if name in ("SLSQP", "COBYLA"):
        return [row for c in conditions for row in c.as_dicts()]
    return [c.as_dense() if name == "COBYQA" else c.as_nonlinear() for c in conditions]


def interrupted_result(scipy: Any, watch: Watch, objective: Objective) -> Any:
    """The result of a search that the user's callback has stopped."""
    assert watch.point is not None
    return scipy.OptimizeResult(
        x=watch.point, fun=objective.value(watch.point), nit=watch.iteration, nfev=objective.evaluations, success=False,
        status=99, message="`callback` raised `StopIteration`.",
    )  # fmt: skip


def restore_trees(result: Any, variables: Variables, notes: list[str]) -> Any:
    """SciPy's result with trees like x0 for vectors that have one number for each element of it."""
    for name in ("x", "jac", "grad", "lagrangian_grad", "active_mask"):
        found = result.get(name)
        if isinstance(found, np.ndarray) and found.shape == (variables.size,):
            result[name] = variables.tree(found)
    if "allvecs" in result:
        result["allvecs"] = [variables.tree(x) for x in result["allvecs"]]
    result["how"] = join_notes(notes)
    return result
