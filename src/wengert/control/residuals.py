"""Residuals: which values of a body are kept for its backward part, and which are computed there again.

A value that follows from kept ones by views and a few cheap operations is computed again: that takes less time than to
write it to memory in each step and to read it later. Expensive operations are never repeated.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from wengert.graph.ir import Constant, Node, Operation

LONGEST = 64
"""The largest number of operations that are repeated for one value."""


def is_cheap(node: Node) -> bool:
    """Whether each element of an operation takes an instruction or two."""
    if not isinstance(node, Operation):
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
        most = node.nbytes if node.primitive.facts.view else node.nbytes - 1
        if missing is not None and sum([source.nbytes for source in missing]) <= most:
            kept |= missing
        else:
            kept.add(viewed_value(node))
    return kept


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
        if len(seen) > LONGEST:
            return None
        if is_cheap(source):
            assert isinstance(source, Operation)
            stack += source.args
        else:
            missing.add(source)
    return missing
