"""Layers with state in compiled steps of training: batch statistics, dropout, freezing, modes."""

from __future__ import annotations

import numpy as np

import wengert as wg
from wengert import nn

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(16, 1, 8, 8)), RNG.integers(0, 3, 16)


def network():
    rng = np.random.default_rng(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, bias=False, rng=rng), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.3, rng=5), nn.Linear(64, 16, rng=rng), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3, rng=rng),
    ).to("float64")  # fmt: skip


def trainer(model):
    optimizer = wg.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_steps_are_the_same_eager_and_compiled():
    eager, native = network(), network()
    step, compiled = trainer(eager), wg.compile(trainer(native))

    def compare() -> None:
        np.testing.assert_allclose(wg.stop_gradient(compiled(X, Y)), step(X, Y).detach(), rtol=1e-11)
        expected = eager.state_dict()
        for name, numbers in native.state_dict().items():
            np.testing.assert_allclose(numbers, expected[name], rtol=1e-9, atol=1e-12, err_msg=name)

    for _ in range(3):
        compare()
    assert int(native[1].num_batches_tracked) == 3
    for model in (eager, native):
        model[0].requires_grad_(False)
    before = native[0].weight.detach().numpy().copy()
    compare()
    np.testing.assert_array_equal(native[0].weight.detach(), before)
    for model in (eager, native):
        model[0].requires_grad_(True)
        model[5].eval()
    compare()
    assert (native[0].weight.detach() != before).any()
    for model in (eager, native):
        model.eval()
    compare()
    assert int(native[1].num_batches_tracked) == 5
