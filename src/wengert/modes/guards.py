"""Guards: what a trace has read of objects that are not arrays, and that may change between calls of its program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

CHANGES = np.zeros(1, np.int64)
"""How often state that a guard may have read has changed. Native code compares it with the number at the last check.

The state of tensors does not count: native code reads that itself.
"""


def note_change() -> None:
    """Note that some guards may not hold any more."""
    CHANGES[0] += 1


class Guard(NamedTuple):
    """What a trace has read of an object, and the value that it relies on."""

    holder: Any
    state: Callable[[Any], Any]
    value: Any

    @property
    def holds(self) -> bool:
        """Whether the state is still what it was."""
        return bool(self.state(self.holder) == self.value)
