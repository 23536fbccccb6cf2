"""Kinds: most operations are elementwise, linear, multilinear or a reduction, and one line of calculus says all about
them.

Each function here enters one operation in the table and returns the function that users call. A rule is linear in its
first parameter `t`, and names what it needs (see `Primitive`). Rules are written in the operations themselves, so they
run in every mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import UFUNCS
from wengert.core.facts import NO_FACTS, Facts
from wengert.core.primitive import OperationFunction, Primitive, register

ARGUMENTS = ("x", "y", "z")


class Case(NamedTuple):
    """Arguments for which the tests check an operation: a shape stands for random numbers, an array for itself."""

    args: tuple
    params: dict[str, Any]


def case(*args: Any, **params: Any) -> Case:
    """A case with these arguments and parameters."""
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


def is_arithmetic(primitive: Primitive) -> bool:
    """Whether an operation is elementwise and its implementation calls nothing: then it runs on numbers of any kind."""
    code = getattr(primitive.impl, "__code__", None)
    return primitive.kind == "elementwise" and code is not None and not (code.co_names or code.co_freevars)


def describe(texts: dict[Callable, str]) -> None:
    """Give operations docstrings, each with an example: `{cube: "The cube of x. >>> cube(2.0) -> 8.0"}`."""
    for operation, text in texts.items():
        summary, _, example = text.partition(" >>> ")
        call, _, result = example.partition(" -> ")
        operation.__doc__ = f"{summary}\n\n>>> {call}\n{result}\n"


def elementwise(
    name: str,
    impl: Callable,
    *rules: Callable | None,
    inputs: Sequence[str] = ARGUMENTS,
    domain: Any = (-2.0, 2.0),
    singular: dict[tuple, tuple] | None = None,
    lanes: Sequence[Callable | None] | None = None,
    taylor: Callable | None = None,
    real_output: bool = False,
    params: dict[str, Any] | None = None,
    facts: Facts = NO_FACTS,
) -> OperationFunction:
    """An operation on each element, broadcasting: the same rule pushes a tangent forward and pulls a cotangent back.

    `domain` is where it is smooth, one interval for all arguments or one for each; `singular` lists points where
    formulas break and the derivatives chosen there. `lanes` says per argument which lanes of the output do not depend
    on it (the untaken side of `where`). `real_output` marks real functions of complex arguments. `params` has a value
    for each parameter of its own, for the tests.
    """
    op = register(
        Primitive(
            name,
            impl,
            "elementwise",
            inputs[: len(rules)],
            rules,
            lanes=lanes,
            taylor=taylor,
            domain=domain,
            singular=singular,
            params=params,
            conforms=True if real_output else None,
            facts=facts,
        )
    )
    ufunc = getattr(impl, "ufunc", impl)
    if isinstance(ufunc, np.ufunc):
        UFUNCS[ufunc] = op
    return op


def linear(
    name: str,
    impl: Callable,
    *transposes: Callable | None,
    inputs: Sequence[str] = ARGUMENTS,
    vjp: Callable | None = None,
    outputs: int = 1,
    structural: bool = True,
    conforms: bool | None = None,
    lanes: Sequence[Callable | None] | None = None,
    batch: Callable | None = None,
    into: Callable | None = None,
    spec: Callable | None = None,
    cases: Sequence[Case] = (),
    facts: Facts = NO_FACTS,
) -> OperationFunction:
    """An operation linear in its arguments together; each transpose maps the output's cotangent to one argument's.

    `structural` says that it moves, copies and adds numbers without scaling them: then zeros that must stay zeros can
    be followed through it. `vjp` gives the cotangents of all arguments at once. `outputs` is their number, 0 if that
    depends on the arguments.
    """
    names = tuple(inputs)[: len(transposes)] if inputs is ARGUMENTS else tuple(inputs)
    return register(
        Primitive(
            name,
            impl,
            "linear",
            names,
            transposes,
            vjp=vjp,
            params={},
            outputs=outputs,
            structural=structural,
            conforms=conforms,
            lanes=lanes,
            batch=batch,
            into=into,
            spec=spec,
            cases=cases,
            facts=facts,
        )
    )


def multilinear(
    name: str,
    impl: Callable,
    *transposes: Callable,
    inputs: Sequence[str] = ARGUMENTS,
    params: dict[str, Any] | None = None,
    batch: Callable | None = None,
    spec: Callable | None = None,
    cases: Sequence[Case] = (),
) -> OperationFunction:
    """An operation linear in each argument while the others are held: one transpose per argument."""
    return register(
        Primitive(
            name,
            impl,
            "multilinear",
            inputs[: len(transposes)],
            transposes,
            params=params,
            batch=batch,
            spec=spec,
            cases=cases,
        )
    )


def reduction(name: str, impl: Callable, rule: Callable, *, cases: Sequence[Case] = ()) -> OperationFunction:
    """An operation along axes, with `axis` (a tuple) and `keepdims`, whose derivative is elementwise once the axes are
    put back.

    `rule(t, x, out, axis)` gives dx from a cotangent and an output that broadcast against x; summed over the axes, it
    gives the output's tangent from that of x.
    """
    return register(Primitive(name, impl, "reduction", ("x",), (rule,), params={}, batch=shifted_axes, cases=cases))


def general(
    name: str,
    impl: Callable,
    *rules: Callable | None,
    inputs: Sequence[str] = ARGUMENTS,
    vjp: Callable | None = None,
    jvps: Sequence[Callable | None] = (),
    outputs: int = 1,
    batch: Callable | None = None,
    spec: Callable | None = None,
    cases: Sequence[Case] = (),
) -> OperationFunction:
    """Anything else: to pull back, a rule per argument, or one `vjp` for all of them.

    To push forward, one of `jvps` per argument.
    """
    names = tuple(inputs)[: len(rules)] if inputs is ARGUMENTS else tuple(inputs)
    return register(
        Primitive(
            name,
            impl,
            "general",
            names,
            rules,
            vjp=vjp,
            jvps=jvps,
            outputs=outputs,
            params={},
            batch=batch,
            spec=spec,
            cases=cases,
        )
    )


def nondifferentiable(
    name: str,
    impl: Callable,
    arity: int = 1,
    *,
    inputs: Sequence[str] = ARGUMENTS,
    params: dict[str, Any] | None = None,
    domain: Any = (-2.0, 2.0),
    batch: Callable | None = None,
    spec: Callable | None = None,
    cases: Sequence[Case] = (),
    reason: str,
    filled_in: bool = False,
    facts: Facts = NO_FACTS,
) -> OperationFunction:
    """An operation through which no gradient flows; `reason` says why.

    `filled_in` says that its result is there to be assigned to.
    """
    if batch is None and isinstance(impl, np.ufunc) and impl.signature is None:
        batch = unchanged
    op = register(
        Primitive(
            name,
            impl,
            "nondifferentiable",
            inputs[:arity],
            (),
            params=params,
            domain=domain,
            batch=batch,
            spec=spec,
            cases=cases,
            reason=reason,
            filled_in=filled_in,
            facts=facts,
        )
    )
    if isinstance(impl, np.ufunc):
        UFUNCS[impl] = op
    return op
