"""Kernels in C: loops over a domain, which store, reduce or scatter elements."""

from __future__ import annotations

import re
from collections import Counter as WordCounter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wengert.compiler.forms.gather import Written
from wengert.compiler.forms.lowering import Reduction, lowering_of
from wengert.compiler.kernels.loops import KernelLoops
from wengert.compiler.nests.decisions import Decision
from wengert.compiler.nests.loop_plan import LoopPlan
from wengert.compiler.nests.order import Order
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.lanes import Lanes
from wengert.compiler.simd.types import Type
from wengert.export.c_source.elements import INDEX, CElements
from wengert.export.c_source.terms import C_TYPES, literal
from wengert.graph.ir import Operation
from wengert.ops.reductions import extremes

if TYPE_CHECKING:
    from wengert.export.c_source.function_writer import FunctionWriter

EXTREMES = {extremes._max.primitive: "maximum", extremes._min.primitive: "minimum"}


DECLARATION = re.compile(r" *const \w+ (\w+) = ")


class CPlan(LoopPlan):
    """The loops of a kernel in C: one for each axis, in their order. Terms are added one after the other."""

    may_be_flat = False
    order = Order(False, None, 1, 1, {}, None, 1)

    def decide(self) -> Sequence[Decision]:
        return ()


class Totals:
    """The variables that the reductions of a kernel accumulate in: the value itself, if that is one number."""

    takes_back = False

    def __init__(self, loops: KernelLoops, elements: CElements):
        self.loops, self.elements, self.writer = loops, elements, elements.writer
        self.names = {node: self.begin(node) for node in loops.kernel.reductions}

    def begin(self, node: Operation) -> str:
        """Declare a variable."""
        type = Type.from_dtype(node.dtype)
        initial = literal(lowering_of(node, Reduction).identity(type), type)
        if self.writer.is_scalar(node) and node.dtype.kind != "b":
            name = self.writer.declare_scalar(node)
        else:
            name = self.writer.local_name(self.writer.user_name(node) or node.primitive.name)
        self.writer.add(f"{C_TYPES[type.kind]} {name} = {initial};")
        return name

    def add(self, _: int, __: Lanes | None) -> None:
        """Fold the elements at the present counters."""
        for node, name in self.names.items():
            type, code = Type.from_dtype(node.dtype), self.elements.code
            x = self.elements.at(node.args[0], self.loops.plan.counted_position).to(type.kind)
            if x.operands and node.primitive in EXTREMES:
                x = self.elements.declare(node.args[0], x)
            total = code.atom(name, type)
            if node.primitive in EXTREMES and type.is_float:
                operands = total.to("f64"), x.to("f64")
                folded = code.function(EXTREMES[node.primitive], Type("f64"), operands).to(type.kind)
            else:
                folded = lowering_of(node, Reduction).fold(total, x)  # type: ignore[assignment]  # a term
            is_plain = folded.operands[:1] == (total,) and folded.text in ("{0} + {1}", "{0} * {1}")
            text = f"{name} {folded.text[4]}= {folded.operands[1]}" if is_plain else f"{name} = {folded}"
            self.writer.add(f"{text};")

    def store(self, _: Lanes | None) -> None:
        """Store the results."""
        for node, name in self.names.items():
            if node not in self.writer.scalars:
                index = self.loops.plan.kept_index(node, self.loops.plan.axes)
                self.elements.store_at(node, index, self.elements.code.atom(name, Type.from_dtype(node.dtype)))


class KernelWriter(KernelLoops):
    """Writes the loops of one kernel."""

    elements: CElements

    def __init__(self, writer: FunctionWriter, kernel: Kernel):
        super().__init__(CPlan(kernel, writer.schedule), CElements(writer, kernel))
        self.writer = writer

    def write(self) -> None:
        """Write the loops; the comment before them says what they compute."""
        kernel, elements = self.kernel, self.elements
        with self.writer.apart(0) as lines:
            elements.count_uses(self.plan.scattered_elements() or self.plan.root_elements())
            if kernel.scatters:
                self.write_scatters()
            else:
                self.write_kernel({})
        self.writer.scope.forget_block()
        self.writer.comment(kernel.roots, elements.computed)
        self.writer.lines += drop_unused(lines, self.writer.scalars.values())

    @contextmanager
    def axis_loop(self, axis: int, _: Any, stop: Any, __: bool = True) -> Iterator[Lanes]:
        """A loop over an axis, unless it has one element."""
        if self.plan.domain[axis] == 1:
            yield self.code.constant(0, INDEX)
            return
        name = self.writer.counters[len(self.elements.counters)]
        with self.writer.loop(name, stop):
            self.elements.counters[self.plan.counters[axis]] = i = self.elements.code.atom(name, INDEX)
            yield i

    def make_sums(self) -> list[Totals]:
        return [Totals(self, self.elements)]

    def write_scatters(self) -> None:
        """Begin with zeros, or a copy of what is updated, and write or add elements at computed indices."""
        kernel, writer, elements, position = self.kernel, self.writer, self.elements, self.plan.counted_position
        out, base = kernel.scatter, kernel.scatter_base
        assert out is not None
        writer.fill(out, None if base is None else writer.element_text(base))

        def write(_: Lanes | None) -> None:
            for node, written in [(node, Written.by(node)) for node in kernel.scatters]:
                index = elements.indexed(written.indices, written.target(node.shape, position))
                value = elements.at(written.value, written.value_position(position))
                writer.store(out, index, value.to(Type.from_dtype(out.dtype).kind), "+=" if written.adds else "=")

        self.write_loops(range(len(kernel.domain)), {}, write)


def drop_unused(lines: list[str], kept: Collection[str]) -> list[str]:
    """Lines without the variables that no other line has, but for those that are `kept`.

    They are operands that an operation does not need.
    """
    words = WordCounter([word for line in lines for word in re.findall(r"\w+", line)])
    names = [found[1] if (found := DECLARATION.match(line)) else None for line in lines]
    left = [line for line, name in zip(lines, names, strict=True) if name is None or name in kept or words[name] > 1]
    return left if len(left) == len(lines) else drop_unused(left, kept)
