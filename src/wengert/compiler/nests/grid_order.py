"""The order of additions on a GPU: which threads have which elements, and which terms of their sums.

    thread number = (piece * kept elements + kept element) * group + member

An element of a reduction is folded by a `group` of neighbouring threads of a block, in each of several `pieces`. The
terms of a thread are as far apart as the group has threads. All of this depends on shapes and dtypes, on what the nest
reads, and on the fields of `core/machine/order_devices.py`, so that results have the same bits in every run and on
every device. The threads of a nest without reductions are found in the same way, but there they are decisions like
others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wengert.compiler.forms.lowering import Reduction, RunningReduction, lowering_of
from wengert.compiler.nests.decisions import Decision, find
from wengert.compiler.nests.legality import row_count
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.thread_order import (
    THREADS,
    VECTOR_BYTES,
    WARP,
    OrderSearch,
    ThreadOrder,
    memory_accesses,
    power_above,
)
from wengert.core import machine


def given_threads(nest: Nest, others: Sequence[Decision]) -> list[Decision]:
    """The decisions that belong to the order of additions, after that about rows."""
    if nest.kernel.reductions:
        order = add_tile(nest, search := find_search(nest), search.find_order())
        return [*place_threads(nest, order), *share_terms(nest, order)]
    if nest.kernel.scatters:
        rows, targets = selected_rows(nest, others), row_count(nest, others)
        if targets and rows > machine.current.min_rows_per_target_of_shared_device_scatter * targets:
            return [Decision("group", 0, group_of(rows, targets))]
    return []


def find_search(nest: Nest) -> OrderSearch:
    """The search for the order of the threads of a nest."""
    inner = [axis for axis in nest.inner_axes if nest.domain[axis] > 1]
    accesses = memory_accesses(nest) if len(inner) > 1 else []
    return OrderSearch(nest.domain, inner, nest.axes, accesses, terms_per_thread(nest), cost_of_element(nest))


def add_tile(nest: Nest, search: OrderSearch, plain: ThreadOrder) -> ThreadOrder:
    """An order in which each thread has all elements along a short axis, if that is worthwhile."""
    is_plain = nest.outer or nest.kernel.scatters or nest.fewest_vectors or len(search.inner) < 2
    return plain if is_plain or is_running(nest) or has_heavy_body(nest) else search.find_tiles(plain)


def place_threads(nest: Nest, order: ThreadOrder) -> list[Decision]:
    """The decisions by which threads have an order.

    A warp has a strip of an axis that is not the last one, and the next warp the same strip of others: so what is read
    along the other axes stays in the cache, and what is written there is complete soon.
    """
    if not nest.domain:
        return []
    along, tile = order
    found = [Decision("along", along)]
    if tile is not None:
        found.append(Decision("tile", tile, nest.domain[tile]))
    others = [i for i in nest.inner_axes if i not in (*nest.axes, along, tile) and nest.domain[i] > 1]
    if along not in nest.axes and along < max(others, default=-1) and not nest.outer:
        found.append(Decision("strips", along))
    return found


def share_terms(nest: Nest, order: ThreadOrder) -> list[Decision]:
    """The threads of a block that fold one element, and the pieces; none in a row kernel, whose threads share rows."""
    along, tile = order
    reduced = math.prod([nest.domain[axis] for axis in nest.axes])
    kept = kept_places(nest, place_threads(nest, order))
    if not reduced or not kept or nest.outer:
        return []
    enough, serial = machine.current.threads_of_busy_device, terms_per_thread(nest)
    width = min(power_above(-(-reduced // serial)), THREADS) if along in nest.axes else 1
    if is_running(nest):  # states are expensive to combine
        width = min(width, max(power_above(-(-enough // kept)), WARP))
    most = -(-reduced // (width * serial))
    enough = enough if tile is None else enough // 2  # the pieces of a tile are many numbers
    return [
        Decision("group", along, width),
        Decision("pieces", along, max(min(most, enough // (kept * width)), 1)),
    ]


def group_of(terms: int, sums: int) -> int:
    """The number of threads that add up the terms of each sum, for a number of terms and of sums."""
    return min(power_above(-(-terms // (sums * machine.current.min_terms_per_device_thread))), THREADS)


# Measures of nests


def kept_places(nest: Nest, decisions: Sequence[Decision]) -> int:
    """The number of elements, or of lanes or tiles of them, for which there are threads; strips are whole."""
    lanes, tile, strips = [find(decisions, kind) for kind in ("lanes", "tile", "strips")]
    places = 1
    for axis in nest.inner_axes:
        if axis not in nest.axes and (tile is None or axis != tile.axis):
            n = nest.domain[axis]
            places *= -(-n // WARP) * WARP if strips is not None and axis == strips.axis else n
    return places // (1 if lanes is None else lanes.amount)


def selected_rows(nest: Nest, decisions: Sequence[Decision]) -> int:
    """The number of rows that a scatter selects."""
    inside = nest.slice_axes if find(decisions, "rows") is not None else ()
    return math.prod([n for axis, n in enumerate(nest.domain) if axis not in inside])


def cost_of_element(nest: Nest) -> int:
    """The cost of one element, in additions."""
    return nest.work // max(math.prod(nest.domain), 1)


def has_light_body(nest: Nest) -> bool:
    """Whether a thread does little for one element."""
    return cost_of_element(nest) <= machine.current.max_operations_of_short_device_body


def has_heavy_body(nest: Nest) -> bool:
    """Whether a thread does much for one element."""
    return cost_of_element(nest) > machine.current.max_operations_of_device_body


def is_running(nest: Nest) -> bool:
    """Whether it has reductions whose partial results are several numbers."""
    return any(isinstance(lowering_of(node, Reduction), RunningReduction) for node in nest.kernel.reductions)


def terms_per_thread(nest: Nest) -> int:
    """The number of terms that a thread folds at the least."""
    now = machine.current
    is_busy = math.prod(nest.domain) >= now.threads_of_busy_device
    return now.min_terms_per_device_thread if has_light_body(nest) or is_busy else 1


def widest_number(nest: Nest) -> int:
    """The bytes of the widest number that it reads, computes or writes."""
    return max([node.dtype.itemsize for node in nest.nodes if node.size > 1], default=VECTOR_BYTES)
