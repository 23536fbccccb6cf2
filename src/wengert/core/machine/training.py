"""Training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(init=False, repr=False, eq=False)
class TrainingFields:
    """What is done beside the steps."""

    seconds_between_kept_states: float = 1.0
    """Seconds between copies of the state, to which training returns to find the cause of a loss that is not finite:
    to copy more often takes time, and less often repeats more steps.
    """
