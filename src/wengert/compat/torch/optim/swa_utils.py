"""`torch.optim.swa_utils`: averages of the parameters of a model over training."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from wengert.compat.differences import without
from wengert.compat.torch.creation import tensor
from wengert.compat.torch.differences import ABSENT
from wengert.compat.torch.nn.module import Module
from wengert.modes import recording

__all__ = ["AveragedModel", "get_ema_avg_fn"]


def mean(averaged: Any, new: Any, count: Any) -> Any:
    """The average of all parameters so far."""
    return averaged + (new - averaged) / (count + 1)


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """An average in which older parameters count less: for `AveragedModel(avg_fn=)`."""
    return lambda averaged, new, count: decay * averaged + (1 - decay) * new


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those of the model, at the calls of `update_parameters`."""

    n_averaged: Any

    def __init__(self, model: Module, device: Any = None, avg_fn: Callable[[Any, Any, Any], Any] | None = None):
        super().__init__()
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", tensor(0))
        self.avg_fn = mean if avg_fn is None else avg_fn

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Add the parameters of a model to the averages."""
        with recording.override(enabled=False):
            count = self.n_averaged.item()
            for averaged, p in zip(self.module.parameters(), model.parameters(), strict=True):
                averaged.data = self.avg_fn(averaged, p, count) if count else p
            for averaged, b in zip(self.module.buffers(), model.buffers(), strict=True):
                averaged.data = b
            self.n_averaged += 1


__getattr__ = without(__name__, ABSENT)
