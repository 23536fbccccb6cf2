"""Whether and how operations are recorded: the settings of `no_grad` and similar functions, for each context.

The hot path only reads `active`, the number of living states that change any setting; while it is zero, everything is
recorded as usual. A state has one block for each open `with` and merges their settings. Blocks may be left in any
order, for example by generators that take turns. The block of a generator acts only while the generator runs, not while
it is suspended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from types import FrameType
from typing import Any, NamedTuple

import numpy as np


class Settings(NamedTuple):
    """How operations are recorded."""

    enabled: bool = True
    inference: bool = False
    anomalies: bool = False  # nodes keep the user's line
    check_nan: bool = False  # the backward pass looks for NaN
    packing: tuple[Callable[..., Any], Callable[..., Any]] | None = None  # functions that pack and unpack saved values
    trace: Any = None  # the innermost trace: operations on the user's tensors belong to its program
    reader: Callable[[Any], Any] | None = None  # what a trace makes of the functions that it runs


PLAIN = Settings()


class Block:
    """Settings that hold until the block is left, or, if it is `lasting`, until the block around it is left.

    `generator` is the frame of the generator that entered the block, if one did.
    """

    __slots__ = ("generator", "is_left", "lasting", "settings")

    def __init__(self, settings: dict[str, Any], generator: FrameType | None = None, lasting: bool = False):
        self.settings, self.generator, self.lasting = settings, generator, lasting
        self.is_left = False

    @property
    def acts(self) -> bool:
        """Whether it holds right now. The frame of a suspended generator has no caller."""
        return self.generator is None or (not self.is_left and self.generator.f_back is not None)


class State:
    """The blocks that are open in a context, the innermost last.

    While it lives, `active` counts it if its blocks change any setting.
    """

    __slots__ = ("blocks", "counted", "settings")

    def __init__(self, blocks: tuple[Block, ...] = ()):
        self.blocks = blocks
        varies = any(b.generator is not None for b in blocks)
        self.settings = None if varies else merge_settings(blocks)
        self.counted = any(getattr(PLAIN, name) != value for b in blocks for name, value in b.settings.items())
        if self.counted:
            count_active(1)

    def __del__(self) -> None:
        if self.counted:
            count_active(-1)


def merge_settings(blocks: tuple[Block, ...]) -> Settings:
    """The settings of these blocks together; inner blocks override outer ones."""
    settings = PLAIN
    for block in blocks:
        settings = settings._replace(**block.settings)
    return settings


active = 0
ACTIVE = np.zeros(1, np.int64)
"""The same number, for native code."""
_lock = threading.RLock()  # `__del__` may run anywhere


def count_active(change: int) -> None:
    """Change the number of states that change settings."""
    global active
    with _lock:
        active += change
        ACTIVE[0] = active


NOTHING_SWITCHED = State()
STATE: ContextVar[State] = ContextVar("wengert_recording", default=NOTHING_SWITCHED)


def current() -> Settings:
    """The settings in this context right now."""
    state = STATE.get()
    return state.settings or merge_settings(tuple([b for b in state.blocks if b.acts]))


def is_recording() -> bool:
    """Whether operations are recorded in this context."""
    settings = current()
    return settings.enabled and not settings.inference


def blocks_here() -> tuple[Block, ...]:
    """The open blocks of this context, without those of generators that ended in another context."""
    return tuple([b for b in STATE.get().blocks if b.generator is None or not b.is_left])


def enter(block: Block) -> Block:
    """Open a block in this context."""
    STATE.set(State((*blocks_here(), block)))
    return block


def leave(block: Block) -> None:
    """Close a block, with the lasting settings inside it.

    A block that was opened in another context stays open there, unless it belongs to a generator.
    """
    blocks = blocks_here()
    block.is_left = True
    if block in blocks:
        i = blocks.index(block)
        end = next((k for k in range(i + 1, len(blocks)) if not blocks[k].lasting), len(blocks))
        STATE.set(State((*blocks[:i], *blocks[end:])))


def leave_trace(trace: Any) -> None:
    """Close the block of a trace that is closed, if it is still open: Ctrl-C may come between its body and its end."""
    for block in STATE.get().blocks:
        if block.settings.get("trace") is trace:
            leave(block)


def switch(**settings: Any) -> Block:
    """Change settings in this context until the block around is left, or for good; the last call counts."""
    blocks = blocks_here()
    while blocks and blocks[-1].lasting and blocks[-1].settings.keys() <= settings.keys():
        blocks = blocks[:-1]
    block = Block(settings, lasting=True)
    STATE.set(State((*blocks, block)))
    return block


def current_trace() -> Any:
    """The trace that runs in this context, if any."""
    return current().trace if active else None


def capturing_trace(level: int, args: Iterable[Any] = ()) -> Any:
    """The trace to which an operation on captured values belongs, if any; `level` is the highest among `args`."""
    if not active:
        return None
    trace = current().trace
    return trace if trace is not None and trace.captures(level, args) else None


read_source: Callable[[Any], Any] | None = None
"""What makes of a function what its source becomes; the layer that reads sources, above this one, sets it."""


def as_read(f: Any) -> Any:
    """A function as it runs here: in a trace, what its source becomes."""
    reader = current().reader if active else None
    return f if reader is None else reader(f)


class repeating:
    """A block around a user's function that runs several times, or once for several values.

    Assignments to captured tensors inside it have no order and raise an error.
    """

    def __init__(self, what: str):
        self.what, self.trace = what, current_trace()

    def __enter__(self) -> None:
        if self.trace is not None:
            self.before, self.trace.repeated = self.trace.repeated, self.what

    def __exit__(self, *exc: Any) -> None:
        if self.trace is not None:
            self.trace.repeated = self.before


class override:
    """A block of this package with other settings."""

    __slots__ = ("block",)

    def __init__(self, **settings: Any):
        self.block = Block(settings)

    def __enter__(self) -> None:
        enter(self.block)

    def __exit__(self, *exc: Any) -> None:
        leave(self.block)
