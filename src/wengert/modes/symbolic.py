"""Symbolic mode: Symbol, a value that is not known yet. What is done to it becomes a graph.

Symbols run below every transform that is started on them, so a derivative of a function of symbols is made of symbols again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import TrackedValueError, user_line
from wengert.core.infer import infer, is_elementwise
from wengert.core.primitive import OUTPUT, Primitive, gathered
from wengert.core.source import source
from wengert.core.subclasses import refuse_subclass
from wengert.graph.ir import PYTHON_NUMBERS, Constant, Node, Operation, constant, is_one_number, weakness
from wengert.ops.key import Hole

SYMBOLS = 1
"""The level of the symbols that users make, above their tensors and below all transforms."""


class Constants:
    """The arrays that one trace has met: an array that is used often is one constant.

    `has_rules` says that it has met a function with a derivative of the user's own, of which the graph has the operations alone.
    """

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, bytes, Node]] = {}
        self.before: list[tuple[Array, Array]] = []  # captured values, and others that stand for what they were
        self.has_rules = False

    def of(self, value: Any) -> Node:
        if not isinstance(value, np.ndarray | Array):
            return Constant(value)
        refuse_subclass(value)
        state = b"" if isinstance(value, Array) else digest(value)
        found = self.known.get(id(value))
        if found is None or found[1] != state:
            found = self.known[id(value)] = value, state, constant(value)  # with the value itself, so that no id is used twice
            if isinstance(value, Array):
                self.before.append((value, twin(value)))
        return found[2]

    def restore(self) -> None:
        """Make captured values that were changed in place, and so became symbols, what they were before the trace."""
        for value, earlier in self.before:
            if value.value is not earlier.value:
                Array._become(value, earlier)


def twin(value: Array) -> Array:
    """Another object with the same value."""
    made = object.__new__(value.__class__)
    Array._become(made, value)
    return made


def digest(value: np.ndarray) -> bytes:
    """Tells whether an array has changed."""
    if is_one_number(value):
        value = value[(0,) * value.ndim]
    return hashlib.blake2b(np.ascontiguousarray(value).data, digest_size=16).digest()


class Symbol(Array):
    """A value that is not known yet: a node of a graph. Shape and dtype are known, its numbers are not.

    `value` is the node, `extra` the constants of the trace that it belongs to.
    """

    __slots__ = ()

    def __init__(self, node: Node, level: int = SYMBOLS, constants: Constants | None = None):
        self.value, self.level, self.extra = node, level, constants

    @property
    def node(self) -> Node:
        return self.value

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple, params: dict[str, Any]) -> Any:
        nodes: list[Node] = []
        constants = None
        if primitive.name == "gather" and Hole.MASK in params["key"].key:
            key, indices = params["key"].without_masks(args[0].shape, args[1:])
            args, params = (args[0], *indices), {"key": key}
        for a in args:
            if a.__class__ is Symbol and a.level == level:
                nodes.append(a.value)
                constants = a.extra
            elif a.__class__ is list or a.__class__ is tuple:
                return primitive.op(*map(gathered, args), **params)
            else:
                nodes.append(a)
        if len(nodes) > 1:
            make = constants.of if constants is not None else constant
            nodes = [a if isinstance(a, Node) else make(strong(a, primitive)) for a in nodes]
        return recorded(primitive, nodes, params, level, constants)

    def _plain(self, what: str) -> np.ndarray:
        raise TrackedValueError(
            f"{what} needs numbers, but of a traced value only the shape {self.shape} and dtype {self.dtype} are known, at {user_line()}. "
            f"Use an operation of wengert or NumPy instead (wg.stack for a list of values), or pass the argument as a constant "
            f"(static_argnums)."
        )

    def __bool__(self) -> bool:
        raise TrackedValueError(
            f"The truth of a traced value (`if`, `while`, `and`, `or`, `not`, `assert`) is not known yet, at {user_line()}. "
            f"Choose between values with wg.where(condition, x, y), loop a fixed number of times, or pass what decides as a constant "
            f"(static_argnums)."
        )

    def numpy(self) -> np.ndarray:
        return self._plain("numpy()")

    def item(self, *index: Any) -> Any:
        return self._plain("item()")

    def tolist(self) -> Any:
        return self._plain("tolist()")

    def __format__(self, format_spec: str) -> str:
        return format(self._plain(f"A number in the format {format_spec!r}"), format_spec) if format_spec else str(self)

    def detach(self) -> Symbol:
        """The same value: symbols have no history of their own."""
        return self

    def __repr__(self) -> str:
        node = self.node
        what = node.name or (node.primitive.name if isinstance(node, Operation) else "constant")
        return f"symbol({what}: {node.spec!r})"


def strong(x: Any, primitive: Primitive) -> Any:
    """An argument as the operation takes it: all but elementwise ones take a Python number for an array."""
    return np.asarray(x)[()] if x.__class__ in PYTHON_NUMBERS and not is_elementwise(primitive) else x


def recorded(primitive: Primitive, nodes: Sequence[Node], params: dict[str, Any], level: int, constants: Constants | None) -> Any:
    """An operation as a node of the graph, and the symbols of its results."""
    if params.get("reuse"):
        params = params | {"reuse": False}  # there is no array yet that could be reused
    try:
        spec = infer(primitive, tuple([n.operand for n in nodes]), params)
    except IndexError as error:
        error.add_note(f"This was {primitive.name} of a value of shape {nodes[0].shape}, at {user_line()}.")
        raise
    node = Operation(primitive, tuple(nodes), params, spec, weakness(primitive, nodes, spec), None, source())
    if primitive.outputs == 1:
        return Symbol(node, level, constants)
    parts = [Operation(OUTPUT, (node,), {"index": i}, s) for i, s in enumerate(spec)]
    return tuple([Symbol(part, level, constants) for part in parts])
