"""Figure: one measured number, and the number it may not exceed, or must reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A measured quantity in a unit (`"s"`, `"B"`, or `""` for a ratio), with its target where it has one.

    With `is_least`, the quantity must be at least the target, not at most.
    """

    name: str
    value: float
    unit: str = ""
    target: float | None = None
    is_least: bool = False

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.value >= self.target if self.is_least else self.value <= self.target
