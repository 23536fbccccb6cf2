"""Loops over few scalars: the body is part of the loop, and states are replaced where they are."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

XS = np.linspace(0.1, 1.0, 7)


def exchange(a, b):
    (x, y), ys = wg.scan(lambda s, x: ((s[1], s[0] * x), s[0]), (a, b), XS)
    return x + 2 * y + (ys * XS).sum()


def exchange_only(a, b):
    (x, y), ys = wg.scan(lambda s, x: ((s[1], s[0]), s[0] * x), (a, b), XS)
    return x + 2 * y + (ys * XS).sum()


def previous_slice(a, b):
    (x, y, z), ys = wg.scan(lambda s, x: ((x, s[0] * s[1] + b, s[2]), s[0] * 3 + s[2]), (a, b, a * b), XS)
    return x + 2 * y + (ys * XS).sum() + z


def constant_state(a, b):
    (x, y), ys = wg.scan(lambda s, x: ((b, s[0] * x), s[0] * x + s[1]), (a, b), XS)
    return x + 2 * y + (ys * XS).sum()


def number_state(a, b):
    step = lambda s, x: ((np.float64(2.0), s[0] * x), (s[0] * x + s[1], s[0], x))
    (x, y), ys = wg.scan(step, (a, b), XS)
    return x + 2 * y + (ys[0] * XS).sum() + ys[1].sum() + ys[2][3]


def until_large(a, b):
    x, before = wg.while_loop(lambda s: s[0] < 50.0, lambda s: (s[0] * 1.5 + b, s[0]), (a, b))
    return x * before


def nothing_changes(a, b):
    (x, y), _ = wg.scan(lambda s, x: (s, None), (a, b), XS)
    return x * y


def short_vector(a, b):
    s, ys = wg.scan(lambda s, x: (np.roll(s, 1) * x + b, s[::-1]), np.array([1.0, 2.0, 3.0]) * a, XS)
    return (s * s).sum() + ys.sum()


LOOPS = [
    exchange, exchange_only, previous_slice, constant_state, number_state, until_large, nothing_changes, short_vector,
]  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_states_are_those_of_the_loop_in_python(loop, order):
    derivative = [loop, wg.grad(loop, (0, 1)), wg.grad(wg.grad(loop, 0), 1)][order]
    np.testing.assert_allclose(wg.compile(derivative)(0.7, 1.3), derivative(0.7, 1.3), rtol=1e-13)


def test_the_body_is_inlined_only_if_it_is_small():
    small = wg.compile(lambda x: wg.scan(lambda x, _: (np.sin(x) + np.sum(x), None), x, length=3)[0])
    assert "alwaysinline nounwind {" in small.report(0.5).llvm
    large = small.report(np.ones(1000)).llvm
    assert "@body.0(ptr %inputs, ptr %outputs, ptr %arena) noinline" in large


def draw_updates(seed):
    """A loop that updates two arrays and a number, by random statements that read and write single elements."""
    rng = np.random.default_rng(seed)
    n = 9
    kinds = ["write", "add", "number", "read"]
    statements = [
        (
            rng.choice(kinds),
            int(rng.integers(2)),
            int(rng.integers(-2, 3)),
            int(rng.integers(2)),
            int(rng.integers(-2, 3)),
        )
        for _ in range(rng.integers(2, 7))
    ]

    def step(k, states):
        arrays, number = list(states[:2]), states[2]
        for kind, target, shift, source, offset in statements:
            i, j = (k + shift) % n, (k + offset) % n
            value = np.sin(arrays[source][j] * 0.7 + 0.2 * number)
            if kind == "write":
                arrays[target][i] = value
            elif kind == "add":
                arrays[target][i] += value * 0.3
            elif kind == "number":
                number = number * 0.5 + value
            else:
                number = arrays[target][i]
        return (*arrays, number)

    def loss(a, b):
        x, y, number = wg.fori_loop(0, 2 * n, step, (a * np.linspace(0.1, 1.0, n), b + np.linspace(0.5, 1.5, n), a * b))
        return (x * np.arange(n)).sum() + (y * y).sum() + number

    return loss


@pytest.mark.parametrize("seed", range(24))
def test_random_updates_of_elements(seed):
    loss = draw_updates(seed)
    for f in (loss, wg.grad(loss, (0, 1))):
        np.testing.assert_allclose(wg.compile(f)(0.7, 1.3), f(0.7, 1.3), rtol=1e-12, atol=1e-13)


def test_a_body_that_updates_elements_is_inlined():
    def fill(a):
        def step(k, x):
            x[k] = np.sin(a * x[k - 1]) + 0.1
            return x

        return wg.fori_loop(1, 1000, step, wg.zeros(1000)).sum()

    text = wg.compile(wg.value_and_grad(fill)).report(0.9).llvm
    assert "@body.0(ptr %inputs, ptr %outputs, ptr %arena) alwaysinline" in text
    assert "@body.1(ptr %inputs, ptr %outputs, ptr %arena) alwaysinline" in text


def draw_control(seed):
    """The cost of a control over random steps of few numbers, each of which reads elements of the control."""
    rng = np.random.default_rng(seed)
    states, n = int(rng.integers(2, 5)), 12
    kinds = ["turn", "quotient", "product", "sine", "control"]
    statements = [
        (rng.choice(kinds), *map(int, rng.integers(states, size=3)), int(rng.integers(-1, 2)))
        for _ in range(rng.integers(2, 8))
    ]

    def loss(u):
        x, total = [0.1 * (k + 1.0) for k in range(states)], 0.0
        for k in range(1, n - 1):
            for kind, target, first, second, shift in statements:
                a, b = x[first], x[second]
                if kind == "turn":
                    x[target], x[first] = a * np.cos(b) - np.sin(b), a * np.sin(b) + np.cos(b)
                elif kind == "quotient":
                    x[target] = (a - b * u[k + shift]) / (1.0 + b * b)
                elif kind == "product":
                    x[target] = x[target] + 0.1 * a * b
                elif kind == "sine":
                    x[target] = np.sin(a) + 2.0 * np.cos(b)
                else:
                    x[target] = x[target] + 0.2 * u[k + shift]
            total = total + x[0] * x[1] + 0.1 * u[k] * u[k]
        return total

    return loss, np.linspace(-1.5, 1.5, n)


@pytest.mark.parametrize("seed", range(24))
def test_random_controls(seed):
    loss, u = draw_control(seed)
    value, slope = wg.value_and_grad(loss)(u)
    found, found_slope = wg.compile(wg.value_and_grad(loss))(u)
    np.testing.assert_allclose(found, value, rtol=1e-11)
    np.testing.assert_allclose(found_slope, slope, rtol=1e-9, atol=1e-10 * np.abs(slope).max())


@pytest.mark.parametrize("n", [3, 7, 40])
def test_a_step_that_fails_is_reported_after_the_loop(n):
    def read(x, steps):
        def step(k, s):
            return s * 0.5 + x[k]

        return wg.fori_loop(0, steps, step, 0.0)

    x = np.linspace(0.0, 1.0, n)
    for f in (lambda x: read(x, n), wg.grad(lambda x: read(x, n))):
        np.testing.assert_allclose(wg.compile(f)(x), f(x), rtol=1e-14)
    for f in (lambda x: read(x, n + 2), wg.grad(lambda x: read(x, n + 2))):
        with pytest.raises(IndexError):
            wg.compile(f)(x)


def choose_in_loops(a, b):
    """A loop with a choice, inside of a loop."""
    total, i = a * 0.0, 0
    while i < 9:
        x, k = a + 0.1 * i, 0
        while x < 3.0 and k < 20:
            if x * b > 1.5:
                x, total = x + 0.3 * b, total + x
            else:
                x = 1.1 * x + 0.01 * i
            k = k + 1
        total, i = total + k * x, i + 1
    return total


def exchange_in_a_choice(a, b):
    """A choice whose branches exchange states, after which both are read."""
    x, y, k = a, b, 0
    while k < 7:
        if x > y:
            x, y = y, x * 0.5
        else:
            y = y - 0.3 * x
        k = k + 1
    return x + 2 * y


def fixed_loop_around(a, b):
    def step(i, s):
        return wg.while_loop(lambda t: t[0] < 1.0 + i, lambda t: (t[0] + b, t[0] * t[1]), s)

    x, y = wg.fori_loop(0, 5, step, (a, b))
    return x * y


@pytest.mark.parametrize("f", [choose_in_loops, exchange_in_a_choice, fixed_loop_around], ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", [0, 1])
def test_loops_and_choices_of_few_numbers_become_part_of_their_loop(f, order):
    derivative = [f, wg.grad(f, (0, 1))][order]
    compiled = wg.compile(derivative)
    for point in ((0.7, 1.3), (1.9, 0.4)):
        np.testing.assert_allclose(compiled(*point), derivative(*point), rtol=1e-13)
    if not order:
        text = compiled.report(0.7, 1.3).llvm
        assert "(ptr %inputs, ptr %outputs, ptr %arena) noinline" not in text


def test_sequences_of_unknown_length_keep_their_loop_apart():
    """Its memory grows, and is freed when it ends."""
    f = lambda a: wg.fori_loop(0, 5, lambda i, s: wg.while_loop(lambda t: t < 2.0 + i, lambda t: t * 1.2 + 0.1, s), a)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(0.5), wg.grad(f)(0.5), rtol=1e-13)
