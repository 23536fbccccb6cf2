import numpy as np
from hypothesis import given, settings
from tests.graph.passes.programs import SPECIAL, assert_same_bits, names, programs

from wengert.core.primitive import TABLE
from wengert.core.spec import Spec
from wengert.graph.graph import Graph
from wengert.graph.ir import Input, make_operation
from wengert.graph.passes.subexpressions import merge_common
from wengert.transforms.tracing import trace

X = np.array(SPECIAL)


def test_what_is_computed_twice_is_computed_once():
    graph = trace(lambda x: np.sin(x * 2.0) + np.cos(np.sin(x * 2.0)), X)
    after = merge_common(graph)
    assert names(graph) == ["multiply", "sin", "multiply", "sin", "cos", "add"]
    assert names(after) == ["multiply", "sin", "cos", "add"]
    assert len(after.constants) == 1
    assert_same_bits(graph.evaluate(X), after.evaluate(X))


def test_sums_and_products_commute():
    graph = trace(lambda x, y: (x + y) * (y + x) - (x - y) * (y - x), X, X)
    assert names(merge_common(graph)) == ["add", "multiply", "subtract", "subtract", "multiply", "subtract"]


def test_what_may_differ_is_kept_apart():
    zeros = np.array([0.0, -0.0])
    kept = [
        trace(lambda x, y: np.maximum(x, y) + np.maximum(y, x), zeros, -zeros),
        trace(lambda z, w: z * w + w * z, zeros * 1j, zeros * 1j),
        trace(lambda x: (x + 0.0) * (x + -0.0), zeros),
        trace(lambda x: (x * 2) * (x * np.float32(2)), zeros),
        trace(lambda x: x.max(initial=0.0) / x.max(initial=-0.0), zeros),
        trace(lambda x: x[:1] - x[1:], zeros),
        trace(lambda x: x.sum(keepdims=True) - x.sum(), zeros),
    ]
    for graph in kept:
        assert len(merge_common(graph).operations) == len(graph.operations)


def test_keys_and_axes_are_compared_by_value():
    graph = trace(lambda x: x[1:3] + x[1:3] + x.reshape(11)[1:3] + x.reshape((11,))[1:3], X)
    assert names(merge_common(graph)) == ["getitem", "add", "reshape", "getitem", "add", "add"]


def test_nothing_in_common_is_the_graph_itself():
    graph = trace(lambda x: np.sin(x) + np.cos(x), X)
    assert merge_common(graph) is graph


def test_operations_stay_in_order():
    """What is not touched by a merger is not moved before it."""

    def f(x):
        y = np.sin(x) + np.sin(x)
        z = np.exp(x)
        return y + z

    assert names(merge_common(trace(f, X))) == ["sin", "add", "exp", "add"]


def test_outputs_with_several_parts():
    graph = trace(lambda x: np.split(x, [4])[0].sum() + np.split(x, [4])[1].sum(), X)
    after = merge_common(graph)
    assert names(after).count("split") == 1
    assert_same_bits(graph.evaluate(X), after.evaluate(X))


def test_a_power_by_repeated_sums_is_linear():
    x = Input(Spec((), np.dtype(float)))
    layer = [x, x]
    for _ in range(12):
        layer = [make_operation(TABLE["add"], [a, b]) for a in layer[:2] for b in layer[:2]]
    graph = Graph([x], layer)
    assert len(merge_common(graph).operations) == 12
    assert_same_bits(graph.evaluate(1.5), merge_common(graph).evaluate(1.5))


@settings(max_examples=100)
@given(programs())
def test_random_programs_keep_their_bits(program):
    x, y = X[:8].reshape(2, 4), X[-4:]
    graph = trace(lambda x, y: (program(x, y), program(x, y)), x, y)
    after = merge_common(graph)
    assert 2 * len(after.operations) <= len(graph.operations)
    assert_same_bits(graph.evaluate(x, y), after.evaluate(x, y))
