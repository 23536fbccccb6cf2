"""The line of progress of a sum: how many shards are done."""

from __future__ import annotations

import threading
from typing import Any

from wengert.optimize.progress import LiveLine


class CountLine(LiveLine):
    """A line with the number of shards that are done."""

    def __init__(self, count: int, progress: Any):
        super().__init__(progress)
        self.count, self.done, self.lock = count, 0, threading.Lock()

    def advance(self, count: int = 1) -> None:
        """One more shard is done, or several."""
        with self.lock:
            self.done += count
            if self.is_due(last=self.done == self.count):
                self.live.update(f"{self.done} of {self.count} shards", refresh=True)
