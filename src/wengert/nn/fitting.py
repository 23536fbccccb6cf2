"""`fit`: train a model on batches of data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.errors import user_error
from wengert.nn.callbacks import AfterEpoch, Callback
from wengert.nn.checkpoints import Checkpoint
from wengert.nn.history import History
from wengert.nn.module import Module
from wengert.nn.steps import check_optimizer, training_step, validation_step
from wengert.nn.training import Metrics, Training


def fit(
    model: Module,
    loss: Callable[[Any, Any], Any],
    data: Iterable[Any],
    optimizer: Any,
    epochs: int,
    *,
    validation: Iterable[Any] | None = None,
    metrics: Metrics | Sequence[Callable[[Any, Any], Any]] = (),
    callbacks: Sequence[Callback | Callable[[Training], Any]] = (),
    before_step: Callable[[], Any] | None = None,
    compile: bool = True,
    progress: Any = True,
) -> History:
    """Train a model: for each batch `(x, y)`, a step of the optimiser with the gradient of `loss(model(x), y)`.

    A batch that is no pair is input and target at once. Forward pass, backward pass and the update of the parameters
    are one native program, unless `compile` is False. `before_step` is called between gradient and update, to clip
    gradients.

    Metrics are functions of arrays, `metric(output, y)`; their means over the samples, and that of the loss, are in the
    history, for the training data and, with `val_` before their names, for the validation data. Callbacks are objects
    derived from `Callback`, or functions that are called after each epoch.

    The model is in the mode of training, and for validation in that of evaluation; afterwards its modes are as before.

    >>> import wengert as wg
    >>> x = np.linspace(-1.0, 1.0, 50, dtype=np.float32)[:, None]
    >>> model = wg.nn.Linear(1, 1, rng=0)
    >>> optimizer = wg.optim.SGD(model.parameters(), lr=0.5)
    >>> history = fit(model, wg.nn.MSELoss(), wg.data.Batches((x, 3 * x - 1), 10), optimizer, 20, progress=False)
    >>> history["loss"][-1] < 1e-6, model.weight.item().__round__(3)
    (True, 3.0)
    """
    check_batches(data, "data")
    check_batches(validation, "validation")
    if index(epochs) < 1:
        raise user_error(ValueError, f"epochs is {epochs}", "Train for one epoch or more.")
    if not callable(loss):
        raise user_error(TypeError, f"The loss is a {type(loss).__name__}", "Pass a function loss(output, target).")
    check_optimizer(model, optimizer)
    named = metrics if isinstance(metrics, Mapping) else {metric_name(metric): metric for metric in metrics}
    training = Training(
        model,
        data,
        optimizer,
        epochs,
        validation,
        named,
        sorted_callbacks(callbacks),
        (
            training_step(model, loss, optimizer, before_step, bool(named), compile),
            validation_step(model, loss, bool(named), compile),
        ),
    )
    training.run(progress)
    return training.history


def sorted_callbacks(callbacks: Sequence[Any]) -> list[Callback]:
    """Callbacks in the order in which they are called: checkpoints last, because they keep the state of the others."""
    objects = [callback if isinstance(callback, Callback) else AfterEpoch(callback) for callback in callbacks]
    return sorted(objects, key=lambda callback: isinstance(callback, Checkpoint))


def metric_name(metric: Callable[..., Any]) -> str:
    """The name of a metric in the history."""
    name = getattr(metric, "__name__", type(metric).__name__)
    if name == "<lambda>":
        raise user_error(TypeError, "A metric has no name", 'Pass a dict: metrics={"name": lambda output, y: ...}.')
    return str(name)


def check_batches(data: Any, name: str) -> None:
    """Raise an error for data that is not in batches; a list may have batches in it, but not arrays."""
    has_arrays = isinstance(data, list) and any(isinstance(part, np.ndarray | Array) for part in data)
    if has_arrays or isinstance(data, tuple | dict | np.ndarray | Array):
        raise user_error(
            TypeError,
            f"{name} is a {type(data).__name__}, not an iterable of batches",
            f"Use wg.data.Batches({name}, batch_size).",
        )
