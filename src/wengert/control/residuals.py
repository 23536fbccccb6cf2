"""Residuals: which values of a body are kept for its backward part, and which are computed there again.

A value that follows from kept ones by views and a few cheap operations is computed again: that takes less time than to
write it to memory in each step and to read it later. Expensive operations are never repeated.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from wengert.core import machine
from wengert.core.primitive import OUTPUT
from wengert.core.spec import UNKNOWN, Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Input, Node, Operation


def is_cheap(node: Node) -> bool:
    """Whether each element of an operation takes an instruction or two."""
    if not isinstance(node, Operation) or node.primitive is OUTPUT:
        return False
    facts = node.primitive.facts
    return facts.cost is not None and facts.cost <= 1


def choose_residuals(needed: Iterable[Node], free: Container[Node]) -> set[Node]:
    """Values to keep, such that all that are `needed`, in order, follow from them and from `free` ones.

    A value gives way to those that it is computed from if these take less memory, or if it is a view and they do not
    take more.
    """
    values = [node for node in needed if not isinstance(node, Constant)]
    kept = {node for node in values if not is_cheap(node)}
    for node in values:
        if node in kept:
            continue
        assert isinstance(node, Operation)
        missing = missing_sources(node, kept, free)
        if missing is not None and takes_less(missing, node):
            kept |= missing
        else:
            kept.add(viewed_value(node))
    return kept


def takes_less(missing: set[Node], node: Operation) -> bool:
    """Whether to keep what is missing to compute a node takes less memory than the node, or as much as a view."""
    size = sum([source.nbytes for source in missing])
    return not missing or size < node.nbytes or (node.primitive.facts.view and size == node.nbytes)


def viewed_value(node: Node) -> Node:
    """The value behind views that show all of it."""
    while isinstance(node, Operation) and node.primitive.facts.view and node.args[0].nbytes <= node.nbytes:
        node = node.args[0]
    return node


def missing_sources(node: Operation, kept: Container[Node], free: Container[Node]) -> set[Node] | None:
    """The values that must be kept beside others to compute a node again; None if that takes too many operations."""
    missing: set[Node] = set()
    seen: set[Node] = {node}
    stack: list[Node] = list(node.args)
    while stack:
        source = stack.pop()
        if source in seen or source in kept or source in free or isinstance(source, Constant):
            continue
        seen.add(source)
        if len(seen) > machine.current.max_operations_repeated_for_residual:
            return None
        if is_cheap(source):
            assert isinstance(source, Operation)
            stack += source.args
        else:
            missing.add(source)
    return missing


def find_late(whole: Graph, cotangents: Sequence[Input]) -> set[Node]:
    """The nodes that depend on cotangents."""
    late: set[Node] = set(cotangents)
    for node in whole.operations:
        if any(a in late for a in node.args):
            late.add(node)
    return late


def find_needed(whole: Graph, late: set[Node], results: Iterable[Node]) -> list[Node]:
    """The values that late nodes and the results read, in order.

    A sequence of unknown length is computed again from what it needs, because a loop around this body could not keep
    one for each step.
    """
    read = {a for node in whole.operations if node in late for a in node.args} | set(results)
    for node in reversed(whole.operations):
        if node in read and node not in late and has_unknown_length(node.spec):
            read = (read | set(node.args)) - {node}
    return [node for node in whole.nodes if node in read and node not in late]


def has_unknown_length(spec: Spec | tuple[Spec, ...]) -> bool:
    """Whether the number of slices is known only when the program runs; also of one of several results."""
    return UNKNOWN in spec.shape if isinstance(spec, Spec) else any(map(has_unknown_length, spec))
