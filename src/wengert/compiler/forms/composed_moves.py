"""Chains of operations that only move elements of one array: one read of each element, at an index that is known.

Joining parts of an array in another order (`np.stack`, `np.concatenate`, `np.roll`) is a pass over it, and so is each
of the gates of a quantum circuit that permute its states, or each step of a bit reversal. Several of them, one after
the other, are a permutation, or a selection, of the elements of the first array. Its indices are found by running the
same operations on the numbers of the elements, when the program is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, by_sequence, is_a
from wengert.graph.passes.rewrite import make_node, rebuild, reshape_node
from wengert.graph.passes.views import merge_views
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _getitem, gather
from wengert.ops.shape.joining import _stack
from wengert.ops.shape.rearranging import _concatenate, _flip, _roll
from wengert.ops.shape.reshaping import _expand_dims, _reshape, _transpose

JOINS = (_stack, _concatenate, _roll)
"""Each is a pass over its operands."""
VIEWS = (_getitem, _flip, _reshape, _expand_dims, _transpose)
FEWEST_BYTES = 48
"""A read at an index takes about as long as passes of so many bytes: three over complex numbers, six over doubles."""
MOST_ELEMENTS = 1 << 20
"""Indices of longer arrays would take longer to store with the program, and to read, than the passes."""


def compose_moves(graph: Graph) -> Graph:
    """Replace joins that follow several others, of parts of one array, by a gather from that array."""
    origins = find_origins(graph.operations)
    read = joins_read(graph, origins)
    passes: dict[Node, int] = {}
    for node in origins:
        before = max(0 if a in read else passes.get(a, 0) for a in node.args)
        passes[node] = before + is_a(node, *JOINS)
    ends = {join for join in read if is_long(join, passes[join])}
    if not ends:
        return graph
    moved: dict[Node, np.ndarray] = {}
    tables: dict[bytes, Constant] = {}
    new: dict[Node, Node] = {}

    def rule(node: Operation, before: Operation) -> Node | None:
        new[before] = node
        if before not in ends:
            return None
        moved[before] = index = element_numbers(before, origins, moved)
        table = tables.setdefault(index.tobytes(), Constant(index.ravel()))
        origin = new.get(origins[before], origins[before])
        flat = reshape_node(node, origin, (origin.size,))
        elements = make_node(node, gather, flat, table, key=Index((Hole.ARRAY,)))
        new[before] = found = reshape_node(node, elements, node.shape)
        return found

    return merge_views(rebuild(graph, rule))


def find_origins(operations: Iterable[Operation]) -> dict[Operation, Node]:
    """For each operation that only moves elements of one array, the array; in the order of the operations."""
    origins: dict[Operation, Node] = {}
    for node in operations:
        if is_a(node, *JOINS, *VIEWS):
            found = {origins.get(a, a) if isinstance(a, Operation) else a for a in node.args}
            origin = found.pop()
            if not found and origin.weak is None:
                origins[node] = origin
    return origins


def joins_read(graph: Graph, origins: dict[Operation, Node]) -> set[Operation]:
    """The joins whose elements are read by something else than another join of the same array, or are results."""
    found: set[Operation] = set()
    users = [a for node in graph.operations if node not in origins for a in node.args]
    stack: list[Node] = [*users, *graph.outputs]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen or node not in origins:
            continue
        seen.add(node)
        if is_a(node, *JOINS):
            found.add(node)
        else:
            stack += node.args
    return found


def is_long(join: Operation, passes: int) -> bool:
    """Whether so many passes over an array take longer than reads at indices."""
    return passes * join.dtype.itemsize >= FEWEST_BYTES and 0 < join.size <= MOST_ELEMENTS


def element_numbers(
    end: Operation, origins: Mapping[Operation, Node], moved: Mapping[Node, np.ndarray]
) -> np.ndarray:
    """The number of each element of a moved array in the array that it is an element of; `moved` has known ones."""
    origin = origins[end]
    numbers = {origin: np.arange(origin.size, dtype=np.int32).reshape(origin.shape), **moved}
    stack, moves = [end], {end}
    while stack:
        for a in stack.pop().args:
            if a not in numbers and a not in moves:
                assert isinstance(a, Operation)
                moves.add(a)
                stack.append(a)
    for node in sorted(moves, key=by_sequence):
        numbers[node] = node.primitive.impl(*[numbers[a] for a in node.args], **node.params)
    return np.ascontiguousarray(numbers[end])
