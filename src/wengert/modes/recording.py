"""Whether and how operations are recorded: what `no_grad` and its relatives switch, in each thread for itself.

The hot path only reads `active`, the number of threads where anything is switched; as long as it is zero, everything is recorded plainly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from wengert.core.errors import user_line
from wengert.core.primitive import Primitive
from wengert.modes.tape import Node


class State(threading.local):
    enabled = True
    inference = False
    anomalies = False  # nodes keep the user's line
    check_nan = False  # and the walk back looks for NaN
    packing: tuple[Callable, Callable] | None = None  # what saved values are turned into, and back
    counted: Counted | None = None  # exists while any of this is switched


class Counted:
    """Counts its thread in `active` while it lives, which ends with the thread at the latest."""

    def __init__(self) -> None:
        count(1)

    def __del__(self) -> None:
        count(-1)


state = State()
active = 0
_lock = threading.RLock()  # `__del__` may run anywhere


def count(change: int) -> None:
    global active
    with _lock:
        active += change


def recording() -> bool:
    """Whether operations are recorded in this thread."""
    return state.enabled and not state.inference


class switched:
    """Set one attribute of this thread's state while the context lasts."""

    def __init__(self, attribute: str, value: Any):
        self.attribute, self.value = attribute, value

    def __enter__(self) -> None:
        self.previous = getattr(state, self.attribute)
        switch(self.attribute, self.value)

    def __exit__(self, *exc: Any) -> None:
        switch(self.attribute, self.previous)


def switch(attribute: str, value: Any) -> None:
    """Set one attribute of this thread's state, for good."""
    setattr(state, attribute, value)
    special = not state.enabled or state.inference or state.anomalies or state.check_nan or state.packing is not None
    if special != (state.counted is not None):
        state.counted = Counted() if special else None


def special_node(primitive: Primitive, params: dict[str, Any], parents: tuple, saved: tuple, out: Any) -> Node | None:
    """A node as the active contexts want it; None if nothing is recorded."""
    if not recording():
        return None
    node = Node(primitive, params, parents, saved, out)
    if state.packing is not None:
        pack, node.hooked().unpack = state.packing
        node.saved = tuple(map(pack, saved))
    if state.anomalies:
        node.hooked().place = user_line()
    return node
