"""Checkpoints: training that is interrupted anywhere continues to the same bits."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.nn.test_callbacks import Halving
from tests.nn.training_parts import Momentum, Net, X, Y, batches, train

import wengert as wg
from wengert.nn.packing import pack_state, unpack_state


class Interruption(Exception):
    pass


class Interrupt(wg.nn.Callback):
    def __init__(self, step):
        self.step = step

    def after_step(self, training):
        if training.step == self.step:
            raise Interruption


def noisy(batch, rng):
    return batch[0] + 0.1 * rng.standard_normal(batch[0].shape), batch[1]


def run(folder, interrupt=None, resume=False, **options):
    """Six epochs of a model with noise, a schedule, early stopping and batches with noise."""
    model = Net(2, noise=0.1)
    optimizer = Momentum(model.parameters())
    parts = [
        wg.nn.Checkpoint(folder, resume=resume, **options),
        wg.nn.Schedule(Halving(optimizer)),
        wg.nn.EarlyStopping("val_loss", patience=4),
    ]
    if interrupt is not None:
        parts.append(Interrupt(interrupt))
    seed = 7 if not resume else 99  # the seed of the data comes from the checkpoint
    history = train(
        model,
        6,
        batches(8, seed, transform=noisy, prefetch=2),
        optimizer,
        validation=wg.data.Batches((X, Y), 60),
        callbacks=parts,
    )
    del history["seconds"]
    return model, optimizer, history


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("interrupt", [17, 24, 25, 40])
@pytest.mark.parametrize("options", [{}, {"steps": 3}, {"every": 2}, {"steps": 8}], ids=str)
def test_resuming_gives_the_same_bits(tmp_path, whole, interrupt, options):
    with pytest.raises(Interruption):
        run(tmp_path, interrupt, **options)
    model, optimizer, history = run(tmp_path, resume=True, **options)
    expected, other, numbers = whole
    assert history == numbers
    assert all(np.array_equal(model.state_dict()[name], value) for name, value in expected.state_dict().items())
    assert model.rng.bit_generator.state == expected.rng.bit_generator.state
    assert all(np.array_equal(v, w) for v, w in zip(optimizer.velocity, other.velocity, strict=True))
    assert optimizer.param_groups[0]["lr"] == other.param_groups[0]["lr"]


def test_what_is_finished_is_not_trained_again(tmp_path, whole):
    run(tmp_path)
    model, _, history = run(tmp_path, resume=True)
    assert history == whole[2]
    assert model.calls.item() == 48


def test_files(tmp_path):
    model = Net(1)
    train(model, 2, callbacks=[wg.nn.Checkpoint(tmp_path / "a" / "b", monitor="loss")])
    folder = tmp_path / "a" / "b"
    assert sorted(p.name for p in folder.iterdir()) == [
        "best.safetensors", "checkpoint.json", "state-2-0.safetensors", "weights-2-0.safetensors",
    ]  # fmt: skip
    weights = wg.nn.load(folder / "weights-2-0.safetensors")
    assert all(np.array_equal(value, weights[name]) for name, value in model.state_dict().items())
    assert not weights.keys() & {name.split(".tensors.")[-1] for name in wg.nn.load(folder / "state-2-0.safetensors")}
    assert wg.nn.load_metadata(folder / "weights-2-0.safetensors") == {"epoch": "2", "step": "16"}
    assert json.loads((folder / "checkpoint.json").read_text())["training"]["position"]["step"] == 16


def test_the_best_weights_are_kept(tmp_path):
    scores, weights = iter([3.0, 1.0, 2.0]), []

    def score(training):
        training.history.add({"score": next(scores)})
        weights.append(training.model.state_dict())

    train(Net(1), 3, callbacks=[wg.nn.Checkpoint(tmp_path, monitor="score"), score])
    best = wg.nn.load(tmp_path / "best.safetensors")
    assert all(np.array_equal(best[name], value) for name, value in weights[1].items())
    assert wg.nn.load_metadata(tmp_path / "best.safetensors") == {"epoch": "2", "score": "1.0"}


def test_without_resume_training_begins_anew(tmp_path):
    train(Net(1), 1, callbacks=[wg.nn.Checkpoint(tmp_path)])
    model = Net(1)
    train(model, 1, callbacks=[wg.nn.Checkpoint(tmp_path)])
    assert model.calls.item() == 8


def test_data_without_a_state(tmp_path):
    with pytest.raises(TypeError, match="a generator has no state_dict.*Use wg.data.Batches"):
        train(Net(), 1, (batch for batch in batches()), callbacks=[wg.nn.Checkpoint(tmp_path)])


def test_a_callback_whose_state_cannot_be_kept(tmp_path):
    class Odd(wg.nn.Callback):
        def state_dict(self):
            return {"what": object()}

    with pytest.raises(TypeError, match=r"training.callbacks.Odd-0.what is a object"):
        train(Net(), 1, callbacks=[Odd(), wg.nn.Checkpoint(tmp_path)])


def test_the_index_names_no_file_elsewhere(tmp_path):
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere.safetensors"
    train(Net(1), 1, callbacks=[wg.nn.Checkpoint(folder)])
    index = json.loads((folder / "checkpoint.json").read_text())
    (folder / index["weights"]).rename(elsewhere)
    (folder / "link.safetensors").symlink_to(elsewhere)
    for name in ("../elsewhere.safetensors", str(elsewhere), "run/../x", "..", ".", "", "link.safetensors", None, "\0"):
        (folder / "checkpoint.json").write_text(json.dumps(index | {"weights": name}))
        with pytest.raises(ValueError, match="in its own folder only"):
            train(Net(1), 2, callbacks=[wg.nn.Checkpoint(folder, resume=True)])


def test_numbers_that_are_not_finite_are_kept_in_valid_json(tmp_path):
    numbers = {"losses": [1.0, np.inf, (-np.inf, np.float32(np.nan))]}
    packed, arrays = pack_state(numbers)
    text = json.dumps(packed, allow_nan=False)
    assert repr(unpack_state(json.loads(text), arrays)) == "{'losses': [1.0, inf, (-inf, nan)]}"
    train(Net(1), 1, callbacks=[lambda training: training.history.add({"score": np.nan}), wg.nn.Checkpoint(tmp_path)])
    text = (tmp_path / "checkpoint.json").read_text()
    json.loads(text, parse_constant=pytest.fail)
    assert "nan" in text
