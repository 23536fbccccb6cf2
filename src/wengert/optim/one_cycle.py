"""The one-cycle schedule: up and down again, with the momentum in the opposite direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.errors import user_error
from wengert.optim.optimizer import Optimizer
from wengert.optim.schedules import LRScheduler, anneal


class OneCycleLR(LRScheduler):
    """One cycle (Smith and Topin 2017): the rate goes up to `max_lr`, and then down to almost nothing.

    The momentum, or the first of the betas, goes the other way, unless `cycle_momentum` is False.

    >>> import wengert as wg
    >>> schedule = OneCycleLR(wg.optim.SGD(lr=0.1), max_lr=1.0, total_steps=5, pct_start=0.4, cycle_momentum=False)
    >>> [round(schedule.rates(step)[0], 4) for step in range(5)]
    [0.04, 1.0, 0.75, 0.25, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise user_error(ValueError, "OneCycleLR needs total_steps, or epochs and steps_per_epoch")
        if anneal_strategy not in ("cos", "linear"):
            raise user_error(ValueError, f"anneal_strategy={anneal_strategy!r}", "It is 'cos' or 'linear'.")
        self.total_steps = total_steps if total_steps is not None else (epochs or 0) * (steps_per_epoch or 0)
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        groups = max(1, len(optimizer.param_groups))
        highest = [max_lr] * groups if isinstance(max_lr, int | float) else list(max_lr)
        self.marks = (
            [top / div_factor for top in highest],
            highest,
            [top / div_factor / final_div_factor for top in highest],
        )
        self.momenta = max_momentum, base_momentum
        up, last = pct_start * self.total_steps - 1.0, self.total_steps - 1.0
        self.phases = (
            [(0.0, up, 0, 1), (up, 2.0 * up, 1, 0), (2.0 * up, last, 0, 2)]
            if three_phase
            else [(0.0, up, 0, 1), (up, last, 1, 2)]
        )
        if cycle_momentum and not {"momentum", "betas"} & optimizer.defaults.keys():
            raise user_error(
                ValueError, f"{type(optimizer).__name__} has no momentum", "Give OneCycleLR cycle_momentum=False."
            )
        for group, lowest in zip(optimizer.param_groups, self.marks[0], strict=False):
            group["initial_lr"] = lowest
        super().__init__(optimizer, last_epoch)

    def position(self, epoch: int) -> tuple[int, int, float]:
        """The marks between which an epoch lies, and where between them it lies."""
        if epoch > self.total_steps:
            raise user_error(ValueError, f"OneCycleLR has {self.total_steps} steps, and this is step {epoch}")
        start, end, a, b = next((phase for phase in self.phases if epoch <= phase[1]), self.phases[-1])
        return a, b, (epoch - start) / (end - start)

    def between(self, a: float, b: float, part: float) -> float:
        """A value between two marks."""
        return anneal(a, b, part) if self.anneal_strategy == "cos" else a + (b - a) * part

    def rates(self, epoch: int) -> list[float]:
        a, b, part = self.position(epoch)
        return [self.between(x, y, part) for x, y in zip(self.marks[a], self.marks[b], strict=True)]

    def step(self) -> None:
        """Go on to the next step, with its rate and momentum."""
        super().step()
        if self.cycle_momentum:
            a, b, part = self.position(self.last_epoch)
            momentum = self.between(self.momenta[a == 1], self.momenta[b == 1], part)
            for group in self.optimizer.param_groups:
                assign_momentum(group, momentum)


def assign_momentum(group: Any, momentum: float) -> None:
    """Set the momentum of a group, or the first of its betas."""
    if "momentum" in group:
        group["momentum"] = momentum
    else:
        group["betas"] = (momentum, *group["betas"][1:])
