"""Sums of products over the steps of a loop: one product after it.

The gradient of a loop with respect to a matrix, such as the weights of a recurrent layer, is a sum of x^T y over the
steps. As a state, the sum is read and written in each step, and each product is a small one. The rows of all x and y
below each other give the same sum as one product. Its terms are the same, added in the order of any product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from wengert.control.loop import LOOP, Shape
from wengert.core.aspects import primitive_of
from wengert.core.primitive import OUTPUT
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a, make_operation
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.shape.reshaping import _reshape, _transpose

ADD, MATMUL, RESHAPE, TRANSPOSE = map(primitive_of, (add, matmul, _reshape, _transpose))


class Sum(NamedTuple):
    """A state that only adds up x^T y."""

    state: int
    x: Node
    y: Node


def sum_products(node: Operation) -> dict[int, Node] | None:
    """The outputs of a loop whose sums of products are computed after it; None if it has none."""
    shape, body = node.params["shape"], node.params["body"]
    if node.params["condition"] is not None or not shape.length or shape.length < 2:
        return None
    sums = find_sums(body, shape)
    if not sums:
        return None
    known = {y: k for k, y in reversed(list(enumerate(body.outputs))) if k >= shape.states}
    more = [part for s in sums for part in (s.x, s.y) if part not in known and part not in body.inputs]
    more = list(dict.fromkeys(more))
    gone = {s.state for s in sums}
    kept = [k for k in range(len(body.outputs)) if k not in gone]
    inputs = [given for i, given in enumerate(body.inputs) if i - shape.constants not in gone]
    loop = make_operation(
        LOOP,
        [a for i, a in enumerate(node.args) if i - shape.constants not in gone],
        body=Graph(inputs, [*[body.outputs[k] for k in kept], *more]),
        condition=None,
        shape=shape._replace(states=shape.states - len(gone)),
    )
    loop.name, loop.source = node.name, node.source
    found: dict[int, Node] = {k: make_operation(OUTPUT, [loop], index=i) for i, k in enumerate(kept)}
    added = {y: make_operation(OUTPUT, [loop], index=len(kept) + i) for i, y in enumerate(more)}

    def rows(part: Node) -> Node:
        """The rows of a matrix of all steps, below each other."""
        if part in added:
            whole: Node = added[part]
        else:
            whole = found[known[part]] if part in known else node.args[list(body.inputs).index(part)]
        return make_operation(RESHAPE, [whole], shape=(whole.shape[0] * whole.shape[1], whole.shape[2]))

    for total, x, y in sums:
        product = make_operation(MATMUL, [make_operation(TRANSPOSE, [rows(x)], axes=(1, 0)), rows(y)])
        found[total] = make_operation(ADD, [node.args[shape.constants + total], product])
    return found


def find_sums(body: Graph, shape: Shape) -> list[Sum]:
    """The states that only add up products.

    One factor must be a slice or an output already, and the other one at most as large as the slices of a step, so that
    a loop that computes values again to save memory does not keep them after all.
    """
    read: dict[Node, int] = {}
    for node in (*[a for operation in body.operations for a in operation.args], *body.outputs):
        read[node] = read.get(node, 0) + 1
    slices = body.inputs[shape.last :]
    at_hand: set[Any] = {*slices, *body.outputs[shape.states :]}
    room = sum([given.nbytes for given in slices])
    found = []
    for k in range(shape.states):
        state, factors = body.inputs[shape.constants + k], added_factors(body, shape.constants + k, k)
        if factors is None or read[state] > 1 or read[body.outputs[k]] > 1:
            continue
        varies = all(a in slices or isinstance(a, Operation) for a in factors)
        if varies and any(a in at_hand for a in factors) and all(a in at_hand or a.nbytes <= room for a in factors):
            found.append(Sum(k, *factors))
    return found


def added_factors(body: Graph, i: int, k: int) -> tuple[Node, Node] | None:
    """The matrices x and y, if the new state k is the state, input i, and x^T y."""
    new, state = body.outputs[k], body.inputs[i]
    if not is_a(new, add) or state not in new.args:
        return None
    product = new.args[1] if new.args[0] is state else new.args[0]
    is_reversed = is_transpose(product)
    if is_reversed:
        (product,) = product.args  # type: ignore[attr-defined]  # a transpose
    if not is_a(product, matmul) or not is_transpose(product.args[0]) or not are_matrices(product.args):
        return None
    x, y = product.args[0].args[0], product.args[1]  # type: ignore[attr-defined]  # a transpose
    return (y, x) if is_reversed else (x, y)


def is_transpose(node: Node) -> bool:
    """Whether this is the transpose of a matrix."""
    return is_a(node, _transpose) and tuple(node.params["axes"]) == (1, 0)


def are_matrices(nodes: Sequence[Node]) -> bool:
    """Whether all are matrices of one floating-point dtype."""
    return all(a.ndim == 2 and a.dtype.kind == "f" and a.dtype == nodes[0].dtype for a in nodes)
