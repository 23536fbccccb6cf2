"""The formulas of a trace: what each line computes, and the rules of its tangent and adjoint, in names and in numbers.

A derivative is found by running the operation's rule on symbols (`derivation.py`), so every operation with a rule has a
formula. One that is too long for a line is written as a partial derivative.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.primitive import OUTPUT
from wengert.core.spec import Spec
from wengert.explain.explanation import Explanation
from wengert.explain.steps import TraceStep
from wengert.explain.sweeps import Term
from wengert.explain.tables import numbers
from wengert.explain.tables.derivation import Derivation, Derivations
from wengert.explain.tables.names import LatexNames, Names
from wengert.graph.ir import Constant, Node, Operation, is_a
from wengert.graph.mathematics import Expression, Writer, expression, is_transparent
from wengert.graph.notation import ATOM, FRACTION, LN, PRODUCT, SUM, Infix, notation
from wengert.graph.typesetting import Latex, Plain, Style
from wengert.ops.elementwise.arithmetic import multiply, multiply_live, negative
from wengert.ops.shape.reshaping import _broadcast_to, _expand_dims

Writing = Callable[[Node], Expression]
"""How operands are written: by name or by number."""
SMALL = 6
"""The largest array, in elements, that is written in a formula."""
MOST_OPERANDS = 6
LOGARITHMS = {math.log(2.0): "2", math.log(10.0): "10"}
SILENT = ("reuse",)
"""Parameters that do not change the result."""
LONGEST = 30
"""How many characters of an operation's parameters are shown."""


class Text(Plain):
    """Plain text. Every product has its sign, because names are words, and minus is ASCII, so that it can be copied."""

    minus = "-"

    def juxtapose(self, left: str, right: str) -> str:
        return f"{left} {right}"

    def name(self, name: str, _index: int | None) -> str:
        return name


class LineWriter(Writer):
    """Writes the expressions of a trace: operands stay in order, and a sign stays with its operand.

    `times` is the sign of a product: × for products of the program, · for those of the chain rule.
    """

    def __init__(self, style: Style, times: tuple[str, str]):
        super().__init__(style, {})
        self.times = style.pick(times)

    def expression(self, node: Operation) -> Expression:
        if is_a(node, multiply, multiply_live):
            left, right = node.args
            if (pair := outer_factors(left, right)) is not None:
                first, second = [self.known[factor] for factor in pair]
                return self.product(first, Expression(self.style.transpose(self.within(second, ATOM))))
            symbol = self.style.elementwise if left.shape and right.shape else self.times
            return self.product(self.known[left], self.known[right], symbol)
        if len(node.args) > MOST_OPERANDS:
            args = [self.with_sign(self.known[a]) for a in (*node.args[:3], node.args[-1])]
            return self.call(
                self.style.operator(node.primitive.name), [*args[:3], self.style.pick(("…", r"\ldots")), args[3]], node
            )
        text = super().expression(node)
        is_infix = expression.of(node.primitive) is None and isinstance(notation.of(node.primitive), Infix)
        # a · (b // c) is not a · b // c
        return text._replace(precedence=FRACTION) if is_infix and text.precedence == PRODUCT else text

    def call(self, symbol: str, args: list[str], node: Operation) -> Expression:
        params = {word: value for word, value in node.params.items() if word not in SILENT}
        node = Operation(node.primitive, node.args, params, node.spec)
        full, bare = super().call(symbol, args, node), f"{symbol}{self.style.parentheses(', '.join(args))}"
        return full if len(full.text) <= len(bare) + LONGEST else Expression(bare)

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
        if below.precedence <= FRACTION or below.precedence == PRODUCT:
            bottom = self.within(below, ATOM)
        else:
            bottom = self.within(below, SUM)
        top = self.within(above._replace(negative=False), PRODUCT, follows=True)
        return Expression(f"{top} / {bottom}", FRACTION, negative=above.negative)


def numeral(x: Any, style: Style, limit: int = SMALL) -> Expression | None:
    """A number, or a small array, as part of a formula; None if it is too large."""
    x = numbers.plain_value(x)
    if isinstance(x, tuple | list | Array) or x is None or np.size(x) > limit:
        return None
    if np.ndim(x) or not isinstance(x, int | float | np.number) or isinstance(x, bool):
        text = value_text(x, style)
        return Expression(style.parentheses(text) if np.iscomplexobj(x) and not np.ndim(x) else text)
    text = value_text(x, style)
    return Expression(text.removeprefix("-"), negative=text.startswith("-"))


def value_text(x: Any, style: Style, limit: int = SMALL) -> str:
    """A value as it is written behind the last equals sign."""
    if not style.stacks:
        return numbers.format_value(x, limit)
    if isinstance(x, tuple | list):
        return style.parentheses(", ".join([value_text(part, style, limit) for part in x]))
    x = numbers.plain_value(x)
    if isinstance(x, np.ndarray) and 0 < x.ndim <= 2 and x.size <= limit:
        rows = [x] if x.ndim == 1 else x
        body = r" \\ ".join([" & ".join([value_text(element, style) for element in row]) for row in rows])
        return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"
    text = numbers.format_value(x, limit)
    if isinstance(x, np.ndarray) and x.ndim or isinstance(x, Array) or x is None or isinstance(x, bool | np.bool_):
        return rf"\text{{{style.code(text)}}}"
    text = text.replace("inf", r"\infty").replace("nan", r"\mathrm{NaN}").replace("j", r"\mathrm{i}")
    return re.sub(r"e([+-])0*(\d+)", lambda m: rf" \cdot 10^{{{m[1].replace('+', '')}{m[2]}}}", text)


class Formulas:
    """Right sides for the lines of an explanation, in plain text or in LaTeX."""

    def __init__(self, explanation: Explanation, style: Style | None = None):
        self.explanation = explanation
        self.style: Style = Latex() if style is not None and style.stacks else Text()
        self.steps = [step for step in explanation.steps if not is_spread_constant(step.node)]
        self.names = (LatexNames if self.style.stacks else Names)(self.steps)
        self.derivations = Derivations()
        self.values = explanation.recording.values
        self.adjoint_values = explanation.adjoints.values if explanation.adjoints is not None else {}
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

    def name(self, step: TraceStep) -> str:
        return self.names.value(step.node)

    def tangent_name(self, step: TraceStep) -> str:
        return self.names.tangent(step.node)

    def literal(self, x: Any) -> str:
        """A value, tangent or adjoint."""
        return value_text(x, self.style)

    # Values

    def value(self, step: TraceStep) -> str:
        """`ln v-1`; for an input its own name, if values are named by labels."""
        if isinstance(step.node, Operation):
            return self.value_formula(step.node, self.by_name)
        return self.own_name(step)

    def value_numbers(self, step: TraceStep) -> str:
        """`ln 2`."""
        return self.value_formula(step.node, self.by_number) if isinstance(step.node, Operation) else ""

    def own_name(self, step: TraceStep) -> str:
        if not self.names.by_label or step.name is None:
            return ""
        return Latex().name(step.name, None) if self.style.stacks else step.name

    def value_formula(self, node: Operation, known: Writing) -> str:
        self.program.known = {a: known(a) for a in node.args}
        if node.primitive is OUTPUT:
            whole = self.by_name(node.args[0]).text
            index = str(node.params["index"])
            return self.style.subscript(whole, index) if self.style.stacks else f"{whole}.{index}"
        return self.program.with_sign(self.program.expression(node))

    # Tangents

    def tangent(self, step: TraceStep) -> str:
        """`v̇-1 / v-1`; empty for inputs, whose tangents are given, and for what does not vary."""
        return self.tangent_formula(step.node, self.by_name, self.tangent_by_name)

    def tangent_numbers(self, step: TraceStep) -> str:
        return self.tangent_formula(step.node, self.by_number, self.tangent_by_number)

    def tangent_formula(self, node: Node, known: Writing, given: Writing) -> str:
        tangents = self.explanation.tangents or {}
        if not isinstance(node, Operation) or node not in tangents:
            return ""
        if node.primitive is OUTPUT:
            return self._tangent_of_output(node.args[0], node.params["index"], node, known, given)
        if not isinstance(node.spec, Spec):
            return ""
        return self._tangent_of_output(node, 0, node, known, given)

    def _tangent_of_output(self, node: Node, index: int, result: Node, known: Writing, given: Writing) -> str:
        assert isinstance(node, Operation)
        live = [a in (self.explanation.tangents or {}) for a in node.args]
        found = self._decide(self.derivations.tangent(node, live)[index], node)
        incoming = [given(a) if alive else None for a, alive in zip(node.args, live, strict=True)]
        if found is not None:
            return self.chain.with_sign(self._write(found, node, known, incoming))
        pairs = [(self.partial(result, a), e) for a, e in zip(node.args, incoming, strict=True) if e is not None]
        return " + ".join([self.chain.with_sign(self.times(*pair)) for pair in pairs])

    # Adjoints

    def term(self, term: Term, known: Writing, given: Writing) -> str:
        """What one use of a value contributes to its adjoint."""
        node = term.consumer
        outs = self.outputs(node)
        incoming = [given(out) if out is not None and out in self.adjoint_values else None for out in outs]
        found = self._decide(self.adjoint_derivation(term), node)
        operand = node.args[term.operand]
        if found is None:
            pairs = [
                (e, self.partial(out, operand))
                for e, out in zip(incoming, outs, strict=True)
                if e is not None and out is not None
            ]
            return " + ".join([self.chain.with_sign(self.times(*pair)) for pair in pairs])
        expression = self._write(found, node, known, incoming)
        if len(outs) == 1 and not operand.shape and not node.shape:
            expression = self.with_factor(found, expression)
        return self.chain.with_sign(expression)

    def adjoint_derivation(self, term: Term) -> Derivation | None:
        """The rule of a term as a graph."""
        node, live = term.consumer, self.live[term.consumer]
        flowing = [out is not None and out in self.adjoint_values for out in self.outputs(node)]
        return self.derivations.adjoints(node, [i in live for i in range(len(node.args))], flowing)[term.operand]

    def outputs(self, node: Operation) -> list[Node | None]:
        """The operation, or the steps that pick its outputs."""
        if isinstance(node.spec, Spec):
            return [node]
        return [self.parts.get(node, {}).get(i) for i in range(len(node.spec))]

    def with_factor(self, found: Derivation, expression: Expression) -> Expression:
        """An adjoint that is passed on, possibly with its sign changed, is written times 1 or -1, as in textbooks."""
        node, sign = found.result, False
        while isinstance(node, Operation) and is_transparent(node):
            sign, node = sign != is_a(node, negative), node.args[0]
        if node is not found.given.get(0):
            return expression
        whole = expression._replace(negative=expression.negative != sign)
        return self.times(whole, Expression("1", negative=sign))

    # Expressions

    def _write(
        self, found: Derivation, node: Operation, known: Writing, given: Sequence[Expression | None]
    ) -> Expression:
        """A derivation, with the operands of one line."""
        texts: dict[Node, Expression] = {symbol: known(node.args[i]) for i, symbol in found.operands.items()}
        texts |= {symbol: known(self.output(node, i)) for i, symbol in found.outs.items()}
        texts |= {symbol: e for i, symbol in found.given.items() if (e := given[i]) is not None}
        self.chain.known = texts
        for part in found.graph.nodes:
            if isinstance(part, Constant):
                texts[part] = self.chain.constant(part)
            elif isinstance(part, Operation):
                texts[part] = self.chain.expression(part)
        return texts[found.result]

    def _decide(self, found: Derivation | None, node: Operation) -> Derivation | None:
        """A derivation without the branches that are not taken for the numbers of one line."""
        if found is None:
            return None
        out = self.values[node]
        return self.derivations.decide(
            found, [self.values[a] for a in node.args], [out] if isinstance(node.spec, Spec) else out
        )

    def output(self, node: Operation, i: int) -> Node:
        """The output of an operation, or one of several."""
        return node if isinstance(node.spec, Spec) else self.parts.get(node, {}).get(i, node)

    def times(self, left: Expression, right: Expression) -> Expression:
        return self.chain.product(left, right, self.chain.times)

    def partial(self, out: Node, operand: Node) -> Expression:
        """`∂v3/∂v1`, if the formula itself is not shown."""
        above, below = self.names.value(out), self.by_name(operand).text
        if self.style.stacks:
            return Expression(rf"\frac{{\partial {above}}}{{\partial {below}}}")
        return Expression(f"∂{above}/∂{below}")

    def by_name(self, node: Node) -> Expression:
        if node in self.names.called:
            return Expression(self.names.value(node))
        node = node.args[0] if isinstance(node, Operation) else node
        if isinstance(node, Constant) and node.name is not None:
            return Expression(self.style.operator(node.name) if self.style.stacks else node.name)
        return self.program.constant(node) if isinstance(node, Constant) else Expression(self.style.array(node.spec))

    def tangent_by_name(self, node: Node) -> Expression:
        return Expression(self.names.tangent(node))

    def adjoint_by_name(self, node: Node) -> Expression:
        return Expression(self.names.adjoint(node))

    def by_number(self, node: Node) -> Expression:
        return self.numeral("value", self.values, node) or self.by_name(node)

    def tangent_by_number(self, node: Node) -> Expression:
        return self.numeral("tangent", self.explanation.tangents or {}, node) or self.tangent_by_name(node)

    def adjoint_by_number(self, node: Node) -> Expression:
        return self.numeral("adjoint", self.adjoint_values, node) or self.adjoint_by_name(node)

    def numeral(self, kind: str, values: dict[Node, Any], node: Node) -> Expression | None:
        """The number of a node, which is formatted once and used on several lines."""
        key = kind, node
        if key not in self.numerals:
            self.numerals[key] = numeral(values[node], self.style)
        return self.numerals[key]


def outer_factors(left: Node, right: Node) -> tuple[Node, Node] | None:
    """The two vectors of an outer product, which is written as a column times a row; None if it is none."""
    if not is_a(left, _expand_dims) or left.shape[1:] != (1,) or left.args[0].ndim != 1:
        return None
    row = right.args[0] if is_a(right, _expand_dims, _broadcast_to) else right
    return (left.args[0], row) if row.ndim == 1 and right.shape[-1:] == row.shape else None


def is_spread_constant(node: Node) -> bool:
    """Whether a value is a broadcast constant, which has no line in the trace."""
    return isinstance(node, Operation) and node.source is None and all(isinstance(a, Constant) for a in node.args)
