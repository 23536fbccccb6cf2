"""Few positions of a sorted array: where nothing else is read, only these are found, and nothing is sorted.

A median reads one or two positions of an order and the last one, in case that it is NaN; a quantile reads the positions
around it. What `partition` puts where it belongs is read in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.forms.sorted_values import ARGSORT, SORT, are_rows
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.definition import Definition
from wengert.core.kinds import shift_axis
from wengert.core.primitive import Primitive
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a, make_operation
from wengert.graph.passes.rewrite import rebuild
from wengert.modes.symbolic import Symbol
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _getitem, gather
from wengert.ops.indexing.taking import permute
from wengert.ops.samples.sorting import _argpartition, positions_of
from wengert.ops.shape.reshaping import _broadcast_to

ARGPARTITION = primitive_of(_argpartition)


def _select(x: Any, kth: tuple[int, ...], axis: int) -> Any:
    return np.take(np.argsort(x, axis, kind="stable"), kth, axis)


SELECT = Primitive(
    Definition(
        name="select",
        impl=_select,
        kind="nondifferentiable",
        inputs=("x",),
        takes_params=True,
        batch=shift_axis,
        spec=lambda x, kth, axis: Spec((*x.shape[:axis], len(kth), *x.shape[axis + 1 :]), np.dtype(np.intp)),
        reason="the result is integer indices",
    )
)
"""The indices of the elements at the positions `kth`, which rise, of the stable order along an axis."""


class Reader(NamedTuple):
    """An operation that reads positions along the last axis of an ordered array: `source` is the order of an array.

    With `is_values`, it reads the elements in that order.
    """

    source: Operation
    is_values: bool
    positions: np.ndarray


def select_values(graph: Graph) -> Graph:
    """Replace orders, and ordered arrays, of which only few positions are read."""
    sources = [node for node in graph.operations if is_long_order(node)]
    if not sources:
        return graph
    users: dict[Node, list[Operation]] = {}
    for node in graph.operations:
        for a in set(node.args):
            users.setdefault(a, []).append(node)
    readers: dict[Node, Reader] = {}
    kths: dict[Node, tuple[int, ...]] = {}
    for source in sources:
        found = find_readers(source, users, graph.outputs)
        kth = np.unique(np.concatenate([reader.positions.ravel() for reader in found.values()])) if found else None
        is_short = kth is not None and len(kth) <= machine.current.max_selected_positions
        if kth is not None and is_short and all(is_run(reader, kth, node) for node, reader in found.items()):
            kths[source] = tuple(kth.tolist())
            readers |= found

    selected: dict[Node, Operation] = {}

    def rule(node: Operation, before: Operation) -> Node | None:
        if before in kths:
            (x,) = node.args
            selected[before] = make_operation(SELECT, [x], kth=kths[before], axis=x.ndim - 1)
        reader = readers.get(before)
        return None if reader is None else read_selected(node, reader, selected[reader.source])

    return rebuild(graph, rule) if kths else graph


def is_long_order(node: Operation) -> bool:
    """Whether a node orders long rows of real numbers along the last axis."""
    if node.primitive not in (ARGSORT, SORT, ARGPARTITION):
        return False
    x = node.args[0]
    is_stable = node.primitive is not ARGSORT or node.params["kind"] == "stable"
    has_rows = node.params["axis"] == x.ndim - 1 and x.shape[-1] > machine.current.max_numbers_sorted_for_positions
    return is_stable and x.dtype.kind in "fi" and has_rows


def find_readers(source: Operation, users: dict[Node, list[Operation]], outputs: Sequence[Node]) -> dict[Node, Reader]:
    """All operations that read an order, if they read known positions; those that a partition has put in place."""
    known = positions_of(source.params["kth"], source.shape[-1]) if source.primitive is ARGPARTITION else None
    found: dict[Node, Reader] = {}
    stack = [(source, source.primitive is SORT)]
    while stack:
        value, is_values = stack.pop()
        if value in outputs:
            return {}
        for user in users.get(value, ()):
            if not is_values and is_ordered_by(user, source):
                stack.append((user, True))
                continue
            positions = positions_read(user, value)
            if positions is None or (known is not None and not np.isin(positions, known).all()):
                return {}
            found[user] = Reader(source, is_values, positions)
    return found


def is_ordered_by(node: Operation, order: Operation) -> bool:
    """Whether a node has the elements of an array in their order."""
    x = order.args[0]
    if not is_a(node, gather) or node.params["key"].key != (Hole.ARRAY,) * x.ndim or node.args[0] is not x:
        return False
    return node.args[-1] is order and order not in node.args[1:-1] and are_rows(node.args[1:], x.shape, x.ndim - 1)


def positions_read(node: Operation, value: Node) -> np.ndarray | None:
    """The positions along the last axis that a node reads of a value, if they are known."""
    if not is_a(node, gather, _getitem) or value in node.args[1:]:
        return None
    key, n = key_parts(node), value.shape[-1]
    if is_a(node, gather):
        index = known_index(node.args[1])
        is_last = key == (Ellipsis, Hole.ARRAY) or (key == (Hole.ARRAY,) and value.ndim == 1)
        return np.arange(n)[index] if is_last and index is not None else None
    is_whole = any(part is Ellipsis for part in key) or sum(part is not None for part in key) == value.ndim
    if not key or not is_whole or not isinstance(key[-1], int | slice):
        return None
    return np.arange(n)[key[-1]]


def known_index(node: Node) -> np.ndarray | None:
    """The numbers of a constant, or of one that is broadcast; None if they are not known."""
    shape = node.shape
    if is_a(node, _broadcast_to):
        node = node.args[0]
    return np.broadcast_to(node.value, shape) if isinstance(node, Constant) and not node.is_captured else None


def key_parts(node: Operation) -> tuple:
    """The parts of the key of an operation."""
    key = node.params["key"].key
    return key if isinstance(key, tuple) else (key,)


def is_run(reader: Reader, kth: np.ndarray, node: Node) -> bool:
    """Whether a slice of the whole order is one of the positions that are found."""
    at = np.searchsorted(kth, reader.positions)
    return not is_a(node, _getitem) or at.ndim == 0 or (at.size > 0 and np.array_equal(at, at[0] + np.arange(at.size)))


def read_selected(node: Operation, reader: Reader, selected: Operation) -> Node:
    """A reader of the positions that are found, instead of all."""
    (x,) = selected.args
    found: Node = selected
    if reader.is_values:
        found = permute(Symbol(x), Symbol(selected), x.ndim - 1).node
    at = np.searchsorted(selected.params["kth"], reader.positions)
    if is_a(node, gather):
        return make_operation(node.primitive, [found, Constant(at)], **node.params)
    part = int(at) if at.ndim == 0 else slice(int(at[0]), int(at[-1]) + 1)
    return make_operation(node.primitive, [found], key=Index((*key_parts(node)[:-1], part)))
