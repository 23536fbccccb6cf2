"""Schedules: learning rates as functions of the epoch, with PyTorch's names and arguments.

A schedule is a formula, `rates(epoch)`. `step()` goes on to the next epoch, and assigns the rates to the groups of an
optimiser, whose programs read them: nothing is compiled again.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wengert.core.errors import user_error
from wengert.optim.optimizer import Optimizer, refuse_traced


class LRScheduler:
    """A schedule of learning rates; subclasses define `rate(epoch, base)`, or `rates(epoch)` for all groups.

    >>> import wengert as wg
    >>> class Halving(LRScheduler):
    ...     def rate(self, epoch, base):
    ...         return base * 0.5**epoch
    >>> optimizer = wg.optim.SGD([wg.tensor(1.0, requires_grad=True)], lr=0.8)
    >>> schedule = Halving(optimizer)
    >>> schedule.step()
    >>> optimizer.param_groups[0]["lr"]
    0.4
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise user_error(TypeError, f"{type(self).__name__} takes an optimiser, not a {type(optimizer).__name__}")
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [g["initial_lr"] for g in optimizer.param_groups] or [optimizer.defaults["lr"]]
        self.step()

    def rate(self, epoch: int, base: float) -> float:
        """The learning rate of an epoch, for a group that started with the rate `base`."""
        raise NotImplementedError  # subclasses define it, or `rates`

    def rates(self, epoch: int) -> list[float]:
        """The learning rates of an epoch, one for each group."""
        return [self.rate(epoch, base) for base in self.base_lrs]

    def step(self) -> None:
        """Go on to the next epoch."""
        refuse_traced(self)
        self.last_epoch += 1
        for group, rate in zip(self.optimizer.param_groups, self.rates(self.last_epoch), strict=False):
            group["lr"] = rate

    def get_last_lr(self) -> list[float]:
        """The learning rates of this epoch."""
        return [group["lr"] for group in self.optimizer.param_groups] or self.rates(self.last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to continue."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`. The optimiser has learning rates in its own."""
        self.last_epoch, self.base_lrs = state_dict["last_epoch"], list(state_dict["base_lrs"])


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch, or one function for each group.

    >>> import wengert as wg
    >>> LambdaLR(wg.optim.SGD(lr=0.8), lambda epoch: 0.5**epoch).rates(2)
    [0.2]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ):
        groups = max(1, len(optimizer.param_groups))
        self.lr_lambdas = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != groups:
            raise user_error(ValueError, f"LambdaLR has {len(self.lr_lambdas)} functions for {groups} groups")
        super().__init__(optimizer, last_epoch)

    def rates(self, epoch: int) -> list[float]:
        return [base * factor(epoch) for base, factor in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """The rate times `gamma` every `step_size` epochs.

    >>> import wengert as wg
    >>> [StepLR(wg.optim.SGD(lr=0.8), 2, 0.5).rates(epoch)[0] for epoch in range(5)]
    [0.8, 0.8, 0.4, 0.4, 0.2]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        return base * self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """The rate times `gamma` at each of the `milestones`.

    >>> import wengert as wg
    >>> [MultiStepLR(wg.optim.SGD(lr=0.8), [1, 3], 0.5).rates(epoch)[0] for epoch in range(5)]
    [0.8, 0.4, 0.4, 0.2, 0.2]
    """

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        return base * self.gamma ** bisect_right(self.milestones, epoch)


class ExponentialLR(LRScheduler):
    """The rate times `gamma` in each epoch.

    >>> import wengert as wg
    >>> [ExponentialLR(wg.optim.SGD(lr=0.8), 0.5).rates(epoch)[0] for epoch in range(3)]
    [0.8, 0.4, 0.2]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        return base * self.gamma**epoch


class LinearLR(LRScheduler):
    """A warm-up: the factor goes linearly from `start_factor` to `end_factor` in `total_iters` epochs.

    >>> import wengert as wg
    >>> [LinearLR(wg.optim.SGD(lr=0.8), 0.5, total_iters=2).rates(epoch)[0] for epoch in range(4)]
    [0.4, 0.6000000000000001, 0.8, 0.8]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        part = min(epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * part)


class ConstantLR(LRScheduler):
    """A part of the initial rate for the first epochs, and then all of it.

    >>> import wengert as wg
    >>> [ConstantLR(wg.optim.SGD(lr=0.8), 0.5, total_iters=2).rates(epoch)[0] for epoch in range(3)]
    [0.4, 0.4, 0.8]
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        return base * self.factor if epoch < self.total_iters else base


class PolynomialLR(LRScheduler):
    """From the initial rate to 0 in `total_iters` epochs, along a power of the part that is left.

    >>> import wengert as wg
    >>> [PolynomialLR(wg.optim.SGD(lr=0.8), total_iters=2, power=2.0).rates(epoch)[0] for epoch in range(4)]
    [0.8, 0.2, 0.0, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        return base * (1.0 - min(epoch, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a period of a cosine, from the initial rate to `eta_min` in `T_max` epochs.

    >>> import wengert as wg
    >>> [round(CosineAnnealingLR(wg.optim.SGD(lr=0.8), 2).rates(epoch)[0], 9) for epoch in range(3)]
    [0.8, 0.4, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, epoch: int, base: float) -> float:
        return anneal(base, self.eta_min, epoch / self.T_max)


def anneal(start: float, end: float, part: float) -> float:
    """From `start` to `end` along half a period of a cosine."""
    return end + (start - end) * (1.0 + math.cos(math.pi * part)) / 2.0


class SequentialLR(LRScheduler):
    """Schedules one after the other; each begins at a milestone, with its epoch 0.

    >>> import wengert as wg
    >>> optimizer = wg.optim.SGD(lr=0.8)
    >>> parts = [LinearLR(optimizer, 0.5, total_iters=2), ExponentialLR(optimizer, 0.5)]
    >>> [round(SequentialLR(optimizer, parts, [2]).rates(epoch)[0], 9) for epoch in range(5)]
    [0.4, 0.6, 0.8, 0.4, 0.2]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ):
        if len(schedulers) != len(milestones) + 1:
            raise user_error(
                ValueError,
                f"SequentialLR has {len(schedulers)} schedules and {len(milestones)} milestones",
                "Give one milestone fewer than schedules.",
            )
        if any(schedule.optimizer is not optimizer for schedule in schedulers):
            raise user_error(ValueError, "SequentialLR has schedules of another optimiser")
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        super().__init__(optimizer, last_epoch)

    def rates(self, epoch: int) -> list[float]:
        i = bisect_right(self.milestones, epoch)
        return self.schedulers[i].rates(epoch - (self.milestones[i - 1] if i else 0))


class ChainedScheduler(LRScheduler):
    """Schedules at once: the rate is the initial one times the factors by which each of them would change it.

    >>> import wengert as wg
    >>> optimizer = wg.optim.SGD(lr=0.8)
    >>> parts = [ConstantLR(optimizer, 0.5, total_iters=1), ExponentialLR(optimizer, 0.5)]
    >>> [ChainedScheduler(parts).rates(epoch)[0] for epoch in range(3)]
    [0.4, 0.4, 0.2]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        if not schedulers:
            raise user_error(ValueError, "ChainedScheduler was given no schedules")
        given = schedulers[0].optimizer if optimizer is None else optimizer
        if any(schedule.optimizer is not given for schedule in schedulers):
            raise user_error(ValueError, "ChainedScheduler has schedules of another optimiser")
        self.schedulers = list(schedulers)
        super().__init__(given)

    def rates(self, epoch: int) -> list[float]:
        found = list(self.base_lrs)
        for schedule in self.schedulers:
            factors = [rate / base for rate, base in zip(schedule.rates(epoch), schedule.base_lrs, strict=True)]
            found = [rate * factor for rate, factor in zip(found, factors, strict=True)]
        return found
