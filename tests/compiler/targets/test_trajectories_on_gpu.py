"""Loops on a GPU: a thread for each element of a batch, and programs that are repeated."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.targets.devices import DEVICE
from tests.compiler.targets.emulator import Emulated
from tests.compiler.targets.test_kernels_on_gpu import assert_as_compiled

import wengert as wg

rng = np.random.default_rng(1)
START, PARAMETERS = rng.normal(size=(100, 3)), np.array([10.0, 28.0, 8 / 3]) + 0.1 * rng.normal(size=(100, 3))


def lorenz_step(y, p, h=0.01):
    slope = np.stack([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])
    return y + h * slope


def fixed_steps(y, p):
    return wg.scan(lambda c, _: (lorenz_step(c, p), c[0]), y, None, length=20)


def own_steps(y, p):
    """As many steps as a parameter says, other ones for each element of a batch."""
    body = lambda s: (s[0] + 0.011, lorenz_step(s[1], p))
    return wg.while_loop(lambda s: s[0] < p[0] * 0.01, body, (0.0 * y[0], y))[1]


def test_a_known_number_of_steps():
    assert_as_compiled(wg.vmap(fixed_steps), START, PARAMETERS)


def test_gradients_of_a_known_number_of_steps():
    loss = lambda y, p: fixed_steps(y, p)[0].sum() + (fixed_steps(y, p)[1] ** 2).sum()
    assert_as_compiled(wg.vmap(wg.grad(loss, (0, 1))), START, PARAMETERS, tolerance=1e-10)


def test_each_element_has_its_own_end():
    assert_as_compiled(wg.vmap(own_steps), START, PARAMETERS)


def test_gradients_with_an_own_end():
    loss = lambda y, p: (own_steps(y, p) ** 2).sum()
    assert_as_compiled(wg.vmap(wg.grad(loss, (0, 1))), START, PARAMETERS, tolerance=1e-10)


def test_tangents_with_an_own_end():
    assert_as_compiled(
        wg.vmap(lambda y, p: wg.jvp(lambda p: own_steps(y, p), (p,), (p,))[1]), START, PARAMETERS, tolerance=1e-10
    )


def test_second_derivatives():
    f = wg.vmap(lambda y, p: wg.grad(lambda p: (wg.grad(lambda p: own_steps(y, p).sum())(p) ** 2).sum())(p))
    assert_as_compiled(f, START[:20], PARAMETERS[:20], tolerance=1e-9)


def test_one_trajectory_is_one_thread():
    f = lambda x: wg.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, np.sin(s[1]) * 1.1), (0, x))
    assert_as_compiled(f, np.array(2.0))
    assert_as_compiled(wg.grad(lambda x: f(x)[1]), np.array(2.0))


@pytest.mark.skipif(DEVICE is not None, reason="it looks at the plan of the emulator")
def test_trajectories_are_one_kernel():
    f = Emulated(wg.vmap(own_steps))
    f(START, PARAMETERS)
    assert any("100 trajectories" in line for line in f.program.summary)
    assert len(f.program.programs) == 1


def test_large_steps_repeat_a_program():
    x = 0.1 * rng.normal(size=(40, 40))
    assert_as_compiled(lambda x: wg.scan(lambda c, t: (np.tanh(c @ x + t), c.sum()), x[0], x), x)
    assert_as_compiled(wg.grad(lambda x: wg.scan(lambda c, t: (np.tanh(c @ x + t), 0.0), x[0], x)[0].sum()), x,
                       tolerance=1e-10)  # fmt: skip


def test_elements_that_mix_are_no_trajectories():
    """A step that adds up the whole batch."""
    f = lambda x: wg.scan(lambda c, _: (c / np.abs(c).sum() + 0.1 * c, None), x, None, length=5)[0]
    assert_as_compiled(f, rng.normal(size=6))
    assert_as_compiled(f, rng.normal(size=200))


def test_choices():
    f = lambda x: wg.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x)
    for x in (np.ones((40, 40)), -np.ones((40, 40))):
        assert_as_compiled(f, x)
