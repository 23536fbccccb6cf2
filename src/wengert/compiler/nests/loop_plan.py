"""The loops of a kernel: a nest with its decisions, as printers read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from wengert.compiler.forms.affine import ZERO, Affine, Counter, Position, flat_index
from wengert.compiler.nests.borders import Borders, Interior
from wengert.compiler.nests.cost import Cost, cost
from wengert.compiler.nests.decisions import Decision, find
from wengert.compiler.nests.legality import kept_axes, outermost_axis, reduced_axes, row_length
from wengert.compiler.nests.nest import Nest
from wengert.compiler.nests.policy import decisions_of
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.core import machine
from wengert.graph.ir import Node, Operation


class LoopPlan(Nest):
    """A nest and the loops by which it is computed.

    `vector_axis` is the axis with SIMD lanes. `kept_axes` and `reduced_axes` are in the order of their loops. In the
    `interior`, bodies have no guards. `tile` is the number of elements of a tile along the `tile_axis`.
    """

    def __init__(self, kernel: Kernel, schedule: Schedule):
        super().__init__(kernel, schedule)
        self.decisions: Sequence[Decision] = ()
        self.decisions = self.decide()
        lanes = find(self.decisions, "lanes")
        self.vector_axis: int | None = None if lanes is None else lanes.axis
        self.lanes = 1 if lanes is None else lanes.amount
        tile = find(self.decisions, "tile")
        self.tile_axis: int | None = None if tile is None else tile.axis
        self.tile = 1 if tile is None else tile.amount
        self.kept_axes, self.reduced_axes = kept_axes(self, self.decisions), reduced_axes(self)
        self.interior = self.find_interior()
        self.counters = [Counter(i, n, self.grain(i)) for i, n in enumerate(self.domain)]

    def decide(self) -> Sequence[Decision]:
        """The decisions by which it runs."""
        return decisions_of(self, machine.current)

    @cached_property
    def cost(self) -> Cost:
        """What it takes one thread."""
        return cost(self, self.decisions, machine.current, threads=1)

    def find_interior(self) -> Interior | None:
        """Where its guards are decided; None if bodies have guards."""
        bodies = find(self.decisions, "segments") or find(self.decisions, "overlap")
        if bodies is None:
            return None
        borders = Borders(self, bodies.axis, self.lanes)
        return borders.overlapping() if bodies.kind == "overlap" else borders.interior(bodies.amount)

    def grain(self, axis: int) -> int:
        """The lanes along an axis."""
        return self.lanes if axis == self.vector_axis else 1

    def step(self, axis: int) -> int:
        """The step of the loop over an axis: its lanes, or the elements of a tile."""
        return self.tile if axis == self.tile_axis else self.counters[axis].lanes

    @property
    def row_axes(self) -> range:
        """The axes along which a scatter writes rows."""
        return self.slice_axes if find(self.decisions, "rows") else self.slice_axes[:0]

    @property
    def unit(self) -> int:
        """The number of elements of the result of a scatter that a row has."""
        return row_length(self, self.decisions)

    # Additions

    @property
    def cuts(self) -> dict[int, int]:
        """The axes along which a reduction is cut into pieces, and the numbers of parts."""
        return self.order.cuts

    @property
    def accumulators(self) -> int:
        """The number of accumulators."""
        return self.order.accumulators

    @property
    def is_cut_in_pieces(self) -> bool:
        """Whether the loop of additions to few elements is cut into pieces, each with a sum of its own."""
        return self.order.scatter_axis is not None

    def partials(self) -> dict[Node, int]:
        """The bytes of partial results of each reduction that is cut into pieces."""
        cut = self.kernel.folds if self.cuts or self.is_cut_in_pieces else []
        return {node: machine.current.sum_pieces * node.nbytes for node in cut}

    def kept_index(self, node: Operation, axes: Collection[int], kept: Position = ()) -> Affine:
        """The index of the element that a reduction along axes has; `kept` is its position along unrolled axes."""
        looped = () if self.is_flat else [p for i, p in enumerate(self.position(node)) if i not in axes]
        shape = tuple([n for i, n in enumerate(node.args[0].shape) if i not in node.params["axis"]])
        return flat_index((*looped, *kept), shape) if shape else ZERO

    # Threads

    @property
    def is_shared(self) -> bool:
        """Whether threads share it."""
        return bool(find(self.decisions, "threads") or find(self.decisions, "ranges"))

    @property
    def outermost(self) -> int | None:
        """The axis whose loop is the outermost one with several steps."""
        found = outermost_axis(self, self.decisions)
        return next(iter(self.reduced_axes), None) if found is None else found

    @property
    def is_split_along_loop(self) -> bool:
        """Whether threads share the loop of a scatter, which runs along an axis of the result."""
        return bool(find(self.decisions, "threads")) and not self.is_cut_in_pieces

    @property
    def is_cut_in_ranges(self) -> bool:
        """Whether each thread takes from all elements those that belong to its part of the result of a scatter."""
        return bool(find(self.decisions, "ranges"))

    @property
    def parts(self) -> tuple[int, int]:
        """The number of parts that threads may share, and the fewest for one of them."""
        shared = find(self.decisions, "threads") or find(self.decisions, "ranges")
        fewest = 1 if shared is None else shared.amount
        if self.cuts or self.is_cut_in_pieces:
            return machine.current.sum_pieces, 1
        if self.kernel.scatter is None:
            return (1, 1) if self.outermost is None else (self.domain[self.outermost], fewest)
        if self.is_cut_in_ranges:
            return self.kernel.scatter.size // self.unit, fewest
        return (self.domain[0], fewest) if self.is_split_along_loop else (1, 1)

    # Memory

    @property
    def is_element_by_element(self) -> bool:
        """Whether each element is read and written once, by the same lanes: results may overwrite operands."""
        return self.is_flat and not self.has_overlaps

    @property
    def has_overlaps(self) -> bool:
        """Whether vectors overlap, at the end of their axis or of its segments: some elements are computed twice."""
        if self.vector_axis is None:
            return False
        is_cut = self.interior is not None and self.interior.gaps is not None
        return is_cut or self.domain[self.vector_axis] % self.lanes != 0
