"""Kernels in C: loops over a domain, which store, reduce or scatter elements."""

from __future__ import annotations

import re
from collections import Counter as WordCounter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from wengert.compiler.forms.affine import ZERO, Affine, Counter, Position, flat_index
from wengert.compiler.forms.gather import Written
from wengert.compiler.forms.lowering import Reduction, lowering_of
from wengert.compiler.nests.element_sources import Element
from wengert.compiler.schedule.pieces import piece_positions
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.types import Type
from wengert.export.c_source.elements import CElements
from wengert.export.c_source.terms import C_TYPES, Term, literal
from wengert.graph.ir import Node, Operation
from wengert.ops.reductions import extremes

if TYPE_CHECKING:
    from wengert.export.c_source.function_writer import FunctionWriter

EXTREMES = {extremes._max.primitive: "maximum", extremes._min.primitive: "minimum"}


DECLARATION = re.compile(r" *const \w+ (\w+) = ")


class KernelWriter:
    """Writes the loops of one kernel."""

    def __init__(self, writer: FunctionWriter, kernel: Kernel):
        self.writer, self.kernel, self.code = writer, kernel, writer.code
        self.elements = CElements(writer, kernel)
        self.counters = [Counter(axis, n) for axis, n in enumerate(kernel.domain)]
        self.position: Position = tuple([ZERO if c.extent == 1 else Affine(0, ((c, 1),)) for c in self.counters])

    def write(self) -> None:
        """Write the loops; the comment before them says what they compute."""
        kernel, elements = self.kernel, self.elements
        with self.writer.apart(0) as lines:
            if kernel.scatters:
                self.write_scatters()
            else:
                elements.count_uses(self.roots())
                kept = [axis for axis in range(len(kernel.domain)) if axis not in kernel.axes]
                self.open_loops(kept)
                self.write_sums() if kernel.reductions else self.write_maps()
                self.close_loops(kept)
        self.writer.scope.forget_block()
        self.writer.comment(kernel.roots, elements.computed)
        self.writer.lines += drop_unused(lines, self.writer.scalars.values())

    def roots(self) -> list[Element]:
        """The elements that the body computes."""
        maps = [(node, position) for node in self.kernel.maps for position in self.positions(node)]
        return [*maps, *[(node.args[0], self.position) for node in self.kernel.reductions]]

    def positions(self, node: Node) -> Sequence[Position]:
        """Where the body stores elements of a value: in each of its pieces, if it has several."""
        choice = self.writer.schedule.pieces.get(node)
        if choice is None:
            return [self.position]
        found = piece_positions(choice, self.position)
        assert found is not None
        return found

    # Loops

    def open_loops(self, axes: Sequence[int]) -> None:
        """Begin loops over axes, but for those of one element."""
        for axis in axes:
            counter = self.counters[axis]
            if counter.extent == 1:
                continue
            name = self.elements.counters[counter] = self.writer.counters[len(self.elements.counters)]
            self.writer.add(f"for ({self.writer.index_type} {name} = 0; {name} < {counter.extent}; ++{name}) {{")
            self.writer.depth += 1

    def close_loops(self, axes: Sequence[int]) -> None:
        """End the loops over axes."""
        for axis in reversed(axes):
            if self.counters[axis].extent != 1:
                self.writer.depth -= 1
                self.writer.add("}")

    def write_maps(self) -> None:
        """Store the elements of all maps."""
        for node in self.kernel.maps:
            for position in self.positions(node):
                self.writer.store(
                    node, self.elements.affine(flat_index(position, node.shape)), self.value(node, position)
                )

    def value(self, node: Node, position: Position) -> Term:
        """An element as it is stored."""
        return self.elements.at(node, position).to(Type.from_dtype(node.dtype).kind)

    # Reductions

    def write_sums(self) -> None:
        """Fold elements along the reduced axes, and store the results."""
        names = [self.begin_sum(node) for node in self.kernel.reductions]
        self.open_loops(self.kernel.axes)
        self.write_maps()
        for node, name in zip(self.kernel.reductions, names, strict=True):
            self.fold(node, name)
        self.close_loops(self.kernel.axes)
        kept = [i for axis, i in enumerate(self.position) if axis not in self.kernel.axes]
        for node, name in zip(self.kernel.reductions, names, strict=True):
            if node not in self.writer.scalars:
                index = flat_index(tuple(self.kept_position(node, kept)), node.shape)
                total = self.code.atom(name, Type.from_dtype(node.dtype))
                self.writer.store(node, self.elements.affine(index), total)

    def kept_position(self, node: Operation, kept: list[Affine]) -> list[Affine]:
        """The position of a result: reduced axes have one element, or none are left."""
        rest = iter(kept)
        if not node.params["keepdims"]:
            return list(rest)
        return [ZERO if axis in self.kernel.axes else next(rest) for axis in range(node.ndim)]

    def begin_sum(self, node: Operation) -> str:
        """Declare the variable that a reduction accumulates in: the value itself, if that is one number."""
        type = Type.from_dtype(node.dtype)
        initial = literal(lowering_of(node, Reduction).identity(type), type)
        if self.writer.is_scalar(node) and node.dtype.kind != "b":
            name = self.writer.declare_scalar(node)
        else:
            name = self.writer.local_name(self.writer.user_name(node) or node.primitive.name)
        self.writer.add(f"{C_TYPES[type.kind]} {name} = {initial};")
        return name

    def fold(self, node: Operation, name: str) -> None:
        """Fold one element into a variable."""
        type = Type.from_dtype(node.dtype)
        x = self.elements.at(node.args[0], self.position).to(type.kind)
        if x.operands and node.primitive in EXTREMES:
            x = self.elements.declare(node.args[0], x)
        total = self.code.atom(name, type)
        if node.primitive in EXTREMES and type.is_float:
            operands = total.to("f64"), x.to("f64")
            folded = self.code.function(EXTREMES[node.primitive], Type("f64"), operands).to(type.kind)
        else:
            folded = lowering_of(node, Reduction).fold(total, x)  # type: ignore[assignment]  # a term
        is_plain = folded.operands[:1] == (total,) and folded.text in ("{0} + {1}", "{0} * {1}")
        text = f"{name} {folded.text[4]}= {folded.operands[1]}" if is_plain else f"{name} = {folded}"
        self.writer.add(f"{text};")

    # Scatters

    def write_scatters(self) -> None:
        """Begin with zeros, or a copy of what is updated, and write or add elements at computed indices."""
        kernel, writer, elements = self.kernel, self.writer, self.elements
        out, base = kernel.scatter, kernel.scatter_base
        assert out is not None
        type = Type.from_dtype(out.dtype)
        writer.fill(out, None if base is None else writer.element_text(base))
        scatters = [(node, Written.by(node)) for node in kernel.scatters]
        values = [(written.value, written.value_position(self.position)) for _, written in scatters]
        targets = [written.target(node.shape, self.position) for node, written in scatters]
        indices = [
            element
            for (_, written), target in zip(scatters, targets, strict=True)
            for element in elements.index_elements(written.indices, target)
        ]
        elements.count_uses([*values, *indices])
        axes = range(len(kernel.domain))
        self.open_loops(axes)
        for (_, written), target, value in zip(scatters, targets, values, strict=True):
            index = elements.indexed(written.indices, target)
            term = elements.at(*value).to(type.kind)
            writer.store(out, index, term, "+=" if written.adds else "=")
        self.close_loops(axes)


def drop_unused(lines: list[str], kept: Collection[str]) -> list[str]:
    """Lines without the variables that no other line has, but for those that are `kept`.

    They are operands that an operation does not need.
    """
    words = WordCounter([word for line in lines for word in re.findall(r"\w+", line)])
    names = [found[1] if (found := DECLARATION.match(line)) else None for line in lines]
    left = [line for line, name in zip(lines, names, strict=True) if name is None or name in kept or words[name] > 1]
    return left if len(left) == len(lines) else drop_unused(left, kept)
