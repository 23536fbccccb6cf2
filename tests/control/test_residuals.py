"""What a loop keeps for its backward pass, and what it computes again."""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert.control.loop import LOOP
from wengert.control.residuals import choose_residuals
from wengert.graph.ir import Input
from wengert.transforms.tracing import trace


def operations(f, *args):
    graph = trace(f, *args)
    return graph, {node.primitive.name: node for node in graph.operations}


def test_a_cheap_function_of_a_kept_value_is_computed_again():
    def slope(x):
        y = np.tanh(x)
        return 1.0 - y * y

    _, named = operations(slope, np.ones(3))
    difference, tanh = named["subtract"], named["tanh"]
    assert choose_residuals([tanh, difference], set()) == {tanh}


def test_an_expensive_function_is_kept():
    graph, named = operations(lambda x: np.exp(x) + 1.0, np.ones(3))
    assert choose_residuals([named["exp"]], set(graph.inputs)) == {named["exp"]}


def test_a_free_input_is_not_kept_and_neither_is_what_follows_from_it():
    graph, named = operations(lambda x: x.T * 2.0, np.ones((2, 3)))
    assert choose_residuals([named["multiply"]], set(graph.inputs)) == set()
    assert choose_residuals([named["multiply"]], set()) == {named["multiply"]}


def test_a_view_gives_way_to_what_it_shows():
    graph, named = operations(lambda x: x.T, np.ones((2, 3)))
    assert choose_residuals([named["transpose"]], set()) == set(graph.inputs)


def test_a_sum_of_many_is_kept_instead_of_its_terms():
    graph, named = operations(lambda x, y: np.exp(x) * np.exp(y), np.ones(3), np.ones(3))
    assert choose_residuals([named["multiply"]], set(graph.inputs)) == {named["multiply"]}


def test_a_long_chain_is_not_computed_again():
    def chain(x):
        x = np.exp(x)
        for k in range(100):
            x = x + float(k)
        return x

    graph = trace(chain, np.ones(3))
    (out,) = graph.outputs
    assert choose_residuals([out], set(graph.inputs)) == {out}
    assert not isinstance(out, Input)


def test_a_network_keeps_its_activations_and_states_only():
    def loss(W, x):
        h, _ = wg.scan(lambda h, z: (np.tanh(z + h @ W), None), np.zeros((2, 3)), x)
        return h.sum()

    graph = trace(wg.grad(loss), np.ones((3, 3)), np.ones((5, 2, 3)))
    forward, _ = [node for node in graph.operations if node.primitive is LOOP]
    assert [spec.shape for spec in forward.spec] == [(2, 3), (5, 2, 3), (5, 2, 3)]
