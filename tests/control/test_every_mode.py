"""Branches and loops in every mode, at orders 1 and 2, eager and compiled, against the program written out."""

from __future__ import annotations

import numpy as np
import pytest
from tests.control.held_programs import PROGRAMS

import wengert as wg
from wengert.core import tree

X = np.array([0.4, 0.3])
POINTS = np.array([[0.4, 0.3], [-0.3, 0.8], [1.2, -0.6]])
V = np.array([0.7, -0.4])

MODES = {
    "value": lambda f: f,
    "reverse": lambda f: wg.grad(f),
    "forward": lambda f: lambda x: wg.jvp(f, (x,), (V,))[1],
    "Taylor": lambda f: lambda x: wg.jet(f, (x,), ([V, 0.5 * V, V],))[1],
    "reverse over reverse": lambda f: lambda x: wg.grad(lambda y: (wg.grad(f)(y) * V).sum())(x),
    "forward over reverse": lambda f: wg.hessian(f),
    "reverse over forward": lambda f: wg.grad(lambda x: wg.jvp(f, (x,), (V,))[1]),
}
BATCHED = {
    "batch": lambda f: lambda: wg.vmap(f)(POINTS),
    "batch of reverse": lambda f: lambda: wg.vmap(wg.grad(f))(POINTS),
    "reverse of batch": lambda f: lambda: wg.grad(lambda x: (wg.vmap(f)(x) * np.arange(1.0, 4.0)).sum())(POINTS),
    "batch of forward": lambda f: lambda: wg.vmap(lambda x: wg.jvp(f, (x,), (V,))[1])(POINTS),
    "batch of second order": lambda f: lambda: wg.vmap(wg.hessian(f))(POINTS),
}
ONE_BY_ONE = {
    "batch": lambda f: lambda: np.stack([f(x) for x in POINTS]),
    "batch of reverse": lambda f: lambda: np.stack([wg.grad(f)(x) for x in POINTS]),
    "reverse of batch": lambda f: lambda: np.stack([(k + 1.0) * wg.grad(f)(x) for k, x in enumerate(POINTS)]),
    "batch of forward": lambda f: lambda: np.stack([wg.jvp(f, (x,), (V,))[1] for x in POINTS]),
    "batch of second order": lambda f: lambda: np.stack([wg.hessian(f)(x) for x in POINTS]),
}


def assert_close(found, expected):
    for a, b in zip(tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
class TestOneInput:
    def test_eager(self, program, mode):
        assert_close(MODES[mode](program.held)(X), MODES[mode](program.written_out)(X))

    def test_compiled(self, program, mode):
        assert_close(wg.compile(MODES[mode](program.held))(X), MODES[mode](program.written_out)(X))

    def test_of_a_compiled_function(self, program, mode):
        if " " in mode:
            pytest.skip("of the first order only")
        assert_close(MODES[mode](wg.compile(program.held))(X), MODES[mode](program.written_out)(X))

    def test_evaluated(self, program, mode):
        graph = wg.trace(MODES[mode](program.held), X)
        graph.validate()
        assert_close(graph.evaluate(X), MODES[mode](program.written_out)(X))


@pytest.mark.parametrize("mode", BATCHED)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
class TestBatch:
    def test_eager(self, program, mode):
        assert_close(BATCHED[mode](program.held)(), ONE_BY_ONE[mode](program.written_out)())

    def test_compiled(self, program, mode):
        assert_close(wg.compile(BATCHED[mode](program.held))(), ONE_BY_ONE[mode](program.written_out)())


def count_loops(f):
    """The numbers of loops and choices in the graph of a function."""
    names = [node.primitive.name for node in wg.trace(f, X).optimize().operations]
    return names.count("loop"), names.count("switch")


@pytest.mark.parametrize(("mode", "loops"), [("value", 1), ("forward", 1), ("Taylor", 1), ("reverse", 2)])
def test_the_derivative_of_a_loop_is_a_loop(mode, loops):
    for program in PROGRAMS:
        if program.name in ("scan", "while_loop", "fori_loop", "map", "assignment in fori_loop"):
            assert count_loops(MODES[mode](program.held)) == (loops, 0), program.name
        elif program.name in ("cond", "switch"):
            assert count_loops(MODES[mode](program.held)) == (0, loops), program.name
