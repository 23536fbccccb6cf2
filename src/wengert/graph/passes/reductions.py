"""Reductions of values that were broadcast, multiplied, moved or reduced before.

What does not vary along a reduced axis need not be added up: the sum of n equal numbers is n times that number. A sum
of products of two arrays that each lack an axis of the other is a contraction, which BLAS computes without making the
products; a common factor that is a known number is taken out of it first, and only then, because a sum without it may
overflow where the whole does not. These rules change the order and number of roundings, so sums and means may differ in
the last digits; maxima and minima are exactly the same. A sum begins with 0.0, so that it is never -0.0, and so does
its replacement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from wengert.core import machine
from wengert.core.aspects import Aspect
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.graph.passes.rewrite import broadcast_node, make_node, rebuild, reshape_node
from wengert.ops.contraction.einsum import LETTERS, _einsum
from wengert.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from wengert.ops.reductions.extremes import _max, _min
from wengert.ops.reductions.logical import _all, _any
from wengert.ops.reductions.sums import _mean, _sum
from wengert.ops.shape.reshaping import _broadcast_to, _expand_dims, _reshape, _transpose

shorter_reduction: Aspect[Callable[[Operation, Operation], Node | None]] = Aspect(
    "shorter reduction", "a cheaper operation that is equal to a reduction of its result", rest="none is known"
)
REDUCTIONS = (_sum, _mean, _max, _min, _any, _all)


def shorten_reductions(graph: Graph) -> Graph:
    """The graph with reductions of fewer elements, and fewer of them."""
    uses = graph.count_uses()

    def rule(node: Operation, before: Operation) -> Node | None:
        if not is_a(node, *REDUCTIONS) or node.params.get("initial") is not None or not node.args[0].size:
            return None
        x = node.args[0]
        if not node.params["axis"] or any(x.shape[i] == 1 for i in node.params["axis"]):
            return drop_short_axes(node)
        if not isinstance(x, Operation):
            return None
        if is_a(x, *REDUCTIONS) and uses[before.args[0]] > 1:
            return None  # it has fewer elements than its operand, and is computed anyway
        found = shorter_reduction.of(x.primitive)
        if found is not None:
            return found(node, x)
        if uses[before.args[0]] > 1 or not is_a(node, _sum, _mean):
            return None
        return reduce_product(node, x) if is_a(x, multiply, divide, negative) else None

    return rebuild(graph, rule)


def reduce_along(node: Operation, x: Node, axes: Sequence[int], shape: tuple[int, ...]) -> Node:
    """The same reduction along other axes, in a shape with as many elements."""
    if not axes and has_same_dtype(node, x):
        alone = make_node(node, add, x, Constant(0.0)) if is_a(node, _sum, _mean) and x.dtype.kind in "fc" else x
        return reshape_node(node, alone, shape)
    return reshape_node(
        node, make_node(node, node.primitive, x, **node.params | {"axis": tuple(axes), "keepdims": False}), shape
    )


def has_same_dtype(node: Operation, x: Node) -> bool:
    """Whether an operand has the dtype of the result; a sum of booleans has not, since it counts them."""
    return bool(x.dtype == node.dtype)


def drop_short_axes(node: Operation) -> Node:
    """Axes of length one need no reduction."""
    (x,) = node.args
    return reduce_along(node, x, [i for i in node.params["axis"] if x.shape[i] != 1], node.shape)


@shorter_reduction(_broadcast_to)
def reduce_broadcast(node: Operation, x: Operation) -> Node | None:
    """Reduce before broadcasting, and count the repeated elements."""
    (y,) = x.args
    new = x.ndim - y.ndim

    def varies(i: int) -> bool:
        return i >= new and y.shape[i - new] == x.shape[i]

    axes = node.params["axis"]
    if all(map(varies, axes)):
        return None
    count = math.prod([x.shape[i] for i in axes if not varies(i)])
    along = [i - new for i in axes if varies(i)]
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = tuple([x.shape[i] if varies(i) else 1 for i in kept])
    out = reduce_along(node, y, along, shape)
    if is_a(node, _sum):
        out = make_node(node, multiply, out, Constant(float(count) if node.dtype.kind in "fc" else count))
    return reshape_node(node, broadcast_node(node, out, tuple([x.shape[i] for i in kept])), node.shape)


@shorter_reduction(*REDUCTIONS)
def reduce_reduction(node: Operation, x: Operation) -> Node | None:
    """A sum of sums, a mean of means, the largest of the largest."""
    if x.primitive is not node.primitive or x.params.get("initial") is not None:
        return None
    (y,) = x.args
    inner = x.params["axis"]
    kept = list(range(y.ndim)) if x.params["keepdims"] else [i for i in range(y.ndim) if i not in inner]
    axes = sorted({*inner, *[kept[i] for i in node.params["axis"]]})
    return reduce_along(node, y, axes, node.shape)


@shorter_reduction(_reshape, _expand_dims)
def reduce_reshape(node: Operation, x: Operation) -> Node | None:
    """Reduce all elements without the reshape."""
    if len(node.params["axis"]) < x.ndim:
        return None
    return reduce_along(node, x.args[0], range(x.args[0].ndim), node.shape)


@shorter_reduction(_transpose)
def reduce_transpose(node: Operation, x: Operation) -> Node:
    """Reduce before transposing."""
    (y,) = x.args
    order = x.params["axes"]
    axes = sorted(order[i] for i in node.params["axis"])
    left = [order[i] for i in range(x.ndim) if i not in node.params["axis"]]
    kept = sorted(left)
    out = reduce_along(node, y, axes, tuple([y.shape[i] for i in kept]))
    if left != kept:
        out = make_node(node, _transpose, out, axes=tuple(map(kept.index, left)))
    return reshape_node(node, out, node.shape)


# Products


def reduce_product(node: Operation, x: Operation) -> Node | None:
    """A contraction, if both factors lack axes.

    Another factor that does not vary along the reduced axes is taken out of it.
    """
    if node.dtype.kind not in "fc" or x.dtype != node.dtype:
        return None
    axes = node.params["axis"]
    if len(x.args) == 1:
        return make_node(node, subtract, Constant(0.0), reduce_along(node, x.args[0], axes, node.shape))
    if not is_a(node, _sum):
        return None
    a, b = x.args
    if is_fixed(b, x, axes) and a.shape == x.shape and is_contraction(a, axes):
        return take_out_factor(node, x, a, b, first=True)
    if is_a(x, multiply) and is_fixed(a, x, axes) and b.shape == x.shape and is_contraction(b, axes):
        return take_out_factor(node, x, b, a, first=False)
    return make_contraction(node, x) if is_contraction(x, axes) else None


def extent(a: Node, x: Node, i: int) -> int:
    """The length of an operand along an axis of the shape that it is broadcast to."""
    i -= x.ndim - a.ndim
    return a.shape[i] if i >= 0 else 1


def is_fixed(a: Node, x: Node, axes: Sequence[int]) -> bool:
    """Whether a factor is a constant, finite and not zero, that does not vary along the axes.

    Others would make other NaNs outside of the sum.
    """
    if not isinstance(a, Constant) or a.is_captured or any(extent(a, x, i) != 1 for i in axes):
        return False
    return bool(np.isfinite(a.value).all() and np.all(a.value != 0))


def take_out_factor(node: Operation, x: Operation, summed: Node, factor: Node, first: bool) -> Node | None:
    """Reduce one operand, which has the reduced axes at full length, then apply the operation to it and the other."""
    if summed.dtype != node.dtype:
        return None
    shift = x.ndim - summed.ndim
    axes = [i - shift for i in node.params["axis"]]
    kept = [i for i in range(x.ndim) if i not in node.params["axis"]]
    lengths = [summed.shape[i] for i in range(summed.ndim) if i not in axes]
    total = reduce_along(node, summed, axes, tuple(lengths))
    if factor.ndim:
        factor = reshape_node(node, factor, tuple([extent(factor, x, i) for i in kept]))
    out = make_node(node, x.primitive, *((total, factor) if first else (factor, total)))
    return reshape_node(node, broadcast_node(node, out, tuple([x.shape[i] for i in kept])), node.shape)


def is_contraction(x: Node, axes: Sequence[int]) -> bool:
    """Whether this is a product of which most terms need not be made, because both factors lack axes.

    Both must have all of the reduced axes: what one is summed over alone is a common factor of the other, which may be
    infinite.
    """
    if not is_a(x, multiply):
        return False
    a, b = x.args
    fewest = max(machine.current.min_terms_left_to_blas, 4 * a.size, 4 * b.size)
    if x.size < fewest or a.dtype != b.dtype or x.ndim > len(LETTERS):
        return False
    return all(extent(a, x, i) != 1 and extent(b, x, i) != 1 for i in axes)


def make_contraction(node: Operation, x: Operation) -> Node:
    """`sum(x[:, :, None] * y[None, :, :], 1)` as a sum of products by labels."""
    a, b = x.args
    axes = node.params["axis"]
    in_a = [i for i in range(x.ndim) if extent(a, x, i) != 1]
    in_b = [i for i in range(x.ndim) if extent(b, x, i) != 1]
    kept = [i for i in range(x.ndim) if i not in axes and (i in in_a or i in in_b)]
    squeezed = [
        reshape_node(node, operand, tuple([x.shape[i] for i in own])) for operand, own in ((a, in_a), (b, in_b))
    ]
    labels = [einsum_labels(own) for own in (in_a, in_b, kept)]
    out = make_node(node, _einsum, *squeezed, subscripts=f"{labels[0]},{labels[1]}->{labels[2]}")
    return reshape_node(node, out, node.shape)


def einsum_labels(axes: list[int]) -> str:
    """A letter for each axis."""
    return "".join([LETTERS[i] for i in axes])
