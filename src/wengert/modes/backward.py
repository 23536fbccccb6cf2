"""The backward pass: pulls cotangents from the seeds to the leaves, in reverse order of recording.

The engine does what rules leave out: it sums cotangents over broadcast axes, casts them, adds them up, and follows dead
masks (docs/design/dead_masks.md). `pull_node` handles every node; the loop of `backward_pass` itself has a fast path
for the most frequent ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import numpy as np

from wengert.core import machine, native
from wengert.core.array import Array
from wengert.core.primitive import OUTPUT
from wengert.graph.ir import is_broadcast_number
from wengert.modes import recording
from wengert.modes.blocks import pull_large
from wengert.modes.known_tapes import KNOWN, run_known
from wengert.modes.outlines import may_pay, run_outlined
from wengert.modes.tape import TapeNode, find_reaching, sort_reachable
from wengert.ops.elementwise.choices import where
from wengert.ops.elementwise.complex_numbers import real
from wengert.ops.elementwise.predicates import equal, logical_and, logical_not, logical_or
from wengert.ops.reductions.logical import all as all_
from wengert.ops.reductions.sums import _sum
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.casting import astype
from wengert.ops.shape.reshaping import broadcast_to, reshape

Sink = Callable[[TapeNode, Any], None]
ADD = _sum.primitive.impl
"""The sum of plain arrays, as operations add."""


def backward_pass(  # noqa: C901  # the fast path is part of the loop: a call per node would cost a tenth of small programs
    seeds: Iterable[tuple[TapeNode, Any]],
    sink: Sink,
    *,
    targets: Collection[TapeNode] | None = None,
    through: bool = True,
    retain: bool = False,
    lift: Callable[[TapeNode, tuple[Any, ...]], tuple[Any, ...]] | None = None,
    check: Callable[[TapeNode, Any], None] | None = None,
) -> None:
    """Pull cotangents from the seeds to the leaves, or to the targets, and pass each to `sink` when it is complete.

    If one target depends on another, the pass continues through it, unless `through` is false: then each target is held
    constant. `lift` turns what a node saved into tracked values, so that the pass itself is recorded; `check` is called
    with every cotangent.
    """
    cotangents: dict[TapeNode, Any] = {}
    for node, t in seeds:
        cotangents[node] = cotangents[node] + t if node in cotangents else t
    if not cotangents:
        return
    is_traced = recording.active > 0 and recording.current_trace() is not None  # a call for each pass would be felt
    simple = lift is None and check is None
    is_whole = simple and targets is None and not is_traced  # a pass that a program is made of has no program
    has_large = native.met_large and is_whole
    if has_large:
        native.met_large = False
    alike = KNOWN.get(next(iter(cotangents)).primitive) if is_whole and KNOWN else None
    results = None if alike is None else run_known(alike, cotangents, has_large, retain)
    if results is None:
        order = sort_reachable(cotangents)
        is_long = len(order) >= machine.current.min_nodes_of_long_tape
        if has_large or (is_whole and is_long and may_pay(order)):
            results = run_outlined(order, cotangents, retain)
    if has_large and (retain or results is not None):  # a program does not tell that arrays are large
        native.met_large = True
    if results is not None:
        for node, t in results:
            sink(node, t)
        return

    needed = None if targets is None else find_reaching(order, targets)
    owned: set[TapeNode] = set()  # nodes whose cotangent was made here, so it can be added to in place
    dead: dict[TapeNode, Any] = {}  # dead masks: elements that stay zero, whatever the local derivative is
    take, get = cotangents.pop, cotangents.get
    ndarray = np.ndarray
    alone: TapeNode | None = None  # the last node of a run that is pulled one by one
    looks_closer = has_large or is_traced
    large = machine.current.min_elements_of_native_function
    with np.errstate(all="ignore"):
        for node in order:
            t = take(node, None)
            if t is None or (needed is not None and node not in needed):
                continue
            primitive, hooks = node.primitive, node.hooks
            if hooks is not None:
                t = run_hooks(hooks.arrived, t)
            if primitive is None or (targets is not None and node in targets):
                sink(node, t)
                if primitive is None or not through or needed is None or needed.isdisjoint(node.parents):
                    continue  # the history behind a target is not released
            if hooks is not None:
                t = run_hooks(hooks.before, t)
            if looks_closer and t.__class__ is ndarray:
                if is_traced:
                    t = shrink_cotangent(node, t)
                elif t.size >= large and not dead and (alone is None or node.sequence < alone.sequence):
                    alone = pull_large(node, t, order, cotangents, owned, retain)
                    if alone is None:
                        continue
            if primitive.is_plain and simple and hooks is None and (not dead or node not in dead):  # the fast path
                pulls, saved, params, conforms = primitive.pulls, node.saved, node.params, primitive.conforms
                i = 0
                for parent in node.parents:
                    if parent is not None and (needed is None or parent in needed):
                        if primitive.into is not None:
                            if parent in owned and cotangents[parent].__class__ is ndarray and can_add_into(t, dead):
                                primitive.into(cotangents[parent], t, saved, params)
                                i += 1
                                continue
                            if parent not in cotangents:
                                owned.add(parent)  # it pulls a new buffer
                        c = pulls[i](t, saved, params)
                        if conforms and (c.shape != parent.shape or c.dtype is not parent.dtype):
                            c = conform(c, parent.shape, parent.dtype)
                        old = get(parent)
                        if dead and old is not None:
                            dead.pop(parent, None)
                        if old is None:
                            cotangents[parent] = c
                        elif (
                            parent in owned
                            and c.__class__ is ndarray
                            and old.__class__ is ndarray
                            and (old.flags.c_contiguous or c.strides == old.strides)  # the layout of a new array
                        ):
                            np.add(old, c, out=old)
                        else:
                            total = cotangents[parent] = old + c
                            if total.__class__ is ndarray:
                                owned.add(parent)
                    i += 1  # cheaper than enumerate
            elif primitive is OUTPUT:
                add_output(node, t, cotangents)
                dead.pop(node, None)
                if not retain:
                    node.saved = None  # its parent is released later
                continue
            else:
                saved = unpack_saved(node)
                if lift is not None:
                    saved = lift(node, saved)
                for parent, c, mask in pull_node(node, t, saved, dead.pop(node, None), needed):
                    if check is not None:
                        check(node, c)
                    add_cotangent(parent, c, mask, cotangents, dead)
            if not retain:
                node.saved, node.parents = None, ()


def shrink_cotangent(node: TapeNode, t: np.ndarray) -> Any:
    """The cotangent of an elementwise operation as a number, if it is one number that was broadcast.

    In a trace, what the rule computes of it and of constants would be an array, and a constant of the program. The
    cotangents of operands that were not broadcast are broadcast to their shapes afterwards.
    """
    assert node.primitive is not None
    is_number = node.primitive.kind == "elementwise" and is_broadcast_number(t)
    if is_number and all(parent is None or parent.shape == t.shape for parent in node.parents):
        return t[(0,) * t.ndim]
    return t


def run_hooks(hooks: dict[int, Callable[..., Any]], t: Any) -> Any:
    """Pass the cotangent of a node's output through each hook in turn."""
    for hook in tuple(hooks.values()):
        t = hook(t)
    return t


def can_add_into(t: Any, dead: dict[TapeNode, Any]) -> bool:
    """Whether a rule may add its cotangent to a buffer: plain numbers, and no dead mask to apply."""
    return not dead and not isinstance(t, Array)


def add_output(node: TapeNode, t: Any, cotangents: dict[TapeNode, Any]) -> None:
    """Add the cotangent of one output of an operation to the list of its node."""
    whole = node.parents[0]
    if whole not in cotangents:
        cotangents[whole] = [None] * len(whole.shape)
    parts, index = cotangents[whole], node.params["index"]
    parts[index] = t if parts[index] is None else parts[index] + t


def add_cotangent(
    node: TapeNode, t: Any, mask: Any, cotangents: dict[TapeNode, Any], dead: dict[TapeNode, Any]
) -> None:
    """Add a cotangent to those of a node. An element is dead if it is dead in all of them."""
    if node not in cotangents:
        cotangents[node] = t
        if mask is not None:
            dead[node] = mask
        return
    cotangents[node] = cotangents[node] + t
    known = dead.pop(node, None)
    if known is not None and mask is not None:
        dead[node] = logical_and(known, mask)


def unpack_saved(node: TapeNode) -> tuple[Any, ...]:
    """What a node saved, unpacked by the saved-tensor hooks if there are any."""
    assert node.saved is not None
    unpack = node.hooks and node.hooks.unpack
    return tuple(map(unpack, node.saved)) if unpack else node.saved


def pull_node(
    node: TapeNode, t: Any, saved: Any, mask: Any, needed: set[TapeNode] | None
) -> Iterator[tuple[TapeNode, Any, Any]]:
    """The cotangent and dead mask of each parent of a node: any kind of operation, with hooks."""
    primitive, params, parents = node.primitive, node.params, node.parents
    assert primitive is not None
    wanted = [parent is not None and (needed is None or parent in needed) for parent in parents]
    try:
        if primitive.definition.vjp:
            found = primitive.pulls[0](t, saved, params)
            pulled = [c if w else None for c, w in zip(found, wanted, strict=True)]
        else:
            pulled = [primitive.pulls[i](t, saved, params) if w else None for i, w in enumerate(wanted)]
    except Exception as error:
        if node.hooks and node.hooks.line:
            error.add_note(f"In the backward of {node.name}, which was recorded at {node.hooks.line}.")
        raise
    if mask is not None and primitive.kind == "elementwise":
        pulled = [c if c is None else where(mask, 0.0, c) for c in pulled]
    pulled = [c if c is None else conform(c, p.shape, p.dtype) for c, p in zip(pulled, parents, strict=True)]
    if node.hooks is not None:
        for hook in tuple(node.hooks.after.values()):
            pulled = hook(pulled, t)
    for i, (parent, c) in enumerate(zip(parents, pulled, strict=True)):
        if c is not None:
            yield parent, c, dead_mask(node, i, t, saved, mask)


# Shape and dtype.


def conform(t: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """The cotangent of a value of this shape and dtype.

    Sums over broadcast axes, drops the imaginary part for a real value, and casts.
    """
    if t.shape != shape:
        t = unbroadcast(t, shape)
    if t.dtype != dtype:
        if t.dtype.kind == "c" and dtype.kind != "c":
            t = real(t)
        t = astype(t, dtype)
    return t


def unbroadcast(t: Any, shape: tuple[int, ...]) -> Any:
    """Sum over the axes that broadcasting added or stretched; broadcast if the rule returned a smaller shape."""
    axes = broadcast_axes(t.shape, shape)
    if axes:
        t = ADD(t, axis=axes, keepdims=False) if t.__class__ is np.ndarray else sum_(t, axis=axes)
    if t.shape == shape:
        return t
    return reshape(t, shape) if t.size == np.prod(shape, dtype=int) else broadcast_to(t, shape)


def broadcast_axes(wide: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of `wide` that broadcasting a value of this `shape` has added or stretched; it may have fewer axes."""
    lead = len(wide) - len(shape)
    if wide[lead:] == shape:
        return tuple(range(lead))
    stretched = [axis for axis in range(max(lead, 0), len(wide)) if shape[axis - lead] == 1 != wide[axis]]
    return (*range(lead), *stretched)


# Dead masks.


def dead_mask(node: TapeNode, i: int, t: Any, saved: Any, mask: Any) -> Any:
    """The elements of argument `i` that the result does not depend on, given those of the output."""
    primitive = node.primitive
    assert primitive is not None
    if primitive.dead_masks and primitive.dead_masks[i] is not None:
        untaken = primitive.dead_masks[i](t, saved, node.params)
        mask = untaken if mask is None else logical_or(mask, untaken)
    elif mask is None:
        return None
    elif primitive.definition.structural and primitive.outputs == 1:
        return transpose_mask(node, i, mask, saved)
    elif primitive.kind != "elementwise":
        return None
    return conform_mask(mask, node.shape, node.parents[i].shape)


def conform_mask(mask: Any, wide: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """The dead mask of an operand of this shape, given that of a result of shape `wide`: dead in all its copies."""
    mask = broadcast_to(mask, wide)
    axes = broadcast_axes(wide, shape)
    return reshape(all_(mask, axis=axes), shape) if axes else mask


def transpose_mask(node: TapeNode, i: int, mask: Any, saved: tuple[Any, ...]) -> Any:
    """The dead mask behind a structural linear operation: where its transpose moves no live element."""
    primitive, operand = node.primitive, node.parents[i]
    assert primitive is not None
    live = astype(logical_not(mask), operand.dtype)
    has_vjp = primitive.definition.vjp is not None
    pulled = (
        primitive.pulls[0](live, saved, node.params)[i] if has_vjp else primitive.pulls[i](live, saved, node.params)
    )
    return equal(conform(pulled, operand.shape, operand.dtype), 0)
