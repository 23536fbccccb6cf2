"""The order of additions: what is added to what. It belongs to a nest, and no decision changes it.

| fold | its terms |
|---|---|
| along an axis with `lanes` | term k goes to partial result k mod lanes, and these are folded in pairs |
| with several `accumulators` | vector k of lanes goes to accumulator k mod accumulators, and these are folded |
| along other axes | one after the other, the last axis fastest, the one with lanes inside of all others |
| cut into pieces | each piece by itself, and the pieces in order |
| additions at computed indices | in the order of the loop; in pieces, each by itself, and the pieces in order |

All of it follows from shapes and dtypes, from what the loop reads, and from the fields of `core/machine/order.py`,
which are the same on every processor. So results are, too, whatever vectors and however many cores it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.gather import Written
from wengert.compiler.machine.target import sum_lanes
from wengert.compiler.nests.rows_in_memory import find_factor_rows
from wengert.core import machine
from wengert.core.large_arrays import has_many_terms
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.compiler.nests.nest import Nest


class Order(NamedTuple):
    """The order of the additions of a nest.

    Where `is_fixed`, lanes run along `axis` and nothing else; with one lane, along none. `cuts` are the axes along
    which a reduction is cut into pieces, with the number of parts along each, and `scatter_axis` is that of a scatter.
    The pieces of a scatter are multiples of `grain`, and so of vectors.
    """

    is_fixed: bool
    axis: int | None
    lanes: int
    accumulators: int
    cuts: dict[int, int]
    scatter_axis: int | None
    grain: int

    def step(self, axis: int) -> int:
        """The neighbours along an axis that are added up side by side."""
        return self.lanes if axis == self.axis else 1


def find_order(nest: Nest) -> Order:
    """The order of additions of a nest."""
    found = find_lanes(nest)
    axis, lanes = found if found is not None and found[1] > 1 else (None, 1)
    reduced = sorted([i for i in nest.inner_axes if i in nest.axes], key=lambda i: i == axis)
    scatter = nest.kernel.scatter
    grain = sum_lanes(scatter.dtype.itemsize if scatter is not None and nest.slice_axes else nest.widest)
    order = Order(found is not None, axis, lanes, 1, {}, None, grain)
    return order._replace(
        accumulators=count_accumulators(nest, order, reduced),
        cuts=choose_cuts(nest, order, reduced),
        scatter_axis=find_scatter_axis(nest, order),
    )


def find_lanes(nest: Nest) -> tuple[int, int] | None:
    """The axis whose terms are added up side by side, and how many; None if each sum adds its terms one by one.

    That is the axis along which most of what the loop reads are neighbours, if it is reduced. Functions that add up
    rows in memory depend on the lanes, too, and so do the sums of row kernels.
    """
    depends = bool(nest.kernel.sums) or has_row_sums(nest)
    if not (depends or nest.kernel.reductions):
        return None
    lanes = max(sum_lanes(nest.widest), nest.fewest_vectors * sum_lanes(8))
    axis = find_neighbours(nest, lanes, nest.inner_axes)
    if axis is None or not (depends or axis in nest.axes):
        return None
    return axis, lanes_along(nest, axis, lanes)


def find_neighbours(nest: Nest, lanes: int, axes: Sequence[int]) -> int | None:
    """A long one of some axes, along which most elements are neighbours; None if no element has a neighbour."""
    if not axes or 0 in nest.domain:
        return None
    maps = nest.kernel.maps
    parts = 2 if maps and all(node.dtype.kind == "c" for node in maps) else 1
    long = [i for i in axes if parts * nest.domain[i] >= max(lanes // 2, 2 * parts)]  # half a vector in memory
    if len(long) == 1:
        return long[0]
    if long:
        strided = nest.strided
        return min(long, key=lambda i: (strided[i], -i))
    return max(axes, key=lambda i: (nest.domain[i], i))


def lanes_along(nest: Nest, axis: int, lanes: int) -> int:
    """As many lanes as an axis has elements, and as the stack has room for."""
    most = machine.current.max_stack_bytes_of_lanes
    while lanes > nest.domain[axis] or (lanes > 1 and 8 * lanes * len(nest.nodes) > most):
        lanes //= 2
    return lanes


def has_row_sums(nest: Nest) -> bool:
    """Whether products of two rows in memory are added up, as many side by side as there are lanes."""
    if nest.kernel.scatters:
        return False
    forms, sources = nest.schedule.forms, nest.sources
    nodes = [x for x in nest.computed_nodes if forms[x] is Form.UNROLLED and x.dtype.kind == "f"]
    summed = {x for x in nodes if isinstance(x, Operation) and sources.factors(x) is not None}
    return bool(summed) and any(
        node in summed and find_factor_rows(sources, sources.sources(node, position)) is not None
        for node, position in nest.traced_elements
    )


def count_accumulators(nest: Nest, order: Order, reduced: Sequence[int]) -> int:
    """The number of accumulators: several if lanes are reduced along their axis and the body is short."""
    kernel = nest.kernel
    if order.axis is None or order.axis not in nest.axes or kernel.maps or kernel.sums:
        return 1
    rounds = 1 if len(reduced) > 1 else 4  # of all accumulators, before they are added up
    count = machine.current.sum_accumulators
    is_long = nest.domain[order.axis] >= rounds * count * order.lanes
    return count if nest.has_short_body and len(kernel.reductions) == 1 and is_long else 1


def choose_cuts(nest: Nest, order: Order, reduced: Sequence[int]) -> dict[int, int]:
    """The axes along which a large reduction to few elements is cut into pieces, and the numbers of parts.

    Pieces are neighbours in memory if the outermost axes are cut, the first of them completely. Where that is not
    possible, the longest axis is.
    """
    orders, domain = machine.current, nest.domain
    kept = math.prod(n for i, n in enumerate(domain) if i not in nest.axes)
    if kept >= orders.sum_pieces_below_results or nest.outer:
        return {}
    if not (nest.kernel.reductions and nest.axes and nest.work >= orders.sum_pieces_from_operations):
        return {}
    cuts: dict[int, int] = {}
    rest = orders.sum_pieces
    for axis in reduced:
        if domain[axis] >= rest * order.step(axis):
            return {**cuts, axis: rest}
        if rest % domain[axis] or order.step(axis) > 1:
            break
        cuts[axis] = domain[axis]
        rest //= domain[axis]
    rest = orders.sum_pieces
    longest = max(nest.axes, key=lambda i: (domain[i], -i))
    return {longest: rest} if domain[longest] >= rest * order.step(longest) else {}


def piece_ranges(order: Order, axes: Sequence[int], domain: Sequence[int]) -> Iterator[list[range]]:
    """For each piece, the indices along some axes, the outermost first; nothing if there are no pieces."""
    cuts = dict(order.cuts) if order.scatter_axis is None else {order.scatter_axis: machine.current.sum_pieces}
    if not cuts:
        return
    for numbers in np.ndindex(*cuts.values()):
        number = dict(zip(cuts, numbers, strict=True))
        yield [piece_range(order, axis, domain[axis], cuts, number) for axis in axes]


def piece_range(order: Order, axis: int, n: int, cuts: dict[int, int], number: dict[int, int]) -> range:
    """The indices of a piece along an axis: multiples of its lanes, and as many in all pieces but the last ones."""
    if axis not in cuts:
        return range(n)
    grain = order.step(axis) if order.scatter_axis is None else order.grain
    step = -(-n // cuts[axis])
    step = -(-step // grain) * grain
    return range(min(number[axis] * step, n), min((number[axis] + 1) * step, n))


def find_scatter_axis(nest: Nest, order: Order) -> int | None:
    """The outermost axis of a scatter that adds to few elements, whose loop is cut into pieces; None if it is not."""
    node, orders = nest.kernel.scatter, machine.current
    if (
        node is None
        or not nest.domain
        or nest.work < orders.scatter_pieces_from_operations
        or not all(Written.by(s).adds for s in nest.kernel.scatters)
    ):
        return None
    outside = [i for i in nest.inner_axes if i not in nest.slice_axes]
    neighbours = None if nest.slice_axes else find_neighbours(nest, order.grain, nest.innermost_axes())
    axes = sorted(outside, key=lambda i: i == neighbours)
    is_small = has_many_terms(math.prod(nest.domain), node.size)
    is_long = bool(axes) and nest.domain[axes[0]] >= orders.sum_pieces * order.grain
    return axes[0] if is_small and is_long else None
