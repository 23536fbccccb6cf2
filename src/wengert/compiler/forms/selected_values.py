"""Few positions of a sorted array: where nothing else is read, only these are found, and nothing is sorted.

A median reads one or two positions of an order, and the last one in case that it is NaN. A quantile reads the positions
around it. The elements that `partition` puts in order are read in the same way. Native code finds indices. Where there
are many numbers, NumPy sorts them, or partitions long rows, and indices are those of the numbers that it found.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wengert.compiler.forms.lowering import SUPPORTED
from wengert.compiler.forms.sorted_values import ARGSORT, SORT, are_rows, is_for_library
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.definition import Definition
from wengert.core.kinds import shift_axis
from wengert.core.primitive import Primitive, plain_impl
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a, make_operation
from wengert.graph.passes.rewrite import rebuild
from wengert.modes.symbolic import Symbol
from wengert.ops.elementwise.choices import _where
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _getitem, gather
from wengert.ops.indexing.taking import permute
from wengert.ops.samples.sorting import _argpartition, _argsort, positions_of
from wengert.ops.shape.reshaping import _broadcast_to

ARGPARTITION = primitive_of(_argpartition)


def read_sorted(x: Any, kth: Sequence[int]) -> Any:
    """The numbers at positions of sorted rows along the last axis; of a zero, or of a NaN, any one."""
    if x.shape[-1] <= machine.current.max_elements_of_sorted_selection:
        return np.take(np.sort(x, -1), kth, -1)
    found, rest = [], x
    for first, last in reversed(runs_of(kth)):
        if last + 1 < rest.shape[-1]:
            rest = np.partition(rest, last)[..., : last + 1]
        if first == last:
            found.append(rest.max(-1, keepdims=True))
        else:
            rest = np.partition(rest, first)
            found.append(np.sort(rest[..., first:], -1))
            rest = rest[..., :first]
    return np.concatenate(found[::-1], -1)


def runs_of(kth: Sequence[int]) -> list[tuple[int, int]]:
    """The first and the last of numbers that follow each other.

    >>> runs_of((3, 4, 5, 9))
    [(3, 5), (9, 9)]
    """
    ends = [i for i, (k, after) in enumerate(pairwise(kth)) if after > k + 1]
    return [(kth[i], kth[j]) for i, j in zip([0, *[i + 1 for i in ends]], [*ends, len(kth) - 1], strict=True)]


def find_positions(x: Any, kth: Sequence[int], axis: int = -1) -> Any:
    """The indices of the elements at positions of the stable order along an axis."""
    rows = np.moveaxis(x, axis, -1)
    ordered = read_sorted(rows, kth)
    return np.moveaxis(indices_of(rows, ordered, kth), -1, axis)


def indices_of(x: Any, ordered: Any, kth: Sequence[int]) -> Any:
    """Where the numbers at positions of sorted rows are: of equal ones, the one that a stable order has there."""
    rows, found = x.reshape(-1, x.shape[-1]), np.empty(ordered.shape, np.intp)
    for j, k in enumerate(kth):
        own = ordered[..., j].reshape(-1, 1)
        is_own, is_less = rows == own, lambda own=own: rows < own
        if (own != own).any():
            is_own |= (rows != rows) & (own != own)
            is_less = lambda own=own: (rows < own) | ((own != own) & (rows == rows))
        columns = np.flatnonzero(is_own) % rows.shape[-1]
        if len(columns) > len(rows):
            counts, before = [np.count_nonzero(what, -1) for what in (is_own, is_less())]
            columns = columns[np.cumsum(counts) - counts + (k - before)]
        found[..., j] = columns.reshape(found.shape[:-1])
    return found


def read_positions(x: Any, kth: Sequence[int]) -> Any:
    """The elements at positions of the stable order along the last axis."""
    ordered = read_sorted(x, kth)
    is_ambiguous = x.dtype.kind == "f" and ((ordered == 0) | np.isnan(ordered)).any()
    return np.take_along_axis(x, indices_of(x, ordered, kth), -1) if is_ambiguous else ordered


def positions_spec(x: Spec, kth: tuple[int, ...], axis: int = -1) -> Spec:
    """The spec of elements at positions."""
    axis %= len(x.shape)
    return Spec((*x.shape[:axis], len(kth), *x.shape[axis + 1 :]), x.dtype)


SELECT = Primitive(
    Definition(
        name="select",
        impl=find_positions,
        kind="nondifferentiable",
        inputs=("x",),
        takes_params=True,
        batch=shift_axis,
        spec=lambda x, kth, axis: Spec(positions_spec(x, kth, axis).shape, np.dtype(np.intp)),
        reason="the result is integer indices",
    )
)
"""The indices of the elements at the positions `kth`, which rise, of the stable order along an axis."""

SELECT_NUMBERS = Primitive(
    Definition(
        name="select_numbers",
        impl=read_positions,
        kind="nondifferentiable",
        inputs=("x",),
        takes_params=True,
        spec=positions_spec,
        reason="a compiled program has it where no derivative is asked for",
    )
)
"""The elements at the positions `kth`, which rise, of the stable order along the last axis."""

PARTITION_AROUND = Primitive(
    Definition(
        name="partition_around",
        impl=lambda x, indices, kth, axis: plain_impl(ARGPARTITION)(x, kth=kth, axis=axis, kind="introselect"),
        kind="nondifferentiable",
        inputs=("x", "indices"),
        takes_params=True,
        spec=lambda x, indices, kth, axis: indices._replace(shape=x.shape),
        reason="the result is integer indices",
    )
)
"""The indices that partition an array at the positions `kth`, where those of `select` are: all others rise between."""


class Reader(NamedTuple):
    """An operation that reads positions along the last axis of an ordered array: `source` is the order of an array.

    With `is_values`, it reads the elements in that order. The positions are those of `read`, which is the operation
    itself, or gives the indices at which it reads the elements.
    """

    source: Operation
    is_values: bool
    positions: np.ndarray
    read: Operation


def select_values(graph: Graph) -> Graph:
    """Replace orders, and ordered arrays, where only few positions are read."""
    if not any(node.primitive in (ARGSORT, SORT, ARGPARTITION) for node in graph.operations):
        return graph
    graph = gather_before_choices(graph)
    sources = [node for node in graph.operations if is_long_order(node)]
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
        if kth is not None and is_short and all(is_run(reader, kth) for reader in found.values()):
            kths[source] = tuple(kth.tolist())
            readers |= found

    indexed = {reader.source for reader in readers.values() if not reader.is_values}
    selected: dict[Node, Operation] = {}

    def rule(node: Operation, before: Operation) -> Node | None:
        if before in kths:
            (x,), kth = node.args, kths[before]
            is_read = before not in indexed and x.size and is_for_library(x, calls=8)
            made = make_operation(SELECT_NUMBERS, [x], kth=kth) if is_read else select(x, kth, x.ndim - 1)
            selected[before] = made
        elif before.primitive is ARGPARTITION and can_split(before):
            (x,), axis = node.args, node.params["axis"]
            kth = tuple(positions_of(node.params["kth"], x.shape[axis]).tolist())
            return make_operation(PARTITION_AROUND, [x, select(x, kth, axis)], kth=kth, axis=axis)
        reader = readers.get(before)
        return None if reader is None else read_selected(reader, selected[reader.source])

    return rebuild(graph, rule)


def select(x: Node, kth: tuple[int, ...], axis: int) -> Operation:
    """The operation that finds indices."""
    return make_operation(SELECT, [x], kth=kth, axis=axis)


def can_split(node: Operation) -> bool:
    """Whether an array is partitioned at few positions, all inside of its rows."""
    x, kth = node.args[0], node.params["kth"]
    n, given = x.shape[node.params["axis"]], (kth,) if isinstance(kth, int) else kth
    is_inside = x.size > 0 and len(given) > 0 and all(-n <= k < n for k in given)
    is_native = x.dtype in SUPPORTED and x.dtype.kind != "c"
    return is_inside and is_native and len(positions_of(kth, n)) <= machine.current.max_selected_positions


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
            picked = [] if is_values or user in outputs else users.get(user, [])
            if picked and all(is_ordered_by(node, source, user) for node in picked):
                found |= {node: Reader(source, True, positions, user) for node in picked}
            else:
                found[user] = Reader(source, is_values, positions, user)
    return found


def is_ordered_by(node: Operation, order: Operation, part: Operation | None = None) -> bool:
    """Whether a node has the elements of an array in their order, or a part of them."""
    x, part = order.args[0], order if part is None else part
    if not is_a(node, gather) or node.params["key"].key != (Hole.ARRAY,) * x.ndim or node.args[0] is not x:
        return False
    is_whole_row = part.ndim == x.ndim and part.shape[:-1] == x.shape[:-1]
    is_last = node.args[-1] is part and part not in node.args[1:-1]
    return is_whole_row and is_last and are_rows(node.args[1:], x.shape, x.ndim - 1)


def gather_before_choices(graph: Graph) -> Graph:
    """Elements at indices that are chosen between positions of an order, as choices between elements."""
    uses = graph.count_uses()

    def rule(node: Operation, before: Operation) -> Node | None:
        if not is_a(node, gather) or not is_a(choice := node.args[-1], _where) or uses[before.args[-1]] > 1:
            return None
        condition, *parts = choice.args
        if not all(isinstance(part, Operation) and is_a(part.args[0], _argsort) for part in parts):
            return None
        found = [make_operation(node.primitive, [*node.args[:-1], part], **node.params) for part in parts]
        made = make_operation(choice.primitive, [condition, *found])
        return made if made.spec == node.spec else None

    return rebuild(graph, rule)


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


def is_run(reader: Reader, kth: np.ndarray) -> bool:
    """Whether a slice of the whole order is one of the positions that are found."""
    at = np.searchsorted(kth, reader.positions)
    return (
        not is_a(reader.read, _getitem)
        or at.ndim == 0
        or (at.size > 0 and np.array_equal(at, at[0] + np.arange(at.size)))
    )


def read_selected(reader: Reader, selected: Operation) -> Node:
    """A reader of the positions that are found, instead of all."""
    (x,), node = selected.args, reader.read
    found: Node = selected
    if reader.is_values and selected.primitive is SELECT:
        found = permute(Symbol(x), Symbol(selected), x.ndim - 1).node
    at = np.searchsorted(selected.params["kth"], reader.positions)
    if is_a(node, gather):
        return make_operation(node.primitive, [found, Constant(at)], **node.params)
    part = int(at) if at.ndim == 0 else slice(int(at[0]), int(at[-1]) + 1)
    return make_operation(node.primitive, [found], key=Index((*key_parts(node)[:-1], part)))
