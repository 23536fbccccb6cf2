"""Operations with the rules of users: what `primitive` makes of a function.

A call is one operation of the engine, so it runs in every mode. The function runs on plain arrays. A rule is written
in functions of the layer and runs on the values of the mode, so that derivatives of derivatives are derivatives of
rules. One direction is enough: reverse mode transposes a rule that pushes tangents, forward mode one that pulls
cotangents. Cotangents follow the transpose convention here as there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, update_wrapper
from types import MethodType
from typing import Any
from uuid import uuid4

import numpy as np

from wengert.control.linear_tape import LinearTape
from wengert.control.values import is_smooth, to_owned
from wengert.core import tree
from wengert.core.array import Array
from wengert.core.definition import Definition
from wengert.core.errors import GradientError, TrackedValueError, user_error
from wengert.core.levels import bottom_array, is_own, iterate_payloads
from wengert.core.primitive import SHAPED, Primitive
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.batch import Batched
from wengert.modes.forward import fit_tangent, zeros_like
from wengert.modes.symbolic import Symbol
from wengert.modes.tensor import Tensor

ARRAY = object()
"""Stands for an array among the leaves of the arguments."""


class UserOperation:
    """A function whose derivative is given by rules: `defvjp` and `defjvp` set them.

    `vjps(argnums, ans, args, kwargs)` returns a function from a cotangent of the result to those of the arguments
    `argnums`. `jvps(argnums, tangents, ans, args, kwargs)` returns the tangent of the result.
    """

    vjps: Callable[..., Any] | None = None
    jvps: Callable[..., Any] | None = None
    is_constant = False  # whether no derivative flows through it

    def __init__(self, fun: Callable[..., Any]):
        update_wrapper(self, fun, updated=())
        self.fun, self.name = fun, getattr(fun, "__name__", "function")
        self.primitives: dict[int, Primitive] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.flatten(args)
        if kwargs and any(isinstance(leaf, Array) for leaf in tree.leaves(kwargs)):
            raise user_error(
                GradientError,
                f"{self.name} got a tracked value as a keyword argument",
                because="rules are for positional arguments. Pass it by position.",
            )
        if not any(isinstance(leaf, Array) for leaf in leaves):
            return self.fun(*args, **kwargs)
        if self.is_constant:
            return self.fun(*tree.unflatten(structure, map(bottom_array, leaves)), **kwargs)
        call = UserCall(self, leaves, structure, kwargs)
        arrays = [leaf for leaf in leaves if isinstance(leaf, SHAPED)]
        outs = self.primitive_of_arity(len(arrays)).op(*arrays, call=call)
        return tree.unflatten(call.structure_out, outs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method, if the function was defined in a class."""
        return self if instance is None else MethodType(self, instance)

    def primitive_of_arity(self, n: int) -> Primitive:
        """The operation of the engine for calls with n arrays."""
        if n not in self.primitives:
            self.primitives[n] = Primitive(
                Definition(
                    name=self.name,
                    impl=lambda *x, call, live=None: call.run(x),
                    kind="general",
                    inputs=("*x",),
                    takes_params=True,
                    outputs=0,
                    spec=lambda *x, call, live=None: call.infer_specs(x),
                    vjp=lambda t, x, out, call, live: call.pull(t, x, out, live),
                    jvps=tuple([push_rule(i) for i in range(n)]),
                    in_mode=run_user_operation,
                )
            )
        return self.primitives[n]


def push_rule(i: int) -> Callable[..., Any]:
    """The rule that pushes a tangent of array i."""
    return lambda t, x, out, call: call.push(i, t, x, out)


def run_user_operation(primitive: Primitive, top: Array, x: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """An operation on values, of which `top` has the highest level; the tape keeps which arrays are live."""
    if (trace := recording.capturing_trace(top.level, x)) is not None:
        return trace.run(primitive, x, params)
    params = {"call": params["call"]}
    if isinstance(top, Tensor):
        params["live"] = tuple([is_own(a, Tensor, top.level) and a.node is not None for a in x])
    return top.process(primitive, top.level, x, params)


class UserCall:
    """One call: its arguments, with arrays taken out, and its rules on given arrays."""

    structure_out: tree.Structure

    def __init__(self, function: UserOperation, leaves: list[Any], structure: tree.Structure, kwargs: dict[str, Any]):
        self.function, self.structure, self.kwargs = function, structure, kwargs
        self.leaves = [ARRAY if isinstance(leaf, SHAPED) else leaf for leaf in leaves]
        owners = [n for n, child in enumerate(structure.children) for _ in range(child.size)]
        self.argnums = [n for n, leaf in zip(owners, self.leaves, strict=True) if leaf is ARRAY]  # of each array

    @cached_property
    def name_in_graphs(self) -> str:
        """A string that no other call has: nothing is known of what the function does."""
        return f"{self.function.name} {uuid4().hex}"

    def token(self) -> str:
        """What stands for the call in the fingerprint of a graph."""
        return self.name_in_graphs

    def __repr__(self) -> str:
        return f"<call of {self.function.name}>"

    def assemble(self, arrays: Iterable[Any], rest: Callable[[Any], Any] = lambda leaf: leaf) -> tuple[Any, ...]:
        """The arguments with these arrays in them; `rest` is applied to the other leaves."""
        remaining = iter(arrays)
        args: tuple[Any, ...] = tree.unflatten(
            self.structure, [next(remaining) if leaf is ARRAY else rest(leaf) for leaf in self.leaves]
        )
        return args

    def run(self, x: Sequence[Any]) -> tuple[Any, ...]:
        """The results on plain arrays."""
        name = self.function.name
        outs, self.structure_out = tree.flatten(self.function.fun(*self.assemble(x), **self.kwargs))
        if any(isinstance(y, Array) for y in outs):
            raise user_error(
                GradientError,
                f"{name} uses a tracked value that is not among its arguments",
                because="its derivative would be lost. Pass it as a positional argument.",
            )
        return tuple([to_owned(y, name) for y in outs])

    def infer_specs(self, specs: Sequence[Spec]) -> tuple[Spec, ...]:
        """The specs of the results, for a graph: those for some numbers."""
        numbers = np.random.default_rng(0)
        examples = [numbers.uniform(0.5, 1.5, spec.shape).astype(spec.dtype) for spec in specs]
        with np.errstate(all="ignore"):
            return tuple(map(Spec.of, self.run(examples)))

    def pull(self, t: Sequence[Any], x: Sequence[Any], out: Sequence[Any], live: Sequence[bool]) -> list[Any]:
        """The cotangents of the live arrays x, for cotangents t of the results."""
        if self.function.vjps is None:
            return self.pull_by_jvps(t, x, out, live)
        g = tree.unflatten(self.structure_out, [zeros_like(y) if c is None else c for c, y in zip(t, out, strict=True)])
        argnums = self.live_argnums(live)

        def rule(g: Any, ans: Any, *args: Any) -> tuple[Any, ...]:
            assert self.function.vjps is not None
            return tuple(map(to_dense, self.function.vjps(argnums, ans, args, self.kwargs)(g)))

        ans, args = tree.unflatten(self.structure_out, out), self.assemble(x)
        found = dict(zip(argnums, run_rule(rule, f"{self.function.name}_vjp", g, ans, *args), strict=True))
        pulled: list[Any] = []
        for n, child in enumerate(self.structure.children):
            pulled += [None] * child.size if found.get(n) is None else self.cotangent_leaves(n, found[n], child)
        return [c for c, leaf in zip(pulled, self.leaves, strict=True) if leaf is ARRAY]

    def live_argnums(self, live: Sequence[bool]) -> tuple[int, ...]:
        """The arguments that hold a live array."""
        return tuple(sorted({n for n, alive in zip(self.argnums, live, strict=True) if alive}))

    def cotangent_leaves(self, n: int, cotangent: Any, structure: tree.Structure) -> list[Any]:
        """The leaves of the cotangent of argument n, which must have its structure."""
        leaves, found = tree.flatten(cotangent)
        if found != structure:
            raise user_error(
                GradientError,
                f"The rule of {self.function.name} for argument {n} returned {found!r}, and the argument is "
                f"{structure!r}",
            )
        return [leaf if isinstance(leaf, SHAPED) else np.asarray(leaf) for leaf in leaves]

    def push(self, i: int, t: Any, x: Sequence[Any], out: Sequence[Any]) -> tuple[Any, ...]:
        """The tangents of the results for a tangent t of array i."""
        if self.function.jvps is None:
            return self.push_by_vjps(i, t, x, out)
        argnum = self.argnums[i]
        tangents = self.assemble(
            [t if k == i else zeros_like(v) for k, v in enumerate(x)],
            lambda leaf: 0.0 if is_python_number(leaf) else leaf,
        )

        def rule(tangent: Any, ans: Any, *args: Any) -> Any:
            assert self.function.jvps is not None
            return to_dense(self.function.jvps((argnum,), (tangent,), ans, args, self.kwargs))

        ans = tree.unflatten(self.structure_out, out)
        name = f"{self.function.name}_jvp"
        pushed = tree.leaves(run_rule(rule, name, tangents[argnum], ans, *self.assemble(x)))
        return tuple(
            [fit_tangent(np.asarray(c) if is_python_number(c) else c, y) for c, y in zip(pushed, out, strict=True)]
        )

    def push_by_vjps(self, i: int, t: Any, x: Sequence[Any], out: Sequence[Any]) -> tuple[Any, ...]:
        """The same by the transpose of the rule that pulls."""
        with LinearTape([zeros_like(y) if is_smooth(y) else None for y in out]) as linear:
            seeds = [zeros_like(y) if c is None else c for y, c in zip(out, linear.inputs, strict=True)]
            try:
                pulled = self.pull(seeds, x, out, [k == i for k in range(len(x))])
            except TrackedValueError as error:
                name = self.function.name
                error.add_note(
                    f"Forward mode transposes the rule of {name}. Write it in autograd.numpy, or use defjvp."
                )
                raise
            pushed = linear.transpose([pulled[i]], [t])
        return tuple([zeros_like(y) if c is None else fit_tangent(c, y) for c, y in zip(pushed, out, strict=True)])

    def pull_by_jvps(self, t: Sequence[Any], x: Sequence[Any], out: Sequence[Any], live: Sequence[bool]) -> list[Any]:
        """The cotangents by the transpose of the rule that pushes."""
        if self.function.jvps is None:
            raise user_error(
                NotImplementedError,
                f"{self.function.name} has no rule for its derivative with respect to {self.live_argnums(live)}",
                "Give it one by autograd.extend.defvjp or defjvp.",
            )
        with LinearTape([zeros_like(v) if alive else None for v, alive in zip(x, live, strict=True)]) as linear:
            parts = [self.push(i, c, x, out) for i, c in enumerate(linear.inputs) if c is not None]
            pushed = [sum(column[1:], column[0]) for column in zip(*parts, strict=True)]
            return linear.transpose(pushed, t)


def run_rule(rule: Callable[..., Any], name: str, *args: Any) -> Any:
    """What a rule returns.

    If it cannot run on a batch or in a graph, because it is not written in functions of the layer, it is itself an
    operation there, without a rule.
    """
    values = [v for leaf in tree.leaves(args) for v in iterate_payloads(leaf)]
    if not any(isinstance(v, Batched | Symbol) for v in values):
        return rule(*args)
    try:
        return rule(*args)
    except TrackedValueError:
        opaque = UserOperation(rule)
        opaque.name = name
        return opaque(*args)


def is_python_number(x: Any) -> bool:
    """Whether x is a number of Python."""
    return isinstance(x, float | int | complex)


class SparseObject:
    """A cotangent of which most elements are zero: `mut_add` adds it to an array of the space `vs`."""

    __slots__ = ("mut_add", "vs")

    def __init__(self, vs: Any, mut_add: Callable[[Any], Any]):
        self.vs, self.mut_add = vs, mut_add


def to_dense(cotangent: Any) -> Any:
    """A cotangent as an array."""
    return cotangent.mut_add(cotangent.vs.zeros()) if isinstance(cotangent, SparseObject) else cotangent
