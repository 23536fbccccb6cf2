"""What changes in place may touch: who else sees a buffer, and copies of what the user could still change."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.array import Array
from wengert.core.devices import DeviceArray
from wengert.core.levels import copy_value
from wengert.core.spec import PLAIN
from wengert.modes import recording

UNCHANGING = frozenset((type(None), *PLAIN)) - {np.ndarray}
"""Classes of constants that nobody can change. Made before arrays on devices are known, which can be."""


def protect(saved: tuple[Any, ...], constants: Sequence[Any]) -> tuple[Any, ...]:
    """`saved` with copies of what the user could still change: arrays, and values that can be assigned to in place."""
    theirs = set(map(id, constants))
    return tuple(
        [
            tuple([snapshot(part) if id(part) in theirs else part for part in s])
            if s.__class__ is tuple
            else snapshot(s)
            if id(s) in theirs
            else s
            for s in saved
        ]
    )


def snapshot(value: Any) -> Any:
    """A copy that later assignments do not change."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.flags.writeable or value.base is not None else value
    if isinstance(value, DeviceArray):
        return value.copy()
    if isinstance(value, Array):
        return recording.current_trace().value_of(value) if is_traced(value) else copy_value(value)
    return value


def is_traced(value: Array) -> bool:
    """Whether this is a user's tensor inside a trace, which keeps the tensor's current value itself."""
    return not value.level and recording.current_trace() is not None


def is_sole_owner(tensor: Array) -> bool:
    """Whether nothing else, a saved value or a view included, sees the buffer of a tensor."""
    value = tensor.value
    if not isinstance(value, np.ndarray):
        return False
    return (
        value.flags.owndata and value.flags.writeable and sys.getrefcount(value) == 3
    )  # the tensor, `value`, the call


def can_write_into(tensor: Array, v: Any) -> bool:
    """Whether `tensor += v` may write into the buffer of a tensor instead of making a new value."""
    return (
        not recording.is_recording()
        and not tensor.level
        and recording.current_trace() is None
        and (isinstance(v, int | float) or (isinstance(v, np.ndarray) and v.shape == tensor.shape))
        and is_sole_owner(tensor)
    )
