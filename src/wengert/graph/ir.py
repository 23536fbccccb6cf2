"""The nodes of a graph: inputs, constants and operations, each used by reference, each assigned once.

A node has a spec, so that it can stand for its value wherever only shape and dtype matter. Sequence numbers grow as
nodes are made, so they are a topological order, and nothing that walks a graph needs to recurse.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeGuard

import numpy as np

from wengert.core.array import Array
from wengert.core.aspects import primitive_of
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
"""What Python computes with its own numbers, and gives one of them."""


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
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.spec.size

    @property
    def nbytes(self) -> int:
        return self.spec.size * self.spec.dtype.itemsize

    @property
    def operand(self) -> Operand:
        """What shape rules need to know of it."""
        return self.spec if self.weak is None else self.weak


class Input(Node):
    """What a program is given."""

    __slots__ = ()


class Constant(Node):
    """A number or array that the program brings along.

    An Array as its value is a value that was captured: to be lifted to an input.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any, name: str | None = None):
        weak = value.__class__ if value.__class__ in PYTHON_NUMBERS else None
        super().__init__(Spec.of(value), weak, name)
        self.value = value

    @property
    def is_captured(self) -> bool:
        return isinstance(self.value, Array)


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


def operation(primitive: Primitive, args: Sequence[Node], /, **params: Any) -> Operation:
    """A new operation, whose spec is inferred."""
    args = tuple(args)
    if primitive is OUTPUT:
        return Operation(primitive, args, params, args[0].spec[params["index"]])
    spec = infer(primitive, tuple([a.operand for a in args]), params)
    return Operation(primitive, args, params, spec, weakness(primitive, args, spec))


def is_a(node: Node, *operations: Callable) -> TypeGuard[Operation]:
    """Whether a node is one of these operations, given as the functions that `ops/` has of them."""
    return isinstance(node, Operation) and node.primitive.op in operations


def weakness(primitive: Primitive, args: Sequence[Node], spec: Any) -> type | None:
    """The type of the Python number that an operation gives, if it is one."""
    if primitive in PYTHON_ARITHMETIC and all(a.weak for a in args):
        return {"b": bool, "i": int, "f": float, "c": complex}[spec.dtype.kind]
    return None


def constant(value: Any) -> Node:
    """A constant of its own: an array is copied, because the user may still change it.

    One number many times over stays one number.
    """
    if isinstance(value, np.ndarray):
        if is_one_number(value):
            return operation(primitive_of(_broadcast_to), [Constant(value[(0,) * value.ndim])], shape=value.shape)
        value = value.astype(value.dtype.newbyteorder("="), order="C")
        value.flags.writeable = False
    return Constant(value)


def is_one_number(value: np.ndarray) -> bool:
    """Whether an array was made by broadcasting a number."""
    return value.size > 1 and not any(value.strides)


def ordered(outputs: Iterable[Node]) -> list[Node]:
    """All nodes that these depend on, and they themselves, each after everything that it is made of."""
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
