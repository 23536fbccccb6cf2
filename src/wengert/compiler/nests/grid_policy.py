"""The policy for GPUs: which of the legal decisions a nest has. It knows no operation by name, and no workload."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from wengert.compiler.nests.decisions import Decision, find
from wengert.compiler.nests.grid_legality import WORD, refuse_threads
from wengert.compiler.nests.grid_order import (
    add_tile,
    cost_of_element,
    find_search,
    given_threads,
    group_of,
    has_heavy_body,
    has_light_body,
    is_running,
    place_threads,
    widest_number,
)
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.row_fusion import RowLimits
from wengert.compiler.nests.thread_order import THREADS, VECTOR_BYTES, power_above
from wengert.core.machine.record import Machine


def decide_threads(nest: Nest, machine: Machine) -> list[Decision]:
    """The decisions that pay, after those that are given."""
    found = list(choose_rows(nest, machine, ()))
    found += given_threads(nest, found)
    for choose in (choose_places, choose_steps):
        found += choose(nest, machine, found)
    return found


def choose_rows(nest: Nest, machine: Machine, _: Sequence[Decision]) -> Iterator[Decision]:
    """Write rows that are long enough as vectors."""
    if nest.slice_axes and nest.domain[-1] >= machine.min_row_elements_of_device_scatter:
        yield Decision("rows", nest.slice_axes[-1])


def choose_places(nest: Nest, _: Machine, others: Sequence[Decision]) -> Iterator[Decision]:
    """Lanes of 16 bytes, or of 8 if a body is not short; else the order of threads with the fewest turns of warps."""
    if nest.kernel.reductions or not nest.domain:
        return
    nbytes, rows = VECTOR_BYTES if has_light_body(nest) else VECTOR_BYTES // 2, find(others, "rows")
    search = find_search(nest)
    order = search.find_order()
    if nest.kernel.scatters:
        size = nest.kernel.scatters[0].dtype.itemsize
        wide = [Decision("lanes", nest.slice_axes[-1], n) for n in (4, 2) if rows is not None and n * size <= nbytes]
    else:
        wide = [Decision("lanes", order.along, nbytes // widest_number(nest))]
    for lanes in wide:
        if refuse_threads(nest, lanes, others) is None:
            yield from (Decision("along", order.along), lanes)
            return
    yield from place_threads(nest, add_tile(nest, search, order))


def choose_steps(nest: Nest, machine: Machine, others: Sequence[Decision]) -> Iterator[Decision]:
    """Read several terms of a thread at once, so that it does not wait for each."""
    if nest.kernel.scatters:
        yield Decision("steps", 0, VECTOR_BYTES // WORD if has_light_body(nest) else 1)
    shared = [d.amount for d in others if d.kind in ("group", "pieces")]
    if nest.kernel.reductions and shared:
        axis = others[0].axis
        yield Decision("steps", axis, steps_at_once(nest, machine, math.prod(shared), find(others, "tile") is not None))


def steps_at_once(nest: Nest, machine: Machine, step: int, has_tile: bool = False) -> int:
    """The number of terms that are read at once, where a thread folds every so-many-th."""
    reduced = math.prod([nest.domain[axis] for axis in nest.inner_axes if axis in nest.axes])
    if is_running(nest):
        count = machine.states_combined_at_once_on_device
        return count if reduced >= count * step else 1
    is_light = cost_of_element(nest) < machine.operations_of_function and not has_tile  # a tile is in registers
    count = machine.terms_read_at_once_on_device
    return count if is_light and reduced >= count * step else 1


def group_of_row(longest: int, nbytes: int, machine: Machine) -> int:
    """The threads of a row kernel for each row, whose longest loop and whose buffers, in bytes, are given."""
    fitting = power_above(-(-THREADS * nbytes // machine.max_shared_bytes_of_device_rows))
    return min(max(group_of(longest, 1), fitting), THREADS)


def row_limits(machine: Machine) -> RowLimits:
    """One thread folds all terms of a column of a row, and rows are in different blocks."""
    return RowLimits(machine.max_shared_bytes_of_device_rows, False, machine.max_terms_of_device_column)


# Registers


def resident_blocks(nest: Nest, decisions: Sequence[Decision], has_calls: bool, machine: Machine) -> int:
    """The blocks that a multiprocessor should have room for; zero if that does not matter.

    Calls of functions, and reads that wait for memory, would take the registers of other blocks.
    """
    cost, is_wide = cost_of_element(nest), widest_number(nest) > WORD
    if has_heavy_body(nest):
        return 0
    if find(decisions, "tile") is not None:
        return machine.resident_blocks_of_tiles
    has_one_function = has_calls and is_wide and cost <= machine.max_operations_of_one_function_on_device
    if has_one_function and not nest.kernel.reductions:
        return machine.resident_blocks_of_one_function
    if has_calls or is_running(nest) or cost > machine.operations_of_function:
        return machine.resident_blocks_of_functions if is_wide else machine.resident_blocks_of_narrow_functions
    return 0


def resident_blocks_of_rows(nests: Sequence[Nest], has_calls: bool, machine: Machine) -> int:
    """The blocks of a row kernel that a multiprocessor should have room for."""
    are_short = all(has_light_body(nest) and not is_running(nest) for nest in nests)
    most = machine.resident_blocks_of_short_rows if has_calls and are_short else machine.resident_blocks_of_rows
    return 0 if any(map(has_heavy_body, nests)) else most
