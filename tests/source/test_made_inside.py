"""Lists, plain arrays and functions that branches and steps make or change, and loops without steps."""

from __future__ import annotations

import numpy as np
import pytest
from tests.source.made_inside import ARRAYS, FUNCTIONS, LISTS, NO_STEPS, OF_ONE_STEP, stacked

import wengert as wg

POINTS = (0.37, 1.2, -0.61)
name = lambda value: getattr(value, "__name__", "")


def close(found, wanted):
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f", [*LISTS, *NO_STEPS, *FUNCTIONS, *ARRAYS, *OF_ONE_STEP], ids=name)
def test_values_and_derivatives(f):
    slope = wg.grad(f)
    for x in POINTS:
        close(wg.trace(f, x).evaluate(x), f(x))
        close(wg.trace(slope, x).evaluate(x), slope(x))
    x = POINTS[0]
    close(wg.compile(f)(x), f(x))
    close(wg.compile(slope)(x), slope(x))
    close(wg.trace(lambda x: wg.jvp(f, (x,), (1.0,))[1], x).evaluate(x), slope(x))
    close(wg.vmap(wg.compile(f))(np.array(POINTS)), [f(x) for x in POINTS])


@pytest.mark.parametrize("f", OF_ONE_STEP, ids=name)
def test_lists_of_one_step_do_not_keep_a_loop_from_being_one(f):
    compiled = wg.compile(f)
    graph = compiled.trace(0.3)
    assert [node.primitive.name for node in graph.operations].count("loop") == 1
    assert len(graph.operations) < 30
    assert compiled.report(0.3).unrolled == []


def test_a_list_that_grows_over_all_steps_and_is_read_as_a_whole_is_reported():
    def f(x):
        ys = [x]
        for _ in range(20):
            ys.append(np.sin(sum(ys)))
        return ys[-1]

    compiled = wg.compile(f)
    close(compiled(0.3), f(0.3))
    (loop,) = compiled.report(0.3).unrolled
    assert loop.line == f"{__file__}:{f.__code__.co_firstlineno + 2}"
    assert loop.steps == 20
    assert "read as a whole" in loop.why
    assert str(loop) in str(compiled.report(0.3))
    assert wg.compile(stacked, unroll=True).report(0.3).unrolled == []  # as the user wants it


def test_loops_inside_a_step_that_are_written_out_are_reported_once():
    def f(x):
        for _ in range(30):
            y = np.ones(1) * x
            for _ in range(20):
                y = np.concatenate([y, y[:1]])
            x = np.sin(y.sum())
        return x

    report = wg.compile(f).report(0.3)
    (loop,) = report.unrolled
    assert loop.line == f"{__file__}:{f.__code__.co_firstlineno + 3}"
    assert "'y'" in loop.why


def test_a_function_that_a_branch_or_a_step_made_is_not_called_after_it():
    def of_branch(x):
        g = np.sin
        if x > 0.0:
            g = lambda y: y * 2.0
        return g(x)

    def of_step(x):
        while x < 3.0:
            g = lambda y: y * 2.0
            x = g(x) + 1.0
        return g(x)

    for f, why in ((of_branch, "another function"), (of_step, "'g'")):
        with pytest.raises(NameError, match=why):
            wg.trace(f, 0.3)


def test_a_plain_array_of_which_a_branch_is_not_taken_stays_as_it_is():
    given = np.zeros(3)

    def f(x):
        a = given + 0.0
        before = a.sum()
        if x > 0.0:
            a[0] = 1.0
        return a.sum() * x + before

    assert [wg.compile(f)(x) for x in (2.0, -2.0)] == [2.0, 0.0]
    assert not given.any()


@pytest.mark.parametrize("checkpoint", [None, 2])
def test_eager_loops_that_must_be_traced_read_their_functions(checkpoint):
    def step(c, x):
        if c > 0.5:
            c = c * x
        return c, c + x

    def f(c, xs):
        last, ys = wg.scan(step, c, xs, checkpoint=checkpoint)
        return last + ys.sum()

    for n in (0, 5):
        xs = np.linspace(0.7, 1.2, n)
        c, wanted = 0.9, 0.0
        for x in xs:
            c = c * x if c > 0.5 else c
            wanted += c + x
        close(f(0.9, xs), c + wanted)
        close(wg.grad(f)(0.9, xs), wg.compile(wg.grad(f))(0.9, xs))
    halve = lambda c: c / 2.0 if c > 3.0 else c - 0.5
    close(wg.vmap(lambda x: wg.while_loop(lambda c: c > 1.0, halve, x))(np.array([7.0, 2.2, 0.3])), [0.75, 0.7, 0.3])
