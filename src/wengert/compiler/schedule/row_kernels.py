"""Row kernels: several loops over rows, one after the other for each row, while the row is in the cache.

    softmax:   for each row:  largest = max(x[row])                       a loop along the row
                              weights = exp(x[row] - largest), and their sum
                              out[row] = weights / sum

Each of these loops is a part. A value that nothing but the row kernel uses has no array in memory, but a buffer for the
elements of one row. Reductions along all rows are parts, too, if no part reads their result.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from wengert.compiler.forms.affine import Affine, Counter
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.graph.ir import Node

if TYPE_CHECKING:
    from wengert.compiler.schedule.schedule import Schedule


class RowPart(Kernel):
    """One loop of a row kernel; `operands` are the values that it finds in memory, or in buffers."""

    def __init__(self, domain: tuple[int, ...], outer: int, axes: tuple[int, ...], operands: Collection[Node]):
        super().__init__(domain, 0, axes, outer)
        self.operands = set(operands)

    def finds_in_memory(self, _: Schedule, node: Node) -> bool:
        return node in self.operands

    def reads_from(self, other: RowPart) -> bool:
        """Whether it reads what another part makes."""
        return not self.operands.isdisjoint(other.roots)

    def can_include(self, other: RowPart) -> bool:
        """Whether both can be one loop: it reduces along one set of axes."""
        return self.domain == other.domain and (not self.axes or not other.axes or self.axes == other.axes)

    def include(self, other: RowPart) -> None:
        """Do in one loop what another part does as well."""
        self.axes = self.axes or other.axes
        self.maps = [*self.maps, *other.maps]
        self.reductions = [*self.reductions, *other.reductions]
        self.sums = [*self.sums, *other.sums]
        self.operands |= other.operands


class RowKernel(Kernel):
    """A loop over `count` rows with the loops of `parts` in it.

    `buffers` are the values that it keeps for one row, and `local` those of them that nothing else reads. Some are in
    the row of a result until that is computed: their `hosts`.
    """

    def __init__(self, count: int, stage: int):
        super().__init__((count,), stage)
        self.count = count
        self.parts: list[RowPart] = []
        self.buffers: dict[Node, None] = {}
        self.local: set[Node] = set()
        self.hosts: dict[Node, Node] = {}

    def collect(self) -> None:
        """Gather what all parts store in memory."""
        self.maps = [node for part in self.parts for node in part.maps if node not in self.local]
        self.reductions = [node for part in self.parts for node in part.reductions if node not in self.local]
        self.sums = [node for part in self.parts for node in part.sums]

    def is_local_index(self, index: Affine, node: Node, part: RowPart, counters: list[Counter]) -> bool:
        """Whether a part reads a value at an index in the same row of the value."""
        return node.size % self.count == 0 and index_in_row(index, part, counters, node.size // self.count) is not None


def index_in_row(index: Affine, part: RowPart, counters: list[Counter], length: int) -> Affine | None:
    """The index in a row of a given length, if the row is the present one."""
    coefficients = dict(index.terms)
    stride = length
    for axis in reversed(range(part.outer)):
        if part.domain[axis] > 1 and coefficients.pop(counters[axis], 0) != stride:
            return None
        stride *= part.domain[axis]
    inner = Affine(index.constant, tuple(coefficients.items()))
    return inner if inner.is_within(length) else None


def outer_axes(domain: tuple[int, ...], count: int) -> int | None:
    """The number of first axes that have `count` rows."""
    return next((k for k in range(1, len(domain) + 1) if math.prod(domain[:k]) == count), None)
