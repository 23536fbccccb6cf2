"""What may be decided for the threads of a GPU: one function for each kind of decision.

| kind | axis | amount |
|---|---|---|
| `along` | the axis that neighbouring threads follow | - |
| `tile` | a short axis, whose elements each thread has all | elements |
| `strips` | that of neighbours: a warp has a strip of it, and the next warp the same strip of other axes | - |
| `lanes` | that of neighbours, or of the rows of a scatter: what a thread reads and writes at once | lanes |
| `rows` | the last one of a scatter: what its slices select is a row | - |
| `steps` | that of neighbours: terms of a thread that are read before they are added | terms |
| `group` | that of neighbours: threads of a block that add up one element | threads |
| `pieces` | that of neighbours: parts in which each element is added up | pieces |

Which threads add what is given (`grid_order.py`). As on a processor, nothing else asks whether something may be done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.compiler.forms.affine import Counter, flat_index
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.gather import IndexedAxis, IndexedPosition, Written, gather_source
from wengert.compiler.nests.decisions import Decision, GridKind, find
from wengert.compiler.nests.grid_order import given_threads, is_running, selected_rows
from wengert.compiler.nests.legality import row_count, rows
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.thread_order import VECTOR_BYTES, memory_accesses
from wengert.graph.ir import Operation

OWN_THREADS = "its additions have threads of their own"
WORD = 4
"""The bytes of a number of a row in a sorted selection."""


def along(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Neighbouring threads may follow any axis."""
    wide, tiled = find(others, "lanes"), find(others, "tile")
    if nest.kernel.reductions:
        return OWN_THREADS
    if wide is not None and not nest.kernel.scatters and wide.axis != new.axis:
        return "the lanes are along another axis"
    return "each thread has all of its elements" if tiled is not None and tiled.axis == new.axis else None


def tile(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """A thread has all elements along an axis, one after the other."""
    followed = find(others, "along")
    if nest.kernel.reductions:
        return OWN_THREADS
    if nest.kernel.scatters or nest.outer or nest.is_flat or find(others, "lanes"):
        return "threads have single elements, or lanes"
    is_followed = followed is None or followed.axis == new.axis
    return "its threads are neighbours" if is_followed or new.amount != nest.domain[new.axis] else None


def strips(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Warps have strips of the axis that neighbours follow."""
    followed = find(others, "along")
    if nest.kernel.reductions:
        return OWN_THREADS
    if nest.kernel.scatters or nest.outer or find(others, "lanes"):
        return "threads have lanes, or rows"
    return "its threads are no neighbours" if followed is None or followed.axis != new.axis else None


def lanes(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Lanes are neighbours at aligned addresses, or one number, wherever something is read or written."""
    extent, (_, axis, amount) = nest.domain[new.axis], new
    if nest.kernel.reductions or find(others, "group"):
        return OWN_THREADS
    if nest.outer or nest.fewest_vectors or find(others, "tile") or find(others, "strips"):
        return "its threads have single elements"
    if amount < 2 or extent % amount:
        return f"it has {extent} elements"
    if nest.kernel.scatters:
        writes = [Written.by(node) for node in nest.kernel.scatters]
        if find(others, "rows") is None or axis != nest.slice_axes[-1]:
            return "lanes may have one target"
        has_runs = selected_rows(nest, others) > row_count(nest, others)
        if not has_runs or not all(w.adds and w.indices for w in writes):
            return "threads have no targets"
        return None if has_neighbouring_rows(nest, amount) else "its elements are no neighbours"
    return None if nest.is_flat or reads_vectors(nest, axis, amount) else "its elements are no neighbours"


def steps(nest: Nest, new: Decision, _: Sequence[Decision]) -> str | None:
    """Several terms are read before they are added, one after the other."""
    if is_running(nest):
        return "the states of several terms are combined"
    if nest.kernel.scatters:
        return None if new.amount in (1, VECTOR_BYTES // WORD) else "there is no memory to read ahead"
    return None if nest.kernel.reductions else "nothing is added"


def threads_of_sums(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:  # noqa: ARG001  # a rule
    """The threads that add up one element belong to the order of additions."""
    return OWN_THREADS


RULES: dict[GridKind, Callable[[Nest, Decision, Sequence[Decision]], str | None]] = {
    "along": along, "tile": tile, "strips": strips, "lanes": lanes, "rows": rows, "steps": steps,
    "group": threads_of_sums, "pieces": threads_of_sums,
}  # fmt: skip


def refuse_threads(nest: Nest, new: Decision, others: Sequence[Decision]) -> str | None:
    """Why a decision may not be added to others; None if it may: each of them may stand beside all others then."""
    given = given_threads(nest, others)
    if new in given:
        return None
    if find(others, new.kind):
        return "it was decided before"
    for d in (new, *others):
        beside = [other for other in (new, *others) if other is not d]
        if d not in given and (refusal := RULES[d.kind](nest, d, beside)) is not None:  # type: ignore[index]  # a kind of its own
            return refusal if d is new else f"{d} would not be possible: {refusal}"
    return None


# What the rules ask


def reads_vectors(nest: Nest, axis: int, lanes: int) -> bool:
    """Whether lanes along an axis are one element, or neighbours at an aligned address."""
    for index, _ in memory_accesses(nest):
        steps = {counter.axis: k for counter, k in index.terms}
        step = steps.pop(axis, 0)
        if step not in (0, 1) or (step and any(k % lanes for k in (index.constant, *steps.values()))):
            return False
    return all(nest.schedule.forms[node] in (Form.ELEMENT, Form.VIEW) for node in nest.computed_nodes)


def has_neighbouring_rows(nest: Nest, lanes: int) -> bool:
    """Whether lanes along the rows of a scatter are neighbours wherever they are read and written, or one number."""
    forms, along = nest.schedule.forms, nest.counters[nest.slice_axes[-1]]
    indexed = [Written.by(node).target(node.shape, nest.counted_position) for node in nest.kernel.scatters]
    for node, position in nest.requested_elements():
        if nest.sources.is_stored(node):
            indexed.append(IndexedPosition([IndexedAxis(flat_index(position, node.shape), None, node.size)], ()))
        elif forms[node] is Form.GATHER:
            assert isinstance(node, Operation)
            indexed.append(gather_source(node, position))
        elif forms[node] not in (Form.ELEMENT, Form.VIEW):
            return False
    return all(are_neighbours(at, along, lanes) for at in indexed)


def are_neighbours(at: IndexedPosition, along: Counter, lanes: int) -> bool:
    """Whether lanes along a counter are one element, or neighbours at an index that their number divides."""
    index = at.affine_part
    steps = dict(index.terms)
    step = steps.pop(along, 0)
    is_aligned = all(k % lanes == 0 for k in (index.constant, at.step, *steps.values()))
    has_one_index = not any(along in dict(i.terms) for i in at.in_arrays)
    return has_one_index and (step == 0 or (step == 1 and is_aligned))
