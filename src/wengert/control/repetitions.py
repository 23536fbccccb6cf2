"""Repetitions in a graph: blocks of operations that do the same, and where their operands come from.

Blocks are found by the structure of their operations, and then compared wire by wire: an operand is the same value in
all blocks, a result of the same or an earlier block, an element of a sequence, or a part of an array at an index that
differs between blocks.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core import machine
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.graph.passes.subexpressions import exact_key, number_key
from wengert.ops.indexing.key import Index
from wengert.ops.indexing.subscripts import _add_at, _getitem, _scatter, _set_at
from wengert.ops.shape.joining import _unstack

INDEXED = {_getitem: 1, _scatter: 1, _set_at: 2, _add_at: 2}
"""Operations with a key, and the number of their operands without arrays in it."""


def find_repetitions(operations: Sequence[Operation]) -> list[Repetition]:
    """The repetitions among operations, in order."""
    order: dict[Node, int] = {node: i for i, node in enumerate(operations)}
    found: list[Repetition] = []
    for start, period, count in find_periods(structure_keys(operations, order)):
        repetition = Repetition.find(operations, order, start, period, count, found)
        if repetition is not None:
            found.append(repetition)
    return found


# Periods


def structure_keys(operations: Sequence[Operation], order: dict[Node, int]) -> list[int]:
    """A number for each operation, the same for those that could be the same operation of two blocks."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(structure_key(node, i, order), len(numbers)) for i, node in enumerate(operations)]


def structure_key(node: Operation, i: int, order: dict[Node, int]) -> Hashable:
    """What two operations have in common if they are the same of two blocks."""
    operands: list[Hashable] = []
    most = machine.current.max_operations_between_operands
    for a in node.args:
        distance = i - order[a] if a in order else None
        is_near = distance is not None and distance <= most
        operands.append((a.spec, distance) if is_near else a.spec)
    params: dict[str, Any] = {k: exact_key(v) for k, v in node.params.items()}
    if has_plain_key(node):
        params["key"] = moving_key(node.params["key"])[1]
    return node.primitive, tuple(params.items()), node.spec, node.weak, tuple(operands)


def has_plain_key(node: Operation) -> bool:
    """Whether an operation has a key without arrays."""
    return INDEXED.get(node.primitive.op) == len(node.args)


def moving_key(key: Index) -> tuple[int | None, Hashable]:
    """The first part of a key if it is an integer, and the rest."""
    parts = key.key if isinstance(key.key, tuple) else (key.key,)
    if parts and parts[0].__class__ is int:
        return parts[0], Index(parts[1:])
    return None, key


def find_periods(keys: Sequence[int]) -> list[tuple[int, int, int]]:
    """Runs of equal blocks: where each starts, the length of a block, and the number of blocks."""
    numbers: dict[tuple[int, ...], int] = {}
    least = machine.current.min_blocks_of_repetition
    windows = [numbers.setdefault(tuple(keys[i : i + least]), len(numbers)) for i in range(len(keys))]
    places: list[list[int]] = [[] for _ in numbers]
    rank = []
    for i, window in enumerate(windows):
        rank.append(len(places[window]))
        places[window].append(i)
    array, ends = np.array(keys), dict[int, int]()  # of each period, where the last run ends
    found, start = [], 0
    while start < len(keys):
        period = count = 0
        for later in places[windows[start]][rank[start] + 1 : rank[start] + 1 + machine.current.max_periods_tried]:
            step = later - start
            if ends.get(step, 0) <= start:
                ends[step] = start + run_length(array, start, step)
            blocks = (ends[step] - start) // step + 1
            if is_worth_a_loop(blocks, step) and blocks * step > count * period:
                period, count = step, blocks
        if count:
            found.append((start, period, count))
        start += max(count * period, 1)
    return found


def is_worth_a_loop(count: int, period: int) -> bool:
    """Whether so many blocks of as many operations as the period become a loop."""
    return (
        count >= max(2, machine.current.min_blocks_of_repetition)
        and (count - 1) * period >= machine.current.min_operations_saved_by_repetition
    )


def run_length(keys: np.ndarray, start: int, period: int) -> int:
    """How many keys from the start on are equal to those one period later."""
    length, size = 0, 64
    while start + length + period < len(keys):
        here = keys[start + length : start + length + size]
        there = keys[start + length + period : start + length + period + size]
        here = here[: len(there)]
        different = np.flatnonzero(here != there)
        if different.size:
            return length + int(different[0])
        length += len(there)
        size *= 2
    return length


# Wires


class Same(NamedTuple):
    """An operand that is one value in all blocks."""

    node: Node


class Earlier(NamedTuple):
    """An operand that is a result of `lag` blocks before; `first` are the values for the first blocks."""

    offset: int
    lag: int
    first: tuple[Node, ...]


class Moving(NamedTuple):
    """An operand that is an element of a sequence: one node for each block."""

    nodes: tuple[Node, ...]


class Slice(NamedTuple):
    """A part of an array at an index that grows by `step` with each block."""

    source: Node
    start: int
    step: int
    rest: Index


class Counted(NamedTuple):
    """An index that differs between blocks, as one more operand."""

    indices: tuple[int, ...]


Wire = Same | Earlier | Moving | Slice | Counted


class Irregular(Exception):
    """A block that differs from the others."""

    def __init__(self, block: int):
        super().__init__(block)
        self.block = block


class Repetition:
    """Blocks of operations that repeat each other, and where their operands come from."""

    def __init__(self, operations: Sequence[Operation], order: dict[Node, int], start: int, period: int, count: int):
        self.operations, self.order, self.start, self.period, self.count = operations, order, start, period, count
        self.wires: list[tuple[Wire, ...]] = []

    @staticmethod
    def find(
        operations: Sequence[Operation],
        order: dict[Node, int],
        start: int,
        period: int,
        count: int,
        known: Sequence[Repetition],
    ) -> Repetition | None:
        """The longest repetition in a run of blocks; None if it is too short."""
        shift = best_rotation(operations, order, start, period, count)
        start, count = start + shift, count - bool(shift)
        for _ in range(machine.current.max_blocks_left_out):
            if not is_worth_a_loop(count, period):
                return None
            found = Repetition(operations, order, start, period, count)
            try:
                found.wires = [found.wires_of(offset, known) for offset in range(period)]
            except Irregular as irregular:
                if irregular.block < count // 2:
                    start, count = start + (irregular.block + 1) * period, count - irregular.block - 1
                else:
                    count = irregular.block
            else:
                return found
        return None

    def node(self, block: int, offset: int) -> Operation:
        """An operation of a block."""
        return self.operations[self.start + block * self.period + offset]

    def locate(self, node: Node) -> tuple[int, int] | None:
        """The block and the offset of an operation, if it is one of this repetition."""
        i = self.order.get(node, -1) - self.start
        return divmod(i, self.period) if 0 <= i < self.count * self.period else None

    def wires_of(self, offset: int, known: Sequence[Repetition]) -> tuple[Wire, ...]:
        """Where the operands of an operation come from; raises `Irregular`."""
        nodes = [self.node(block, offset) for block in range(self.count)]
        wires = [self.wire([node.args[k] for node in nodes], offset, known) for k in range(len(nodes[0].args))]
        if has_plain_key(nodes[0]):
            indices = [moving_key(node.params["key"])[0] for node in nodes]
            if any(i != indices[0] for i in indices):
                found = slice_wire(nodes, indices, wires[0])  # type: ignore[arg-type]  # integers
                return (found,) if found is not None else (*wires, Counted(tuple(indices)))  # type: ignore[arg-type]  # integers
        return tuple(wires)

    def wire(self, nodes: list[Node], offset: int, known: Sequence[Repetition]) -> Wire:
        """Where one operand comes from."""
        last = nodes[-1]
        place = self.locate(last)
        if place is not None:
            return self.earlier_wire(nodes, offset, *place)
        if last.__class__ is Constant and not last.is_captured:
            key = number_key(last)
            for block, node in enumerate(nodes):
                if not isinstance(node, Constant) or node.spec != last.spec or node.weak is not last.weak:
                    raise Irregular(block)
            if all(number_key(node) == key for node in nodes):  # type: ignore[arg-type]  # constants
                return Same(last)
            return Moving(tuple(nodes))
        if all(node is last for node in nodes):
            return Same(last)
        return self.moving_wire(nodes, known)

    def earlier_wire(self, nodes: list[Node], offset: int, block: int, at: int) -> Earlier:
        """A wire from the same or an earlier block."""
        lag = self.count - 1 - block
        if (
            lag > machine.current.max_blocks_between_operands
            or (lag == 0 and at >= offset)
            or (lag and nodes[-1].spec.__class__ is not Spec)
        ):
            raise Irregular(self.count - 1)
        for i in reversed(range(lag, len(nodes))):
            if nodes[i] is not self.node(i - lag, at):
                raise Irregular(i)
        for i in range(lag):
            if nodes[i].spec != nodes[-1].spec or self.order.get(nodes[i], -1) >= self.start:
                raise Irregular(i)
        return Earlier(at, lag, tuple(nodes[:lag]))

    def moving_wire(self, nodes: list[Node], known: Sequence[Repetition]) -> Moving:
        """A wire from values before the loop, one for each block."""
        last = nodes[-1]
        for block in reversed(range(len(nodes))):
            node = nodes[block]
            if node.spec != last.spec or node.spec.__class__ is not Spec or self.order.get(node, -1) >= self.start:
                raise Irregular(block)
        if sequence_of(nodes, known) is None:
            raise Irregular(irregular_block(nodes, known))
        return Moving(tuple(nodes))

    @property
    def outside(self) -> list[Node]:
        """The values that are read before the loop, one by one."""
        found: list[Node] = []
        for wires in self.wires:
            for wire in wires:
                if isinstance(wire, Same):
                    found.append(wire.node)
                elif isinstance(wire, Earlier):
                    found += wire.first
                elif isinstance(wire, Slice):
                    found.append(wire.source)
        return found


def slice_wire(nodes: list[Operation], indices: list[int], source: Wire) -> Slice | None:
    """A wire from a slice of one array that moves with the block, if the operations are that."""
    if not isinstance(source, Same) or not is_a(nodes[0], _getitem):
        return None
    extent = source.node.shape[0]
    places = [i % extent for i in indices]
    step = places[1] - places[0]
    if not step or places != list(range(places[0], places[0] + step * len(places), step)):
        return None
    rest = moving_key(nodes[0].params["key"])[1]
    assert isinstance(rest, Index)
    return Slice(source.node, places[0], step, rest)


def best_rotation(operations: Sequence[Operation], order: dict[Node, int], start: int, period: int, count: int) -> int:
    """Where a block should start so that the fewest values pass from one to the next."""
    first = start + (count // 2) * period
    reach = np.zeros(period, int)  # of each operation, to the last one that reads its result
    for i in range(first, first + period):
        for a in operations[i].args:
            j = order.get(a, -1)
            if start <= j and i - j <= machine.current.max_blocks_between_operands * period:
                k = (j - start) % period
                reach[k] = max(reach[k], i - j)
    offsets = np.arange(period)
    passed = [
        int(np.sum((reach > 0) & ((offsets - r) % period + reach >= period)))
        for r in range(min(period, machine.current.max_rotations_of_repetition))
    ]
    return int(np.argmin(passed))


# Sequences


class Part(NamedTuple):
    """A part of a sequence that exists: a result of each block of a repetition, or an axis of an array."""

    whole: Any  # a repetition and an offset, or a node
    start: int
    step: int
    length: int


def sequence_of(nodes: Sequence[Node], known: Sequence[Repetition]) -> Part | None:
    """The sequence that these values are elements of, if there is one."""
    places = [place_in_sequence(node, known) for node in nodes[:2]]
    if None in places or len(nodes) < 2:
        return None
    (whole, i), (other, j) = places  # type: ignore[misc]  # pairs
    if whole != other or i == j:
        return None
    for n, node in enumerate(nodes):
        if place_in_sequence(node, known) != (whole, i + n * (j - i)):
            return None
    return Part(whole, i, j - i, len(nodes))


def irregular_block(nodes: Sequence[Node], known: Sequence[Repetition]) -> int:
    """The block at which a sequence ends: the last one that does not continue what comes after it, or before."""
    places = [place_in_sequence(node, known) for node in nodes]
    middle = min(len(nodes) // 2, len(nodes) - 2)
    if places[middle] is None or places[middle + 1] is None:
        return middle
    (whole, i), (_, j) = places[middle], places[middle + 1]  # type: ignore[misc]  # pairs
    wrong = [n for n, place in enumerate(places) if place != (whole, i + (n - middle) * (j - i))]
    before = [n for n in wrong if n < middle]
    return before[-1] if before else wrong[0] if wrong else middle


def place_in_sequence(node: Node, known: Sequence[Repetition]) -> tuple[Any, int] | None:
    """The sequence that a value is an element of, and its index there."""
    for repetition in known:
        place = repetition.locate(node)
        if place is not None:
            return (repetition, place[1]), place[0]
    if isinstance(node, Operation) and node.primitive is OUTPUT and is_a(node.args[0], _unstack):
        whole = node.args[0]
        return (whole.args[0], node.params["index"]) if whole.params["axis"] == 0 else None
    if is_a(node, _getitem):
        i, rest = moving_key(node.params["key"])
        return (node.args[0], i % node.args[0].shape[0]) if i is not None and rest == Index(()) else None
    return None
