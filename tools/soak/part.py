"""A part of a soak: work that is repeated for as long as it is given, and what was wrong with it."""

from __future__ import annotations

import time
import traceback
from typing import NamedTuple

MOST_KEPT = 5
"""Messages of a round that are kept: more say the same."""


class Round(NamedTuple):
    """What a part did while it had the time."""

    done: int
    wrong: list[str]


class Part:
    """A part: `step` does some of the work, and returns what is wrong with it, or nothing.

    Its process lives as long as the soak. Memory may grow until the end of the first round, and after that by
    `slack_bytes` and by `bytes_per_item` for each item.
    """

    unit = "steps"
    items_per_step = 1
    slack_bytes = 48 << 20
    bytes_per_item = 0.0

    def step(self) -> str | None:
        raise NotImplementedError

    def run(self, seconds: float) -> Round:
        """Steps for some seconds."""
        end, done, wrong = time.monotonic() + seconds, 0, []
        while time.monotonic() < end:
            try:
                message = self.step()
            except BaseException:
                message = traceback.format_exc(limit=-6)
            done += self.items_per_step
            if message:
                wrong.append(message)
        return Round(done, [*wrong[:MOST_KEPT], *[f"and {len(wrong) - MOST_KEPT} more"][: len(wrong) > MOST_KEPT]])
