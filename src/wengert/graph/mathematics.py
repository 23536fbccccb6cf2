"""A graph as mathematics, in plain text and in LaTeX.

There is one equation for each value that has a name or is used more than once. Expressions are built from the operands
up, so no graph is too deep, with as few parentheses as their meaning needs. What a textbook would not show (a factor of
one, a broadcast, a sign before a term) is left out or moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wengert.core.aspects import Aspect
from wengert.core.primitive import OUTPUT
from wengert.graph.forms import ENTRIES, form
from wengert.graph.graph import Graph
from wengert.graph.held import graphs_of
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.graph.local_names import choose_lines
from wengert.graph.notation import (
    ATOM,
    FRACTION,
    POWER,
    PRODUCT,
    SUM,
    TRANSPARENT,
    Fence,
    Infix,
    PrefixFunction,
    notation,
    write_literal,
)
from wengert.graph.typesetting import Latex, Plain, Style
from wengert.ops.elementwise.arithmetic import negative
from wengert.ops.indexing.key import Index

LIMIT = 24
"""The most operations in one equation."""


@form("mathematics")
def write_mathematics(graph: Graph) -> str:
    """The equations in plain text, one a line."""
    return "\n".join([f"{left} = {right}" for left, right in equations(graph, Plain())])


@form("latex")
def write_latex(graph: Graph) -> str:
    r"""The equations for LaTeX's mathematics mode, several of them in `aligned`."""
    written = equations(graph, Latex())
    if len(written) == 1:
        return f"{written[0][0]} = {written[0][1]}"
    rows = " \\\\\n".join([f"{left} &= {right}" for left, right in written])
    return f"\\begin{{aligned}}\n{rows}\n\\end{{aligned}}"


class Expression(NamedTuple):
    """A string and how tightly it binds.

    `closed` is the string where what follows could be read as part of it (`sin(x)` for `sin x`). `negative` says that a
    minus sign belongs before it. An exponent goes behind `head`, before `tail`, where that is not the end.
    """

    text: str
    precedence: int = ATOM
    closed: str = ""
    negative: bool = False
    head: str = ""
    tail: str = ""
    is_number: bool = False


expression: Aspect[Callable[[Writer, Operation], Expression]] = Aspect(
    "expression",
    "how it is written in formulas, if its notation is not enough",
    rest="its notation is used",
    filled_by=ENTRIES,
)
ONE = Expression("1", is_number=True)


def is_transparent(node: Operation) -> bool:
    """Whether an operation returns its operand, possibly with the sign turned: it is repeated, not given a name."""
    return notation.of(node.primitive) is TRANSPARENT or is_a(node, negative)


def equations(graph: Graph, style: Style) -> list[tuple[str, str]]:
    """Left and right sides, in the order of computation, results that nothing else needs at the end."""
    names = graph.value_names()
    results = dict.fromkeys(graph.outputs)
    lines = choose_lines(graph, {*names, *results, *passed_on(graph)}, LIMIT, is_repeated)
    lines = [node for node in lines if not graphs_of(node)]
    called = _name_values(graph, names, lines, style)
    writer = Writer(style, {node: Expression(text) for node, text in called.items()})
    writer.taken.update(called.values())
    for constant in graph.constants:
        writer.known[constant] = writer.constant(constant)
    kept = set(lines)
    rights: dict[Node, str] = {}
    for node in graph.operations:
        right = writer.expression(node)
        if node in kept or node in writer.rows:
            rights[node] = writer.with_sign(right)
        else:
            writer.known[node] = right
    used = {a for node in graph.operations for a in node.args}
    last = [node for node in results if node not in used]
    rights |= {node: writer.with_sign(writer.known[node]) for node in results if not isinstance(node, Operation)}
    order = [*[node for node in rights if node not in last], *last]
    found: list[tuple[str, str]] = []
    for y in order:
        if y in writer.rows:
            found += writer.rows[y]
        else:
            found.append((called[y] if y in kept else _result_name(graph, y, style), rights[y]))
    return found


def is_repeated(node: Operation) -> bool:
    """Whether a value that is used more than once is written again at each use."""
    return node.primitive is OUTPUT or is_transparent(node)


def passed_on(graph: Graph) -> set[Node]:
    """The operations whose results are passed to a graph that another one holds: each has an equation."""
    passed = {a for node in graph.operations for held in graphs_of(node) for _, a in held.inputs}
    return {a for a in passed if isinstance(a, Operation) and not is_repeated(a)}


def _result_name(graph: Graph, node: Node, style: Style) -> str:
    return style.name("f", graph.outputs.index(node) + 1 if len(graph.outputs) > 1 else None)


def _name_values(graph: Graph, names: dict[Node, str], lines: list[Operation], style: Style) -> dict[Node, str]:
    """The names of inputs and left sides: the user's, with an index where several values have the same.

    Results are called f, other values v.
    """
    called: dict[Node, str] = {}
    taken: set[str] = set()
    seen: dict[str, int] = {}

    def call(node: Node, name: str, alone: bool) -> None:
        text = style.name(name, None)
        while not alone or text in taken:
            seen[name] = seen.get(name, 0) + 1
            text, alone = style.name(name, seen[name]), True
        taken.add(text)
        called[node] = text

    for given in graph.inputs:
        call(given, names.get(given, "x"), given in names or len(graph.inputs) == 1)
    counts = Counter([names[node] for node in lines if node in names])
    for node in lines:
        if node in names:
            call(node, names[node], counts[names[node]] == 1)
    for result in graph.outputs:
        text = _result_name(graph, result, style)
        if result not in called and isinstance(result, Operation) and text not in taken:
            called[result] = text
            taken.add(text)
    for node in lines:
        if node not in called:
            call(node, "v", False)
    return called


class Writer:
    """Writes expressions, from the operands up; `known` are those of nodes.

    An operation that holds graphs is written as `rows`, and `parts` are the expressions of its outputs. `taken` are the
    names that are used, and `depth` is the number of loops around.
    """

    def __init__(self, style: Style, known: dict[Node, Expression]):
        self.style, self.known = style, known
        self.rows: dict[Node, list[tuple[str, str]]] = {}
        self.parts: dict[Node, list[Expression]] = {}
        self.taken: set[str] = set()
        self.depth = 0

    def new_name(self, name: str) -> str:
        """A name that is not used yet, with an index if need be."""
        text, index = self.style.name(name, None), 0
        while text in self.taken:
            index += 1
            text = self.style.name(name, index)
        self.taken.add(text)
        return text

    def expression(self, node: Operation) -> Expression:
        """The expression of an operation."""
        special = expression.of(node.primitive)
        if special is not None:
            return special(self, node)
        found = notation.of(node.primitive)
        args = [self.known[a] for a in node.args]
        if found is TRANSPARENT:
            return args[0]
        if isinstance(found, PrefixFunction):
            return self.function(self.style.symbol(found), args[0])
        if isinstance(found, Fence):
            return Expression(self.style.fence(found, self.with_sign(args[0])))
        if isinstance(found, Infix):
            sides = [self.within(a, found.precedence + 1) for a in args]
            return Expression(f"{sides[0]} {self.style.symbol(found)} {sides[1]}", found.precedence)
        symbol = self.style.operator(node.primitive.name) if found is None else self.style.symbol(found)
        return self.call(symbol, [self.with_sign(a) for a in args], node)

    def call(self, symbol: str, args: list[str], node: Operation) -> Expression:
        """`name(x, y; axis = 0)`, without parameters that only say that everything is reduced."""
        axis = node.params.get("axis")
        everything = axis is None or isinstance(axis, tuple) and len(axis) == node.args[0].ndim
        hidden = {"keepdims", "axis"} if everything else {"keepdims"}
        params = []
        for word, value in node.params.items():
            if value is not None and word not in hidden:
                text = repr(value) if isinstance(value, Index) else write_literal(value)
                params.append(f"{self.style.word(word)} = {self.style.code(text)}")
        inside = ", ".join(args) + ("; " + ", ".join(params) if params else "")
        return Expression(f"{symbol}{self.style.parentheses(inside)}")

    def constant(self, node: Constant) -> Expression:
        """A number, a short vector, or the name of an array."""
        value = np.asarray(node.value) if not node.is_captured else None
        if value is None or value.size == 0 or value.dtype.kind not in "biuf" or not (value == value.flat[0]).all():
            if value is not None and value.ndim == 1 and value.size <= 4 and value.dtype.kind in "iuf":
                return Expression(self.style.vector([self.with_sign(self.constant(Constant(v.item()))) for v in value]))
            if value is not None and value.ndim == 0:
                return Expression(self.style.code(str(value)))
            return Expression(self.style.operator(node.name) if node.name else self.style.array(node.spec))
        number = value.flat[0].item()
        text, precedence = self.style.number(abs(number) if not isinstance(number, bool) else number)
        return Expression(text, precedence, negative=not isinstance(number, bool) and number < 0, is_number=True)

    def with_sign(self, e: Expression) -> str:
        """An expression with its minus sign."""
        if not e.negative:
            return e.text
        return f"{self.style.minus}{e.text if e.precedence > SUM else self.style.parentheses(e.text)}"

    def within(self, e: Expression, least: int, follows: bool = False) -> str:
        """An operand, in parentheses if it binds less tightly than it must.

        `follows` says that something stands right after it.
        """
        if e.negative or e.precedence < least:
            return self.style.parentheses(self.with_sign(e))
        return e.closed or e.text if follows else e.text

    def function(self, symbol: str, arg: Expression) -> Expression:
        """`sin x`, `sin(x + y)`."""
        inside = self.style.parentheses(self.with_sign(arg))
        if arg.precedence == ATOM and not arg.negative and not arg.closed and not arg.text.endswith(")"):
            return Expression(
                f"{symbol} {arg.text}", PRODUCT + 1, f"{symbol}{inside}", head=symbol, tail=f" {arg.text}"
            )
        return Expression(f"{symbol}{inside}", head=symbol, tail=inside)

    def sum(self, left: Expression, right: Expression, subtract: bool) -> Expression:
        """A sum or difference, with signs moved to where they show."""
        minus = right.negative != subtract
        second = right.text
        if right.precedence <= SUM and (minus or right.negative or right.precedence < SUM):
            second = self.style.parentheses(second)
        elif right.precedence == SUM and second.startswith(self.style.minus):  # a + (-b - c) is a - b - c
            minus, second = True, second.removeprefix(self.style.minus)
        sign = self.style.minus if minus else "+"
        if left.negative and not minus:
            first = left.text if left.precedence > SUM else self.style.parentheses(left.text)
            return Expression(f"{second} {self.style.minus} {first}", SUM)
        return Expression(f"{self.with_sign(left)} {sign} {second}", SUM)

    def product(self, left: Expression, right: Expression, symbol: str = "") -> Expression:
        """A product, numbers first."""
        negative = left.negative != right.negative
        left, right = left._replace(negative=False), right._replace(negative=False)
        if right.is_number and not left.is_number:
            left, right = right, left
        if left.is_number and left.text == "1":
            return right._replace(negative=negative)
        factors = [self.within(left, PRODUCT, follows=True), self.within(right, PRODUCT)]
        closed = self.within(right, PRODUCT, follows=True)

        def join(last: str) -> str:
            return f"{factors[0]} {symbol} {last}" if symbol else self.style.juxtapose(factors[0], last)

        return Expression(join(factors[1]), PRODUCT, join(closed), negative)

    def fraction(self, above: Expression, below: Expression) -> Expression:
        """A fraction, in one line or stacked."""
        negative = above.negative != below.negative
        above, below = above._replace(negative=False), below._replace(negative=False)
        if below.is_number and below.text == "1":
            return above._replace(negative=negative)
        if self.style.stacks:
            return Expression(self.style.fraction(above.text, below.text), PRODUCT, negative=negative)
        tight = below.precedence == ATOM or below.precedence > PRODUCT and not below.closed
        bottom = below.text if tight else self.style.parentheses(below.text)
        return Expression(f"{self.within(above, PRODUCT, follows=True)}/{bottom}", FRACTION, negative=negative)

    def root(self, inside: Expression) -> Expression:
        """A square root."""
        text = self.style.root(
            self.with_sign(inside), inside.precedence == ATOM and not inside.negative and not inside.head
        )
        return Expression(text, ATOM if self.style.stacks else POWER)

    def power(self, base: Expression, exponent: str) -> Expression:
        """A power; of a function, the exponent goes behind its name."""
        if base.head and not base.negative:
            text = f"{self.style.superscript(base.head, exponent)}{base.tail}"
            return Expression(
                text,
                POWER,
                base.closed
                and f"{self.style.superscript(base.head, exponent)}{self.style.parentheses(base.tail.strip())}",
            )
        return Expression(self.style.superscript(self.within(base, ATOM), exponent), POWER)
