"""Figure: one measured number, and the number it may not exceed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A measured quantity in a unit (`"s"`, `"B"`, or `""` for a ratio), with its target where it has one."""

    name: str
    value: float
    unit: str = ""
    target: float | None = None

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.value <= self.target
