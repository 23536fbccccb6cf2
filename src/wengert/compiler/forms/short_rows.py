"""Short rows: arrays with few elements after their first axes.

A loop then runs over the first axes only, its lanes are neighbouring rows, and the elements of a row are unrolled. So
operations within a row (small products, reductions, slices, concatenations) happen in registers: a batch of small
problems is one loop.
"""

from __future__ import annotations

import math

from wengert.compiler.forms.affine import ZERO, loop_position
from wengert.compiler.forms.lowering import Choice, MatrixFunction, View, lowering_of, native_code
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.infer import is_elementwise
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, make_operation
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.shape.casting import _copy
from wengert.ops.shape.reshaping import _transpose

COPY, MULTIPLY, TRANSPOSE = map(primitive_of, (_copy, multiply, _transpose))


def row_candidates(graph: Graph) -> list[tuple[int, ...]]:
    """The first axes of arrays with short rows: those of functions of small matrices, then those with most elements.

    The terms of products of matrices are summed along the last axis but one, along which there are no rows; columns,
    rows of one element, are none either.
    """
    sizes: dict[tuple[int, ...], int] = {}
    stacks: dict[tuple[int, ...], None] = {}
    for node in graph.operations:
        found = native_code(node)
        if isinstance(found, MatrixFunction) and found.is_for(node):
            stack = node.shape[: found.lead(node)]
            if math.prod(stack) >= machine.current.min_short_rows:
                stacks[stack] = None
        if node.spec.__class__ is Spec and node.ndim > 1 and node.size:
            last = node.ndim - 1 if is_outer_product(node) and node.ndim > 2 else node.ndim
            ndim = next((r for r in range(1, last) if has_short_rows(node.shape, r)), None)
            if ndim is not None and math.prod(node.shape[ndim:]) > 1:
                rows = node.shape[:ndim]
                sizes[rows] = sizes.get(rows, 0) + node.size
    most = [rows for rows in sorted(sizes, key=sizes.__getitem__, reverse=True) if rows not in stacks]
    return [*stacks, *most[:2]]


def has_short_rows(shape: tuple[int, ...], ndim: int) -> bool:
    """Whether there are enough rows after the first axes of a shape, and these are short."""
    now = machine.current
    return math.prod(shape[ndim:]) <= now.max_elements_of_short_row and math.prod(shape[:ndim]) >= now.min_short_rows


def in_rows(node: Node, rows: tuple[int, ...]) -> bool:
    """Whether a value has these first axes, and few elements after them."""
    ndim = len(rows)
    if not rows or node.shape[:ndim] != rows:
        return False
    now = machine.current
    most = now.max_terms_of_unrolled_product if is_outer_product(node) else now.max_elements_of_unrolled_row
    return math.prod(node.shape[ndim:]) <= most


def values_at_ends(graph: Graph, rows: tuple[int, ...]) -> list[Node]:
    """The values that loops over rows read or store: inputs, outputs, and what has another shape outside of them.

    A choice outside of rows has other elements than its operands, which are then stored.
    """
    found = [node for node in (*graph.inputs, *graph.outputs) if in_rows(node, rows)]
    for node in graph.operations:
        is_inside = in_rows(node, rows)
        for a in node.args:
            is_array = node.spec.__class__ is a.spec.__class__ is Spec  # a loop has several results
            is_chosen = not is_inside and isinstance(native_code(node), Choice)
            if is_array and (is_chosen or a.size == node.size) and in_rows(a, rows) != is_inside:
                found.append(node if is_inside else a)
    return found


def is_outer_product(node: Node) -> bool:
    """Whether a value is the product of two that both broadcast: the terms of a product of matrices."""
    return isinstance(node, Operation) and node.primitive is MULTIPLY and all(a.size < node.size for a in node.args)


def keeps_rows(node: Operation, rows: tuple[int, ...]) -> bool:
    """Whether a view or choice takes each row of its result from the same row of its operands."""
    if not in_rows(node, rows):
        return False
    lead = loop_position(rows)
    position = lead + (ZERO,) * (node.ndim - len(rows))
    view, specs = native_code(node), [a.spec for a in node.args]
    if isinstance(view, View):
        found = [(0, view.position(position, *specs, **node.params))]
    else:
        reads = lowering_of(node, Choice).reads(position, *specs, **node.params) or ()
        found = [(r.operand, r.position) for r in reads if r.operand is not None]
    return all(
        inner is not None and (not in_rows(node.args[k], rows) or inner[: len(rows)] == lead) for k, inner in found
    )


def asked_rows(node: Operation, rows: tuple[int, ...]) -> int:
    """The reads of a choice between which the row decides, when code runs."""
    position = loop_position(rows) + (ZERO,) * (node.ndim - len(rows))
    reads = lowering_of(node, Choice).reads(position, *[a.spec for a in node.args], **node.params) or ()
    return sum(any(guard.outcome is None for guard in read.guards) for read in reads)


def shows_rows(view: Node, base: Node, rows: tuple[int, ...]) -> bool:
    """Whether all views between a value and the one behind it keep these rows; without rows, they may do anything."""
    while view is not base:
        assert isinstance(view, Operation)
        if rows and not keeps_rows(view, rows):
            return False
        view = view.args[0]
    return True


def copy_by_columns(graph: Graph, rows: tuple[int, ...]) -> tuple[Graph, set[Node]]:
    """The graph with copies, in which lanes are neighbours, of operands that are read repeatedly; and the copies."""
    new: dict[Node, Node] = {}
    columns: dict[Node, Node] = {}
    copies: set[Node] = set()
    if math.prod(rows[:-1]) < machine.current.min_reads_of_copied_columns:
        return graph, copies
    for node in graph.operations:
        args = [new.get(a, a) for a in node.args]
        for i, a in enumerate(node.args):
            axis = lane_axis(node, a, rows)
            if axis is not None:
                if a not in columns:
                    columns[a], copied = move_axis_last(args[i], axis)
                    copies.add(copied)
                args[i] = columns[a]
        if any(x is not y for x, y in zip(args, node.args, strict=True)):
            new[node] = node.with_args(args)
    return graph.with_outputs([new.get(node, node) for node in graph.outputs]), copies


def lane_axis(node: Operation, a: Node, rows: tuple[int, ...]) -> int | None:
    """The axis of an operand along the lanes of a loop over rows, if it has rows but none of the other first axes."""
    axis = len(rows) - 1 - (node.ndim - a.ndim)
    if not is_elementwise(node.primitive) or not in_rows(node, rows) or in_rows(a, rows) or not 0 <= axis < a.ndim - 1:
        return None
    alone = a.shape[axis] == rows[-1] and all(n == 1 for n in a.shape[:axis])
    is_row = 1 < math.prod(a.shape[axis + 1 :]) <= machine.current.max_elements_of_unrolled_row
    return axis if alone and is_row else None


def move_axis_last(a: Node, axis: int) -> tuple[Node, Node]:
    """A view of a copy of a value that has one axis last in memory; and the copy."""
    order = (*[i for i in range(a.ndim) if i != axis], axis)
    copied = make_operation(COPY, [make_operation(TRANSPOSE, [a], axes=order)])
    return make_operation(TRANSPOSE, [copied], axes=tuple(map(order.index, range(a.ndim)))), copied
