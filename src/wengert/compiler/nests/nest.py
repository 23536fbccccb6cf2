"""A nest: what the loops of one kernel compute, and the order of its additions. It does not say how the loops run.

    for i0 in 0..100:
      fold along i1 in 0..64:
        %2[i0, i1] = exp(%0[i0, i1])
        %3[i0] sum= %2[i0, i1]        8 lanes along i1

An element is a value at an affine position: what it is computed from is found by tracing that position back through
the graph, to values in memory. How the loops run is data, too (`decisions.py`), and changes no result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product

from wengert.compiler.forms.affine import ZERO, Affine, Counter, Position
from wengert.compiler.forms.classify import Form, operation_cost
from wengert.compiler.forms.gather import Written
from wengert.compiler.forms.lowering import MatrixFunction, lowering_of
from wengert.compiler.machine.target import sum_lanes
from wengert.compiler.nests.body_stages import find_sources
from wengert.compiler.nests.body_work import BodyWork, find_body_work
from wengert.compiler.nests.borders import find_breaks
from wengert.compiler.nests.element_sources import Element, ElementSources
from wengert.compiler.nests.order import Order, find_order
from wengert.compiler.schedule.pieces import piece_positions
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.core import machine
from wengert.graph.ir import Node, Operation


class Nest:
    """The loops of one kernel over its `domain`; the first `outer` axes are looped over outside of them.

    `nodes` are the values that it reads or computes, `work` is the number of scalar operations, and `widest` the bytes
    of the widest lane. If all arrays have one shape, it `is_flat`: one loop runs over all elements. Reductions fold
    along `axes`.
    """

    may_be_flat = True
    """Whether the printer may write one loop for several axes."""

    def __init__(self, kernel: Kernel, schedule: Schedule):
        self.kernel, self.schedule, self.outer = kernel, schedule, kernel.outer
        self.nodes, self.work, self.widest, self.is_flat = self.survey()
        self.sources = ElementSources(schedule, kernel, self.is_flat)
        self.domain = (math.prod(kernel.domain),) if self.is_flat else kernel.domain
        self.axes = tuple(range(len(self.domain))) if kernel.axes and self.is_flat else kernel.axes
        self.counters = [Counter(i, n) for i, n in enumerate(self.domain)]

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
                has_one_shape = has_one_shape and node.shape == shape and node not in schedule.axis_orders
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
        may_be_flat = self.may_be_flat and not schedule.is_tiny and not self.outer
        is_flat = may_be_flat and has_one_shape and is_whole and not is_unrolled
        per_element += machine.current.operations_of_scatter * len(kernel.scatters)
        return list({node: None for node, _ in seen}), size * max(per_element, 1), widest, is_flat

    @cached_property
    def order(self) -> Order:
        """The order of its additions."""
        return find_order(self)

    @cached_property
    def breaks(self) -> dict[int, set[int]]:
        """For each axis, the indices at which a guard may have another outcome than before."""
        return find_breaks(self)

    @cached_property
    def body_work(self) -> BodyWork:
        """The operations and accesses of its body, from which its cost is computed."""
        return find_body_work(self)

    # Values

    @cached_property
    def computed_nodes(self) -> list[Node]:
        """The values that it computes, rather than reads."""
        return [node for node in self.nodes if not self.sources.is_stored(node)]

    @property
    def matrices(self) -> list[Operation]:
        """The functions of small matrices."""
        forms = self.schedule.forms
        return [x for x in self.computed_nodes if isinstance(x, Operation) and forms[x] is Form.MATRIX]

    @cached_property
    def fewest_vectors(self) -> int:
        """The vectors of doubles that functions of small matrices and loops in registers ask for."""
        loops = [node for node in self.computed_nodes if self.schedule.forms[node] is Form.ITERATED]
        vectors = [lowering_of(node, MatrixFunction).vectors(node) for node in self.matrices]
        vectors += [vectors_at_once(node) for node in loops if isinstance(node, Operation)]
        return max(vectors, default=0)

    @property
    def has_short_body(self) -> bool:
        """Whether few operations are computed for each element."""
        return self.work <= machine.current.short_body_operations * max(math.prod(self.domain), 1)

    @property
    def inner_axes(self) -> range:
        """The axes that it loops over itself."""
        return range(self.outer, len(self.domain))

    # Accesses

    @cached_property
    def traced_elements(self) -> dict[Element, list[Element]]:
        """The elements of the body, before anything is decided, each after those that it is computed from."""
        return find_sources(self.scattered_elements() or self.root_elements(), self.sources)

    def memory_indices(self) -> list[Affine]:
        """The indices at which the body reads and writes memory."""
        found = []
        for node in self.kernel.maps:
            found.append(self.sources.memory_index(node, next(iter(self.stored_positions(node)))))
        reads = [element for element in self.traced_elements if self.sources.is_stored(element[0])]
        return found + [self.sources.memory_index(node, position) for node, position in reads]

    @cached_property
    def strided(self) -> list[int]:
        """For each axis, the number of memory indices that neither stay nor advance by one along it."""
        counts = [0] * len(self.domain)
        for index in self.memory_indices():
            for counter, k in index.terms:
                counts[counter.axis] += abs(k) != 1
        return counts

    def requested_elements(self) -> list[Element]:
        """The elements that the body computes or reads."""
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

    @cached_property
    def slice_axes(self) -> range:
        """The last axes of a scatter that only slices select: within them, targets differ."""
        count, rank = 0 if self.kernel.scatter is None else Written.by(self.kernel.scatter).inner_axes, len(self.domain)
        return range(rank - count, rank)

    def innermost_axes(self) -> Sequence[int]:
        """The axes that may be the innermost loop of a scatter, so that what is written to a target keeps its order.

        Those of other nests are all axes. Elements at different indices along an axis that only a slice selects have
        different targets. The others are those of the index arrays: the last of them may follow all slices.
        """
        targets = [Written.by(node).target(node.shape, self.counted_position) for node in self.kernel.scatters]
        if not targets:
            return self.inner_axes
        if any(target.affine_part != targets[0].affine_part for target in targets):
            return self.inner_axes[-1:]
        counters = {c.axis for target in targets for index in target.in_arrays for c, _ in index.terms}
        last = max(counters, default=-1)
        return [i for i in self.inner_axes if i not in counters or i == last]


def vectors_at_once(node: Operation) -> int:
    """The vectors of lanes that run through the steps of a loop at once, as each step waits for the one before it."""
    now = machine.current
    return max(min(now.max_registers_of_iterated_operands // len(node.args), now.max_vectors_of_iteration), 1)


def reads_rows(node: Operation) -> bool:
    """Whether a gather reads rows of neighbours that fill the lanes of a sum: an index is that of a whole row.

    The lanes of sums depend on it, so that it must not depend on the vectors of the processor.
    """
    last = node.params["key"].parts(node.args[0].ndim)[-1]
    return isinstance(last, slice) and node.shape[-1] >= sum_lanes(node.dtype.itemsize)
