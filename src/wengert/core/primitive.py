"""Primitive: one operation as the engine runs it, and `apply`, which runs it.

`apply(primitive, *arrays, **params)` looks for the value of the highest level among the arrays. If there is none, the
NumPy implementation runs. Otherwise the mode of that value runs the operation: it treats everything of a lower level as
constant and calls the operation again on the payloads, and so on down to NumPy.

`Primitive.op` is this function specialised to the operation's number of arguments, made once at registration.
Operators, methods and public functions call it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Parameter, Signature, unwrap
from typing import Any, Protocol

import numpy as np

from wengert.core.array import Array
from wengert.core.definition import Definition, Trial, needs
from wengert.core.devices import ARRAY_CLASSES, DeviceArray, explain_devices, library_of, memory_advice
from wengert.core.errors import TrackedValueError, user_error, user_line
from wengert.core.facts import VIEW
from wengert.core.foreign import is_foreign, read_foreign, refuse_objects
from wengert.core.levels import bottom_array, highest_value
from wengert.core.rule_calls import caller, keeper
from wengert.core.spec import PLAIN

UNTRIED = Trial()


class Primitive:
    """One operation: its `definition`, where the tests check it (`trial`), and what the engine specialises from these.

    `op` is the function that users call. `wanted` names the values that its rules need; `keep` picks these for a node
    to save, and `pulls`, `pushes` and `dead_masks` call the rules on what was saved.
    """

    __slots__ = (
        "definition", "trial", "name", "impl", "kind", "inputs", "outputs", "facts",
        "op", "wanted", "keeps", "keep_x", "keep_y", "keep_xy", "pulls", "pushes", "dead_masks",
        "constants", "conforms", "into", "is_plain", "is_unary",
    )  # fmt: skip

    def __init__(self, definition: Definition, trial: Trial = UNTRIED):
        self.definition, self.trial = definition, trial
        self.name, self.impl, self.kind = definition.name, definition.impl, definition.kind
        self.inputs, self.outputs, self.facts = definition.inputs, definition.outputs, definition.facts
        rules, vjp = definition.rules, definition.vjp
        # With several arguments, broadcasting and promotion may happen; then each cotangent conforms to its value.
        self.conforms = len(rules) > 1 if definition.conforms is None else definition.conforms
        self.is_plain = vjp is None and not definition.dead and self.outputs == 1
        self.into = definition.into
        named = (n for rule in definition.all_rules for n in needs(rule))
        self.wanted = tuple(dict.fromkeys(n for n in named if definition.names_value(n)))
        expands = ("t", "out") if self.kind == "reduction" else ()
        given = self.wanted, restore_axes
        self.pulls: list[Any] = [rule and caller(rule, *given, expands) for rule in ([vjp] if vjp else rules)]
        self.pushes: list[Any] = [rule and caller(rule, *given, expands[1:]) for rule in definition.jvps or rules]
        self.dead_masks: list[Any] = [rule and caller(rule, *given) for rule in definition.dead]
        self.keeps: dict[tuple[bool, ...], Callable[..., Any] | None] = {}
        self.keep_x: Any = self.keep(True, *[False] * (len(self.inputs) - 1))
        if len(self.inputs) == 2:
            self.keep_y: Any = self.keep(False, True)
            self.keep_xy: Any = self.keep(True, True)
        self.constants = tuple([i for i, rule in enumerate(rules) if rule is None])
        self.is_unary = len(self.inputs) == self.outputs == 1 and not self.constants and self.inputs[0][0] != "*"
        self.op: OperationFunction = bind(self)

    def keep(self, *live: bool) -> Callable[..., Any] | None:
        """`(out, *args) -> saved`: only what the rules of the live arguments need, in the order of `wanted`.

        None if no gradient flows to any live argument.
        """
        if live not in self.keeps:
            given = self.definition
            columns = [given.vjp and [given.vjp] * len(live), given.rules, given.jvps, given.dead]
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

    def __reduce__(self) -> tuple[Any, ...]:
        return lookup, (self.name,)


TABLE: dict[str, Primitive] = {}
"""Every operation by name, in the order of registration."""


class OperationFunction(Protocol):
    """The function that users call to run an operation."""

    __name__: str
    primitive: Primitive

    def __call__(self, *arrays: Any, **params: Any) -> Any: ...


def register(primitive: Primitive) -> OperationFunction:
    """Add a primitive to the table; returns the function that users call."""
    if primitive.name in TABLE:
        raise user_error(
            ValueError, f"The table already has an operation named {primitive.name!r}", "Choose another name."
        )
    TABLE[primitive.name] = primitive
    return primitive.op


LATE = (
    "control.branches",
    "control.loop",
    "ops.samples.counter_words",
    "ops.samples.draws",
    "distributed.operation",
)
"""The modules whose operations are not registered by `import wengert`, but when they are first used."""


def lookup(name: str) -> Primitive:
    """The primitive of this name."""
    for module in LATE:
        if name in TABLE:
            break
        import_module(f"wengert.{module}")
    return OUTPUT if name == OUTPUT.name else TABLE[name]


def apply(primitive: Primitive, *arrays: Any, **params: Any) -> Any:
    """Run an operation on plain arrays, or on values of any mode."""
    return primitive.op(*arrays, **params)


def bind(primitive: Primitive) -> Any:
    """`apply` for one primitive, specialised to its number of arguments."""
    arity = len(primitive.inputs) if not primitive.inputs[-1].startswith("*") else None
    definition = primitive.definition
    plain = not definition.takes_params and None not in definition.rules
    op: Callable[..., Any]
    if definition.in_mode:
        op = _bind_held(primitive, definition.in_mode)
    elif plain and arity == 1:
        op = _bind_unary(primitive)
    elif plain and arity == 2:
        op = _bind_binary(primitive)
    elif arity == 1:
        op = _bind_one(primitive)
    else:
        op = _bind_any(primitive)
    op.__name__ = op.__qualname__ = primitive.name
    op.primitive = primitive  # type: ignore[attr-defined]  # functions may have attributes
    if arity and not definition.takes_params and not plain:
        op.__signature__ = Signature(  # type: ignore[attr-defined]  # for inspect
            [Parameter(name, Parameter.POSITIONAL_ONLY) for name in primitive.inputs]
        )
    return op


def _bind_unary(primitive: Primitive) -> Callable[..., Any]:
    def op(x: Any, /) -> Any:
        try:
            if isinstance(x, Array):
                return x.process_unary(primitive, x.level, x)
            run = primitive.impl  # a variable: faster than a call of an attribute
            return run(x)
        except ERRORS as error:
            again = recover(error, primitive, (x,))
            if again is None:
                raise
            return op(*again)

    return op


def _bind_binary(primitive: Primitive) -> Callable[..., Any]:  # noqa: C901  # hot: no further calls per operation
    def op(x: Any, y: Any, /) -> Any:  # noqa: C901  # the same
        try:
            if isinstance(x, Array):
                if isinstance(y, Array):
                    if y.level != x.level:
                        if y.level > x.level:
                            return y.process_binary(primitive, y.level, x.value if x.is_frozen else x, y)
                        y = y.value if y.is_frozen else y
                elif y.__class__ not in PLAIN:
                    y = as_number(y)
                    if isinstance(y, Array):  # a list that holds values
                        return op(x, y)
                return x.process_binary(primitive, x.level, x, y)
            if isinstance(y, Array):
                if x.__class__ not in PLAIN:
                    x = as_number(x)
                    if isinstance(x, Array):
                        return op(x, y)
                return y.process_binary(primitive, y.level, x, y)
            run = primitive.impl
            return run(x, y)
        except ERRORS as error:
            again = recover(error, primitive, (x, y))
            if again is None:
                raise
            return op(*again)

    return op


def _bind_one(primitive: Primitive) -> Callable[..., Any]:
    def op(x: Any, /, **params: Any) -> Any:
        try:
            if isinstance(x, Array):
                return x.process(primitive, x.level, (x,), params)
            run = primitive.impl
            return run(x, **params)
        except ERRORS as error:
            again = recover(error, primitive, (x,))
            if again is None:
                raise
            return op(*again, **params)

    return op


def _bind_any(primitive: Primitive) -> Callable[..., Any]:
    def op(*args: Any, **params: Any) -> Any:
        top: Any = None
        odd = False
        for a in args:
            if isinstance(a, Array):
                if top is None or a.level > top.level:
                    top = a
            elif a.__class__ not in PLAIN:
                odd = True
        try:
            if top is None:
                return primitive.impl(*args, **params)
            if odd:
                args = tuple(map(as_number, args))
                top = highest_value(args)
            return top.process(primitive, top.level, args, params)
        except ERRORS as error:
            again = recover(error, primitive, args)
            if again is None:
                raise
            return op(*again, **params)

    return op


def _bind_held(primitive: Primitive, in_mode: Callable[..., Any]) -> Callable[..., Any]:
    def op(*args: Any, **params: Any) -> Any:
        top = highest_value(args)
        return primitive.impl(*args, **params) if top is None else in_mode(primitive, top, args, params)

    return op


ERRORS = (TypeError, ValueError, MemoryError)


def recover(error: Exception, primitive: Primitive, args: Sequence[Any]) -> Sequence[Any] | None:
    """The operands that an operation is to run with instead, after an error; None if the error is to be raised.

    A list that holds values is one value. The first array of a device's library makes that library known, and beside
    such arrays, an array of NumPy without axes is a number.
    """
    if any(a.__class__ not in PLAIN and library_of(a) is not None for a in args):
        return args
    again = [stack_lists(a) if isinstance(a, list | tuple) and holds_value(a) else a for a in args]
    if any(bottom_array(a).__class__ in ARRAY_CLASSES for a in args):
        again = [a[()] if a.__class__ is np.ndarray and not a.ndim else a for a in again]
    if any(a is not b for a, b in zip(args, again, strict=True)):
        return again
    if isinstance(error, TrackedValueError):
        return None
    explain_devices(error, primitive.name, [bottom_array(a) for a in args])
    if isinstance(error, MemoryError) or (isinstance(error, ValueError) and highest_value(args) is not None):
        locate(error, primitive, args)
    return None


def locate(error: ValueError | MemoryError, primitive: Primitive, args: Sequence[Any]) -> None:
    """Add a note to NumPy's error: the operation, the shapes of its arguments, and the user's line."""
    line = user_line()
    if line not in str(error) and not getattr(error, "__notes__", None):
        shapes = " and ".join(str(a.shape) for a in args if isinstance(a, SHAPED))
        advice = (
            memory_advice([bottom_array(a) for a in args])
            if isinstance(error, MemoryError)
            else ""
            if isinstance(error, np.linalg.LinAlgError)
            else " Reshape an operand, or insert axes: x[:, None]."
        )
        error.add_note(f"This was {primitive.name} of shapes {shapes}, at {line}.{advice}")


DISPATCHED = type(np.sort)
"""The class of NumPy's functions that look for other libraries' arrays."""


def plain_impl(primitive: Primitive) -> Callable[..., Any]:
    """An operation's implementation without native code for large arrays. NumPy's functions follow its protocols."""
    impl: Callable[..., Any] = unwrap(primitive.impl, stop=lambda f: isinstance(f, DISPATCHED))
    return impl


def gives_constants(primitive: Primitive) -> bool:
    """Whether no derivative flows through an operation, so that its results are constants."""
    return primitive.kind == "nondifferentiable" and not primitive.definition.filled_in


ON_HOST = (Array, np.ndarray, np.generic)
SHAPED = (*ON_HOST, DeviceArray)
"""Classes that have a shape. That of arrays on devices is asked last: to ask takes a call."""


def as_constant(x: Any) -> Any:
    """A constant operand as modes take it: a list as one array, another library's array by its numbers."""
    if isinstance(x, list | tuple):
        return stack_lists(x)
    if x.__class__ in PLAIN or isinstance(x, SHAPED) or library_of(x) is not None:
        return x
    if hasattr(x, "tocsr"):
        raise user_error(
            TypeError,
            f"A {type(x).__name__} met a value in an operation that is not for it",
            "Sparse matrices are operands of @ and of wg.linalg.solve; S.toarray() is one of all operations.",
        )
    return read_foreign(x) if is_foreign(x) else x


def as_number(x: Any) -> Any:
    """As `as_constant`; an error names what is not a number."""
    constant = as_constant(x)
    if constant is x and x.__class__ not in PLAIN and not isinstance(x, SHAPED):
        refuse_objects(x)
    return constant


def as_operand(x: Any) -> Any:
    """An argument of a public function as a value or an array."""
    if isinstance(x, ON_HOST) or x.__class__ in ARRAY_CLASSES:
        return x
    x = as_number(x)
    return x if isinstance(x, ON_HOST) or x.__class__ in ARRAY_CLASSES else np.asarray(x)


def stack_lists(x: Any) -> Any:
    """A list or tuple as one array, or as one value if it holds values; anything else unchanged."""
    if not isinstance(x, list | tuple):
        return x
    if not holds_value(x):
        return read_list(x)
    return TABLE["stack"].op(*map(stack_lists, x), axis=0)


def read_list(x: Any, dtype: Any = None) -> Any:
    """A list of numbers, or an array, as a new array; an error names what in it is not a number."""
    if ARRAY_CLASSES and isinstance(x, DeviceArray):
        return x.copy() if dtype is None else x.astype(dtype)
    try:
        array = np.array(x, dtype)
    except (TypeError, ValueError, RuntimeError, BufferError):
        refuse_objects(x)
        raise
    if array.dtype.kind not in "biufc":
        refuse_objects(x)
    return array


def holds_value(x: Any) -> bool:
    """Whether x is a value or a list that holds one."""
    return any(map(holds_value, x)) if isinstance(x, list | tuple) else isinstance(x, Array)


def restore_axes(reduced: Any, params: dict[str, Any]) -> Any:
    """The result of a reduction with its reduced axes back, of length one."""
    return reduced if params["keepdims"] else TABLE["expand_dims"].op(reduced, axis=params["axis"])


OUTPUT = Primitive(
    Definition(
        name="output", impl=lambda x, index: x[index], kind="general", inputs=("x",), takes_params=True, facts=VIEW
    )
)
"""Picks one output of an operation that has several, on the tape and in a graph."""
OUTPUT.is_plain = False  # the backward pass first collects the cotangents of all outputs
