"""Graphs as expressions of SymPy, whose own derivatives and numbers are the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from tests.test_table import CONSTANT, ELEMENTWISE, SHAPES, op_of, sample

import wengert as wg
from wengert.core.aspects import primitive_of
from wengert.core.infer import is_elementwise
from wengert.core.primitive import TABLE
from wengert.graph.graph import Graph
from wengert.graph.sympy import sympy_form
from wengert.ops.elementwise.bits import _ldexp
from wengert.ops.elementwise.trigonometric import _sinc
from wengert.ops.special.bessel import _iv, _jv, _kv, _yv
from wengert.ops.special.error import _erfcx
from wengert.ops.special.gamma import _polygamma_op, _zeta
from wengert.transforms.tracing import gradients, symbol, trace

sympy = pytest.importorskip("sympy")
OF_NUMBERS = [p for p in TABLE.values() if is_elementwise(p)]
SPECIAL = list(map(primitive_of, (_jv, _yv, _iv, _kv, _polygamma_op, _zeta, _ldexp)))
KNOWN = [p for p in (*ELEMENTWISE, *CONSTANT) if p in sympy_form and p.trial.domain]


def test_the_running_example_and_its_derivatives():
    x1, x2 = symbol("x1"), symbol("x2")
    y = np.log(x1) + x1 * x2 - np.sin(x2)
    graph = Graph([x1.node, x2.node], [s.node for s in (y, *gradients(y, [x1, x2]))])
    a, b = sympy.symbols("x1 x2", real=True)
    expected = sympy.log(a) + a * b - sympy.sin(b)
    assert graph.to_sympy() == (expected, expected.diff(a), expected.diff(b))


@pytest.mark.parametrize("primitive", KNOWN, ids=lambda p: p.name)
def test_every_counterpart_gives_the_same_number(primitive):
    args = sample(primitive, SHAPES["0-d"])
    try:
        graph = trace(op_of(primitive), *args)
    except TypeError:
        return  # of integers only
    expression = graph.to_sympy()
    symbols = [
        sympy.Symbol(f"x{i}", real=True if np.asarray(a).dtype.kind == "f" else None) for i, a in enumerate(args)
    ]
    exact = [
        sympy.true if a is np.True_ else sympy.false if a is np.False_ else sympy.Float(float(a), 30) for a in args
    ]
    found = expression.subs(dict(zip(symbols, exact, strict=True)))
    found = bool(found) if found in (sympy.true, sympy.false) else found
    assert complex(found) == pytest.approx(complex(graph.evaluate(*args)), rel=1e-14)


@pytest.mark.parametrize("primitive", [p for p in SPECIAL if p in sympy_form], ids=lambda p: p.name)
def test_functions_of_an_order_give_the_same_number(primitive):
    graph = trace(
        lambda x: primitive.op(*((x, 2) if primitive.inputs[0] == "x" and primitive.name != "zeta" else (2, x))), 0.7
    )
    found = graph.to_sympy().subs(sympy.Symbol("x", real=True), sympy.Float(0.7, 30))
    assert float(found) == pytest.approx(float(graph.evaluate(0.7)), rel=1e-14)


@pytest.mark.parametrize("primitive", [*OF_NUMBERS, *SPECIAL], ids=lambda p: p.name)
def test_what_has_no_counterpart_has_a_reason(primitive):
    assert primitive in sympy_form or primitive in sympy_form.reasons


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_sinc_and_erfcx(order):
    for op in (_sinc, _erfcx):
        graph = trace(lambda x, op=op: op(x, order=order), 0.7)
        found = graph.to_sympy().subs(sympy.Symbol("x", real=True), sympy.Float(0.7, 30))
        assert float(found.evalf(30)) == pytest.approx(float(graph.evaluate(0.7)), rel=1e-12)


def test_reductions_that_begin_with_a_number():
    x = sympy.Symbol("x", real=True)
    assert trace(lambda x: np.max(x, initial=2.0), 1.0).to_sympy() == sympy.Max(x, 2)
    assert trace(lambda x: np.min(x, initial=2.0), 1.0).to_sympy() == sympy.Min(x, 2)


def test_integers():
    n = sympy.Symbol("n", integer=True)
    shifted = trace(lambda n: (n << 3) >> 1, np.int64(5))
    assert shifted.to_sympy().subs(n, 5) == shifted.evaluate(np.int64(5))
    truncated = trace(lambda x: x.astype(int), np.float64(-2.5))
    assert truncated.to_sympy().subs(sympy.Symbol("x", real=True), -2.5) == -2


def test_derivatives_agree_with_those_of_sympy():
    f = lambda x: np.tanh(x) * np.exp(-(x**2)) / np.sqrt(1 + x**4)
    x = sympy.Symbol("x", real=True)
    value = trace(f, 0.5).to_sympy()
    difference = trace(wg.grad(f), 0.5).to_sympy() - value.diff(x)
    assert abs(difference.subs(x, sympy.Rational(1, 3)).evalf(30)) < 1e-14


def test_numbers_are_exact_where_they_can_be():
    x = sympy.Symbol("x", real=True)
    assert trace(lambda x: 0.5 * x + 4.0, 1.0).to_sympy() == x / 2 + 4
    assert trace(lambda x: 0.1 * x, 1.0).to_sympy() == sympy.Float(0.1) * x


def test_arrays_are_refused_by_name():
    with pytest.raises(TypeError, match=r"single numbers, but an? input \(v\) is f64\[3\]"):
        trace(lambda v: np.sin(v), np.ones(3)).to_sympy()


def test_what_has_no_counterpart_is_refused_by_name():
    with pytest.raises(NotImplementedError, match=r"no counterpart of the operation copysign at .*test_sympy.py"):
        trace(lambda x: np.copysign(x, 1.0), 1.0).to_sympy()


def test_formulas_that_are_too_large_are_refused():
    def f(x):
        for _ in range(60):
            x = x * (1 - x)
        return x

    with pytest.raises(ValueError, match=r"as a formula it would have 2\.31e\+18"):
        trace(f, 0.5).to_sympy()
