"""Loops in evaluation traces are found from the instructions that repeat."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.explain.folding import TraceLoop, find_loops, find_states

XS = np.linspace(0.1, 0.6, 6)


def plain(x, w):
    h = x
    for u in XS:
        h = wg.tanh(w * h + u)
    return h * 2.0


def scanned(x, w):
    return wg.scan(lambda h, u: (wg.tanh(w * h + u), None), x, XS)[0] * 2.0


def repeated(x, w):
    return wg.fori_loop(0, 6, lambda i, h: wg.tanh(w * h + XS[i]), x) * 2.0


def until(x, w):
    def step(state):
        i, h = state
        return i + 1, wg.tanh(w * h + XS[i])

    return wg.while_loop(lambda state: state[0] < 6, step, (0, x))[1] * 2.0


@pytest.mark.parametrize("f", [plain, scanned, repeated, until], ids=lambda f: f.__name__)
def test_every_way_to_write_a_loop_is_one(f):
    explanation = wg.explain(f, 0.5, 0.8)
    (loop,) = find_loops(explanation.steps)
    assert (loop.period, loop.rounds) == (3, 6)
    assert loop.end == len(explanation.steps) - 1
    (state,) = find_states(explanation, loop)
    values = explanation.recording.values
    assert values[state.before] == 0.5
    assert 2.0 * values[state.after] == f(0.5, 0.8)


def test_two_states_have_their_names():
    def f(x):
        a, b = x, x * 2.0
        for _ in range(5):
            c = a * b
            d = b + 1.0
            a, b = c, d
        return a + b

    explanation = wg.explain(f, 0.5)
    (loop,) = find_loops(explanation.steps)
    found = find_states(explanation, loop)
    assert [state.name for state in found] == ["c", "d"]
    assert [explanation.recording.values[state.before] for state in found] == [0.5, 1.0]


def test_what_is_constant_in_a_loop_is_no_state():
    def f(x, w):
        for _ in range(5):
            x = x * w
        return x

    explanation = wg.explain(f, 0.5, 0.9)
    (loop,) = find_loops(explanation.steps)
    assert [state.name for state in find_states(explanation, loop)] == ["x"]


def test_the_outer_of_two_loops_is_found():
    def f(x):
        for _ in range(4):
            for _ in range(3):
                x = wg.sin(x)
            x = x * 2.0
        return x

    explanation = wg.explain(f, 0.5)
    assert find_loops(explanation.steps) == [TraceLoop(1, 4, 4)]


def test_two_steps_and_straight_programs_are_no_loops():
    def f(x):
        for _ in range(2):
            x = wg.sin(x) * x
        return wg.cos(x) + x

    assert find_loops(wg.explain(f, 0.5).steps) == []


def test_loops_one_after_the_other_are_two():
    def f(x):
        for _ in range(3):
            x = wg.sin(x)
        for _ in range(4):
            x = wg.cos(x) * x
        return x

    assert [(loop.period, loop.rounds) for loop in find_loops(wg.explain(f, 0.5).steps)] == [(1, 3), (2, 4)]


def test_rounds_are_told_apart():
    loop = TraceLoop(2, 3, 4)
    assert [loop.round_of(i) for i in (2, 4, 5, 13)] == [0, 0, 1, 3]
    assert loop.end == 14


@pytest.mark.parametrize("checkpoint", [None, 2, "binomial"])
def test_the_steps_of_every_loop_are_explained(checkpoint):
    f = lambda x: wg.scan(lambda s, u: (wg.sin(s) * x + u, s * 2.0), x, np.ones(5), checkpoint=checkpoint)[0]
    explanation = wg.explain(f, 2.0, mode="both")
    assert [step.operation for step in explanation.steps].count("sin") == 5
    (x,) = explanation.recording.inputs
    np.testing.assert_allclose(explanation.adjoints.values[x], wg.grad(f)(2.0), rtol=1e-14)
    np.testing.assert_allclose(explanation.tangents[explanation.outputs[0]], wg.grad(f)(2.0), rtol=1e-14)


def test_graphs_with_loops_and_choices_are_explained():
    def f(x):
        return wg.cond(x > 0, lambda x: wg.while_loop(lambda s: s < 50.0, lambda s: s * s, x), wg.cos, x)

    explanation = wg.explain(wg.trace(f, 2.0).evaluate, 2.0)
    assert [step.operation for step in explanation.steps if step.operation] == ["multiply"] * 3
    (x,) = explanation.recording.inputs
    assert explanation.adjoints.values[x] == wg.grad(f)(2.0)


def test_a_loop_without_steps_is_explained():
    f = lambda x: wg.scan(lambda s, _: (s * x, s), x, length=0)[0] * 2.0
    assert str(wg.explain(f, 2.0, mode="both")).endswith("∂f/∂x = 2")
