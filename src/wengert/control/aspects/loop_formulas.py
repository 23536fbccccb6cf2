"""Loops and choices in formulas: a recurrence for each state of a loop, and a definition by cases for a choice."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.control.aspects.held import count_of, split_operands
from wengert.control.branches import SWITCH
from wengert.control.loop import LOOP, Shape
from wengert.graph.graph import Graph
from wengert.graph.ir import Node, Operation, is_a
from wengert.graph.local_names import choose_lines
from wengert.graph.mathematics import LIMIT, Expression, Writer, expression, is_repeated, passed_on
from wengert.graph.notation import ATOM, COMPARISON, POWER
from wengert.ops.shape.casting import _astype_discrete

Rows = list[tuple[str, str]]
INDICES = "kjilmn"


@expression(LOOP)
def write_loop(writer: Writer, node: Operation) -> Expression:
    """A row for each state before the first step, and one for each state and output in step k."""
    return Recurrence(writer, node).write()


@expression(SWITCH)
def write_switch(writer: Writer, node: Operation) -> Expression:
    """A definition by cases for each result."""
    index, *operands = node.args
    rows: Rows = []
    results = []
    for branch in node.params["branches"]:
        more, outs = write_graph(writer, branch, [writer.known[a] for a in operands], "")
        rows += more
        results.append(outs)
    chosen = results[-1]
    if is_a(index, _astype_discrete) and index.args[0].dtype.kind == "b" and len(results) == 2:
        tests, results = [writer.with_sign(writer.known[index.args[0]])], [results[1], results[0]]
        chosen = results[-1]
    else:
        number = writer.within(writer.known[index], COMPARISON + 1)
        tests = [f"{number} {writer.style.pick(('≤', chr(92) + 'le'))} {k}" for k in range(len(results) - 1)]
    for test, outs in reversed(list(zip(tests, results, strict=False))):
        pairs = zip(outs, chosen, strict=True)
        chosen = [
            Expression(writer.style.cases(test, writer.with_sign(y), writer.with_sign(other))) for y, other in pairs
        ]
    writer.rows[node], writer.parts[node] = rows, chosen
    return Expression("")


class Recurrence:
    """The rows of one loop: `s[k]` is a state after step k, where its step is counted from one."""

    def __init__(self, writer: Writer, node: Operation):
        self.writer, self.style, self.node = writer, writer.style, node
        self.shape: Shape = node.params["shape"]
        self.body: Graph = node.params["body"]
        self.condition: Graph | None = node.params["condition"]
        self.index = INDICES[min(writer.depth, len(INDICES) - 1)]
        self.last = self.name_last()
        minus, plus = f"{self.index} {self.style.minus} 1", f"{self.index} + 1"
        self.before = plus if self.shape.reverse else minus
        after = f"{self.last} + 1" if self.shape.length is None else str(self.shape.length + 1)
        self.begin = after if self.shape.reverse else "0"
        self.end = "1" if self.shape.reverse else self.last

    def name_last(self) -> str:
        """The number of steps: a number, an expression, or a new name."""
        if self.shape.length is not None:
            return str(self.shape.length)
        count = count_of(self.node)
        return self.writer.new_name("K") if count is None else self.writer.within(self.writer.known[count], ATOM)

    def at(self, name: str, index: str) -> Expression:
        """A value at an index."""
        return Expression(self.style.at(name, index), POWER if self.style.stacks else ATOM)

    def write(self) -> Expression:
        """The rows, and the expressions of the results."""
        writer, n = self.writer, self.shape.states
        constants, states, sequences = split_operands(self.node)
        inputs = self.body.inputs[len(constants) :]
        names = [writer.new_name(given.name or "s") for given in inputs[:n]]
        outputs = [writer.new_name("y") for _ in self.body.outputs[n:]]
        rows = [
            (self.style.at(name, self.begin), writer.with_sign(writer.known[a]))
            for name, a in zip(names, states, strict=True)
        ]
        given = [*[writer.known[a] for a in constants], *[self.at(name, self.before) for name in names]]
        slices = [self.take_slice(a) for a in sequences]
        more, results = write_graph(writer, self.body, [*given, *slices], self.index)
        suffix = f",{self.style.space}{self.write_range(given)}"
        rows += more
        for name, y in zip([*names, *outputs], results, strict=True):
            rows.append((self.style.at(name, self.index), writer.with_sign(y) + suffix))
        final = [self.at(name, self.end) for name in names]
        writer.rows[self.node] = rows
        writer.parts[self.node] = [*final, *map(Expression, outputs), Expression(self.last)]
        return Expression("")

    def take_slice(self, sequence: Node) -> Expression:
        """Element k of a sequence; of one that is the same number everywhere, that number."""
        whole = self.writer.known[sequence]
        return whole if whole.is_number else self.at(self.writer.within(whole, ATOM), self.index)

    def write_range(self, given: Sequence[Expression]) -> str:
        """`k = 1, …, 5`, or as long as which condition holds."""
        style = self.style
        dots = style.pick(("…", chr(92) + "ldots"))
        if self.condition is None:
            first, last = (self.last, "1") if self.shape.reverse else ("1", self.last)
            return f"{self.index} = {first}, {dots}, {last}"
        rows, (test,) = write_graph(self.writer, self.condition, given, self.before)
        where = "".join([f",{style.space}{left} = {right}" for left, right in rows])
        last = f"{self.index} = 1, {dots}, {self.last}"
        return f"{last},{style.space}{style.phrase('while ')}{self.writer.with_sign(test)}{where}"


def write_graph(writer: Writer, graph: Graph, given: Sequence[Expression], index: str) -> tuple[Rows, list[Expression]]:
    """The rows of a graph that an operation holds, whose inputs are these expressions, and those of its outputs."""
    inner = Writer(writer.style, dict(zip(graph.inputs, given, strict=True)))
    inner.taken, inner.depth = writer.taken, writer.depth + bool(index)
    for constant in graph.constants:
        inner.known[constant] = inner.constant(constant)
    names = graph.value_names()
    lines = set(choose_lines(graph, {*names, *passed_on(graph)}, LIMIT, is_repeated))
    rows: Rows = []
    for node in graph.operations:
        found = inner.expression(node)
        if node in inner.rows:
            rows += inner.rows[node]
            continue
        if node in lines:
            name = inner.new_name(names.get(node, "v"))
            text = writer.style.at(name, index) if index else name
            rows.append((text, inner.with_sign(found)))
            found = Expression(text, POWER if index and writer.style.stacks else ATOM)
        inner.known[node] = found
    return rows, [inner.known[y] for y in graph.outputs]
