"""Reductions of a kernel: accumulators in the loops, and the combination of what the pieces of a reduction have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from wengert.compiler.forms.lowering import Reduction, lowering_of
from wengert.compiler.kernels.element import Elements
from wengert.compiler.kernels.element_sources import Element
from wengert.compiler.kernels.loop_plan import LoopPlan
from wengert.compiler.kernels.row_sums import RowAccumulator, RowReader, find_row
from wengert.compiler.program.memory_plan import Memory, address
from wengert.compiler.schedule.affine import ZERO, Affine, Position, flat_index
from wengert.compiler.simd.complex_lanes import Variable
from wengert.compiler.simd.lane_operations import fold_lanes, load_element, store_element
from wengert.compiler.simd.lanes import Code, Lanes, Type, fma, select
from wengert.graph.ir import Operation


class Accumulator(NamedTuple):
    """The variables that one element of a reduction is accumulated in; `kept` is its position along unrolled axes."""

    node: Operation
    kept: Position
    variables: list[Variable]


class Accumulators:
    """The accumulators of one kernel."""

    def __init__(self, plan: LoopPlan, elements: Elements):
        self.plan, self.elements, self.code = plan, elements, elements.code
        self.all: list[Accumulator] = []
        self.rows: dict[Operation, tuple[RowAccumulator, Element]] = {}
        for node in plan.kernel.reductions:
            if self.add_row(node):
                continue
            type = accumulator_type(node, plan.lanes)
            identity = lowering_of(node, Reduction).identity(type)
            for kept in dict.fromkeys(self.kept_position(node, inner) for inner in plan.inner_positions(node.args[0])):
                variables = [Variable(self.code, type, identity) for _ in range(plan.accumulators)]
                self.all.append(Accumulator(node, kept, variables))

    def add_row(self, node: Operation) -> bool:
        """Accumulate a reduction in vectors along rows in memory, if it adds up rows times one number for each."""
        plan, (operand,), factors = self.plan, node.args, self.elements.factors(node)
        inner = list(plan.inner_positions(operand))
        is_of_lanes = plan.vector_axis in plan.axes and plan.lanes > 1 and max(node.params["axis"]) < len(plan.domain)
        if (
            factors is None
            or node.dtype.kind != "f"
            or not is_of_lanes
            or plan.accumulators > 1
            or 2 * len(inner) < plan.lanes
        ):
            return False
        lead = plan.position(operand)
        for x, y in (factors, factors[::-1]):
            terms = [[(a, self.elements.operand_position(a, operand, lead + i)) for i in inner] for a in (x, y)]
            row = find_row(self.elements, terms[0])
            if row is not None and row.stride >= row.length and len(set(terms[1])) == 1:
                reader = RowReader(self.elements, accumulator_type(node, plan.lanes))
                self.rows[node] = RowAccumulator(reader, row), terms[1][0]
                return True
        return False

    def kept_position(self, node: Operation, inner: Position) -> Position:
        """The part of a position along the unrolled axes that a reduction keeps."""
        lead = len(self.plan.kernel.domain)
        return tuple([i for k, i in enumerate(inner) if k + lead not in node.params["axis"]])

    def add(self, which: int, fresh: Lanes | None) -> None:
        """Add the elements at the present counters; `fresh` are the lanes that were not added before."""
        for sums, factor in self.rows.values():
            sums.add(self.elements.splat(self.elements.at(*factor), self.plan.lanes), fresh)
        for node, kept, variables in self.all:
            (operand,), elements, variable = node.args, self.elements, variables[which]
            type, fold = accumulator_type(node, self.plan.lanes), lowering_of(node, Reduction).fold
            factors, lead = elements.factors(node), self.plan.position(operand)
            positions = [lead + i for i in self.plan.inner_positions(operand) if self.kept_position(node, i) == kept]
            old = total = variable.load()
            if factors is not None:
                for position in positions:
                    at = [(a, elements.operand_position(a, operand, position)) for a in factors]
                    x, y = [elements.splat(elements.at(*element), type.lanes) for element in at]
                    total = fma(x, y, total)
            else:
                terms = [elements.splat(elements.at(operand, p).to(type.kind), type.lanes) for p in positions]
                total = fold(old, reduce(fold, terms))
            if fresh is not None and type.lanes > 1:
                total = select(fresh, total, old)
            variable.store(total)

    def store(self, piece: Lanes | None) -> None:
        """Store the reductions, as results or as those of one piece."""
        code, plan, elements = self.code, self.plan, self.elements
        elements.forget()
        for node, (sums, _) in self.rows.items():
            base, index = self.target(node, (ZERO,) * (node.args[0].ndim - len(plan.kernel.domain)), piece)
            sums.store(code.offset(base, elements.evaluate(index, False), sums.reader.type))
        for node, kept, variables in self.all:
            fold, type = lowering_of(node, Reduction).fold, accumulator_type(node, plan.lanes)
            value = reduce(fold, (variable.load() for variable in variables))
            if plan.vector_axis in plan.axes and type.lanes > 1:
                value = fold_lanes(fold, value)
            elements.write_memory(*self.target(node, kept, piece), value)

    def target(self, node: Operation, kept: Position, piece: Lanes | None) -> tuple[Lanes, Affine]:
        """The address that a reduction is stored at, and the index of an element there."""
        plan, pointers = self.plan, self.elements.pointers
        looped = () if plan.is_flat else [p for i, p in enumerate(plan.position(node)) if i not in plan.axes]
        shape = tuple([n for i, n in enumerate(node.args[0].shape) if i not in node.params["axis"]])
        index = flat_index((*looped, *kept), shape) if shape else ZERO
        if piece is None:
            return pointers.target(node), index
        return self.code.offset(pointers.partials(node), piece * node.size, accumulator_type(node, 1).in_memory), index


def accumulator_type(node: Operation, lanes: int) -> Type:
    """The type that a reduction is accumulated in."""
    return Type.from_dtype(node.dtype, lanes)


def write_combination(code: Code, reductions: Sequence[Operation], memory: Memory, pieces: int) -> None:
    """Fold the results of all pieces, in order."""
    for node in reductions:
        fold, type = lowering_of(node, Reduction).fold, accumulator_type(node, 1)
        stored = type.in_memory
        source, target = address(code, memory.partials[node]), address(code, memory.target(node))
        with code.loop(0, node.size) as e:
            first = load_element(code, code.offset(source, e, stored), stored, stored.align, True)
            total = Variable(code, type, first.to(type.kind))
            with code.loop(1, pieces) as piece:
                term = load_element(
                    code, code.offset(source, piece * node.size + e, stored), stored, stored.align, True
                )
                total.store(fold(total.load(), term.to(type.kind)))
            store_element(total.load().to(stored.kind), code.offset(target, e, stored), stored.align)
