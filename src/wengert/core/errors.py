"""Errors that users may want to catch, and the line of the user's code that an error is about."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE = str(Path(__file__).parent.parent) + os.sep


class GradientError(RuntimeError):
    """A derivative was asked for that does not exist, or that can no longer be computed."""


class TrackedValueError(TypeError):
    """A value whose history matters was about to become a plain number or array, losing its gradient."""


def user_line() -> str:
    """`file.py:12`, the innermost line that is running outside this package.

    >>> user_line().startswith("<doctest")
    True
    """
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith(PACKAGE):
            return f"{filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has no caller
    return "<unknown>"
