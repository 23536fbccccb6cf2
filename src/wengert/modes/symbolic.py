"""Symbolic mode: Symbol, a value that is not known yet. What is done to it becomes a graph.

Symbols run below every transform that is started on them, so a derivative of a function of symbols is made of symbols
again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.aspects import primitive_of
from wengert.core.errors import GradientError, TrackedValueError, user_error, user_line
from wengert.core.infer import infer, is_elementwise
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.source import source
from wengert.core.subclasses import refuse_subclass
from wengert.graph.evaluation import evaluate
from wengert.graph.graph import Graph
from wengert.graph.ir import PYTHON_NUMBERS, Constant, Input, Node, Operation, constant, is_one_number, weakness
from wengert.modes import recording
from wengert.ops.indexing.key import Hole
from wengert.ops.indexing.subscripts import gather
from wengert.ops.shape.casting import _stop_gradient

__all__ = ["Symbol"]

GATHER, STOP_GRADIENT = primitive_of(gather), primitive_of(_stop_gradient)
SYMBOLS = 1
"""The level of the symbols that users make, above their tensors and below all transforms."""


class Trace:
    """One run of a function on symbols: what it has met, and what it has assigned to.

    An array that is used often is one constant. A tensor of the user's is read at each call of the program: it is a
    constant that will be lifted to an input, and what is computed from it, or assigned to it, belongs to the program.
    The tensor itself is never touched, because other threads may be using it; what it stands for inside the trace is
    kept here. A value of a transform that runs around the trace belongs to this run alone, and so does the trace.

    `has_rules` says that it has met a function with a derivative of the user's own, of which the graph has the
    operations alone.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        self.known: dict[int, tuple[Any, Any, Node]] = {}
        self.around: list[
            tuple[Array, Array]
        ] = []  # values of transforms around the trace, and others that stand for what they were
        self.assigned: dict[int, Assignment] = {}
        self.stopped: dict[Node, Node] = {}  # what values stand for where no derivative flows
        self.repeated: str | None = None  # what runs its function more than once, or once for many
        self.has_rules = False
        self.is_closed = False

    def of(self, value: Any) -> Node:
        """The node of something that is not a symbol of this trace."""
        if not isinstance(value, np.ndarray | Array):
            return Constant(value)
        refuse_subclass(value)
        if id(value) in self.assigned:
            return self.assigned[id(value)].node
        state: Any = digest(value) if isinstance(value, np.ndarray) else id(value.value) if value.level else None
        found = self.known.get(id(value))
        if found is None or found[1] != state:
            node = constant(value)
            if isinstance(value, Array) and value.level:
                earlier = twin(value)
                self.around.append((value, earlier))
                node = Constant(earlier)
            found = self.known[id(value)] = value, state, node  # with the value itself, so that no id is used twice
        return found[2]

    def stop(self, node: Node) -> Node:
        """The same value, through which no derivative flows: an operand under `no_grad`."""
        if isinstance(node, Constant) and not node.is_captured:
            return node
        if node not in self.stopped:
            self.stopped[node] = Operation(STOP_GRADIENT, (node,), {}, node.spec, node.weak)
        return self.stopped[node]

    def symbol(self, value: Any) -> Symbol:
        """A value as a symbol of this trace."""
        return Symbol(self.of(value), self.level, self)

    def run(self, primitive: Primitive, args: tuple, params: dict[str, Any]) -> Any:
        """An operation on tensors of the user's, as part of the program."""
        return primitive.op(*[self.symbol(a) if isinstance(a, Array) else a for a in args], **params)

    def assign(self, tensor: Array, new: Any, is_recorded: bool) -> None:
        """Let a tensor of the user's stand for another value from here on; the program will write it back."""
        if self.repeated or (isinstance(new, Array) and new.level > self.level):
            where = self.repeated or f"a transform, as a {type(new).__name__} that has a derivative there"
            raise user_error(
                GradientError,
                f"A tensor that a compiled function captures was assigned to inside {where}",
                because="what it should be afterwards is not defined. Return the new value as a result (has_aux=True), "
                "or, in a transform that runs the function once, assign wg.stop_gradient(v).",
            )
        self.assigned[id(tensor)] = Assignment(
            tensor, new.value if is_mine(new, self.level) else self.of(new), is_recorded
        )

    def close(self) -> list[Assignment]:
        """What the program has to write back.

        Values of transforms around the trace become again what they were before it.
        """
        self.is_closed = True
        assignments = list(self.assigned.values())
        for value, earlier in self.around:
            if is_mine(value, self.level):
                assignments.append(Assignment(value, value.value, True))
                Array._become(value, earlier)
        return [a for a in assignments if not (isinstance(a.node, Constant) and a.node.value is a.target)]


class Assignment(NamedTuple):
    """What a program writes into a captured value when it has run, and whether a tape is to know of it."""

    target: Array
    node: Node
    is_recorded: bool


def is_mine(value: Any, level: int) -> bool:
    return isinstance(value, Symbol) and value.level == level


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


OF_TENSORS = frozenset(("backward", "grad", "requires_grad_", "retain_grad", "register_hook"))


class Symbol(Array):
    """A value that is not known yet: a node of a graph.

    Shape and dtype are known, its numbers only where it is made of constants.

    `value` is the node, `extra` the trace that it belongs to, None for a symbol that the user made.

    >>> import wengert as wg
    >>> x = wg.symbol("x", 3)
    >>> isinstance(x, Symbol), x.shape
    (True, (3,))
    """

    __slots__ = ()

    def __init__(self, node: Node, level: int = SYMBOLS, trace: Trace | None = None):
        self.value, self.level, self.extra = node, level, trace

    @property
    def node(self) -> Node:
        return self.value

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple, params: dict[str, Any]) -> Any:
        nodes: list[Node] = []
        trace = None
        if primitive is GATHER and Hole.MASK in params["key"].key:
            key, indices = params["key"].without_masks(args[0].shape, args[1:])
            args, params = (args[0], *indices), {"key": key}
        for a in args:
            if a.__class__ is Symbol and a.level == level:
                nodes.append(a.value)
                trace = a.extra
            else:
                nodes.append(a)
        if trace is not None and trace.is_closed:
            raise user_error(
                TrackedValueError,
                "A value of a traced function was used after the trace had ended",
                because="it has no numbers. Return it from the function, or assign it to a tensor that the function "
                "captures (t[...] = v).",
            )
        if len(nodes) > 1:
            current = recording.trace()
            if current is not None and current is not trace and any(isinstance(a, Array) and not a.level for a in args):
                return current.run(primitive, args, params)  # which knows what the user's tensors stand for
            make = trace.of if trace is not None else constant
            nodes = [a if isinstance(a, Node) else make(strong(a, primitive)) for a in nodes]
        return record(primitive, nodes, params, level, trace)

    def _plain(self, what: str) -> np.ndarray:
        """The numbers, where all that this is made of is known."""
        graph = Graph([], [self.node])
        if not any(
            isinstance(node, Input) or (isinstance(node, Constant) and node.is_captured) for node in graph.nodes
        ):
            return np.asarray(evaluate(graph, ())[0])
        kind = "captured tensor, which is read at each call," if isinstance(self.node, Constant) else "traced value"
        raise user_error(
            TrackedValueError,
            f"{what} needs numbers, but of a {kind} only the shape {self.shape} and dtype {self.dtype} are known",
            "Use an operation of wengert or NumPy instead (wg.stack for a list of values), or pass the argument as a "
            "constant (static_argnums).",
        )

    def __bool__(self) -> bool:
        try:
            return bool(self._plain("The truth of a value"))
        except TrackedValueError:
            raise user_error(
                TrackedValueError,
                "The truth of a traced value (`if`, `while`, `and`, `or`, `not`, `assert`) is not known yet",
                "Choose between values with wg.where(condition, x, y), loop a fixed number of times, or pass what "
                "decides as a constant (static_argnums).",
            ) from None

    def numpy(self) -> np.ndarray:
        return self._plain("numpy()")

    def item(self, *index: Any) -> Any:
        return self._plain("item()").item(*index)

    def tolist(self) -> Any:
        return self._plain("tolist()").tolist()

    def __format__(self, format_spec: str) -> str:
        return (
            format(self._plain(f"A number in the format {format_spec!r}")[()], format_spec)
            if format_spec
            else str(self)
        )

    def detach(self) -> Symbol:
        """The same value, through which no derivative flows."""
        node, trace = self.node, self.extra
        stopped = Operation(STOP_GRADIENT, (node,), {}, node.spec, node.weak) if trace is None else trace.stop(node)
        return Symbol(stopped, self.level, trace)

    def _become(self, new: Array) -> None:
        trace = self.extra
        if (
            trace is not None
            and recording.active
            and not recording.recording()
            and trace.stopped.get(self.node) is not self.node
        ):
            trace.has_rules = True  # the numbers change, the derivative does not: a graph cannot say that
        super()._become(new)

    def __getattr__(self, name: str) -> Any:
        advice = (
            " A traced function has no tape: differentiate a function of it with wg.grad." if name in OF_TENSORS else ""
        )
        raise AttributeError(f"A traced value has no attribute {name!r}, at {user_line()}.{advice}")

    def __repr__(self) -> str:
        node = self.node
        what = node.name or (node.primitive.name if isinstance(node, Operation) else "constant")
        return f"symbol({what}: {node.spec!r})"


def strong(x: Any, primitive: Primitive) -> Any:
    """An argument as the operation takes it: all but elementwise ones take a Python number for an array."""
    return np.asarray(x)[()] if x.__class__ in PYTHON_NUMBERS and not is_elementwise(primitive) else x


def record(primitive: Primitive, nodes: Sequence[Node], params: dict[str, Any], level: int, trace: Trace | None) -> Any:
    """An operation as a node of the graph, and the symbols of its results."""
    if params.get("reuse"):
        params = params | {"reuse": False}  # there is no array yet that could be reused
    stops = trace is not None and recording.active and not recording.recording()
    if trace is not None and stops:
        nodes = [trace.stop(node) for node in nodes]
    try:
        spec = infer(primitive, tuple([n.operand for n in nodes]), params)
    except IndexError as error:
        error.add_note(f"This was {primitive.name} of a value of shape {nodes[0].shape}, at {user_line()}.")
        raise
    node = Operation(primitive, tuple(nodes), params, spec, weakness(primitive, nodes, spec), None, source())
    if trace is not None and stops:
        trace.stopped[node] = node
    if primitive.outputs == 1:
        return Symbol(node, level, trace)
    parts = [Operation(OUTPUT, (node,), {"index": i}, s) for i, s in enumerate(spec)]
    return tuple([Symbol(part, level, trace) for part in parts])
