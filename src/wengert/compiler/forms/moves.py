"""Operations that only move elements of one array: moved before they are multiplied, and by one read at known indices.

An element of a rolled array is a choice between two elements. If the array is in memory, its index is chosen, and read
once; a product would be computed at both positions. So an array is rolled before it is multiplied by a number.

Parts of an array that are joined in another order and reshaped are a pass over it. Several of them, one after the
other, permute the elements of the first array, or select some: they are one gather, whose indices are found by running
the same operations on the numbers of the elements, when the program is compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

import numpy as np

from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, by_sequence, is_a, make_operation
from wengert.graph.passes.rewrite import make_node, rebuild, reshape_node
from wengert.graph.passes.views import merge_views
from wengert.ops.elementwise.arithmetic import multiply, negative
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _getitem, gather
from wengert.ops.shape.joining import _stack
from wengert.ops.shape.rearranging import _concatenate, _flip, _roll
from wengert.ops.shape.reshaping import _expand_dims, _reshape, _transpose

JOINS = (_stack, _concatenate)
VIEWS = (_getitem, _flip, _reshape, _expand_dims, _transpose)


def roll_factors(graph: Graph) -> Graph:
    """The graph with roll(x * c) as roll(x) * c, for a number c, and roll(-x) as -roll(x): the same bits."""
    return rebuild(graph, lambda node, _: roll_factor(node))


def roll_factor(node: Operation) -> Node | None:
    """A rolled array of products with a number as such products of a rolled array; None if it is none."""
    if not is_a(node, _roll) or not is_a(node.args[0], multiply, negative):
        return None
    (product,) = node.args
    assert isinstance(product, Operation)
    if sum(a.ndim > 0 for a in product.args) != 1:
        return None
    args: list[Node] = []
    for a in product.args:
        rolled = make_node(node, _roll, a, **node.params) if a.ndim else None
        args.append(a if rolled is None else roll_factor(rolled) or rolled)
    return make_operation(product.primitive, args, **product.params)


def compose_moves(graph: Graph) -> Graph:
    """Replace joins that follow several others, of parts of one array, by a gather from that array."""
    origins = find_origins(graph.operations)
    read = joins_read(graph, origins)
    passes = count_passes(origins, read)
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


def count_passes(origins: Mapping[Operation, Node], read: Set[Node]) -> dict[Node, int]:
    """The number of joins that are computed for each array alone, and would be in memory, because it reshapes them."""
    passes: dict[Node, int] = {}
    joined: set[Node] = set()
    for node in origins:
        alone = [a for a in node.args if a not in read]
        passes[node] = max([passes.get(a, 0) for a in alone], default=0)
        if is_a(node, _reshape):
            passes[node] += not joined.isdisjoint(alone)
        elif is_a(node, *JOINS) or not joined.isdisjoint(alone):
            joined.add(node)
    return passes


def is_long(join: Operation, passes: int) -> bool:
    """Whether a join and the passes before it take longer than reads at indices."""
    now = machine.current
    moved = (passes + 1) * join.dtype.itemsize
    has_fitting_size = now.min_elements_of_composed_moves <= join.size <= now.max_elements_of_composed_moves
    return moved >= now.min_bytes_moved_instead_of_gather and has_fitting_size


def element_numbers(end: Operation, origins: Mapping[Operation, Node], moved: Mapping[Node, np.ndarray]) -> np.ndarray:
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
