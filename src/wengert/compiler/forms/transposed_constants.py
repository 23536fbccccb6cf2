"""Transposed matrices that are computed from constants: the constants are stored transposed instead.

Columns of a Jacobian are computed from seeds, which are constant, as rows of its transpose. A kernel would read rows of
constants and write columns, an element at a time. But constants may be stored in either order, and numbers along one
axis are the same in both: so rows are read, and rows are written.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from wengert.compiler.forms.classify import operation_cost
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.infer import is_elementwise
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a, make_constant, make_operation
from wengert.graph.passes.rewrite import make_node, rebuild
from wengert.graph.passes.views import key_part, selected_parts
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _getitem, _scatter
from wengert.ops.shape.reshaping import _reshape, _transpose

Axes = tuple[int, ...]


def transpose_constants(graph: Graph) -> Graph:
    """The graph with transposed matrices as functions of transposed constants: the same bits."""
    uses = graph.count_uses()
    known: dict[tuple[Node, Axes], Node] = {}

    def rule(node: Operation, before: Operation) -> Node | None:
        if not is_a(node, _transpose) or is_line(node) or node.params["axes"][-1] == node.ndim - 1:
            return None
        matrices = matrices_of(before.args[0])
        if not any(isinstance(x, Constant) for x in matrices):
            return None
        if repeated_cost(matrices, uses) > machine.current.max_operations_repeated_for_transpose:
            return None
        return transpose_matrix(node.args[0], node.params["axes"], known)

    return rebuild(graph, rule)


def matrices_of(root: Node) -> list[Node]:
    """A matrix and those that it is computed from; empty if one of them is neither constant nor of elements."""
    found: dict[Node, None] = {}
    stack, largest = [root], machine.current.max_bytes_of_transposed_constant
    while stack:
        node = stack.pop()
        if is_line(node) or node in found:
            continue
        found[node] = None
        if isinstance(node, Operation) and (is_element_by_element(node) or slices_of(node)):
            stack.extend(node.args)
        elif not isinstance(node, Constant) or node.is_captured or node.nbytes > largest:
            return []
    return list(found)


def repeated_cost(matrices: list[Node], uses: dict[Node, int]) -> int:
    """What an element costs, in additions, if another operation than the transpose uses one of them; else nothing."""
    computed = [node for node in matrices if isinstance(node, Operation)]
    known = Counter([a for node in computed for a in node.args] + matrices[:1])
    is_shared = any(uses[node] > known[node] for node in computed)
    return sum(map(operation_cost, computed)) if is_shared else 0


def is_line(node: Node) -> bool:
    """Whether a value has at most one axis that is longer than one."""
    return sum([n > 1 for n in node.shape]) <= 1


def is_element_by_element(node: Operation) -> bool:
    """Whether each element is computed from one of each operand."""
    return len(node.specs) == 1 and is_elementwise(node.primitive)


def slices_of(node: Operation) -> list[range]:
    """The indices along each axis that slices read or, in zeros, write; empty for any other operation."""
    if not is_a(node, _getitem, _scatter) or len(node.args) > 1 or node.ndim != node.args[0].ndim:
        return []
    whole = node.shape if is_a(node, _scatter) else node.args[0].shape
    selected = selected_parts(whole, node.params["key"]) or []
    ranges = [axis for is_new, axis, _ in selected if isinstance(axis, range) and not is_new]
    return ranges if len(ranges) == len(selected) else []


def transpose_matrix(x: Node, axes: Axes, known: dict[tuple[Node, Axes], Node]) -> Node:
    """A value with its axes permuted, after those of length one that broadcasting puts in front; numbers stay."""
    if not x.ndim:
        return x
    found = known.get((x, axes))
    if found is None:
        shape = (1,) * (len(axes) - x.ndim) + x.shape
        permuted = tuple([shape[i] for i in axes])
        if isinstance(x, Constant):
            found = transpose_constant(x, shape, axes)
        elif is_line(x):
            found = make_operation(primitive_of(_reshape), [x], shape=permuted)
        else:
            assert isinstance(x, Operation)
            params = dict(x.params)
            if ranges := slices_of(x):
                params["key"] = Index(tuple([key_part(ranges[i]) for i in axes]))
            if is_a(x, _scatter):
                params["shape"] = permuted
            found = make_node(x, x.primitive, *[transpose_matrix(a, axes, known) for a in x.args], **params)
        known[x, axes] = found
    return found


def transpose_constant(x: Constant, shape: tuple[int, ...], axes: Axes) -> Node:
    """A constant with its axes permuted; itself if it is symmetric."""
    value = np.asarray(x.value)
    permuted = np.ascontiguousarray(value.reshape(shape).transpose(axes))
    return x if permuted.shape == x.shape and permuted.tobytes() == value.tobytes() else make_constant(permuted)
