"""Kinds: most operations are elementwise, linear, multilinear or a reduction, and one line of calculus says all about
them.

Each function here enters one operation in the table and returns the function that users call. A rule is linear in its
first parameter `t`, and names what it needs (see `Definition`). Rules are written in the operations themselves, so they
run in every mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import UFUNCS
from wengert.core.definition import Case, Definition, Trial
from wengert.core.facts import NO_FACTS, Facts
from wengert.core.primitive import Primitive, register

ARGUMENTS = ("x", "y", "z")


def case(*args: Any, **params: Any) -> Case:
    """One test case of an operation.

    >>> case((2, 3), axis=0)
    Case(args=((2, 3),), params={'axis': 0})
    """
    return Case(args, params)


def shifted_axes(axis: tuple[int, ...]) -> dict[str, Any]:
    """What `batch` is for metadata that names axes."""
    return {"axis": tuple([i + 1 for i in axis])}


def shifted_axis(axis: int) -> dict[str, Any]:
    """What `batch` is for metadata that names one axis."""
    return {"axis": axis + 1}


def unchanged() -> dict[str, Any]:
    """What `batch` is for operations that work on the last axes, or on each element."""
    return {}


def enter(trial: Trial, **definition: Any) -> Callable:
    """Enter an operation in the table; returns the function that users call. NumPy's ufunc of it comes here too."""
    op = register(Primitive(Definition(**definition), trial))
    impl = definition["impl"]
    ufunc = getattr(impl, "ufunc", impl)
    if isinstance(ufunc, np.ufunc) and definition["kind"] in ("elementwise", "nondifferentiable"):
        UFUNCS[ufunc] = op
    return op


def elementwise(
    name: str,
    impl: Callable,
    *rules: Callable | None,
    inputs: Sequence[str] = ARGUMENTS,
    domain: Any = (-2.0, 2.0),
    singular: dict[tuple, tuple] | None = None,
    params: dict[str, Any] | None = None,
    real_output: bool = False,
    dead: Sequence[Callable | None] = (),
    taylor: Callable | None = None,
    facts: Facts = NO_FACTS,
) -> Callable:
    """An operation on each element, broadcasting: the same rule pushes a tangent forward and pulls a cotangent back.

    `domain` is where it is smooth, one interval for all arguments or one for each; `singular` lists points where
    formulas break and the derivatives chosen there. `params` has a value for each of its parameters, for the tests.
    `real_output` marks real functions of complex arguments. For `dead`, `taylor` and `facts` see `Definition`.
    """
    return enter(
        Trial(domain=domain, singular=singular or {}, params=params or {}),
        name=name,
        impl=impl,
        kind="elementwise",
        inputs=tuple(inputs[: len(rules)]),
        takes_params=bool(params),
        rules=rules,
        dead=tuple(dead),
        taylor=taylor,
        conforms=True if real_output else None,
        facts=facts,
    )


def linear(
    name: str,
    impl: Callable,
    *transposes: Callable | None,
    inputs: Sequence[str] = ARGUMENTS,
    structural: bool = True,
    dead: Sequence[Callable | None] = (),
    cases: Sequence[Case] = (),
    **definition: Any,
) -> Callable:
    """An operation linear in its arguments together; each transpose maps the cotangent of the output to one argument's.

    `structural` says that it moves, copies and adds numbers without scaling them. Further fields of the `Definition` are
    `vjp`, `outputs`, `conforms`, `batch`, `into`, `spec` and `facts`.
    """
    return enter(
        Trial(cases=cases),
        name=name,
        impl=impl,
        kind="linear",
        inputs=_names(inputs, len(transposes)),
        takes_params=True,
        rules=transposes,
        structural=structural,
        dead=tuple(dead),
        **definition,
    )


def multilinear(
    name: str,
    impl: Callable,
    *transposes: Callable,
    inputs: Sequence[str] = ARGUMENTS,
    cases: Sequence[Case] = (),
    takes_params: bool = False,
    **definition: Any,
) -> Callable:
    """An operation linear in each argument while the others are held: one transpose per argument.

    Further fields of the `Definition` are `batch` and `spec`.
    """
    return enter(
        Trial(cases=cases),
        name=name,
        impl=impl,
        kind="multilinear",
        inputs=tuple(inputs[: len(transposes)]),
        takes_params=takes_params,
        rules=transposes,
        **definition,
    )


def reduction(
    name: str, impl: Callable, rule: Callable, *, cases: Sequence[Case] = (), facts: Facts = NO_FACTS
) -> Callable:
    """An operation along axes, with `axis` (a tuple) and `keepdims`, whose derivative is elementwise for restored axes.

    `rule(t, x, out, axis)` gives dx from a cotangent and an output that broadcast against x; summed over the axes, it
    gives the output's tangent from that of x.
    """
    return enter(
        Trial(cases=cases),
        name=name,
        impl=impl,
        kind="reduction",
        inputs=("x",),
        takes_params=True,
        rules=(rule,),
        batch=shifted_axes,
        facts=facts,
    )


def general(
    name: str,
    impl: Callable,
    *rules: Callable | None,
    inputs: Sequence[str] = ARGUMENTS,
    jvps: Sequence[Callable | None] = (),
    cases: Sequence[Case] = (),
    **definition: Any,
) -> Callable:
    """Anything else: to pull back, a rule per argument, or one `vjp` for all of them; to push forward, one of `jvps` each.

    Further fields of the `Definition` are `vjp`, `outputs`, `batch`, `spec` and `facts`.
    """
    return enter(
        Trial(cases=cases),
        name=name,
        impl=impl,
        kind="general",
        inputs=_names(inputs, len(rules)),
        takes_params=True,
        rules=rules,
        jvps=tuple(jvps),
        **definition,
    )


def nondifferentiable(
    name: str,
    impl: Callable,
    arity: int = 1,
    *,
    inputs: Sequence[str] = ARGUMENTS,
    takes_params: bool = False,
    params: dict[str, Any] | None = None,
    domain: Any = (-2.0, 2.0),
    batch: Callable | None = None,
    cases: Sequence[Case] = (),
    reason: str,
    **definition: Any,
) -> Callable:
    """An operation through which no gradient flows; `reason` says why.

    `params` has a value for each of its parameters, for the tests, unless `cases` do. Further fields of the `Definition` are `spec`, `filled_in` and `facts`.
    """
    if batch is None and isinstance(impl, np.ufunc) and impl.signature is None:
        batch = unchanged
    return enter(
        Trial(domain=domain, cases=cases, params=params or {}),
        name=name,
        impl=impl,
        kind="nondifferentiable",
        inputs=tuple(inputs[:arity]),
        takes_params=takes_params or bool(params),
        batch=batch,
        reason=reason,
        **definition,
    )


def _names(inputs: Sequence[str], arity: int) -> tuple[str, ...]:
    return tuple(inputs[:arity] if inputs is ARGUMENTS else inputs)
