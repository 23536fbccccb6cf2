"""Kinds of operations: elementwise, linear, multilinear, reduction, general and nondifferentiable.

Each function here adds one operation to the table and returns the function that users call. A rule is linear in its
first parameter `t` and names what else it needs (see `Definition`). Rules are written in operations of the table, so
they run in every mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import UFUNCS
from wengert.core.definition import Case, Definition, Trial
from wengert.core.facts import NO_FACTS, Facts
from wengert.core.large_arrays import for_large_arrays, for_reductions
from wengert.core.primitive import OperationFunction, Primitive, plain_impl, register

ARGUMENTS = ("x", "y", "z")


def case(*args: Any, **params: Any) -> Case:
    """One test case of an operation.

    >>> case((2, 3), axis=0)
    Case(args=((2, 3),), params={'axis': 0})
    """
    return Case(args, params)


def shift_axes(axis: tuple[int, ...]) -> dict[str, Any]:
    """The `batch` of operations with a parameter `axis` that is a tuple."""
    return {"axis": tuple([i + 1 for i in axis])}


def shift_axis(axis: int) -> dict[str, Any]:
    """The `batch` of operations with a parameter `axis` that is an integer."""
    return {"axis": axis + 1}


def keep_params() -> dict[str, Any]:
    """The `batch` of operations on each element or on the last axes: no parameter changes."""
    return {}


def add_operation(trial: Trial, **definition: Any) -> OperationFunction:
    """Add an operation to the table, and to those that NumPy's ufunc calls; returns the function that users call."""
    op = register(Primitive(Definition(**definition), trial))
    impl = definition["impl"]
    ufunc = getattr(impl, "ufunc", impl)
    if isinstance(ufunc, np.ufunc) and definition["kind"] in ("elementwise", "nondifferentiable"):
        UFUNCS[ufunc] = op
    if hasattr(impl, "large_calls"):
        impl.large_calls.primitive = op.primitive
    return op


def is_arithmetic(primitive: Primitive) -> bool:
    """Whether an operation is elementwise and its implementation calls nothing: then it runs on numbers of any kind."""
    code = getattr(plain_impl(primitive), "__code__", None)
    return primitive.kind == "elementwise" and code is not None and not (code.co_names or code.co_freevars)


def describe(texts: dict[Callable[..., Any], str]) -> None:
    """Give operations docstrings, each with an example: `{cube: "The cube of x. >>> cube(2.0) -> 8.0"}`."""
    for operation, text in texts.items():
        summary, _, example = text.partition(" >>> ")
        call, _, result = example.partition(" -> ")
        operation.__doc__ = f"{summary}\n\n>>> {call}\n{result}\n"


def elementwise(
    name: str,
    impl: Callable[..., Any],
    *rules: Callable[..., Any] | None,
    inputs: Sequence[str] = ARGUMENTS,
    domain: Any = (-2.0, 2.0),
    singular: dict[tuple[Any, ...], tuple[Any, ...]] | None = None,
    params: dict[str, Any] | None = None,
    real_output: bool = False,
    dead: Sequence[Callable[..., Any] | None] = (),
    taylor: Callable[..., Any] | None = None,
    collect: Callable[..., Any] | None = None,
    facts: Facts = NO_FACTS,
) -> OperationFunction:
    """An operation on each element, with broadcasting: the same rule pushes tangents and pulls cotangents.

    For `domain`, `singular` and `params` see `Trial`. `real_output` marks real functions of complex arguments. For
    `dead`, `taylor`, `collect` and `facts` see `Definition`.
    """
    if not params:
        impl = for_large_arrays(impl, len(rules), facts)
    return add_operation(
        Trial(domain=domain, singular=singular or {}, params=params or {}),
        name=name,
        impl=impl,
        kind="elementwise",
        inputs=tuple(inputs[: len(rules)]),
        takes_params=bool(params),
        rules=rules,
        dead=tuple(dead),
        taylor=taylor,
        collect=collect,
        conforms=True if real_output else None,
        facts=facts,
    )


def linear(
    name: str,
    impl: Callable[..., Any],
    *transposes: Callable[..., Any] | None,
    inputs: Sequence[str] = ARGUMENTS,
    structural: bool = True,
    dead: Sequence[Callable[..., Any] | None] = (),
    cases: Sequence[Case] = (),
    **definition: Any,
) -> OperationFunction:
    """An operation linear in all arguments together; each transpose maps the output's cotangent to an argument's.

    `structural` says that it moves, copies and adds numbers without scaling them. Other fields of the `Definition` are
    `vjp`, `outputs`, `conforms`, `batch`, `into`, `spec` and `facts`.
    """
    return add_operation(
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
    impl: Callable[..., Any],
    *transposes: Callable[..., Any] | None,
    inputs: Sequence[str] = ARGUMENTS,
    cases: Sequence[Case] = (),
    takes_params: bool = False,
    **definition: Any,
) -> OperationFunction:
    """An operation linear in each argument with the others fixed: one transpose per argument, None for integers.

    Other fields of the `Definition` are `batch` and `spec`.
    """
    return add_operation(
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
    name: str,
    impl: Callable[..., Any],
    rule: Callable[..., Any],
    *,
    cases: Sequence[Case] = (),
    facts: Facts = NO_FACTS,
) -> OperationFunction:
    """An operation along axes, with the parameters `axis` (a tuple) and `keepdims`.

    `rule(t, x, out, axis)` gives the cotangent of x from a cotangent and an output that broadcast against x. Summed
    over the axes, it gives the tangent of the output from that of x.
    """
    return add_operation(
        Trial(cases=cases),
        name=name,
        impl=for_reductions(impl, facts),
        kind="reduction",
        inputs=("x",),
        takes_params=True,
        rules=(rule,),
        batch=shift_axes,
        facts=facts,
    )


def general(
    name: str,
    impl: Callable[..., Any],
    *rules: Callable[..., Any] | None,
    inputs: Sequence[str] = ARGUMENTS,
    jvps: Sequence[Callable[..., Any] | None] = (),
    cases: Sequence[Case] = (),
    **definition: Any,
) -> OperationFunction:
    """Any other operation: a rule per argument, or one `vjp`, to pull cotangents; one of `jvps` each to push tangents.

    Other fields of the `Definition` are `vjp`, `outputs`, `batch`, `collect` and `spec`.
    """
    return add_operation(
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
    impl: Callable[..., Any],
    arity: int = 1,
    *,
    inputs: Sequence[str] = ARGUMENTS,
    takes_params: bool = False,
    params: dict[str, Any] | None = None,
    domain: Any = (-2.0, 2.0),
    batch: Callable[..., Any] | None = None,
    cases: Sequence[Case] = (),
    reason: str,
    facts: Facts = NO_FACTS,
    **definition: Any,
) -> OperationFunction:
    """An operation through which no gradient flows; `reason` says why.

    For `params`, `domain` and `cases` see `Trial`. Other fields of the `Definition` are `spec`, `filled_in` and
    `facts`.
    """
    if isinstance(impl, np.ufunc) and impl.signature is None:
        batch = batch or keep_params
        if facts.cost is not None:
            impl = for_large_arrays(impl, arity, facts)
    return add_operation(
        Trial(domain=domain, cases=cases, params=params or {}),
        name=name,
        impl=impl,
        kind="nondifferentiable",
        inputs=tuple(inputs[:arity]),
        takes_params=takes_params or bool(params),
        batch=batch,
        reason=reason,
        facts=facts,
        **definition,
    )


def _names(inputs: Sequence[str], arity: int) -> tuple[str, ...]:
    return tuple(inputs[:arity] if inputs is ARGUMENTS else inputs)
