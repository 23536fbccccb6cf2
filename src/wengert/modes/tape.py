"""The tape: nodes, how they are made, and their order.

A node holds an operation, its parameters, what its rules need, and its parents. Values refer to nodes but not nodes to
values, so there are no reference cycles, and memory is freed as soon as the last value of a computation is deleted.
Sequence numbers are a topological order.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from wengert.core import allocator
from wengert.core.errors import GradientError, user_error, user_line
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.spec import Spec
from wengert.modes import recording
from wengert.modes.guards import note_change

next_sequence = itertools.count().__next__
by_sequence = attrgetter("sequence")


class TapeNode:
    """One recorded operation.

    `saved` holds what its rules need; None after it was released. `shape` and `dtype` are those of the output.
    """

    __slots__ = ("primitive", "params", "parents", "saved", "shape", "dtype", "sequence", "hooks", "__weakref__")

    def __init__(
        self,
        primitive: Primitive | None,
        params: dict[str, Any],
        parents: tuple[Any, ...],
        saved: tuple[Any, ...] | None,
        out: Any,
    ):
        self.primitive = primitive
        self.params = params
        self.parents = parents
        self.saved = saved
        self.shape = out.shape
        self.dtype = out.dtype
        self.sequence = next_sequence()
        self.hooks: Hooks | None = None

    @property
    def name(self) -> str:
        return self.primitive.name if self.primitive else "leaf"

    @property
    def next_functions(self) -> tuple[tuple[TapeNode | None, int], ...]:
        """The nodes of the operands, with the index of the output that was used, as in PyTorch."""
        return tuple((p.parents[0], p.params["index"]) if p and p.primitive is OUTPUT else (p, 0) for p in self.parents)

    @property
    def metadata(self) -> dict[str, Any]:
        """The operation's parameters, such as `axis`, and what the node saves for the backward pass."""
        wanted = self.primitive.wanted if self.primitive else ()
        return {**self.params, "saved": dict(zip(wanted, self.saved or (), strict=False))}

    if TYPE_CHECKING:  # attached by autograd/hooks.py, because hooks see tensors

        def register_hook(self, hook: Callable[..., Any]) -> Any: ...
        def register_prehook(self, hook: Callable[..., Any]) -> Any: ...

    def get_hooks(self) -> Hooks:
        """The hooks of this node, made when first needed."""
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def __repr__(self) -> str:
        return f"<{self.name} node>"


class Leaf(TapeNode):
    """The beginning of a history: a tensor that the user made.

    The reference to it is weak, so that its gradient may have a history too.
    """

    __slots__ = ("owner",)

    def __init__(self, value: Any, owner: Any = None):
        if not allocator.is_configured:
            allocator.keep_freed_memory()
        super().__init__(None, {}, (), (), value)
        self.owner = None if owner is None else weakref.ref(owner)


class Hooks:
    """What the backward pass does at a node. Hooks are rare, so nodes have them only on demand."""

    __slots__ = ("arrived", "before", "after", "accumulated", "unpack", "line")

    def __init__(self) -> None:
        self.arrived: dict[int, Callable[..., Any]] = {}  # cotangent -> cotangent
        self.before: dict[
            int, Callable[..., Any]
        ] = {}  # cotangent (a list of them if there are several outputs) -> the same
        self.after: dict[int, Callable[..., Any]] = {}  # input cotangents, output cotangents -> input cotangents
        self.accumulated: dict[int, Callable[..., Any]] = {}  # called with the leaf
        self.unpack: Callable[..., Any] | None = None  # unpacks a saved value
        self.line: str | None = None  # the user's line, inside detect_anomaly()


class Handle:
    """Removes a hook: `handle.remove()`, or at the end of a `with` block."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]):
        self._hooks, self._key = hooks, next_sequence()
        hooks[self._key] = hook
        note_change()

    def remove(self) -> None:
        self._hooks.pop(self._key, None)
        note_change()

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


def output_nodes(
    primitive: Primitive,
    params: dict[str, Any],
    parents: tuple[Any, ...],
    saved: tuple[Any, ...],
    outs: Iterable[Any],
    make: Callable[..., Any] = TapeNode,
) -> list[TapeNode]:
    """The nodes of the outputs of an operation with several; their parent is the node of the operation."""
    specs = [Spec.of(out) for out in outs]
    node = make(primitive, params, parents, saved, Spec(tuple(s.shape for s in specs), tuple(s.dtype for s in specs)))  # type: ignore[arg-type, misc]  # specs of all outputs at once
    return [TapeNode(OUTPUT, {"index": i}, (node,), (), spec) for i, spec in enumerate(specs)]


def sort_reachable(roots: Iterable[TapeNode]) -> list[TapeNode]:
    """These nodes and all that they were computed from, newest first."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        node = stack.pop()
        if node.saved is None:
            raise released_error(node)
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=by_sequence, reverse=True)


def find_reaching(order: list[TapeNode], targets: Iterable[TapeNode]) -> set[TapeNode]:
    """The nodes from which the backward pass reaches a target."""
    needed = set(targets)
    for node in reversed(order):
        if node not in needed and any(parent in needed for parent in node.parents):
            needed.add(node)
    return needed


def released_error(node: TapeNode) -> GradientError:
    """The error for a second backward pass through a released history."""
    if node.primitive is OUTPUT:
        node = node.parents[0]
    line = f", recorded at {node.hooks.line}" if node.hooks and node.hooks.line else ""
    return user_error(
        GradientError,
        f"The history of this value was released by an earlier backward (its {node.name} operation{line})",
        "Pass retain_graph=True to the earlier backward, or compute the value again.",
    )


def find_older(start: int, roots: Iterable[TapeNode]) -> list[TapeNode]:
    """The nodes older than the sequence number `start` from which newer nodes behind the roots were computed."""
    seen = set(roots)
    stack, found = list(seen), []
    while stack:
        node = stack.pop()
        if node.sequence < start:
            found.append(node)
            continue
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(found, key=lambda node: node.sequence)


def make_node(
    primitive: Primitive, params: dict[str, Any], parents: tuple[Any, ...], saved: tuple[Any, ...], out: Any
) -> TapeNode | None:
    """A node under the current settings; None if nothing is recorded."""
    settings = recording.current()
    if settings.inference or not settings.enabled:
        return None
    node = TapeNode(primitive, params, parents, saved, out)
    if settings.packing is not None:
        pack, node.get_hooks().unpack = settings.packing
        node.saved = tuple(map(pack, saved))
    if settings.anomalies:
        node.get_hooks().line = user_line()
    return node
