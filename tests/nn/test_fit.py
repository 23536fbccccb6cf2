"""`fit`: the steps that it takes, what it counts, the modes of the model, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from tests.nn.test_callbacks import Halving
from tests.nn.training_parts import Momentum, Net, X, Y, batches, mean_square, train

import wengert as wg
from wengert.core import machine


def test_steps_are_those_of_a_loop_by_hand():
    model, by_hand = Net(1), Net(1)
    data, optimizer = batches(), Momentum(by_hand.parameters())
    means = []
    for _ in range(3):
        losses = []
        for x, y in data:
            loss = mean_square(by_hand(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses += [loss.item()] * len(x)
        means.append(np.mean(losses))
    history = train(model, 3)
    for name, p in model.named_parameters():
        assert np.array_equal(p.detach(), dict(by_hand.named_parameters())[name].detach()), name
    assert np.allclose(history["loss"], means, rtol=1e-14)


def test_the_history_has_means_over_samples():
    model = Net(1)
    held = wg.data.Batches((X, Y), 25)
    history = train(model, 2, validation=held, metrics=[wg.nn.metrics.mean_absolute_error])
    assert list(history) == [
        "loss", "mean_absolute_error", "val_loss", "val_mean_absolute_error", "seconds",
    ]  # fmt: skip
    with wg.no_grad():
        output = model.eval()(X).numpy()
    assert np.isclose(history["val_loss"][-1], ((output - Y) ** 2).mean(), rtol=1e-12)
    assert np.isclose(history["val_mean_absolute_error"][-1], abs(output - Y).mean(), rtol=1e-12)
    assert all(type(value) is float for values in history.values() for value in values)


def test_a_batch_that_is_no_pair_is_input_and_target():
    class Scale(wg.nn.Module):
        def __init__(self):
            self.w = wg.nn.Parameter(0.0)

        def forward(self, x):
            return self.w * x

    model = Scale()
    train(model, 20, wg.data.Batches(X, 20), Momentum(model.parameters(), 0.1))
    assert np.isclose(model.w.item(), 1.0, atol=0.05)
    model = Scale()

    def predict(batch, target):
        return mean_square(batch["x"], target["x"]) * 0 + mean_square(model.w * target["x"], target["x"])

    class Pass(wg.nn.Module):
        def __init__(self):
            self.scale = model

        def forward(self, batch):
            return batch

    train(Pass(), 20, wg.data.Batches({"x": X}, 20), Momentum(model.parameters(), 0.1), loss=predict)
    assert np.isclose(model.w.item(), 1.0, atol=0.05)


def test_a_list_of_batches():
    model, other = Net(1), Net(1)
    train(model, 2, [(X[:30], Y[:30]), (X[30:], Y[30:])])
    train(other, 2, wg.data.Batches((X, Y), 30))
    assert all(
        np.array_equal(p.detach(), q.detach()) for p, q in zip(model.parameters(), other.parameters(), strict=True)
    )


def test_modes_of_the_model():
    seen = []

    class Spy(Net):
        def forward(self, x):
            seen.append((self.training, self.first.training))
            return super().forward(x)

    model = Spy()
    train(model, 1, validation=wg.data.Batches((X, Y), 60))
    assert seen == [(True, True)] * 8 + [(False, False)]
    assert model.training
    seen.clear()
    model.first.eval()  # frozen statistics stay frozen
    train(model, 1, validation=wg.data.Batches((X, Y), 60))
    assert seen == [(True, False)] * 8 + [(False, False)]
    assert [model.training, model.first.training, model.last.training] == [True, False, True]
    seen.clear()
    model.eval()
    train(model, 1)
    assert seen == [(True, True)] * 8
    assert not any(module.training for module in model.modules())


def test_before_step_sees_the_gradients():
    model = Net(1)

    def clip():
        for p in model.parameters():
            p.grad = p.grad * 0.0

    before = model.state_dict()
    train(model, 1, before_step=clip)
    assert all(np.array_equal(model.state_dict()[name], before[name]) for name, _ in model.named_parameters())


def test_an_optimiser_with_a_closure():
    class TwoLooks(Momentum):
        """Evaluates the loss twice, and takes the gradient of the second."""

        closure = "needed"

        def step(self, closure):
            first = closure()
            closure()
            super().step()
            return first

    model, plain = Net(1), Net(1)
    history = train(model, 2, optimizer=TwoLooks(model.parameters()))
    assert model.calls.item() == 2 * plain.calls.item() + 32
    expected = train(plain, 2)
    assert history["loss"] == expected["loss"]
    assert all(
        np.array_equal(p.detach(), q.detach()) for p, q in zip(model.parameters(), plain.parameters(), strict=True)
    )


def test_frozen_parameters_need_no_optimiser():
    model = Net(1)
    model.first.requires_grad_(False)
    before = model.first.weight.numpy().copy()
    train(model, 1, optimizer=Momentum(model.last.parameters()))
    assert np.array_equal(model.first.weight.numpy(), before)


def test_parameters_in_no_optimiser():
    model = Net(1)
    with pytest.raises(
        ValueError, match=r"parameters first.weight, first.bias of the model are in no optimiser, at .*test_fit"
    ):
        wg.nn.fit(model, mean_square, batches(), Momentum(model.last.parameters()), 1)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"data": (X, Y)}, TypeError, r"data is a tuple, not an iterable of batches.*Use wg.data.Batches\(data"),
        ({"data": [X, Y]}, TypeError, "data is a list, not an iterable of batches"),
        ({"validation": X}, TypeError, "validation is a ndarray"),
        ({"epochs": 0}, ValueError, "epochs is 0"),
        ({"epochs": 1.5}, TypeError, "float"),
        ({"loss": 3}, TypeError, "The loss is a int"),
        (
            {"loss": lambda output, y: (output - y) ** 2},
            ValueError,
            r"The loss has shape \(8,\), and should be a number",
        ),
        ({"optimizer": "adam"}, TypeError, "The optimiser is a str"),
        ({"metrics": [lambda output, y: 0.0]}, TypeError, "A metric has no name"),
    ],
)
def test_bad_input(options, kind, message):
    with pytest.raises(kind, match=message):
        train(Net(), **options)


def test_metrics_with_names():
    history = train(Net(), 1, metrics={"largest": lambda output, y: abs(output).max()})
    assert history["largest"][0] > 0


# A loss that is not finite.


class Root(wg.nn.Module):
    """The square root of a product: NaN for a negative one, and a gradient that is infinite at 0."""

    def __init__(self, weight=1.0):
        self.weight = wg.nn.Parameter(weight)

    def forward(self, x):
        return np.sqrt(self.weight * x)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (-1.0, r"The loss is nan in batch 4 of epoch 1, at .*py:\d+. The model has .*wg.why_nan\(lambda model, x, y"),
        (0.0, r"in batch 5 of epoch 1, at .*, because the step of batch 4 made parameters that are not finite"),
    ],
    ids=["loss", "gradient"],
)
def test_a_loss_that_is_not_finite_stops_and_can_be_explained(bad, message):
    x = np.linspace(1.0, 2.0, 12)
    x[7] = bad
    model = Root()
    data = wg.data.Batches((x, np.sqrt(2 * x.clip(0)) + 1), 2)
    with pytest.raises(wg.nn.NonFiniteLossError, match=message) as caught:
        train(model, 2, data, Momentum(model.parameters(), 0.01))
    found, _ = caught.value.batch
    assert bad in found
    assert np.isfinite(model.weight.item())
    assert model.weight.item() != 1.0  # three steps were taken
    why = wg.why_nan(lambda model, x, y: mean_square(model(x), y), model, *caught.value.batch)
    assert why.operation == "sqrt"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_weights_are_those_before_the_bad_batch():
    x = np.linspace(1.0, 2.0, 12)
    reference = Root()
    train(reference, 1, wg.data.Batches((x[:6], np.sqrt(2 * x[:6])), 2), Momentum(reference.parameters(), 0.01))
    y = np.sqrt(2 * x)
    x[7] = -1.0
    model = Root()
    with pytest.raises(wg.nn.NonFiniteLossError):
        train(model, 1, wg.data.Batches((x, y), 2), Momentum(model.parameters(), 0.01))
    assert model.weight.item() == reference.weight.item()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("keeping", [-1.0, 1e9], ids=["of the epoch", "of the beginning"])
def test_the_cause_is_found_from_any_state(keeping, monkeypatch):
    """The weight falls by the same amount in each step, until a root is that of a negative number."""

    class Fall(Momentum):
        def step(self):
            with wg.no_grad():
                self.params[0] -= 0.125

    with machine.using(seconds_between_kept_states=keeping):
        model = Root()
        data = wg.data.Batches((np.arange(1.0, 7.0), np.ones(6)), 2, shuffle=True, rng=0)
        next(iter(data))  # an epoch that was left early
        optimizer = Fall(model.parameters())
        schedule = Halving(optimizer)
        callbacks = [wg.nn.Schedule(schedule, every="step")]
        with pytest.raises(wg.nn.NonFiniteLossError, match="nan in batch 1 of epoch 4") as caught:
            train(model, 9, data, optimizer, loss=lambda output, y: output.sum(), callbacks=callbacks)
        assert model.weight.item() == -0.125
        assert len(schedule.seen) == 9
        again = wg.data.Batches((np.arange(1.0, 7.0), np.ones(6)), 2, shuffle=True, rng=0)
        epochs = [[batch[0].tolist() for batch in again] for _ in range(5)]
        assert caught.value.batch[0].tolist() == epochs[4][0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_data_that_cannot_be_read_again():
    model = Root()
    bad = [(np.ones(2), np.ones(2)), (-np.ones(2), np.ones(2))]
    with pytest.raises(wg.nn.NonFiniteLossError, match=r"batch 2 of epoch 1.*already taken this step") as caught:
        train(model, 1, iter(bad), Momentum(model.parameters(), 0.01))
    assert caught.value.batch is bad[1]
