"""The backward pass over large arrays runs in blocks on all cores and gives the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.core.parallel import LARGE
from wengert.modes import blocks

N = LARGE + 77


def expression(x, y):
    a = np.sin(x) * y + x
    b = a * a - y / (2 + np.cos(a))
    return (np.tanh(b) * a + b * 3.0 + np.exp(-(x**2))).sum() + (x * y).sum()


def gradients(f, arrays, threads, monkeypatch):
    monkeypatch.setenv("WENGERT_NUM_THREADS", str(threads))
    monkeypatch.setattr("wengert.core.parallel.pool", None)
    tensors = [wg.tensor(a, requires_grad=True) for a in arrays]
    for _ in range(2):  # the first run finds out that there is something large
        for x in tensors:
            x.grad = None
        value = f(*tensors)
        value.backward()
    return [value.item(), *[x.grad.numpy() for x in tensors]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(N,), (2, N // 2)])
def test_the_same_to_the_last_bit(dtype, shape, monkeypatch):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype(dtype) for _ in range(2)]
    runs = []
    original = blocks.pull_run
    monkeypatch.setattr(
        "wengert.modes.blocks.pull_run", lambda run, cotangents: runs.append(len(run)) or original(run, cotangents)
    )
    shared = gradients(expression, arrays, 2, monkeypatch)
    assert max(runs) > 5
    runs.clear()
    alone = gradients(expression, arrays, 1, monkeypatch)
    assert not runs
    for one, other in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: (x * y[:1] * np.sin(x)).sum(),  # broadcasting
        lambda x, y: (np.sin(x)[::-1] * y * np.cos(y)).sum(),  # layouts that need a copy
        lambda x, y: wg.where(x > 0, np.sqrt(abs(x)) * y, np.sin(x)).sum(),
        lambda x, y: (np.sin(x * 2).astype(np.float32) * 2 * np.cos(y)).sum(),
        lambda x, y: (np.sin(x) * 2 + np.cos(x)).reshape(7, -1).max(axis=1).sum() + y.sum(),
        lambda x, y: (np.maximum(x, y) * np.where(x > y, 1.0, x)).mean(),
    ],
)
def test_what_does_not_fit_a_run_goes_the_plain_way(f, monkeypatch):
    rng = np.random.default_rng(1)
    n = N // 7 * 7
    arrays = [rng.normal(size=n), rng.normal(size=n)]
    for one, other in zip(gradients(f, arrays, 2, monkeypatch), gradients(f, arrays, 1, monkeypatch), strict=True):
        np.testing.assert_array_equal(one, other)


def test_history_is_released_or_kept():
    x = wg.tensor(np.ones(N), requires_grad=True)
    (np.sin(x) * x).sum().backward()
    x.grad = None
    y = (np.sin(x) * x + np.cos(x)).sum()
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    x.grad = None
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), first)
    with pytest.raises(wg.GradientError, match="released"):
        y.backward()
