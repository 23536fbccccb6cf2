"""Callbacks: when they are called, and when they stop training."""

from __future__ import annotations

import numpy as np
import pytest
from tests.nn.training_parts import Momentum, Net, X, Y, train

import wengert as wg

VALIDATION = wg.data.Batches((X, Y), 60)


class Recorder(wg.nn.Callback):
    def __init__(self):
        self.calls = []

    def begin(self, training):
        self.calls.append("begin")

    def after_step(self, training):
        self.calls.append((training.epoch, training.batch, training.step))

    def after_epoch(self, training):
        self.calls.append(f"epoch {training.epoch}: {len(training.history['loss'])}")

    def end(self, training):
        self.calls.append("end")


def test_order_of_calls():
    recorder = Recorder()
    train(Net(), 2, wg.data.Batches((X, Y), 30), callbacks=[recorder])
    assert recorder.calls == [
        "begin", (1, 1, 1), (1, 2, 2), "epoch 1: 1", (2, 1, 3), (2, 2, 4), "epoch 2: 2", "end",
    ]  # fmt: skip


def test_functions_are_called_after_epochs():
    seen = []
    train(Net(), 3, callbacks=[lambda training: seen.append(training.history["loss"][-1])])
    assert len(seen) == 3


@pytest.mark.parametrize(("hook", "steps"), [("after_step", 2), ("after_epoch", 8)])
def test_stopping(hook, steps):
    class Stop(wg.nn.Callback):
        pass

    setattr(Stop, hook, lambda self, training: training.step >= 2 and training.stop("enough"))
    model = Net()
    train(model, 5, callbacks=[Stop()])
    assert model.calls.item() == steps


def fake_validation(values):
    """A callback that puts numbers in the history, as if they had been measured."""
    numbers = iter(values)
    return lambda training: training.history.add({"score": next(numbers)})


@pytest.mark.parametrize(
    ("mode", "scores", "epochs", "best"),
    [
        ("min", [5.0, 3.0, 4.0, 3.5, 2.0], 4, 2),
        ("max", [5.0, 3.0, 4.0, 6.0], 3, 1),
        ("min", [5.0, 4.0, 3.0, 2.0, 1.0], 5, 5),
    ],
)
def test_early_stopping_restores_the_best_weights(mode, scores, epochs, best):
    weights = []
    model = Net()
    history = train(
        model,
        5,
        callbacks=[
            fake_validation(scores),
            wg.nn.EarlyStopping("score", patience=2, mode=mode),
            lambda training: weights.append(training.model.state_dict()),
        ],
    )
    assert history.epochs == epochs
    assert history.best("score", mode) == best
    for name, value in model.state_dict().items():
        assert np.array_equal(value, weights[best - 1][name])


def test_small_improvements_do_not_count():
    stop = wg.nn.EarlyStopping("score", patience=2, min_delta=0.5, restore_best=False)
    model = Net()
    history = train(model, 5, callbacks=[fake_validation([5.0, 4.9, 4.8, 4.0, 3.0]), stop])
    assert history.epochs == 3


def test_a_number_that_is_not_in_the_history():
    with pytest.raises(KeyError, match="no 'val_loss', only 'loss', 'seconds'.*need validation"):
        train(Net(), 2, callbacks=[wg.nn.EarlyStopping()])


@pytest.mark.parametrize("make", [lambda: wg.nn.EarlyStopping(mode="most"), lambda: wg.nn.Schedule(None, every="day")])
def test_bad_options(make):
    with pytest.raises(ValueError, match='Use "'):
        make()


class Halving:
    """A schedule, as those of wg.optim."""

    def __init__(self, optimizer):
        self.optimizer, self.seen = optimizer, []

    def step(self, metric=None):
        self.seen.append(metric)
        self.optimizer.param_groups[0]["lr"] /= 2

    def state_dict(self):
        return {"seen": list(self.seen)}

    def load_state_dict(self, state):
        self.seen = list(state["seen"])


@pytest.mark.parametrize(("options", "count"), [({}, 2), ({"every": "step"}, 16), ({"monitor": "val_loss"}, 2)])
def test_schedules(options, count):
    model = Net()
    optimizer = Momentum(model.parameters(), 1e-3)
    schedule = Halving(optimizer)
    history = train(
        model, 2, optimizer=optimizer, validation=VALIDATION, callbacks=[wg.nn.Schedule(schedule, **options)]
    )
    assert optimizer.param_groups[0]["lr"] == 1e-3 / 2**count
    assert schedule.seen == (history["val_loss"] if "monitor" in options else [None] * count)
