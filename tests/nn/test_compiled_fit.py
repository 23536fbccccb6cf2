"""`fit` with the layers, optimisers and schedules of the package, compiled: against eager steps, and resumed."""

from __future__ import annotations

import gc
import json
import sys

import numpy as np
import pytest
from tests.nn.training_parts import X, Y

import wengert as wg
from wengert import nn
from wengert.nn.packing import pack_state, unpack_state

IMAGES = np.random.default_rng(1).normal(size=(40, 1, 6, 6)).astype(np.float32)
LABELS = np.random.default_rng(2).integers(3, size=40)


def network(seed=0):
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, bias=False, rng=seed),  # Adam would make steps of the rounding errors of its gradient
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.3, rng=seed + 1),
        nn.Linear(48, 3, rng=seed + 2),
    )


def run(model, epochs=3, interrupt=None, callbacks=(), compile=True):
    optimizer = wg.optim.AdamW(model.parameters(), lr=1e-2)
    batches = wg.data.Batches((IMAGES, LABELS), 16, shuffle=True, rng=4)
    schedule = nn.Schedule(wg.optim.OneCycleLR(optimizer, max_lr=2e-2, total_steps=9), every="step")
    history = nn.fit(
        model,
        nn.CrossEntropyLoss(),
        batches,
        optimizer,
        epochs,
        validation=wg.data.Batches((IMAGES, LABELS), 40),
        metrics=[nn.metrics.accuracy],
        callbacks=[schedule, *callbacks],
        before_step=lambda: nn.clip_grad_norm_(model.parameters(), 0.5),
        compile=compile,
        progress=False,
    )
    del history["seconds"]
    return history


@pytest.fixture(scope="module")
def whole():
    model = network()
    return model, run(model)


def test_compiled_steps_are_those_of_eager_ones(whole):
    model, history = whole
    other = network()
    expected = run(other, compile=False)
    for name in history:
        assert np.allclose(history[name], expected[name], rtol=1e-4), name
    for name, value in other.state_dict().items():
        assert np.allclose(model.state_dict()[name], value, rtol=1e-3, atol=1e-5), name
    assert np.array_equal(model[4].rng.state.numpy(), other[4].rng.state.numpy())


class Interruption(Exception):
    pass


@pytest.mark.parametrize("step", [3, 4, 8])
def test_compiled_training_resumes_to_the_same_bits(whole, step, tmp_path):
    class Interrupt(nn.Callback):
        def after_step(self, training):
            if training.step == step:
                raise Interruption

    with pytest.raises(Interruption):
        run(network(), callbacks=[nn.Checkpoint(tmp_path, steps=2), Interrupt()])
    model = network(50)
    assert run(model, callbacks=[nn.Checkpoint(tmp_path, steps=2, resume=True)]) == whole[1]
    for name, value in whole[0].state_dict().items():
        assert np.array_equal(model.state_dict()[name], value), name
    assert np.array_equal(model[4].rng.state.numpy(), whole[0][4].rng.state.numpy())


@pytest.mark.parametrize("compile", [True, False])
def test_lbfgs(compile):
    model = nn.Linear(2, 1, dtype=np.float64, rng=0)
    optimizer = wg.optim.LBFGS(model.parameters(), max_iter=50, tolerance_grad=1e-10, line_search_fn="strong_wolfe")
    target = X @ [[2.0], [-1.0]] + Y[:, None]
    nn.fit(model, nn.MSELoss(), wg.data.Batches((X, target), 60), optimizer, 1, compile=compile, progress=False)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(60)]), target[:, 0], rcond=None)[0]
    assert np.allclose([*model.weight.detach().numpy()[0], model.bias.item()], exact, atol=1e-8)


def test_lbfgs_resumes_to_the_same_bits(tmp_path):
    def search(epochs, folder):
        model = nn.Sequential(nn.Linear(2, 5, dtype=np.float64, rng=0), nn.Tanh(), nn.Linear(5, 1, rng=1).to("float64"))
        optimizer = wg.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe")
        saved = nn.Checkpoint(tmp_path / folder, resume=True)
        batches = wg.data.Batches((X, Y[:, None]), 60)
        return nn.fit(model, nn.MSELoss(), batches, optimizer, epochs, callbacks=[saved], progress=False)["loss"]

    assert search(2, "parts") + search(5, "parts")[2:] == search(5, "whole")


SCHEDULES = {
    "StepLR": lambda o: wg.optim.StepLR(o, 2),
    "MultiStepLR": lambda o: wg.optim.MultiStepLR(o, [2, 5]),
    "ExponentialLR": lambda o: wg.optim.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda o: wg.optim.CosineAnnealingLR(o, 10),
    "LinearLR": lambda o: wg.optim.LinearLR(o),
    "LambdaLR": lambda o: wg.optim.LambdaLR(o, lambda epoch: 0.9**epoch),
    "SequentialLR": lambda o: wg.optim.SequentialLR(o, [wg.optim.LinearLR(o), wg.optim.StepLR(o, 2)], [3]),
    "OneCycleLR": lambda o: wg.optim.OneCycleLR(o, 0.1, total_steps=10),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_continue_from_files(name):
    def make():
        optimizer = wg.optim.SGD([wg.tensor([1.0], requires_grad=True)], lr=0.1, momentum=0.9)
        return optimizer, SCHEDULES[name](optimizer)

    (optimizer, schedule), (other, copy) = make(), make()
    for _ in range(4):
        schedule.step()
    packed, arrays = pack_state([optimizer.state_dict(), schedule.state_dict()])
    states = unpack_state(json.loads(json.dumps(packed)), arrays)
    other.load_state_dict(states[0])
    copy.load_state_dict(states[1])
    for _ in range(5):
        schedule.step()
        copy.step()
        assert optimizer.param_groups[0]["lr"] == other.param_groups[0]["lr"]


@pytest.mark.parametrize("make", [wg.optim.NewtonCG, wg.optim.GaussNewton])
def test_methods_that_take_a_function_of_the_parameters(make):
    model = nn.Linear(2, 1, rng=0)
    with pytest.raises(TypeError, match="takes a function of the parameters.*Write the loop"):
        nn.fit(model, nn.MSELoss(), wg.data.Batches((X, Y), 10), make(model), 1)


def test_every_method_trains_in_a_native_step():
    """A smoke test of all update rules; tests/optim has their numbers."""
    for make in (wg.optim.SGD, wg.optim.Adam, wg.optim.RMSprop, wg.optim.Adagrad, wg.optim.Lion):
        model = nn.Linear(2, 1, rng=0)
        batches = wg.data.Batches((X, X.sum(1, keepdims=True)), 20)
        history = nn.fit(model, nn.MSELoss(), batches, make(model.parameters(), lr=0.03), 4, progress=False)
        assert history["loss"][-1] < history["loss"][0], make.__name__


def test_freezing_between_two_calls():
    model = nn.Sequential(nn.Linear(2, 4, rng=0), nn.Tanh(), nn.Linear(4, 1, rng=1))
    optimizer = wg.optim.Adam(model.parameters(), lr=0.01)
    batches = wg.data.Batches((X, Y[:, None]), 20)
    changed = []
    for is_trained in (True, False, True):
        model[0].requires_grad_(is_trained)
        before = model.state_dict()
        nn.fit(model, nn.MSELoss(), batches, optimizer, 1, progress=False)
        after = model.state_dict()
        changed.append([not np.array_equal(before[name], after[name]) for name in ("0.weight", "2.weight")])
    assert changed == [[True, True], [False, True], [True, True]]


def test_memory_is_constant():
    model = nn.Sequential(nn.Linear(2, 4, rng=0), nn.Tanh(), nn.Dropout(0.1, rng=1), nn.Linear(4, 1, rng=2))
    optimizer = wg.optim.Adam(model.parameters(), lr=0.01)
    batches = wg.data.Batches((X, Y[:, None]), 10, shuffle=True, rng=3)
    blocks = []

    def count(training):
        if training.epoch in (20, 180):
            blocks.append(sys.getallocatedblocks())

    gc.collect()
    gc.disable()
    try:
        nn.fit(model, nn.MSELoss(), batches, optimizer, 180, callbacks=[count], progress=False)
    finally:
        gc.enable()
    assert blocks[1] - blocks[0] < 800  # the history has two numbers for each of 160 epochs


def test_a_model_that_cannot_be_traced():
    class Odd(nn.Linear):
        def forward(self, x):
            return super().forward(x) * float(x.sum())

    model = Odd(2, 1, rng=0)
    parts = (model, nn.MSELoss(), wg.data.Batches((X, Y[:, None]), 20), wg.optim.SGD(model.parameters(), lr=1e-3), 1)
    with pytest.raises(wg.TrackedValueError) as caught:
        nn.fit(*parts, progress=False)
    assert "compile=False" in caught.value.__notes__[-1]
    assert nn.fit(*parts, compile=False, progress=False).epochs == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loss_that_is_not_finite_in_a_native_step():
    class Root(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(1.0)

        def forward(self, x):
            return np.sqrt(self.weight * x)

    x = np.linspace(1.0, 2.0, 12)
    x[7] = -1.0
    model = Root()
    optimizer = wg.optim.Adam(model.parameters(), lr=0.01)
    with pytest.raises(nn.NonFiniteLossError, match="nan in batch 4 of epoch 1") as caught:
        nn.fit(model, nn.MSELoss(), wg.data.Batches((x, x), 2), optimizer, 1, progress=False)
    assert np.isfinite(model.weight.item())
    assert model.weight.item() != 1.0
    why = wg.why_nan(lambda model, x, y: nn.MSELoss()(model(x), y), model, *caught.value.batch)
    assert why.operation == "sqrt"
