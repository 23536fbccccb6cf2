"""Progress of what takes long, in a terminal: how many operations have been recorded or written so far."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0
"""After how many seconds progress is shown."""
INTERVAL = 0.25
"""How many seconds there are between two counts."""


@contextmanager
def show_progress(doing: str, count: Callable[[], int]) -> Iterator[None]:
    """Show what is done, and a count that grows, if it takes long and somebody looks.

    >>> with show_progress("recorded", lambda: 3):
    ...     pass
    """
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=watch, args=(doing, count, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def watch(doing: str, count: Callable[[], int], done: threading.Event) -> None:
    """Show the count until the work is done."""
    if done.wait(PATIENCE):
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        while not done.wait(INTERVAL):
            status.update(f"{count():,} operations {doing}")
