import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.graph.passes.programs import assert_ordered, assert_same_bits, names

import wengert as wg
from wengert.core import machine
from wengert.core.spec import Spec
from wengert.graph.passes.recompute import peak, recompute
from wengert.transforms.tracing import trace

N = 1 << 17
LARGE = Spec((N,), np.dtype(float))


def far_apart(x):
    """A cheap value that lies unused across the peak."""
    shifted = x + 1.0
    y = np.sin(shifted)
    for _ in range(3):
        y = np.sin(y) * np.cos(y)
    return y * shifted


def test_peak_counts_what_is_alive():
    graph = trace(lambda x: np.sin(np.sin(np.sin(x))), LARGE)
    assert peak(graph) == 2 * 8 * N  # one is read while the next is written
    assert peak(trace(lambda x: np.sin(x) * np.cos(x), LARGE)) == 3 * 8 * N
    assert peak(trace(lambda x: x.reshape(2, -1).T[::2], LARGE)) == 0


def test_views_keep_their_memory_alive():
    def f(x):
        view = np.exp(x)[:1]
        return np.sin(np.sin(x)).sum() + view

    def g(x):
        return np.sin(np.sin(x)).sum() + np.exp(x)[:1]

    assert peak(trace(f, LARGE)) == 3 * 8 * N + 0
    assert peak(trace(g, LARGE)) < 3 * 8 * N


def test_a_cheap_value_is_made_again():
    graph = trace(far_apart, LARGE)
    after = recompute(graph)
    assert names(graph).count("add") == 1
    assert names(after).count("add") == 2
    assert names(after)[-2:] == ["add", "multiply"]
    assert peak(after) == peak(graph) - 8 * N
    assert_ordered(after)
    x = np.linspace(-1.0, 1.0, N)
    assert_same_bits(graph.evaluate(x), after.evaluate(x))


def test_what_is_dear_is_kept():
    def f(x):
        kept = np.exp(x)
        y = np.sin(kept)
        for _ in range(3):
            y = np.sin(y) * np.cos(y)
        return y * kept

    graph = trace(f, LARGE)
    assert recompute(graph) is graph


def test_what_would_keep_its_operands_is_kept():
    def f(x):
        shifted = np.exp(x) + 1.0
        y = np.sin(shifted)
        for _ in range(3):
            y = np.sin(y) * np.cos(y)
        return y * shifted

    graph = trace(f, LARGE)
    assert recompute(graph) is graph


def test_small_programs_are_left_alone():
    graph = trace(far_apart, Spec((machine.current.min_peak_bytes_of_recomputation // 64,), np.dtype(float)))
    assert recompute(graph) is graph


def test_outputs_are_made_once():
    graph = trace(lambda x: (x + 1.0, far_apart(x)), LARGE)
    assert peak(recompute(graph)) <= peak(graph)
    assert names(recompute(trace(lambda x: x + 1.0, LARGE))) == ["add"]


def test_a_gradient_takes_less_memory():
    def f(x):
        y = x
        for _ in range(10):
            y = np.maximum(np.sin(y + x), 0.1 * x)
        return y.sum()

    graph = trace(wg.grad(f), LARGE)
    after = recompute(graph)
    assert peak(after) < peak(graph)
    x = np.linspace(0.0, 1.0, N)
    assert_same_bits(graph.evaluate(x), after.evaluate(x))


def test_names_and_sources_are_kept():
    after = recompute(trace(far_apart, LARGE))
    first, again = [node for node in after.operations if node.primitive.name == "add"]
    assert first.source == again.source


STEPS = {
    "shifted": lambda x, y: x + 1.0,
    "sine": lambda x, y: np.sin(x),
    "product": lambda x, y: x * y,
    "chosen": lambda x, y: np.where(x > y, x, 0.5),
    "negative": lambda x, y: -y,
    "reversed": lambda x, y: x[::-1],
}


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=20)
)
def test_random_programs_never_take_more(steps):
    def program(x):
        values = [x]
        for name, i, j in steps:
            values.append(STEPS[name](values[i % len(values)], values[j % len(values)]))
        return sum(values[1:], start=values[0])

    graph = trace(program, LARGE)
    after = recompute(graph)
    assert peak(after) < peak(graph) or after is graph
    assert_ordered(after)
    if after is not graph:
        x = np.linspace(-1.0, 1.0, N)
        assert_same_bits(graph.evaluate(x), after.evaluate(x))
