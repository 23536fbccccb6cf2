"""Parts of a soak that do what a soak must notice."""

from __future__ import annotations

import os
import time
from typing import ClassVar

from tools.soak.part import Part


class Fine(Part):
    def step(self) -> None:
        time.sleep(0.01)


class Leaks(Part):
    kept: ClassVar[list[bytes]] = []
    slack_bytes = 4 << 20

    def step(self) -> None:
        self.kept.append(b"x" * (1 << 20))
        time.sleep(0.01)


class Differs(Part):
    def step(self) -> str:
        time.sleep(0.01)
        return "one is not two"


class Fails(Part):
    def step(self) -> None:
        time.sleep(0.01)
        raise KeyError("lost")


class Hangs(Part):
    def step(self) -> None:
        time.sleep(1000)


class Ends(Part):
    def step(self) -> None:
        os._exit(3)
