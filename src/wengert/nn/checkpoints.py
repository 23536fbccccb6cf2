"""Checkpoints: the state of training in a folder, from which `fit` continues to the same bits."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wengert.core.errors import user_error
from wengert.nn.callbacks import Callback, check_mode, is_better, monitored_value
from wengert.nn.packing import pack_state, unpack_state
from wengert.nn.weights import load, save

if TYPE_CHECKING:
    from wengert.nn.training import Training

INDEX = "checkpoint.json"
"""The file that names the others; it is replaced last, so that there is always a complete checkpoint."""
BEST = "best.safetensors"
TENSORS = "training.model.tensors."
"""The path to the tensors of the model in the state of training; those of its state dict are in the file of weights."""


class Checkpoint(Callback):
    """Write the state of training to a folder, every few epochs (`every`) or every few steps (`steps`).

    The folder has the weights of the model (`weights-*.safetensors`, which `wg.nn.load` and PyTorch read), and all else
    that the next steps depend on (`state-*.safetensors` and `checkpoint.json`): optimiser, generators, position in the
    data, history, callbacks. With `resume`, training continues from the checkpoint in the folder, if there is one.
    `monitor` names a number of the history; the weights of the epoch in which it was best are `best.safetensors`.

    >>> Checkpoint("runs/digits", every=5, resume=True)
    Checkpoint('runs/digits')
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        every: int = 1,
        steps: int | None = None,
        monitor: str | None = None,
        mode: str = "min",
        resume: bool = False,
    ):
        check_mode(mode)
        self.folder, self.every, self.steps, self.resume = Path(folder), every, steps, resume
        self.monitor, self.mode = monitor, mode
        self.best: float | None = None

    def begin(self, training: Training) -> None:
        if not hasattr(training.data, "state_dict"):
            raise user_error(
                TypeError,
                f"A checkpoint needs the position in the data, and a {type(training.data).__name__} has no state_dict",
                "Use wg.data.Batches.",
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.resume and (self.folder / INDEX).exists():
            training.load_state_dict(self.read())

    def after_step(self, training: Training) -> None:
        if self.steps is not None and training.step % self.steps == 0:
            self.write(training)

    def after_epoch(self, training: Training) -> None:
        if self.monitor is not None:
            value = monitored_value(training.history, self.monitor)
            if self.best is None or is_better(value, self.best, self.mode):
                self.best = value
                save(self.folder / BEST, training.model, {"epoch": str(training.epoch), self.monitor: repr(value)})
        if training.epoch % self.every == 0 or training.epoch == training.epochs or training.reason is not None:
            self.write(training)

    def write(self, training: Training) -> None:
        """Write a checkpoint; then remove the one before."""
        number = f"{training.epoch}-{training.batch}.safetensors"
        weights, rest = f"weights-{number}", f"state-{number}"
        named = training.model.state_dict()
        packed, arrays = pack_state(training.state_dict(), "training")
        save(self.folder / weights, named, {"epoch": str(training.epoch), "step": str(training.step)})
        save(self.folder / rest, {name: a for name, a in arrays.items() if name.removeprefix(TENSORS) not in named})
        index = {"weights": weights, "state": rest, "training": packed}
        partial = self.folder / (INDEX + ".partial")
        partial.write_text(json.dumps(index, indent=1, allow_nan=False))
        os.replace(partial, self.folder / INDEX)
        for old in (*self.folder.glob("weights-*.safetensors"), *self.folder.glob("state-*.safetensors")):
            if old.name not in (weights, rest):
                old.unlink()

    def read(self) -> Any:
        """The state in the folder."""
        index = json.loads((self.folder / INDEX).read_text())
        weights, state = [self.named_file(index[key]) for key in ("weights", "state")]
        named = {TENSORS + name: array for name, array in load(weights).items()}
        return unpack_state(index["training"], named | load(state))

    def named_file(self, name: Any) -> Path:
        """The file of the folder that the index names; an error if that would be a file elsewhere."""
        is_name = isinstance(name, str) and name == Path(name).name != "" and "\0" not in name
        if not is_name or (self.folder / name).resolve().parent != self.folder.resolve():  # "..", or a link
            raise user_error(
                ValueError,
                f"{self.folder / INDEX} names the file {name!r}, and a checkpoint has files in its own folder only",
                "Use a checkpoint that you trust, or start without resume=True.",
            )
        return self.folder / name

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best}

    def load_state_dict(self, state: Any) -> None:
        self.best = state["best"]

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.folder)!r})"
