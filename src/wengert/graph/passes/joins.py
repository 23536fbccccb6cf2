"""Sums of arrays that are zero but for a piece: the pieces are joined.

The cotangents of `x[0]` and `x[1]` are arrays of zeros with one piece each. Their sum has both pieces: if they are
neighbours, it is one array of zeros with a larger piece, and if they are all of x, it is their stack.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.core import machine
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.passes.rewrite import make_node, rebuild
from wengert.graph.passes.views import key_part, selected_parts
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _scatter
from wengert.ops.shape.joining import _stack
from wengert.ops.shape.rearranging import _concatenate
from wengert.ops.shape.reshaping import _expand_dims


class Piece(NamedTuple):
    """What a scatter writes to zeros: a value, and along each axis the index or range of indices that it has there."""

    value: Node
    axes: tuple[int | range, ...]


def join_pieces(graph: Graph) -> Graph:
    """Replace sums of scatters to neighbouring slices by one scatter of both values, or by the values if that is all.

    Like adding in memory (`updates.py`), this leaves -0.0 where a sum with zero would be 0.0.
    """
    uses = graph.count_uses()

    def rule(node: Operation, before: Operation) -> Node | None:
        if not is_a(node, add):
            return None
        x, y = node.args
        if (joined := join(node, x, y)) is not None:
            return joined
        for rest, last, old in ((x, y, before.args[0]), (y, x, before.args[1])):
            if is_a(rest, add) and is_a(last, _scatter) and uses[old] == 1:
                for inner, other in (rest.args, reversed(rest.args)):
                    if (joined := join(node, inner, last)) is not None:
                        return make_node(node, add, other, joined)
        return None

    return rebuild(graph, rule)


def join(node: Operation, x: Node, y: Node) -> Node | None:
    """The sum of two scatters as one; None if they are not neighbours."""
    first, second = read_piece(x), read_piece(y)
    if first is None or second is None or x.spec != y.spec or first.value.dtype != second.value.dtype:
        return None
    different = [k for k, (i, j) in enumerate(zip(first.axes, second.axes, strict=True)) if i != j]
    if len(different) != 1:
        return None
    (axis,) = different
    if bounds(second.axes[axis])[0] < bounds(first.axes[axis])[0]:
        first, second = second, first
    (start, middle), (next_start, stop) = bounds(first.axes[axis]), bounds(second.axes[axis])
    if middle != next_start:
        return None
    value = join_values(node, first, second, axis)
    if value is None:
        return None
    axes = (*first.axes[:axis], range(start, stop), *first.axes[axis + 1 :])
    return make_node(node, _scatter, value, key=Index(tuple(map(key_part, axes))), shape=x.shape)


def read_piece(node: Node) -> Piece | None:
    """The piece that a scatter to a slice without steps writes; None for anything else."""
    if not is_a(node, _scatter) or len(node.args) > 1:
        return None
    selected = selected_parts(node.shape, node.params["key"])
    if selected is None or any(new_axis for new_axis, *_ in selected):
        return None
    axes = tuple([axis for _, axis, _ in selected])
    ranges = [axis for axis in axes if isinstance(axis, range)]
    is_plain = all(axis.step == 1 and len(axis) > 0 for axis in ranges)
    return Piece(node.args[0], axes) if is_plain and node.args[0].shape == tuple(map(len, ranges)) else None


def bounds(axis: int | range) -> tuple[int, int]:
    """The first index, and the one after the last."""
    return (axis, axis + 1) if isinstance(axis, int) else (axis.start, axis.stop)


def join_values(node: Operation, first: Piece, second: Piece, axis: int) -> Node | None:
    """The values of neighbours along an axis, one after the other; None if they would be too many."""
    k = sum(isinstance(i, range) for i in first.axes[:axis])
    singles = [isinstance(piece.axes[axis], int) for piece in (first, second)]
    parts = [
        list(piece.value.args)
        if is_a(piece.value, _stack) and piece.value.params["axis"] == k and not single
        else [piece.value]
        if single
        else None
        for piece, single in zip((first, second), singles, strict=True)
    ]
    if parts[0] is not None and parts[1] is not None:
        whole = [*parts[0], *parts[1]]
        return make_node(node, _stack, *whole, axis=k) if len(whole) <= machine.current.max_joined_pieces else None
    whole = []
    for piece, single in zip((first, second), singles, strict=True):
        if is_a(piece.value, _concatenate) and piece.value.params["axis"] == k and not single:
            whole += piece.value.args
        else:
            whole.append(make_node(node, _expand_dims, piece.value, axis=(k,)) if single else piece.value)
    return make_node(node, _concatenate, *whole, axis=k) if len(whole) <= machine.current.max_joined_pieces else None
