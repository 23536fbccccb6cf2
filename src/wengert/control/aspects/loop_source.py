"""Loops and choices as Python source: `for`, `while` and `if`."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.control.aspects.held import count_of, split_operands
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP, Shape
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.local_names import identifier
from wengert.graph.notation import ATOM, write_literal
from wengert.graph.python_source import SourceWriter, is_output, python_block
from wengert.ops.shape.casting import _astype_discrete

INDENT = "    "


@python_block(LOOP)
def loop_lines(writer: SourceWriter, node: Operation, _target: str) -> list[str]:
    """A loop."""
    return LoopSource(writer, node).write()


@python_block(SWITCH)
def switch_lines(writer: SourceWriter, node: Operation, _target: str) -> list[str]:
    """A choice: `if` of a boolean that became an index, else a comparison of the index with each number."""
    index, *operands = node.args
    branches: Sequence[Graph] = node.params["branches"]
    lines: list[str] = []
    texts = [write_atom(writer, a, lines) for a in operands]
    results = used_outputs(writer, node)
    parts = {k: writer.scope.take(identifier(name or "t", writer.reserved)) for k, name in results.items()}
    writer.parts[node] = parts
    if is_a(index, _astype_discrete) and index.args[0].dtype.kind == "b" and len(branches) == 2:
        heads, order = [f"if {writer.texts[index.args[0]][0]}:", "else:"], [1, 0]
    else:
        number = write_atom(writer, index, lines)
        heads = [f"{'elif' if k else 'if'} {number} {'==' if k else '<='} {k}:" for k in range(len(branches) - 1)]
        heads, order = [*heads, "else:" if heads else "if True:"], list(range(len(branches)))
    for head, k in zip(heads, order, strict=True):
        inner = inner_writer(writer, branches[k], texts)
        body = inner.write_lines()
        body += write_assignment(list(parts.values()), [write_strong(inner, branches[k].outputs[i]) for i in parts])
        lines += [head, *indent(body)]
    return lines


class LoopSource:
    """Writes one loop. Each state and each output that is used has a variable; `lines` are those before the loop."""

    def __init__(self, writer: SourceWriter, node: Operation):
        self.writer, self.node, self.lines = writer, node, list[str]()
        self.body: Graph = node.params["body"]
        self.condition: Graph | None = node.params["condition"]
        self.shape: Shape = node.params["shape"]
        self.used = used_outputs(writer, node)
        constants, states, self.sequences = split_operands(node)
        self.constants = [write_atom(writer, a, self.lines) for a in constants]
        names = [given.name for given in self.body.inputs[self.shape.constants :]]
        self.states = [self.variable(name or "state", a) for name, a in zip(names, states, strict=False)]
        self.given = [*self.constants, *self.states]

    def variable(self, name: str, begin: Node | str) -> str:
        """A variable of the loop, with its value before the first step."""
        variable = self.writer.scope.take(identifier(name, self.writer.reserved))
        self.lines.append(f"{variable} = {write_strong(self.writer, begin) if isinstance(begin, Node) else begin}")
        return variable

    def write(self) -> list[str]:
        """The lines of the loop, and of what it needs before and after."""
        states, outputs = self.shape.states, self.body.outputs
        rows = {k: self.variable(self.used[k] or "ys", "[]") for k in range(states, len(outputs)) if k in self.used}
        steps = self.variable("steps", "np.int64(0)") if len(outputs) in self.used else None
        inner = SourceWriter(self.body, "", self.writer)
        head, test = self.write_head(inner)
        body = [*test, *inner.write_lines()]
        body += [f"{row}.append({inner.texts[outputs[k]][0]})" for k, row in rows.items()]
        body += write_assignment(self.states, [write_strong(inner, y) for y in outputs[:states]])
        body += [f"{steps} += 1"] if steps else []
        self.writer.parts[self.node] = dict(enumerate(self.states)) | rows | ({len(outputs): steps} if steps else {})
        return [*self.lines, head, *indent(body), *[self.stack_rows(row, outputs[k].spec) for k, row in rows.items()]]

    def write_head(self, inner: SourceWriter) -> tuple[str, list[str]]:
        """The first line of the loop, and the lines that leave it where its condition does not hold."""
        slices = self.body.inputs[len(self.given) :]
        variables = [inner.scope.take(identifier(x.name or "x", self.writer.reserved)) for x in slices]
        for given, text in zip(self.body.inputs, [*self.given, *variables], strict=True):
            inner.texts[given] = text, ATOM
        return self.write_while(self.condition) if self.condition is not None else (self.write_for(variables), [])

    def write_for(self, variables: Sequence[str]) -> str:
        """`for x in xs:`, `for x, y in zip(xs, ys):` or `for _ in range(n):`."""
        turned = "[::-1]" if self.shape.reverse else ""
        over = ", ".join([f"{self.writer.enclose(a)}{turned}" for a in self.sequences])
        count = count_of(self.node)
        if not over:
            return f"for _ in range({self.shape.length if count is None else f'int({self.writer.texts[count][0]})'}):"
        return f"for {', '.join(variables)} in {over if len(self.sequences) == 1 else f'zip({over})'}:"

    def write_while(self, condition: Graph) -> tuple[str, list[str]]:
        """`while x < y:`, or, if the condition needs lines of its own, `while True:` and a `break`."""
        test = inner_writer(self.writer, condition, self.given)
        lines = test.write_lines()
        text = test.texts[condition.outputs[0]][0]
        if not lines:
            return f"while {text}:", []
        return "while True:", [*lines, f"if not ({text}):", f"{INDENT}break"]

    def stack_rows(self, row: str, spec: Spec) -> str:
        """The line that makes an array of the outputs of all steps."""
        turned = "[::-1]" if self.shape.reverse else ""
        empty = f"np.zeros({(0, *spec.shape)}, {write_literal(spec.dtype)})"
        if self.shape.length == 0:
            return f"{row} = {empty}"
        stacked = f"np.stack({row}{turned})"
        return f"{row} = {stacked}" if self.shape.length else f"{row} = {stacked} if {row} else {empty}"


def used_outputs(writer: SourceWriter, node: Operation) -> dict[int, str | None]:
    """The outputs of an operation that are used, with the user's names of them."""
    names = writer.graph.value_names()
    outputs = [y for y in writer.graph.operations if is_output(y) and y.args[0] is node]
    return {y.params["index"]: names.get(y) for y in sorted(outputs, key=lambda y: int(y.params["index"]))}


def inner_writer(writer: SourceWriter, graph: Graph, given: Sequence[str]) -> SourceWriter:
    """A writer of the lines inside of a loop or branch, whose inputs are variables."""
    inner = SourceWriter(graph, "", writer)
    for node, text in zip(graph.inputs, given, strict=True):
        inner.texts[node] = text, ATOM
    return inner


def write_strong(writer: SourceWriter, a: Node) -> str:
    """The source of a value; a number of Python's as NumPy's, whose dtype does not give way."""
    text = writer.texts[a][0]
    return f"{write_literal(a.dtype)}({text})" if a.weak else text


def write_atom(writer: SourceWriter, a: Node, lines: list[str]) -> str:
    """A variable, or a number, with the value of an operand; lines that make it are added."""
    text = write_strong(writer, a)
    if text.isidentifier():
        return text
    variable = writer.scope.take("c")
    lines.append(f"{variable} = {text}")
    return variable


def write_assignment(variables: Sequence[str], values: Sequence[str]) -> list[str]:
    """The line that assigns to all variables at once, without those that keep their value."""
    changed = [(variable, value) for variable, value in zip(variables, values, strict=True) if variable != value]
    left, right = [variable for variable, _ in changed], [value for _, value in changed]
    return [f"{', '.join(left)} = {', '.join(right)}"] if changed else []


def indent(lines: Sequence[str]) -> list[str]:
    """The lines of a block."""
    return [f"{INDENT}{line}" for line in lines] or [f"{INDENT}pass"]
