"""Formulas of values, tangents and adjoints: as textbooks write them, and true, for every operation of the table."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from tests.explain.textbook import running
from tests.sampling import by_operation
from tests.test_modes import problems
from tests.test_table import SHAPES, by_name, live_arguments, op_of, sample

import wengert as wg
from wengert.core.primitive import TABLE
from wengert.explain.explanation import explain
from wengert.explain.tables.formulas import Formulas
from wengert.explain.tables.numbers import format_array, format_number, format_value
from wengert.graph.typesetting import Latex, Plain

ELEMENTWISE = [p for p in TABLE.values() if p.kind == "elementwise"]


def adjoint_terms(of, step):
    """One for each use of a value, in names."""
    return [of.term(term, of.by_name, of.adjoint_by_name) for term in of.explanation.adjoints.terms.get(step.node, [])]


def adjoint_numbers(of, step):
    """One for each use of a value, in numbers."""
    terms = of.explanation.adjoints.terms.get(step.node, [])
    return [of.term(term, of.by_number, of.adjoint_by_number) for term in terms]


def formulas(f, *args, style=None, mode="both"):
    explanation = explain(f, *args, mode=mode)
    return Formulas(explanation, style), {step.label: step for step in explanation.steps}


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (math.log(2.0), "0.693"), (10.0, "10"), (1.7163378, "1.716"), (-0.28366, "-0.284"), (1.2e-05, "1.2e-05"),
        (10.69314, "10.693"),
        (0.1 + 0.2, "0.3"), (np.float32(0.1), "0.1"), (0.99996, "1.000"), (0.012345, "0.0123"), (0.5, "0.5"),
        (-1.0, "-1"), (7, "7"),
        (1234.5678, "1234.57"), (1.5e10, "1.5e+10"), (5e-324, "4.941e-324"), (np.nan, "nan"), (-np.inf, "-inf"),
        (True, "True"),
        (1.0 + 2.5j, "1+2.5j"), (-0.5j, "0-0.5j"), (np.int64(3), "3"), (0.0, "0"),
    ],
)  # fmt: skip
def test_number(x, text):
    assert format_number(x) == text


def test_number_of_digits():
    assert [format_number(math.pi, digits) for digits in (2, 4, 6)] == ["3.1", "3.142", "3.14159"]


def test_arrays_are_shown_in_full_while_they_are_small():
    assert format_array(np.arange(6.0).reshape(2, 3)) == "[[0, 1, 2], [3, 4, 5]]"
    assert format_array(np.arange(7.0)) == "f64[7] mean 3, from 0 to 6"
    assert format_array(np.full((4, 5), 0.25)) == "f64[4,5] all 0.25"
    assert format_array(np.r_[np.nan, np.arange(9.0)]) == "f64[10] 1 not finite, others from 0 to 8"
    assert format_array(np.arange(9) > 5) == "bool[9] 3 of 9 true"
    assert format_array(np.full(9, np.inf)) == "f64[9] nothing finite"
    assert format_value((np.ones(2), None)) == "([1, 1], none)"
    assert format_value((np.ones(9), np.ones(2))) == "(f64[9], f64[2])"
    assert format_value(wg.tensor([1.0, 2.0])) == "[1, 2]"


def test_running_example_in_names_and_numbers():
    of, steps = formulas(running, 2.0, 5.0)
    assert [of.name(s) for s in steps.values()] == ["v-1", "v0", "v1", "v2", "v3", "v4", "v5"]
    assert [of.value(s) for s in steps.values()] == ["x1", "x2", "ln v-1", "v-1 × v0", "sin v0", "v1 + v2", "v4 - v3"]
    assert [of.value_numbers(s) for s in steps.values()] == [
        "",
        "",
        "ln 2",
        "2 × 5",
        "sin 5",
        "0.693 + 10",
        "10.693 + 0.959",
    ]
    assert of.tangent(steps["v2"]) == "v̇-1 · v0 + v̇0 · v-1"
    assert of.tangent_numbers(steps["v2"]) == "1 · 5 + 0 · 2"
    assert adjoint_terms(of, steps["v0"]) == ["v̄3 · cos v0", "v̄2 · v-1"]
    assert adjoint_numbers(of, steps["v0"]) == ["-1 · cos 5", "1 · 2"]
    assert adjoint_terms(of, steps["v3"]) == ["v̄5 · (-1)"]
    assert adjoint_terms(of, steps["v5"]) == []


def test_running_example_in_latex():
    of, steps = formulas(running, 2.0, 5.0, style=Latex())
    assert of.name(steps["v-1"]) == "v_{-1}"
    assert of.value(steps["v-1"]) == "x_{1}"
    assert of.value(steps["v1"]) == r"\ln v_{-1}"
    assert of.tangent(steps["v1"]) == r"\frac{\dot{v}_{-1}}{v_{-1}}"
    assert adjoint_terms(of, steps["v0"]) == [r"\bar{v}_{3} \cdot \cos v_{0}", r"\bar{v}_{2} \cdot v_{-1}"]


def test_forms_of_names():
    def f(weight, x_1):
        loss2 = weight * x_1
        loss2 = np.sin(loss2)
        v3 = loss2 * np.exp(x_1)
        return v3  # noqa: RET504  # the name is what is tested

    of, steps = formulas(f, 2.0, 3.0)
    assert [of.name(s) for s in steps.values()] == ["weight", "x_1", "loss2[0]", "loss2[1]", "v3'", "v3"]
    assert of.names.adjoint(steps["v4"].node) == "grad_v3"
    assert of.names.adjoint(steps["v1"].node) == "grad_loss2[0]"
    assert of.tangent_name(steps["v0"]) == "d_x_1"
    tex, steps = formulas(f, 2.0, 3.0, style=Latex())
    assert tex.names.adjoint(steps["v1"].node) == r"\overline{\mathrm{loss}}_{2,[0]}"
    assert tex.tangent_name(steps["v-1"]) == r"\dot{\mathrm{weight}}"
    assert tex.name(steps["v0"]) == "x_{1}"
    assert tex.name(steps["v3"]) == r"v_{3\prime}"


@pytest.mark.parametrize(
    ("f", "args", "terms"),
    [
        (lambda x: x**2, (3.0,), ["v̄1 · 2 · v0"]),
        (lambda x: x**2.7, (3.0,), ["v̄1 · 2.7 · v0^(2.7 - 1)"]),
        (lambda x: x * x, (3.0,), ["v̄1 · v0", "v̄1 · v0"]),
        (lambda x: -x, (3.0,), ["v̄1 · (-1)"]),
        (lambda x: np.cos(x), (3.0,), ["-v̄1 · sin v0"]),
        (lambda x: np.maximum(x, 1.0), (3.0,), ["{v̄1 if v0 > 1, else 0}"]),
        (lambda x: np.maximum(x, 3.0), (3.0,), ["{v̄1 if v0 > 3, else 0.5 · v̄1}"]),
        (lambda x: wg.relu(x), (3.0,), ["{v̄1 if v1 > 0, else 0}"]),
        (lambda x: x.sum(), (np.ones(3),), ["v̄1"]),
        (lambda x: x.mean(), (np.ones(3),), ["v̄1 / 3"]),
        (lambda x, y: (x + y), (np.ones(3), 1.0), ["v̄1"]),
        (lambda x, w: x @ w, (np.ones((2, 3)), np.ones((3, 4))), ["v̄1 v0ᵀ"]),
        (lambda x: np.linalg.norm(x), (np.ones(3),), ["(v̄1 / v1) · v0"]),
        (lambda x: x[1:], (np.ones(3),), ["(0 with [1:] ← v̄1)"]),
        (lambda x: np.prod(x), (np.arange(1.0, 4.0),), ["v̄1 · ∂v1/∂v0"]),
    ],
)  # fmt: skip
def test_adjoints_of_common_operations(f, args, terms):
    of, steps = formulas(f, *args, mode="reverse")
    first = next(step for step in steps.values() if step.is_input)
    assert adjoint_terms(of, first) == terms


def test_sum_over_broadcast_axes():
    of, steps = formulas(lambda x, y: x * y, np.ones(3), 2.0)
    assert adjoint_terms(of, steps["v0"]) == ["Σ v̄1 ⊙ v-1"]


def test_the_style_decides_the_language():
    explanation = explain(running, 2.0, 5.0)
    assert "\\" not in Formulas(explanation, Plain()).value(explanation.steps[2])
    assert "\\" in Formulas(explanation, Latex()).value(explanation.steps[2])


def test_constants_of_the_program():
    of, steps = formulas(lambda x: 3.7 * x + np.array([1.0, 2.0]), np.ones(2))
    assert of.value(steps["v1"]) == "3.7 × v0" or of.value(steps["v1"]) == "v0 × 3.7"
    assert of.value(steps["v2"]) == "v1 + [1, 2]"
    large, _ = formulas(lambda x: x * np.arange(50.0), np.ones(50))
    assert large.value(large.steps[1]) == "v0 ⊙ constant(f64[50])"
    same, _ = formulas(lambda x: x * np.broadcast_to(2.0, 3), np.ones(3))
    assert [step.operation for step in same.steps] == [None, "multiply"]
    assert same.value(same.steps[1]) == "v0 ⊙ [2, 2, 2]"


def test_many_operands():
    of, steps = formulas(lambda *xs: np.concatenate(xs), *[np.ones(1)] * 20)
    assert of.value(steps["v1"]) == "concatenate(v-19, v-18, v-17, …, v0; axis = 0)"


def test_one_derivation_serves_all_rounds_of_a_loop():
    def f(x):
        for i in range(200):
            x = np.sin(x) * x + 0.01 * i
        return x

    of, _ = formulas(f, 0.5)
    for step in of.steps:
        of.tangent(step), adjoint_terms(of, step)
    assert len(of.derivations.known) < 20


SIGNS = {
    "; order = ": ", order=", "×": "*", "·": "*", "⊙": "*", "²": "**2", "³": "**3", "^": "**", "√": "sqrt ",
    "{": "(", "}": ")",
    ", else": " else", " mod ": " % ", " = ": " == ", "σ": "sigmoid", "sgn": "sign", "Re(": "real(", "Im(": "imag(",
    "arg(": "angle(",
    "log₂": "log2", "log₁₀": "log10", "ln": "log",
}  # fmt: skip
CALLS = r"\b(log2|log10|log|sin|cos|tan|sinh|cosh|tanh|arcsin|arccos|arctan|exp|sqrt) (\w+|\([^()]*\))"
LABELS = re.compile("v([\u0304\u0307]?)(-?)(\\d+)")


def evaluated(text, names):
    """A formula in plain text, as Python computes it."""
    text = re.sub(r"\|([^|]*)\|", r"absolute(\1)", text)
    text = LABELS.sub(lambda m: "v" + {"": "", "\u0304": "b", "\u0307": "d"}[m[1]] + ("m" if m[2] else "") + m[3], text)
    for sign, python in SIGNS.items():
        text = text.replace(sign, python)
    text = re.sub(r"\bmax\(", "maximum(", re.sub(r"\bmin\(", "minimum(", text))
    text = re.sub(r"(\w+)\*(?![\w*( ])", r"\1", text)  # the conjugate of a real number
    text = re.sub(CALLS, r"\1(\2)", text)
    functions = {name: p.op for name, p in TABLE.items()} | {
        "inf": math.inf,
        "sinc": lambda x, order: TABLE["sinc"].op(x, order=order),
    }
    return eval(text, functions, names)


SPECIAL = ("wengert.ops.special", "wengert.ops.scipy")
UNREADABLE = {p.name for p in ELEMENTWISE if getattr(p.impl, "__module__", "numpy").startswith(SPECIAL)} | {"psum"}
"""Special functions and collectives have notations and parameters that would need a reader of their own."""


@by_name([p for p in ELEMENTWISE if p.name not in UNREADABLE])
def test_formulas_compute_what_they_stand_for(primitive):
    args = sample(primitive, SHAPES["0-d"])
    live = live_arguments(primitive, args)

    def f(*given):
        full = list(args)
        for i, x in zip(live, given, strict=True):
            full[i] = x
        return op_of(primitive)(*full)

    explanation = explain(f, *[args[i] for i in live], mode="both")
    of = Formulas(explanation)
    python = lambda mark, step: f"v{mark}{step.label[1:].replace('-', 'm')}"
    names = {python("", s): s.value for s in of.steps} | {
        python("d", s): explanation.tangents[s.node] for s in of.steps
    }
    names |= {
        python("b", s): explanation.adjoints.values[s.node] for s in of.steps if s.node in explanation.adjoints.values
    }
    result = of.steps[-1]
    np.testing.assert_allclose(evaluated(of.value(result), names), result.value, rtol=5e-3, err_msg=of.value(result))
    expected = explanation.tangents[result.node]
    np.testing.assert_allclose(
        evaluated(of.tangent(result), names), expected, rtol=5e-3, atol=1e-12, err_msg=of.tangent(result)
    )
    for step in explanation.inputs:
        for text, term in zip(adjoint_terms(of, step), explanation.adjoints.terms[step.node], strict=True):
            np.testing.assert_allclose(evaluated(text, names), term.value, rtol=5e-3, atol=1e-12, err_msg=text)


def test_the_evaluation_of_formulas_can_fail():
    names = {"v0": 2.0, "vb1": 3.0}
    assert evaluated("v̄1 · cos v0", names) == 3.0 * math.cos(2.0)
    assert evaluated("v̄1 · (v0 // 3)", names) != evaluated("v̄1 · v0 // 3", names)


@by_operation(("op", "args", "live"), problems())
def test_every_operation_prints_in_every_form(op, args, live):
    def f(*given):
        full = list(args)
        for i, x in zip(live, given, strict=True):
            full[i] = x
        return op(*full)

    explanation = explain(f, *[args[i] for i in live], mode="both")
    for style in (Plain(), Latex()):
        of = Formulas(explanation, style)
        for step in of.steps:
            if step.is_input:
                terms = adjoint_terms(of, step)
                assert (
                    len(terms) == len(adjoint_numbers(of, step)) == len(explanation.adjoints.terms.get(step.node, ()))
                )
                assert all(terms)
            else:
                assert of.value(step)
                assert of.value_numbers(step)
                assert of.tangent(step) or isinstance(step.value, tuple | list)
                assert bool(of.tangent(step)) == bool(of.tangent_numbers(step))
            assert style.stacks or max(map(len, [of.value(step), *adjoint_terms(of, step)])) < 200
    for text in (explanation.text(), explanation.markdown(), explanation.latex(), explanation._repr_html_()):
        assert text.strip()
    assert all(
        len(line) <= 100 + line.count("\u0304") + line.count("\u0307") for line in explanation.text().splitlines()
    )
