"""Sums of products over the steps of a loop become one product after it."""

import numpy as np
import pytest

import wengert as wg
from wengert.graph.passes import REWRITES, run_until_stable

RNG = np.random.default_rng(2)
X, W, H = RNG.normal(size=(7, 3, 4)), 0.3 * RNG.normal(size=(5, 5)), np.zeros((3, 5))
U = 0.3 * RNG.normal(size=(5, 4))


def recurrence(x, w, u, h, reverse=False, checkpoint=None):
    step = lambda h, x: (new := np.tanh(h @ w + x @ u.T), new)
    final, outputs = wg.scan(step, h, x, reverse=reverse, checkpoint=checkpoint)
    return (outputs**2).sum() + (final**3).sum()


def products_in_loops(f, *args):
    """The number of products in each loop, and of those outside of loops."""
    graph = run_until_stable(wg.compile(f, unroll=False).trace(*args), REWRITES)
    count = lambda graph: sum(node.primitive.name == "matmul" for node in graph.operations)
    return [count(n.params["body"]) for n in graph.operations if n.primitive.name == "loop"], count(graph)


@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_do_not_change(reverse):
    gradient = wg.grad(lambda x, w, u, h: recurrence(x, w, u, h, reverse), argnums=(0, 1, 2, 3))
    for found, expected in zip(wg.compile(gradient)(X, W, U, H), gradient(X, W, U, H), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_the_products_are_after_the_loop():
    loops, outside = products_in_loops(wg.grad(recurrence, argnums=(1, 2)), X, W, U, H)
    assert loops == [2, 1]  # the backward pass has the product that its steps depend on
    assert outside == 2


def test_loops_that_save_memory_keep_their_sums():
    loops, outside = products_in_loops(wg.grad(lambda w: recurrence(X, w, U, H, checkpoint="binomial")), W)
    assert outside == 0
    assert max(loops) > 1


def test_a_sum_that_is_read_stays_a_state():
    def f(w):
        step = lambda s, x: ((s[0] + x.T @ x, s[1] + s[0].sum()), None)
        (total, seen), _ = wg.scan(step, (w, 0.0), X)
        return total.sum() + seen

    weights = np.zeros((4, 4))
    assert products_in_loops(f, weights) == ([1], 0)
    np.testing.assert_allclose(wg.compile(f)(weights), f(weights), rtol=1e-13)


def test_a_sum_of_products_of_slices():
    f = lambda w: wg.scan(lambda s, x: (s + x.T @ np.sin(x), None), w, X)[0]
    assert products_in_loops(f, W[:4, :4]) == ([0], 1)
    np.testing.assert_allclose(wg.compile(f)(W[:4, :4]), f(W[:4, :4]), rtol=1e-13)


def test_a_product_with_the_state_stays():
    f = lambda w: wg.scan(lambda s, x: (s + s.T @ x.T @ x, None), w, X / 9)[0]
    np.testing.assert_allclose(wg.compile(f)(W[:4, :4]), f(W[:4, :4]), rtol=1e-12)
