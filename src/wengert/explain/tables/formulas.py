"""The formulas of a trace: what each line computes, and by which rule its tangent and its adjoint come about, in names
and in numbers.

Derivatives are found by running the operation's own rule on symbols (see `derivation.py`), so whatever has a rule has a
formula. What is too large for a line is written as a partial derivative.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.array import Array
from wengert.core.aspects import primitive_of
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.explain.steps import Step
from wengert.explain.sweeps import Term
from wengert.explain.tables import numbers
from wengert.explain.tables.derivation import Derivation, Derivations
from wengert.explain.tables.names import LatexNames, Names
from wengert.graph.ir import Constant, Node, Operation
from wengert.graph.mathematics import Expression, Writer, is_transparent
from wengert.graph.notation import ATOM, FRACTION, LN, PRODUCT, SUM
from wengert.graph.typesetting import Latex, Plain, Style
from wengert.ops.elementwise.arithmetic import multiply, multiply_live, negative, remainder
from wengert.ops.elementwise.predicates import floor_divide

if TYPE_CHECKING:
    from wengert.explain.explanation import Explanation

Known = Callable[[Node], Expression]
SMALL = 6
"""How many elements of an array are written among the numbers of a formula."""
MOST_OPERANDS = 6
LOGARITHMS = {math.log(2.0): "2", math.log(10.0): "10"}
SILENT = ("reuse",)
"""Metadata that says how, not what."""
PRODUCTS = primitive_of(multiply), primitive_of(multiply_live)
QUOTIENTS = primitive_of(floor_divide), primitive_of(remainder)
NEGATIVE = primitive_of(negative)
LONGEST = 30
"""How many characters of an operation's metadata are shown."""


class Text(Plain):
    """Plain text in which every product has its sign, because names are words here, and a minus sign that can be
    copied.
    """

    minus = "-"

    def juxtapose(self, left: str, right: str) -> str:
        return f"{left} {right}"

    def name(self, name: str, index: int | None) -> str:
        return name


class LineWriter(Writer):
    """Writes expressions for the lines of a trace: operands stay in their order, and a sign stays with the operand that
    has it.

    `times` is the sign of a product: × for those of the program, · for those of the chain rule.
    """

    def __init__(self, style: Style, times: tuple[str, str]):
        super().__init__(style, {})
        self.times = style.pick(times)

    def expression(self, node: Operation) -> Expression:
        if node.primitive in PRODUCTS:
            left, right = node.args
            symbol = self.style.elementwise if left.shape and right.shape else self.times
            return self.product(self.known[left], self.known[right], symbol)
        if len(node.args) > MOST_OPERANDS:
            args = [self.with_sign(self.known[a]) for a in (*node.args[:3], node.args[-1])]
            return self.call(
                self.style.operator(node.primitive.name), [*args[:3], self.style.pick(("…", r"\ldots")), args[3]], node
            )
        written = super().expression(node)
        # Like a fraction, these are no factors: a · (b // c) is not a · b // c.
        return written._replace(precedence=FRACTION) if node.primitive in QUOTIENTS else written

    def call(self, symbol: str, args: list[str], node: Operation) -> Expression:
        told = {word: value for word, value in node.params.items() if word not in SILENT}
        node = Operation(node.primitive, node.args, told, node.spec)
        written, bare = super().call(symbol, args, node), f"{symbol}{self.style.parentheses(', '.join(args))}"
        return written if len(written.text) <= len(bare) + LONGEST else Expression(bare)

    def constant(self, node: Constant) -> Expression:
        known = LOGARITHMS.get(node.value) if isinstance(node.value, float) else None
        if known is not None:
            return self.function(self.style.symbol(LN), Expression(known))
        return numeral(node.value, self.style) or Expression(self.style.array(node.spec))

    def sum(self, left: Expression, right: Expression, subtract: bool) -> Expression:
        minus = right.negative != subtract
        tight = right.precedence > SUM or not minus and right.precedence == SUM
        second = right.text if tight else self.style.parentheses(right.text)
        return Expression(f"{self.with_sign(left)} {self.style.minus if minus else '+'} {second}", SUM)

    def product(self, left: Expression, right: Expression, symbol: str = "") -> Expression:
        first = self.within(left._replace(negative=False), PRODUCT, follows=True)
        join = f" {symbol} ".join if symbol else lambda pair: self.style.juxtapose(*pair)
        last, closed = self.within(right, PRODUCT), self.within(right, PRODUCT, follows=True)
        return Expression(join([first, last]), PRODUCT, join([first, closed]), left.negative)

    def fraction(self, above: Expression, below: Expression) -> Expression:
        if self.style.stacks:
            text = self.style.fraction(above.text, self.with_sign(below))
            return Expression(text, PRODUCT, negative=above.negative)
        bottom = (
            self.within(below, ATOM)
            if below.precedence <= FRACTION or below.precedence == PRODUCT
            else self.within(below, SUM)
        )
        top = self.within(above._replace(negative=False), PRODUCT, follows=True)
        return Expression(f"{top} / {bottom}", FRACTION, negative=above.negative)


def numeral(x: Any, style: Style, limit: int = SMALL) -> Expression | None:
    """A number, or a small array, as part of a formula; None for what is too large."""
    x = numbers.numbers_of(x)
    if isinstance(x, tuple | list | Array) or x is None or np.size(x) > limit:
        return None
    if np.ndim(x) or not isinstance(x, int | float | np.number) or isinstance(x, bool):
        text = literal(x, style)
        return Expression(style.parentheses(text) if np.iscomplexobj(x) and not np.ndim(x) else text)
    text = literal(x, style)
    return Expression(text.removeprefix("-"), negative=text.startswith("-"))


def literal(x: Any, style: Style, limit: int = SMALL) -> str:
    """A value as it stands behind the last sign of equality."""
    if not style.stacks:
        return numbers.value(x, limit)
    if isinstance(x, tuple | list):
        return style.parentheses(", ".join([literal(part, style, limit) for part in x]))
    x = numbers.numbers_of(x)
    if isinstance(x, np.ndarray) and 0 < x.ndim <= 2 and x.size <= limit:
        rows = [x] if x.ndim == 1 else x
        body = r" \\ ".join([" & ".join([literal(element, style) for element in row]) for row in rows])
        return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"
    text = numbers.value(x, limit)
    if isinstance(x, np.ndarray) and x.ndim or isinstance(x, Array) or x is None or isinstance(x, bool | np.bool_):
        return rf"\text{{{style.code(text)}}}"
    text = text.replace("inf", r"\infty").replace("nan", r"\mathrm{NaN}").replace("j", r"\mathrm{i}")
    return re.sub(r"e([+-])0*(\d+)", lambda m: rf" \cdot 10^{{{m[1].replace('+', '')}{m[2]}}}", text)


class Formulas:
    """Right sides for the lines of an explanation, in plain text or in LaTeX, whichever the style is of."""

    def __init__(self, explanation: Explanation, style: Style | None = None):
        self.explanation = explanation
        self.style: Style = Latex() if style is not None and style.stacks else Text()
        self.steps = [step for step in explanation.steps if not is_given(step.node)]
        self.names = (LatexNames if self.style.stacks else Names)(self.steps)
        self.derivations = Derivations()
        self.values = explanation.recording.values
        self.program, self.chain = LineWriter(self.style, ("×", r"\times")), LineWriter(self.style, ("·", r"\cdot"))
        self.numerals: dict[tuple[str, Node], Expression | None] = {}
        self.live: dict[Node, set[int]] = {}
        self.parts: dict[Node, dict[int, Node]] = {}
        for terms in (explanation.adjoints.terms if explanation.adjoints else {}).values():
            for term in terms:
                self.live.setdefault(term.consumer, set()).add(term.operand)
        for step in explanation.steps:
            if isinstance(step.node, Operation) and step.node.primitive is OUTPUT:
                self.parts.setdefault(step.node.args[0], {})[step.node.params["index"]] = step.node

    # Left sides

    def name(self, step: Step) -> str:
        return self.names.value(step.node)

    def tangent_name(self, step: Step) -> str:
        return self.names.tangent(step.node)

    def adjoint_name(self, step: Step) -> str:
        return self.names.adjoint(step.node)

    def literal(self, x: Any) -> str:
        """A value, tangent or adjoint."""
        return literal(x, self.style)

    # Values

    def value(self, step: Step) -> str:
        """`ln v-1`; for an input its own name, where lines go by labels."""
        if isinstance(step.node, Operation):
            return self.of_value(step.node, self.named)
        return self.own_name(step)

    def value_numbers(self, step: Step) -> str:
        """`ln 2`."""
        return self.of_value(step.node, self.numbered) if isinstance(step.node, Operation) else ""

    def own_name(self, step: Step) -> str:
        if not self.names.by_label or step.name is None:
            return ""
        return Latex().name(step.name, None) if self.style.stacks else step.name

    def of_value(self, node: Operation, known: Known) -> str:
        self.program.known = {a: known(a) for a in node.args}
        if node.primitive is OUTPUT:
            whole = self.named(node.args[0]).text
            index = str(node.params["index"])
            return self.style.subscript(whole, index) if self.style.stacks else f"{whole}.{index}"
        return self.program.with_sign(self.program.expression(node))

    # Tangents

    def tangent(self, step: Step) -> str:
        """`v̇-1 / v-1`; empty for inputs, whose tangents are given, and for what does not change."""
        return self.of_tangent(step.node, self.named, self.tangent_named)

    def tangent_numbers(self, step: Step) -> str:
        return self.of_tangent(step.node, self.numbered, self.tangent_numbered)

    def of_tangent(self, node: Node, known: Known, given: Known) -> str:
        tangents = self.explanation.tangents or {}
        if not isinstance(node, Operation) or node not in tangents:
            return ""
        if node.primitive is OUTPUT:
            return self.pushed(node.args[0], node.params["index"], node, known, given)
        if not isinstance(node.spec, Spec):
            return ""
        return self.pushed(node, 0, node, known, given)

    def pushed(self, node: Node, index: int, result: Node, known: Known, given: Known) -> str:
        assert isinstance(node, Operation)
        live = [a in (self.explanation.tangents or {}) for a in node.args]
        found = self.decided(self.derivations.tangent(node, live)[index], node)
        incoming = [given(a) if alive else None for a, alive in zip(node.args, live, strict=True)]
        if found is not None:
            return self.chain.with_sign(self.written(found, node, known, incoming))
        pairs = [(self.partial(result, a), e) for a, e in zip(node.args, incoming, strict=True) if e is not None]
        return " + ".join([self.chain.with_sign(self.times(*pair)) for pair in pairs])

    # Adjoints

    def adjoint_terms(self, step: Step) -> list[str]:
        """One for each use of the value, as they arrive on the way back: `v̄3 · cos v0`, `v̄2 · v-1`."""
        return [self.term(term, self.named, self.adjoint_named) for term in self.terms(step)]

    def adjoint_numbers(self, step: Step) -> list[str]:
        return [self.term(term, self.numbered, self.adjoint_numbered) for term in self.terms(step)]

    def terms(self, step: Step) -> list[Term]:
        return self.explanation.adjoints.terms.get(step.node, []) if self.explanation.adjoints else []

    def term(self, term: Term, known: Known, given: Known) -> str:
        """What one use of a value adds to its adjoint."""
        node = term.consumer
        assert self.explanation.adjoints is not None
        outs = (
            [node] if isinstance(node.spec, Spec) else [self.parts.get(node, {}).get(i) for i in range(len(node.spec))]
        )
        flowing = [out is not None and out in self.explanation.adjoints.values for out in outs]
        incoming = [given(out) if out is not None and flows else None for out, flows in zip(outs, flowing, strict=True)]
        live = self.live[node]
        found = self.decided(
            self.derivations.adjoints(node, [i in live for i in range(len(node.args))], flowing)[term.operand], node
        )
        operand = node.args[term.operand]
        if found is None:
            pairs = [
                (e, self.partial(out, operand))
                for e, out in zip(incoming, outs, strict=True)
                if e is not None and out is not None
            ]
            return " + ".join([self.chain.with_sign(self.times(*pair)) for pair in pairs])
        expression = self.written(found, node, known, incoming)
        if len(outs) == 1 and not operand.shape and not node.shape:
            expression = self.with_factor(found, expression)
        return self.chain.with_sign(expression)

    def with_factor(self, found: Derivation, expression: Expression) -> Expression:
        """A number that is passed on as it is, or with its sign turned, is shown times 1 or -1, as textbooks do."""
        node, sign = found.result, False
        while isinstance(node, Operation) and is_transparent(node):
            sign, node = sign != (node.primitive is NEGATIVE), node.args[0]
        if node is not found.given.get(0):
            return expression
        whole = expression._replace(negative=expression.negative != sign)
        return self.times(whole, Expression("1", negative=sign))

    # Expressions

    def written(
        self, found: Derivation, node: Operation, known: Known, given: Sequence[Expression | None]
    ) -> Expression:
        """A derivation, under the names that stand on one line."""
        texts: dict[Node, Expression] = {place: known(node.args[i]) for i, place in found.operands.items()}
        texts |= {place: known(self.output(node, i)) for i, place in found.outs.items()}
        texts |= {place: e for i, place in found.given.items() if (e := given[i]) is not None}
        self.chain.known = texts
        for part in found.graph.nodes:
            if isinstance(part, Constant):
                texts[part] = self.chain.constant(part)
            elif isinstance(part, Operation):
                texts[part] = self.chain.expression(part)
        return texts[found.result]

    def decided(self, found: Derivation | None, node: Operation) -> Derivation | None:
        """A derivation without what does not matter for the numbers of one line."""
        if found is None:
            return None
        out = self.values[node]
        return self.derivations.decided(
            found, [self.values[a] for a in node.args], [out] if isinstance(node.spec, Spec) else out
        )

    def output(self, node: Operation, i: int) -> Node:
        """The value of an operation, or one of its values."""
        return node if isinstance(node.spec, Spec) else self.parts.get(node, {}).get(i, node)

    def times(self, left: Expression, right: Expression) -> Expression:
        return self.chain.product(left, right, self.chain.times)

    def partial(self, out: Node, operand: Node) -> Expression:
        """`∂v3/∂v1`, where the formula itself is not shown."""
        above, below = self.names.value(out), self.named(operand).text
        if self.style.stacks:
            return Expression(rf"\frac{{\partial {above}}}{{\partial {below}}}")
        return Expression(f"∂{above}/∂{below}")

    def named(self, node: Node) -> Expression:
        if node in self.names.called:
            return Expression(self.names.value(node))
        node = node.args[0] if isinstance(node, Operation) else node
        return self.program.constant(node) if isinstance(node, Constant) else Expression(self.style.array(node.spec))

    def tangent_named(self, node: Node) -> Expression:
        return Expression(self.names.tangent(node))

    def adjoint_named(self, node: Node) -> Expression:
        return Expression(self.names.adjoint(node))

    def numbered(self, node: Node) -> Expression:
        return self.numeral("value", self.values, node) or self.named(node)

    def tangent_numbered(self, node: Node) -> Expression:
        return self.numeral("tangent", self.explanation.tangents or {}, node) or self.tangent_named(node)

    def adjoint_numbered(self, node: Node) -> Expression:
        return self.numeral(
            "adjoint", self.explanation.adjoints.values if self.explanation.adjoints else {}, node
        ) or self.adjoint_named(node)

    def numeral(self, kind: str, values: dict[Node, Any], node: Node) -> Expression | None:
        """The number of a node, which is written once and used on several lines."""
        key = kind, node
        if key not in self.numerals:
            self.numerals[key] = numeral(values[node], self.style)
        return self.numerals[key]


def is_given(node: Node) -> bool:
    """Whether a value is one number of the program's own, many times over: no line of the trace."""
    return isinstance(node, Operation) and node.source is None and all(isinstance(a, Constant) for a in node.args)
