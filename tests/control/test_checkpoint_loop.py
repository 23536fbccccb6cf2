"""checkpoint_loop: gradients, memory, and the number of steps."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tests.control.passes import forward, gradients, reverse

import wengert as wg
from wengert.control.iteration import checkpoint_loop
from wengert.control.snapshots import next_snapshot
from wengert.core.definition import Definition
from wengert.core.primitive import Primitive

RNG = np.random.default_rng(0)


def pendulum(state, k, p):
    q, v = state
    v = v - 0.01 * (np.sin(q) * p["g"] + p["c"] * v * np.abs(v)) + 0.001 * k * p["c"]
    return q + 0.01 * v, v


def naive(state, n, p):
    for k in range(n):
        state = pendulum(state, k, p)
    return state


class TestLoop:
    @pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 100])
    @pytest.mark.parametrize("snapshots", [None, 1, 2, 50])
    def test_same_bits(self, n, snapshots):
        q, v, g, c = RNG.uniform(0.1, 1.0, size=(4, 3))
        energy = lambda state: state[0] * state[0] + np.cos(state[1])
        plain = gradients(lambda q, v, g, c: energy(naive((q, v), n, {"g": g, "c": c})), q, v, g, c)
        again = gradients(
            lambda q, v, g, c: energy(checkpoint_loop(pendulum, (q, v), n, {"g": g, "c": c}, snapshots=snapshots)),
            q,
            v,
            g,
            c,
        )
        for one, two in zip(plain, again, strict=True):
            np.testing.assert_array_equal(one, two)

    def test_a_tenth_of_the_memory(self):
        x, n = np.linspace(0.1, 1.0, 2000), 1000
        step = lambda x, k: np.sin(x) * 0.5 + x

        def peak(f):
            tracemalloc.start()
            try:
                (g,) = gradients(f, x)
                return tracemalloc.get_traced_memory()[1], g
            finally:
                tracemalloc.stop()

        def loop(x):
            for k in range(n):
                x = step(x, k)
            return x

        full, expected = peak(loop)
        small, g = peak(lambda x: checkpoint_loop(step, x, n))
        np.testing.assert_array_equal(g, expected)
        assert small < full / 10

    @pytest.mark.parametrize(
        ("n", "snapshots", "bound"), [(1000, None, 10), (1000, 5, 8), (100, 1, 100), (64, None, 6)]
    )
    def test_work_and_memory_of_the_schedule(self, n, snapshots, bound):
        runs = np.zeros(n, int)

        def count(x, k):
            runs[int(k)] += 1
            return x * 1.001

        step = Primitive(
            Definition(
                name="counted_step",
                impl=count,
                kind="elementwise",
                inputs=("x", "k"),
                rules=(lambda t: t * 1.001, None),
                spec=lambda x, k: x,
            )
        ).op
        x = wg.tensor(1.0, requires_grad=True)
        checkpoint_loop(step, x, n, snapshots=snapshots).backward()
        assert runs.max() <= bound + 2  # once forward, and once to go back over it

        def depth(length, spare):
            """States held at a time."""
            most = 0
            while length > 1:
                m = next_snapshot(length, spare)
                most = max(most, 1 + depth(length - m, spare - 1))
                length = m
            return most

        assert depth(n, snapshots or n.bit_length()) <= (snapshots or n.bit_length())

    def test_every_nesting(self):
        step = lambda x, k, a: x + 0.1 * a * np.sin(x) * (k + 1)
        x = np.array([0.3, 0.7])

        def plain(x):
            y = x
            for k in range(5):
                y = step(y, k, x)
            return y

        f = lambda x: checkpoint_loop(step, x, 5, x)
        np.testing.assert_allclose(forward(f, x), forward(plain, x), rtol=1e-14)
        np.testing.assert_allclose(reverse(f, x), reverse(plain, x), rtol=1e-14)
        np.testing.assert_allclose(
            reverse(lambda v: reverse(f, v), x), reverse(lambda v: reverse(plain, v), x), rtol=1e-13
        )
        np.testing.assert_allclose(
            forward(lambda v: reverse(f, v), x), forward(lambda v: reverse(plain, v), x), rtol=1e-13
        )
        v = wg.tensor(x, requires_grad=True)
        (first,) = wg.autograd.grad(f(v).sum(), [v], create_graph=True)
        np.testing.assert_allclose(
            wg.autograd.grad(first.sum(), [v])[0].numpy(), reverse(lambda v: reverse(plain, v), x), rtol=1e-13
        )

    def test_steps_that_change_their_state_in_place(self):
        def step(x, k):
            x[0] = x[0] * x[1]
            return x

        def loop(x):
            x = x * 1.0
            for k in range(7):
                x = step(x, k)
            return x

        x = np.array([1.5, 0.9])
        np.testing.assert_array_equal(
            gradients(loop, x)[0], gradients(lambda x: checkpoint_loop(step, x * 1.0, 7), x)[0]
        )

    def test_plain_numbers(self):
        assert checkpoint_loop(lambda x, k: x * 2.0, np.float64(1.0), 3) == 8.0
        with pytest.raises(ValueError, match="snapshots"):
            checkpoint_loop(lambda x, k: x, 1.0, 3, snapshots=0)
