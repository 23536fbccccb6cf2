"""The loops of a kernel: which axes they run over, which of them has SIMD lanes, and where a reduction is cut."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from wengert.compiler.forms.affine import ZERO, Affine, Counter, Position, flat_index
from wengert.compiler.forms.classify import Form, operation_cost
from wengert.compiler.forms.gather import Written
from wengert.compiler.forms.lowering import MatrixFunction, lowering_of
from wengert.compiler.kernels.borders import find_interior
from wengert.compiler.kernels.element_sources import Element, ElementSources
from wengert.compiler.kernels.iteration import vectors_at_once
from wengert.compiler.kernels.row_sums import find_factor_rows
from wengert.compiler.machine.target import sum_lanes, vector_lanes
from wengert.compiler.schedule.pieces import piece_positions
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.core import machine
from wengert.core.large_arrays import has_many_terms
from wengert.graph.ir import Node, Operation


class LoopPlan:
    """The loops of one kernel; the first `outer` axes are looped over outside of them.

    `nodes` are the values that it reads or computes, and `work` is the number of scalar operations. If all arrays have
    one shape, it `is_flat`: one loop runs over all elements. `vector_axis` is the axis with SIMD lanes, `cuts` are
    the axes along which a reduction is cut into pieces, with the number of parts along each. The pieces of a loop of
    additions are multiples of `piece_grain`, and so of vectors: the same steps on every processor.
    """

    def __init__(self, kernel: Kernel, schedule: Schedule):
        self.kernel, self.schedule, self.outer = kernel, schedule, kernel.outer
        self.nodes, self.work, widest, self.is_flat = self.survey()
        self.sources = ElementSources(schedule, kernel, self.is_flat)
        self.domain = (math.prod(kernel.domain),) if self.is_flat else kernel.domain
        self.axes = tuple(range(len(self.domain))) if kernel.axes and self.is_flat else kernel.axes
        self.counters = [Counter(i, n) for i, n in enumerate(self.domain)]
        self.row_axes, self.unit = self.find_rows()
        if self.row_axes:
            widest = kernel.scatters[0].dtype.itemsize
        self.vector_axis, self.lanes = self.choose_vector(widest)
        self.counters = [Counter(i, n, self.grain(i)) for i, n in enumerate(self.domain)]
        last = lambda i: (i in self.row_axes, i == self.vector_axis)
        inner = range(self.outer, len(self.domain))
        self.kept_axes = sorted([i for i in inner if i not in self.axes], key=last)
        self.reduced_axes = sorted([i for i in inner if i in self.axes], key=last)
        self.cuts = self.choose_cuts()
        self.interior = find_interior(self)

    def survey(self) -> tuple[list[Node], int, int, bool]:
        """The values, the work, the bytes of the widest lane, and whether the loop is flat.

        A single number, and what it is computed from, is the same for all elements: it does not decide. Neither do the
        indices of rows that are read as vectors.
        """
        kernel, schedule, shape = self.kernel, self.schedule, self.kernel.domain
        sources = ElementSources(schedule, kernel)
        seen: set[tuple[Node, bool]] = {(node, False) for node in kernel.computed_values}
        stack = list(seen)
        widest, per_element, has_one_shape, size = 4, 0, True, math.prod(shape)
        while stack:
            node, is_single = stack.pop()
            is_single = is_single or (node.size == 1 and (size > 1 or schedule.forms[node] is Form.GIVEN))
            if not is_single:
                if node.dtype.kind in "fic":
                    widest = max(widest, node.dtype.itemsize // (1 + (node.dtype.kind == "c")))
                has_one_shape = has_one_shape and node.shape == shape
            if sources.is_stored(node):
                continue
            if isinstance(node, Operation):
                form = schedule.forms[node]
                is_view = is_single and form is Form.VIEW
                is_draw = form is Form.DRAW and node.args[0].ndim == 1 and sources.is_stored(node.args[0])
                has_one_shape = has_one_shape and (form in (Form.ELEMENT, Form.ITERATED) or is_view or is_draw)
                inner = max(node.size // max(math.prod(schedule.domain(node)), 1), 1)
                per_element += operation_cost(node) * inner
                in_rows = form is Form.GATHER and reads_rows(node)
                for i, a in enumerate(node.args):
                    read = a, is_single or (in_rows and i > 0)
                    if read not in seen and not is_draw:
                        stack.append(read)
                    seen.add(read)
        is_whole = set(kernel.axes) in (set(), set(range(len(shape)))) and not kernel.scatters and len(shape) > 0
        is_unrolled = any(schedule.loop_ndim(node) < node.ndim for node, _ in seen)
        is_flat = has_one_shape and is_whole and not schedule.is_tiny and not is_unrolled and not self.outer
        per_element += machine.current.operations_of_scatter * len(kernel.scatters)
        return list({node: None for node, _ in seen}), size * max(per_element, 1), widest, is_flat

    @property
    def computed_nodes(self) -> list[Node]:
        """The values that it computes, rather than reads."""
        return [node for node in self.nodes if not self.sources.is_stored(node)]

    @property
    def matrices(self) -> list[Operation]:
        """The functions of small matrices."""
        forms = self.schedule.forms
        return [x for x in self.computed_nodes if isinstance(x, Operation) and forms[x] is Form.MATRIX]

    @property
    def fewest_vectors(self) -> int:
        """The vectors of doubles that functions of small matrices and loops in registers ask for."""
        loops = [node for node in self.computed_nodes if self.schedule.forms[node] is Form.ITERATED]
        vectors = [lowering_of(node, MatrixFunction).vectors(node) for node in self.matrices]
        vectors += [vectors_at_once(node) for node in loops if isinstance(node, Operation)]
        return max(vectors, default=0)

    def choose_vector(self, widest: int) -> tuple[int | None, int]:
        """The axis with SIMD lanes and their number: a long axis along which most elements are neighbours in memory.

        `widest` is the number of bytes of the widest lane. Lanes that are added up are those of the order of sums,
        whatever vectors the processor has: LLVM takes several of these for one.
        """
        has_row_sums = self.has_row_sums
        adds_up = bool(self.kernel.reductions or self.kernel.sums) or has_row_sums
        self.piece_grain = sum_lanes(widest)
        count = sum_lanes if adds_up else vector_lanes
        lanes = max(count(widest), self.fewest_vectors * count(8))
        axes: Sequence[int] = range(self.outer, len(self.domain))
        if not axes or 0 in self.domain:
            return None, 1  # no element has a neighbour
        if self.row_axes:
            axes = axes[-1:]
        elif self.kernel.scatters:
            axes = self.innermost_axes_of_scatters(axes)
        parts = 2 if self.kernel.maps and all(node.dtype.kind == "c" for node in self.kernel.maps) else 1
        long = [i for i in axes if parts * self.domain[i] >= max(lanes // 2, 2 * parts)]  # half a vector in memory
        axis = max(axes, key=lambda i: (self.domain[i], i))
        if len(long) == 1:
            axis = long[0]
        elif long:
            strided = strided_counts(self.memory_indices(), len(self.domain))
            axis = min(long, key=lambda i: (strided[i], -i))
        if axis not in self.axes and not self.kernel.sums and not has_row_sums:
            lanes = max(vector_lanes(widest), self.fewest_vectors * vector_lanes(8))  # each is added up by itself
        if self.kernel.scatters:
            lanes = min(lanes, self.piece_grain)
        most = machine.current.max_stack_bytes_of_lanes
        while lanes > self.domain[axis] or (lanes > 1 and 8 * lanes * len(self.nodes) > most):
            lanes //= 2
        return (axis, lanes * self.vectors_of_columns(axis, lanes)) if lanes > 1 else (None, 1)

    @property
    def has_row_sums(self) -> bool:
        """Whether products of two rows in memory are added up, as many side by side as there are lanes."""
        forms, sources = self.schedule.forms, self.sources
        nodes = [x for x in self.computed_nodes if forms[x] is Form.UNROLLED and x.dtype.kind == "f"]
        summed = {x for x in nodes if isinstance(x, Operation) and sources.factors(x) is not None}
        return bool(summed) and any(
            node in summed and find_factor_rows(sources, sources.sources(node, position)) is not None
            for node, position in self.requested_elements()
        )

    def innermost_axes_of_scatters(self, axes: Sequence[int]) -> Sequence[int]:
        """The axes that may be the innermost loop, so that what is written to one target keeps its order.

        Elements at different indices along an axis that only a slice selects have different targets. The others are
        those of the index arrays: the last of them may follow all slices, whatever vectors the processor has.
        """
        targets = [Written.by(node).target(node.shape, self.counted_position) for node in self.kernel.scatters]
        if any(target.affine_part != targets[0].affine_part for target in targets):
            return axes[-1:]
        counters = {c.axis for target in targets for index in target.in_arrays for c, _ in index.terms}
        last = max(counters, default=-1)
        return [i for i in axes if i not in counters or i == last]

    def vectors_of_columns(self, axis: int, lanes: int) -> int:
        """The number of vectors at once, where each lane is the sum of a column.

        Neighbours in a row are then read together, and additions do not wait for each other. Vectors that overlap at
        the end of a row may add a quarter to the work, or one vector.
        """
        are_columns = bool(self.kernel.reductions) and axis not in self.axes and not self.outer and self.has_short_body
        inside = [node for node in self.computed_nodes if node not in self.kernel.reductions]
        is_plain = all(self.schedule.forms[node] in (Form.ELEMENT, Form.VIEW) for node in inside)
        if not are_columns or not is_plain or strided_counts(self.memory_indices(), len(self.domain))[axis]:
            return 1
        extent, vectors = self.domain[axis], machine.current.max_vectors_of_columns
        fewest = -(-extent // lanes)
        most = fewest + max(fewest // 4, 1)
        while vectors * lanes > extent or -(-fewest // vectors) * vectors > most:
            vectors //= 2
        return vectors

    @property
    def has_short_body(self) -> bool:
        """Whether few operations are computed for each element."""
        return self.work <= machine.current.short_body_operations * max(math.prod(self.domain), 1)

    def choose_cuts(self) -> dict[int, int]:
        """The axes along which a large reduction to few elements is cut into pieces, and the numbers of parts.

        Pieces are neighbours in memory if the outermost axes are cut, the first of them completely. Where that is not
        possible, the longest axis is.
        """
        orders = machine.current
        kept = math.prod(n for i, n in enumerate(self.domain) if i not in self.axes)
        if kept >= orders.sum_pieces_below_results or self.outer:
            return {}
        if not (self.kernel.reductions and self.axes and self.work >= orders.sum_pieces_from_operations):
            return {}
        cuts: dict[int, int] = {}
        rest = orders.sum_pieces
        for axis in self.reduced_axes:
            if self.domain[axis] >= rest * self.grain(axis):
                return {**cuts, axis: rest}
            if rest % self.domain[axis] or self.grain(axis) > 1:
                break
            cuts[axis] = self.domain[axis]
            rest //= self.domain[axis]
        rest = orders.sum_pieces
        longest = max(self.axes, key=lambda i: (self.domain[i], -i))
        return {longest: rest} if self.domain[longest] >= rest * self.grain(longest) else {}

    def grain(self, axis: int) -> int:
        """The step of the loop over an axis."""
        return self.lanes if axis == self.vector_axis else 1

    # Scatters

    def find_rows(self) -> tuple[range, int]:
        """The axes of a scatter along which it writes rows, and the number of elements of the result in each."""
        node = self.kernel.scatter
        if node is None:
            return range(0), 1
        count, rank = Written.by(node).inner_axes, len(self.domain)
        if not count or self.domain[-1] < machine.current.min_row_elements_of_scatter:
            return range(rank, rank), 1
        return range(rank - count, rank), math.prod(node.shape[node.ndim - count :])

    @property
    def is_split_along_loop(self) -> bool:
        """Whether the outermost loop of a scatter runs along an axis of the result."""
        node = self.kernel.scatter
        if (
            node is None
            or not self.domain
            or self.domain[0] < machine.current.min_loop_of_shared_scatter
            or self.kept_axes[0] != 0
            or self.is_cut_in_pieces
        ):
            return False
        axis = Written.by(node).target(node.shape, self.counted_position).axes[0]
        return axis.affine == self.counted_position[0] and axis.extent == self.domain[0] and 0 not in self.row_axes

    @property
    def parts(self) -> tuple[int, int]:
        """The number of parts of the result of a scatter that threads may share, and the fewest for one of them."""
        node = self.kernel.scatter
        assert node is not None
        if self.is_cut_in_pieces:
            return machine.current.sum_pieces, 1
        count, grain = (self.domain[0], self.grain(0)) if self.is_split_along_loop else (node.size // self.unit, 1)
        fewest = max(machine.current.cache_line_bytes * count // max(node.nbytes, 1), 1)
        return count, -(-fewest // grain) * grain  # a part does not end inside a vector

    @property
    def is_cut(self) -> bool:
        """Whether a scatter runs on all cores."""
        count, fewest = self.parts
        now = machine.current
        is_worthwhile = self.work >= (
            now.min_shared_operations
            if self.row_axes or self.is_split_along_loop
            else now.min_operations_of_shared_lanes
        )
        return self.is_cut_in_pieces or (is_worthwhile and count >= 2 * fewest)

    @property
    def is_cut_in_ranges(self) -> bool:
        """Whether each thread takes from all elements those that belong to its part of the result."""
        return self.is_cut and not self.is_split_along_loop and not self.is_cut_in_pieces

    @property
    def is_cut_in_pieces(self) -> bool:
        """Whether the loop of additions to few elements is cut into pieces, each with a sum of its own."""
        node, orders = self.kernel.scatter, machine.current
        if (
            node is None
            or not self.kept_axes
            or self.work < orders.scatter_pieces_from_operations
            or not all(Written.by(s).adds for s in self.kernel.scatters)
        ):
            return False
        outer = self.kept_axes[0]
        is_small = has_many_terms(math.prod(self.domain), node.size)
        return is_small and outer not in self.row_axes and self.domain[outer] >= orders.sum_pieces * self.piece_grain

    def memory_indices(self) -> list[Affine]:
        """The indices at which the body of the kernel reads and writes."""
        found = []
        for node in self.kernel.maps:
            found.append(flat_index(next(iter(self.stored_positions(node))), node.shape))
        reads = [element for element in self.requested_elements() if self.sources.is_stored(element[0])]
        return found + [flat_index(position, node.shape) for node, position in reads]

    def requested_elements(self) -> list[Element]:
        """The elements that the body of the kernel computes or reads."""
        found = self.scattered_elements() or self.root_elements()
        seen = set(found)
        for node, position in found:
            for element in self.sources.sources(node, position):
                if element not in seen:
                    seen.add(element)
                    found.append(element)
        return found

    def root_elements(self) -> list[Element]:
        """The elements that the body stores and reduces."""
        return [
            *[(node, position) for node in self.kernel.maps for position in self.stored_positions(node)],
            *[
                (node.args[0], self.position(node.args[0]) + inner)
                for node in (*self.kernel.reductions, *self.kernel.sums)
                for inner in self.inner_positions(node.args[0])
            ],
        ]

    def scattered_elements(self) -> list[Element]:
        """The elements that a scatter writes or adds, and those of its indices."""
        position = self.counted_position
        found: list[Element] = []
        for node in self.kernel.scatters:
            written = Written.by(node)
            found.append((written.value, written.value_position(position)))
            found += self.sources.index_elements(written.indices, written.target(node.shape, position))
        return found

    @property
    def counted_position(self) -> Position:
        """The position of the counters."""
        return tuple([Affine(0, ((c, 1),)) if c.extent > 1 else ZERO for c in self.counters])

    def position(self, node: Node) -> Position:
        """The position of the counters along the looped axes of a node."""
        if self.is_flat:
            return (ZERO,) * (node.ndim - 1) + (Affine(0, ((self.counters[0], 1),)),)
        return self.counted_position

    def stored_positions(self, node: Node) -> Iterator[Position]:
        """The positions of a value that it stores for the present counters: of each piece, or along unrolled axes."""
        if node in self.schedule.pieces:
            yield from piece_positions(self.schedule.pieces[node], self.counted_position) or ()
            return
        lead = self.position(node)
        for inner in self.inner_positions(node):
            yield lead + inner

    def inner_positions(self, node: Node) -> Iterator[Position]:
        """All positions along the unrolled axes of a node, which come after the looped ones."""
        for indices in product(*map(range, node.shape[len(self.kernel.domain) :])):
            yield tuple([Affine(n) for n in indices])

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

    @property
    def accumulators(self) -> int:
        """The number of accumulators: several if lanes are reduced along their axis and the body is short."""
        if self.vector_axis not in self.axes or self.vector_axis is None or self.kernel.maps:
            return 1
        if self.kernel.sums:
            return 1
        is_single = len(self.kernel.reductions) == 1
        rounds = 1 if len(self.reduced_axes) > 1 else 4  # of all accumulators, before they are added up
        count = machine.current.sum_accumulators
        is_long = self.domain[self.vector_axis] >= rounds * count * self.lanes
        return count if self.has_short_body and is_single and is_long else 1

    def partials(self) -> dict[Node, int]:
        """The bytes of partial results of each reduction that is cut into pieces."""
        cut = self.kernel.folds if self.cuts or self.is_cut_in_pieces else []
        return {node: machine.current.sum_pieces * node.nbytes for node in cut}


def reads_rows(node: Operation) -> bool:
    """Whether a gather reads rows of neighbours that fill the lanes of a sum: an index is that of a whole row.

    The lanes of sums depend on it, so that it must not depend on the vectors of the processor.
    """
    last = node.params["key"].parts(node.args[0].ndim)[-1]
    return isinstance(last, slice) and node.shape[-1] >= sum_lanes(node.dtype.itemsize)


def strided_counts(indices: Sequence[Affine], ndim: int) -> list[int]:
    """For each axis, the number of indices that neither stay nor advance by one along it."""
    counts = [0] * ndim
    for index in indices:
        for counter, k in index.terms:
            counts[counter.axis] += abs(k) != 1
    return counts
