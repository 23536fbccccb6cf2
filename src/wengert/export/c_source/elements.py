"""Elements in C: the expression of one element of a value, and the statements before it.

The sources of an element are those of native code (`ElementSources`). An element that is used more than once in the
body of a loop, or whose expression is long, is a variable; it has the user's name if it has one. What a choice does not
take is not computed: its alternatives are branches, and what they declare is known inside of them only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from wengert.compiler.forms.affine import ZERO, Affine, Guard, Position, Read, flat_index
from wengert.compiler.forms.classify import Form
from wengert.compiler.forms.gather import IndexedPosition, are_indices, gather_source
from wengert.compiler.forms.lowering import write_element
from wengert.compiler.kernels.element import Elements
from wengert.compiler.nests.element_sources import Element
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import Type
from wengert.core import machine
from wengert.export.c_source.functions import c_function, write_function
from wengert.export.c_source.matrix_functions import OUT_OF_BOUNDS
from wengert.export.c_source.terms import ATOM, C_TYPES, CCode, Term
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.export.c_source.function_writer import FunctionWriter


class CElements(Elements):
    """The elements of one kernel, written where they are needed."""

    code: CCode
    known: dict[Element, Term]  # type: ignore[assignment]  # this code writes terms

    def __init__(self, writer: FunctionWriter, kernel: Kernel):
        super().__init__(writer.code, writer.schedule, kernel, None)  # type: ignore[arg-type]  # arrays have names
        self.writer = writer
        self.uses: dict[Element, int] = {}
        self.checked: dict[tuple[str, int], Term] = {}  # computed indices that were checked
        self.computed: dict[Node, None] = {}

    def resolve(self, node: Node, position: Position) -> Element:
        """The element behind views."""
        while self.schedule.forms[node] is Form.VIEW and not self.is_stored(node):
            self.computed[node] = None
            ((node, position),) = self.sources(node, position)
        return node, position

    def operands_of(self, element: Element) -> list[Element]:
        """The elements that an element is computed from, behind views."""
        return [self.resolve(*source) for source in self.sources(*element)]

    def count_uses(self, roots: Sequence[Element]) -> None:
        """Count how often each element is used by others of the body."""
        stack = [self.resolve(*root) for root in roots]
        while stack:
            element = stack.pop()
            self.uses[element] = self.uses.get(element, 0) + 1
            if self.uses[element] == 1:
                stack += self.operands_of(element)
                if not self.is_stored(element[0]):
                    self.computed[element[0]] = None

    def at(self, node: Node, position: Position) -> Term:
        """The expression of an element; statements that it needs are written before."""
        return super().at(*self.resolve(node, position))  # type: ignore[return-value]  # a term

    def needed(self, element: Element) -> list[Element]:
        is_choice = self.schedule.forms[element[0]] is Form.CHOICE and not self.is_stored(element[0])
        return [] if is_choice else self.operands_of(element)

    def read_at_once(self, _: Node, __: Position) -> None:
        return None

    def compute(self, node: Node, position: Position) -> Term:
        """The expression of an element whose operands are known, or a variable that has its value."""
        term = self.express(node, position)
        is_shared = self.uses.get((node, position), 1) > 1
        is_long = len(str(term)) > machine.current.max_characters_of_c_expression
        return self.declare(node, term) if term.operands and (is_shared or is_long) else term

    def express(self, node: Node, position: Position) -> Term:
        """The expression of an element whose operands are known."""
        if self.is_stored(node):
            return self.load(node, position)
        assert isinstance(node, Operation)
        form = self.schedule.forms[node]
        if form is Form.CHOICE:
            return self.choose(node, self.reads(node, position))
        if form is Form.GATHER:
            index = self.indexed(node.args[1:], gather_source(node, position))
            return self.writer.element(self.writer.source(node.args[0]), node.args[0], index)
        elements = self.operands_of((node, position))
        found = self.apply(node, [self.known[e] for e in elements])
        repeated = [e for e in dict.fromkeys(elements) if self.known[e].operands and found.count(self.known[e]) > 1]
        for element in repeated:
            self.known[element] = self.declare(element[0], self.known[element])
        return self.apply(node, [self.known[e] for e in elements]) if repeated else found

    def apply(self, node: Operation, operands: Sequence[Term]) -> Term:
        """An elementwise operation: by a function of C, or as its lowering says."""
        function = c_function.of(node.primitive)
        name = None if function is None else function.name_for(node)
        if name is None:
            found = write_element(node, operands)
            assert isinstance(found, Term)
            return found
        return write_function(self.code, node, operands, name)

    # Variables

    def declare(self, node: Node, term: Term) -> Term:
        """A new variable with the value of an expression."""
        name = self.writer.local_name(self.writer.user_name(node) or "t")
        self.writer.add(f"const {C_TYPES[term.type.kind]} {name} = {term.as_value};")
        return self.code.atom(name, term.type)

    # Memory

    def load(self, node: Node, position: Position) -> Term:
        """An element of a value in memory."""
        return self.writer.element(self.writer.source(node), node, self.affine(flat_index(position, node.shape)))

    def store(self, node: Node, positions: Sequence[Position], values: Sequence[Lanes]) -> None:
        for position, value in zip(positions, values, strict=True):
            self.store_at(node, flat_index(position, node.shape), value)

    def store_at(self, node: Node, index: Affine, value: Lanes) -> None:
        self.writer.store(node, self.affine(index), value.to(Type.from_dtype(node.dtype).kind))  # type: ignore[arg-type]  # a term

    def affine(self, affine: Affine) -> Term:
        """An affine function of the loop counters."""
        if not affine.terms:
            return self.code.constant(affine.constant, INDEX)
        plus, minus = self.sides(affine)
        return plus if minus is None else plus - minus  # type: ignore[return-value]  # terms

    def sides(self, affine: Affine) -> tuple[Term, Term | None]:
        """The terms of an affine function that are added, and those that are subtracted, with the constant."""
        plus: list[Term] = []
        minus: list[Term] = []
        for counter, k in affine.terms:
            name = self.counters[counter]
            (plus if k > 0 else minus).append(name if abs(k) == 1 else abs(k) * name)  # type: ignore[arg-type]  # a term
        if affine.constant:
            (plus if affine.constant > 0 else minus).append(self.code.constant(abs(affine.constant), INDEX))
        return total(plus or [self.code.constant(0, INDEX)]), total(minus) if minus else None

    # Choices

    def choose(self, node: Operation, reads: Sequence[Read]) -> Term:
        """The element of the first read whose guards hold: an expression, or branches that assign to a variable."""
        type = Type.from_dtype(node.dtype)
        if len(reads) == 1 and reads[0].operand is not None:
            return self.at(node.args[reads[0].operand], reads[0].position).to(type.kind)
        alternatives = [self.alternative(node, read, type) for read in reads]
        if not any(lines for lines, _ in alternatives):
            total = alternatives[-1][1]
            for read, (_, term) in list(zip(reads, alternatives, strict=True))[-2::-1]:
                total = term.where(self.condition(read.guards), total)
            return total
        name = self.writer.local_name(self.writer.user_name(node) or "t")
        self.writer.add(f"{C_TYPES[type.kind]} {name};")
        for i, (read, (lines, term)) in enumerate(zip(reads, alternatives, strict=True)):
            head = f"if ({self.condition(read.guards)}) {{" if read.guards else "{"
            self.writer.add(f"{'} else ' if i else ''}{head}")
            self.writer.lines += lines
            self.writer.add(f"    {name} = {term.as_value};")
        self.writer.add("}")
        return self.code.atom(name, type)

    def alternative(self, node: Operation, read: Read, type: Type) -> tuple[list[str], Term]:
        """The statements and the expression of one alternative."""
        if read.operand is None:
            return [], self.code.constant(0, type)
        known, checked = dict(self.known), dict(self.checked)
        with self.writer.apart() as lines:
            term = self.at(node.args[read.operand], read.position).to(type.kind)
        self.known.clear()
        self.known |= known
        self.checked = checked
        return lines, term

    def condition(self, guards: Sequence[Guard]) -> Term:
        """Whether all guards hold."""
        total: Term | None = None
        for guard in guards:
            found = self.guard(guard)
            total = found if total is None else total & found  # type: ignore[assignment]  # terms
        assert total is not None
        return total

    def guard(self, guard: Guard) -> Term:
        """Whether a guard holds, without negative terms; counters are on the left side."""
        value = guard.value
        plus, minus = self.sides(value)
        other = self.code.constant(0, INDEX) if minus is None else minus
        if all(k < 0 for _, k in value.terms):
            plus, other, is_least = other, plus, False
        else:
            is_least = True
        found = plus.eq(other) if guard.is_zero or self.is_end(value) else plus >= other if is_least else plus <= other
        assert isinstance(found, Term)
        return found

    def is_end(self, value: Affine) -> bool:
        """Whether a value is not negative at one end of a loop only, where it is zero."""
        if len(value.terms) != 1:
            return False
        ((counter, k),) = value.terms
        return value.constant + k * (counter.last if k > 0 else counter.first) == 0

    # Computed indices

    def indexed(self, arrays: Sequence[Node], indexed: IndexedPosition) -> Term:
        """The index in memory of an element that arrays select; the function returns if one of them is not valid."""
        total, affine = self.computed_index(arrays, indexed)
        if total is None or affine != ZERO:
            rest = self.affine(affine)
            total = rest if total is None else total + rest
        assert isinstance(total, Term)
        return total

    def may_leave(self, index: Affine, extent: int) -> bool:  # noqa: ARG002  # C reads what a choice takes, no more
        return False

    def add_index(self, total: Lanes | None, index: Lanes, stride: int) -> Lanes:
        term = index if stride == 1 else stride * index
        return term if total is None else term + total

    def index_along(self, element: Element, extent: int) -> Term:
        """An index along an axis; negative ones count from its end. Those of a constant are checked here."""
        index, writer = self.at(*element), self.writer
        if are_indices(element[0], extent):
            return index
        key = str(index), extent
        if key in self.checked:
            return self.checked[key]
        writer.fail(OUT_OF_BOUNDS)
        given = index.to("i64")
        if given.precedence < ATOM or given.operands:
            name = writer.local_name("index")
            writer.add(f"const int64_t {name} = {given};")
            given = self.code.atom(name, Type("i64"))
        name = writer.local_name("at")
        writer.add(f"const int64_t {name} = ({given} < 0) ? {given} + {extent} : {given};")
        with writer.block(f"if ({name} < 0 || {name} >= {extent})"):
            writer.add(f"return {OUT_OF_BOUNDS};")
        self.checked[key] = self.code.atom(name, Type("i64"))
        return self.checked[key]


INDEX = Type("i32")
"""The type of loop counters in expressions: numbers are written without a suffix."""


def total(terms: Sequence[Term]) -> Term:
    """The sum of some terms."""
    return reduce(add, terms)
