"""The machine record: every number by which code decides how it computes something.

    from wengert.core import machine

    if work >= machine.current.min_operations_per_thread: ...

`current` describes this computer. Tests and tools replace it for a block, so that tiny arrays take the paths of large
ones; what was compiled for another record is not used there:

    with machine.using(threads=4, vector_bytes=16, min_operations_per_thread=1): ...

The record is that of the process, for all of its threads: blocks may be one inside of another, and blocks of different
threads must not overlap, or each would put back what it found. No field changes a result, but those of `order.py`,
which say in which order numbers are added: they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from wengert.core.machine.record import Machine

__all__ = ["Machine", "current", "describe_changes", "kept", "on_change", "using"]

Forget = TypeVar("Forget", bound=Callable[[], Any])

current = Machine()
"""The record by which code decides now."""

_HOST = current
_KNOWN: dict[tuple[Any, ...], Machine] = {tuple(vars(current).values()): current}
"""All records by their fields: equal ones are one object, which is a cheap key."""
_WATCHERS: list[Callable[[], Any]] = []


def on_change(forget: Forget) -> Forget:
    """Call a function whenever another record is in force: it forgets what depends on the record."""
    _WATCHERS.append(forget)
    return forget


def kept(field: str) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: the results of a function are kept, as many as a field of the record says, until it changes.

    >>> @kept("max_calls_kept")
    ... def double(x):
    ...     return 2 * x
    >>> double(4), double(4), double.cache_info().hits
    (8, 8, 1)
    """

    def decorate(function: Callable[..., Any]) -> Any:
        known = lru_cache(getattr(current, field))(function)
        on_change(known.cache_clear)
        return known

    return decorate


@contextmanager
def using(**fields: Any) -> Iterator[Machine]:
    """Decide by another record in the `with` block: the current one with some of its fields replaced.

    It holds for all threads, so only one thread at a time may have such blocks, and no other one may compile a function
    while a block begins or ends.

    >>> with using(threads=4) as record:
    ...     record.threads
    4
    """
    before = current
    _replace(replace(before, **fields))
    try:
        yield current
    finally:
        _replace(before)


def _replace(record: Machine) -> None:
    global current
    current = _KNOWN.setdefault(tuple(vars(record).values()), record)
    for forget in _WATCHERS:
        forget()


def describe_changes() -> str:
    """The fields that differ from those of this computer, as text: a part of the keys of programs on disk."""
    if current is _HOST:
        return ""
    return ", ".join(f"{name}={value}" for name, value in vars(current).items() if value != getattr(_HOST, name))
