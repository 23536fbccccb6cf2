"""Graphs as mathematics: what textbooks print, and what a parser of mathematics reads back as the same numbers."""

from __future__ import annotations

import cmath
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import by_operation
from tests.test_table import CONSTANT, ELEMENTWISE, OTHERS, SHAPES, case_arguments, op_of, sample

import wengert as wg
from wengert.core.errors import TrackedValueError
from wengert.core.primitive import TABLE
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, make_operation
from wengert.transforms.tracing import gradients, symbol, trace


def running_example() -> Graph:
    x1, x2 = symbol("x1"), symbol("x2")
    inputs = [x.node for x in (x1, x2) if isinstance(x.node, Input)]
    y = np.log(x1) + x1 * x2 - np.sin(x2)
    return Graph(inputs, [s.node for s in (y, *gradients(y, [x1, x2]))])


def test_the_running_example_and_its_derivatives():
    assert running_example().mathematics().splitlines() == [
        "y = ln x₁ + x₁x₂ − sin x₂",
        "f₂ = x₂ + 1/x₁",
        "f₃ = x₁ − cos x₂",
    ]


def test_the_running_example_in_latex():
    assert running_example().latex().splitlines() == [
        r"\begin{aligned}",
        r"y &= \ln x_{1} + x_{1} x_{2} - \sin x_{2} \\",
        r"f_{2} &= x_{2} + \frac{1}{x_{1}} \\",
        r"f_{3} &= x_{1} - \cos x_{2}",
        r"\end{aligned}",
    ]


def test_one_equation_for_each_value_with_a_name():
    def logistic(x):
        l = x  # noqa: E741  # the textbook calls it so
        for _ in range(2):
            l = 4 * l * (1 - l)  # noqa: E741  # the textbook calls it so
        return l

    assert trace(logistic, 0.3).mathematics().splitlines() == ["l₁ = 4x(1 − x)", "l₂ = 4l₁(1 − l₁)"]


def test_one_equation_for_each_value_that_is_shared():
    assert trace(wg.grad(np.tanh), 0.3).mathematics().splitlines() == ["v₁ = tanh x", "f = 1 − v₁²"]


@pytest.mark.parametrize(
    ("f", "plain", "latex"),
    [
        (lambda x, y: x * x, "x²", "x^{2}"),
        (lambda x, y: x**2.0 * y, "x²y", "x^{2} y"),
        (lambda x, y: (x + y) ** 3, "(x + y)³", "(x + y)^{3}"),
        (lambda x, y: x ** (y + 1), "x^(y + 1)", "x^{y + 1}"),
        (lambda x, y: (x**3) ** y, "(x³)ʸ", "(x^{3})^{y}"),
        (lambda x, y: np.sqrt(x), "√x", r"\sqrt{x}"),
        (lambda x, y: np.sqrt(x + y), "√(x + y)", r"\sqrt{x + y}"),
        (lambda x, y: np.sin(x) * y, "sin(x) y", r"\sin(x) y"),
        (lambda x, y: y * np.sin(x), "y sin x", r"y \sin x"),
        (lambda x, y: np.sin(2 * x), "sin(2x)", r"\sin(2 x)"),
        (lambda x, y: np.sin(x) ** 2, "sin² x", r"\sin^{2} x"),
        (lambda x, y: np.exp(-x), "exp(−x)", "e^{-x}"),
        (lambda x, y: np.log1p(x), "ln(1 + x)", r"\ln(1 + x)"),
        (lambda x, y: x / (y * x), "x/(yx)", r"\frac{x}{y x}"),
        (lambda x, y: (x / y) * x, "(x/y) x", r"\frac{x}{y} x"),
        (lambda x, y: x - (y - x), "x − (y − x)", "x - (y - x)"),
        (lambda x, y: x - (-y), "x + y", "x + y"),
        (lambda x, y: -x + y, "y − x", "y - x"),
        (lambda x, y: y + (-x - y), "y − x − y", "y - x - y"),
        (lambda x, y: -y + (-x - y), "−y − x − y", "-y - x - y"),
        (lambda x, y: x + (y + x), "x + y + x", "x + y + x"),
        (lambda x, y: x * -2.0, "−2x", "-2 x"),
        (lambda x, y: (x + y) * 0.5, "0.5(x + y)", "0.5 (x + y)"),
        (lambda x, y: x * 1e-8, "10⁻⁸x", "10^{-8} x"),
        (lambda x, y: x * (1 / 3), "0.333333…x", r"0.333333\ldots \, x"),
        (lambda x, y: x * np.pi, "πx", r"\pi x"),
        (lambda x, y: abs(x - y), "|x − y|", r"\left|x - y\right|"),
        (lambda x, y: np.maximum(x, y), "max(x, y)", r"\max(x, y)"),
        (lambda x, y: wg.sigmoid(x) ** 2, "σ(x)²", r"\sigma(x)^{2}"),
        (lambda x, y: np.hypot(x, y), "hypot(x, y)", r"\mathrm{hypot}(x, y)"),
        (lambda x, y: x <= y, "x ≤ y", r"x \leq y"),
        (
            lambda x, y: np.where(x > y, x, 0.0),
            "{x if x > y, else 0}",
            r"\begin{cases}x & x > y \\ 0 & \text{otherwise}\end{cases}",
        ),
        (lambda x, y: 1 / x, "1/x", r"\frac{1}{x}"),
    ],
)
def test_usual_notation(f, plain, latex):
    graph = trace(f, np.float64(0.3), np.float64(0.7))
    assert graph.mathematics() == f"f = {plain}"
    assert graph.latex() == f"f = {latex}"


def test_arrays():
    def f(W, x, b):
        return np.sum((W @ x + b) * b)

    assert trace(f, np.ones((2, 3)), np.ones(3), np.ones(2)).mathematics() == "f = Σ (Wx + b) ⊙ b"
    assert trace(lambda A: (A.T @ A).sum(axis=0), np.ones((2, 3))).mathematics() == "f = Σ₀ AᵀA"
    assert (
        trace(lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2), np.ones(3)).mathematics()
        == "f = Σ 100(x[1:] − x[:-1]²)²"
    )


def test_names():
    def f(theta, params, step_12):
        return theta * params["w"] + step_12

    graph = trace(f, 1.0, {"w": 2.0}, 3.0)
    assert graph.mathematics() == "f = θ params_w + step₁₂"
    assert graph.latex() == r"f = \theta \, \mathrm{params}_{w} + \mathrm{step}_{12}"


def test_results_that_are_inputs_or_constants():
    assert trace(lambda x: (x, 2.0, np.sin(x)), 1.0).mathematics().splitlines() == ["f₁ = x", "f₂ = 2", "f₃ = sin x"]


class Reader:
    """Reads plain mathematics as people do, and computes: sums of terms, terms of factors side by side, one fraction
    bar, powers.
    """

    TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?|ln|exp|sin|cos|[a-z][₀-₉]*|[⁻⁰¹²³⁴-⁹]+|.)")
    FUNCTIONS = {"ln": cmath.log, "exp": cmath.exp, "sin": cmath.sin, "cos": cmath.cos}

    def __init__(self, text: str, known: dict[str, complex]):
        self.tokens, self.known = self.TOKEN.findall(text), known

    def next(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def sum(self) -> complex:
        value = self.term(-1 if self.taken("−") else 1)
        while self.next() in ("+", "−"):
            value += self.term(1 if self.tokens.pop(0) == "+" else -1)
        return value

    def taken(self, token: str) -> bool:
        return self.next() == token and bool(self.tokens.pop(0))

    def term(self, value: complex) -> complex:
        value *= self.factor()
        while self.next() not in ("", "+", "−", ")", "/"):
            self.taken("·")
            value *= self.factor()
        if self.taken("/"):
            value /= self.factor()
            assert self.next() in ("", "+", "−", ")", "·"), (
                "what follows a fraction on one line could belong to either side"
            )
            value *= self.term(1) if self.taken("·") else 1
        return value

    def factor(self) -> complex:
        if self.next() in self.FUNCTIONS:
            function, power = self.FUNCTIONS[self.tokens.pop(0)], self.exponent()
            return function(self.primary()) ** power
        if self.taken("√"):
            return cmath.sqrt(self.primary())
        return self.primary() ** self.exponent()

    def exponent(self) -> int:
        raised = re.fullmatch(r"[⁻⁰¹²³⁴-⁹]+", self.next())
        return int(self.tokens.pop(0).translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))) if raised else 1

    def primary(self) -> complex:
        if self.taken("("):
            value = self.sum()
            assert self.taken(")")
            return value
        if self.next() == "√" or self.next() in self.FUNCTIONS:
            return self.factor()
        token = self.tokens.pop(0)
        return complex(token) if token[0].isdigit() else self.known[token]


UNARY = (
    np.sin,
    np.exp,
    np.negative,
    np.square,
    np.sqrt,
    np.log,
    np.cos,
    lambda x: 2.0 - x,
    lambda x: 3.0 * x,
    lambda x: x**3,
    np.reciprocal,
)
BINARY = (np.add, np.subtract, np.multiply, np.divide, np.add, np.multiply)


@settings(max_examples=120)
@given(st.lists(st.tuples(st.integers(0, 16), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=14))
def test_random_expressions_mean_what_they_say(steps):
    def f(x, y):
        values = [x, y]
        for kind, i, j in steps:
            a, b = values[-1 - i % len(values)], values[-1 - j % len(values)]
            values.append(UNARY[kind](a) if kind < len(UNARY) else BINARY[kind - len(UNARY)](a, b))
        return values[-1]

    graph = trace(f, np.float64(0.3), np.float64(0.7))
    expected = complex(graph.evaluate(np.float64(0.3), np.float64(0.7)))
    if not np.isfinite(expected) or abs(expected) > 1e8:
        return
    known = {"x": 0.3 + 0j, "y": 0.7 + 0j}
    for line in graph.mathematics().splitlines():
        left, right = line.split(" = ")
        reader = Reader(right, known)
        try:
            known[left] = reader.sum()
        except ZeroDivisionError:  # of which the graph made an infinity on the way to a finite number
            return
        assert not reader.tokens
    assert known["f"] == pytest.approx(expected, rel=1e-6, abs=1e-6)


RENDERED = [
    *[
        pytest.param(p, sample(p, SHAPES["vector"]), p.trial.params, id=p.name)
        for p in (*ELEMENTWISE, *CONSTANT)
        if p.trial.domain and not p.trial.cases
    ],
    *[
        pytest.param(p, case_arguments(c), c.params, id=f"{p.name}-{k}")
        for p in (*OTHERS, *CONSTANT)
        for k, c in enumerate(p.trial.cases)
    ],
]


@by_operation(("primitive", "args", "params"), RENDERED)
def test_every_operation_has_balanced_text(primitive, args, params):
    try:
        graph = trace(op_of(primitive, params), *args)
    except (TrackedValueError, TypeError):
        return
    for text in (graph.mathematics(), graph.latex()):
        plain = re.sub(r"\\[{}|]", "", text)
        for opening, closing in ("()", "{}"):
            assert plain.count(opening) == plain.count(closing)
        assert text.count(r"\left") == text.count(r"\right") + 2 * text.count(r"\leftarrow")


def test_latex_is_understood_by_a_typesetter():
    mathtext = pytest.importorskip("matplotlib.mathtext")
    parser = mathtext.MathTextParser("path")
    rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    graphs = [
        running_example(),
        trace(wg.grad(lambda x: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)), 0.3),
        trace(wg.grad(rosenbrock), np.ones(4)),
        trace(wg.grad(lambda W, x: np.sum(wg.sigmoid(W @ x) ** 2)), np.ones((2, 3)), np.ones(3)),
    ]
    for graph in graphs:
        for line in graph.latex().splitlines():
            if "aligned" not in line:
                parser.parse(f"${line.removesuffix(' ' + chr(92) * 2).replace('&', '')}$")


def test_a_long_chain_is_many_equations():
    node = first = Input(Spec((), np.dtype(float)), name="x")
    for _ in range(10_000):
        node = make_operation(TABLE["sin"], [node])
    lines = Graph([first], [node]).mathematics().splitlines()
    assert lines[0].startswith("v₁ = sin(sin(")
    assert max(map(len, lines)) < 200
