"""Small matrices with many right-hand sides: a stack of systems, one for each column, over which loops run.

What is computed from the solutions follows: elementwise operations and reductions are moved before the transpose that
makes columns of the stack again. So a loop over the columns has all of it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from wengert.compiler.forms.lowering import FLOATS, Reduction, largest_order, lowering
from wengert.core.infer import is_elementwise
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.passes.rewrite import rebuild
from wengert.modes.symbolic import Symbol
from wengert.ops.linear_algebra.systems import _solve
from wengert.ops.linear_algebra.triangular import _solve_triangular
from wengert.ops.shape.reshaping import expand_dims


def stack_columns(graph: Graph) -> Graph:
    """The graph with stacks of systems."""
    if not any(map(has_many_columns, graph.operations)):
        return graph
    return rebuild(graph, partial(turn, rows={}))


def has_many_columns(node: Operation) -> bool:
    """Whether a node is a small system with many right-hand sides."""
    if not is_a(node, _solve, _solve_triangular) or (is_a(node, _solve) and node.args[2].size):
        return False
    x, y = node.args[:2]
    largest = largest_order(is_triangle=is_a(node, _solve_triangular))
    return 0 < x.shape[-1] <= largest < y.shape[-1] and node.dtype == x.dtype == y.dtype and node.dtype in FLOATS


def turn(node: Operation, _: Operation, rows: dict[Node, Node]) -> Node | None:
    """The transpose of a stack that a node is: it solves systems, or an operand is such a transpose, one of `rows`."""
    if has_many_columns(node):
        x, y = map(Symbol, node.args[:2])
        columns = expand_dims(y.swapaxes(-1, -2), -1)
        factors = [expand_dims(Symbol(a), -3) for a in node.args[2:]]
        stack = apply(node, expand_dims(x, -3), columns, *factors)[..., 0]
    elif not any(a in rows for a in node.args):
        return None
    elif lowering_is_reduction(node):
        return turned_reduction(node, Symbol(rows[node.args[0]]))
    elif is_elementwise(node.primitive) and node.spec.__class__ is Spec:
        stack = apply(node, *[exchanged(a, rows) for a in node.args])
    else:
        return None
    out = stack.swapaxes(-1, -2).node
    rows[out] = stack.node
    return out


def apply(node: Operation, *operands: Any) -> Any:
    """The operation of a node on other operands."""
    return node.primitive.op(*operands, **node.params)


def exchanged(a: Node, rows: dict[Node, Node]) -> Any:
    """An operand with its last two axes exchanged, as far as it has them."""
    if a in rows:
        return Symbol(rows[a])
    if a.ndim == 0:
        return a.value if a.weak else Symbol(a)  # type: ignore[attr-defined]  # a Python number is a constant
    return expand_dims(Symbol(a), -1) if a.ndim == 1 else Symbol(a).swapaxes(-1, -2)


def lowering_is_reduction(node: Operation) -> bool:
    """Whether an operation folds the elements along axes."""
    return isinstance(lowering.of(node.primitive), Reduction)


def turned_reduction(node: Operation, stack: Any) -> Node:
    """A reduction of a transpose, from what is transposed."""
    last = stack.ndim - 1
    other = {last: last - 1, last - 1: last}
    axes = tuple(sorted([other.get(axis, axis) for axis in node.params["axis"]]))
    out = node.primitive.op(stack, **{**node.params, "axis": axes})
    keeps_both = node.params["keepdims"] or not set(axes) & set(other)
    return (out.swapaxes(-1, -2) if keeps_both else out).node
