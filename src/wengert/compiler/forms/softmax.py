"""Weights of a `logsumexp`: its derivative is made of the exponentials that it sums anyway.

The rule of the derivative has exp(x - logsumexp(x)), so that it needs no other value of the operation. Natively,
`logsumexp` computes exp(x - largest) and their sum, and the same weights are these exponentials over the sum.
"""

from __future__ import annotations

from wengert.compiler.aspects.reductions import normalized_exponentials
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.passes.rewrite import rebuild
from wengert.graph.passes.simplify import is_number
from wengert.graph.passes.views import RESHAPES
from wengert.modes.symbolic import Symbol
from wengert.ops.elementwise.arithmetic import subtract
from wengert.ops.elementwise.choices import _where
from wengert.ops.elementwise.exponential import exp
from wengert.ops.reductions.sums import _logsumexp


def share_exponentials(graph: Graph) -> Graph:
    """exp(x - logsumexp(x)) is exp(x - largest) over its sum; the parts that `logsumexp` has too are computed once."""
    if not any(is_a(node, _logsumexp) for node in graph.operations):
        return graph

    def rule(node: Operation, _: Operation) -> Node | None:
        return softmax(node.args[0]) if is_a(node, exp) and is_a(node.args[0], subtract) else None

    return rebuild(graph, rule)


def softmax(difference: Operation) -> Node | None:
    """The weights of the terms of a `logsumexp`, if this is the difference between its operand and its result."""
    x, out = difference.args
    total = total_behind(out)
    if total is None or total.args[0] is not x or x.dtype.kind != "f" or not x.size:
        return None
    axis = total.params["axis"]
    if out.size > 1 and out.shape != tuple([1 if i in axis else n for i, n in enumerate(x.shape)]):
        return None
    node: Node = normalized_exponentials(Symbol(x), axis).node
    return node


def total_behind(node: Node) -> Operation | None:
    """The `logsumexp` behind `where(out == -inf, 0, out)` and views with one element for each of its own."""
    if not is_a(node, _where) or not is_number(node.args[1], 0.0):
        return None
    node = node.args[2]
    while is_a(node, *RESHAPES):
        node = node.args[0]
    return node if is_a(node, _logsumexp) else None
