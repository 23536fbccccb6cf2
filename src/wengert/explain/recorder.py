"""A run of a function with everything recorded: each operation, its value, the user's source line and name for it.

The function runs on numbers, so `if` and `while` take the same branches as without recording.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.core.levels import new_level
from wengert.core.primitive import OUTPUT, Primitive, gives_constants
from wengert.core.source import Source, captured_name, source
from wengert.core.spec import Spec
from wengert.core.tree import Structure, flatten, leaf_names, unflatten
from wengert.core.tree import map as map_tree
from wengert.explain.progress import show_progress
from wengert.graph.graph import Graph, is_traced
from wengert.graph.ir import Constant, Input, Node, Operation
from wengert.modes import recording as switches
from wengert.modes.symbolic import STOP_GRADIENT


class Decision(NamedTuple):
    """A value that the program used as a plain number: for a branch, the end of a loop, an index."""

    node: Node
    value: Any
    source: Source | None


class Recording:
    """A graph, the value of each of its nodes, and the iterations of loops in which they were computed.

    `inputs` are the arguments that a derivative can be taken with respect to, in the order of the call. `decisions` are
    what the path through the program depends on. `modules` are the paths of the modules that ran.
    """

    def __init__(self) -> None:
        self.values: dict[Node, Any] = {}
        self.rounds: dict[Node, int] = {}
        self.modules: dict[Node, str] = {}
        self.visits: dict[tuple[Any, int, Primitive], int] = {}
        self.inputs: list[Input] = []
        self.outputs: list[Node] = []
        self.decisions: list[Decision] = []
        self.arguments: Structure | None = None
        self.result: Structure | None = None
        self.function: Callable | None = None

    @property
    def graph(self) -> Graph:
        return Graph(self.inputs, self.outputs, self.arguments, self.result)

    def add(self, primitive: Primitive, args: tuple[Node, ...], params: dict[str, Any], out: Any) -> Operation:
        """Add a node for an operation that has run."""
        spec = Spec.of(out) if primitive.outputs == 1 else tuple(map(Spec.of, out))
        origin = source()
        node = Operation(primitive, args, params, spec, None, None, origin)
        self.values[node] = out
        module = module_path()
        if module:
            self.modules[node] = module
        if origin is not None:
            self.rounds[node] = self.count_visit(origin, primitive)
        return node

    def count_visit(self, origin: Source, primitive: Primitive) -> int:
        """How often this instruction has run this operation before."""
        key = origin.code, origin.instruction, primitive
        self.visits[key] = self.visits.get(key, -1) + 1
        return self.visits[key]

    def step_of(self, node: Node) -> str:
        """Which step of a loop computed a node, as text; an empty string if it was not a loop."""
        if not isinstance(node, Operation) or node.source is None or node not in self.rounds:
            return ""
        count = self.visits[node.source.code, node.source.instruction, node.primitive] + 1
        return f"step {self.rounds[node] + 1} of {count}" if count > 1 else ""


class Mark(NamedTuple):
    """What a recorded array has beside its value. `varies`: a derivative flows from the arguments to it."""

    node: Node
    recording: Recording
    varies: bool


class RecordedArray(Array):
    """A value whose operations are recorded."""

    __slots__ = ()

    def __init__(self, value: Any, level: int, mark: Mark):
        self.value, self.level, self.extra = value, level, mark

    @staticmethod
    def process(primitive: Primitive, level: int, args: tuple, params: dict[str, Any]) -> Any:
        if primitive.kind == "control":
            return primitive.impl(*args, **params)  # what is in it is recorded
        if params.get("reuse"):
            params = params | {"reuse": False}  # the recorded value must not change
        mine = [isinstance(a, RecordedArray) and a.level == level for a in args]
        recording = next(a.extra.recording for a, m in zip(args, mine, strict=True) if m)
        nodes = tuple([a.extra.node if m else constant_node(recording, a) for a, m in zip(args, mine, strict=True)])
        out = primitive.op(*[a.value if m else a for a, m in zip(args, mine, strict=True)], **params)
        node = recording.add(primitive, nodes, params, out)
        recorded = switches.is_recording()
        varies = (
            recorded
            and not gives_constants(primitive)
            and any(a.extra.varies for a, m in zip(args, mine, strict=True) if m)
        )
        if primitive.outputs == 1:
            if not recorded:  # inside no_grad
                node = recording.add(STOP_GRADIENT, (node,), {}, out)
            return RecordedArray(out, level, Mark(node, recording, varies))
        parts = []
        for i, part in enumerate(out):
            picked = Operation(OUTPUT, (node,), {"index": i}, Spec.of(part), None, None, node.source)
            recording.values[picked] = part
            parts.append(RecordedArray(part, level, Mark(picked, recording, varies)))
        return tuple(parts)

    @property
    def is_live(self) -> bool:
        return self.extra.varies and super().is_live

    def detach(self) -> Any:
        """The value without its history."""
        return self.value

    def _decide(self, value: Any) -> Any:
        """A plain number for the program, whose path now depends on it."""
        mark: Mark = self.extra
        mark.recording.decisions.append(Decision(mark.node, value, source()))
        return value

    def __bool__(self) -> bool:
        return bool(self._decide(super().__bool__()))

    def _plain(self, what: str) -> Any:
        return self._decide(super()._plain(what))

    def item(self, *index: Any) -> Any:
        """The number; the program may go on with it."""
        return super().item(*index) if index else self._decide(super().item())

    def __format__(self, spec: str) -> str:  # printing decides nothing
        return format(self.value.item(), spec) if spec and self.size == 1 else super().__format__(spec)

    def __repr__(self) -> str:
        return f"recorded({self.value!r})"


def module_path() -> str:
    """The modules whose `forward` is running, from the outermost one in: `Net.hidden.0 (Linear)`; empty if none is."""
    found: list[Any] = []
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "forward":
            owner = frame.f_locals.get("self")
            if hasattr(owner, "named_children") and not any(owner is other for other in found):
                found.append(owner)
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has no caller
    if not found:
        return ""
    path = type(found[-1]).__name__
    for outer, inner in zip(found[:0:-1], found[-2::-1], strict=True):
        path += "." + next((name for name, child in outer.named_children() if child is inner), type(inner).__name__)
    return path if len(found) == 1 else f"{path} ({type(found[0]).__name__})"


def constant_node(recording: Recording, value: Any) -> Node:
    """The node of a value that does not depend on the arguments: a copy, since the user may change it later.

    Arrays have the names that the user gave them.
    """
    name = captured_name(value) if getattr(value, "ndim", 0) else None
    node = Constant(value.copy() if isinstance(value, np.ndarray) and any(value.strides) else value, name)
    recording.values[node] = node.value
    return node


def record_run(f: Callable, *args: Any, **kwargs: Any) -> Recording:
    """Run a function and record it."""
    recording, level = Recording(), new_level()
    recording.function = f
    leaves, recording.arguments = flatten((args, kwargs))
    names = leaf_names(f, recording.arguments)
    values: list[Any] = []
    for leaf, name in zip(leaves, names, strict=True):
        if not is_traced(leaf):
            values.append(leaf)
            continue
        value = leaf if isinstance(leaf, Array) else np.array(leaf)[()]
        node = Input(Spec.of(value), name=name)
        recording.inputs.append(node)
        recording.values[node] = value
        values.append(RecordedArray(value, level, Mark(node, recording, True)))
    given, named = unflatten(recording.arguments, values)
    with np.errstate(all="ignore"), show_progress("recorded", lambda: len(recording.values)):
        outs, recording.result = flatten(f(*given, **named))
    recording.outputs = [
        y.extra.node if isinstance(y, RecordedArray) and y.level == level else constant_node(recording, y) for y in outs
    ]
    if not recording.outputs:
        raise user_error(
            TypeError, "The function returned nothing that could be explained", "Return a number or an array."
        )
    return recording


def plain_arrays(value: Any) -> Any:
    """The NumPy array of a value of any mode; for several outputs, a tuple of arrays."""
    if isinstance(value, tuple | list):
        return tuple([plain_arrays(part) for part in value])
    while isinstance(value, Array):
        value = value.value
    return None if value is None else np.asarray(value)


def plain_arguments(args: Any) -> Any:
    """Trees of arguments with plain arrays in place of the user's tensors."""
    return map_tree(
        lambda leaf: np.asarray(leaf.value)[()] if isinstance(leaf, Array) and not leaf.level else leaf, args
    )
