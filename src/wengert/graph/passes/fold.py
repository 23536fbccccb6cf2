"""Constant folding: what depends on no input is computed once, when the graph is optimized."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.primitive import plain_impl
from wengert.core.spec import UNKNOWN, Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a, make_constant, make_operation
from wengert.graph.passes.rewrite import constant_value, rebuild
from wengert.ops.indexing.subscripts import _add_at, _scatter, _set_at, gather
from wengert.ops.shape.joining import _full_like
from wengert.ops.shape.reshaping import _broadcast_to


def fold(graph: Graph) -> Graph:
    """Make constants of operations on constants and of empty results, and one number of a repeated number.

    The constants do not grow much by it: results that are larger than their operands stay operations, and so does
    broadcasting; if the constants together would take more than twice the memory, only small ones are made. Captured
    values are left alone, because they are to be lifted to inputs.
    """
    scalars: dict[Node, Node] = {node: shrink(node) for node in graph.constants if is_repeated(node)}
    folded = rebuild(graph, lambda node, _: fold_operation(node), scalars)
    most = 2 * total_bytes(graph.constants) + machine.current.max_bytes_of_folded_constants
    if folded is graph or total_bytes(folded.constants) <= most:
        return folded
    small = machine.current.max_bytes_always_folded
    return rebuild(
        graph, lambda node, _: fold_operation(node) if len(node.specs) == 1 and node.nbytes <= small else None, scalars
    )


def total_bytes(constants: Sequence[Node]) -> int:
    """The memory of some nodes."""
    return sum([node.nbytes for node in constants])


def fold_operation(node: Operation) -> Node | None:
    """The constant that an operation is, if its operands are, and if it is small or no larger than they are.

    NumPy computes it: native code would give other bits once it pays, and may be under way for another machine.
    """
    if is_empty(node):
        return Constant(np.empty(node.shape, node.dtype))
    values = []
    for a in node.args:
        if a.__class__ is not Constant or a.is_captured:
            return None
        values.append(a.value)
    if node.spec.__class__ is tuple or is_broadcast(node):
        return None
    if node.nbytes > max(machine.current.max_bytes_always_folded, total_bytes(node.args)):
        return None
    try:
        with np.errstate(all="ignore"):
            value = plain_impl(node.primitive)(*values, **node.params)
    except Exception:  # such as an index out of bounds: the run will raise it
        return None
    return Constant(node.weak(value)) if node.weak is not None else make_constant(value)


def is_empty(node: Operation) -> bool:
    """Whether there are no elements to compute. An index may still be out of bounds, which only the run can tell.

    An array with as many rows as a loop makes steps has a shape that only the run can tell, even if rows are empty.
    """
    if 0 not in node.shape or node.spec.__class__ is not Spec or UNKNOWN in node.shape:
        return False
    return not is_a(node, gather, _scatter, _set_at, _add_at)


def is_broadcast(node: Operation) -> bool:
    """Whether an operation repeats its operand."""
    return is_a(node, _broadcast_to, _full_like) and node.size > node.args[-1].size


def is_repeated(node: Constant) -> bool:
    """Whether a constant is an array of equal elements, bit by bit."""
    value = constant_value(node)
    if not isinstance(value, np.ndarray) or value.size < 2 or value.dtype.hasobject:
        return False
    raw = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    # compares each element with the one before it; stops at the first difference, and copies nothing
    return raw[value.itemsize :].data == raw[: -value.itemsize].data


def shrink(node: Constant) -> Operation:
    """A constant array of equal elements as the broadcast of one of them."""
    scalar = Constant(node.value[(0,) * node.ndim])
    made = make_operation(primitive_of(_broadcast_to), (scalar,), shape=node.shape)
    made.name = node.name
    return made
