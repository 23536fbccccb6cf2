import numpy as np
from hypothesis import given, settings
from tests.graph.passes.programs import SPECIAL, assert_same_bits, names, programs

from wengert.graph.graph import Graph
from wengert.graph.passes.dead import remove_dead
from wengert.transforms.tracing import trace

X = np.arange(12.0).reshape(6, 2)


def test_one_part_of_a_split():
    graph = trace(lambda x: np.sin(np.split(x, [1, 4])[1]), X)
    after = remove_dead(graph)
    assert names(graph) == ["split", "output", "sin"]
    assert names(after) == ["getitem", "sin"]
    assert_same_bits(graph.evaluate(X), after.evaluate(X))


def test_two_slices_of_three():
    def f(x):
        a, _, c = np.unstack(x[:, :], axis=0)[:3]
        return a - c

    graph = trace(f, X)
    after = remove_dead(graph)
    assert names(graph) == ["getitem", "unstack", "output", "output", "subtract"]
    assert names(after) == ["getitem", "getitem", "getitem", "subtract"]
    assert_same_bits(graph.evaluate(X), after.evaluate(X))


def test_all_parts_stay_together():
    graph = trace(lambda x: np.split(x, 2), X)
    assert remove_dead(graph) is graph


def test_parts_along_any_axis():
    graph = trace(lambda x: (np.split(x, 2, axis=1)[1], np.unstack(x, axis=1)[0]), X)
    after = remove_dead(graph)
    assert names(after) == ["getitem", "getitem"]
    assert_same_bits(graph.evaluate(X), after.evaluate(X))


def test_what_was_joined_is_not_split_again():
    graph = trace(lambda x: np.unstack(np.stack([np.sin(x), np.cos(x)], axis=1), axis=1), X)
    assert names(remove_dead(graph)) == ["sin", "cos"]
    assert_same_bits(graph.evaluate(X), remove_dead(graph).evaluate(X))
    graph = trace(lambda x: np.split(np.concatenate([np.sin(x), np.cos(x[:2])]), [6]), X)
    assert names(remove_dead(graph)) == ["sin", "getitem", "cos"]
    assert_same_bits(graph.evaluate(X), remove_dead(graph).evaluate(X))
    elsewhere = trace(lambda x: np.split(np.concatenate([np.sin(x), np.cos(x[:2])]), [5]), X)
    assert "concatenate" in names(remove_dead(elsewhere))


def test_one_part_of_what_is_joined():
    graph = trace(lambda x: np.stack([np.sin(x), np.cos(x)])[-1] + np.concatenate([x, np.exp(x)])[6:], X)
    after = remove_dead(graph)
    assert names(graph) == ["sin", "cos", "stack", "getitem", "exp", "concatenate", "getitem", "add"]
    assert names(after) == ["cos", "exp", "add"]
    assert_same_bits(graph.evaluate(X), after.evaluate(X))


def test_other_parts_of_what_is_joined_stay():
    graph = trace(lambda x: np.concatenate([x, x])[5:7] + np.stack([x, x])[0:1][0][:2], X)
    assert_same_bits(graph.evaluate(X), remove_dead(graph).evaluate(X))
    assert names(remove_dead(graph)) == names(graph)


def test_unused_operations_vanish_and_inputs_stay():
    graph = trace(lambda x, y: np.sin(x) * np.exp(y), X, X)
    (product,) = graph.outputs
    after = remove_dead(Graph(graph.inputs, [product.args[0]]))
    assert names(after) == ["sin"]
    assert len(after.inputs) == 2


@settings(max_examples=100)
@given(programs())
def test_random_programs_keep_their_bits(program):
    x, y = np.array(SPECIAL[:8]).reshape(2, 4), np.array(SPECIAL[-4:])
    graph = trace(program, x, y)
    assert_same_bits(graph.evaluate(x, y), remove_dead(graph).evaluate(x, y))
