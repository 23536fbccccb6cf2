"""The line of progress of a sum: how many shards are done."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import Any

from wengert.optimize.progress import PAUSE, live_line


class CountLine:
    """A line with the number of shards that are done; none without `progress`, which may be a console of rich."""

    def __init__(self, count: int, progress: Any):
        self.count, self.done, self.shown, self.lock = count, 0, 0.0, threading.Lock()
        self.live = live_line(progress) if progress else None

    def __enter__(self) -> CountLine:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()
            if not self.live.console.is_terminal:
                self.live.console.line()

    def advance(self, count: int = 1) -> None:
        """One more shard is done, or several."""
        with self.lock:
            self.done += count
            now = perf_counter()
            if self.live is not None and (now - self.shown >= PAUSE or self.done == self.count):
                self.shown = now
                self.live.update(f"{self.done} of {self.count} shards", refresh=True)
