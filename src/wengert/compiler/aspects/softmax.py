"""`log_softmax` and `logsumexp`: the exponentials of both, and of their derivatives, are computed once.

`log_softmax` first subtracts the largest term y = max(x) from all, and `logsumexp` of x - y need not look for it again.
The rule of the derivative of `logsumexp`, and the exponential of `log_softmax`, have exp(x - logsumexp(x)). Natively
these weights are the exponentials exp(x - largest), which are summed anyway, over their sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiler.aspects.reductions import exponential_weights, largest_terms, logarithm_of_sum
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.passes.rewrite import rebuild
from wengert.graph.passes.simplify import is_number
from wengert.graph.passes.views import RESHAPES
from wengert.modes.symbolic import Symbol
from wengert.ops.elementwise.arithmetic import subtract
from wengert.ops.elementwise.choices import _where, where
from wengert.ops.elementwise.exponential import exp
from wengert.ops.elementwise.predicates import equal
from wengert.ops.reductions.extremes import max as max_
from wengert.ops.reductions.sums import _logsumexp
from wengert.ops.special.entropy import _offset


def share_exponentials(graph: Graph) -> Graph:
    """exp(x - logsumexp(x)) is exp(x - largest) over its sum; the parts that `logsumexp` has too are computed once."""
    if not any(is_a(node, _logsumexp) for node in graph.operations):
        return graph

    def share(node: Operation, _: Operation) -> Node | None:
        return weights(node.args[0]) if is_a(node, exp) and is_a(node.args[0], subtract) else None

    def shorten(node: Operation, _: Operation) -> Node | None:
        if not is_a(node, _logsumexp) or not is_centred(node.args[0], node.params["axis"]):
            return None
        x = Symbol(node.args[0])
        return logarithm_of_sum(x, largest_of(x, node.params["axis"]), **node.params).node

    return rebuild(rebuild(graph, share), shorten)


def is_centred(x: Node, axis: tuple[int, ...]) -> bool:
    """Whether a value is the difference between another one and its largest elements along the axes."""
    if not is_a(x, subtract) or not is_a(x.args[1], _offset) or x.dtype.kind != "f" or not x.size:
        return False
    offset = x.args[1]
    return offset.args[0] is x.args[0] and offset.params["axis"] == axis


def largest_of(x: Any, axis: tuple[int, ...]) -> Any:
    """The largest terms, which are zero or infinite if they have been subtracted before."""
    if not is_centred(x.node, axis):
        return largest_terms(x, axis)
    zero, inf = x.dtype.type(0), x.dtype.type(np.inf)
    return where(equal(max_(Symbol(x.node.args[0]), axis, keepdims=True), np.inf), inf, zero)


def weights(difference: Operation) -> Node | None:
    """The weights of the terms of a `logsumexp`, if this is the difference between its operand and its result."""
    x, out = difference.args
    total = total_behind(out)
    if total is None or total.args[0] is not x or x.dtype.kind != "f" or not x.size:
        return None
    axis = total.params["axis"]
    if out.size > 1 and out.shape != tuple([1 if i in axis else n for i, n in enumerate(x.shape)]):
        return None
    terms = Symbol(x)
    node: Node = exponential_weights(terms, largest_of(terms, axis), axis, is_a(out, _where)).node
    return node


def total_behind(node: Node) -> Operation | None:
    """The `logsumexp` behind `where(out == -inf, 0, out)`, which is in its rule, and views that keep its elements."""
    if is_a(node, _where) and is_number(node.args[1], 0.0):
        node = node.args[2]
    while is_a(node, *RESHAPES):
        node = node.args[0]
    return node if is_a(node, _logsumexp) else None
