"""Traces: runs of functions on symbols, with what they capture, read, and assign to."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.levels import copy_value, is_own
from wengert.core.primitive import Primitive
from wengert.core.subclasses import refuse_subclass
from wengert.graph.ir import Constant, Input, Node, Operation, is_broadcast_number, make_constant
from wengert.modes import recording
from wengert.modes.guards import Guard
from wengert.modes.symbolic import STOP_GRADIENT, Symbol


class Unrolled(NamedTuple):
    """A loop that could not become one operation, and whose steps are written out: its line, their number, and why."""

    line: str
    steps: int
    why: str

    def __str__(self) -> str:
        return f"{self.line}: {self.steps} steps written out, because {self.why}"


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
        self.unrolled: dict[str, Unrolled] = {}  # by line
        self.seeded: dict[int, Any] = {}  # generators of random numbers that the function makes, by identity
        self.warned: set[Any] = set()  # lines and functions whose results the trace freezes
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
        node = new.value if is_own(new, Symbol, self.level) else self.node_of(new)
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
            if is_own(value, Symbol, self.level):
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


def digest(value: np.ndarray) -> bytes:
    """A hash of the numbers of an array, to detect changes."""
    if is_broadcast_number(value):
        value = value[(0,) * value.ndim]
    return hashlib.blake2b(np.ascontiguousarray(value).data, digest_size=16).digest()
