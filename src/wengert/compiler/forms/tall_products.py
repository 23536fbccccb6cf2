"""Products of long rows to small matrices, as sums: a library has few threads for them, a reduction has many."""

from __future__ import annotations

from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.passes.rewrite import rebuild
from wengert.modes.symbolic import Symbol
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.reshaping import expand_dims

SMALL, TALL = 256, 2048
"""The most elements of a small matrix, and the fewest terms of each."""


def sum_tall_products(graph: Graph) -> Graph:
    """The graph with such products as sums."""
    return rebuild(graph, lambda now, before: sum_of_products(now))


def sum_of_products(node: Operation) -> Node | None:
    """A product as a sum, if it has few elements of many terms."""
    if not is_a(node, matmul) or min(a.ndim for a in node.args) < 2 or node.dtype.kind != "f":
        return None
    x, y = node.args
    if node.shape[-2] * node.shape[-1] > SMALL or x.shape[-1] < TALL or x.dtype != y.dtype:
        return None
    terms = multiply(expand_dims(Symbol(x), -1), expand_dims(Symbol(y), -3))
    found: Node = sum_(terms, -2).node
    return found
