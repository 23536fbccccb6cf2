"""The loop that passes share: every operation is seen once, after its operands, and may be replaced.

A rule is given an operation whose operands have been rewritten already, and the operation that it was, whose uses are
known. It returns the node to replace it, or None. The replacement is made only if it has the same spec and the same
weak type, so a rule need not check that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wengert.core import aspects
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, make_operation
from wengert.ops.shape.reshaping import _broadcast_to, _reshape

Rule = Callable[[Operation, Operation], Node | None]


def rebuild(graph: Graph, rule: Rule, given: Mapping[Node, Node] | None = None) -> Graph:
    """The graph with replacements made; `given` are some to begin with.

    Where nothing is replaced, it is the graph itself.

    Operations are computed in the order in which they were made, so from the first replacement on all of them are made
    anew: to leave some as they are would move them to the front, and keep their results in memory for longer.
    """
    new: dict[Node, Node] = dict(given or ())
    for node in graph.nodes:
        if not isinstance(node, Operation):
            continue
        now = node.with_args([new.get(a, a) for a in node.args]) if new else node
        put = rule(now, node)
        if put is not None and put is not now and can_replace(put, now):
            if put.sequence > now.sequence:
                put.name, put.source = node.name, node.source
            new[node] = put
        elif new:
            new[node] = now
    return graph.with_outputs([new.get(y, y) for y in graph.outputs]) if new else graph


def can_replace(put: Node, node: Node) -> bool:
    """Whether a node can take the place of another."""
    return put.spec == node.spec and put.weak is node.weak


def make_node(node: Operation, of: aspects.Operation, *args: Node, **params: Any) -> Operation:
    """A node that helps to compute another one, and so has its source line."""
    made = make_operation(aspects.primitive_of(of), args, **params)
    made.source = node.source
    return made


def constant_value(node: Node) -> Any:
    """The value of a constant; None for anything else, captured values too."""
    return node.value if isinstance(node, Constant) and not node.is_captured else None


def is_uniform(node: Node, number: Any) -> bool:
    """Whether a node is a constant with this number everywhere, zeros with their sign."""
    value = constant_value(node)
    if value is None:
        return False
    value = np.asarray(value)
    if not value.size or not _equals(value.flat[0], number):
        return False
    return value.size == 1 or bool(np.all(_equals(value, number)))


def _equals(value: Any, number: Any) -> Any:
    same = value == number
    return same & (np.signbit(value) == np.signbit(number)) if number == 0 and value.dtype.kind != "c" else same


def reshape_node(node: Operation, x: Node, shape: tuple[int, ...]) -> Node:
    """A node in another shape."""
    return x if x.shape == shape else make_node(node, _reshape, x, shape=shape)


def broadcast_node(node: Operation, x: Node, shape: tuple[int, ...]) -> Node:
    """A node broadcast to a shape."""
    if x.weak is not None and shape:  # a Python number, which takes the dtype of what it meets
        if not isinstance(x, Constant):
            return x
        x = Constant(node.dtype.type(x.value))
    return x if x.shape == shape else make_node(node, _broadcast_to, x, shape=shape)
