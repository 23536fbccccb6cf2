"""`while` and `for`: as Python runs them, written out, or rolled into one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import CellType
from typing import Any

from wengert.core import machine
from wengert.core.errors import TrackedValueError, user_error, user_line
from wengert.modes import recording
from wengert.modes.trace import Unrolled
from wengert.source.branches import choose_traced
from wengert.source.iterables import Items, items_of
from wengert.source.logic import all_true, negate
from wengert.source.memory import Memory
from wengert.source.rolling import Roller
from wengert.source.rows import NotRolled
from wengert.source.states import Changed
from wengert.source.values import is_unknown

UNROLL: ContextVar[bool | int | None] = ContextVar("wengert_unroll", default=None)
"""What the user says about loops: write them all out, none, or those of at most so many steps."""


@contextmanager
def unrolling(setting: bool | int | None) -> Iterator[None]:
    """A block in which the user decides which loops are written out."""
    token = UNROLL.set(setting)
    try:
        yield
    finally:
        UNROLL.reset(token)


def is_short(n: int) -> bool:
    """Whether a loop of n steps is written out."""
    setting = UNROLL.get()
    if setting is None or not n:
        return n <= machine.current.max_steps_written_out
    return setting if isinstance(setting, bool) else n <= setting


def repeat(condition: Callable[[], Any], step: Callable[[], None], temporary: Sequence[str]) -> None:
    """`while`: as Python runs it as long as its condition is known, and then as one operation."""
    while not is_unknown(goes_on := condition()):
        if not goes_on:
            return
        step()
    memory = Memory(condition, step)
    memory.add_generators()
    roller = Roller(memory, lambda _i, _slices: step(), temporary, None, lambda _: condition(), False)
    roll_or_raise(roller, "`while`")


def roll_or_raise(roller: Roller, what: str) -> None:
    """Roll a loop whose number of steps is not known, or say why this cannot be."""
    try:
        roller.run()
    except Changed as change:
        raise user_error(
            TrackedValueError,
            f"In a {what} on traced values {change}",
            f"Give {change.name!r} the same structure, shape and dtype before the loop as it has in it.",
        ) from None
    except NotRolled as why:
        raise user_error(
            TrackedValueError,
            f"A {what} on traced values cannot be compiled: {why}",
            "Make what decides the number of steps a constant (static_argnums), or keep the results in an array of "
            "fixed length: ys = wg.zeros(n), and ys[k] = y in the loop.",
        ) from None


def iterate(items: Any, step: Callable[[Any], None], temporary: Sequence[str], flags: Sequence[str]) -> None:
    """`for`: written out if it has few steps, or if it cannot be rolled."""
    found = items_of(items)
    cells = dict(zip(step.__code__.co_freevars, step.__closure__ or (), strict=True))
    loop = ForLoop(step, temporary, [cells[flag] for flag in flags])
    if found is None:
        loop.write_out(iter(items))
    elif is_unknown(found.length):
        roll_or_raise(loop.roller(found), "`for`")
    else:
        loop.run(found)


class ForLoop:
    """A `for` loop, which ends where one of the variables in the cells `flags` is true."""

    def __init__(self, step: Callable[[Any], None], temporary: Sequence[str], flags: Sequence[CellType]):
        self.step, self.temporary, self.flags = step, temporary, flags

    def ended(self) -> list[Any]:
        """The flags, as they are now."""
        return [cell.cell_contents for cell in self.flags]

    def run(self, items: Items) -> None:
        """The loop, over a known number of items."""
        if is_short(items.length):
            self.write_out(iter(items), items)
            return
        why = self.try_rolling(items)
        if isinstance(why, Changed) and items.length > 1:  # the first step may give variables their shapes and dtypes
            self.step(items.at(0))
            items = items.drop(1)
            why = self.try_rolling(items) if not any(self.ended_for_sure()) else why
        if why is not None:
            if UNROLL.get() is False:
                raise user_error(
                    TypeError, f"A `for` cannot be rolled into one loop: {why}", "Use unroll=None."
                ) from why
            note_unrolled(Unrolled(user_line(), items.length, str(why) or type(why).__name__))
            self.write_out(iter(items), items)

    def ended_for_sure(self) -> list[bool]:
        """Which flags are known to be true."""
        return [not is_unknown(x) and bool(x) for x in self.ended()]

    def try_rolling(self, items: Items) -> Exception | None:
        """Roll the loop; returns why this cannot be."""
        try:
            self.roller(items).run()
        except Exception as why:  # whatever the reason, the loop can be written out, or raises the same error again
            return why
        return None

    def roller(self, items: Items) -> Roller:
        """The loop as one operation."""
        memory = Memory(self.step)
        if memory.has_iterators:
            raise NotRolled("its steps take items from an iterator")
        memory.add_generators()
        known = not is_unknown(items.length)
        if known and not self.flags:
            run = lambda i, slices: self.step(items.bind(i, slices))
            return Roller(memory, run, self.temporary, items, None, items.length > 0)
        goes_on = lambda i: all_true(i < items.length, lambda: none_true(self.ended()))
        at_least_one = known and items.length > 0 and not any(map(is_unknown, self.ended()))
        return Roller(memory, lambda i, _: self.step(items.at(i)), self.temporary, items, goes_on, at_least_one)

    def write_out(self, stream: Iterator[Any], items: Items | None = None) -> None:
        """One step after the other; those after a traced `break` are chosen or not, or rolled if there are many."""
        for k, item in enumerate(stream):
            if any(self.ended_for_sure()):
                return
            left = self.ended()
            if not any(map(is_unknown, left)):
                self.step(item)
                continue
            if (
                items is not None
                and items.length - k > machine.current.max_steps_written_out_after_break
                and self.try_rolling(items.drop(k)) is None
            ):
                return
            items = None
            choose_traced(none_true(left), partial(self.step, item), lambda: None, Memory(self.step, item))


def note_unrolled(loop: Unrolled) -> None:
    """Keep for the report that a loop was written out."""
    trace = recording.current_trace()
    while trace is not None and trace.parent is not None:
        trace = trace.parent
    if trace is not None:
        trace.unrolled[loop.line] = loop


def none_true(flags: Sequence[Any]) -> Any:
    """Whether all flags are false."""
    if not flags:
        return True
    first, *others = flags
    return all_true(negate(first), *[partial(negate, x) for x in others])
