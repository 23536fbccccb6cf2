"""Rolling up: a part of a graph that repeats itself becomes a loop.

A Python loop whose source is not known is written out when it is traced: each step adds the same operations, on the
results of the step before. A loop takes their place, so that the time to compile does not depend on the number of
steps. It computes what the blocks did, in the same order.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from wengert.control.loop import LOOP, Shape
from wengert.control.repetitions import (
    Counted,
    Earlier,
    Moving,
    Part,
    Repetition,
    Same,
    Slice,
    Wire,
    find_repetitions,
    moving_key,
    sequence_of,
)
from wengert.core import machine
from wengert.core.aspects import primitive_of
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Input, Node, Operation, is_a, make_operation
from wengert.graph.passes.subexpressions import number_key
from wengert.ops.indexing.key import Hole, Index
from wengert.ops.indexing.subscripts import _getitem, gather
from wengert.ops.shape.joining import _stack
from wengert.ops.shape.rearranging import _concatenate
from wengert.ops.shape.reshaping import _transpose

GETITEM, GATHER, STACK, CONCATENATE, TRANSPOSE = map(primitive_of, (_getitem, gather, _stack, _concatenate, _transpose))


def roll(graph: Graph) -> Graph:
    """The graph with loops for the parts that repeat themselves.

    Small graphs stay as they are, and so do those that would have to read most results of the loops one by one.
    """
    operations = graph.operations
    is_long = len(operations) >= machine.current.min_operations_of_rolled_graph
    repetitions = find_repetitions(operations) if is_long else []
    rolled = Rewriter(graph, repetitions).write() if repetitions else graph
    return rolled if 2 * len(rolled.operations) < len(operations) else graph


class Rewriter:
    """Writes a graph with loops in place of repetitions."""

    def __init__(self, graph: Graph, repetitions: Sequence[Repetition]):
        self.graph, self.repetitions = graph, repetitions
        self.new: dict[Node, Node] = {}
        self.stacked: dict[tuple[Repetition, int], Node] = {}
        self.final: dict[tuple[Repetition, int], Node] = {}
        self.operations = graph.operations
        self.home = {node: r for r in repetitions for node in self.operations[r.start : r.start + r.count * r.period]}
        self.outputs: dict[Repetition, dict[int, None]] = {r: {} for r in repetitions}
        self.find_outputs()

    def find_outputs(self) -> None:
        """Find the results of blocks that are used outside of them."""
        for repetition in self.repetitions:
            for node in repetition.outside:
                self.need(node)
            for wire in [wire for wires in repetition.wires for wire in wires if isinstance(wire, Moving)]:
                self.need(wire.nodes[0])
        for node in self.operations:
            if node not in self.home:
                for a in node.args:
                    self.need(a)
        for node in self.graph.outputs:
            self.need(node)

    def need(self, node: Node) -> None:
        """Note that the loop must give this result of a block."""
        repetition = self.home.get(node)  # type: ignore[call-overload]  # an operation
        if repetition is not None:
            self.outputs[repetition][repetition.locate(node)[1]] = None

    def write(self) -> Graph:
        """The graph."""
        starts = {r.start: r for r in self.repetitions}
        i, operations = 0, self.operations
        while i < len(operations):
            if i in starts:
                self.write_loop(starts[i])
                i += starts[i].count * starts[i].period
                continue
            node = operations[i]
            self.new[node] = self.join(node) or node.with_args([self.value(a) for a in node.args])
            i += 1
        return self.graph.with_outputs([self.value(y) for y in self.graph.outputs])

    def value(self, node: Node) -> Node:
        """A value of the old graph in the new one; a result of a block is read from the sequence of these results."""
        if node in self.new or node not in self.home:
            return self.new.get(node, node)
        repetition = self.home[node]
        block, offset = repetition.locate(node)  # type: ignore[misc]  # it has a home
        if block == repetition.count - 1 and (repetition, offset) in self.final:
            return self.final[repetition, offset]
        whole = self.stacked[repetition, offset]
        self.new[node] = make_operation(GETITEM, [whole], key=Index(block))
        return self.new[node]

    def join(self, node: Operation) -> Node | None:
        """Results of all blocks that are stacked: the sequence is there already."""
        if not is_a(node, _stack) or len(node.args) < machine.current.min_blocks_of_repetition:
            return None
        pieces: list[Node] = []
        rest = list(node.args)
        while rest:
            repetition = self.home.get(rest[0])  # type: ignore[call-overload]  # an operation
            run = 1
            if repetition is not None:
                block, offset = repetition.locate(rest[0])
                while run < len(rest) and repetition.locate(rest[run]) == (block + run, offset):
                    run += 1
            if repetition is not None and run >= machine.current.min_blocks_of_repetition:
                whole = self.stacked[repetition, offset]
                pieces.append(make_operation(GETITEM, [whole], key=Index(slice(block, block + run))))
            else:
                run = 1
                pieces.append(make_operation(STACK, [self.value(rest[0])], axis=0))
            rest = rest[run:]
        if len(pieces) > len(node.args) // 2:
            return None
        found = pieces[0] if len(pieces) == 1 else make_operation(CONCATENATE, pieces, axis=0)
        axis = node.params["axis"]
        axes = (*range(1, axis + 1), 0, *range(axis + 1, node.ndim))
        return found if not axis else make_operation(TRANSPOSE, [found], axes=axes)

    def write_loop(self, repetition: Repetition) -> None:
        """Write one loop."""
        writer = BodyWriter(repetition, self.outputs[repetition])
        body = writer.body()
        operands = [
            *[self.value(node) for node in writer.constants],
            *[self.value(first) for first in writer.first_states()],
            *[self.sequence(repetition, key) for key in writer.slices],
        ]
        shape = Shape(len(writer.constants), len(writer.states), repetition.count)
        loop = make_operation(LOOP, operands, body=body, condition=None, shape=shape)
        for k, (offset, lag, _) in enumerate(writer.states):
            if lag == 1:
                self.final[repetition, offset] = make_operation(OUTPUT, [loop], index=k)
        for k, offset in enumerate(self.outputs[repetition]):
            self.stacked[repetition, offset] = make_operation(OUTPUT, [loop], index=len(writer.states) + k)

    def sequence(self, repetition: Repetition, wire: Slice | Moving | Counted) -> Node:
        """A sequence that a loop reads."""
        if isinstance(wire, Counted):
            return Constant(np.array(wire.indices, np.int64))
        if isinstance(wire, Slice):
            return slice_node(self.value(wire.source), Part(None, wire.start, wire.step, repetition.count))
        if isinstance(wire.nodes[0], Constant):
            return Constant(np.stack([np.asarray(node.value, node.dtype) for node in wire.nodes]))  # type: ignore[attr-defined]  # constants
        part = sequence_of(wire.nodes, self.repetitions)
        assert part is not None
        whole = self.stacked[part.whole] if isinstance(part.whole, tuple) else self.value(part.whole)
        return slice_node(whole, part)


def slice_node(whole: Node, part: Part) -> Node:
    """A part of an array along its first axis."""
    if (part.start, part.step, part.length) == (0, 1, whole.shape[0]):
        return whole
    stop = part.start + part.step * part.length
    return make_operation(GETITEM, [whole], key=Index(slice(part.start, stop if stop >= 0 else None, part.step)))


class BodyWriter:
    """Writes the body of a loop from one of its blocks."""

    def __init__(self, repetition: Repetition, outputs: dict[int, None]):
        self.repetition, self.results = repetition, outputs
        self.constants: dict[Node, Input] = {}
        self.states: dict[tuple[int, int, tuple[Any, ...]], Input] = {}
        self.first: dict[tuple[int, int, tuple[Any, ...]], Node] = {}
        self.slices: dict[Slice | Moving | Counted, Input] = {}
        self.nodes: list[Node] = []

    def body(self) -> Graph:
        """The body."""
        repetition = self.repetition
        for offset, wires in enumerate(repetition.wires):
            node = repetition.node(repetition.count - 1, offset)
            if wires and isinstance(wires[0], Slice):
                self.nodes.append(self.slice_of(wires[0]))
                continue
            args = [self.operand(wire, a) for wire, a in zip(wires, node.args, strict=False)]
            is_counted = len(wires) > len(args)
            self.nodes.append(self.indexed(node, args, wires[-1]) if is_counted else node.with_args(args))
        states = [
            self.nodes[offset] if lag == 1 else self.states[offset, lag - 1, first[: lag - 1]]
            for offset, lag, first in self.states
        ]
        inputs = [*self.constants.values(), *self.states.values(), *self.slices.values()]
        return Graph(inputs, [*states, *[self.nodes[offset] for offset in self.results]])

    def first_states(self) -> list[Node]:
        """The values of the states before the first block."""
        return [self.first[key] for key in self.states]

    def operand(self, wire: Wire, node: Node) -> Node:
        """An operand in the body."""
        if isinstance(wire, Earlier):
            return self.state(wire) if wire.lag else self.nodes[wire.offset]
        if isinstance(wire, Same):
            if isinstance(node, Constant) and not node.is_captured:
                return node
            if node not in self.constants:
                self.constants[node] = Input(node.spec, node.weak)
            return self.constants[node]
        assert isinstance(wire, Moving)
        return self.slice_input(wire, node.spec)

    def state(self, wire: Earlier) -> Node:
        """The state for a result of an earlier block, and the states through which it passes."""
        keys = tuple([value_key(node) for node in reversed(wire.first)])
        for lag in range(1, wire.lag + 1):
            key = (wire.offset, lag, keys[:lag])
            if key not in self.states:
                node = self.repetition.node(0, wire.offset)
                self.states[key] = Input(node.spec, node.weak)
                self.first[key] = wire.first[wire.lag - lag]
        return self.states[wire.offset, wire.lag, keys]

    def indexed(self, node: Operation, args: list[Node], wire: Wire) -> Node:
        """An operation with an index that differs between blocks."""
        assert isinstance(wire, Counted)
        rest = moving_key(node.params["key"])[1]
        assert isinstance(rest, Index)
        params = node.params | {"key": rest.after(Hole.SCALAR)}
        primitive = GATHER if node.primitive is GETITEM else node.primitive
        return make_operation(primitive, [*args, self.slice_input(wire, Spec((), np.dtype(np.int64)))], **params)

    def slice_of(self, wire: Slice) -> Node:
        """A slice that moves with the block, and the rest of its key."""
        spec = Spec(wire.source.shape[1:], wire.source.dtype)
        found = self.slice_input(wire, spec)
        return found if wire.rest == Index(()) else make_operation(GETITEM, [found], key=wire.rest)

    def slice_input(self, wire: Slice | Moving | Counted, spec: Spec) -> Input:
        """The input for a slice of a sequence."""
        if isinstance(wire, Slice):
            wire = wire._replace(rest=Index(()))
        if wire not in self.slices:
            self.slices[wire] = Input(spec)
        return self.slices[wire]


def value_key(node: Node) -> Hashable:
    """Equal for nodes that have the same value."""
    return number_key(node) if isinstance(node, Constant) and not node.is_captured else node
