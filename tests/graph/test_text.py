"""Graphs as text."""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert.core.primitive import TABLE
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, make_operation
from wengert.transforms.tracing import trace


def test_lines_of_a_small_graph():
    def f(x, w):
        y = x * w
        return (2.0 * y).sum()

    assert str(trace(f, np.ones(9), np.ones(9))).splitlines() == [
        "%0 x: f64[9] = input",
        "%1 w: f64[9] = input",
        "%2 y: f64[9] = multiply %0 %1",
        "%3: float = constant 2.0",
        "%4: f64[9] = multiply %3 %2",
        "%5: f64[] = sum %4 axis=(0,) keepdims=False",
        "return %5",
    ]


def test_inputs_that_are_not_used_are_listed():
    assert str(trace(lambda x, y: x, 1.0, np.ones(2))).splitlines() == [
        "%0 x: float = input",
        "%1 y: f64[2] = input",
        "return %0",
    ]


def test_constants_are_shown_or_summarized():
    table = np.arange(100.0)
    lines = str(trace(lambda x: x + table + np.array([1.5]), np.ones(100))).splitlines()
    assert "f64[100] = constant [ 0., 1., ..., 98., 99.]" in lines[1]
    assert "f64[1] = constant [1.5]" in lines[3]


def test_several_outputs_of_an_operation():
    text = str(trace(lambda x: np.split(x, 2), np.ones(4)))
    assert "%1: (f64[2], f64[2]) = split %0 bounds=(2,) axis=0" in text
    assert "%3: f64[2] = output %1 index=1" in text
    assert text.endswith("return %2, %3")


def test_keys_read_like_keys():
    assert "getitem %0 key=[1:,::-1]" in str(trace(lambda x: x[1:, ::-1], np.ones((3, 3))))


def test_only_the_last_node_of_an_instruction_has_the_name():
    def f(x):
        spread = np.std(x)
        return 2.0 * spread

    named = [line for line in str(trace(f, np.ones(3))).splitlines() if "spread" in line]
    assert len(named) == 1
    assert "= root" in named[0]


def test_one_line_says_what_it_takes_and_gives():
    assert (
        repr(trace(lambda x, n: x * n, np.ones((2, 3)), 2))
        == "<graph (x: f64[2,3], n: int) -> (f64[2,3]), 1 operation>"
    )


def test_a_long_chain_prints():
    node = first = Input(Spec((), np.dtype(float)), name="x")
    for _ in range(10_000):
        node = make_operation(TABLE["sin"], [node])
    assert str(Graph([first], [node])).count("= sin") == 10_000


def test_derivatives_print():
    assert "cos" in str(trace(wg.grad(np.sin), 1.0))
