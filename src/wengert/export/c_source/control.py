"""Loops and choices in C: a static function for each body, called in a loop or a branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wengert.compiler.simd.types import Type
from wengert.control.branches import SWITCH
from wengert.core.spec import Spec
from wengert.export.c_source.comments import quote_lines, write_block
from wengert.export.c_source.terms import stored_type
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation

if TYPE_CHECKING:
    from wengert.export.c_source.function_writer import FunctionWriter


def write_control(writer: FunctionWriter, step: Operation) -> None:
    """Write a loop or a choice."""
    control = ControlWriter(writer, step)
    with writer.apart(0) as lines:
        control.write_switch() if step.primitive is SWITCH else control.write_loop()
    if writer.lines:
        writer.lines.append("")
    writer.lines += [*control.comment(), *lines]


class ControlWriter:
    """Writes one loop or choice of a function."""

    def __init__(self, writer: FunctionWriter, step: Operation):
        self.writer, self.step = writer, step
        self.used = {node.params["index"]: node for node in writer.schedule.outputs_of(step)}

    def comment(self) -> list[str]:
        """What the loop is, and which line of the user asks for it."""
        return write_block([self.kind, *quote_lines([self.step, *self.used.values()])], "    " * self.writer.depth)

    @property
    def kind(self) -> str:
        """What kind of loop or choice it is."""
        if self.step.primitive is SWITCH:
            return f"One of {len(self.step.params['branches'])} branches."
        shape = self.step.params["shape"]
        if self.step.params["condition"] is not None:
            return "A loop that ends by its condition."
        steps = "A loop" if shape.length is None else f"A loop of {shape.length} steps"
        return f"{steps}, from the last to the first." if shape.reverse else f"{steps}."

    def buffer(self, index: int, spec: Spec, hint: str) -> str:
        """The address of an output of the operation, or of memory if nothing uses it."""
        if index in self.used:
            return self.writer.result_pointer(self.used[index])
        return self.writer.scratch(stored_type(spec.dtype), max(spec.size, 1), hint)

    def state_buffer(self, index: int, state: Node) -> str:
        """The address of a state of a loop, which begins with the value of an operand."""
        writer = self.writer
        if state.size == 1:
            initial = first_element(writer, state)
            if index not in self.used:
                return writer.scratch(stored_type(state.dtype), 1, "state", initial)
            pointer = writer.result_pointer(self.used[index], initial)
            if pointer[0] != "&":
                writer.add(f"{pointer}[0] = {initial};")
            return pointer
        buffer = self.buffer(index, state.spec, "state")
        writer.copy(buffer, writer.element_text(state), state.size)
        return buffer

    def call(self, function: FunctionWriter, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Call the function of a body; if it fails, this one does."""
        writer = self.writer
        work = [writer.scratch(c_type, count, "inner") for c_type, count in function.work.sizes.items()]
        writer.fail(*function.failures)
        writer.add_call(function.name, [*inputs, *outputs, *work], function.can_fail)

    # Choices

    def write_switch(self) -> None:
        """The function of the first branch whose number the index does not exceed, else of the last one."""
        writer, (index, *operands) = self.writer, self.step.args
        branches: Sequence[Graph] = self.step.params["branches"]
        bases = ["x"] * len(operands) + ["out"] * len(self.step.specs)
        functions = [
            writer.document.body(branch, f"{writer.name}_branch", f"A branch of {writer.name}", bases)
            for branch in branches
        ]
        outputs = [self.buffer(k, spec, "unused") for k, spec in enumerate(self.step.specs)]
        inputs = [writer.pointer(a) for a in operands]
        chosen = writer.element(writer.source(index), index, writer.code.constant(0, Type("i32")))
        for k, function in enumerate(functions):
            is_last = k == len(functions) - 1
            condition = "{" if is_last else f"if ({chosen} <= {k}) {{"
            writer.add(f"{'} else ' if k else ''}{condition}")
            writer.depth += 1
            self.call(function, inputs, outputs)
            writer.depth -= 1
        writer.add("}")

    # Loops

    def write_loop(self) -> None:
        """States in memory that each step replaces, and slices of sequences."""
        writer, step = self.writer, self.step
        shape, condition = step.params["shape"], step.params["condition"]
        has_count = shape.length is None and condition is None
        constants, states, sequences = shape.split(step.args[has_count:])
        inputs = [*["fixed"] * len(constants), *["state"] * len(states), *["slice"] * len(sequences)]
        outputs = [*["new_state"] * len(states), *["out"] * (len(step.params["body"].outputs) - len(states))]
        role = f"A step of a loop in {writer.name}"
        body = writer.document.body(step.params["body"], f"{writer.name}_step", role, [*inputs, *outputs])
        specs = [node.spec for node in body.graph.outputs]
        buffers = [self.state_buffer(k, state) for k, state in enumerate(states)]
        rows = [
            (self.buffer(shape.states + k, step.specs[shape.states + k], "rows"), spec)
            for k, spec in enumerate(specs[shape.states :])
        ]
        following = [writer.scratch(stored_type(state.dtype), max(state.size, 1), "next") for state in states]
        counter = writer.local_name("step_number")
        fixed = [writer.pointer(a) for a in constants]
        steps = self.used.get(len(specs)) if condition is not None else None
        with self.loop(counter, steps, fixed, buffers):
            slices = [slice_at(writer.pointer(x), counter, x.size // max(x.shape[0], 1)) for x in sequences]
            results = [slice_at(pointer, counter, spec.size) for pointer, spec in rows]
            self.call(body, [*fixed, *buffers, *slices], [*following, *results])
            for buffer, new, state in zip(buffers, following, states, strict=True):
                if state.size == 1:
                    writer.add(f"{number_at(buffer)} = {number_at(new)};")
                else:
                    writer.copy(buffer, f"{new}[{writer.counters[0]}]", state.size)
        if steps is not None:
            zero = writer.code.constant(0, Type("i32"))
            writer.store(steps, zero, writer.code.atom(counter, Type("i64")))

    @contextmanager
    def loop(
        self, counter: str, steps: Operation | None, fixed: Sequence[str], buffers: Sequence[str]
    ) -> Iterator[None]:
        """Write the lines of a step, which a counter or a condition repeats; `steps` is their number if it is used."""
        writer, shape, condition = self.writer, self.step.params["shape"], self.step.params["condition"]
        if condition is None:
            count = str(shape.length) if shape.length is not None else first_element(writer, self.step.args[0])
            last = str(shape.length - 1) if shape.length is not None else f"{count} - 1"
            back = f"for ({writer.index_type} {counter} = {last}; {counter} >= 0; --{counter})"
            with writer.block(back) if shape.reverse else writer.loop(counter, count):
                yield
            return
        bases = [*["fixed"] * len(fixed), *["state"] * len(buffers), "goes_on"]
        role = f"Whether a loop in {writer.name} goes on"
        function = writer.document.body(condition, f"{writer.name}_continues", role, bases)
        goes_on = writer.scope.take("goes_on")
        writer.add(f"uint8_t {goes_on};")
        if steps is not None:
            writer.add(f"int64_t {counter} = 0;")
        with writer.block("for (;;)"):
            self.call(function, [*fixed, *buffers], [f"&{goes_on}"])
            with writer.block(f"if (!{goes_on})"):
                writer.add("break;")
            if steps is not None:
                writer.add(f"++{counter};")
            yield


def first_element(writer: FunctionWriter, node: Node) -> str:
    """The only element of a value."""
    return str(writer.element(writer.source(node), node, writer.code.constant(0, Type("i32"))))


def number_at(pointer: str) -> str:
    """The number at an address."""
    return pointer[1:] if pointer[0] == "&" else f"{pointer}[0]"


def slice_at(pointer: str, counter: str, size: int) -> str:
    """The address of the slice of a sequence for one step."""
    return f"{pointer} + {counter}" if size == 1 else f"{pointer} + {size} * {counter}"
