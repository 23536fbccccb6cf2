"""The attribute `training` of modules, which traces notice."""

from __future__ import annotations

from typing import Any

from wengert.core.errors import GradientError, user_error
from wengert.modes import recording
from wengert.modes.guards import note_change


class TrainingMode:
    """A boolean attribute. A trace that reads it is used only while the attribute is the same."""

    def __get__(self, module: Any, owner: type | None = None) -> bool:
        if module is None:
            return True
        trace = recording.current_trace() if recording.active else None
        return training_mode(module) if trace is None else bool(trace.read(module, training_mode))

    def __set__(self, module: Any, mode: bool) -> None:
        if mode == self.__get__(module):
            return
        if recording.current_trace() is not None:
            raise user_error(
                GradientError,
                f"{type(module).__name__}.training was changed inside a compiled function",
                because="later calls would not repeat it. Call train() or eval() before.",
            )
        module.__dict__["training"] = mode
        note_change()


def training_mode(module: Any) -> bool:
    """Whether a module is in training mode at this moment."""
    mode: bool = module.__dict__.get("training", True)
    return mode
