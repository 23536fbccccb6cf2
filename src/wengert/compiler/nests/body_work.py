"""What the body of a nest does: operations, and accesses of memory, by the axes that they depend on.

It is looked at once, before anything is decided; the cost of decisions is computed from that (`cost.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wengert.compiler.forms.affine import Affine, Position
from wengert.compiler.forms.classify import Form, is_immediate, operation_cost
from wengert.compiler.forms.gather import IndexedPosition, Written
from wengert.compiler.forms.lowering import Reduction, lowering_of
from wengert.compiler.nests.element_sources import Element
from wengert.core import machine
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.compiler.nests.nest import Nest

Axes = frozenset[int]


class Stream(NamedTuple):
    """Where elements of one array are that differ by constants only.

    `strides` are those of the axes of the nest, in bytes, the shortest first. Indices that depend on the axes `within`
    are computed.
    """

    array: Node
    strides: tuple[tuple[int, int], ...]
    within: Axes = frozenset()

    @property
    def size(self) -> int:
        """The bytes of an element."""
        return self.array.dtype.itemsize

    def stride(self, axis: int) -> int:
        """The bytes between neighbours along an axis; zero for elements at computed indices."""
        return next((stride for k, stride in self.strides if k == axis), 0)


class ElementAccess(NamedTuple):
    """How many elements of a stream a body reads or writes, and the axes on which they depend.

    One that `is_updated` is read, added to, and written.
    """

    stream: Stream
    is_written: bool
    is_updated: bool
    elements: int
    axes: Axes


class Work(NamedTuple):
    """Operations of elements that depend on the same axes, with lanes of `lane_bytes` bytes.

    Those that `are_long` are what quotients, roots and functions count as.
    """

    axes: Axes
    lane_bytes: int
    are_long: bool
    operations: int


class BodyWork(NamedTuple):
    """The operations and accesses of a body.

    `guarded` are the conditions that choose what is read, by the axes on which they depend, and `chosen` the numbers of
    such choices. `depth` is the longest
    chain of operations that wait for each other, `reused` the number of elements with several uses,
    by the axes on which they depend, and `elements` that of all in the text of the body.
    """

    work: Sequence[Work]
    accesses: Sequence[ElementAccess]
    folds: Sequence[Work]
    guarded: Sequence[Work]
    chosen: Sequence[tuple[Axes, int]]
    depth: int
    reused: Sequence[tuple[Axes, int]]
    elements: int


def find_body_work(nest: Nest) -> BodyWork:
    """What the body of a nest does."""
    return BodyReader(nest).read()


class BodyReader:
    """Counts what the elements of a body do."""

    def __init__(self, nest: Nest):
        self.nest, self.sources, self.forms = nest, nest.sources, nest.schedule.forms
        self.work: Counter[tuple[Axes, int, bool]] = Counter()
        self.guarded: Counter[tuple[Axes, int, bool]] = Counter()
        self.chosen: Counter[Axes] = Counter()
        self.accesses: Counter[tuple[Stream, bool, bool]] = Counter()
        folds = (*nest.kernel.reductions, *nest.kernel.sums)
        self.products = {node.args[0] for node in folds if self.sources.factors(node)}  # added as they are computed

    def read(self) -> BodyWork:
        """Count all elements, each after those that it is computed from."""
        nest, depth, uses = self.nest, dict[Element, int](), Counter[Element]()
        found = nest.traced_elements
        for element, operands in found.items():
            uses.update(set(operands))
            cost = self.count_element(*element, operands)
            wide = self.count_side_by_side(element[0])
            depth[element] = cost // wide + max([depth[e] for e in operands], default=0)
        for node in nest.kernel.maps:
            for position in nest.stored_positions(node):
                self.accesses[self.stream(node, position), True, False] += 1
        for node in nest.kernel.scatters:
            written = Written.by(node)
            target = written.target(node.shape, nest.counted_position)
            self.accesses[indexed_stream(nest.kernel.scatter or node, target), True, written.adds] += 1
        return BodyWork(
            [Work(*key, count) for key, count in self.work.items()],
            [ElementAccess(*key, count, axes_of_stream(key[0])) for key, count in self.accesses.items()],
            list(fold_work(nest)),
            [Work(*key, count) for key, count in self.guarded.items()],
            list(self.chosen.items()),
            max(depth.values(), default=0),
            list(Counter([axes_at(position) for (_, position), n in uses.items() if n > 1]).items()),
            len(found),
        )

    def count_side_by_side(self, node: Node) -> int:
        """The operations of an element that do not wait for each other: those of a row of a small matrix."""
        return node.args[0].shape[-1] if isinstance(node, Operation) and self.forms[node] is Form.MATRIX else 1

    def count_element(self, node: Node, position: Position, operands: Sequence[Element]) -> int:
        """Count one element; returns its operations."""
        if self.sources.is_stored(node):
            if not is_immediate(node) and node.size > 1:
                self.accesses[self.stream(node, position), False, False] += 1
            return 0
        assert isinstance(node, Operation)
        form, axes, cost = self.forms[node], axes_at(position), 0
        if form is Form.GATHER:
            indexed = self.sources.indexed_in_memory(node, position)
            self.accesses[indexed_stream(node.args[0], indexed), False, False] += 1
            cost = machine.current.operations_of_computed_index
        elif form is Form.CHOICE:
            reads = self.sources.reads(node, position)
            within = frozenset[int]().union(*[axes_at([g.value]) for read in reads for g in read.guards])
            self.chosen[within] += len(reads) > 1
            self.guarded[within, lane_bytes(node), False] += sum(len(read.guards) + 1 for read in reads[:-1])
        elif form is Form.UNROLLED:
            cost = max(len(operands) // (1 if self.sources.factors(node) is None else 2) - 1, 0)
        elif form is not Form.VIEW and node not in self.products:
            cost = operation_cost(node)
        if cost:
            are_long = form is not Form.UNROLLED and cost >= machine.current.operations_of_quotient
            self.work[axes, lane_bytes(node), are_long] += cost
        return cost

    def stream(self, node: Node, position: Position) -> Stream:
        """Where an element of a value in memory is."""
        schedule, size = self.nest.schedule, node.dtype.itemsize
        terms = self.sources.memory_index(node, position).terms
        return Stream(schedule.aliases.get(node, node), sort_strides([(c.axis, k * size) for c, k in terms]))


def fold_work(nest: Nest) -> Iterator[Work]:
    """What is folded."""
    for node in (*nest.kernel.reductions, *nest.kernel.sums):
        cost = max(lowering_of(node, Reduction).cost, 1) * len(list(nest.inner_positions(node.args[0])))
        yield Work(axes_at(nest.position(node.args[0])), lane_bytes(node), False, cost)


def indexed_stream(array: Node, indexed: IndexedPosition) -> Stream:
    """Where elements at computed indices are."""
    within, size = axes_at(indexed.in_arrays), array.dtype.itemsize
    terms = [(c.axis, k * size) for c, k in indexed.affine_part.terms if c.axis not in within]
    return Stream(array, sort_strides(terms), within)


def sort_strides(terms: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Axes with their strides, the shortest first."""
    return tuple(sorted(terms, key=lambda term: abs(term[1])))


def axes_of_stream(stream: Stream) -> Axes:
    """The axes on which the elements of a stream depend."""
    return stream.within.union(axis for axis, _ in stream.strides)


def axes_at(position: Iterable[Affine]) -> Axes:
    """The axes on which a position depends."""
    return frozenset([counter.axis for index in position for counter, _ in index.terms])


def lane_bytes(node: Node) -> int:
    """The bytes of a lane: half of a complex number."""
    return node.dtype.itemsize // (2 if node.dtype.kind == "c" else 1)
