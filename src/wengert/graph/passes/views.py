"""Operations that only move elements: merged, cancelled, and moved to where they cost least.

Chains of reshape, expand_dims, transpose, broadcast_to and getitem become one operation where one is enough, and each
has one form: a reshape where that is possible. An elementwise operation needs no broadcast operands, because it
broadcasts itself; if all of its operands are broadcast, it is computed before. Transposes and reshapes of all operands
are moved behind it, towards others that they cancel with. Transposed operands of matmul are left alone, since BLAS
reads them as they are, and a transposed product is one of transposed operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from wengert.core.aspects import Aspect
from wengert.core.infer import is_elementwise
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.passes.rewrite import broadcast_node, make_node, rebuild, reshape_node
from wengert.ops.contraction.products import matmul
from wengert.ops.elementwise.arithmetic import add
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _getitem, _scatter
from wengert.ops.shape.joining import _stack
from wengert.ops.shape.reshaping import _broadcast_to, _expand_dims, _reshape, _transpose

view_merger: Aspect[Callable[[Operation], Node | None]] = Aspect(
    "merged view",
    "one operation that replaces it and the view that it is applied to",
    rest="it does not merge with views",
)
RESHAPES = (_reshape, _expand_dims)
MOVES = (*RESHAPES, _transpose, _broadcast_to)


def merge_views(graph: Graph) -> Graph:
    """The graph with fewer views, and elementwise operations on fewer elements."""
    uses = graph.count_uses()

    def rule(node: Operation, before: Operation) -> Node | None:
        if is_a(node, _transpose) and is_a(node.args[0], matmul) and uses[before.args[0]] == 1:
            return transpose_product(node, *node.args[0].args)
        if (merge := view_merger.of(node.primitive)) is not None:
            return merge(node)
        if is_elementwise(node.primitive):
            for a in node.args:
                if is_a(a, *MOVES, _scatter):
                    return move_views_behind(node, [uses[a] for a in before.args])
        return None

    return rebuild(graph, rule)


def transpose_product(node: Operation, x: Node, y: Node) -> Node | None:
    """The product of the transposed matrices, which BLAS reads as they are; None if other axes move too."""
    axes = (*range(node.ndim - 2), node.ndim - 1, node.ndim - 2)
    if node.params["axes"] != axes or not (x.ndim == y.ndim == node.ndim):
        return None
    return make_node(node, matmul, *[make_node(node, _transpose, a, axes=axes) for a in (y, x)])


# Chains of views


@view_merger(*RESHAPES)
def merge_reshape(node: Operation) -> Node | None:
    """One reshape for two; none where the shape stays."""
    (x,) = node.args
    if is_a(x, *RESHAPES):
        return reshape_node(node, x.args[0], node.shape)
    if is_a(x, _broadcast_to) and x.args[0].size == 1:
        return broadcast_node(node, reshape_node(node, x.args[0], ()), node.shape)
    return x if x.shape == node.shape else None


@view_merger(_transpose)
def merge_transpose(node: Operation) -> Node | None:
    """One transpose for two; a reshape where only axes of length one move."""
    (x,) = node.args
    axes = node.params["axes"]
    if is_a(x, _transpose):
        axes = tuple([x.params["axes"][i] for i in axes])
        (x,) = x.args
        return x if axes == tuple(range(x.ndim)) else make_node(node, _transpose, x, axes=axes)
    if is_a(x, _broadcast_to) and x.args[0].size == 1:
        return broadcast_node(node, reshape_node(node, x.args[0], ()), node.shape)
    long = [i for i in axes if x.shape[i] != 1]
    return reshape_node(node, x, node.shape) if long == sorted(long) else None


@view_merger(_broadcast_to)
def merge_broadcast(node: Operation) -> Node | None:
    """One broadcast for two; none where the shape stays."""
    (x,) = node.args
    if is_a(x, _broadcast_to):
        return broadcast_node(node, x.args[0], node.shape)
    if leads_with_ones(x):
        return broadcast_node(node, x.args[0], node.shape)
    return x if x.shape == node.shape else None


@view_merger(_getitem)
def merge_getitem(node: Operation) -> Node | None:
    """One key for two; a reshape where everything is selected."""
    (x,) = node.args
    if is_a(x, _broadcast_to) and x.args[0].size == 1:
        return broadcast_node(node, reshape_node(node, x.args[0], ()), node.shape)
    if is_a(x, _scatter) and len(x.args) == 1 and x.params["key"] == node.params["key"] and not x.params["key"].repeats:
        return x.args[0]
    selected = selected_parts(x.shape, node.params["key"])
    if selected is None:
        return None
    if selects_everything(selected):
        return reshape_node(node, x, node.shape)
    if any(new_axis for new_axis, *_ in selected):
        return None
    if is_a(x, _stack):
        return merge_element(node, x, [axis for _, axis, _ in selected])
    if not is_a(x, _getitem):
        return None
    inner = selected_parts(x.args[0].shape, x.params["key"])
    if inner is None or any(new_axis for new_axis, *_ in inner):
        return None
    outer = iter(selected)
    axes = [axis if isinstance(axis, int) else compose_ranges(axis, next(outer)[1]) for _, axis, _ in inner]
    return make_node(node, _getitem, x.args[0], key=Index(tuple(map(key_part, axes))))


def merge_element(node: Operation, x: Operation, axes: list[int | range]) -> Node | None:
    """One of the arrays in a stack, or a part of it, where the key says which."""
    k = axes.pop(x.params["axis"])
    if not isinstance(k, int):
        return None
    chosen = x.args[k]
    if all(axis == range(n) for axis, n in zip(axes, chosen.shape, strict=True)):
        return chosen
    return make_node(node, _getitem, chosen, key=Index(tuple(map(key_part, axes))))


def selects_everything(selected: list[tuple[bool, int | range, int]]) -> bool:
    """Whether a key selects everything."""
    return all(new_axis or axis == range(n) or n == 1 and axis.__class__ is int for new_axis, axis, n in selected)


@view_merger(_scatter)
def merge_scatter(node: Operation) -> Node | None:
    """Values that are written everywhere are only reshaped."""
    selected = None if len(node.args) > 1 else selected_parts(node.shape, node.params["key"])
    return (
        reshape_node(node, node.args[0], node.shape) if selected is not None and selects_everything(selected) else None
    )


def selected_parts(shape: tuple[int, ...], index: Index) -> list[tuple[bool, int | range, int]] | None:
    """What a key selects of each axis: whether it is a new axis, the index or range of indices, and the length.

    None if the key has arrays.
    """
    key = index.key if isinstance(index.key, tuple) else (index.key,)
    given = sum(part is not None and part is not ... for part in key)
    if ... in key:
        i = key.index(...)
        key = (*key[:i], *(slice(None),) * (len(shape) - given), *key[i + 1 :])
    else:
        key = (*key, *(slice(None),) * (len(shape) - given))
    lengths = iter(shape)
    found: list[tuple[bool, int | range, int]] = []
    for part in key:
        if part is None:
            found.append((True, 0, 1))
        elif part.__class__ is int or part.__class__ is slice:
            n = next(lengths)
            found.append((False, range(n)[part], n))
        else:
            return None
    return found


def compose_ranges(first: range, second: int | range) -> int | range:
    """The indices that are selected of those that were selected."""
    if isinstance(second, int):
        return first[second]
    return range(
        first.start + second.start * first.step, first.start + second.stop * first.step, first.step * second.step
    )


def key_part(axis: int | range) -> int | slice:
    """An index or range of indices as part of a key."""
    if isinstance(axis, int):
        return axis
    if not axis:
        return slice(0, 0)
    return slice(axis.start, axis.stop if axis.stop >= 0 else None, axis.step)


# Elementwise operations on views


def move_views_behind(node: Operation, uses: list[int]) -> Node | None:
    """The same elementwise operation on the operands of views, and the view of that."""
    arrays = [a for a in node.args if a.ndim]
    if any(is_a(a, _broadcast_to) for a in arrays):
        return compute_before_broadcast(node)
    if len(arrays) > 1 and any(map(leads_with_ones, arrays)) and (found := drop_leading_ones(node)) is not None:
        return found
    first = arrays[0] if arrays else None
    if not isinstance(first, Operation) or not all(
        isinstance(a, Operation) and a.primitive is first.primitive for a in arrays
    ):
        return None
    alone = all(n == 1 for a, n in zip(node.args, uses, strict=True) if a.ndim)
    if not alone and len(arrays) == 1 or first.shape != node.shape:
        return None  # the view has other uses, so there would be one more
    inner = [a.args[0] for a in arrays if isinstance(a, Operation)]
    if any(x.shape != inner[0].shape for x in inner):
        return None
    if is_a(first, _scatter):
        return add_before_scatter(node, arrays) if alone else None
    if is_a(first, _transpose) and all(is_a(a, _transpose) and a.params == first.params for a in arrays):
        return make_node(node, _transpose, apply_to(node, inner), axes=first.params["axes"])
    if is_a(first, *RESHAPES) and all(a.shape == first.shape for a in arrays):
        return reshape_node(node, apply_to(node, inner), node.shape)
    return None


def apply_to(node: Operation, arrays: list[Node]) -> Operation:
    """An operation on other arrays; numbers stay."""
    rest = iter(arrays)
    return make_node(node, node.primitive, *[next(rest) if a.ndim else a for a in node.args], **node.params)


def compute_before_broadcast(node: Operation) -> Node | None:
    """The operation on operands that are not broadcast, and if need be the broadcast of that."""
    args = [a.args[0] if is_a(a, _broadcast_to) else a for a in node.args]
    return broadcast_node(node, make_node(node, node.primitive, *args, **node.params), node.shape)


def leads_with_ones(x: Node) -> TypeGuard[Operation]:
    """Whether a node only puts axes of length one in front, which broadcasting does as well."""
    return is_a(x, *RESHAPES) and x.shape == (1,) * (x.ndim - x.args[0].ndim) + x.args[0].shape


def drop_leading_ones(node: Operation) -> Node | None:
    """The operation on operands without leading axes of length one, if another operand has the shape."""
    args = [a.args[0] if leads_with_ones(a) else a for a in node.args]
    if np.broadcast_shapes(*[a.shape for a in args]) != node.shape:
        return None
    return make_node(node, node.primitive, *args, **node.params)


def add_before_scatter(node: Operation, arrays: list[Node]) -> Node | None:
    """The sum of values that are scattered to the same indices is scattered once."""
    if not is_a(node, add) or len(arrays) != 2:
        return None
    x, y = arrays
    if not (is_a(x, _scatter) and is_a(y, _scatter)) or x.params != y.params or x.args[1:] != y.args[1:]:
        return None
    return make_node(node, _scatter, make_node(node, add, x.args[0], y.args[0]), *x.args[1:], **x.params)
