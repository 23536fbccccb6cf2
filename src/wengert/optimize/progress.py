"""The progress of a search: the user's callback, and a line on the terminal."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any, Self

import numpy as np

from wengert.optimize.variables import Variables

WIDTH = 200
"""The width of the line where there is no terminal."""
PAUSE = 0.1
"""Seconds between updates of the line."""


class LiveLine:
    """A line that shows progress in a `with` block; none without `progress`, which may be a console of rich."""

    def __init__(self, progress: Any):
        self.live: Any = live_line(progress) if progress else None
        self.shown = 0.0

    def __enter__(self) -> Self:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()
            if not self.live.console.is_terminal:
                self.live.console.line()

    def is_due(self, last: bool = False) -> bool:
        """Whether it is time to write the line; the last one is always written."""
        now = perf_counter()
        if self.live is None or (now - self.shown < PAUSE and not last):
            return False
        self.shown = now
        return True


class Watch(LiveLine):
    """Called at each iteration with the point.

    `measure` gives its value and gradient if they are known, and the number of evaluations so far.
    """

    def __init__(
        self,
        title: str,
        variables: Variables,
        callback: Callable | None,
        progress: Any,
        measure: Callable[[np.ndarray], tuple[float | None, np.ndarray | None, int]],
    ):
        super().__init__(progress)
        self.title, self.variables, self.callback, self.measure = title, variables, callback, measure
        self.wants_result = callback is not None and parameter_names(callback) == ["intermediate_result"]
        self.iteration, self.began = 0, perf_counter()
        self.point: np.ndarray | None = None

    def __call__(self, x: np.ndarray, *_: Any) -> None:
        self.iteration += 1
        self.point = np.array(x)
        self.show(x)
        if self.callback is None:
            return
        if not self.wants_result:
            self.callback(self.variables.tree(self.point.copy()))
            return
        value, gradient, evaluations = self.measure(x)
        state = {"x": self.variables.tree(self.point.copy()), "fun": value, "nit": self.iteration, "nfev": evaluations}
        if gradient is not None:
            state["jac"] = self.variables.tree(gradient.copy())
        self.callback(intermediate_result=import_module("scipy.optimize").OptimizeResult(state))

    def show(self, x: np.ndarray, last: bool = False) -> None:
        """Write the line, if it is time to."""
        if self.is_due(last):
            text = import_module("rich.text").Text(self.line(x, self.shown - self.began))
            self.live.update(text, refresh=True)

    def line(self, x: np.ndarray, seconds: float) -> str:
        """The line of progress."""
        value, gradient, evaluations = self.measure(x)
        parts = [self.title, f"iteration {self.iteration}"]
        if value is not None:
            parts.append(f"value {value:.6g}")
        if gradient is not None:
            parts.append(f"|gradient| {np.linalg.norm(gradient):.2e}")
        return "  ".join([*parts, f"evaluations {evaluations}", f"{seconds:.1f} s"])


def live_line(progress: Any) -> Any:
    """A line that is written over; `progress` may be a console of rich.

    Where there is no terminal, only the last line is written.
    """
    console = progress
    if not hasattr(progress, "print"):
        console = import_module("rich.console").Console(stderr=True)
        console.width = console.width if console.is_terminal else WIDTH
    return import_module("rich.live").Live(
        "", console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    )


def parameter_names(f: Callable) -> list[str]:
    """The parameters of a function, where they can be found."""
    try:
        return list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return []
