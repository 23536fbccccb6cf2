"""Batches made ahead of time, by a thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

END = object()


def prefetch_items(items: Iterator[Any], ahead: int) -> Iterator[Any]:
    """The same items; while one is used, a thread makes up to `ahead` of the next.

    An error is raised when its item is due. Whoever stops early waits for the item that is being made, and no longer.

    >>> list(prefetch_items(iter(range(4)), 2))
    [0, 1, 2, 3]
    """
    executor = ThreadPoolExecutor(1, "wengert-prefetch")
    try:
        waiting: deque[Future[Any]] = deque(executor.submit(next, items, END) for _ in range(ahead))
        while (item := waiting.popleft().result()) is not END:
            waiting.append(executor.submit(next, items, END))
            yield item
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
