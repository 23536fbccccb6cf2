"""Times of calls on a GPU: by the clock of the host, and by events of the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

MOST_CALLS = 2000
QUEUED_CALLS = 20
"""The most calls between two events: the queue of a stream holds several hundred kernels."""


def mean_seconds(run: Callable[[], Any], wait: Callable[[], None], seconds: float) -> float:
    """The time of a call when many are launched in a row."""
    run()
    wait()
    start = time.perf_counter()
    run()
    wait()
    count = max(1, min(int(seconds / max(time.perf_counter() - start, 1e-6)), MOST_CALLS))
    start = time.perf_counter()
    for _ in range(count):
        run()
    wait()
    return (time.perf_counter() - start) / count


def call_seconds(run: Callable[[], Any], wait: Callable[[], None]) -> float:
    """The shortest time of a call and its result."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        run()
        wait()
        best = min(best, time.perf_counter() - start)
    return best


class DeviceClock:
    """Times between events on CuPy's current stream, of calls that are queued before the device comes to them.

    While the host queues the calls, the device copies arrays. So the time has no gaps in which the device waits for the
    host, except in calls that wait for it themselves. PyTorch's calls are on the same stream; JAX has its own ones.
    """

    def __init__(self, size: int):
        import cupy

        self.cuda, x = cupy.cuda, cupy.zeros(size)
        y = cupy.empty_like(x)
        self.copy = lambda: cupy.copyto(y, x)
        self.copy_seconds = min(mean_seconds(self.copy, self.wait, 0.05) for _ in range(3))
        self.bandwidth = 2 * x.nbytes / self.copy_seconds
        """The bytes per second that a copy reads and writes."""

    def wait(self) -> None:
        """Wait for the device."""
        self.cuda.Device().synchronize()

    def seconds(self, run: Callable[[], Any], seconds: float) -> float:
        """The device's time for a call, the shortest of three blocks of at most so many `seconds`."""
        count = max(1, min(int(seconds / max(call_seconds(run, self.wait), 1e-6)), QUEUED_CALLS))
        start = time.perf_counter()
        for _ in range(count):
            run()
        copies = int((time.perf_counter() - start) / self.copy_seconds) + 1
        return min(self.block_seconds(run, count, copies) for _ in range(3))

    def block_seconds(self, run: Callable[[], Any], count: int, copies: int) -> float:
        """The time between two events for a call, with so many copies before them."""
        self.wait()
        first, last = self.cuda.Event(), self.cuda.Event()
        for _ in range(copies):
            self.copy()
        first.record()
        for _ in range(count):
            run()
        last.record()
        last.synchronize()
        return 1e-3 * float(self.cuda.get_elapsed_time(first, last)) / count
