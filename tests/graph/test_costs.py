"""Counts against counts by hand, and sizes of trees against trees that are written out."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

import wengert as wg
from wengert.core.primitive import TABLE
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, Operation, make_operation
from wengert.transforms.tracing import trace


def test_counts_by_hand():
    def f(x, y):
        return np.sum(np.sin(x * y) + 2.0)

    found = trace(f, np.ones(10), np.ones(10)).stats()
    assert found.operations == 4
    assert found.by_name == {"add": 1, "multiply": 1, "sin": 1, "sum": 1}
    assert found.bytes_read == 160 + 80 + 88 + 80
    assert found.bytes_written == 3 * 80 + 8
    assert found.flops == 4 * 10
    assert found.peak_memory == 160 + 8 + 160  # inputs and the constant, an operand and its result
    assert found.tree_size == 4


@pytest.mark.parametrize(
    ("f", "args", "flops"),
    [
        (lambda x, y: x @ y, ((3, 4), (4, 5)), 2 * 3 * 4 * 5),
        (lambda x, y: x @ y, ((7, 3, 4), (4,)), 2 * 7 * 3 * 4),
        (lambda x, y: np.einsum("ij,jk->ki", x, y), ((3, 4), (4, 5)), 2 * 3 * 4 * 5),
        (lambda x: x.sum(axis=0), ((3, 4),), 12),
        (lambda x: x.reshape(-1)[2:].T, ((3, 4),), 0),
        (lambda x: np.concatenate([x, x]), ((3, 4),), 0),
        (lambda x, y: x + y, ((3, 1), (4,)), 12),
        (lambda x: wg.logsumexp(x), ((5,),), 15),
    ],
)
def test_flops(f, args, flops):
    assert trace(f, *map(np.ones, args)).stats().flops == flops


def test_views_move_nothing_and_keep_what_they_see():
    found = trace(lambda x: x[::2].reshape(5, 1).T * 2.0, np.ones(10)).stats()
    assert (found.bytes_read, found.bytes_written) == (40 + 8, 40)
    held = trace(lambda x: np.sin(np.sin(np.exp(x)[:1])), np.ones(100)).stats()
    assert (
        held.peak_memory == 800 + 800 + 8
    )  # exp is held by its view until the first sine is made; the second needs less


def test_peak_memory_of_a_chain_does_not_grow():
    def chain(n):
        return trace(lambda x: reduce(lambda y, _: np.sin(y), range(n), x), np.ones(10)).stats().peak_memory

    assert chain(3) == chain(30) == 3 * 80


def test_peak_memory_of_a_loop_does_not_grow():
    def loop(n):
        return trace(lambda x: wg.fori_loop(0, n, lambda _, y: np.sin(np.cos(y)), x), np.ones(10))

    few, many = loop(3), loop(30)
    assert many.stats().peak_memory == few.stats().peak_memory
    assert few.stats().peak_memory == 3 * 8 + 4 * 80  # numbers of the loop, x, the result, and two values of a step


def test_peak_memory_of_a_gradient_grows():
    def chain(n):
        def f(x):
            for _ in range(n):
                x = np.sin(x)
            return x.sum()

        return trace(wg.grad(f), np.ones(10)).stats().peak_memory

    assert chain(30) - chain(20) == 10 * 80


def size_of_tree(node) -> int:
    return 1 + sum(size_of_tree(a) for a in node.args) if isinstance(node, Operation) else 0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_tree_size_is_the_size_of_the_tree(n):
    def logistic(x):
        for _ in range(n):
            x = 4 * x * (1 - x)
        return x

    for f in (logistic, wg.grad(logistic), wg.derivative(logistic)):
        graph = trace(f, 0.3)
        assert graph.stats().tree_size == sum(map(size_of_tree, graph.outputs))


def test_tree_size_may_be_beyond_all_floats():
    node = first = Input(Spec((), np.dtype(float)))
    for _ in range(5_000):
        node = make_operation(TABLE["add"], [node, node])
    found = Graph([first], [node]).stats()
    assert found.tree_size == 2**5000 - 1
    assert found.operations == 5_000
    assert "about 1.4e1505 operations" in str(found)


def test_prints_well():
    text = str(trace(lambda x: np.sin(x) * np.sin(2.0 * x), np.ones(1000)).stats())
    assert text.splitlines() == [
        "operations         4 (2 multiply, 2 sin)",
        "bytes read         40.01 kB",
        "bytes written      32 kB",
        "flops              4,000",
        "peak memory        32.01 kB",
        "written as a tree  4 operations",
    ]


def test_nothing_to_do():
    found = trace(lambda x: x, np.ones(3)).stats()
    assert (found.operations, found.flops, found.peak_memory, found.tree_size) == (0, 0, 24, 0)
