"""The policy: which of the legal decisions a nest has. It knows no operation by name, and no workload."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from wengert.compiler.forms.classify import Form
from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.nests.borders import Borders
from wengert.compiler.nests.decisions import Decision, Policy, find
from wengert.compiler.nests.legality import (
    given,
    is_innermost,
    kept_axes,
    outermost_axis,
    refuse,
    row_count,
    writes_along_loop,
)
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.order import find_neighbours, lanes_along
from wengert.core.errors import user_error
from wengert.core.machine.record import Machine


def decide(nest: Nest, machine: Machine) -> list[Decision]:
    """The decisions that pay, one kind after the other, after those that are given."""
    found = given(nest)
    for choose in (choose_rows, choose_lanes, choose_bodies, choose_block, choose_tile, choose_threads, choose_stages):
        found += choose(nest, machine, found)
    return found


def choose_rows(nest: Nest, machine: Machine, _: Sequence[Decision]) -> Iterator[Decision]:
    """Write rows that are long enough as vectors."""
    if nest.slice_axes and nest.domain[-1] >= machine.min_row_elements_of_scatter:
        yield Decision("rows", nest.slice_axes[-1])


def choose_lanes(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Iterator[Decision]:
    """A vector along the axis in which most of what the loop reads are neighbours, or those of the order of sums."""
    order, scatter = nest.order, nest.kernel.scatter
    if order.is_fixed:
        return
    has_rows = find(others, "rows") is not None
    widest = scatter.dtype.itemsize if scatter is not None and has_rows else nest.widest
    lanes = max(vector_lanes(widest), nest.fewest_vectors * vector_lanes(8))
    axes = nest.inner_axes[-1:] if has_rows else nest.innermost_axes()
    axes = [i for i in axes if i not in nest.axes and (i != order.scatter_axis or len(nest.domain) == 1)]
    axis = find_neighbours(nest, lanes, axes)
    if axis is None:
        return
    lanes = lanes_along(nest, axis, min(lanes, order.grain) if scatter is not None else lanes)
    lanes *= vectors_of_columns(nest, machine, axis, lanes)
    if lanes > 1:
        yield Decision("lanes", axis, lanes)


def vectors_of_columns(nest: Nest, machine: Machine, axis: int, lanes: int) -> int:
    """The number of vectors at once, where each lane is the sum of a column.

    Neighbours in a row are then read together, and additions do not wait for each other. Vectors that overlap at the
    end of a row may add a quarter to the work, or one vector.
    """
    are_columns = bool(nest.kernel.reductions) and not nest.outer and nest.has_short_body
    inside = [node for node in nest.computed_nodes if node not in nest.kernel.reductions]
    is_plain = all(nest.schedule.forms[node] in (Form.ELEMENT, Form.VIEW) for node in inside)
    if not are_columns or not is_plain or nest.strided[axis]:
        return 1
    extent, vectors = nest.domain[axis], machine.max_vectors_of_columns
    fewest = -(-extent // lanes)
    most = fewest + max(fewest // 4, 1)
    while vectors * lanes > extent or -(-fewest // vectors) * vectors > most:
        vectors //= 2
    return vectors


def choose_bodies(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Iterator[Decision]:
    """Bodies without guards between borders, where the text of all bodies is not too long."""
    lanes = find(others, "lanes")
    if lanes is None or nest.kernel.scatters or nest.schedule.is_tiny:
        return
    borders = Borders(nest, lanes.axis, lanes.amount)
    if not borders.are_there or len(nest.requested_elements()) > machine.max_elements_of_segmented_body:
        return
    bodies = machine.max_segments_with_bodies
    gaps, has_several = borders.gaps, len(borders.segments) > 1
    has_few_singles = sum(map(len, gaps)) <= machine.max_vectors_of_single_elements * lanes.amount
    is_outermost = not nest.outer and lanes.axis == outermost_axis(nest, others)  # threads may share it
    if has_several and len(borders.segments) - len(gaps) <= bodies and has_few_singles and not is_outermost:
        overlap = Decision("overlap", lanes.axis)
        if refuse(nest, overlap, others) is None:
            yield overlap
            return
    long = borders.whole_vectors(machine.min_vectors_of_segment)
    if long:
        yield Decision("segments", lanes.axis, min(len(long), bodies))


def choose_block(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Iterator[Decision]:
    """Read long rows as they are in memory, and keep the sums of their columns on the stack.

    A short body reads several neighbouring vectors anyway (`vectors_of_columns`).
    """
    lanes, sums = find(others, "lanes"), nest.kernel.reductions
    if lanes is None or nest.has_short_body or refuse(nest, Decision("block", lanes.axis, 2), others) is not None:
        return
    columns, extent = math.prod([nest.domain[i] for i in kept_axes(nest, others)]), nest.domain[lanes.axis]
    row_bytes = extent * max(node.dtype.itemsize for node in sums)
    if row_bytes < machine.min_row_bytes_of_column_blocks or not reads_rows(nest, lanes.axis):
        return
    most = machine.max_block_bytes_of_column_sums // (sum(node.nbytes // columns for node in sums) * lanes.amount)
    vectors = min(-(-extent // lanes.amount), most)
    if vectors > 1:
        yield Decision("block", lanes.axis, vectors)


def reads_rows(nest: Nest, axis: int) -> bool:
    """Whether most of what the body reads and writes is in rows, not the same for all of them.

    What belongs to a column stays in registers if the loop over all rows is the inner one.
    """
    axes = [{counter.axis for counter, _ in index.terms} for index in nest.memory_indices()]
    along = [found for found in axes if axis in found]
    in_rows = [found for found in along if not found.isdisjoint(nest.axes)]
    return 2 * len(in_rows) >= len(along)


def choose_tile(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Iterator[Decision]:
    """Fold several elements side by side: a short body waits for its own sum, and each reads what all of them read."""
    lanes, inside = find(others, "lanes"), len(nest.requested_elements())
    axes = [i for i in kept_axes(nest, others) if lanes is None or i != lanes.axis]
    if not axes or not nest.kernel.reductions or nest.order.accumulators > 1:
        return
    axis, width = axes[-1], vector_lanes(nest.widest)
    sums = sum(len(list(nest.inner_positions(node.args[0]))) for node in nest.kernel.reductions)
    sums *= max(-(-lanes.amount // width), 1) if lanes is not None else 1
    extent, amount = nest.domain[axis], machine.max_vectors_of_tile // sums
    while amount > 1 and (-(-extent // amount) * amount > extent + extent // 4 or amount > extent):
        amount -= 1
    amount = min(amount, machine.max_elements_of_tiled_body // inside)
    if amount > 1 and refuse(nest, Decision("tile", axis, amount), others) is None:
        yield Decision("tile", axis, amount)


def choose_threads(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Iterator[Decision]:
    """Let threads share work that takes them longer than to begin."""
    lanes, order, work = find(others, "lanes"), nest.order, nest.work
    if nest.outer or not nest.domain:
        return
    pieces = next(iter(order.cuts), order.scatter_axis)
    if pieces is not None:
        if work >= machine.min_shared_operations or nest.kernel.scatter is not None:
            yield Decision("threads", pieces, 1)
        return
    axis = outermost_axis(nest, others)
    step = next((d.amount for d in (lanes, find(others, "tile")) if d is not None and d.axis == axis), 1)
    if nest.kernel.scatter is not None:
        yield from choose_scatter_threads(nest, machine, others, step)
        return
    block = find(others, "block")
    vectors = step * block.amount if block is not None and block.axis == axis else step
    grain = max(step, min(vectors, machine.min_columns_per_thread) // step * step)
    if work >= machine.min_shared_operations and axis is not None and nest.domain[axis] >= 2 * grain:
        shared = Decision("threads", axis, grain)
        if refuse(nest, shared, others) is None:
            yield shared


def choose_scatter_threads(nest: Nest, machine: Machine, others: Sequence[Decision], step: int) -> Iterator[Decision]:
    """Threads share the loop of a scatter that writes along it, or else the result; parts are whole cache lines."""
    node = nest.kernel.scatter
    assert node is not None
    has_rows, axis = find(others, "rows") is not None, outermost_axis(nest, others)
    along = nest.domain[0] >= machine.min_loop_of_shared_scatter and axis == 0 and writes_along_loop(nest, 0, others)
    fewest = machine.min_shared_operations if has_rows or along else machine.min_operations_of_shared_lanes
    count, step = (nest.domain[0], step) if along else (row_count(nest, others), 1)
    part = max(machine.cache_line_bytes * count // max(node.nbytes, 1), 1)
    part = -(-part // step) * step
    if nest.work >= fewest and count >= 2 * part:
        yield Decision("threads" if along else "ranges", 0, part)


def choose_stages(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Iterator[Decision]:
    """Compute the long functions of a long loop first."""
    lanes = find(others, "lanes")
    if lanes is None or not is_innermost(nest, lanes.axis) or nest.outer or nest.kernel.scatters:
        return
    vectors = machine.vectors_of_stage_block
    is_long = nest.domain[lanes.axis] >= machine.min_blocks_of_stages * vectors * lanes.amount
    if is_long and refuse(nest, Decision("stages", lanes.axis, vectors), others) is None:
        yield Decision("stages", lanes.axis, vectors)


# Which policy decides


DECIDES: ContextVar[Policy] = ContextVar("decides", default=decide)
"""The policy in force: that of this file, unless a program is compiled with another one."""


@contextmanager
def deciding(policy: Policy | None) -> Iterator[None]:
    """Decide by another policy in the `with` block; None changes nothing."""
    before = DECIDES.set(policy or DECIDES.get())
    try:
        yield
    finally:
        DECIDES.reset(before)


def decisions_of(nest: Nest, machine: Machine) -> list[Decision]:
    """The decisions of a nest by the policy in force, which are checked if it is not that of this file."""
    policy, found = DECIDES.get(), given(nest)
    if policy is decide:
        return decide(nest, machine)
    for decision in policy(nest, machine):
        if decision in given(nest):
            continue
        refusal = refuse(nest, decision, found)
        if refusal is not None:
            raise user_error(
                ValueError,
                f"The policy decided {decision} for a nest, which is not possible: {refusal}",
                "Ask `refuse(nest, decision, others)` before.",
            )
        found.append(decision)
    return found
