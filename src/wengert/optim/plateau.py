"""The schedule that waits: a smaller rate when the loss no longer improves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from wengert.core.errors import user_error
from wengert.core.levels import bottom_array
from wengert.optim.optimizer import Optimizer, refuse_traced

STATE = ("best", "num_bad_epochs", "cooldown_counter", "last_epoch")


class ReduceLROnPlateau:
    """The rate times `factor` after more than `patience` epochs without a better loss.

    >>> import wengert as wg
    >>> optimizer = wg.optim.SGD([wg.tensor(1.0, requires_grad=True)], lr=0.8)
    >>> schedule = ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.4]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ):
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise user_error(
                ValueError, f"mode={mode!r}, threshold_mode={threshold_mode!r}", "They are 'min', 'max'; 'rel', 'abs'."
            )
        if not factor < 1.0:
            raise user_error(ValueError, f"factor={factor}", "It must be less than 1.")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        groups = len(optimizer.param_groups)
        self.min_lrs = [min_lr] * groups if isinstance(min_lr, int | float) else list(min_lr)
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def is_better(self, metrics: float) -> bool:
        """Whether a value is better than the best one by more than the threshold."""
        sign = 1.0 if self.mode == "min" else -1.0
        margin = abs(self.best) * self.threshold if self.threshold_mode == "rel" else self.threshold
        limit = self.best - sign * margin if math.isfinite(self.best) else self.best
        return sign * metrics < sign * limit

    def step(self, metrics: Any) -> None:
        """Go on to the next epoch; `metrics` is the loss, or another metric, of this one."""
        refuse_traced(self)
        value = float(bottom_array(metrics))
        self.last_epoch += 1
        if self.is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self.reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def reduce(self) -> None:
        """Make the rates smaller, where that is a difference."""
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = group["lr"]
            new = max(old * self.factor, least)
            if old - new > self.eps:
                group["lr"] = new

    def get_last_lr(self) -> list[float]:
        """The learning rates of this epoch."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to continue."""
        return {name: getattr(self, name) for name in STATE}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        for name in STATE:
            setattr(self, name, state_dict[name])
