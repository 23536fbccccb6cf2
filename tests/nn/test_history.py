"""The history as a table and as a picture; the progress as lines of text and on a terminal."""

from __future__ import annotations

import io

import pytest
from tests.nn.training_parts import Net, X, Y, train

import wengert as wg
from wengert.nn.history import History


@pytest.fixture
def history():
    made = History()
    for k in range(1, 11):
        made.add({"loss": 1.0 / k, "accuracy": 1 - 0.5 / k, "val_loss": 2.0 / k, "seconds": 0.1})
    return made


def test_table(history):
    lines = str(history).splitlines()
    assert lines[0].split() == ["epoch", "loss", "accuracy", "val_loss", "seconds"]
    assert lines[-1].split() == ["10", "0.1", "0.95", "0.2", "0.1"]
    assert len({len(line) for line in lines}) == 1
    assert repr(history) == "<History of 10 epochs: loss, accuracy, val_loss, seconds>"
    assert str(History()) == "epoch"


def test_best(history):
    assert history.best("loss") == 10
    assert history.best("accuracy", "max") == 10
    assert history.best("accuracy") == 1


def test_plot(history, tmp_path):
    pytest.importorskip("matplotlib")
    figure = history.plot(tmp_path / "history.png", log=True)
    assert (tmp_path / "history.png").stat().st_size > 1000
    loss, accuracy = figure.axes
    assert [line.get_ydata().tolist() for line in loss.lines] == [history["loss"], history["val_loss"]]
    assert loss.get_yscale() == "log"
    assert [text.get_text() for text in accuracy.get_legend().texts] == ["training"]


def test_plot_without_matplotlib(history, monkeypatch):
    monkeypatch.setattr("wengert.nn.history.import_module", no_module)
    with pytest.raises(ModuleNotFoundError, match="A plot needs Matplotlib"):
        history.plot()


def no_module(name):
    raise ModuleNotFoundError(name)


def test_plain_lines(capsys):
    train(Net(), 3, validation=wg.data.Batches((X, Y), 60), progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["epoch 1/3", "epoch 2/3", "epoch 3/3"]
    assert "  loss " in lines[0]
    assert "  val_loss " in lines[0]
    assert "samples/s" in lines[0]
    assert lines[0].endswith(" left")
    assert lines[2].endswith(" samples/s")


def test_many_epochs_are_few_lines(capsys):
    train(Net(), 50, wg.data.Batches((X, Y), 60), progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 17
    assert lines[-1].startswith("epoch 50/50")


def test_silence(capsys):
    train(Net(), 1, progress=False)
    assert capsys.readouterr() == ("", "")


def test_a_line_on_a_terminal(monkeypatch):
    console = pytest.importorskip("rich.console").Console(file=io.StringIO(), force_terminal=True, width=120)
    monkeypatch.setattr("wengert.nn.progress.PAUSE", 0.0)
    train(Net(), 2, progress=console)
    written = console.file.getvalue()
    assert "epoch 1/2  batch 3/8  loss " in written
    assert "epoch 2/2  loss " in written
    assert written.count("\n") < 5


def test_no_terminal_without_rich(capsys, monkeypatch):
    monkeypatch.setattr("wengert.nn.progress.find_spec", lambda name: None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    train(Net(), 1, progress=True)
    assert capsys.readouterr().err.startswith("epoch 1/1")


def test_no_standard_error(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    assert train(Net(), 1, progress=True).epochs == 1
