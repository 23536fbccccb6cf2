"""Primitive: one operation of the table, and `apply`, the one way in.

`apply(primitive, *arrays, **params)` looks for the value of the highest level among the arrays. There is none: NumPy's
implementation runs. There is one: its mode interprets the operation, treats everything of a lower level as constant,
and calls the operation again on the payloads, and so on down to NumPy.

Every operation has this function partially evaluated for its own arity (`Primitive.op`), made once at registration:
that is what the operators, the methods and the public functions call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter, Signature
from typing import Any, Protocol

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import TrackedValueError, user_line
from wengert.core.facts import NO_FACTS, VIEW, Facts
from wengert.core.foreign import is_foreign, numbers_of
from wengert.core.spec import Spec

new_level = itertools.count(2).__next__
"""A level for one run of one transform: unique across threads, higher than those of the transforms around it.

Below them are the user's tensors, at level 0, and the user's symbols, at level 1.
"""


class Primitive:
    """What is true of one operation, said once.

    `inputs` names its array arguments, a starred last one stands for any number. `rules` has one rule per array
    argument (None: no gradient flows there), linear in its first parameter `t`; its other parameters name what it
    needs: inputs (`x`), their specs (`x_spec`), the output (`out`), or the operation's own metadata. `vjp` is one rule
    for all arguments at once, and returns a tuple; `jvps` push tangents forward where the rules that pull cotangents
    back do not say how. `taylor` gives a recurrence for the coefficients of its power series, where the derivative
    alone would not end. `batch` gives the metadata that changes where the array has one more axis, the batch, in front;
    it names what it needs: the metadata, `n` (the length of that axis) or `rank` (without it), and returns None where
    there is no such metadata. `into(buffer, t, saved, params)` adds what it pulls back to a buffer of the engine's own,
    where that is cheaper than making it first. `spec(*operands, **params)` gives the result's spec where asking NumPy
    (see `core/infer.py`) would be costly or cannot tell. `filled_in` marks operations whose result is there to be
    filled in (`r = np.zeros_like(x); r[1:] = ...`): a value of the mode of their operand, although none of its numbers,
    and so no derivative, goes into it. `params` is None for an operation without metadata; for the others the tests use
    its values. `facts` are what is plainly true of it beside all this (see `core/facts.py`).
    """

    __slots__ = (
        "name", "impl", "kind", "inputs", "rules", "vjp", "jvps", "taylor", "batch", "into", "lanes", "outputs", "params",
        "domain", "cases", "singular", "reason", "structural", "conforms", "plain", "op", "wanted", "pulls", "pushes",
        "constants", "dead_lanes", "facts", "filled_in", "keeps", "keep_x", "keep_y", "keep_xy", "spec",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        impl: Callable,
        kind: str,
        inputs: Sequence[str],
        rules: Sequence[Callable | None] = (),
        *,
        vjp: Callable | None = None,
        jvps: Sequence[Callable | None] = (),
        taylor: Callable | None = None,
        batch: Callable | None = None,
        into: Callable | None = None,
        lanes: Sequence[Callable | None] | None = None,
        outputs: int = 1,
        spec: Callable | None = None,
        params: dict[str, Any] | None = None,
        conforms: bool | None = None,
        structural: bool = False,
        domain: Any = None,
        cases: Sequence[Any] = (),
        singular: dict[tuple, tuple] | None = None,
        reason: str | None = None,
        filled_in: bool = False,
        facts: Facts = NO_FACTS,
    ):
        self.name, self.impl, self.kind, self.inputs = name, impl, kind, tuple(inputs)
        self.rules, self.vjp, self.jvps, self.lanes, self.outputs = tuple(rules), vjp, tuple(jvps), lanes, outputs
        self.params, self.domain, self.cases, self.singular, self.reason = params, domain, cases, singular or {}, reason
        self.structural, self.taylor, self.batch, self.into, self.spec, self.facts = (
            structural,
            taylor,
            batch,
            into,
            spec,
            facts,
        )
        self.filled_in = filled_in
        # A rule of several arguments may meet broadcasting and promotion; then the engine conforms each cotangent to
        # its value.
        self.conforms = len(self.rules) > 1 if conforms is None else conforms
        self.plain = vjp is None and lanes is None and outputs == 1
        self.wanted = tuple(dict.fromkeys(n for rule in self._all_rules() for n in needs(rule) if self._is_value(n)))
        expands = ("t", "out") if kind == "reduction" else ()
        self.pulls: list[Any] = [rule and caller(rule, self.wanted, expands) for rule in ([vjp] if vjp else self.rules)]
        self.pushes: list[Any] = [rule and caller(rule, self.wanted, expands[1:]) for rule in self.jvps or self.rules]
        self.dead_lanes: list[Any] = [rule and caller(rule, self.wanted) for rule in lanes or ()]
        self.keeps: dict[tuple[bool, ...], Callable | None] = {}
        self.keep_x: Any = self.keep(True, *[False] * (len(self.inputs) - 1))
        if len(self.inputs) == 2:
            self.keep_y: Any = self.keep(False, True)
            self.keep_xy: Any = self.keep(True, True)
        self.constants = tuple([i for i, rule in enumerate(self.rules) if rule is None])
        self.op = bind(self)

    def _all_rules(self) -> list[Callable]:
        return [rule for rule in (self.vjp, *self.rules, *self.jvps, *(self.lanes or ())) if rule]

    def _is_value(self, name: str) -> bool:
        return name in ("out", "out_spec") or name.removesuffix("_spec") in map(_bare, self.inputs)

    def keep(self, *live: bool) -> Callable | None:
        """`(out, *args) -> saved`: just what the rules of the live arguments need, in the order of `wanted`.

        None where no gradient flows to any live argument.
        """
        if live not in self.keeps:
            columns = [self.vjp and [self.vjp] * len(live), self.rules, self.jvps, self.lanes]
            rules = [
                rule
                for column in columns
                if column
                for rule, alive in zip(column, live, strict=False)
                if rule and alive
            ]
            needed = {n for rule in rules for n in needs(rule)}
            names = tuple(n if n in needed else None for n in self.wanted)
            self.keeps[live] = keeper(self.inputs, names) if rules else None
        return self.keeps[live]

    def __repr__(self) -> str:
        return f"<{self.kind} operation {self.name}>"

    def __reduce__(self) -> tuple:
        return lookup, (self.name,)


def _bare(name: str) -> str:
    return name.removeprefix("*")


TABLE: dict[str, Primitive] = {}
"""Every operation by name, in the order of registration."""


class OperationFunction(Protocol):
    """The function that users call to run an operation."""

    __name__: str
    primitive: Primitive

    def __call__(self, *arrays: Any, **params: Any) -> Any: ...


def register(primitive: Primitive) -> OperationFunction:
    """Enter a primitive in the table; returns the function that users call."""
    if primitive.name in TABLE:
        raise ValueError(f"the table already has an operation named {primitive.name!r}; choose another name")
    TABLE[primitive.name] = primitive
    return primitive.op


def lookup(name: str) -> Primitive:
    return OUTPUT if name == OUTPUT.name else TABLE[name]


def apply(primitive: Primitive, *arrays: Any, **params: Any) -> Any:
    """Run an operation on plain arrays, or on values of any mode."""
    return primitive.op(*arrays, **params)


def bind(primitive: Primitive) -> Any:
    """`apply` for one primitive, specialised to its arity."""
    arity = len(primitive.inputs) if not primitive.inputs[-1].startswith("*") else None
    plain = primitive.params is None and None not in primitive.rules
    op: Any = (_bind_unary if arity == 1 and plain else _bind_binary if arity == 2 and plain else _bind_any)(primitive)
    op.__name__ = op.__qualname__ = primitive.name
    op.primitive = primitive
    if arity and primitive.params is None and not plain:
        op.__signature__ = Signature([Parameter(name, Parameter.POSITIONAL_ONLY) for name in primitive.inputs])
    return op


def _bind_unary(primitive: Primitive) -> Callable:
    impl = primitive.impl

    def op(x: Any, /) -> Any:
        if isinstance(x, Array):
            return x.process_unary(primitive, x.level, x)
        try:
            return impl(x)
        except TrackedValueError:
            return op(gathered(x))

    return op


def _bind_binary(primitive: Primitive) -> Callable:
    impl = primitive.impl

    def op(x: Any, y: Any, /) -> Any:
        try:
            if isinstance(x, Array):
                if isinstance(y, Array):
                    if y.level > x.level:
                        return y.process_binary(primitive, y.level, x, y)
                elif y.__class__ not in PLAIN:
                    y = as_constant(y)
                    if isinstance(y, Array):  # a list that holds values
                        return op(x, y)
                return x.process_binary(primitive, x.level, x, y)
            if isinstance(y, Array):
                if x.__class__ not in PLAIN:
                    x = as_constant(x)
                    if isinstance(x, Array):
                        return op(x, y)
                return y.process_binary(primitive, y.level, x, y)
        except ValueError as error:
            locate(error, primitive, (x, y))
            raise
        try:
            return impl(x, y)
        except TrackedValueError:
            return op(gathered(x), gathered(y))

    return op


def _bind_any(primitive: Primitive) -> Callable:
    impl = primitive.impl

    def op(*args: Any, **params: Any) -> Any:
        top, odd = None, False
        for a in args:
            if isinstance(a, Array):
                if top is None or a.level > top.level:
                    top = a
            elif a.__class__ not in PLAIN:
                odd = True
        if top is not None:
            if odd:
                args = tuple(map(as_constant, args))
                top = max((a for a in args if isinstance(a, Array)), key=lambda a: a.level)
            try:
                return top.process(primitive, top.level, args, params)
            except ValueError as error:
                locate(error, primitive, args)
                raise
        try:
            return impl(*args, **params)
        except TrackedValueError:
            return op(*map(gathered, args), **params)

    return op


def locate(error: ValueError, primitive: Primitive, args: Sequence[Any]) -> None:
    """Tell where an operation was called with what it does not take, as a note on NumPy's own error."""
    line = user_line()
    if line not in str(error) and not getattr(error, "__notes__", None):
        shapes = " and ".join(str(a.shape) for a in args if isinstance(a, SHAPED))
        advice = "" if isinstance(error, np.linalg.LinAlgError) else " Reshape an operand, or insert axes: x[:, None]."
        error.add_note(f"This was {primitive.name} of shapes {shapes}, at {line}.{advice}")


def gives_constants(primitive: Primitive) -> bool:
    """Whether no derivative flows through an operation, so that its results are numbers like any other."""
    return primitive.kind == "nondifferentiable" and not primitive.filled_in


SHAPED = (Array, np.ndarray, np.generic)

PLAIN = frozenset((np.ndarray, bool, int, float, complex, *np.sctypeDict.values()))
"""The classes of constants that NumPy computes with, by far the most frequent ones."""


def as_constant(x: Any) -> Any:
    """An operand beside a value as modes take it: lists put together, other libraries' arrays by their numbers,
    anything else as it is.
    """
    if isinstance(x, list | tuple):
        return gathered(x)
    return x if isinstance(x, SHAPED) or x.__class__ in PLAIN or not is_foreign(x) else numbers_of(x)


def operand(x: Any) -> Any:
    """An argument of a public function as something with a shape: a value or an array as it is, lists and numbers as
    one.
    """
    if isinstance(x, SHAPED):
        return x
    x = as_constant(x)
    return x if isinstance(x, SHAPED) else np.asarray(x)


def gathered(x: Any) -> Any:
    """A list or tuple as one array, or as one value if it holds any; anything else stays."""
    if not isinstance(x, list | tuple):
        return x
    if not holds_value(x):
        return np.asarray(x)
    return TABLE["stack"].op(*map(gathered, x), axis=0)


def holds_value(x: Any) -> bool:
    """Whether this is a value, or a list that has one in it."""
    return any(map(holds_value, x)) if isinstance(x, list | tuple) else isinstance(x, Array)


def needs(rule: Callable) -> tuple[str, ...]:
    """The names of what a rule needs beside the tangent."""
    code = rule.__code__
    return code.co_varnames[1 : code.co_argcount]


# The two functions below write a one-line lambda and compile it. Their number of distinct texts is small, so they are
# shared.


@cache
def _compiled(source: str) -> Callable:
    return eval(compile(source, __file__, "eval"), {"spec": Spec.of, "expanded": expanded})


def keeper(inputs: tuple[str, ...], names: tuple[str | None, ...]) -> Callable:
    """`lambda x, y, out: (x, None)`: picks what a node saves."""

    def pick(name: str | None) -> str:
        if name is None:
            return "None"
        if not name.endswith("_spec"):
            return name
        value = name.removesuffix("_spec")
        return f"tuple(map(spec, {value}))" if f"*{value}" in inputs else f"spec({value})"

    signature = ", ".join(("out", *inputs))
    return _compiled(f"lambda {signature}: ({''.join(pick(n) + ', ' for n in names)})")


def caller(rule: Callable, wanted: tuple[str, ...], expands: Sequence[str] = ()) -> Callable:
    """`lambda t, saved, params: rule(t, saved[0], params["axis"])`: calls a rule on what a node saved.

    What is named in `expands` is shown to the rule of a reduction with the reduced axes put back.
    """

    def argument(name: str) -> str:
        text = name if name == "t" else f"saved[{wanted.index(name)}]" if name in wanted else f"params[{name!r}]"
        return f"expanded({text}, params)" if name in expands else text

    arguments = ", ".join(map(argument, ("t", *needs(rule))))
    return _compiled(f"lambda rule: lambda t, saved, params: rule({arguments})")(rule)


def expanded(reduced: Any, params: dict[str, Any]) -> Any:
    """The result of a reduction with the reduced axes put back, of length one."""
    return reduced if params["keepdims"] else TABLE["expand_dims"].op(reduced, axis=params["axis"])


OUTPUT = Primitive("output", lambda x, index: x[index], "general", ("x",), params={"index": 0}, facts=VIEW)
"""One output of an operation that has several: stands between it and what uses that output, on the tape and in a graph.
"""
OUTPUT.plain = False  # the walk back knows it
