"""Reductions of a kernel: accumulators in the loops, and the combination of what the pieces of a reduction have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import NamedTuple

from wengert.compiler.forms.affine import ZERO, Position, flat_index
from wengert.compiler.forms.lowering import Reduction, RunningReduction, lowering_of
from wengert.compiler.kernels.element import Elements
from wengert.compiler.kernels.row_sums import RowAccumulator, RowReader
from wengert.compiler.machine.target import vector_lanes
from wengert.compiler.nests.element_sources import Element
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.nests.rows_in_memory import find_row
from wengert.compiler.schedule.memory_plan import Memory, address
from wengert.compiler.simd.complex_lanes import Variable, constant
from wengert.compiler.simd.lane_operations import fold_lanes, load_element, store_element
from wengert.compiler.simd.lanes import Code, Lanes, fma, select
from wengert.compiler.simd.types import I64, Type
from wengert.graph.ir import Operation


class Accumulator(NamedTuple):
    """The variables that one element of a reduction is accumulated in; `kept` is its position along unrolled axes."""

    node: Operation
    kept: Position
    variables: list[Variable]


class Accumulators:
    """The accumulators of reductions along `axes` of the loops of one kernel.

    With several `columns`, each has that number of vectors on the stack; one of them is used at a time.
    """

    def __init__(
        self,
        plan: LoopPlan,
        elements: Elements,
        reductions: Sequence[Operation],
        axes: Sequence[int],
        columns: int = 1,
    ):
        self.plan, self.elements, self.code, self.axes = plan, elements, elements.code, axes
        self.all: list[Accumulator] = []
        self.rows: dict[Operation, tuple[RowAccumulator, Element]] = {}
        self.gathered: list[list[Lanes]] | None = None  # the terms of each accumulator, while they are gathered
        self.before: list[Variable] = []  # what the first accumulators had before the present vector, if that is kept
        for node in reductions:
            if self.add_row(node):
                continue
            type = accumulator_type(node, plan.lanes)
            initial = lowering_of(node, Reduction).initial(type)
            for kept in dict.fromkeys(self.kept_position(node, inner) for inner in plan.inner_positions(node.args[0])):
                variables = [Variable(self.code, type, initial, columns) for _ in range(plan.accumulators)]
                self.all.append(Accumulator(node, kept, variables))

    def add_row(self, node: Operation) -> bool:
        """Accumulate a reduction in vectors along rows in memory, if it adds up rows times one number for each."""
        plan, (operand,), factors = self.plan, node.args, self.elements.factors(node)
        inner = list(plan.inner_positions(operand))
        is_of_lanes = plan.vector_axis in self.axes and plan.lanes > 1 and max(node.params["axis"]) < len(plan.domain)
        if (
            factors is None
            or plan.outer  # the results of a row kernel may be in buffers
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

    def go_to_column(self, column: Lanes) -> None:
        """Use another vector of each accumulator."""
        for accumulator in self.all:
            for variable in accumulator.variables:
                variable.go_to(column)

    def begin_column(self, column: Lanes) -> None:
        """Use another vector of each accumulator, without a term yet."""
        self.go_to_column(column)
        for node, _, variables in self.all:
            for variable in variables:
                variable.store(constant(self.code, lowering_of(node, Reduction).initial(variable.type), variable.type))

    def kept_position(self, node: Operation, inner: Position) -> Position:
        """The part of a position along the unrolled axes that a reduction keeps."""
        lead = len(self.plan.kernel.domain)
        return tuple([i for k, i in enumerate(inner) if k + lead not in node.params["axis"]])

    def add(self, which: int, fresh: Lanes | None) -> None:
        """Add the elements at the present counters; `fresh` are the lanes that were not added before."""
        for sums, factor in self.rows.values():
            sums.add(self.elements.splat(self.elements.at(*factor), self.plan.lanes), fresh)
        for k, (node, kept, variables) in enumerate(self.all):
            (operand,), elements, variable = node.args, self.elements, variables[which]
            type, rule = Type.from_dtype(node.dtype, self.plan.lanes), lowering_of(node, Reduction)
            lead, has_factors = self.plan.position(operand), elements.factors(node) is not None
            positions = [lead + i for i in self.plan.inner_positions(operand) if self.kept_position(node, i) == kept]
            old = total = variable.load()
            if has_factors:
                for position in positions:
                    x, y = [elements.splat(x, type.lanes) for x in factors_at(elements, node, position)]
                    total = fma(x, y, total)
            else:
                terms = [elements.splat(elements.at(operand, p).to(type.kind), type.lanes) for p in positions]
                if self.gathered is not None and isinstance(rule, RunningReduction):
                    self.gathered[k] += terms
                    continue
                total = rule.fold(old, rule.begin(terms))
            if fresh is not None and type.lanes > 1 and not self.takes_back:
                total = select(fresh, total, old)
            variable.store(total)

    @property
    def can_take_back(self) -> bool:
        """Whether lanes are reduced along their axis, each in a lane of its accumulator."""
        return self.plan.vector_axis in self.axes and self.plan.lanes > 1 and not self.rows

    @property
    def takes_back(self) -> bool:
        """Whether what is counted twice will be taken back."""
        return bool(self.before)

    def keep_state(self) -> None:
        """Keep what the first accumulators have."""
        if not self.before:
            self.before = [Variable(self.code, first.type, first.load()) for _, _, (first, *_) in self.all]
        for kept, (_, _, (first, *_)) in zip(self.before, self.all, strict=True):
            kept.store(first.load())

    def take_back(self, fresh: Lanes | None) -> None:
        """Go back to what was kept, in the lanes that are not `fresh`."""
        assert fresh is not None
        for kept, (_, _, (first, *_)) in zip(self.before, self.all, strict=True):
            first.store(select(fresh, first.load(), kept.load()))
        self.before = []

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Let running reductions fold the terms that are added in this context at once, at its end."""
        gathered: list[list[Lanes]] = [[] for _ in self.all]
        self.gathered = gathered
        yield
        self.gathered = None
        for (node, _, (variable, *_)), terms in zip(self.all, gathered, strict=True):
            if terms:
                rule = lowering_of(node, Reduction)
                variable.store(rule.fold(variable.load(), rule.begin(terms)))

    def store(self, piece: Lanes | None) -> None:
        """Store the reductions, as results or as those of one piece."""
        code, plan, elements = self.code, self.plan, self.elements
        elements.forget()
        for node, (sums, _) in self.rows.items():
            index = plan.kept_index(node, self.axes, (ZERO,) * (node.args[0].ndim - len(plan.kernel.domain)))
            base = elements.pointers.target(node) if piece is None else piece_address(elements, node, piece)
            sums.store(code.offset(base, elements.evaluate(index, False), sums.reader.type))
        for found in self.all:
            rule = lowering_of(found.node, Reduction)
            value = reduce(rule.fold, (variable.load() for variable in found.variables))
            if plan.vector_axis in self.axes and value.type.lanes > 1:
                value = fold_lanes(rule.fold, value)
            self.store_value(found, value, piece)

    def store_value(self, found: Accumulator, value: Lanes, piece: Lanes | None) -> None:
        """Store what was accumulated for one element, as a result or as that of one piece."""
        elements, (node, kept, _) = self.elements, found
        index = self.plan.kept_index(node, self.axes, kept)
        if piece is None:
            elements.store_at(node, index, lowering_of(node, Reduction).finish(value))
        else:
            elements.write_memory(piece_address(elements, node, piece), index, value)


class SumsInMemory:
    """Reductions along all rows of a row kernel that keep the elements of a row: they are accumulated in memory."""

    takes_back = False

    def __init__(self, plan: LoopPlan, elements: Elements, reductions: Sequence[Operation], piece: Lanes | None):
        self.plan, self.elements, code = plan, elements, elements.code
        self.all: list[tuple[Operation, Lanes]] = []
        for node in reductions:
            type = accumulator_type(node, combined_lanes(node))
            base = elements.pointers.target(node) if piece is None else piece_address(elements, node, piece)
            with loop_over_vectors(code, node.size, type.lanes) as e:
                first = constant(code, lowering_of(node, Reduction).initial(type), type)
                store_element(first, code.offset(base, e, type), type.align)
            self.all.append((node, base))

    def add(self, _: int, fresh: Lanes | None) -> None:
        """Add the elements at the present counters; `fresh` are the lanes that were not added before."""
        elements, plan = self.elements, self.plan
        for node, base in self.all:
            (operand,), rule, type = node.args, lowering_of(node, Reduction), accumulator_type(node, 1)
            position = plan.position(operand)
            index = flat_index(position[plan.outer :], operand.shape[plan.outer :])
            old = elements.read_memory(base, index, type, True)
            if elements.factors(node) is None:
                old, term = elements.align([old, elements.at(operand, position).to(type.kind)])
                total = rule.fold(old, rule.begin([term]))
            else:
                old, x, y = elements.align([old, *factors_at(elements, node, position)])
                total = fma(x, y, old)
            if fresh is not None and total.type.lanes > 1:
                total = select(fresh, total, old)
            elements.write_memory(base, index, total)

    def store(self, piece: Lanes | None) -> None:
        """Finish the results, which are in memory, unless they are those of one piece."""
        code = self.elements.code
        for node, base in self.all:
            rule, element = lowering_of(node, Reduction), accumulator_type(node, 1)
            if piece is None and type(rule).finish is not Reduction.finish:
                with code.loop(0, node.size) as e:
                    at = code.offset(base, e, element)
                    store_element(rule.finish(load_element(code, at, element, element.align, True)), at, element.align)


def factors_at(elements: Elements, node: Operation, position: Position) -> list[Lanes]:
    """The factors of a term, at its position, of a reduction that adds products."""
    operand, factors = node.args[0], elements.factors(node)
    assert factors is not None
    return [elements.at(a, elements.operand_position(a, operand, position)) for a in factors]


def piece_address(elements: Elements, node: Operation, piece: Lanes) -> Lanes:
    """The address of what a piece of a reduction has as its result."""
    return elements.code.offset(
        elements.pointers.partials(node), piece * node.size, accumulator_type(node, 1).in_memory
    )


def accumulator_type(node: Operation, lanes: int) -> Type:
    """The type that a reduction is accumulated in."""
    return lowering_of(node, Reduction).accumulator(Type.from_dtype(node.dtype, lanes))


def write_combination(code: Code, reductions: Sequence[Operation], memory: Memory, pieces: int) -> None:
    """Fold the results of all pieces, in order; of many neighbouring results, a vector at once."""
    for node in reductions:
        rule, type = lowering_of(node, Reduction), accumulator_type(node, combined_lanes(node))
        source, target = address(code, memory.partials[node]), address(code, memory.target(node))
        stored = type.in_memory
        with loop_over_vectors(code, node.size, type.lanes) as e:
            first = load_element(code, code.offset(source, e, stored), stored, stored.align, True)
            total = Variable(code, type, first.to(type.kind))
            with code.loop(1, pieces) as piece:
                term = load_element(
                    code, code.offset(source, piece * node.size + e, stored), stored, stored.align, True
                )
                total.store(rule.fold(total.load(), term.to(type.kind)))
            store_element(rule.finish(total.load()).to(stored.kind), code.offset(target, e, stored), stored.align)


def combined_lanes(node: Operation) -> int:
    """The number of neighbouring elements of a reduction that are folded at once."""
    type = accumulator_type(node, 1)
    lanes = vector_lanes(type.bits // 8) if type.parts == 1 and type.kind != "i1" else 1
    return lanes if lanes <= node.size else 1


@contextmanager
def loop_over_vectors(code: Code, size: int, lanes: int) -> Iterator[Lanes]:
    """A loop over a number of elements; the last vector is moved back to end with them."""
    with code.loop(0, size, lanes) as i:
        yield code.intrinsic("smin", I64, i, i.like(size - lanes)) if size % lanes else i
