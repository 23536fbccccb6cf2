"""The tape: nodes, and the walk back over them.

A node holds an operation, its metadata, what its rules need, and its parents; values point to nodes, never the other
way, so there are no reference cycles and memory is freed as soon as the last value of a computation is gone. Sequence
numbers are a topological order.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core import allocator, parallel
from wengert.core.array import Array
from wengert.core.errors import GradientError, user_error
from wengert.core.parallel import LARGE
from wengert.core.primitive import OUTPUT, Primitive
from wengert.core.spec import Spec
from wengert.modes.blocks import pull_large
from wengert.modes.cotangent import conform, conform_lanes, transposed_lanes
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.predicates import logical_and, logical_not, logical_or

next_sequence = itertools.count().__next__
by_sequence = attrgetter("sequence")


class Node:
    """One recorded operation.

    `saved` is just what its rules named, None once it was released; `shape` and `dtype` are the output's.
    """

    __slots__ = ("primitive", "params", "parents", "saved", "shape", "dtype", "sequence", "hooks", "__weakref__")

    def __init__(
        self, primitive: Primitive | None, params: dict[str, Any], parents: tuple, saved: tuple | None, out: Any
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
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes that made the operands, with the number of the output that was used, as in PyTorch."""
        return tuple((p.parents[0], p.params["index"]) if p and p.primitive is OUTPUT else (p, 0) for p in self.parents)

    @property
    def metadata(self) -> dict[str, Any]:
        """The operation's own parameters, such as `axis`, and what the node keeps for the walk back."""
        wanted = self.primitive.wanted if self.primitive else ()
        return {**self.params, "saved": dict(zip(wanted, self.saved or (), strict=False))}

    if TYPE_CHECKING:  # attached by autograd/hooks.py, because hooks see tensors

        def register_hook(self, hook: Callable) -> Any: ...
        def register_prehook(self, hook: Callable) -> Any: ...

    def hooked(self) -> Hooks:
        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def __repr__(self) -> str:
        return f"<{self.name} node>"


class Leaf(Node):
    """The beginning of a history: a value that the user made, known weakly, so that its gradient may have a history of
    its own.
    """

    __slots__ = ("owner",)

    def __init__(self, value: Any, owner: Any = None):
        if not allocator.settled:
            allocator.keep_freed()
        super().__init__(None, {}, (), (), value)
        self.owner = None if owner is None else weakref.ref(owner)


class Hooks:
    """What is to be done when the walk back reaches a node.

    Hooks are rare, so a node has none of this until it is asked for.
    """

    __slots__ = ("arrived", "before", "after", "accumulated", "unpack", "place")

    def __init__(self) -> None:
        self.arrived: dict[int, Callable] = {}  # cotangent -> cotangent
        self.before: dict[int, Callable] = {}  # cotangent (a list of them if there are several outputs) -> the same
        self.after: dict[int, Callable] = {}  # input cotangents, output cotangents -> input cotangents
        self.accumulated: dict[int, Callable] = {}  # called with the leaf
        self.unpack: Callable | None = None  # what gives back a saved value that was packed away
        self.place: str | None = None  # the user's line, when anomalies are looked for


class Handle:
    """Removes a hook: `handle.remove()`, or at the end of a `with` block."""

    def __init__(self, hooks: dict[int, Callable], hook: Callable):
        self._hooks, self._key = hooks, next_sequence()
        hooks[self._key] = hook

    def remove(self) -> None:
        self._hooks.pop(self._key, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


def several(
    primitive: Primitive,
    params: dict[str, Any],
    parents: tuple,
    saved: tuple,
    outs: Iterable[Any],
    make: Callable = Node,
) -> list[Node]:
    """One node per output, in front of the node of an operation with several outputs."""
    specs = [Spec.of(out) for out in outs]
    node = make(primitive, params, parents, saved, Spec(tuple(s.shape for s in specs), tuple(s.dtype for s in specs)))  # type: ignore[arg-type, misc]  # specs of all outputs at once
    return [Node(OUTPUT, {"index": i}, (node,), (), spec) for i, spec in enumerate(specs)]


def reachable(roots: Iterable[Node]) -> list[Node]:
    """The nodes behind these, newest first: each comes before everything that it was made of."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        node = stack.pop()
        if node.saved is None:
            raise released(node)
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=by_sequence, reverse=True)


def reaching(order: list[Node], targets: Iterable[Node]) -> set[Node]:
    """Those nodes from which the walk back arrives at a target."""
    needed = set(targets)
    for node in reversed(order):
        if node not in needed and any(parent in needed for parent in node.parents):
            needed.add(node)
    return needed


def released(node: Node) -> GradientError:
    if node.primitive is OUTPUT:
        node = node.parents[0]
    place = f", recorded at {node.hooks.place}" if node.hooks and node.hooks.place else ""
    return user_error(
        GradientError,
        f"The history of this value was released by an earlier backward (its {node.name} operation{place})",
        "Pass retain_graph=True to the earlier backward, or compute the value again.",
    )


def pull_back(
    seeds: dict[Node, Any],
    sink: Callable[[Node, Any], None],
    *,
    targets: Iterable[Node] | None = None,
    retain: bool = False,
    lift: Callable[[Node, tuple], tuple] | None = None,
    check: Callable[[Node, Any], None] | None = None,
) -> None:
    """Pull cotangents from the seeds back to the leaves, or to the targets, and hand each one to `sink` when it is
    complete.

    Each node is pulled once, after everything that used it. `lift` gives what a node saved as tracked values, so that
    the walk itself is recorded; `check` looks at every cotangent on its way.
    """
    order = reachable(seeds)
    needed = None if targets is None else reaching(order, targets)
    cotangents = dict(seeds)
    owned: set[Node] = set()  # nodes whose cotangent is a sum made here: safe to add to in place
    dead: dict[Node, Any] = {}  # lanes whose zero must stay zero, whatever the local derivative is
    take, get = cotangents.pop, cotangents.get
    ndarray = np.ndarray
    simple = lift is None and check is None
    sharing = parallel.in_use() and simple and targets is None

    with np.errstate(all="ignore"):
        for node in order:
            t = take(node, None)
            if t is None or (needed is not None and node not in needed):
                continue
            primitive, hooks = node.primitive, node.hooks
            if hooks is not None:
                t = passed(hooks.arrived, t)
            if primitive is None or (targets is not None and node in targets):
                sink(node, t)
                if primitive is None or needed is None or not any(parent in needed for parent in node.parents):
                    continue  # the end of this path: the history behind a target stays as it is
            if hooks is not None:
                t = passed(hooks.before, t)
            if (
                sharing
                and t.__class__ is ndarray
                and t.size >= LARGE
                and not dead
                and pull_large(node, t, order, cotangents, owned, retain)
            ):
                continue
            if primitive.plain and simple and hooks is None and (not dead or node not in dead):
                pulls, saved, params, conforms = primitive.pulls, node.saved, node.params, primitive.conforms
                i = 0
                for parent in node.parents:
                    if parent is not None and (needed is None or parent in needed):
                        if primitive.into is not None:
                            if (
                                parent in owned
                                and cotangents[parent].__class__ is ndarray
                                and not isinstance(t, Array)
                                and not dead
                            ):
                                primitive.into(cotangents[parent], t, saved, params)
                                i += 1
                                continue
                            if parent not in cotangents:
                                owned.add(parent)  # what it pulls is a buffer of its own
                        c = pulls[i](t, saved, params)
                        if conforms and (c.shape != parent.shape or c.dtype is not parent.dtype):
                            c = conform(c, parent.shape, parent.dtype)
                        old = get(parent)
                        if dead and old is not None:
                            dead.pop(parent, None)
                        if old is None:
                            cotangents[parent] = c
                        elif parent in owned and c.__class__ is ndarray and old.__class__ is ndarray:
                            np.add(old, c, out=old)
                        else:
                            total = cotangents[parent] = old + c
                            if total.__class__ is ndarray:
                                owned.add(parent)
                    i += 1  # cheaper than enumerate
            elif primitive is OUTPUT:
                whole = node.parents[0]
                if whole not in cotangents:
                    cotangents[whole] = [None] * len(whole.shape)
                parts, index = cotangents[whole], node.params["index"]
                parts[index] = t if parts[index] is None else parts[index] + t
                dead.pop(node, None)
                if not retain:
                    node.saved = None  # still names the operation, which is released in its turn
                continue
            else:
                saved = unpacked(node)
                if lift is not None:
                    saved = lift(node, saved)
                for parent, c, c_lanes in contributions(node, t, saved, dead.pop(node, None), needed):
                    if check is not None:
                        check(node, c)
                    old = get(parent)
                    cotangents[parent] = c if old is None else old + c
                    if old is None:
                        if c_lanes is not None:
                            dead[parent] = c_lanes
                    elif parent in dead:
                        if c_lanes is None:
                            del dead[parent]
                        else:
                            dead[parent] = logical_and(dead[parent], c_lanes)
            if not retain:
                node.saved, node.parents = None, ()


def passed(hooks: dict[int, Callable], t: Any) -> Any:
    """The cotangent of a node's output, as each hook hands it to the next."""
    for hook in tuple(hooks.values()):
        t = hook(t)
    return t


def unpacked(node: Node) -> tuple:
    """What a node saved, brought back from where the saved-tensor hooks may have put it."""
    assert node.saved is not None
    unpack = node.hooks and node.hooks.unpack
    return tuple(map(unpack, node.saved)) if unpack else node.saved


def contributions(
    node: Node, t: Any, saved: Any, lanes: Any, needed: set[Node] | None
) -> Iterator[tuple[Node, Any, Any]]:
    """What each parent receives from a node, with its dead lanes: every kind of operation, hooks included."""
    primitive, params, parents = node.primitive, node.params, node.parents
    assert primitive is not None
    wanted = [parent is not None and (needed is None or parent in needed) for parent in parents]
    try:
        if primitive.vjp:
            pulled = [c if w else None for c, w in zip(primitive.pulls[0](t, saved, params), wanted, strict=True)]
        else:
            pulled = [primitive.pulls[i](t, saved, params) if w else None for i, w in enumerate(wanted)]
    except Exception as error:
        if node.hooks and node.hooks.place:
            error.add_note(f"In the backward of {node.name}, which was recorded at {node.hooks.place}.")
        raise
    if lanes is not None and primitive.kind == "elementwise":
        pulled = [c if c is None else where(lanes, 0.0, c) for c in pulled]
    pulled = [c if c is None else conform(c, p.shape, p.dtype) for c, p in zip(pulled, parents, strict=True)]
    if node.hooks is not None:
        for hook in tuple(node.hooks.after.values()):
            pulled = hook(pulled, t)
    for i, (parent, c) in enumerate(zip(parents, pulled, strict=True)):
        if c is not None:
            yield parent, c, dead_lanes(node, i, t, saved, lanes)


def dead_lanes(node: Node, i: int, t: Any, saved: Any, lanes: Any) -> Any:
    """Lanes of argument `i` that the result does not depend on, given those of the output that nothing depends on."""
    primitive = node.primitive
    assert primitive is not None
    if primitive.dead_lanes and primitive.dead_lanes[i] is not None:
        untaken = primitive.dead_lanes[i](t, saved, node.params)
        lanes = untaken if lanes is None else logical_or(lanes, untaken)
    elif lanes is None:
        return None
    elif primitive.structural and primitive.outputs == 1:
        pull = primitive.pulls[i] if primitive.vjp is None else lambda *args: primitive.pulls[0](*args)[i]
        return transposed_lanes(logical_not(lanes), pull, saved, node.params, node.parents[i])
    elif primitive.kind != "elementwise":
        return None
    return conform_lanes(lanes, node.shape, node.parents[i].shape)
