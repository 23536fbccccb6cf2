"""The names of batch axes: what `vmap(axis_name="i")` binds while it runs, and what `psum` along "i" looks up.

A name stands for the innermost axis that has it. A function that an operation holds runs on its batch again, at another
level: there, the name is bound again.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple

from wengert.core.errors import user_error


class NamedAxis(NamedTuple):
    """A batch axis: its name, the level of its batches (None where elements run one by one), and its length."""

    name: str
    level: int | None
    size: int  # 0 where elements run one by one


AXES: ContextVar[tuple[NamedAxis, ...]] = ContextVar("wengert_axes", default=())
"""The named axes of this context, the innermost first."""


def innermost_axis(name: str) -> NamedAxis | None:
    """The innermost axis of this name, if any."""
    return next((axis for axis in AXES.get() if axis.name == name), None)


def find_axis(name: str) -> NamedAxis:
    """The innermost axis of this name, along which elements know each other."""
    axis = innermost_axis(name)
    if axis is None:
        known = ", ".join(repr(axis.name) for axis in AXES.get())
        raise user_error(
            NameError,
            f"There is no batch axis named {name!r} here" + (f", only {known}" if known else ""),
            "Name it where the batch is made: wg.vmap(f, axis_name=...).",
        )
    refuse_single(name)
    return axis


def refuse_single(name: str) -> None:
    """Raise an error where the elements of an axis run one by one."""
    axis = innermost_axis(name)
    if axis is not None and axis.level is None:
        raise user_error(
            NameError,
            f"The elements of the axis {name!r} run one after the other here, so none of them knows the others",
            "Combine them outside of the function that is solved or integrated.",
        )


def axis_size(name: str) -> int:
    """The length of the innermost axis of this name, 0 if there is none, or if its elements run one by one."""
    axis = innermost_axis(name)
    return 0 if axis is None else axis.size


def name_of_level(level: int) -> str | None:
    """The name that stands for the batches of this level, if any."""
    found: dict[str, int | None] = {}
    for axis in AXES.get():
        found.setdefault(axis.name, axis.level)
    return next((name for name, at in found.items() if at == level), None)
