"""Which loops are rolled, and which are written out."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg


def count(f, *args, unroll=None):
    """How many loops the traced function has, at the outermost level."""
    graph = wg.compile(f, unroll=unroll).trace(*args)
    return sum(node.primitive.name == "loop" for node in graph.operations)


def iterate(x, n):
    for _ in range(n):
        x = np.sin(x)
    return x


@pytest.mark.parametrize(
    ("n", "unroll", "loops"),
    [(5, None, 0), (100, None, 1), (100, True, 0), (5, False, 1), (100, 200, 0), (100, 50, 1), (0, False, 0)],
)
def test_unroll_decides(n, unroll, loops):
    f = lambda x: iterate(x, n)
    assert count(f, 0.3, unroll=unroll) == loops
    np.testing.assert_allclose(wg.compile(f, unroll=unroll)(0.3), f(0.3), rtol=1e-13)


def test_the_graph_does_not_depend_on_the_number_of_steps():
    graphs = [wg.trace(lambda x, n=n: iterate(x, n), 0.3) for n in (20, 10_000)]
    assert len(graphs[0].operations) == len(graphs[1].operations)


def plain_table(x):
    table = []
    for i in range(30):
        table.append(i * i)
    squares = np.zeros(30)
    for i in range(30):
        squares[i] = table[i]
    assert type(squares) is np.ndarray
    return x * squares[table[3]]


def random_numbers(x):
    numbers = np.random.default_rng(0)
    for _ in range(30):
        x = x + numbers.normal()
    return x


def other_shapes(x):
    y = np.ones(1) * x
    for _ in range(20):
        y = np.concatenate([y, y[:1]])
    return y.sum()


def objects(x):
    functions = [np.sin, np.cos] * 10
    for i in range(20):
        x = functions[i](x)
    return x


def iterator(x):
    values = iter(range(100))
    for _ in range(20):
        x = x + next(values)
    return x


def plain_break(x):
    for i in range(100):
        x = x * 0.5
        if i == 30:
            break
    return x * np.ones(i).sum()


COUNTS = {"calls": 0}


def counted(x):
    for _ in range(20):
        x = np.sin(x)
        COUNTS["calls"] += 1
    return x


@pytest.mark.parametrize("f", [plain_table, random_numbers, other_shapes, objects, iterator, plain_break])
def test_what_cannot_be_rolled_is_written_out(f):
    assert count(f, 0.3) == 0
    np.testing.assert_allclose(wg.trace(f, 0.3).evaluate(0.3), f(0.3), rtol=1e-13)


def test_plain_python_state_changes_as_often_as_before():
    COUNTS["calls"] = 0
    wg.trace(counted, 0.3)
    assert COUNTS["calls"] == 20


def test_plain_numbers_stay_plain_beside_traced_ones():
    def f(x):
        k, names = 0, []
        for i in range(40):
            x = x * 0.9
            k += i % 3
            names.append(i)
        assert type(k) is int
        return x * np.ones(k).sum() + names[-1]

    assert count(f, 0.3) == 1
    np.testing.assert_allclose(wg.compile(f)(0.3), f(0.3), rtol=1e-13)


def test_numbers_in_a_loop_do_not_change_the_dtype_of_arrays():
    def f(x):
        scale, total = 1.0, 0.0
        for i in range(30):
            x = x * i * 0.01 + scale
            scale = scale * 0.5
            total = total + x
        return total if x[0] > 0 else total * 2

    x = np.linspace(0, 1, 3, dtype=np.float32)
    assert count(f, x) == 1
    found = wg.trace(f, x).evaluate(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, f(x), rtol=1e-5)


def test_a_step_that_overwrites_a_state_leaves_its_derivative_if_there_is_no_step():
    def f(x, n):
        a, i = x * 1.0, 0
        while i < n:
            i += 1
            a = i * 0.1
        return a

    for n in (0, 2):
        n = np.int64(n)
        assert wg.trace(wg.grad(f), 0.3, n).evaluate(0.3, n) == wg.grad(f)(0.3, n) == (n == 0)


def test_a_branch_that_is_not_taken_computes_nothing():
    f = lambda x: np.sqrt(x) if x > 0 else x * 2.0
    assert wg.compile(wg.grad(f))(0.0) == 2.0
    table = np.arange(3.0)

    def element(x, i):
        return table[i] * x if i < 3 and table[i] > 0 else x

    assert wg.trace(element, 2.0, 1).evaluate(2.0, 7) == 2.0
    assert wg.trace(element, 2.0, 1).evaluate(2.0, 2) == 4.0
