"""Whether and how operations are recorded: what `no_grad` and its relatives switch, in each context (`contextvars`) for
itself.

The hot path only reads `active`, the number of states alive where anything is switched; as long as it is zero,
everything is recorded plainly. A state has one block for each `with` that is open, and is what they say together:
blocks may be left in any order, as those of generators that take turns are. The block of a generator acts while the
generator runs, and not on those who run while it is suspended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType
from typing import Any, NamedTuple


class Settings(NamedTuple):
    enabled: bool = True
    inference: bool = False
    anomalies: bool = False  # nodes keep the user's line
    check_nan: bool = False  # and the walk back looks for NaN
    packing: tuple[Callable, Callable] | None = None  # what saved values are turned into, and back
    trace: Any = None  # the innermost one, of whose program operations on the user's tensors become a part


PLAIN = Settings()


class Block:
    """Settings that hold from here on: until the block is left, or, if it is `lasting`, until one around it is.

    `generator` is the frame of the generator that entered it, if one did.
    """

    __slots__ = ("generator", "is_left", "lasting", "settings")

    def __init__(self, settings: dict[str, Any], generator: FrameType | None = None, lasting: bool = False):
        self.settings, self.generator, self.lasting = settings, generator, lasting
        self.is_left = False

    @property
    def acts(self) -> bool:
        """Whether it holds at this moment; the frame of a suspended generator has nothing to go back to."""
        return self.generator is None or (not self.is_left and self.generator.f_back is not None)


class State:
    """The blocks that are open in a context, the innermost last.

    It is counted in `active` while it lives if they switch anything.
    """

    __slots__ = ("blocks", "counted", "settings")

    def __init__(self, blocks: tuple[Block, ...] = ()):
        self.blocks = blocks
        self.settings = (
            None if any(b.generator is not None for b in blocks) else together(blocks)
        )  # None: not always the same
        self.counted = any(getattr(PLAIN, name) != value for b in blocks for name, value in b.settings.items())
        if self.counted:
            count(1)

    def __del__(self) -> None:
        if self.counted:
            count(-1)


def together(blocks: tuple[Block, ...]) -> Settings:
    """What these blocks say, where the innermost one has the last word."""
    settings = PLAIN
    for block in blocks:
        settings = settings._replace(**block.settings)
    return settings


active = 0
_lock = threading.RLock()  # `__del__` may run anywhere


def count(change: int) -> None:
    global active
    with _lock:
        active += change


NOTHING_SWITCHED = State()
STATE: ContextVar[State] = ContextVar("wengert_recording", default=NOTHING_SWITCHED)


def current() -> Settings:
    """The settings in this context, at this moment."""
    state = STATE.get()
    return state.settings or together(tuple([b for b in state.blocks if b.acts]))


def is_recording() -> bool:
    """Whether operations are recorded in this context."""
    settings = current()
    return settings.enabled and not settings.inference


def blocks_here() -> tuple[Block, ...]:
    """The open blocks of this context, without those of generators that another context has ended."""
    return tuple([b for b in STATE.get().blocks if b.generator is None or not b.is_left])


def enter(block: Block) -> Block:
    """Open a block in this context."""
    STATE.set(State((*blocks_here(), block)))
    return block


def leave(block: Block) -> None:
    """Close a block, with what was set for good inside it.

    One that another context opened stays open there, unless it is a generator's.
    """
    blocks = blocks_here()
    block.is_left = True
    if block in blocks:
        i = blocks.index(block)
        end = next((k for k in range(i + 1, len(blocks)) if not blocks[k].lasting), len(blocks))
        STATE.set(State((*blocks[:i], *blocks[end:])))


def switch(**settings: Any) -> Block:
    """Set settings in this context for good, or until the end of the block around; the last call counts."""
    blocks = blocks_here()
    while blocks and blocks[-1].lasting and blocks[-1].settings.keys() <= settings.keys():
        blocks = blocks[:-1]
    block = Block(settings, lasting=True)
    STATE.set(State((*blocks, block)))
    return block


def trace() -> Any:
    """The trace that runs here, if any."""
    return current().trace if active else None


class repeated:
    """Around a function of the user's that runs more than once, or once for many: what it assigns to captured tensors
    has no order.
    """

    def __init__(self, what: str):
        self.what, self.trace = what, trace()

    def __enter__(self) -> None:
        if self.trace is not None:
            self.before, self.trace.repeated = self.trace.repeated, self.what

    def __exit__(self, *exc: Any) -> None:
        if self.trace is not None:
            self.trace.repeated = self.before


class switched:
    """Settings of this context while a block of the package's own lasts."""

    __slots__ = ("block",)

    def __init__(self, **settings: Any):
        self.block = Block(settings)

    def __enter__(self) -> None:
        enter(self.block)

    def __exit__(self, *exc: Any) -> None:
        leave(self.block)
