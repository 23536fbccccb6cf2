"""One function of C: its parameters, its steps, and where its values are."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import numpy as np

from wengert.compiler.forms.classify import Form
from wengert.compiler.schedule.schedule_steps import Kernel
from wengert.compiler.simd.types import Type
from wengert.export.c_source.comments import WIDTH, Formulas, quote_lines, without_comments, write_block
from wengert.export.c_source.control import write_control
from wengert.export.c_source.forms import LoopSchedule, is_single_number
from wengert.export.c_source.kernels import KernelWriter
from wengert.export.c_source.names import Names
from wengert.export.c_source.routines import RoutineCall, c_routine
from wengert.export.c_source.terms import CCode, Term, stored_type
from wengert.export.c_source.work_arrays import ALIGNMENT, WORK_NAMES, Key, StepUse, WorkPart, plan_work, split_arena
from wengert.export.header import describe_array
from wengert.export.interface import Interface, Parameter, as_identifier
from wengert.graph.graph import Graph
from wengert.graph.ir import Constant, Node, Operation

if TYPE_CHECKING:
    from wengert.export.c_source.document import Document


class FunctionWriter:
    """Writes one function: the program itself, or a body.

    The `role` of a body is what a comment says of it, and `bases` are the names of its inputs and outputs, where users
    have none; the program has those of its `interface`.
    """

    def __init__(
        self,
        document: Document,
        graph: Graph,
        name: str,
        role: str = "",
        bases: Sequence[str] = (),
        interface: Interface | None = None,
    ):
        self.document, self.graph, self.name, self.role = document, graph, name, role
        self.is_body = is_body = bool(role)
        self.code = CCode()
        self.schedule = LoopSchedule(graph, is_body=is_body)
        self.index_type = document.index_type
        self.scope = Names(document.reserved)
        self.names: dict[Node, str] = {}  # of arrays
        self.user_names = graph.value_names()
        self.lines: list[str] = []
        self.depth = 1
        self.failures: set[int] = set()
        self.steps: list[StepUse] = []
        self.work_parts: dict[Key, WorkPart] = {}
        self.scalars: dict[Node, str] = {}
        self.inputs = self.parameters(graph.inputs, bases[: len(graph.inputs)], interface and interface.inputs)
        self.outputs = self.parameters(graph.outputs, bases[len(graph.inputs) :], interface and interface.outputs)
        self.names |= {node: p.name for node, p in zip(graph.inputs, self.inputs, strict=True)}
        self.counters = self.scope.take_counters()
        self.copies = self.find_copies()
        self.formulas = Formulas(self)
        self.write_steps()
        self.work = plan_work(self.steps, self.work_parts)

    # Names

    def local_name(self, base: str) -> str:
        """A name for a variable that is declared here."""
        return self.scope.take_inside(base) if self.depth > 1 else self.scope.take(base)

    @property
    def can_fail(self) -> bool:
        """Whether it may return before its end."""
        return bool(self.failures)

    def fail(self, *failures: int) -> None:
        """Note what may fail in it."""
        self.failures.update(failures)
        self.document.failures.update(failures)

    def user_name(self, node: Node) -> str | None:
        """The user's name of a value, as an identifier."""
        name = self.user_names.get(node)
        return None if name is None else as_identifier(name)

    def parameters(
        self, nodes: Sequence[Node], bases: Sequence[str], known: Sequence[Parameter] | None
    ) -> list[Parameter]:
        """The parameters of inputs or outputs: those of the interface, or with names of users, or numbered."""
        if known is not None:  # a parameter that has the name of a function of C is called otherwise here
            return [p._replace(name=self.scope.take(p.name)) for p in known]
        names = [node.name if nodes is self.graph.inputs else None for node in nodes]
        numbered = [
            base if bases.count(base) == 1 else f"{base}{bases[:k].count(base)}" for k, base in enumerate(bases)
        ]
        return [
            Parameter(self.scope.take(name or other), "", node.spec)
            for name, other, node in zip(names, numbered, nodes, strict=True)
        ]

    def find_copies(self) -> list[tuple[Node, Parameter]]:
        """The outputs that are copied: inputs, constants, and values that are outputs twice."""
        copies = []
        for node, parameter in zip(self.graph.outputs, self.outputs, strict=True):
            base = self.base(node)
            if base in self.names or isinstance(base, Constant):
                copies.append((base, parameter))
            else:
                self.names[base] = parameter.name
        return copies

    def base(self, node: Node) -> Node:
        """The value whose memory has the elements of another one, in the same order."""
        return self.schedule.aliases.get(node, node)

    def shown_name(self, node: Node) -> str:
        """The name of a value in comments."""
        base = self.base(node)
        if isinstance(base, Constant) and base not in self.names:
            return self.document.shown_constant(base)
        return self.names.get(base) or self.scalars.get(base) or self.user_name(node) or "v"

    # Memory

    def is_scalar(self, node: Node) -> bool:
        """Whether a value is kept in a variable: one number that is no result."""
        return node.size == 1 and self.base(node) not in self.names and self.schedule.forms[node] is not Form.SCATTER

    def declare_scalar(self, node: Node) -> str:
        """The name of the variable that is a value."""
        self.scalars[node] = self.scope.take(self.user_name(node) or "s")
        return self.scalars[node]

    def source(self, node: Node) -> str:
        """The array that a value is read from."""
        base = self.base(node)
        if base in self.scalars or is_single_number(base):
            return ""
        if isinstance(base, Constant):
            return self.document.constant_name(base)
        self.steps[-1].reads[base] = None
        return self.array_name(base)

    def target(self, node: Node) -> str:
        """The array that a value is written to."""
        base = self.base(node)
        self.steps[-1].writes[base] = None
        return self.array_name(base)

    def array_name(self, base: Node) -> str:
        """The name of an array, which may be part of a work array."""
        if base not in self.names:
            self.names[base] = self.scope.take(self.user_name(base) or "v")
            self.work_parts[base] = WorkPart(stored_type(base.dtype), base.size)
        return self.names[base]

    def pointer(self, node: Node) -> str:
        """The address that a function reads a value from."""
        base = self.base(node)
        if is_single_number(base):
            return self.document.constant_name(base)  # type: ignore[arg-type]  # a number is a constant
        return f"&{self.scalars[base]}" if base in self.scalars else self.source(base)

    def result_pointer(self, node: Node, initial: str = "") -> str:
        """The address that a function writes a value to; a number is declared here, and may have an initial value."""
        if not self.is_scalar(node):
            return self.target(node)
        name = self.declare_scalar(node)
        self.add(f"{stored_type(node.dtype)} {name}{initial and f' = {initial}'};")
        return f"&{name}"

    def scratch(self, c_type: str, count: int, hint: str, initial: str = "") -> str:
        """The address of memory for the present step only; that of a number, which may have an initial value."""
        if count == 1:
            name = self.local_name(hint)
            self.add(f"{c_type} {name}{initial and f' = {initial}'};")
            return f"&{name}"
        name = self.scope.take(hint)
        self.work_parts[name] = WorkPart(c_type, count)
        self.steps[-1].writes[name] = None
        return name

    def element(self, array: str, node: Node, index: Term) -> Term:
        """An element of an array, or a number."""
        type = Type.from_dtype(node.dtype)
        base = self.base(node)
        if is_single_number(base):
            return self.code.constant(np.asarray(base.value).item(), type)  # type: ignore[attr-defined]  # a constant
        return self.code.atom(self.scalars.get(base) or f"{array}[{index}]", type)

    def element_text(self, node: Node) -> str:
        """The element of an array at the first counter."""
        i = self.code.atom(self.counters[0], Type("i32"))
        return str(self.element(self.source(node), node, i))

    def store(self, node: Node, index: Term, value: Term, sign: str = "=") -> None:
        """Write an element of a value."""
        text = str(value)
        if node.dtype.kind == "b" and value.operands:
            text = f"(uint8_t)({value.as_value})"
        elif node.dtype.kind == "b" and text.isidentifier():
            text = f"(uint8_t){text}"
        if self.is_scalar(node):
            self.add(f"const {stored_type(node.dtype)} {self.declare_scalar(node)} = {text};")
        else:
            self.add(f"{self.target(node)}[{index}] {sign} {text};")

    def fill(self, node: Node, element: str | None) -> None:
        """Fill a value with zeros, or with the elements of another array at the first counter."""
        zero = str(self.code.constant(0, Type.from_dtype(node.dtype)))
        self.copy(self.target(node), zero if element is None else element, node.size)

    def copy(self, target: str, element: str, count: int) -> None:
        """Assign an expression of the first counter to all elements of an array."""
        i = self.counters[0]
        if count == 1:
            self.add(f"{target}[0] = {element.replace(f'[{i}]', '[0]')};")
            return
        with self.loop(i, count):
            self.add(f"{target}[{i}] = {element};")

    # Lines

    def add(self, text: str) -> None:
        """Add a line."""
        self.lines.append(f"{'    ' * self.depth}{text}")

    def add_call(self, function: str, arguments: Sequence[str], can_fail: bool) -> None:
        """Call a function; if it returns that it failed, this one does."""
        name = self.local_name("failure") if can_fail else ""
        head = f"const int {name} = {function}(" if can_fail else f"{function}("
        line = f"{head}{', '.join(arguments)});"
        if len(line) + 4 * self.depth <= WIDTH:
            self.add(line)
        else:
            glued = ", ".join([argument.replace(" ", "\0") for argument in arguments])
            wrapped = textwrap.wrap(glued, WIDTH - 4 * self.depth - 4, break_long_words=False)
            inside = [part.replace("\0", " ") for part in wrapped]
            self.add(head)
            for part in inside[:-1]:
                self.add(f"    {part}")
            self.add(f"    {inside[-1]});")
        if can_fail:
            with self.block(f"if ({name} != 0)"):
                self.add(f"return {name};")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write the lines of a statement between braces."""
        self.add(f"{head} {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.add("}")

    def loop(self, counter: str, count: int | str) -> AbstractContextManager[None]:
        """Write the lines of a loop from zero on."""
        return self.block(f"for ({self.index_type} {counter} = 0; {counter} < {count}; ++{counter})")

    @contextmanager
    def apart(self, deeper: int = 1) -> Iterator[list[str]]:
        """Write lines that are not part of the function yet, `deeper` than those around them."""
        outer, self.lines, self.depth = self.lines, [], self.depth + deeper
        yield self.lines
        self.lines, self.depth = outer, self.depth - deeper

    def comment(self, roots: Collection[Node], computed: Collection[Node]) -> None:
        """What the following lines compute, and which lines of the user ask for it."""
        text = [*self.formulas.lines(roots, computed), *quote_lines([*computed, *roots])]
        if self.lines:
            self.lines.append("")
        self.lines += write_block(text, "    " * self.depth)

    # Steps

    def write_steps(self) -> None:
        """Write all steps, and copy what remains."""
        for step in self.schedule.steps:
            self.steps.append(StepUse({}, {}))
            if isinstance(step, Kernel):
                KernelWriter(self, step).write()
            elif self.schedule.forms[step] is Form.LOOP:
                write_control(self, step)
            else:
                self.write_routine(step)
        self.steps.append(StepUse({}, {}))
        for node, parameter in self.copies:
            if self.lines:
                self.lines.append("")
            self.add(f"/* {parameter.name} = {self.shown_name(node)} */")
            self.copy(parameter.name, self.element_text(node), node.size)

    def write_routine(self, node: Operation) -> None:
        """Write a routine."""
        routine = c_routine.of(node.primitive)
        assert routine is not None
        with self.apart(0) as lines:
            routine.write(RoutineCall(self, node))
        self.scope.forget_block()
        self.comment([node], [])
        self.lines += lines

    # The text

    @property
    def prototype(self) -> str:
        """Its head. A body takes its work arrays, and returns nothing if it cannot fail."""
        parameters = [f"const {p.c_type} *{p.name}" for p in self.inputs]
        parameters += [f"{p.c_type} *{p.name}" for p in self.outputs]
        if self.is_body:
            head = f"static {'int' if self.can_fail else 'void'} {self.name}"
            parameters += [f"{c_type} *{WORK_NAMES[c_type]}" for c_type in self.work.sizes]
        else:
            head = f"int32_t {self.name}"
            parameters.append("void *arena")
        text = f"{head}({', '.join(parameters)})"
        return text if len(text) <= WIDTH else f"{head}(\n    " + ",\n    ".join(parameters) + ")"

    def text(self) -> str:
        """The whole function."""
        declared = [*self.arena_lines(), *[self.declaration(key, *block) for key, block in self.work_parts.items()]]
        body = [*declared, *([""] if declared else []), *self.unused(), *self.lines]
        if not self.is_body or self.can_fail:
            body += ["", "    return 0;"]
        head = write_block([f"{self.role}:", "", *self.describe()]) if self.is_body else []
        return "\n".join([*head, f"{self.prototype}\n{{", *body, "}", ""])

    def arena_lines(self) -> list[str]:
        """The work arrays of the program are parts of its arena, each aligned."""
        if self.is_body:
            return []
        if not self.work.sizes:
            return ["    (void)arena;"]
        aligned = f"(unsigned char *)arena + ({ALIGNMENT} - (uintptr_t)arena % {ALIGNMENT}) % {ALIGNMENT}"
        lines = [f"    unsigned char *const memory = {aligned};"]
        for c_type, offset in split_arena(self.work.sizes)[0].items():
            start, count = f"(memory + {offset})" if offset else "memory", self.work.sizes[c_type]
            lines.append(
                f"    {c_type} *const {WORK_NAMES[c_type]} = ({c_type} *)(void *){start}; /* {count} numbers */"
            )
        return [*lines, ""]

    def describe(self) -> list[str]:
        """A table of its parameters: what they are, and what they are in Python."""
        path = lambda p: f": {p.path}" if p.path and p.path != p.name else ""
        rows = [(p.name, f"in   {describe_array(p)}{path(p)}") for p in self.inputs]
        rows += [(p.name, f"out  {describe_array(p)}{path(p)}") for p in self.outputs]
        if self.is_body:
            rows += [(WORK_NAMES[c_type], f"     {count} numbers") for c_type, count in self.work.sizes.items()]
        else:
            _, arena = split_arena(self.work.sizes)
            memory = f"memory of {arena} bytes for intermediate values" if arena else "not used, may be NULL"
            rows.append(("arena", f"     {memory}"))
        width = max([len(name) for name, _ in rows], default=0)
        return [f"  {name:<{width}}  {what}" for name, what in rows]

    def declaration(self, key: Key, c_type: str, count: int) -> str:
        """The line that says where an array is in a work array."""
        name, offset = self.names[key] if isinstance(key, Node) else key, self.work.offsets[key]
        what = f"shape {key.shape}" if isinstance(key, Node) else f"{count} numbers, for one step"
        start = f"{WORK_NAMES[c_type]} + {offset}" if offset else WORK_NAMES[c_type]
        return f"    {c_type} *const {name} = {start}; /* {what} */"

    def unused(self) -> list[str]:
        """Lines that tell the compiler that some parameters are not used."""
        words = set(re.findall(r"\w+", without_comments("\n".join(self.lines))))
        lines = [f"    (void){p.name};" for p in (*self.inputs, *self.outputs) if p.name not in words]
        return [*lines, ""] if lines else []
