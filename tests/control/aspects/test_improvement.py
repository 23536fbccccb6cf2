"""Better bodies: what a loop need not compute in each step is moved out of it, or disappears."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

X = np.array([0.5, 0.2])


def held(graph):
    """The operations that hold graphs."""
    return [node for node in graph.operations if node.primitive.name in ("loop", "switch")]


def names(graph):
    return [node.primitive.name for node in graph.operations]


def improve(f, x=X):
    """The only loop or choice of a program after the passes, whose values have not changed."""
    graph = wg.trace(f, x)
    better = graph.optimize()
    better.validate()
    np.testing.assert_allclose(better.evaluate(x), graph.evaluate(x), rtol=1e-15)
    np.testing.assert_allclose(wg.compile(f)(x), graph.evaluate(x), rtol=1e-14)
    return better, *held(better)


class TestLoops:
    def test_what_does_not_change_is_computed_before(self):
        graph, loop = improve(lambda x: wg.scan(lambda s, k: (s * np.exp(x[1]) + k, None), x[0], np.arange(5.0))[0])
        assert "exp" in names(graph)
        assert names(loop.params["body"]) == ["multiply", "add"]

    def test_in_a_while_loop_only_what_cannot_fail(self):
        def f(v):
            singular = lambda s: s + np.linalg.inv(v[1] * np.eye(2)).sum() * np.cos(v[1])
            return wg.while_loop(lambda s: s < 3.0, singular, v[0])

        graph, loop = improve(f)
        assert "cos" in names(graph)
        assert "inv" in names(loop.params["body"])
        assert f(np.array([4.0, 0.0])) == wg.compile(f)(np.array([4.0, 0.0])) == 4.0  # the matrix is singular

    def test_unused_outputs_and_dead_states(self):
        def f(x):
            def step(state, k):
                a, b, c = state
                return (a * k, np.sin(b), c + b), (a + b, a * 2.0)

            (a, _, _), (_, double) = wg.scan(step, (x[0], x[1], 0.0), np.arange(4.0))
            return a + double.sum()

        _, loop = improve(f)
        assert loop.params["shape"].states == 1
        assert len(loop.params["body"].outputs) == 2
        assert "sin" not in names(loop.params["body"])

    def test_states_that_the_condition_reads_stay(self):
        _, loop = improve(lambda x: wg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2.0), (0, x[0]))[1])
        assert loop.params["shape"].states == 2

    def test_constant_states(self):
        graph, loop = improve(lambda x: wg.fori_loop(0, 3, lambda k, s: (s[0] * s[1], s[1]), (x[0], x[1]))[0] + x[1])
        assert loop.params["shape"][:2] == (1, 1)
        whole = wg.trace(lambda x: wg.fori_loop(0, 3, lambda k, s: s, x), X).optimize()
        assert not held(whole)

    def test_sequences_that_are_not_read(self):
        _, loop = improve(lambda x: wg.scan(lambda s, row: (s * row[0], None), x[0], (X, np.arange(2.0)))[0])
        assert len(loop.args) == 2

    def test_inner_loops(self):
        def f(x):
            inner = lambda s: wg.fori_loop(0, 3, lambda k, s: s * np.exp(x[1]), s)
            return wg.fori_loop(0, 4, lambda k, s: inner(s), x[0])

        graph, loop = improve(f)
        assert "exp" in names(graph)
        (nested,) = held(loop.params["body"])
        assert names(nested.params["body"]) == ["multiply"]

    def test_gradients(self):
        f = lambda x: wg.scan(lambda s, k: (np.sin(s) * np.exp(x[1]) + k, None), x[0], np.arange(5.0))[0]
        graph, forward, backward = improve(wg.grad(f))
        assert "exp" not in names(forward.params["body"]) + names(backward.params["body"])


class TestChoices:
    def test_known_index(self):
        graph = wg.trace(lambda x: wg.switch(np.int64(1), [np.sin, np.cos], x).sum(), X).optimize()
        assert names(graph) == ["cos", "sum"]

    def test_unused_results_and_operands(self):
        f = lambda x: wg.cond(x[0] > 0, lambda a, b, c: (a, b), lambda a, b, c: (a * b, c), x[0], x[1], np.sin(x[1]))[0]
        graph, choice = improve(f)
        assert len(choice.args) == 3
        assert "sin" not in names(graph)

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    def test_passes_go_into_branches(self, sign):
        f = lambda x: wg.cond(x[0] > 0, lambda a: np.sin(a) + np.sin(a), lambda a: a * 1.0 + 0.0, x[0])
        _, choice = improve(f, sign * X)
        no, yes = choice.params["branches"]
        assert names(yes).count("sin") == 1
        assert len(names(no)) <= 1
