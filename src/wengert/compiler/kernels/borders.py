"""Borders: where an element is, some guards decide which element it is computed from. Elsewhere, none is asked.

The guards of a kernel cut its axes into segments in which no outcome changes: a stencil has a long one, and short ones
at both ends. The loop along the vector's axis has a body for each long segment, in which guards are decided at compile
time, and one body for what is in between. Along other axes, one range of indices is the interior.

Where nothing is reduced, vectors overlap at the end of a segment, and what is in between are single elements. A vector
that crosses a border would gather its lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wengert.compiler.forms.affine import Counter
from wengert.compiler.forms.classify import Form
from wengert.core import machine
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.compiler.kernels.loop_plan import LoopPlan


class Interior(NamedTuple):
    """Where the guards of a kernel are decided: in `segments` of the vector's axis, and in `ranges` of others.

    If the whole axis is one segment, vectors may be moved back in it. If not, they may overlap where `gaps` are known,
    the segments between them that are computed element by element; else they are those of a loop over the whole axis.
    """

    segments: tuple[range, ...]
    ranges: dict[int, range]
    gaps: tuple[range, ...] | None = None


def find_interior(plan: LoopPlan) -> Interior | None:
    """The interior of a kernel; None if nothing is gained by it."""
    axis, lanes, now = plan.vector_axis, plan.lanes, machine.current
    has_choices = any(plan.schedule.forms[node] is Form.CHOICE for node in plan.computed_nodes)
    if axis is None or not has_choices or plan.kernel.scatters or plan.schedule.is_tiny:
        return None
    elements = plan.requested_elements()
    breaks = axis_breaks(plan, elements) if len(elements) <= now.max_elements_of_segmented_body else {}
    if not breaks:
        return None
    segments, gaps = axis_segments(plan.domain[axis], breaks.pop(axis, set())), None
    if len(segments) > 1 and can_overlap(plan, segments):
        segments, gaps = [s for s in segments if len(s) >= lanes], tuple([s for s in segments if len(s) < lanes])
    elif len(segments) > 1:
        aligned = [range(-(-s.start // lanes) * lanes, s.stop // lanes * lanes) for s in segments]
        long = sorted([s for s in aligned if len(s) >= now.min_vectors_of_segment * lanes], key=len)
        segments = sorted(long[-now.max_segments_with_bodies :], key=lambda s: s.start)
    outside = [i for i in breaks if axis in plan.axes or i not in plan.axes]  # of the loop over the vector's axis
    ranges = {i: max(axis_segments(plan.domain[i], breaks[i]), key=len) for i in outside}
    return Interior(tuple(segments), ranges, gaps) if segments else None


def can_overlap(plan: LoopPlan, segments: list[range]) -> bool:
    """Whether vectors may overlap at the ends of segments: no sum counts them, and threads do not share the axis."""
    is_shared = not plan.outer and all(plan.domain[i] == 1 for i in plan.kept_axes if i != plan.vector_axis)
    short = [s for s in segments if len(s) < plan.lanes]
    has_few_bodies = len(segments) - len(short) <= machine.current.max_segments_with_bodies
    has_few_singles = sum(map(len, short)) <= machine.current.max_vectors_of_single_elements * plan.lanes
    return has_few_bodies and has_few_singles and not is_shared and not plan.kernel.folds


def axis_breaks(plan: LoopPlan, elements: list) -> dict[int, set[int]]:
    """For each axis, the indices at which a guard may have another outcome than before."""
    found: dict[int, set[int]] = {}
    for node, position in elements:
        if plan.schedule.forms[node] is Form.CHOICE and not plan.sources.is_stored(node):
            assert isinstance(node, Operation)
            for read in plan.sources.reads(node, position):
                for guard in read.guards:
                    where = guard.where_true
                    if where is not None:
                        found.setdefault(where[0].axis, set()).update((where[1].start, where[1].stop))
    return found


def axis_segments(extent: int, breaks: set[int]) -> list[range]:
    """The ranges between breaks."""
    ends = sorted({0, extent, *[i for i in breaks if 0 < i < extent]})
    return [range(start, stop) for start, stop in zip(ends, ends[1:], strict=False)]


def restrict(counter: Counter, within: range) -> Counter:
    """A counter of a part of a loop."""
    return Counter(counter.axis, counter.extent, counter.lanes, within)
