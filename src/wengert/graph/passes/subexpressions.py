"""Common subexpressions: what is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation
from wengert.graph.passes.rewrite import rebuild


def merge_common(graph: Graph) -> Graph:
    """The graph with one node for equal constants, and for operations that are equal and have equal operands."""
    seen: dict[Hashable, Node] = {}
    merged: dict[Node, Node] = {}
    for node in graph.constants:
        first = seen.setdefault(number_key(node), node)
        if first is not node:
            merged[node] = first

    def rule(node: Operation, _: Operation) -> Node:
        return seen.setdefault(operation_key(node), node)

    return rebuild(graph, rule, merged)


def operation_key(node: Operation) -> Hashable:
    """Equal for operations that compute the same. Nodes are distinguished by their sequence numbers."""
    primitive, args = node.primitive, node.args
    if len(args) == 1:
        operands: Hashable = args[0].sequence
    elif primitive.facts.commutative and "c" not in (args[0].dtype.kind, args[1].dtype.kind):
        # not for complex numbers: fused multiplication rounds one of two products, so the order matters
        i, j = args[0].sequence, args[1].sequence
        operands = (i, j) if i < j else (j, i)
    else:
        operands = tuple([a.sequence for a in args])
    params = [(key, exact_key(value)) for key, value in node.params.items()]
    return (primitive, operands, *params)


def exact_key(value: Any) -> Hashable:
    """A parameter as a key that distinguishes 0.0 from -0.0, and 1 from 1.0."""
    return (
        (value.__class__, repr(value)) if isinstance(value, float | complex | np.generic) else (value.__class__, value)
    )


def number_key(node: Constant) -> Hashable:
    """Equal for constants with the same numbers."""
    value = node.value
    if node.weak is not None:
        return node.weak, repr(value)
    most = machine.current.max_bytes_of_compared_constants
    if isinstance(value, np.ndarray | np.generic) and value.nbytes <= most and not value.dtype.hasobject:
        return value.dtype.str, value.shape, value.tobytes()
    return id(value)
