"""Rolled arrays of products with a number: the array is rolled first, and multiplied then.

An element of a rolled array is a choice between two elements. If the array is in memory, its index is chosen, and read
once; a product would be computed at both positions. The cotangents of a stencil by `np.roll` are such products.
"""

from __future__ import annotations

from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a, make_operation
from wengert.graph.passes.rewrite import make_node, rebuild
from wengert.ops.elementwise.arithmetic import multiply, negative
from wengert.ops.shape.rearranging import _roll


def roll_factors(graph: Graph) -> Graph:
    """The graph with roll(x * c) as roll(x) * c, for a number c, and roll(-x) as -roll(x): the same bits."""
    return rebuild(graph, lambda node, _: roll_factor(node))


def roll_factor(node: Operation) -> Node | None:
    """A rolled array of products with a number as such products of a rolled array; None if it is none."""
    if not is_a(node, _roll) or not is_a(node.args[0], multiply, negative):
        return None
    (product,) = node.args
    assert isinstance(product, Operation)
    if sum(a.ndim > 0 for a in product.args) != 1:
        return None
    args: list[Node] = []
    for a in product.args:
        rolled = make_node(node, _roll, a, **node.params) if a.ndim else None
        args.append(a if rolled is None else roll_factor(rolled) or rolled)
    return make_operation(product.primitive, args, **product.params)
