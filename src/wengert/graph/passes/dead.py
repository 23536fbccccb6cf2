"""Dead values: nothing is computed that no output needs.

A graph has only nodes that its outputs depend on, so what is not used at all is gone as soon as a graph is made. What
remains are operations with several outputs of which some are not used, and arrays that are joined although only a part
of them is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

from wengert.core import machine
from wengert.core.aspects import Aspect
from wengert.core.primitive import OUTPUT
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.passes.rewrite import make_node, rebuild
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _getitem
from wengert.ops.shape.joining import _stack, _unstack
from wengert.ops.shape.rearranging import _concatenate, _split

part_key: Aspect[Callable[[Operation, int], Index]] = Aspect(
    "part key",
    "the key that reads one of several outputs from the operand",
    rest="it has one output, or its outputs are not parts of the operand",
)


def remove_dead(graph: Graph) -> Graph:
    """The graph without unused outputs of operations. Inputs stay, used or not."""
    used = Counter([node.args[0] for node in graph.operations if node.primitive is OUTPUT])
    matches = cache(is_split_of_join)

    def rule(node: Operation, before: Operation) -> Node | None:
        if node.primitive is not OUTPUT:
            return read_part(node) if is_a(node, _getitem) else None
        whole = node.args[0]
        i: int = node.params["index"]
        if is_a(whole, _unstack) and is_a(whole.args[0], _stack) and whole.params == whole.args[0].params:
            return whole.args[0].args[i]
        if is_a(whole, _split) and is_a(whole.args[0], _concatenate) and matches(whole):
            return whole.args[0].args[i]
        if (
            isinstance(whole, Operation)
            and used[before.args[0]] < len(whole.spec)
            and (key := part_key.of(whole.primitive)) is not None
        ):
            return make_node(node, _getitem, whole.args[0], key=key(whole, i))
        return None

    return rebuild(graph, rule)


@part_key(_split)
def slice_of_split(node: Operation, i: int) -> Index:
    """The slice between two bounds."""
    axis, bounds = node.params["axis"], node.params["bounds"]
    start = bounds[i - 1] if i else 0
    stop = bounds[i] if i < len(bounds) else node.args[0].shape[axis]
    return Index((*(slice(None),) * axis, slice(start, stop)))


@part_key(_unstack)
def slice_of_unstack(node: Operation, i: int) -> Index:
    """One index along the axis."""
    return Index((*(slice(None),) * node.params["axis"], i))


def is_split_of_join(split: Operation) -> bool:
    """Whether an array is split where it was joined."""
    joined, axis = split.args[0], split.params["axis"]
    if not isinstance(joined, Operation) or joined.params["axis"] != axis or len(joined.args) != len(split.spec):
        return False
    return all(part.shape == spec.shape for part, spec in zip(joined.args, split.spec, strict=True))


def read_part(node: Operation) -> Node | None:
    """The part of a joined array that a key reads, if it reads exactly one.

    This is x[i] of arrays stacked along the first axis, or x[i:j] of arrays concatenated along it.
    """
    joined, key = node.args[0], node.params["key"].key
    if isinstance(key, tuple):
        if len(key) != 1:
            return None
        (key,) = key
    if is_a(joined, _stack) and key.__class__ is int and joined.params["axis"] == 0:
        return joined.args[key]
    if is_a(joined, _concatenate) and key.__class__ is slice and joined.params["axis"] == 0:
        if len(joined.args) > machine.current.max_parts_read_from_joined:
            return None
        wanted = key.indices(joined.shape[0])
        start = 0
        for part in joined.args:
            if wanted == (start, start + part.shape[0], 1):
                return part
            start += part.shape[0]
    return None
