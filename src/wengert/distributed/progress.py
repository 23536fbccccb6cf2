"""The line of progress of a sum: how many shards are done."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from wengert.optimize.progress import LiveLine


class CountLine(LiveLine):
    """A line with the number of shards that are done.

    A shard may be done twice, if a call is begun again, and reported later than the result of the call.
    """

    def __init__(self, count: int, progress: Any):
        super().__init__(progress)
        self.count, self.done, self.lock = count, set[int](), threading.Lock()

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self.advance(range(self.count))
        with self.lock:
            super().__exit__(*error)
            self.live = None

    def advance(self, shards: Iterable[int]) -> None:
        """These shards are done."""
        with self.lock:
            before = len(self.done)
            self.done.update(shards)
            if len(self.done) > before and self.is_due(last=len(self.done) == self.count):
                self.live.update(f"{len(self.done)} of {self.count} shards", refresh=True)
