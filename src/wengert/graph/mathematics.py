"""A graph as mathematics, in plain text and in LaTeX: one equation for each value that has a name or is used more than once.

Expressions are built from the operands up, so no graph is too deep, with as few parentheses as their meaning needs. What does not show in
a textbook (a factor of one, a broadcast, a sign before a term) is left out or moved to where it does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wengert.core.primitive import OUTPUT
from wengert.graph.ir import Constant, Node, Operation
from wengert.graph.notation import ATOM, FENCES, FRACTION, FUNCTIONS, INFIX, POWER, PRODUCT, SUM, SYMBOLS, TRANSPARENT, literal
from wengert.graph.typesetting import Latex, Plain, Style
from wengert.graph.variables import known_names, separate
from wengert.ops.key import Index

if TYPE_CHECKING:
    from wengert.graph.graph import Graph

LIMIT = 24
"""How many operations may stand in one equation."""


def mathematics(graph: Graph) -> str:
    """The equations in plain text, one a line."""
    return "\n".join([f"{left} = {right}" for left, right in equations(graph, Plain())])


def latex(graph: Graph) -> str:
    r"""The equations for LaTeX's mathematics mode, several of them in `aligned`."""
    written = equations(graph, Latex())
    if len(written) == 1:
        return f"{written[0][0]} = {written[0][1]}"
    rows = " \\\\\n".join([f"{left} &= {right}" for left, right in written])
    return f"\\begin{{aligned}}\n{rows}\n\\end{{aligned}}"


class Expression(NamedTuple):
    """A text and how tightly it binds. `closed` is the text where what follows could be read as part of it (`sin(x)` for `sin x`).

    `negative` says that a minus sign belongs before the text. An exponent goes behind `head`, before `tail`, where that is not the end.
    """

    text: str
    precedence: int = ATOM
    closed: str = ""
    negative: bool = False
    head: str = ""
    tail: str = ""
    is_number: bool = False


def equations(graph: Graph, style: Style) -> list[tuple[str, str]]:
    """Left and right sides, in the order of computation, results that nothing else needs at the end."""
    names = known_names(graph)
    results = dict.fromkeys(graph.outputs)
    lines = separate(graph, {*names, *results}, LIMIT, lambda node: node.primitive is OUTPUT or node.primitive.name in REPEATED)
    called = _called(graph, names, lines, style)
    writer = Writer(style, {node: Expression(text) for node, text in called.items()})
    for constant in graph.constants:
        writer.known[constant] = writer.constant(constant)
    kept = set(lines)
    rights: dict[Node, str] = {}
    for node in graph.operations:
        expression = writer.expression(node)
        if node in kept:
            rights[node] = writer.signed(expression)
        else:
            writer.known[node] = expression
    used = {a for node in graph.operations for a in node.args}
    last = [node for node in results if node not in used]
    rights |= {node: writer.signed(writer.known[node]) for node in results if not isinstance(node, Operation)}
    order = [*[node for node in rights if node not in last], *last]
    return [(called[node] if node in kept else _result(graph, node, style), rights[node]) for node in order]


def _result(graph: Graph, node: Node, style: Style) -> str:
    return style.name("f", graph.outputs.index(node) + 1 if len(graph.outputs) > 1 else None)


def _called(graph: Graph, names: dict[Node, str], lines: list[Operation], style: Style) -> dict[Node, str]:
    """What each input and each left side is called: by the user's name, with an index where several have it; results f, other values v."""
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
        text = _result(graph, result, style)
        if result not in called and isinstance(result, Operation) and text not in taken:
            called[result] = text
            taken.add(text)
    for node in lines:
        if node not in called:
            call(node, "v", False)
    return called


class Writer:
    """Writes expressions, from the operands up; `known` are those of nodes."""

    def __init__(self, style: Style, known: dict[Node, Expression]):
        self.style, self.known = style, known

    def expression(self, node: Operation) -> Expression:
        name = node.primitive.name
        special = SPECIAL.get(name)
        if special is not None:
            return special(self, node)
        args = [self.known[a] for a in node.args]
        if name in TRANSPARENT:
            return args[0]
        if name in FUNCTIONS:
            return self.function(self.style.pick(FUNCTIONS[name]), args[0])
        if name in FENCES:
            return Expression(self.style.fenced(FENCES[name], self.signed(args[0])))
        if name in INFIX:
            infix = INFIX[name]
            sides = [self.within(a, infix.precedence + 1) for a in args]
            return Expression(f"{sides[0]} {self.style.symbol(infix)} {sides[1]}", infix.precedence)
        symbol = self.style.pick(SYMBOLS[name]) if name in SYMBOLS else self.style.operator(name)
        return self.call(symbol, [self.signed(a) for a in args], node)

    def call(self, symbol: str, args: list[str], node: Operation) -> Expression:
        """`name(x, y; axis = 0)`, without metadata that says no more than that everything is reduced."""
        axis = node.params.get("axis")
        everything = axis is None or isinstance(axis, tuple) and len(axis) == node.args[0].ndim
        hidden = {"keepdims", "axis"} if everything else {"keepdims"}
        told = [(word, value) for word, value in node.params.items() if value is not None and word not in hidden]
        metadata = [
            f"{self.style.word(word)} = {self.style.code(repr(value) if isinstance(value, Index) else literal(value))}"
            for word, value in told
        ]
        inside = ", ".join(args) + ("; " + ", ".join(metadata) if metadata else "")
        return Expression(f"{symbol}{self.style.parentheses(inside)}")

    def constant(self, node: Constant) -> Expression:
        value = np.asarray(node.value) if not node.is_captured else None
        if value is None or value.size == 0 or value.dtype.kind not in "biuf" or not (value == value.flat[0]).all():
            if value is not None and value.ndim == 1 and value.size <= 4 and value.dtype.kind in "iuf":
                return Expression(self.style.vector([self.signed(self.constant(Constant(v.item()))) for v in value]))
            if value is not None and value.ndim == 0:
                return Expression(self.style.code(str(value)))
            return Expression(self.style.operator(node.name) if node.name else self.style.array(node.spec))
        number = value.flat[0].item()
        text, precedence = self.style.number(abs(number) if not isinstance(number, bool) else number)
        return Expression(text, precedence, negative=not isinstance(number, bool) and number < 0, is_number=True)

    def signed(self, e: Expression) -> str:
        if not e.negative:
            return e.text
        return f"{self.style.minus}{e.text if e.precedence > SUM else self.style.parentheses(e.text)}"

    def within(self, e: Expression, least: int, follows: bool = False) -> str:
        """An operand, in parentheses if it binds less tightly than it must; `follows` says that something stands right after it."""
        if e.negative or e.precedence < least:
            return self.style.parentheses(self.signed(e))
        return e.closed or e.text if follows else e.text

    def function(self, symbol: str, arg: Expression) -> Expression:
        """`sin x`, `sin(x + y)`."""
        inside = self.style.parentheses(self.signed(arg))
        if arg.precedence == ATOM and not arg.negative and not arg.closed and not arg.text.endswith(")"):
            return Expression(f"{symbol} {arg.text}", PRODUCT + 1, f"{symbol}{inside}", head=symbol, tail=f" {arg.text}")
        return Expression(f"{symbol}{inside}", head=symbol, tail=inside)

    def sum(self, left: Expression, right: Expression, subtract: bool) -> Expression:
        minus = right.negative != subtract
        second = right.text if right.precedence > SUM or not minus and right.precedence == SUM and not right.negative else None
        if second is None:
            second = self.style.parentheses(right.text)
        sign = self.style.minus if minus else "+"
        if left.negative and not minus:
            first = left.text if left.precedence > SUM else self.style.parentheses(left.text)
            return Expression(f"{second} {self.style.minus} {first}", SUM)
        return Expression(f"{self.signed(left)} {sign} {second}", SUM)

    def product(self, left: Expression, right: Expression, symbol: str = "") -> Expression:
        negative = left.negative != right.negative
        left, right = left._replace(negative=False), right._replace(negative=False)
        if right.is_number and not left.is_number:
            left, right = right, left
        if left.is_number and left.text == "1":
            return right._replace(negative=negative)
        factors = [self.within(left, PRODUCT, follows=True), self.within(right, PRODUCT)]
        closed = self.within(right, PRODUCT, follows=True)
        join = lambda last: f"{factors[0]} {symbol} {last}" if symbol else self.style.juxtaposed(factors[0], last)
        return Expression(join(factors[1]), PRODUCT, join(closed), negative)

    def fraction(self, above: Expression, below: Expression) -> Expression:
        negative = above.negative != below.negative
        above, below = above._replace(negative=False), below._replace(negative=False)
        if below.is_number and below.text == "1":
            return above._replace(negative=negative)
        if self.style.stacks:
            return Expression(self.style.fraction(above.text, below.text), PRODUCT, negative=negative)
        tight = below.precedence == ATOM or below.precedence > PRODUCT and not below.closed
        bottom = below.text if tight else self.style.parentheses(below.text)
        return Expression(f"{self.within(above, PRODUCT, follows=True)}/{bottom}", FRACTION, negative=negative)

    def power(self, base: Expression, exponent: str) -> Expression:
        if base.head and not base.negative:
            text = f"{self.style.raised(base.head, exponent)}{base.tail}"
            return Expression(
                text, POWER, base.closed and f"{self.style.raised(base.head, exponent)}{self.style.parentheses(base.tail.strip())}"
            )
        return Expression(self.style.raised(self.within(base, ATOM), exponent), POWER)


def _sum(writer: Writer, node: Operation) -> Expression:
    left, right = node.args
    return writer.sum(writer.known[left], writer.known[right], node.primitive.name == "subtract")


def _product(writer: Writer, node: Operation) -> Expression:
    left, right = node.args
    if left is right:
        return writer.power(writer.known[left], "2")
    both = left.shape and right.shape and not (writer.known[left].is_number or writer.known[right].is_number)
    return writer.product(writer.known[left], writer.known[right], writer.style.elementwise if both else "")


def _power(writer: Writer, node: Operation) -> Expression:
    base, exponent = [writer.known[a] for a in node.args]
    if exponent.is_number and exponent.text == "1" and not exponent.negative:
        return base
    if exponent.is_number and exponent.text == "0.5" and not exponent.negative:
        return _root(writer, base)
    return writer.power(base, writer.signed(exponent))


def _root(writer: Writer, inside: Expression) -> Expression:
    text = writer.style.root(writer.signed(inside), inside.precedence == ATOM and not inside.negative and not inside.head)
    return Expression(text, ATOM if writer.style.stacks else POWER)


def _large(plain: str, latex: str) -> Callable[[Writer, Operation], Expression]:
    """A sum or product over axes, which stands before what it runs over."""

    def written(writer: Writer, node: Operation) -> Expression:
        x, axis = node.args[0], node.params["axis"]
        inside = writer.known[x]
        if not axis:
            return inside
        sign = writer.style.subscripted(writer.style.pick((plain, latex)), "" if len(axis) == x.ndim else ",".join(map(str, axis)))
        negative, inside = plain == "Σ" and inside.negative, inside._replace(negative=inside.negative and plain != "Σ")
        return Expression(f"{sign} {writer.within(inside, FRACTION)}", FRACTION, negative=negative)

    return written


def _transpose(writer: Writer, node: Operation) -> Expression:
    x = writer.known[node.args[0]]
    if node.params["axes"] == (1, 0):
        text = writer.within(x, ATOM)
        return Expression(writer.style.transposed(text))
    return x if x.is_number else writer.call(writer.style.operator("transpose"), [writer.signed(x)], node)


def _item(writer: Writer, node: Operation) -> Expression:
    inside = [writer.signed(writer.known[a]) for a in node.args[1:]]
    return Expression(writer.style.indexed(writer.within(writer.known[node.args[0]], ATOM), node.params["key"], inside))


def _expand_dims(writer: Writer, node: Operation) -> Expression:
    """New axes in front are what broadcasting gives anyway; others are shown as `x[:, None]`."""
    x, axis = node.args[0], node.params["axis"]
    if not x.ndim or writer.known[x].is_number or sorted(axis) == list(range(len(axis))):
        return writer.known[x]
    key = Index(tuple([None if i in axis else slice(None) for i in range(node.ndim)]))
    return Expression(writer.style.indexed(writer.within(writer.known[x], ATOM), key, []))


def _cases(writer: Writer, node: Operation) -> Expression:
    condition, x, y = [writer.signed(writer.known[a]) for a in node.args]
    return Expression(writer.style.cases(condition, x, y))


ONE = Expression("1", is_number=True)
SPECIAL: dict[str, Callable[[Writer, Operation], Expression]] = {
    "add": _sum,
    "subtract": _sum,
    "multiply": _product,
    "multiply_live": _product,
    "matmul": lambda w, node: w.product(w.known[node.args[0]], w.known[node.args[1]]),
    "divide": lambda w, node: w.fraction(w.known[node.args[0]], w.known[node.args[1]]),
    "divide_live": lambda w, node: w.fraction(w.known[node.args[0]], w.known[node.args[1]]),
    "reciprocal": lambda w, node: w.fraction(ONE, w.known[node.args[0]]),
    "negative": lambda w, node: w.known[node.args[0]]._replace(negative=not w.known[node.args[0]].negative),
    "square": lambda w, node: w.power(w.known[node.args[0]], "2"),
    "power": _power,
    "sqrt": lambda w, node: _root(w, w.known[node.args[0]]),
    "root": lambda w, node: _root(w, w.known[node.args[0]]),
    "exp": lambda w, node: w.style.exponential(w, w.known[node.args[0]]),
    "expm1": lambda w, node: w.sum(w.style.exponential(w, w.known[node.args[0]]), ONE, subtract=True),
    "log1p": lambda w, node: w.function(w.style.pick(FUNCTIONS["log"]), w.sum(ONE, w.known[node.args[0]], subtract=False)),
    "expand_dims": _expand_dims,
    "sum": _large("Σ", r"\sum"),
    "prod": _large("∏", r"\prod"),
    "transpose": _transpose,
    "where": _cases,
    "getitem": _item,
    "gather": _item,
    "conj": lambda w, node: Expression(w.style.conjugate(w.within(w.known[node.args[0]], ATOM))),
    "logical_not": lambda w, node: Expression(f"{w.style.pick(('¬', chr(92) + 'neg '))}{w.within(w.known[node.args[0]], POWER)}", POWER),
    OUTPUT.name: lambda w, node: Expression(w.style.subscripted(w.within(w.known[node.args[0]], ATOM), str(node.params["index"]))),
}
"""Operations with a notation of their own."""

REPEATED = TRANSPARENT | {"negative"}
"""What is written again rather than given a name."""
