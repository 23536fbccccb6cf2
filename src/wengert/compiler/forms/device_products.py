"""Products as sums, where that suits a device better than a call of its library.

For products of long rows to small matrices a library has few threads, a reduction has many. Products of few terms fuse
with other operations, and one thread can compute them.
"""

from __future__ import annotations

import math

from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.passes.rewrite import rebuild
from wengert.modes.symbolic import Symbol
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.reductions.sums import sum as sum_
from wengert.ops.shape.reshaping import expand_dims


def replace_products(graph: Graph) -> Graph:
    """The graph with such products as sums."""
    return rebuild(graph, lambda now, before: sum_of_products(now))


def sum_of_products(node: Operation) -> Node | None:
    """A product as a sum, if it has few terms, or few elements of many terms."""
    if not is_a(node, matmul) or node.dtype.kind != "f" or node.args[0].dtype != node.args[1].dtype:
        return None
    x, y = map(Symbol, node.args)
    length, elements = x.shape[-1], math.prod(node.shape[-2:]) if y.ndim > 1 else node.shape[-1]
    now = machine.current
    is_small = y.ndim > 1 and elements <= now.max_elements_of_tall_device_product
    is_tall = is_small and length >= now.min_terms_of_tall_device_product
    if not is_tall and elements * length > now.max_terms_of_small_device_product:
        return None
    terms = multiply(expand_dims(x, -1), expand_dims(y, -3)) if y.ndim > 1 else multiply(x, y)
    found: Node = sum_(terms, -2 if y.ndim > 1 else -1).node
    return found
