"""The nodes of a graph: inputs, constants and operations, each used by reference, each assigned once.

A node has a spec, so that it can stand for its value wherever only shape and dtype matter. Sequence numbers grow as
nodes are made, so they are a topological order, and no function on graphs needs to recurse.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeGuard

import numpy as np

from wengert.core.array import Array
from wengert.core.aspects import primitive_of
from wengert.core.devices import DeviceArray
from wengert.core.infer import Operand, infer
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.source import Source
from wengert.core.spec import Spec
from wengert.ops.elementwise.arithmetic import add, divide, multiply, negative, positive, square, subtract
from wengert.ops.elementwise.complex_numbers import absolute
from wengert.ops.elementwise.exponential import _power
from wengert.ops.shape.reshaping import _broadcast_to

_next_sequence = itertools.count().__next__
by_sequence = attrgetter("sequence")
PYTHON_NUMBERS = (bool, int, float, complex)
PYTHON_ARITHMETIC = frozenset(
    map(primitive_of, (add, subtract, multiply, divide, _power, negative, positive, absolute, square))
)
"""Operations that of Python's own numbers give a Python number."""


class Node:
    """A value of a program.

    `weak` is the type of a Python number, whose dtype gives way to that of an array, else None.
    """

    __slots__ = ("dtype", "name", "sequence", "shape", "source", "spec", "weak")

    def __init__(self, spec: Any, weak: type | None = None, name: str | None = None, source: Source | None = None):
        self.spec: Any = spec
        self.shape: tuple[int, ...]
        self.dtype: Any
        self.shape, self.dtype = spec if spec.__class__ is Spec else ((), None)
        self.weak, self.name, self.source = weak, name, source
        self.sequence = _next_sequence()

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size: int = self.spec.size
        return size

    @property
    def specs(self) -> tuple[Spec, ...]:
        """One, or those of all outputs."""
        return (self.spec,) if self.spec.__class__ is Spec else self.spec

    @property
    def nbytes(self) -> int:
        """The bytes of the value, of all outputs if there are several."""
        if self.spec.__class__ is Spec:
            nbytes: int = self.spec.nbytes
            return nbytes
        return sum([spec.nbytes for spec in self.spec])

    @property
    def operand(self) -> Operand:
        """What shape rules need to know of it."""
        return self.spec if self.weak is None else self.weak


class Input(Node):
    """An argument of the program."""

    __slots__ = ()


class Constant(Node):
    """A number or array that is part of the program.

    If its value is an `Array`, or on a GPU, that was captured, and is to be lifted to an input.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any, name: str | None = None):
        weak = value.__class__ if value.__class__ in PYTHON_NUMBERS else None
        super().__init__(Spec.of(value), weak, name)
        self.value = value

    @property
    def is_captured(self) -> bool:
        """Whether the value is not plain numbers: it belongs to some mode, as a tensor does, or to a GPU."""
        return isinstance(self.value, Array | DeviceArray)


class Operation(Node):
    """A primitive on other nodes.

    Where it has several outputs, its spec is a tuple, and `OUTPUT` operations pick from it.
    """

    __slots__ = ("args", "params", "primitive")

    def __init__(
        self,
        primitive: Primitive,
        args: tuple[Node, ...],
        params: dict[str, Any],
        spec: Any,
        weak: type | None = None,
        name: str | None = None,
        source: Source | None = None,
    ):
        super().__init__(spec, weak, name, source)
        self.primitive, self.args, self.params = primitive, args, params

    def with_args(self, args: Sequence[Node]) -> Operation:
        """The same operation on other nodes, which have the same specs."""
        return Operation(self.primitive, tuple(args), self.params, self.spec, self.weak, self.name, self.source)


def make_operation(primitive: Primitive, args: Sequence[Node], /, **params: Any) -> Operation:
    """A new operation, whose spec is inferred."""
    args = tuple(args)
    if primitive is OUTPUT:
        return Operation(primitive, args, params, args[0].spec[params["index"]])
    spec = infer(primitive, tuple([a.operand for a in args]), params)
    return Operation(primitive, args, params, spec, weak_type(primitive, args, spec))


def is_a(node: Node, *operations: Callable[..., Any]) -> TypeGuard[Operation]:
    """Whether a node is one of these operations, given as functions of `ops/`."""
    return isinstance(node, Operation) and node.primitive.op in operations


def weak_type(primitive: Primitive, args: Sequence[Node], spec: Any) -> type | None:
    """The type of the Python number that an operation gives, if it is one."""
    if primitive in PYTHON_ARITHMETIC and all(a.weak for a in args):
        return {"b": bool, "i": int, "f": float, "c": complex}[spec.dtype.kind]
    return None


def make_constant(value: Any) -> Node:
    """A constant. An array is copied, because the user may still change it; a broadcast number stays one number."""
    if isinstance(value, np.ndarray):
        if is_broadcast_number(value):
            return make_operation(primitive_of(_broadcast_to), [Constant(value[(0,) * value.ndim])], shape=value.shape)
        value = value.astype(value.dtype.newbyteorder("="), order="C")
        value.flags.writeable = False
    return Constant(value)


def is_broadcast_number(value: np.ndarray[Any, Any]) -> bool:
    """Whether an array was made by broadcasting a number."""
    return value.size > 1 and not any(value.strides)


def topological_order(outputs: Iterable[Node]) -> list[Node]:
    """These nodes and all that they depend on, each after its operands."""
    seen = set(outputs)
    stack = list(seen)
    while stack:
        node = stack.pop()
        if isinstance(node, Operation):
            for arg in node.args:
                if arg not in seen:
                    seen.add(arg)
                    stack.append(arg)
    return sorted(seen, key=by_sequence)
