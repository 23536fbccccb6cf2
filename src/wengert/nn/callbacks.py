"""Callbacks: what is done between the steps and the epochs of `fit`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.errors import user_error

if TYPE_CHECKING:
    from wengert.nn.training import Training


class Callback:
    """What `fit` calls as it goes, with the `Training`. Derive from it, and define the methods that you need.

    `training` has the `model`, the `optimizer`, the `history`, the numbers of the `epoch` and the `step`, the `loss` of
    the last batch, and `stop(reason)`.

    >>> class Printer(Callback):
    ...     def after_epoch(self, training):
    ...         print(training.epoch, training.history["loss"][-1])
    """

    def begin(self, training: Training) -> None:
        """Called before the first step."""

    def after_step(self, training: Training) -> None:
        """Called after each step."""

    def after_epoch(self, training: Training) -> None:
        """Called after each epoch, when its numbers are in the history."""

    def end(self, training: Training) -> None:
        """Called at the end, if there was no error."""

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of this callback."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue with this state."""


class AfterEpoch(Callback):
    """A function that is called after each epoch."""

    def __init__(self, function: Callable[[Training], Any]):
        self.function = function

    def after_epoch(self, training: Training) -> None:
        self.function(training)


class EarlyStopping(Callback):
    """Stop when a number of the history has not become better for `patience` epochs.

    `mode` is "min" or "max"; an improvement is larger than `min_delta`. With `restore_best`, the model ends with the
    weights of its best epoch.

    >>> EarlyStopping("val_accuracy", patience=3, mode="max")
    EarlyStopping('val_accuracy', patience=3)
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        patience: int = 5,
        min_delta: float = 0.0,
        mode: str = "min",
        restore_best: bool = True,
    ):
        check_mode(mode)
        self.monitor, self.patience, self.min_delta, self.mode = monitor, patience, min_delta, mode
        self.restore_best = restore_best
        self.best, self.waited = math.inf if mode == "min" else -math.inf, 0
        self.weights: dict[str, np.ndarray] | None = None

    def after_epoch(self, training: Training) -> None:
        value = monitored_value(training.history, self.monitor)
        if is_better(value, self.best, self.mode, self.min_delta):
            self.best, self.waited = value, 0
            self.weights = training.model.state_dict() if self.restore_best else None
            return
        self.waited += 1
        if self.waited >= self.patience:
            training.stop(f"{self.monitor} did not become better than {self.best:.4g} in {self.patience} epochs")

    def end(self, training: Training) -> None:
        if self.weights is not None:
            training.model.load_state_dict(self.weights)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "waited": self.waited, "weights": self.weights}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.best, self.waited, self.weights = state["best"], state["waited"], state["weights"]

    def __repr__(self) -> str:
        return f"EarlyStopping({self.monitor!r}, patience={self.patience})"


class Schedule(Callback):
    """Advance a schedule of `wg.optim` after each epoch, or after each step (`every="step"`).

    `monitor` is the number of the history that a schedule which looks at one is given, as `ReduceLROnPlateau` does.

    >>> import wengert as wg
    >>> x = np.ones((4, 1))
    >>> model = wg.nn.Linear(1, 1, rng=0)
    >>> optimizer = wg.optim.SGD(model.parameters(), lr=0.1)
    >>> halving = Schedule(wg.optim.StepLR(optimizer, 1, gamma=0.5))
    >>> history = wg.nn.fit(
    ...     model, wg.nn.MSELoss(), wg.data.Batches((x, x), 2), optimizer, 2, callbacks=[halving], progress=False
    ... )
    >>> optimizer.param_groups[0]["lr"]
    0.025
    """

    def __init__(self, schedule: Any, every: str = "epoch", monitor: str | None = None):
        if every not in ("epoch", "step"):
            raise user_error(ValueError, f"every={every!r}", 'Use "epoch" or "step".')
        self.schedule, self.every, self.monitor = schedule, every, monitor

    def after_step(self, training: Training) -> None:  # noqa: ARG002  # that of Callback
        if self.every == "step":
            self.schedule.step()

    def after_epoch(self, training: Training) -> None:
        if self.every == "epoch":
            self.schedule.step(*([monitored_value(training.history, self.monitor)] if self.monitor else []))

    def state_dict(self) -> dict[str, Any]:
        return {"schedule": self.schedule.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.schedule.load_state_dict(state["schedule"])


def monitored_value(history: Mapping[str, list[float]], name: str) -> float:
    """The last value of a number of the history."""
    if name not in history:
        raise user_error(
            KeyError,
            f"The history has no {name!r}, only {', '.join(map(repr, history))}",
            "Numbers with val_ need validation=..., metrics need metrics=[...].",
        )
    return history[name][-1]


def is_better(value: float, best: float, mode: str, min_delta: float = 0.0) -> bool:
    """Whether a number is an improvement."""
    return value < best - min_delta if mode == "min" else value > best + min_delta


def check_mode(mode: str) -> None:
    """Raise an error for a mode that is neither "min" nor "max"."""
    if mode not in ("min", "max"):
        raise user_error(ValueError, f"mode={mode!r}", 'Use "min" or "max".')
