"""What PyTorch does one way and this layer another, and what it does not have."""

from __future__ import annotations

from wengert.compat.differences import Difference

PEER = "PyTorch"

DIFFERENCES: list[Difference] = []

ABSENT: dict[str, str] = {}
