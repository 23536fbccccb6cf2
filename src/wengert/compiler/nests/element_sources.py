"""Which elements an element is computed from: its position, traced back through the graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from wengert.compiler.forms.affine import Affine, Position, Read, broadcast_position, flat_index
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.gather import IndexedPosition, gather_source
from wengert.compiler.forms.lowering import Choice, MatrixFunction, View, lowering_of
from wengert.compiler.schedule.schedule import Schedule
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.core.aspects import primitive_of
from wengert.graph.ir import Node, Operation
from wengert.ops.elementwise.arithmetic import multiply
from wengert.ops.reductions.sums import _sum

MULTIPLY, SUM = map(primitive_of, (multiply, _sum))

Element = tuple[Node, Position]


class ElementSources:
    """The sources of elements in a kernel.

    In a flat loop, the last index of a position counts all elements.
    """

    def __init__(self, schedule: Schedule, kernel: Kernel, is_flat: bool = False):
        self.schedule, self.kernel, self.is_flat = schedule, kernel, is_flat

    def is_stored(self, node: Node) -> bool:
        """Whether a value is in memory when this kernel runs."""
        schedule = self.schedule
        if schedule.forms[node] is Form.GIVEN:
            return True
        base = schedule.aliases.get(node, node)
        return schedule.forms[base] is Form.GIVEN or self.kernel.finds_in_memory(schedule, base)

    def memory_index(self, node: Node, position: Position) -> Affine:
        """The index in memory of an element of a value that is stored."""
        order = self.schedule.axis_orders.get(node)
        if order is None:
            return flat_index(position, node.shape)
        return flat_index(tuple([position[k] for k in order]), tuple([node.shape[k] for k in order]))

    def indexed_in_memory(self, node: Operation, position: Position) -> IndexedPosition:
        """The element of the operand that a gather reads, with its axes in the order in which they are in memory."""
        indexed, order = gather_source(node, position), self.schedule.axis_orders.get(node.args[0])
        return indexed if order is None else indexed._replace(axes=[indexed.axes[k] for k in order])

    def sources(self, node: Node, position: Position) -> list[Element]:
        """The elements that this one is computed from; none if it is in memory."""
        if self.is_stored(node):
            return []
        assert isinstance(node, Operation)
        form = self.schedule.forms[node]
        if form in (Form.ELEMENT, Form.ITERATED):
            return [(a, self.operand_position(a, node, position)) for a in node.args]
        if form is Form.DRAW:
            lead = position[: node.ndim - len(node.params["size"])]
            return [(node.args[0], (*lead, Affine(i))) for i in range(node.args[0].shape[-1])]
        if form is Form.VIEW:
            found = lowering_of(node, View).position(position, node.args[0].spec, **node.params)
            assert found is not None, node.primitive.name
            return [(node.args[0], found)]
        if form is Form.CHOICE:
            return [(node.args[r.operand], r.position) for r in self.reads(node, position) if r.operand is not None]
        if form is Form.GATHER:
            return self.index_elements(node.args[1:], gather_source(node, position))
        if form is Form.MATRIX:
            return self.matrix_elements(node, position)
        if form is Form.UNROLLED:
            factors = self.factors(node)
            if factors is None:
                return self.terms(node, position)
            return [(a, broadcast_position(at, a.shape)) for _, at in self.terms(node, position) for a in factors]
        raise AssertionError(f"{node.primitive.name} is not in memory when it is needed")

    def operand_position(self, operand: Node, node: Node, position: Position) -> Position:
        """The position in an operand of an elementwise operation."""
        if self.is_flat and operand.shape == node.shape:
            return position
        return broadcast_position(position, operand.shape)

    def reads(self, node: Operation, position: Position) -> list[Read]:
        """The possible reads of a choice, without guards that always hold."""
        reads = lowering_of(node, Choice).reads(position, *[a.spec for a in node.args], **node.params)
        assert reads is not None
        possible = []
        for read in reads:
            if any(g.outcome is False for g in read.guards):
                continue
            guards = tuple([g for g in read.guards if g.outcome is None])
            possible.append(Read(guards, read.operand, read.position))
            if not guards:
                break
        return possible

    def terms(self, node: Operation, position: Position) -> list[Element]:
        """The terms of an unrolled reduction."""
        operand, axes = node.args[0], node.params["axis"]
        kept = iter(position if not node.params["keepdims"] else [i for k, i in enumerate(position) if k not in axes])
        slots = [None if k in axes else next(kept) for k in range(operand.ndim)]
        found = []
        for indices in product(*[range(operand.shape[k]) for k in axes]):
            term = iter(indices)
            found.append((operand, tuple([Affine(next(term)) if slot is None else slot for slot in slots])))
        return found

    def factors(self, node: Operation) -> tuple[Node, Node] | None:
        """The two factors of a summed product that nothing else uses: it is added without being rounded first.

        BLAS does the same, and the order of a sum is free anyway.
        """
        product = node.args[0]
        if node.primitive is not SUM or not isinstance(product, Operation) or product.primitive is not MULTIPLY:
            return None
        x, y = product.args
        is_only_use = self.schedule.uses[product] == 1 and not self.is_stored(product)
        return (x, y) if is_only_use and node.dtype.kind in "fc" and x.dtype == y.dtype == node.dtype else None

    def matrix_elements(self, node: Operation, position: Position) -> list[Element]:
        """All elements of the matrices that a matrix is computed from, one operand after the other, by rows."""
        found = lowering_of(node, MatrixFunction)
        lead = position[: found.lead(node)]
        return [
            (a, (*broadcast_position(lead, a.shape[:-2]), Affine(i), Affine(j)))
            for a in node.args[: found.operands]
            for i, j in np.ndindex(a.shape[-2:])
        ]

    def index_elements(self, arrays: Sequence[Node], indexed: IndexedPosition) -> list[Element]:
        """The elements of the index arrays, which broadcast against each other."""
        return [
            (arrays[a.operand], broadcast_position(indexed.in_arrays, arrays[a.operand].shape))
            for a in indexed.axes
            if a.operand is not None
        ]
