"""Sums over the steps of a loop that are computed after it."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.control.loop import LOOP
from wengert.transforms.tracing import trace

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 2, 3))


def recurrent(W, b, s):
    h, _ = wg.scan(lambda h, x: (np.tanh(x + h @ W + b) * s, None), np.ones((2, 3)), X)
    return (h * h).sum()


def unrolled(W, b, s):
    h = np.ones((2, 3))
    for x in X:
        h = np.tanh(x + h @ W + b) * s
    return (h * h).sum()


ARGUMENTS = RNG.standard_normal((3, 3)), RNG.standard_normal(3), RNG.standard_normal((2, 3))


def backward_states(f, *args):
    graph = trace(f, *args)
    return [node.params["shape"].states for node in graph.operations if node.primitive is LOOP][-1]


def test_products_sums_and_multiples_are_summed_after_the_loop():
    assert backward_states(wg.grad(recurrent, (0, 1)), *ARGUMENTS) == 1
    assert backward_states(wg.grad(recurrent, (0, 1, 2)), *ARGUMENTS) == 1


def test_a_loop_of_unknown_length_adds_in_each_step():
    def loss(W):
        h = wg.while_loop(lambda h: (h * h).sum() > 0.1, lambda h: np.tanh(h @ W), np.ones((2, 3)))
        return h.sum()

    assert backward_states(wg.grad(loss), 0.1 * np.eye(3)) == 2


def test_factors_that_take_more_memory_than_the_sum_stay_in_the_loop():
    def loss(w):
        h, _ = wg.scan(lambda h, _: (np.tanh(h * w), None), np.ones(50), length=3)
        return h.sum()

    assert backward_states(wg.grad(loss), 0.5) == 2


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_are_those_of_the_written_out_loop(compiled):
    f = wg.grad(recurrent, (0, 1, 2))
    run = wg.compile(f) if compiled else lambda *args: trace(f, *args).evaluate(*args)
    for found, expected in zip(run(*ARGUMENTS), wg.grad(unrolled, (0, 1, 2))(*ARGUMENTS), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_second_derivatives_and_batches():
    def product(f):
        return lambda W: wg.grad(lambda W: (wg.grad(lambda W: f(W, *ARGUMENTS[1:]))(W) ** 2).sum())(W)

    W = ARGUMENTS[0]
    np.testing.assert_allclose(wg.compile(product(recurrent))(W), product(unrolled)(W), rtol=1e-11, atol=1e-13)
    stack = np.stack([W, 2.0 * W])
    of_stack = lambda f: wg.vmap(wg.grad(lambda W: f(W, *ARGUMENTS[1:])))
    np.testing.assert_allclose(
        wg.compile(of_stack(recurrent))(stack), of_stack(unrolled)(stack), rtol=1e-12, atol=1e-14
    )
