"""The threads of scatters on a GPU: rows of a selection, their targets, and what a thread has of a row."""

from __future__ import annotations

import math

from wengert.compiler.forms.affine import Counter, flat_index
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.gather import IndexedAxis, IndexedPosition, Written, gather_source
from wengert.compiler.targets.grid_partition import PartitionPlan
from wengert.compiler.targets.grid_plan import GridPlan
from wengert.compiler.targets.thread_block import VECTOR_BYTES
from wengert.core import machine
from wengert.graph.ir import Node, Operation


class ScatterPlan(GridPlan):
    """The threads of a scatter: `rows` of the selection, with `inner` elements each.

    A thread that adds the rows of a target has several neighbouring elements of it as lanes, where all that is read and
    written are neighbours at an aligned address, or one number for all: bounds and rows are read once for all of them.
    """

    @property
    def outer_axes(self) -> list[int]:
        """The axes of which an element is a row."""
        return [axis for axis in range(len(self.domain)) if axis not in self.row_axes]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return math.prod([self.domain[axis] for axis in self.outer_axes])

    @property
    def inner(self) -> int:
        """The number of elements of a row."""
        return math.prod([self.domain[axis] for axis in self.row_axes])

    @property
    def targets(self) -> int:
        """The number of rows of the result."""
        assert self.kernel.scatter is not None
        return self.kernel.scatter.size // self.unit

    @property
    def partition(self) -> PartitionPlan:
        """How rows are sorted by their targets."""
        return PartitionPlan(self.rows, self.targets)

    @property
    def has_runs(self) -> bool:
        """Whether threads belong to targets, and know where the rows of each begin in the sorted order."""
        return self.partition.has_bounds

    @property
    def has_long_runs(self) -> bool:
        """Whether several threads share the rows of a target."""
        return self.rows > machine.current.min_rows_per_target_of_shared_device_scatter * self.targets

    def order_threads(self) -> tuple[int | None, int]:
        """Lanes along the last axis of rows: the neighbours that a thread has."""
        super().order_threads()
        writes = [Written.by(node) for node in self.kernel.scatters]
        if self.has_runs and not self.has_long_runs and all(w.adds and w.indices for w in writes) and self.row_axes:
            most = (VECTOR_BYTES if self.is_short else VECTOR_BYTES // 2) // self.kernel.scatters[0].dtype.itemsize
            for lanes in (4, 2):
                if lanes <= most and self.has_neighbours(lanes):
                    return self.row_axes[-1], lanes
        return None, 1

    def has_neighbours(self, lanes: int) -> bool:
        """Whether lanes along rows are neighbours wherever they are read and written, or one number."""
        forms, along = self.schedule.forms, self.counters[self.row_axes[-1]]
        indexed = [Written.by(node).target(node.shape, self.counted_position) for node in self.kernel.scatters]
        for node, position in self.requested_elements():
            if self.sources.is_stored(node):
                indexed.append(IndexedPosition([IndexedAxis(flat_index(position, node.shape), None, node.size)], ()))
            elif forms[node] is Form.GATHER:
                assert isinstance(node, Operation)
                indexed.append(gather_source(node, position))
            elif forms[node] not in (Form.ELEMENT, Form.VIEW):
                return False
        return along.extent % lanes == 0 and all(are_neighbours(at, along, lanes) for at in indexed)

    def partials(self) -> dict[Node, int]:
        """The bytes of what the sort needs, if there are indices."""
        assert self.kernel.scatter is not None
        sorts = any(Written.by(node).indices for node in self.kernel.scatters)
        return {self.kernel.scatter: self.partition.nbytes} if sorts else {}


def are_neighbours(at: IndexedPosition, along: Counter, lanes: int) -> bool:
    """Whether lanes along a counter are one element, or neighbours at an index that their number divides."""
    index = at.affine_part
    steps = dict(index.terms)
    step = steps.pop(along, 0)
    is_aligned = all(k % lanes == 0 for k in (index.constant, at.step, *steps.values()))
    has_one_index = not any(along in dict(i.terms) for i in at.in_arrays)
    return has_one_index and (step == 0 or (step == 1 and is_aligned))
