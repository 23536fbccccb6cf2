"""Errors that users may want to catch, and the line of user code that an error is about."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

__all__ = ["FrozenValueWarning", "GradientError", "TrackedValueError"]

OURS = str(Path(__file__).parent.parent) + os.sep
LIBRARIES = (
    "array_api_compat", "array_api_strict", "arviz", "bokeh", "dask", "distributed", "einops", "jax", "matplotlib",
    "mpl_toolkits", "narwhals", "numpy", "opt_einsum", "pandas", "pint", "plotly", "polars", "scipy", "seaborn",
    "sklearn", "statsmodels", "sympy", "torch", "uncertainties", "xarray",
)  # fmt: skip
STANDARD = (
    *("copy.py", "functools.py", "pickle.py", "statistics.py", "threading.py"),
    *(f"concurrent{os.sep}", f"json{os.sep}"),
)
THEIRS = (
    *[f"-packages{os.sep}{name}{os.sep}" for name in LIBRARIES],
    *[os.path.dirname(os.__file__) + os.sep + name for name in STANDARD],
    "<__array_function__ internals>",
)
"""Parts of the names of files of other libraries: an error is about the user's line that called them."""

UNKNOWN_LINE = "<unknown>"
E = TypeVar("E", bound=Exception)


class GradientError(RuntimeError):
    """A derivative was asked for that does not exist, or that can no longer be computed."""


class TrackedValueError(TypeError):
    """A value that is being differentiated would become a plain number or array and lose its gradient."""


class FrozenValueWarning(UserWarning):
    """A random number, a time or a file is read while a function is traced, and is a constant of its program.

    `warnings.simplefilter("error", wg.FrozenValueWarning)` makes it an error.
    """


def user_error(kind: type[E], what: str, do: str = "", *, because: str = "") -> E:
    """An error to raise: what happened, the user's line, the reason (`because`), and what to do.

    >>> print(user_error(ValueError, "axis=3 of an array of shape (2,)", "Use an axis below 1."))
    axis=3 of an array of shape (2,), at <doctest wengert.core.errors.user_error[0]>:1. Use an axis below 1.
    """
    reason, line = f": {because}" if because else ".", user_line()
    where = "" if line == UNKNOWN_LINE else f", at {line}"  # on a worker of a cluster, there is none
    return kind(f"{what}{where}{reason}{do and ' ' + do}")


def refuse_out(out: Any) -> None:
    """Raise an error if `out=` is given; functions have this parameter because those of NumPy do."""
    if out is not None:
        raise user_error(TypeError, "A differentiable operation does not write into `out=`", "Use its result.")


@cache  # it is asked for each frame of a stack
def is_library(filename: str) -> bool:
    """Whether a file belongs to a library that calls values."""
    return any(part in filename for part in THEIRS)


def library_call() -> tuple[str, str] | None:
    """The NumPy or SciPy function that the user's line called, if any, as ("scipy.linalg", "expm")."""
    frame, called = sys._getframe(1), None
    while frame is not None:
        filename, module = frame.f_code.co_filename, str(frame.f_globals.get("__name__", ""))
        if not filename.startswith(OURS):
            if not is_library(filename):
                return called
            if not module.startswith(("numpy", "scipy")):
                called = None  # the user called another library, which called them
            elif not frame.f_code.co_name.startswith("_"):
                public = [part for part in module.split(".") if not part.startswith("_")]
                called = ".".join(public), frame.f_code.co_name
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has no caller
    return called


def user_line() -> str:
    """`file.py:12`, the innermost running line outside this package and the libraries that call it.

    >>> user_line().startswith("<doctest")
    True
    """
    frame = user_frame()
    return UNKNOWN_LINE if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def user_frame() -> FrameType | None:
    """The frame of that line; None if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith(OURS) and not is_library(filename):
            return frame
        frame = frame.f_back
    return None
