"""The loop of training, with a state that a checkpoint can keep."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, NoReturn

import numpy as np

from wengert.core import machine
from wengert.core.errors import user_line
from wengert.nn.callbacks import Callback, Schedule
from wengert.nn.history import VALIDATION, History
from wengert.nn.module import Module
from wengert.nn.packing import pack_state, unpack_state
from wengert.nn.progress import Progress
from wengert.nn.snapshot import restore_snapshot, take_snapshot
from wengert.nn.steps import Step, count_samples, is_pair, plain_output, target_of

Metrics = Mapping[str, Callable[[Any, Any], Any]]


class NonFiniteLossError(FloatingPointError):
    """The loss of a batch, `batch`, is infinite or not a number."""

    def __init__(self, message: str, batch: Any):
        super().__init__(message)
        self.batch = batch


class Training:
    """What `fit` does, and what callbacks are given.

    `epoch` and `step` count from 1, `batch` is the number of batches of this epoch so far, and `loss` that of the last.

    >>> import wengert as wg
    >>> x = np.ones((4, 1))
    >>> model = wg.nn.Linear(1, 1, rng=0)
    >>> optimizer = wg.optim.SGD(model.parameters(), lr=0.1)
    >>> show = lambda training: print(training.epoch, training.step, training.loss < 1.0)
    >>> history = wg.nn.fit(
    ...     model, wg.nn.MSELoss(), wg.data.Batches((x, x), 2), optimizer, 2, callbacks=[show], progress=False
    ... )
    1 2 True
    2 4 True
    """

    def __init__(
        self,
        model: Module,
        data: Any,
        optimizer: Any,
        epochs: int,
        validation: Any,
        metrics: Metrics,
        callbacks: Sequence[Callback],
        steps: tuple[Step, Step],
    ):
        self.model, self.data, self.optimizer, self.epochs = model, data, optimizer, epochs
        self.validation, self.metrics, self.callbacks = validation, metrics, callbacks
        self.train_step, self.evaluate = steps
        self.history, self.means = History(), Means()
        self.epoch, self.batch, self.step, self.loss = 0, 0, 0, float("nan")
        self.reason: str | None = None
        self.kept: tuple[Any, dict[str, np.ndarray]] | None = None
        self.kept_at = -math.inf

    def stop(self, reason: str) -> None:
        """End after this epoch, or after this step if there is one in progress."""
        self.reason = reason

    def run(self, shown: Any) -> None:
        """Train until all epochs are done, or until `stop`."""
        with Modes(self.model), Progress(shown, self.epochs) as progress:
            if not any(module.training for module in self.model.modules()):
                self.model.train()
            self.optimizer.zero_grad()
            for callback in self.callbacks:
                callback.begin(self)
            while not self.is_done:
                batches = iter(self.data)
                self.keep_state()
                self.run_epoch(batches, progress)
            for callback in self.callbacks:
                callback.end(self)

    @property
    def is_done(self) -> bool:
        """Whether there is no epoch left, or a reason to stop."""
        return self.reason is not None or self.epoch - bool(self.batch) >= self.epochs

    def run_epoch(self, batches: Iterator[Any], progress: Progress) -> None:
        """Train on all batches, or on the rest of an epoch that a checkpoint has left; then validate."""
        began = perf_counter()
        if not self.batch:
            self.epoch, self.means = self.epoch + 1, Means()
        length = length_of(self.data)
        for batch in batches:
            output = self.take_step(batch)
            n = count_samples(batch)
            self.means.add(n, {"loss": self.loss, **self.measure(output, batch)})
            for callback in self.callbacks:
                callback.after_step(self)
            progress.after_step(self.epoch, self.batch, length, n, self.loss)
            if self.reason is not None:
                return
        numbers = {**self.means.values(), **self.validate(), "seconds": perf_counter() - began}
        self.history.add(numbers)
        steps, self.batch = self.batch, 0
        for callback in self.callbacks:
            callback.after_epoch(self)
        progress.after_epoch(self.epoch, steps, numbers)

    def take_step(self, batch: Any) -> Any:
        """Train on a batch; returns the output."""
        value, output = self.train_step(batch)
        self.step, self.batch, self.loss = self.step + 1, self.batch + 1, float(value.item())
        if not math.isfinite(self.loss):
            self.fail(batch)
        return output

    def validate(self) -> dict[str, float]:
        """The numbers of the validation data, with the model in the mode of evaluation."""
        if self.validation is None:
            return {}
        means = Means()
        with Modes(self.model):
            self.model.eval()
            for batch in self.validation:
                value, output = self.evaluate(batch)
                means.add(count_samples(batch), {"loss": float(value.item()), **self.measure(output, batch)})
        return {VALIDATION + name: value for name, value in means.values().items()}

    def measure(self, output: Any, batch: Any) -> dict[str, float]:
        """The metrics of a batch."""
        if not self.metrics:
            return {}
        arrays, target = plain_output(output), target_of(batch)
        return {name: float(metric(arrays, target)) for name, metric in self.metrics.items()}

    # A loss that is not finite.

    def keep_state(self) -> None:
        """Keep a copy of the state from time to time, if the steps from there on can be repeated."""
        now = perf_counter()
        if (
            now - self.kept_at > machine.current.seconds_between_kept_states
            and can_restart(self.data)
            and can_restart(self.validation)
        ):
            packed, arrays = pack_state(self.state_dict(Schedule))
            self.kept = packed, {name: array.copy() for name, array in arrays.items()}
            self.kept_at = now

    def fail(self, batch: Any) -> NoReturn:
        """Raise an error that names the batch, with the weights from before its step if they can be computed again."""
        what = f"The loss is {self.loss} in batch {self.batch} of epoch {self.epoch}, at {user_line()}"
        state = "The model has already taken this step."
        if self.kept is not None:
            probe = Probe(self, *self.kept)
            batch, state = probe.found, "The model has the parameters from before that step."
            if probe.step < self.step:
                what += f", because the step of batch {probe.batch} made parameters that are not finite"
        call = "lambda model, x: loss(model(x), x), model, e.batch"
        if is_pair(batch):
            call = "lambda model, x, y: loss(model(x), y), model, *e.batch"
        raise NonFiniteLossError(
            f"{what}. {state} To find the operation, catch the error as e and call wg.why_nan({call}).", batch
        )

    # For checkpoints.

    def state_dict(self, kind: type[Callback] = Callback) -> dict[str, Any]:
        """All that the following steps depend on; of the callbacks, those of a kind."""
        return {
            "model": take_snapshot(self.model),
            "optimizer": self.optimizer.state_dict(),
            "data": self.data.state_dict(),
            "callbacks": {
                name: callback.state_dict() for name, callback in self.named_callbacks() if isinstance(callback, kind)
            },
            "history": dict(self.history),
            "means": self.means.totals,
            "position": {"epoch": self.epoch, "batch": self.batch, "step": self.step, "reason": self.reason},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state_dict` was called."""
        restore_snapshot(self.model, state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.data.load_state_dict(state["data"])
        for name, callback in self.named_callbacks():
            if name in state["callbacks"]:
                callback.load_state_dict(state["callbacks"][name])
        self.history, self.means = History(state["history"]), Means(state["means"])
        position = state["position"]
        self.epoch, self.batch, self.step = position["epoch"], position["batch"], position["step"]
        self.reason = position["reason"]

    def named_callbacks(self) -> Iterator[tuple[str, Callback]]:
        """The callbacks with the names of their classes, and numbers for those of the same class."""
        counts = Counter[str]()
        for callback in self.callbacks:
            name = type(callback).__name__
            yield f"{name}-{counts[name]}", callback
            counts[name] += 1


class Probe(Training):
    """A run of training again, from a state up to the first step that gives a number that is not finite.

    That step is undone. `step` and `batch` are its numbers, and `found` is its batch.
    """

    def __init__(self, training: Training, packed: Any, arrays: Mapping[str, np.ndarray]):
        schedules = [callback for callback in training.callbacks if isinstance(callback, Schedule)]
        parts = training.model, training.data, training.optimizer, training.epochs, training.validation
        super().__init__(*parts, {}, schedules, (training.train_step, training.evaluate))
        self.last = training.step
        self.load_state_dict(unpack_state(packed, arrays))
        with suppress(Found):
            while True:
                self.run_epoch(iter(self.data), Progress(False, 0))

    def take_step(self, batch: Any) -> Any:
        before, optimizer = take_snapshot(self.model), self.optimizer.state_dict()
        value, output = self.train_step(batch)
        self.step, self.batch, self.loss = self.step + 1, self.batch + 1, float(value.item())
        if self.step == self.last or not (math.isfinite(self.loss) and is_finite(self.model)):
            restore_snapshot(self.model, before)
            self.optimizer.load_state_dict(optimizer)
            self.found = batch
            raise Found
        return output


class Found(Exception):
    """The step that was searched for."""


class Means:
    """Means of numbers over samples, from those over batches."""

    def __init__(self, totals: Mapping[str, Sequence[float]] | None = None):
        self.totals = {name: list(pair) for name, pair in (totals or {}).items()}

    def add(self, samples: int, numbers: Mapping[str, float]) -> None:
        """Add the numbers of a batch."""
        for name, value in numbers.items():
            total = self.totals.setdefault(name, [0.0, 0])
            total[0] += samples * value
            total[1] += samples

    def values(self) -> dict[str, float]:
        """The means so far."""
        return {name: total / samples for name, (total, samples) in self.totals.items()}


class Modes:
    """Restores the modes of all modules, training or evaluation, when the block ends."""

    def __init__(self, model: Module):
        self.modes = [(module, module.training) for module in model.modules()]

    def __enter__(self) -> Modes:
        return self

    def __exit__(self, *_: object) -> None:
        for module, training in self.modes:
            module.training = training


def can_restart(data: Any) -> bool:
    """Whether data can be read again from a position; None can."""
    return data is None or getattr(data, "can_restart", False)


def length_of(data: Any) -> int | None:
    """The number of batches of an epoch, if it is known."""
    try:
        return len(data)
    except TypeError:
        return None


def is_finite(model: Module) -> bool:
    """Whether all parameters are finite."""
    return all(np.isfinite(p.detach().numpy()).all() for p in model.parameters())
