"""The progress of training: a line that is written over on a terminal, lines of text elsewhere."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

PAUSE = 0.1
"""Seconds between updates of the line on a terminal."""
LINES = 20
"""The most epochs that are reported where there is no terminal; of more, every second, third, ... is."""


class Progress:
    """Shows the epoch, the numbers, the rate and the time left; `shown` is a boolean or a console of rich."""

    def __init__(self, shown: Any, epochs: int):
        self.epochs, self.shown = epochs, bool(shown)
        is_terminal = shown.is_terminal if hasattr(shown, "print") else sys.stderr is not None and sys.stderr.isatty()
        self.live = open_line(shown) if shown and is_terminal and find_spec("rich") else None
        self.began: float | None = None
        self.updated, self.samples, self.steps = perf_counter(), 0, 0

    def __enter__(self) -> Progress:
        if self.live is not None:
            self.live.start()
            self.write("compiling ...")
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def after_step(self, epoch: int, batch: int, batches: int | None, samples: int, loss: float) -> None:
        """Count a step, but not the first one, which is compiled; and update the line if it is time to."""
        now = perf_counter()
        if self.began is None:
            self.began = now
        else:
            self.samples, self.steps = self.samples + samples, self.steps + 1
        if self.live is None or now - self.updated < PAUSE:
            return
        self.updated = now
        parts = [f"epoch {epoch}/{self.epochs}", f"batch {batch}" + (f"/{batches}" if batches else "")]
        left = (self.epochs - epoch + 1) * batches - batch if batches else None
        self.write("  ".join([*parts, f"loss {loss:.4g}", *self.rate(now, left)]))

    def after_epoch(self, epoch: int, batches: int, numbers: dict[str, float]) -> None:
        """Report an epoch."""
        every = -(-self.epochs // LINES)
        if not self.shown or (self.live is None and epoch % every and epoch != self.epochs):
            return
        shown = [f"{name} {value:.4g}" for name, value in numbers.items() if name != "seconds"]
        left = (self.epochs - epoch) * batches
        self.write("  ".join([f"epoch {epoch}/{self.epochs}", *shown, *self.rate(perf_counter(), left)]))

    def rate(self, now: float, left: int | None) -> list[str]:
        """Samples per second so far, and the time that the steps that are left will take."""
        if self.began is None or not self.steps:
            return []
        seconds = max(now - self.began, 1e-9)
        parts = [f"{self.samples / seconds:,.0f} samples/s"]
        if left:
            parts.append(f"{format_time(seconds / self.steps * left)} left")
        return parts

    def write(self, line: str) -> None:
        """Show a line: in place of the last one, or below it."""
        if self.live is not None:
            self.live.update(import_module("rich.text").Text(line), refresh=True)
        elif sys.stderr is not None:
            print(line, file=sys.stderr)


def open_line(console: Any) -> Any:
    """A line on a terminal that is written over."""
    from wengert.optimize.progress import live_line  # SciPy

    return live_line(console)


def format_time(seconds: float) -> str:
    """Minutes and seconds, or hours too.

    >>> format_time(75.2), format_time(7384)
    ('1:15', '2:03:04')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
