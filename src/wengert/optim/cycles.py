"""Schedules that repeat: cosines with restarts, and the rate up and down between two bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.core.errors import user_error
from wengert.optim.one_cycle import assign_momentum
from wengert.optim.optimizer import Optimizer
from wengert.optim.schedules import LRScheduler, anneal


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half periods of a cosine, each `T_mult` times as long as the last (Loshchilov and Hutter 2016).

    >>> import wengert as wg
    >>> schedule = CosineAnnealingWarmRestarts(wg.optim.SGD(lr=0.8), T_0=2)
    >>> [round(schedule.rates(epoch)[0], 9) for epoch in range(4)]
    [0.8, 0.4, 0.8, 0.4]
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        if T_0 < 1 or T_mult < 1:
            raise user_error(ValueError, f"T_0={T_0}, T_mult={T_mult}", "Both are integers of at least 1.")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: float, base: float) -> float:
        length = self.T_0
        while epoch >= length:
            epoch -= length
            length *= self.T_mult
        return anneal(base, self.eta_min, epoch / length)


class CyclicLR(LRScheduler):
    """Up from `base_lr` to `max_lr` and down again, over and over (Smith 2017).

    `mode` is "triangular", "triangular2" (each cycle half as high) or "exp_range" (`gamma` to the power of the step).
    The momentum, or the first of the betas, goes the other way, unless `cycle_momentum` is False.

    >>> import wengert as wg
    >>> schedule = CyclicLR(wg.optim.SGD(lr=0.1), 0.1, 0.5, step_size_up=2, cycle_momentum=False)
    >>> [round(schedule.rates(step)[0], 9) for step in range(5)]
    [0.1, 0.3, 0.5, 0.3, 0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ):
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise user_error(ValueError, f"mode={mode!r}", "It is 'triangular', 'triangular2' or 'exp_range'.")
        if cycle_momentum and not {"momentum", "betas"} & optimizer.defaults.keys():
            raise user_error(
                ValueError, f"{type(optimizer).__name__} has no momentum", "Give CyclicLR cycle_momentum=False."
            )
        groups = max(1, len(optimizer.param_groups))
        self.lowest, self.highest = each_group(base_lr, groups), each_group(max_lr, groups)
        self.step_size_up, self.step_size_down = step_size_up, step_size_down or step_size_up
        self.mode, self.gamma, self.scale_fn, self.scale_mode = mode, gamma, scale_fn, scale_mode
        self.momenta = (base_momentum, max_momentum) if cycle_momentum else None
        for group, rate in zip(optimizer.param_groups, self.lowest, strict=False):
            group["initial_lr"] = rate
        super().__init__(optimizer, last_epoch)

    def height(self, epoch: int) -> float:
        """How far up between the bounds a step is, with the scale of its cycle."""
        cycle, step = divmod(epoch, self.step_size_up + self.step_size_down)
        up = step / self.step_size_up
        part = up if up <= 1.0 else 1.0 - (step - self.step_size_up) / self.step_size_down
        if self.scale_fn is not None:
            return part * self.scale_fn(cycle + 1 if self.scale_mode == "cycle" else epoch)
        return part * {"triangular": 1.0, "triangular2": 0.5**cycle, "exp_range": self.gamma**epoch}[self.mode]

    def rates(self, epoch: int) -> list[float]:
        height = self.height(epoch)
        return [low + (high - low) * height for low, high in zip(self.lowest, self.highest, strict=True)]

    def step(self) -> None:
        """Go on to the next step, with its rate and momentum."""
        super().step()
        if self.momenta is not None:
            low, high = self.momenta
            for group in self.optimizer.param_groups:
                assign_momentum(group, high - (high - low) * self.height(self.last_epoch))


def each_group(value: Any, groups: int) -> list[float]:
    """A rate for each group of parameters."""
    return [value] * groups if isinstance(value, int | float) else list(value)
