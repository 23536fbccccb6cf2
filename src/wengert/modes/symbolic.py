"""Symbolic mode: Symbol, a value whose numbers are not known yet. Operations on it become a graph.

Symbols are below the levels of all transforms that are started on them, so derivatives of functions of symbols consist
of symbols again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.aspects import primitive_of
from wengert.core.errors import GradientError, TrackedValueError, user_error, user_line
from wengert.core.infer import infer, is_elementwise
from wengert.core.levels import copy_value
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.source import source
from wengert.core.subclasses import refuse_subclass
from wengert.graph.graph import Graph
from wengert.graph.ir import (
    PYTHON_NUMBERS,
    Constant,
    Input,
    Node,
    Operation,
    is_broadcast_number,
    make_constant,
    weak_type,
)
from wengert.modes import recording
from wengert.modes.guards import Guard
from wengert.ops.indexing.key import Hole
from wengert.ops.indexing.subscripts import gather
from wengert.ops.shape.casting import _stop_gradient

__all__ = ["Symbol"]

GATHER, STOP_GRADIENT = primitive_of(gather), primitive_of(_stop_gradient)
SYMBOLS = 1
"""The level of the symbols that users make, above their tensors and below all transforms."""


class Trace:
    """One run of a function on symbols: the constants that it uses, and the values that it assigns to.

    An array that is used several times is one constant. A user's tensor is read at each call of the program: it is a
    constant that later becomes an input, and everything computed from it or assigned to it belongs to the program. The
    tensor itself is never changed, because other threads may use it; its current value is kept here. A value of a
    transform around the trace belongs to this run only, and so does the trace.

    `has_rules` says that the function calls one with a user-defined derivative; the graph has its operations only.
    `is_held` says that an operation will hold the function, and run it once, several times or not at all: then all that
    it computes belongs to it, also from values of transforms around the trace.
    """

    tape = -1
    """The level of tensors with a history, in a trace that has a tape."""
    can_restart = False
    """Whether the function can be traced again with a tape."""

    def __init__(self, level: int, is_held: bool = False) -> None:
        self.level, self.is_held = level, is_held
        self.parent: Trace | None = recording.current_trace() if is_held else None
        self.guards: dict[tuple[int, Callable[[Any], Any]], Guard] = {}
        self.gradients: dict[int, Gradient] = {}  # of captured tensors, in a trace that has a tape
        self.removed: list[Gradient] = []  # those that the program sets to None
        self.known: dict[int, tuple[Any, Any, Node]] = {}
        self.around: list[tuple[Array, Array]] = []  # values of transforms around the trace, and copies of them
        self.assigned: dict[int, Assignment] = {}
        self.stopped: dict[Node, Node] = {}  # the same values without a derivative
        self.repeated: str | None = None  # the function that runs this code repeatedly
        self.has_rules = False
        self.checks: list[tuple[Node, Any]] = []  # what must hold when the program runs, and the errors otherwise
        self.is_closed = False

    def node_of(self, value: Any) -> Node:
        """The node of a value that is not a symbol of this trace."""
        if not isinstance(value, np.ndarray | Array):
            return Constant(value)
        refuse_subclass(value)
        if id(value) in self.assigned:
            return self.assigned[id(value)].node
        state: Any = digest(value) if isinstance(value, np.ndarray) else id(value.value) if value.level else None
        found = self.known.get(id(value))
        if found is None or found[1] != state:
            node = make_constant(value)
            if isinstance(value, Array) and value.level:
                earlier = copy_value(value)
                self.around.append((value, earlier))
                node = Constant(earlier)
            found = self.known[id(value)] = value, state, node  # keeps the value alive, so that its id is not reused
        return found[2]

    def stop(self, node: Node) -> Node:
        """The same value without a derivative: an operand under `no_grad`."""
        if isinstance(node, Constant) and not node.is_captured:
            return node
        if node not in self.stopped:
            self.stopped[node] = Operation(STOP_GRADIENT, (node,), {}, node.spec, node.weak)
        return self.stopped[node]

    def symbol(self, value: Any) -> Symbol:
        """A value as a symbol of this trace."""
        return Symbol(self.node_of(value), self.level, self)

    def value_of(self, tensor: Any) -> Any:
        """The current value of a captured tensor, which later assignments to the tensor do not change."""
        return self.symbol(tensor)

    def read(self, holder: Any, state: Callable[[Any], Any]) -> Any:
        """The plain `state` of an object. It decides what is traced: while it is another one, the trace is not used."""
        if self.parent is not None:
            return self.parent.read(holder, state)
        key = id(holder), state
        if key not in self.guards:
            self.guards[key] = Guard(holder, state, state(holder))
        return self.guards[key].value

    def captures(self, level: int, args: Iterable[Any]) -> bool:  # noqa: ARG002  # for traces with a tape
        """Whether an operation on values up to this level is one on captured values, and so part of the program.

        Operations on a user's tensors, at level 0, belong to every trace. Those on values of transforms around it
        belong to the trace of a function that an operation holds.
        """
        return not level or (self.is_held and level < self.level)

    def run(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run an operation on captured values as part of the program."""
        return primitive.op(*[self.symbol(a) if isinstance(a, Array) else a for a in args], **params)

    def assign(self, tensor: Array, new: Any, is_recorded: bool) -> None:
        """Assign a value to a user's tensor inside the trace; the program will write it back."""
        if self.repeated or (isinstance(new, Array) and new.level > self.level):
            where = self.repeated or f"a transform, as a {type(new).__name__} that has a derivative there"
            raise user_error(
                GradientError,
                f"A tensor that a compiled function captures was assigned to inside {where}",
                because="its value afterwards is not defined. Return the new value as a result (has_aux=True), or, in "
                "a transform that runs the function once, assign wg.stop_gradient(v).",
            )
        node = new.value if is_own_symbol(new, self.level) else self.node_of(new)
        self.assigned[id(tensor)] = Assignment(tensor, node, is_recorded)

    def grad_of(self, tensor: Any) -> Any:
        """The current gradient of a captured tensor."""
        return self.tape_holder().grad_of(tensor)

    def set_grad(self, tensor: Any, value: Any) -> None:  # noqa: ARG002  # for traces with a tape
        """Set the gradient of a captured tensor; the program will write it back."""
        self.tape_holder()
        raise user_error(
            GradientError,
            "The gradient of a captured tensor was set in a part of a function that a program runs several times, or "
            "not at all (a branch, a loop, checkpoint)",
            because="its value afterwards is not defined. Return what was computed, and call backward outside.",
        )

    def tape_holder(self) -> Trace:
        """The trace around that has the tape. If it has none, it is run again with one."""
        trace: Trace = self
        while trace.parent is not None:
            trace = trace.parent
        if trace.tape < 0 and trace.can_restart:
            raise TapeNeeded
        if trace.tape < 0:
            raise user_error(
                GradientError,
                "backward, or the gradient of a tensor, in a function that an operation holds (a branch, the step of a "
                "loop, checkpoint, a custom rule)",
                because="it has no tape. Use wg.grad there, or call backward outside.",
            )
        return trace

    def close(self) -> list[Assignment]:
        """End the trace; returns what the program must write back.

        Values of transforms around the trace get back their values from before.
        """
        self.is_closed = True
        assignments = list(self.assigned.values())
        for value, earlier in self.around:
            if is_own_symbol(value, self.level):
                assignments.append(Assignment(value, value.value, True))
                Array._become(value, earlier)
        return [a for a in assignments if not (isinstance(a.node, Constant) and a.node.value is a.target)]


class TapeNeeded(BaseException):  # no error: code of users must not handle it
    """Raised in a trace without a tape that needs one; the function is traced again."""


class Gradient:
    """The `grad` of a captured tensor, as a program reads it and assigns to it.

    `given` is the input that stands for it, None if there was no gradient when the function was traced, or if the
    function replaces it without reading it.
    """

    level = 0
    has_derivative = False

    def __init__(self, tensor: Any, given: Input | None = None, current: Any = None):
        self.tensor, self.given, self.current = tensor, given, current

    @property
    def value(self) -> Any:
        """The numbers at this moment."""
        return self.tensor._grad.value

    def assign(self, new: Any) -> None:
        """Make numbers the gradient. Who else has the former one keeps it."""
        if getattr(self.tensor, "_grad", None) is None or new is not self.value:
            self.tensor._grad = type(self.tensor)(new)


class Assignment(NamedTuple):
    """What a program writes into a captured value after its run, and whether a tape records that."""

    target: Array | Gradient
    node: Node
    is_recorded: bool


def is_own_symbol(value: Any, level: int) -> bool:
    """Whether this is a symbol of this level."""
    return isinstance(value, Symbol) and value.level == level


def digest(value: np.ndarray) -> bytes:
    """A hash of the numbers of an array, to detect changes."""
    if is_broadcast_number(value):
        value = value[(0,) * value.ndim]
    return hashlib.blake2b(np.ascontiguousarray(value).data, digest_size=16).digest()


OF_TENSORS = frozenset(("backward", "grad", "requires_grad", "requires_grad_", "retain_grad", "register_hook"))


class Symbol(Array):
    """A value whose numbers are not known yet: a node of a graph, with a shape and a dtype.

    `value` is the node, `extra` the trace that it belongs to; None for a symbol that the user made.

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
        node: Node = self.value
        return node

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if (capturing := recording.capturing_trace(level)) is not None:
            return capturing.run(primitive, args, params)
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
            current = recording.current_trace()
            if (
                current is not None
                and (current is not trace or trace.tape > 0)
                and any(isinstance(a, Array) and not a.level for a in args)
            ):
                return current.run(primitive, args, params)  # it has the values of the user's tensors
            make = trace.node_of if trace is not None else make_constant
            nodes = [a if isinstance(a, Node) else make(as_strong(a, primitive)) for a in nodes]
        return record_operation(primitive, nodes, params, level, trace)

    def _plain(self, what: str) -> np.ndarray:
        """The numbers, if the symbol is computed from constants only."""
        graph = Graph([], [self.node])
        if not any(
            isinstance(node, Input) or (isinstance(node, Constant) and node.is_captured) for node in graph.nodes
        ):
            return np.asarray(graph.run(())[0])
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
                "Choose between values with wg.where(condition, x, y), branch with wg.cond(condition, f, g), loop with "
                "wg.while_loop or a fixed number of times, or pass what decides as a constant (static_argnums). The "
                "statements of functions in files are read (wg.source), those of functions without source are not.",
            ) from None

    def numpy(self) -> np.ndarray:
        """The numbers, if the symbol is computed from constants only; otherwise an error."""
        return self._plain("numpy()")

    def item(self, *index: Any) -> Any:
        return self._plain("item()").item(*index)

    def tolist(self) -> Any:
        return self._plain("tolist()").tolist()

    def __format__(self, format_spec: str) -> str:
        if format_spec:
            return format(self._plain(f"A number in the format {format_spec!r}")[()], format_spec)
        return str(self)

    def detach(self) -> Symbol:
        """The same value without a derivative."""
        node, trace = self.node, self.extra
        stopped = Operation(STOP_GRADIENT, (node,), {}, node.spec, node.weak) if trace is None else trace.stop(node)
        return Symbol(stopped, self.level, trace)

    @property
    def data(self) -> Symbol:
        """The same value without a derivative."""
        return self.detach()

    def _become(self, new: Array) -> None:
        trace = self.extra
        if (
            trace is not None
            and recording.active
            and not recording.is_recording()
            and trace.stopped.get(self.node) is not self.node
        ):
            trace.has_rules = True  # the numbers change but not the derivative, which a graph cannot express
        super()._become(new)

    def __getattr__(self, name: str) -> Any:
        trace = self.extra
        if name in OF_TENSORS and trace is not None and not trace.is_closed:
            trace = trace.tape_holder()
            if name == "requires_grad" and trace.tape > 0:
                return False
        advice = (
            "It was not computed from a captured tensor that requires a gradient, or is inside a branch or loop. Let "
            "the function capture the tensor instead of taking it as an argument, or use wg.grad."
            if name in OF_TENSORS
            else ""
        )
        raise user_error(AttributeError, f"A traced value has no attribute {name!r}", advice)

    def __repr__(self) -> str:
        node = self.node
        what = node.name or (node.primitive.name if isinstance(node, Operation) else "constant")
        return f"symbol({what}: {node.spec!r})"


def as_strong(x: Any, primitive: Primitive) -> Any:
    """An argument as an operation takes it: all but elementwise operations treat a Python number as an array."""
    return np.asarray(x)[()] if x.__class__ in PYTHON_NUMBERS and not is_elementwise(primitive) else x


def record_operation(
    primitive: Primitive, nodes: Sequence[Node], params: dict[str, Any], level: int, trace: Trace | None
) -> Any:
    """Add an operation to the graph; returns the symbols of its results."""
    if params.get("reuse"):
        params = params | {"reuse": False}  # there is no array to reuse yet
    stops = trace is not None and recording.active and not recording.is_recording()
    if trace is not None and stops:
        nodes = [trace.stop(node) for node in nodes]
    try:
        spec = infer(primitive, tuple([n.operand for n in nodes]), params)
    except IndexError as error:
        error.add_note(f"This was {primitive.name} of a value of shape {nodes[0].shape}, at {user_line()}.")
        raise
    node = Operation(primitive, tuple(nodes), params, spec, weak_type(primitive, nodes, spec), None, source())
    if trace is not None and stops:
        trace.stopped[node] = node
    if primitive.outputs == 1:
        return Symbol(node, level, trace)
    parts = [Operation(OUTPUT, (node,), {"index": i}, s) for i, s in enumerate(spec)]
    return tuple([Symbol(part, level, trace) for part in parts])
