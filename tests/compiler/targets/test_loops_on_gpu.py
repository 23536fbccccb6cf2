"""Loops with large steps on a GPU: each step is a run of the program of the body, in memory that all steps share."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compiler.targets.devices import DEVICE, on_gpu
from tests.compiler.targets.emulator import Emulated, Emulator
from tests.compiler.targets.test_kernels_on_gpu import assert_as_compiled

import wengert as wg
from wengert.compiler.targets.device_program import LoopStep

rng = np.random.default_rng(0)
MATRIX = rng.normal(size=(40, 40)) / 40


def multiply_and_bend(state, row):
    """A step whose elements depend on all elements of the state."""
    new = np.tanh(MATRIX @ state + row)
    return new, new * row


@pytest.mark.parametrize("steps", [0, 1, 2, 7])
@pytest.mark.parametrize("width", [3, 4], ids=["not aligned", "aligned"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "backward"])
def test_scans(steps, width, reverse):
    start, rows = rng.normal(size=(40, width)), rng.normal(size=(steps, 40, width))
    assert_as_compiled(lambda s, r: wg.scan(multiply_and_bend, s, r, reverse=reverse), start, rows)


def test_gradients_of_scans():
    start, rows = rng.normal(size=(40, 3)), rng.normal(size=(6, 40, 3))

    def loss(s, r):
        last, products = wg.scan(multiply_and_bend, s, r)
        return (last * last).sum() + products.sum()

    assert_as_compiled(wg.grad(loss, (0, 1)), start, rows)


def test_loops_with_a_condition():
    f = lambda x: wg.while_loop(lambda s: (s[1] ** 2).sum() > 1e-3, lambda s: (s[0] + 1, MATRIX @ s[1]), (0, x))
    assert_as_compiled(f, rng.normal(size=(40, 3)))
    assert_as_compiled(f, np.zeros((40, 3)))


def test_states_that_change_places():
    def step(state, _):
        x, y = state
        return (y, MATRIX @ x), x

    assert_as_compiled(lambda x, y: wg.scan(step, (x, y), np.zeros((5, 2))), *rng.normal(size=(2, 40, 4)))


@pytest.mark.skipif(DEVICE is not None, reason="the same on the emulator")
def test_an_index_out_of_bounds_in_a_step_is_an_error():
    step = lambda state, i: (MATRIX @ (state + state[i]), i)
    f = lambda x, indices: wg.scan(step, x, indices)
    on_gpu(f)(rng.normal(size=(40, 3)), np.array([1, 2, 39]))
    with pytest.raises(IndexError, match="out of bounds"):
        on_gpu(f)(rng.normal(size=(40, 3)), np.array([1, 40, 2]))


@pytest.mark.skipif(DEVICE is not None, reason="it counts what the emulator allocates")
def test_memory_is_allocated_once_for_all_steps(monkeypatch):
    counts = []
    allocate = Emulator.empty
    monkeypatch.setattr(Emulator, "empty", lambda *args: counts.append(1) or allocate(*args))
    numbers = []
    for steps in (5, 50):
        f = Emulated(lambda s, r: wg.scan(multiply_and_bend, s, r))
        f(rng.normal(size=(40, 4)), rng.normal(size=(steps, 40, 4)))
        assert any(isinstance(step, LoopStep) for step in f.program.steps)
        numbers.append(len(counts))
        counts.clear()
    assert numbers[0] == numbers[1]
