"""Borders: the indices at which a guard, which chooses between elements, changes its outcome.

They cut the axes of a nest into segments in which no outcome changes: a stencil has a long one, and short ones at both
ends. The loop along the axis of lanes has a body for each long segment, in which guards are decided at compile
time, and one body for what is in between. Along other axes, one range of indices is the interior.

Where nothing is folded, vectors may overlap at the end of a segment, and what is in between are single elements. A
vector that crosses a border would gather its lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wengert.compiler.forms.affine import Counter
from wengert.compiler.forms.classify import Form
from wengert.graph.ir import Operation

if TYPE_CHECKING:
    from wengert.compiler.nests.nest import Nest


class Interior(NamedTuple):
    """Where the guards of a nest are decided: in `segments` of the axis of lanes, and in `ranges` of others.

    If the whole axis is one segment, vectors may be moved back in it. If not, they may overlap where `gaps` are known,
    the segments between them that are computed element by element; else they are those of a loop over the whole axis.
    """

    segments: tuple[range, ...]
    ranges: dict[int, range]
    gaps: tuple[range, ...] | None = None


class Borders:
    """The segments of the axis of `lanes`, and the `ranges` of the others that have borders."""

    def __init__(self, nest: Nest, axis: int, lanes: int):
        breaks = dict(nest.breaks)
        self.are_there, self.lanes = bool(breaks), lanes
        self.segments = cut_axis(nest.domain[axis], breaks.pop(axis, set())) if breaks else []
        outside = [i for i in breaks if axis in nest.axes or i not in nest.axes]  # of the loop along the lanes
        self.ranges = {i: max(cut_axis(nest.domain[i], breaks[i]), key=len) for i in outside}

    def whole_vectors(self, fewest: int) -> list[range]:
        """The segments with at least a number of whole vectors, the longest ones last."""
        if len(self.segments) <= 1:
            return self.segments
        n = self.lanes
        found = [range(-(-s.start // n) * n, s.stop // n * n) for s in self.segments]
        return sorted([s for s in found if len(s) >= fewest * n], key=len)

    @property
    def gaps(self) -> list[range]:
        """The segments that are shorter than a vector."""
        return [s for s in self.segments if len(s) < self.lanes]

    def interior(self, bodies: int) -> Interior | None:
        """The interior, with bodies for the longest segments, up to a number of them; None if there is none."""
        segments = sorted(self.whole_vectors(1)[-bodies:], key=lambda s: s.start)
        return Interior(tuple(segments), self.ranges) if segments else None

    def overlapping(self) -> Interior:
        """The interior whose vectors overlap at the ends of all segments that are long enough."""
        long = tuple([s for s in self.segments if len(s) >= self.lanes])
        return Interior(long, self.ranges, tuple(self.gaps))


def find_breaks(nest: Nest) -> dict[int, set[int]]:
    """For each axis, the indices at which a guard may have another outcome than before."""
    forms, found = nest.schedule.forms, dict[int, set[int]]()
    if not any(forms[node] is Form.CHOICE for node in nest.computed_nodes):
        return found
    for node, position in nest.traced_elements:
        if forms[node] is Form.CHOICE and not nest.sources.is_stored(node):
            assert isinstance(node, Operation)
            for read in nest.sources.reads(node, position):
                for guard in read.guards:
                    where = guard.where_true
                    if where is not None:
                        found.setdefault(where[0].axis, set()).update((where[1].start, where[1].stop))
    return found


def cut_axis(extent: int, breaks: set[int]) -> list[range]:
    """The ranges between breaks.

    >>> cut_axis(10, {0, 3, 10})
    [range(0, 3), range(3, 10)]
    """
    ends = sorted({0, extent, *[i for i in breaks if 0 < i < extent]})
    return [range(start, stop) for start, stop in zip(ends, ends[1:], strict=False)]


def restrict(counter: Counter, within: range) -> Counter:
    """A counter of a part of a loop."""
    return Counter(counter.axis, counter.extent, counter.lanes, within)
